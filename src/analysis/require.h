/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions that a result must meet: an acceptance test. */
#ifndef TT_ANALYSIS_REQUIRE_H
#define TT_ANALYSIS_REQUIRE_H

#include <jansson.h>

#include "analysis/metrics.h"
#include "base/error.h"
#include "spec/param.h"

enum tt_verdict_kind { TT_PASS, TT_FAIL, TT_UNDECIDED };
/* "pass", "fail" and "cannot be told", by kind. */
extern const char *const tt_verdict_names[];
/* 0, TT_EXIT_FAIL or TT_EXIT_UNDECIDED. */
#define TT_EXIT_FAIL 3
#define TT_EXIT_UNDECIDED 4
int tt_verdict_status(enum tt_verdict_kind kind);
/* The worse of two: fail, then cannot be told, then pass. */
enum tt_verdict_kind tt_verdict_worst(enum tt_verdict_kind a, enum tt_verdict_kind b);

/* Stored runs that a result is held against. */
struct tt_baseline {
    size_t n;
    double *values; /* caller frees */
    char why[240];  /* why they are too few; "": they are not */
};
/* Who knows stored runs. check refuses conditions that no run can meet, before anything is run.
 * find: values of the metric in the runs that meet the conditions (as of tutti runs, joined by
 * commas), had as many others around them, and are of the same plan and machine as the result. */
struct tt_baseline_source {
    int (*check)(void *context, const char *conditions, struct tt_error *e);
    int (*find)(void *context, const char *conditions, const struct tt_metric *metric,
                uint64_t others, struct tt_baseline *out, struct tt_error *e);
    void *context;
};

/* "slowdown(9) <= 2.5", "write_rate >= 40 GB/s", "write_rate(3) >= 1g": a metric of the reference
 * alone, or with so many others. "variation(3) <= 5 %", "variation(write_rate, 3) <= 5 %": the
 * coefficient of variation among repetitions, of the runtime if no metric is named. "write_rate >=
 * 0.95 * baseline(label=golden)": against the median of stored runs. Refuses what cannot be
 * understood, and what asks for a number of others that is not among those to be measured, before
 * anything is run. */
int tt_require_check(const struct tt_words *conditions, const struct tt_counts *others,
                     const struct tt_baseline_source *source, struct tt_error *e);

/* Of the steps of an answer: [{"condition", "verdict": see tt_verdict_names, "text"}]. Decided from
 * the interval: pass if all of it meets the condition, fail if none of it does. */
int tt_require_judge(const struct tt_words *conditions, const json_t *steps,
                     const struct tt_baseline_source *source, json_t **out,
                     enum tt_verdict_kind *all, struct tt_error *e);

/* Whether repeating made the interval of a metric as narrow as was asked for: alone, or with others
 * around it that of its ratio to alone. [{"others", "met", "text"}]; NULL: no memory. */
json_t *tt_stop_judge(const char *metric, double share, const json_t *steps);

#endif
