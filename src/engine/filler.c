/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective now and then, as applications make them for sums, norms and redistribution. */
#include <stdlib.h>

#include "base/agree.h"
#include "engine/private.h"

enum { ALLGATHER, ALLREDUCE, ALLTOALL };

static int call(struct tt_engine *engine, const struct tt_collective_options *c, uint64_t send)
{
    char *out = engine->p->filler, *in = out + send;
    int n = (int)c->size;

    if (c->kind == ALLREDUCE)
        return MPI_Allreduce(out, in, n, MPI_BYTE, MPI_BOR, engine->comm);
    if (c->kind == ALLTOALL)
        return MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, engine->comm);
    return MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, engine->comm);
}

int tt_collective_filler(struct tt_engine *engine, uint64_t iteration, struct tt_error *e)
{
    const struct tt_collective_options *c = engine->p->collective;
    uint64_t send, receive; /* bytes; the send buffer comes first */
    int64_t t;
    int rc;

    if (!c || c->every == 0 || c->size == 0 || iteration % c->every != 0)
        return TT_OK;
    send = c->kind == ALLTOALL ? c->size * (uint64_t)engine->size : c->size;
    receive = c->kind == ALLREDUCE ? c->size : c->size * (uint64_t)engine->size;
    if (!engine->p->filler) {
        engine->p->filler = calloc(1, send + receive);
        rc = engine->p->filler ? TT_OK : tt_fail_nomem(e, "the collective filler");
        rc = tt_agree(engine->comm, rc, e);
        if (rc != TT_OK)
            return rc;
    }
    t = tt_now_ns();
    rc = tt_fail_mpi(e, call(engine, c, send), "collective filler", NULL);
    tt_call_add(engine, TT_COLLECTIVE, TT_CALL_COLLECTIVE, t);
    tt_count_communicated(engine, send);
    return rc;
}
