/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a deadline left of the work of each rank, kept in a file for a later run. */
#ifndef TT_ENGINE_COUNTS_H
#define TT_ENGINE_COUNTS_H

#include <stdint.h>

#include "base/error.h"

/* Replaces only a file of its own kind. */
int tt_counts_save(const char *path, uint64_t count, struct tt_error *e);
int tt_counts_load(const char *path, uint64_t *count, struct tt_error *e);

#endif
