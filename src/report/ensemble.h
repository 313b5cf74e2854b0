/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of an ensemble shown. */
#ifndef TT_REPORT_ENSEMBLE_H
#define TT_REPORT_ENSEMBLE_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "report/paragraph.h"

/* At most 80 columns: a table, a chart, what grew and what can be said. */
void tt_report_ensemble(FILE *out, const json_t *answer);
/* Sentences about a step with others: how much slower, what grew, what was used up. */
void tt_ensemble_conclude(const json_t *step, struct tt_paragraph *p);
/* What tt_slowdown_suffices made. */
void tt_report_systems(FILE *out, const json_t *systems, double limit);
/* One row per job of every repetition; path "-" is stdout. */
int tt_report_ensemble_csv(const char *path, const json_t *answer, struct tt_error *e);

#endif
