/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a few runs allow to be said. The unit is the run, never the iteration: iterations of one run
 * share its node, its place on the disk and its neighbours. Of runs everything is about
 * medians, since times and rates are skewed and have outliers; within a run means count, which add
 * up to its time. Pure functions; what is random comes from the given seed. */
#ifndef TT_ANALYSIS_STATISTICS_H
#define TT_ANALYSIS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

#include "base/error.h"

/* The level of every interval and test that is reported. */
#define TT_LEVEL 0.95

/* One value a run, ascending and finite. */
struct tt_sample {
    size_t n;
    const double *values;
};
struct tt_interval {
    bool known; /* false: too few runs */
    double low, high;
};

/* Ranks from 1, in the order of the values; equal values share the mean of their ranks. *ties is
 * the sum of t^3 - t over groups of t equal values. */
int tt_ranks(const double *values, size_t n, double *ranks, double *ties, struct tt_error *e);

/* The generator of everything random here; NULL: no memory. */
gsl_rng *tt_make_rng(uint64_t seed);

/* Sorts values and returns their median; 0 if there are none. */
double tt_median(double *values, size_t n);
double tt_sample_median(const struct tt_sample *s);

/* Runs from which an interval of the median exists at this level: the range of n values covers it
 * with probability 1 - 2^(1-n). Six for 95 %. */
size_t tt_runs_for_interval(double level);
/* Whatever the distribution: the closest pair of order statistics, equally far from both ends, that
 * covers the median with at least this probability. For decisions that must not err more often; of
 * 95 % it covers up to 98.5. */
struct tt_interval tt_median_interval(const struct tt_sample *s, double level);
/* For reports: the pair whose probability is nearest to this one, and not much below, where the
 * upper end may be one value further in than the lower end is. Of 95 % it covers 93.4 to 96.9,
 * but 98.4 for 7 values; from 20 on 93.6 to 95.9; whatever the distribution, also where the median
 * lies in a gap between two modes, across which interpolated intervals fail. */
struct tt_interval tt_median_estimate(const struct tt_sample *s, double level);

/* How b differs from a: median(b) / median(a), or median(b) - median(a). A ratio needs values above
 * 0.
 */
enum tt_effect { TT_RATIO, TT_DIFFERENCE };
double tt_effect(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b);

/* Percentile bootstrap: BCa corrects by a jackknife, which does not work for medians. Too few runs
 * in either sample: not known. */
int tt_bootstrap_median(const struct tt_sample *s, double level, uint64_t seed,
                        struct tt_interval *out, struct tt_error *e);
int tt_bootstrap_effect(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b,
                        double level, uint64_t seed, struct tt_interval *out, struct tt_error *e);
#define TT_RESAMPLES 10000

/* Rows of `width` numbers, each drawn as a whole. */
struct tt_drawn {
    size_t n, width;
    const double *values;
};
#define TT_DRAWN_WIDTH 5 /* at most */
/* Percentile bootstrap of a function of the means of both samples' columns. Fewer rows than
 * tt_runs_for_interval() in either: not known. Takes time in proportion to the rows. */
typedef double tt_of_means(const double *a, const double *b);
int tt_bootstrap_means(tt_of_means *of, const struct tt_drawn *a, const struct tt_drawn *b,
                       double level, uint64_t seed, struct tt_interval *out, struct tt_error *e);

/* Coefficient of variation: standard deviation (of n - 1) / mean, of values in any order. NAN:
 * fewer than two, or the mean is not above 0. */
double tt_variation(const double *values, size_t n);
/* Its interval by the studentized bootstrap of its logarithm. The percentile bootstrap covers the
 * true value of ten normal runs in 77 % of cases only, this one in 93 %. Fewer runs than
 * TT_RUNS_FOR_VARIATION: not known. */
#define TT_RUNS_FOR_VARIATION 10
int tt_bootstrap_variation(const double *values, size_t n, double level, uint64_t seed,
                           struct tt_interval *out, struct tt_error *e);

/* Two-sided tests that both samples come from one distribution; neither may be empty. */
struct tt_test {
    double statistic, p;
    bool exact; /* every arrangement was counted */
};
/* Statistic: median(b) - median(a). All ways to deal the values into two groups of these sizes if
 * they are at most 200,000 (10 and 10 runs), else a random choice of them. */
int tt_permutation_test(const struct tt_sample *a, const struct tt_sample *b, uint64_t seed,
                        struct tt_test *out, struct tt_error *e);
/* Statistic: U of b, the pairs in which b's value is larger, ties counting half. Exact with ties,
 * too, up to 60 runs together; above, the normal approximation corrected for ties and continuity.
 */
int tt_mann_whitney(const struct tt_sample *a, const struct tt_sample *b, struct tt_test *out,
                    struct tt_error *e);

/* Equivalence: the whole interval of the effect lies within the margin, 1 / (1 + margin) to 1 +
 * margin for a ratio, so that exchanging the samples changes nothing, and -margin to margin for a
 * difference.
 */
bool tt_is_equivalent(enum tt_effect kind, const struct tt_interval *i, double margin);
/* Runs of each sample with which the effect would be decided four times in five, different from
 * nothing or equivalent within the margin (above 0), if it and the spread stay as they are. */
double tt_runs_to_decide(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b,
                         const struct tt_interval *i, double margin);

#endif
