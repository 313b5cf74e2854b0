/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a driver that was killed has left behind. */
#ifndef TT_ENSEMBLE_LEFTOVERS_H
#define TT_ENSEMBLE_LEFTOVERS_H

#include "plan/runner.h"

/* Removes the data files of repetitions of the ensemble's folder that are not in the list, takes
 * back their batch jobs, and removes control groups of dead drivers. Only while nobody else is at
 * work in the folder. What cannot be removed is said on stderr and keeps nobody from going on, but
 * for a job that still runs. */
int tt_leftovers_remove(const char *folder, const struct tt_repetition *list, size_t n,
                        struct tt_error *e);

#endif
