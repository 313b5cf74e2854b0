/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread of every rank in the measured time. On the first rank of a node it writes the records of
 * all of them; rank 0's writes progress and looks at what the driver says, at the free space and at
 * its device: the main thread makes no system call for these between two dumps. No MPI. */
#include <stdlib.h>

#include "base/note.h"
#include "engine/private.h"
#include "io/calls.h"
#include "plan/directory.h"
#include "plan/limits.h"

#define TICK_NS 100000000
#define TICKS_OF_ROOM 10
#define TICKS_OF_RECORDS 50 /* a node that is lost takes so much along */

struct tt__monitor {
    struct tt_engine *engine;
    struct tt_ticker *ticker;
    unsigned ticks;
    uint64_t looked;              /* granted when the free space was last looked at */
    _Atomic uint64_t done, total; /* progress, as last told */
    _Atomic uint64_t moved;       /* bytes by this rank */
    _Atomic int64_t seen_ns;      /* since the start; 0: nothing was told */
    atomic_int reason;            /* to end, by the driver's word */
    _Atomic uint64_t granted;     /* bytes by which files may have grown since the start */
    _Atomic uint64_t may_grant;   /* that and the room that was seen; 0: nothing was yet */
};

/* Rank 0 only. */
static void look(struct tt__monitor *m)
{
    struct tt_engine_private *p = m->engine->p;
    int64_t seen = m->seen_ns;

    if (seen) {
        struct tt_progress progress = {m->done, m->total, tt_seconds(seen),
                                       m->moved * (uint64_t)m->engine->size};

        tt_progress_write(p->progress_fd, &progress);
    }
    if (p->how.loop && m->reason == TT_OK)
        m->reason = tt_control_listen(p->directory, &p->listener);
    /* Asking costs a call to the servers that are measured: only after something was written, and
     * else seldom, for what others write. */
    if ((tt_stack_caps(&p->stack) & TT_CAP_STORES) && m->granted > 0 &&
        (m->granted != m->looked || m->ticks % TICKS_OF_ROOM == 0)) {
        m->looked = m->granted;
        m->may_grant = m->looked + tt_limits_room(m->engine->config);
    }
}

static int64_t tick(void *argument, bool last)
{
    struct tt__monitor *m = argument;

    tt_calls_unseen = true; /* they are not those of the library */
    if (m->engine->rank == 0)
        look(m);
    if (m->engine->rank == 0 && __atomic_load_n(&m->engine->p->start_ns, __ATOMIC_RELAXED) != 0)
        tt__device_look(m->engine);
    tt_recorder_flush(m->engine->p->recorder, last || ++m->ticks % TICKS_OF_RECORDS == 0);
    return tt_now_ns() + TICK_NS;
}

int tt__monitor_start(struct tt_engine *engine, struct tt_error *e)
{
    struct tt__monitor *m = calloc(1, sizeof *m);

    if (!m)
        return tt_fail_nomem(e, "the monitor");
    m->engine = engine;
    engine->p->monitor = m;
    return tt_ticker_start(&m->ticker, tick, m, e);
}

void tt__monitor_stop(struct tt_engine *engine)
{
    uint64_t before;

    if (!engine->p->monitor)
        return;
    before = tt_note_waiting(TT_DOING_RECORD);
    tt_ticker_stop(engine->p->monitor->ticker);
    tt_note_end(before);
    free(engine->p->monitor);
    engine->p->monitor = NULL;
}

void tt__monitor_tell(struct tt_engine *engine, uint64_t done, uint64_t total, int64_t seen_ns)
{
    struct tt__monitor *m = engine->p->monitor;

    if (!m)
        return;
    m->done = done;
    m->moved = engine->p->bytes_written + engine->p->read_before + engine->p->now.bytes_read;
    m->total = engine->p->how.loop ? 0 : total;
    m->seen_ns = seen_ns;
}

int tt__reason_to_end(const struct tt_engine *engine, double seconds)
{
    double limit = engine->config->run->max_time;

    if (limit > 0 && seconds > limit)
        return TT_LIMIT;
    return engine->p->monitor ? engine->p->monitor->reason : TT_OK;
}

uint64_t tt__monitor_room(const struct tt_engine *engine)
{
    const struct tt__monitor *m = engine->p->monitor;
    uint64_t most = m ? m->may_grant : 0, granted = m ? m->granted : 0;

    return most > granted ? most - granted : 0;
}

void tt__monitor_grant(struct tt_engine *engine, uint64_t bytes)
{
    if (engine->p->monitor)
        engine->p->monitor->granted += bytes;
}
