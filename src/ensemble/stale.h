/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a driver that was killed has left behind. */
#ifndef TT_ENSEMBLE_STALE_H
#define TT_ENSEMBLE_STALE_H

#include "plan/runner.h"

/* Removes the data files of repetitions of the ensemble's directory that are not in the list, takes
 * back their batch jobs, and removes control groups of dead drivers. Only while nobody else is at
 * work in the directory. What cannot be removed is said on stderr and keeps nobody from going on,
 * but for a job that still runs. */
int tt_stale_remove(const char *directory, const struct tt_repetition *list, size_t n,
                    struct tt_error *e);

#endif
