/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --max-bytes and --min-free, looked at again before every dump. */
#include "engine/private.h"
#include "plan/limits.h"

/* Room for so many dumps like the last is enough not to look now. */
#define DUMPS_AHEAD 16

int tt_limits_check_dump(struct tt_engine *engine, uint64_t copies, uint64_t bytes, uint64_t added,
                         struct tt_error *e)
{
    const struct tt_run_options *run = engine->config->run;
    uint64_t mine[3] = {engine->p->bytes_written + bytes, added}, all[3];
    struct tt__closing closed = engine->p->closed;
    uint64_t room = closed.room < engine->p->room ? closed.room : engine->p->room;
    bool is_like_last = copies <= engine->p->copies;
    struct tt_error why = TT_ERROR_CLEAR;
    int refused = 0;

    engine->p->closed = (struct tt__closing){0};
    engine->p->copies = copies;
    /* While the limits are far, what agreements have told all ranks is enough: the one that closed
     * the last dump, and the look at the clock since then. */
    if (run->max_bytes == 0 && closed.bytes > 0 && is_like_last &&
        room / DUMPS_AHEAD >= closed.bytes) {
        tt__monitor_grant(engine, closed.bytes);
        return TT_OK;
    }
    if (engine->rank == 0)
        mine[2] = tt__monitor_room(engine);
    MPI_Allreduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, engine->comm);
    if (run->max_bytes > 0 && all[0] > run->max_bytes)
        return tt_fail(e, TT_LIMIT,
                       "stopped by --max-bytes %llu: the next dump would make it %llu bytes",
                       (unsigned long long)run->max_bytes, (unsigned long long)all[0]);
    tt__monitor_grant(engine, all[1]);
    if (all[1] <= all[2] || !(tt_stack_caps(&engine->p->stack) & TT_CAP_STORES))
        return TT_OK;
    if (engine->rank == 0)
        refused = tt_limits_check_room(engine->config, all[1], &why) != TT_OK;
    MPI_Bcast(&refused, 1, MPI_INT, 0, engine->comm);
    if (!refused)
        return TT_OK;
    MPI_Bcast(&why, (int)sizeof why, MPI_BYTE, 0, engine->comm);
    if (e->code == TT_OK)
        *e = why;
    return why.code;
}
