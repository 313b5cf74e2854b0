/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far the wall clocks of a job's nodes are apart. One rank of every node asks rank 0 for the
 * time, over and over; the answer that took the shortest counts, and half of that is what it may be
 * wrong by. */
#include "base/clock.h"
#include "base/note.h"
#include "engine/private.h"

#define QUESTIONS 20
#define TAG 1

/* The offset of our wall clock against that of rank 0 of the communicator, which answers. */
static struct tt__clock ask(MPI_Comm comm)
{
    struct tt__clock best = {.error_ns = INT64_MAX};

    for (int i = 0; i < QUESTIONS; i++) {
        int64_t sent = tt_wall_ns(), begin = tt_now_ns(), theirs, took;

        MPI_Sendrecv(&sent, 1, MPI_INT64_T, 0, TAG, &theirs, 1, MPI_INT64_T, 0, TAG, comm,
                     MPI_STATUS_IGNORE);
        took = tt_now_ns() - begin;
        if ((took + 1) / 2 < best.error_ns)
            best = (struct tt__clock){sent + took / 2 - theirs, (took + 1) / 2};
    }
    return best;
}

static void answer(MPI_Comm comm, int who)
{
    for (int i = 0; i < QUESTIONS; i++) {
        int64_t theirs, now;

        MPI_Recv(&theirs, 1, MPI_INT64_T, who, TAG, comm, MPI_STATUS_IGNORE);
        now = tt_wall_ns();
        MPI_Send(&now, 1, MPI_INT64_T, who, TAG, comm);
    }
}

struct tt__clock tt__clock_measure(struct tt_engine *engine)
{
    uint64_t before = tt_note_waiting(TT_DOING_AGREE);
    struct tt__clock own = {0};
    MPI_Comm node, first;
    int rank, nodes;

    MPI_Comm_split_type(engine->comm, MPI_COMM_TYPE_SHARED, engine->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_split(engine->comm, rank == 0 ? 0 : MPI_UNDEFINED, engine->rank, &first);
    if (first != MPI_COMM_NULL) {
        MPI_Comm_size(first, &nodes);
        if (engine->rank != 0)
            own = ask(first);
        for (int i = 1; i < nodes && engine->rank == 0; i++)
            answer(first, i);
        MPI_Comm_free(&first);
    }
    MPI_Bcast(&own, 2, MPI_INT64_T, 0, node);
    MPI_Comm_free(&node);
    tt_note_end(before);
    return own;
}
