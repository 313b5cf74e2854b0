/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One metric in two sets of runs: what can be said about B against A. */
#ifndef TT_ANALYSIS_VERDICT_H
#define TT_ANALYSIS_VERDICT_H

#include <jansson.h>

#include "analysis/metrics.h"

/* The metric of every run that measured it, in the order of the runs. */
struct tt_values {
    size_t n;
    double *values;
};

/* A new object:
 *   metric, unit, better, a and b {n, values, median, min, max, interval of the median or null},
 *   kind: "ratio" or "difference"; effect {value, low, high} or null,
 *   permutation {p, exact} and mann_whitney {u, p, exact} or null,
 *   verdict: "better", "worse", "different", "equivalent", "cannot tell", "too few" or "not
 * measured", text: the verdict as a phrase with its numbers or reason, runs_needed: a number, null
 * if nothing is to be decided, or more than can be said. Different only if the interval of the
 * effect and the permutation test say so; equivalent if the interval lies within the margin, be it
 * different or not. */
int tt_verdict(enum tt_metric_id metric, const struct tt_values *a, const struct tt_values *b,
               double margin, uint64_t seed, json_t **out, struct tt_error *e);

#endif
