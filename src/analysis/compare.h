/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sets of runs, A and B, compared plan by plan. */
#ifndef TT_ANALYSIS_COMPARE_H
#define TT_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "analysis/metrics.h"
#include "base/error.h"

/* Of comparisons in JSON. */
#define TT_COMPARISON_FORMAT 1

struct tt_compared_run {
    char *directory, *id, *workload, *plan; /* plan: its hash */
    json_t *parameters, *environment;       /* objects */
    double metrics[TT_NMETRICS];            /* NAN: not measured */
};
struct tt_compared_set {
    const char *given; /* how the set was asked for */
    size_t n;
    struct tt_compared_run *runs;
    json_t *left_out; /* [{"id", "reason"}]: runs that are not valid */
};

/* Room for one more run, zeroed, at the end; NULL: no memory. */
struct tt_compared_run *tt_compared_add(struct tt_compared_set *s);
bool tt_compared_has(const struct tt_compared_set *s, const char *id);
void tt_compared_free(struct tt_compared_set *s);

/* A key that says nothing about what was measured: names and places of reports, aliases, bounds of
 * a run, and what is another number every time. */
bool tt_is_silent_key(const char *key);
/* [{"key", "a": [values], "b": [values]}] of the environment, of what differs between the sets;
 * NULL: no memory. */
json_t *tt_compare_environments(const struct tt_compared_set *a, const struct tt_compared_set *b);

struct tt_compare_options {
    double margin;             /* 0.05: 5 % */
    bool any_plan;             /* all of A with all of B, whatever their plans */
    bool named;                /* only these metrics, measured or not; else the usual ones */
    bool metrics[TT_NMETRICS]; /* if named */
    uint64_t seed;
};

/* A new object: tutti, margin, level, seed, a and b {given, runs, left_out}, and
 *   plans: [{plan, workload, a, b (numbers of runs), metrics: [see analysis/verdict.h],
 *            parameters, environment: [{key, a: [values], b: [values]}] of what differs}],
 *   only_a and only_b: [{plan, workload, runs}] of what the other has not; in_both: runs in both
 * sets. TT_FAILED if no plan is in both; the error names a parameter that differs. Also if both
 * sets are the same runs. */
int tt_compare(const struct tt_compared_set *a, const struct tt_compared_set *b,
               const struct tt_compare_options *options, json_t **out, struct tt_error *e);

#endif
