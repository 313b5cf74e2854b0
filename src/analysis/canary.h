/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run of tonight among those of the nights before: has it become worse? */
#ifndef TT_ANALYSIS_CANARY_H
#define TT_ANALYSIS_CANARY_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/metrics.h"
#include "analysis/require.h"

/* What gave the alarm. */
enum tt_canary_rule {
    TT_CANARY_QUIET,
    TT_CANARY_LEVEL, /* the last change of level was one to worse */
    TT_CANARY_THREE, /* the last three nights are all beyond a limit */
    TT_CANARY_TWO,   /* the last two are all beyond a further one */
    TT_CANARY_FAR,   /* tonight is far from what was usual before */
};

struct tt_canary_options {
    double alarm;  /* false alarms in a quiet night, at most: 0.01 */
    double margin; /* smaller changes are none: 0.03 */
    uint64_t seed;
};

struct tt_canary {
    enum tt_verdict_kind kind; /* TT_UNDECIDED: the history is too short */
    size_t more;               /* then, nights that are missing */
    enum tt_canary_rule rule;
    size_t from, n; /* the history that tonight is held against: values[from] to [from + n - 1] */
    size_t since;   /* index of the first value that is worse */
    double median;  /* of the history */
    double limit;   /* that the last nights are beyond; of TT_CANARY_QUIET: three nights beyond it
                       would give the alarm */
    double limit_of_one; /* one night beyond it would */
};

/* Nights, tonight included, that can be judged at all. */
size_t tt_canary_least(double alarm);

/* Values in the order of the nights, tonight last; better is higher or lower. Two and three nights
 * in a row are judged by their ranks alone: if nothing has changed, w nights are all among the w +
 * j worst of n + w with probability C(w + j, w) / C(n + w, w), however values are distributed. One
 * night by itself would need a history of hundreds for that, so it is judged by its distance from
 * the median in robust standard deviations (Qn), of which it has to be away eight or more,
 * and one more than the worst night before. A change of level (analysis/series.h) gives the alarm
 * for as long as it is in the history, so that whoever misses the first night hears of it in the
 * next. The history begins with the last change of level, if enough nights have passed since. */
int tt_canary_judge(const double *values, size_t n, enum tt_better better,
                    const struct tt_canary_options *o, struct tt_canary *out, struct tt_error *e);

#endif
