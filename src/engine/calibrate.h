/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many passes of a workload's kernel take as long as `compute` asks for. Once, by all ranks of
 * the job at the same time, since they share caches and memory, without I/O and without other jobs:
 * what is measured later must not decide how much there is to do. */
#ifndef TT_ENGINE_CALIBRATE_H
#define TT_ENGINE_CALIBRATE_H

#include <mpi.h>

#include "plan/config.h"

/* The count whose time comes nearest to passes->seconds, from n samples of what a pass took; the
 * fastest counts, since a disturbance must not make the work less. TT_USAGE where already one pass
 * takes clearly longer. */
int tt_passes_calibrate(struct tt_passes *passes, const double *each, size_t n, struct tt_error *e);

/* Collective. If the configuration still needs it: calibrate, and put the count into it. */
int tt_calibrate(MPI_Comm comm, struct tt_config *config, struct tt_error *e);

#endif
