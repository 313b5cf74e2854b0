/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values in the order in which they were measured: do they drift, and where does their level
 * change? The frames of a run, or the runs of many nights. Both methods use only the order of the
 * values, so that an outlier weighs no more than its rank. Both ask whether the values could stand
 * in any order: neighbours that resemble each other (serial correlation) are found as drift or as
 * changes, too. */
#ifndef TT_ANALYSIS_SERIES_H
#define TT_ANALYSIS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A level has at least so many values; one or two that stand apart are outliers, not a change. */
#define TT_LEVEL_LENGTH 3

struct tt_change {
    size_t at;            /* index of the first value at the new level */
    double before, after; /* medians of the levels on both sides */
    double p;             /* of this change among the values of both levels */
};
struct tt_changes {
    size_t n;
    struct tt_change *items; /* ascending; free() */
};

/* Where the level changes, by binary segmentation. The statistic is the largest standardised
 * difference of means of van der Waerden's normal scores, over all places that leave
 * TT_LEVEL_LENGTH values on either side; its p comes from random orders of the same values. A
 * series without a change shows one with probability `alarm` at most, exactly, however it is
 * distributed; each level that was found is searched in the same way, and each change is placed and
 * tested once more between its neighbours. Random orders: 10 / alarm at most, fewer where chance
 * explains the series soon (Besag and Clifford, 1991). Values are finite; 0 < alarm < 1. Fewer than
 * 2 TT_LEVEL_LENGTH values, or equal ones: no change. */
int tt_change_points(const double *values, size_t n, double alarm, uint64_t seed,
                     struct tt_changes *out, struct tt_error *e);

struct tt_drift {
    bool known; /* false: fewer than 4 values, or all are equal */
    double tau; /* Kendall's tau-b with time: -1 always down, 1 always up */
    double p;   /* of Mann and Kendall's test that there is no trend, two-sided */
    bool exact;
    double slope;       /* per value: the median of the slopes between pairs (Theil and Sen) */
    double s, variance; /* pairs that rise less those that fall; its variance by chance */
};
/* p is exact up to 49 different values; else the normal approximation, corrected for ties and
 * continuity. Above 200 values the slope is that of pairs half a series apart (Theil's short-cut),
 * since all pairs would take long. */
int tt_drift(const double *values, size_t n, struct tt_drift *out, struct tt_error *e);
/* The same of several series that are not compared with each other, such as runs: S and variances
 * add up (Hirsch and Slack, 1984), tau is the mean, the slope the median. */
int tt_drift_together(const struct tt_drift *parts, size_t n, struct tt_drift *out,
                      struct tt_error *e);

#endif
