/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of a study. */
#ifndef TT_REPORT_STUDY_H
#define TT_REPORT_STUDY_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "base/error.h"

/* For each metric a table of all rows, or of medians with the values of the key pivot as columns;
 * then which factors matter, and sentences. sort: a metric, best first, or a key; either may be
 * NULL. */
int tt_report_study(FILE *out, const json_t *answer, const char *sort, const char *pivot,
                    struct tt_error *e);
/* All runs: a row per run and metric, or wide, a row per run. chosen: only the metrics that the
 * answer is about. */
int tt_report_study_csv(const char *path, const json_t *answer, bool wide, bool chosen,
                        struct tt_error *e);

#endif
