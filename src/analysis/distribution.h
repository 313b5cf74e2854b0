/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How values are distributed: quantiles and spread, a density for plots, whether they are normal,
 * whether they have more than one mode. */
#ifndef TT_ANALYSIS_DISTRIBUTION_H
#define TT_ANALYSIS_DISTRIBUTION_H

#include "analysis/statistics.h"

/* Between the order statistics around 1 + (n - 1) share, as GNU R does (type 7); s is not empty. */
double tt_quantile(const struct tt_sample *s, double share);
/* Share of the values that are at most x. */
double tt_ecdf(const struct tt_sample *s, double x);

struct tt_summary {
    size_t n;
    double min, q05, q25, median, q75, q95, max;
    double iqr; /* q75 - q25 */
    double mad; /* 1.4826 x median of |value - median|: sigma of a normal distribution */
    double mean, deviation; /* 0 of one value */
};
int tt_summarize(const struct tt_sample *s, struct tt_summary *out, struct tt_error *e);

/* Gaussian kernel density at `n` places of equal distance, from 3 bandwidths below the least value
 * to 3 above the largest. Of more than 5,000 values those are spread over a grid of 8,192 places
 * first. */
struct tt_density {
    size_t n;
    double bandwidth;
    double *at, *density; /* one block: free(at) */
};
/* Silverman's rule of thumb, R's nrd0: 0.9 min(deviation, IQR / 1.34) n^(-1/5). */
double tt_bandwidth(const struct tt_sample *s);
int tt_density(const struct tt_sample *s, size_t n, struct tt_density *out, struct tt_error *e);
/* Places of the peaks that are at least `share` as high as the highest; returns their number, of
 * which `most` are stored. */
size_t tt_density_peaks(const struct tt_density *d, double share, double *at, size_t most);

/* A test of one sample that may not be possible. */
struct tt_shape_test {
    bool known; /* false: too few values, too many, or all equal */
    double statistic, p;
};
/* Shapiro and Wilk's W by Royston's approximation (AS R94, 1995), for 3 to 5,000 values. */
int tt_shapiro_wilk(const struct tt_sample *s, struct tt_shape_test *out, struct tt_error *e);
/* Hartigan and Hartigan's dip (1985): the largest distance between the values' distribution
 * function and the nearest one with a single mode. p from uniform samples of the same size, or of
 * 2,000 and scaled by the root of n where there are more. From 4 values on. */
int tt_dip(const struct tt_sample *s, uint64_t seed, struct tt_shape_test *out, struct tt_error *e);

#endif
