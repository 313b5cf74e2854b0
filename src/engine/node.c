/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks of one node have one of them collect the node's counters. */
#include <stdlib.h>
#include <unistd.h>

#include "engine/private.h"

static int start(struct tt_engine *engine, int npids, const int *pids, struct tt_error *e)
{
    const struct tt_counters_options *o = tt_config_opts(engine->config, "counters");

    return tt_counters_start(engine->p->directory, o, (size_t)npids, pids, &engine->p->counters, e);
}

void tt__node_watch(struct tt_engine *engine)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int pid = (int)getpid(), rank, size, room, *pids = NULL;
    char why[200];
    MPI_Comm node;

    MPI_Comm_split_type(engine->comm, MPI_COMM_TYPE_SHARED, engine->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    if (rank == 0)
        pids = malloc((size_t)size * sizeof *pids);
    room = pids != NULL;
    MPI_Bcast(&room, 1, MPI_INT, 0, node);
    if (room)
        MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, node);
    if (rank == 0 && start(engine, room ? size : 0, pids, &e) != TT_OK) {
        tt_error_format(&e, why, sizeof why);
        tt_warning(engine, "no counters of a node: %s", why);
    }
    free(pids);
    MPI_Comm_free(&node);
}
