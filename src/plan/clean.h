/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removing the data files of a run that could not do so itself. */
#ifndef TT_PLAN_CLEAN_H
#define TT_PLAN_CLEAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The folder may be anybody's: a file of its manifest goes only if it carries the mark of this run,
 * or lies in the folder that the run made for its data. Goes on after an error, and returns the
 * first. *removed is increased. */
int tt_clean_data(const char *folder, uint64_t *removed, struct tt_error *e);

/* Whether a file or folder carries the mark of the run with this id, or lies in its data folder. */
bool tt_data_is_ours(const char *id, const char *path);

#endif
