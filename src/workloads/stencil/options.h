/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencil.* keys, and what follows from them. */
#ifndef TT_STENCIL_OPTIONS_H
#define TT_STENCIL_OPTIONS_H

#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/stencil/grid.h"

enum tt_halo_mode { TT_HALO_AFTER, TT_HALO_OVERLAP };

struct tt_stencil_options {
    uint64_t size, iterations, threads, work;
    int dims, shape, perturbation, decomposition, halo; /* choices */
    char *variable;
};

struct tt_problem tt_stencil_problem(const struct tt_stencil_options *o);
int tt_stencil_partition(const struct tt_stencil_options *o, int ranks, struct tt_partition *p,
                         struct tt_error *e);

int tt_stencil_check(const struct tt_config *config, struct tt_error *e);
int tt_stencil_estimate(const struct tt_config *config, struct tt_estimate *out,
                        struct tt_error *e);

struct tt_engine;
int tt_stencil_run(struct tt_engine *engine, struct tt_error *e);

#endif
