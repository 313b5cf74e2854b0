/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For loops in which ranks do not wait for each other: rank 0 looks at the clock and at what the
 * driver says, and its word reaches the others through a broadcast that they only test for. */
#include "engine/private.h"

#define LOOK_NS 20000000 /* between two looks of a rank */
#define PAUSE_NS 50000   /* of rank 0 while it waits for the others */

void tt_watch_begin(struct tt_engine *engine)
{
    struct tt__watch *w = &engine->p->watch;

    /* The workload goes on using its own communicator, in an order that this one does not know. */
    if (engine->p->watch_comm == MPI_COMM_NULL)
        MPI_Comm_dup(engine->comm, &engine->p->watch_comm);
    *w = (struct tt__watch){.request = MPI_REQUEST_NULL, .next_look_ns = tt_now_ns() + LOOK_NS};
    if (engine->rank != 0)
        MPI_Ibcast(&w->reason, 1, MPI_INT, 0, engine->p->watch_comm, &w->request);
}

static void announce(struct tt_engine *engine, int reason)
{
    struct tt__watch *w = &engine->p->watch;

    w->reason = reason;
    w->announced = true;
    MPI_Ibcast(&w->reason, 1, MPI_INT, 0, engine->p->watch_comm, &w->request);
}

static void look(struct tt_engine *engine, uint64_t done, uint64_t total)
{
    struct tt_engine_private *p = engine->p;
    int64_t ns = tt_now_ns() - p->start_ns;
    int reason = tt__reason_to_end(engine, tt_seconds(ns));

    tt__monitor_tell(engine, done, total, ns);
    if (reason != TT_OK)
        announce(engine, reason);
}

static int fail_because(const struct tt_engine *engine, int reason, struct tt_error *e)
{
    if (reason == TT_OK)
        return TT_OK;
    engine->p->ended = true;
    if (reason == TT_LIMIT)
        return tt_fail(e, TT_LIMIT, "stopped by --max-time %g s", engine->config->run->max_time);
    if (reason == TT_INTERRUPTED)
        return tt_fail(e, TT_INTERRUPTED, "the driver of this run is gone");
    return tt_fail(e, TT_STOPPED, "told to stop");
}

int tt_watch(struct tt_engine *engine, uint64_t done, uint64_t total, struct tt_error *e)
{
    return tt_watch_at(engine, tt_now_ns(), done, total, e);
}

int tt_watch_at(struct tt_engine *engine, int64_t now_ns, uint64_t done, uint64_t total,
                struct tt_error *e)
{
    struct tt__watch *w = &engine->p->watch;

    w->done = done;
    w->total = total;
    if (now_ns < w->next_look_ns)
        return TT_OK;
    w->next_look_ns = now_ns + LOOK_NS;
    if (engine->rank != 0)
        MPI_Test(&w->request, &w->heard, MPI_STATUS_IGNORE);
    else if (!w->announced)
        look(engine, done, total);
    return engine->rank == 0 || w->heard ? fail_because(engine, w->reason, e) : TT_OK;
}

/* Rank 0 goes on looking until the last one has come: it may have to be told to end. */
static void look_until(struct tt_engine *engine, MPI_Request *all_are_here)
{
    struct tt__watch *w = &engine->p->watch;
    int here = 0;

    for (;;) {
        MPI_Test(all_are_here, &here, MPI_STATUS_IGNORE);
        if (here)
            return;
        if (!w->announced && tt_now_ns() >= w->next_look_ns) {
            look(engine, w->done, w->total);
            w->next_look_ns = tt_now_ns() + LOOK_NS;
        }
        tt_sleep_until(tt_now_ns() + PAUSE_NS);
    }
}

int tt_watch_end(struct tt_engine *engine, struct tt_error *e)
{
    struct tt__watch *w = &engine->p->watch;
    MPI_Request all_are_here;

    MPI_Ibarrier(engine->comm, &all_are_here);
    if (engine->rank == 0)
        look_until(engine, &all_are_here);
    else
        MPI_Wait(&all_are_here, MPI_STATUS_IGNORE);
    if (engine->rank == 0 && !w->announced)
        announce(engine, TT_OK);
    MPI_Wait(&w->request, MPI_STATUS_IGNORE);
    return fail_because(engine, w->reason, e);
}
