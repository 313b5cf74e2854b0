/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks of one node have the first of them collect the node's counters, and write its records.
 */
#include <stdlib.h>
#include <unistd.h>

#include "engine/private.h"

void tt__node_meet(struct tt_engine *engine)
{
    struct tt_engine_private *p = engine->p;

    MPI_Comm_split_type(engine->comm, MPI_COMM_TYPE_SHARED, engine->rank, MPI_INFO_NULL, &p->node);
    MPI_Comm_rank(p->node, &p->node_rank);
    p->node_first = engine->rank;
    MPI_Bcast(&p->node_first, 1, MPI_INT, 0, p->node);
}

void tt__node_watch(struct tt_engine *engine)
{
    const struct tt_counters_options *o = tt_config_opts(engine->config, "counters");
    struct tt_error e = TT_ERROR_CLEAR;
    int pid = (int)getpid(), rank = engine->p->node_rank, size, room, *pids = NULL;
    MPI_Comm node = engine->p->node;
    char why[200];

    MPI_Comm_size(node, &size);
    if (rank == 0)
        pids = malloc((size_t)size * sizeof *pids);
    room = pids != NULL;
    MPI_Bcast(&room, 1, MPI_INT, 0, node);
    if (room)
        MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, node);
    if (rank == 0 && tt_counters_start(engine->p->directory, o, room ? (size_t)size : 0, pids,
                                       &engine->p->counters, &e) != TT_OK) {
        tt_error_format(&e, why, sizeof why);
        tt_warning(engine, "no counters of a node: %s", why);
    }
    free(pids);
}
