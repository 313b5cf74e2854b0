/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_ENSEMBLE_NODES_H
#define TT_ENSEMBLE_NODES_H

#include "ensemble/trial.h"

/* Steps of one allocation would all start on its first node: give every job nodes of its own, in
 * turn, from launch.nodes or else from the allocation; from the first again when all are taken. */
int tt_nodes_spread(struct tt_trial *s, struct tt_error *e);
/* How many nodes of this allocation no step uses; 0 outside of one, and if jobs are started in a
 * way that does not tell where. */
int tt_nodes_idle(const struct tt_ensemble *x, size_t *idle, size_t *all, struct tt_error *e);

/* Whether a job of this job can have so many nodes, where we know: not on this machine alone,
 * nor of an allocation that has fewer. */
int tt_nodes_check(const struct tt_job_spec *p, uint64_t nodes, struct tt_error *e);

#endif
