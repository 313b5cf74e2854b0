/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Being one of the ranks that a launcher started. */
#ifndef TT_CLI_RANK_H
#define TT_CLI_RANK_H

#include "engine/perform.h"
#include "plan/config.h"
#include "spec/read.h"

/* Whether this process is one of a job's ranks, and does not start them: by its environment, unless
 * it is alone in a step of Slurm and the settings ask for more. */
bool tt_is_rank(const struct tt_settings *settings);

/* Initialise MPI, after tt_guard_start(), and set `ranks` to its size. A launcher that announced
 * another size than MPI sees, or a different -n, is an error: four singletons must not write one
 * file. It is reported before MPI is finalised again, since a launcher may kill the others as soon
 * as one rank has ended. */
int tt_ranks_begin(struct tt_settings *settings, bool overlaps, int *thread_level,
                   struct tt_error *e);
/* The same check of other settings: those of a later run. */
int tt_ranks_check(const struct tt_settings *settings, int size, struct tt_error *e);
/* Ends MPI, and what guards a rank from waiting for ever, which begins before MPI does: with the
 * patience of the run, where that is known by then. */
void tt_ranks_end(void);

/* The options of perform and hold, which tt_worker_command() gives them. */
struct tt_worker {
    struct tt_perform_how how;
    char *module;
    /* Of perform, what a rank must know before MPI is up: the plan is broadcast after that. */
    double patience; /* 0: not told */
    uint64_t ranks;
    bool overlap;
};
extern const struct tt_options tt_worker_options;

/* tt_perform on all ranks of MPI_COMM_WORLD, with the environment kept by rank 0. What is still to
 * be calibrated is before, with nothing else running, and kept in the plan. */
int tt_perform_here(int thread_level, const char *directory, struct tt_config *config,
                    struct tt_perform_how how, struct tt_error *e);

#endif
