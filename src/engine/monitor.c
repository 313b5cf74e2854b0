/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread of every rank in the measured time. It writes records and progress, and rank 0's looks
 * at what the driver says and at the free space: the main thread makes no system call for these
 * between two dumps. No MPI. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "engine/private.h"
#include "plan/directory.h"
#include "plan/limits.h"

#define TICK_NS 100000000
#define TICKS_OF_RECORDS 10

struct tt__monitor {
    struct tt_engine *engine;
    struct tt_pool *pool;
    struct tt_task task;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool stopping;
    _Atomic uint64_t done, total; /* progress, as last told */
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
        struct tt_progress progress = {m->done, m->total, tt_seconds(seen)};

        tt_progress_write(p->progress_fd, &progress);
    }
    if (p->how.loop && m->reason == TT_OK)
        m->reason = tt_control_listen(p->directory, &p->listener);
    if (tt_stack_caps(&p->stack) & TT_CAP_STORES) {
        uint64_t before = m->granted;

        m->may_grant = before + tt_limits_room(m->engine->config);
    }
}

static void sleep_a_tick(struct tt__monitor *m)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&m->woken, &m->lock, &until);
}

static int watch(void *argument, struct tt_error *e)
{
    struct tt__monitor *m = argument;

    (void)e;
    pthread_mutex_lock(&m->lock);
    for (unsigned tick = 1; !m->stopping; tick++) {
        sleep_a_tick(m);
        pthread_mutex_unlock(&m->lock);
        if (m->engine->rank == 0)
            look(m);
        tt_recorder_flush(m->engine->p->recorder, tick % TICKS_OF_RECORDS == 0);
        pthread_mutex_lock(&m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return TT_OK;
}

int tt__monitor_start(struct tt_engine *engine, struct tt_error *e)
{
    struct tt__monitor *m = calloc(1, sizeof *m);
    int rc;

    if (!m)
        return tt_fail_nomem(e, "the monitor");
    m->engine = engine;
    m->task = (struct tt_task){.run = watch, .argument = m};
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->woken, NULL);
    engine->p->monitor = m;
    rc = tt_pool_start(&m->pool, 1, NULL, e);
    if (rc == TT_OK)
        tt_pool_submit(m->pool, &m->task);
    else
        tt__monitor_stop(engine);
    return rc;
}

void tt__monitor_stop(struct tt_engine *engine)
{
    struct tt__monitor *m = engine->p->monitor;

    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    pthread_cond_signal(&m->woken);
    pthread_mutex_unlock(&m->lock);
    tt_pool_stop(m->pool);
    engine->p->monitor = NULL;
    pthread_cond_destroy(&m->woken);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

void tt__monitor_tell(struct tt_engine *engine, uint64_t done, uint64_t total, int64_t seen_ns)
{
    struct tt__monitor *m = engine->p->monitor;

    if (!m)
        return;
    m->done = done;
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
