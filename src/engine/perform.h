/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does with a plan. */
#ifndef TT_ENGINE_PERFORM_H
#define TT_ENGINE_PERFORM_H

#include <mpi.h>

#include "plan/config.h"

/* Rows of a table that a workload has just measured (tt_result_row), for whoever shows them. */
struct tt_rows_to {
    void (*take)(void *context, const double *values, size_t n);
    void *context;
};

struct tt_perform_how {
    bool held;      /* start when the driver says so (plan/control.h), not when ready */
    bool loop;      /* again and again until the driver says stop */
    bool new_dir;   /* --dir was made for this run */
    bool calibrate; /* only calibrate `compute`, and put it into the plan */
    bool alone;     /* no driver of tutti's looks after what is left behind */
    bool rows;      /* leave rows in the file `rows` as they are made, for the driver */
    const struct tt_rows_to *rows_to; /* or hand them over; rank 0 only; NULL: to nobody */
};

/* Collective over comm: run the workload as planned in the directory, verify and remove data files
 * as asked, leave records and outcome.json. MPI was initialised with the given thread level; rank 0
 * keeps the environment (may be NULL) with its records. */
int tt_perform(MPI_Comm comm, int thread_level, const char *directory,
               const struct tt_config *config, struct tt_perform_how how, json_t *environment,
               struct tt_error *e);

/* How the run ended, into outcome.json. */
int tt_outcome_write(const char *directory, int rc, const struct tt_error *why, struct tt_error *e);

#endif
