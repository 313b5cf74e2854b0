/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What matters for a metric: rank, frame, and the keys that vary between runs, each tested with all
 * else alike. A part of analysis/analyze.h. */
#ifndef TT_ANALYSIS_FACTORS_H
#define TT_ANALYSIS_FACTORS_H

#include "analysis/analyze.h"

/* The values of an analysis, added up to one a frame and one a run. */
struct tt_measured {
    const struct tt_analysis *of;
    size_t *first;   /* of the frames of each run in `frames`, and their number at the end */
    double *frames;  /* over ranks */
    double *medians; /* over frames, of each run */
    bool positive;   /* all of them: ratios make sense, else differences */
};

/* Runs that are alike in all keys but one (nkeys: in all of them) get the same number, from 0. */
int tt_classify_runs(const struct tt_analysis *a, size_t but, size_t *classes, size_t *n,
                     struct tt_error *e);
/* Each value over the median of its class, or less it: *ratios says what is wanted, and what it
 * was. It is less it if a median is not above 0. */
int tt_relate(const double *values, const size_t *classes, size_t n, size_t nclasses, bool *ratios,
              double *out, struct tt_error *e);

/* The list "factors" of the analysis. */
int tt_test_factors(const struct tt_measured *m, json_t **out, struct tt_error *e);

#endif
