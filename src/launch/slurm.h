/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_LAUNCH_SLURM_H
#define TT_LAUNCH_SLURM_H

#include "launch/launch.h"

extern const struct tt_launcher tt_launcher_slurm, tt_launcher_batch;

/* The names of the nodes of this allocation; none outside of one, or if Slurm does not tell. */
int tt_slurm_nodes(struct tt_words *out, struct tt_error *e);

#endif
