/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_poly.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_statistics_double.h>

#define MAD_OF_NORMAL 1.4826
#define MAX_SHAPIRO 5000
#define MAX_DIRECT 5000
#define BINS 8192
#define DIP_DRAWS 1000
#define MAX_DIP_SAMPLE 2000

/* ---- quantiles and spread ---- */

double tt_quantile(const struct tt_sample *s, double share)
{
    return gsl_stats_quantile_from_sorted_data(s->values, 1, s->n, share);
}

double tt_ecdf(const struct tt_sample *s, double x)
{
    size_t low = 0, high = s->n; /* values below low are at most x, from high on larger */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->values[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return s->n ? (double)low / (double)s->n : 0;
}

int tt_summarize(const struct tt_sample *s, struct tt_summary *out, struct tt_error *e)
{
    double *off = malloc((s->n + 1) * sizeof *off);

    if (!off)
        return tt_fail_nomem(e, "deviations");
    *out = (struct tt_summary){.n = s->n,
                               .min = s->values[0],
                               .q05 = tt_quantile(s, 0.05),
                               .q25 = tt_quantile(s, 0.25),
                               .median = tt_sample_median(s),
                               .q75 = tt_quantile(s, 0.75),
                               .q95 = tt_quantile(s, 0.95),
                               .max = s->values[s->n - 1],
                               .mean = gsl_stats_mean(s->values, 1, s->n)};
    out->iqr = out->q75 - out->q25;
    if (s->n > 1)
        out->deviation = gsl_stats_sd_m(s->values, 1, s->n, out->mean);
    for (size_t i = 0; i < s->n; i++)
        off[i] = fabs(s->values[i] - out->median);
    out->mad = MAD_OF_NORMAL * tt_median(off, s->n);
    free(off);
    return TT_OK;
}

/* ---- density ---- */

double tt_bandwidth(const struct tt_sample *s)
{
    double deviation = s->n > 1 ? gsl_stats_sd(s->values, 1, s->n) : 0;
    double iqr = (tt_quantile(s, 0.75) - tt_quantile(s, 0.25)) / 1.34;
    double spread = iqr > 0 ? fmin(deviation, iqr) : deviation;

    if (!(spread > 0)) /* equal values still get a peak that can be drawn, as R has it */
        spread = s->values[0] != 0 ? fabs(s->values[0]) : 1;
    return 0.9 * spread * pow((double)s->n, -0.2);
}

/* Weights of places of equal distance; each value is shared by the two around it. Equal values have
 * one place, and the distance is 0. */
static void spread_values(const struct tt_sample *s, double from, double step, double *weights)
{
    memset(weights, 0, BINS * sizeof *weights);
    for (size_t i = 0; i < s->n; i++) {
        double place = step > 0 ? (s->values[i] - from) / step : 0;
        size_t bin = (size_t)fmin(fmax(place, 0), BINS - 2);

        weights[bin] += 1 - (place - (double)bin);
        weights[bin + 1] += place - (double)bin;
    }
}

/* Sum of the kernel around x over ascending places, each with its weight, or 1. */
static double kernel_sum(double x, double bandwidth, const double *places, const double *weights,
                         size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double z = (x - places[i]) / bandwidth;

        if (fabs(z) < 38) /* beyond it is 0 */
            sum += exp(-z * z / 2) * (weights ? weights[i] : 1);
    }
    return sum;
}

static void estimate(const struct tt_sample *s, struct tt_density *d, double *places,
                     double *weights)
{
    double reach = 3 * d->bandwidth, low = s->values[0], high = s->values[s->n - 1];
    double scale = 1 / ((double)s->n * d->bandwidth * sqrt(2 * M_PI));
    bool direct = s->n <= MAX_DIRECT;

    if (!direct) {
        spread_values(s, low, (high - low) / (BINS - 1), weights);
        for (size_t i = 0; i < BINS; i++)
            places[i] = low + (high - low) * (double)i / (BINS - 1);
    }
    for (size_t i = 0; i < d->n; i++) {
        d->at[i] =
            low - reach + (high - low + 2 * reach) * (double)i / (double)(d->n > 1 ? d->n - 1 : 1);
        d->density[i] =
            scale * (direct ? kernel_sum(d->at[i], d->bandwidth, s->values, NULL, s->n)
                            : kernel_sum(d->at[i], d->bandwidth, places, weights, BINS));
    }
}

int tt_density(const struct tt_sample *s, size_t n, struct tt_density *out, struct tt_error *e)
{
    double *places = malloc(2 * BINS * sizeof *places);

    *out = (struct tt_density){n, tt_bandwidth(s), malloc((2 * n + 1) * sizeof *out->at), NULL};
    if (!places || !out->at) {
        free(places);
        free(out->at);
        *out = (struct tt_density){0};
        return tt_fail_nomem(e, "a density");
    }
    out->density = out->at + n;
    estimate(s, out, places, places + BINS);
    free(places);
    return TT_OK;
}

size_t tt_density_peaks(const struct tt_density *d, double share, double *at, size_t most)
{
    double highest = 0;
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        highest = fmax(highest, d->density[i]);
    for (size_t i = 1; i + 1 < d->n; i++)
        if (d->density[i] > d->density[i - 1] && d->density[i] >= d->density[i + 1] &&
            d->density[i] >= share * highest) {
            if (n < most)
                at[n] = d->at[i];
            n++;
        }
    return n;
}

/* ---- Shapiro-Wilk ---- */

/* Royston's weights of the lower half, without their sign. */
static void shapiro_weights(size_t n, double *a)
{
    static const double first[] = {0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056};
    static const double second[] = {0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
    size_t half = n / 2, exact = n > 5 ? 2 : 1;
    double squares = 0, rest = 1, u = 1 / sqrt((double)n), root;

    if (n == 3) {
        a[0] = M_SQRT1_2;
        return;
    }
    for (size_t i = 0; i < half; i++) {
        a[i] = -gsl_cdf_ugaussian_Pinv(((double)i + 0.625) / ((double)n + 0.25));
        squares += 2 * a[i] * a[i];
    }
    root = sqrt(squares);
    for (size_t i = 0; i < exact; i++) {
        double weight = gsl_poly_eval(i ? second : first, 6, u) + a[i] / root;

        squares -= 2 * a[i] * a[i];
        rest -= 2 * weight * weight;
        a[i] = weight;
    }
    for (size_t i = exact; i < half; i++)
        a[i] /= sqrt(squares / rest);
}

/* Of 1 - w, which keeps its digits where w is close to 1. */
static double shapiro_p(size_t n, double off)
{
    static const double mean_few[] = {0.544, -0.39978, 0.025054, -6.714e-4};
    static const double deviation_few[] = {1.3822, -0.77857, 0.062767, -0.0020322};
    static const double mean_many[] = {-1.5861, -0.31082, -0.083751, 0.0038915};
    static const double deviation_many[] = {-0.4803, -0.082676, 0.0030302};
    double x = (double)n, y = log(off);

    if (n == 3)
        return fmax(0, 6 / M_PI * (asin(sqrt(1 - off)) - asin(sqrt(0.75))));
    if (n <= 11) {
        double limit = -2.273 + 0.459 * x;

        if (y >= limit)
            return 0;
        return gsl_cdf_ugaussian_Q((-log(limit - y) - gsl_poly_eval(mean_few, 4, x)) /
                                   exp(gsl_poly_eval(deviation_few, 4, x)));
    }
    x = log(x);
    return gsl_cdf_ugaussian_Q((y - gsl_poly_eval(mean_many, 4, x)) /
                               exp(gsl_poly_eval(deviation_many, 3, x)));
}

int tt_shapiro_wilk(const struct tt_sample *s, struct tt_shape_test *out, struct tt_error *e)
{
    double *a, mean = 0, squares = 0, slope = 0, range;
    size_t n = s->n, half = n / 2;

    *out = (struct tt_shape_test){.known = false, .p = 1};
    if (n < 3 || n > MAX_SHAPIRO || !((range = s->values[n - 1] - s->values[0]) > 0))
        return TT_OK;
    a = malloc(half * sizeof *a);
    if (!a)
        return tt_fail_nomem(e, "weights");
    shapiro_weights(n, a);
    /* Relative to the least value and the range, so that nothing cancels or overflows. */
    for (size_t i = 0; i < n; i++)
        mean += (s->values[i] - s->values[0]) / range / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += gsl_pow_2((s->values[i] - s->values[0]) / range - mean);
    for (size_t i = 0; i < half; i++)
        slope += a[i] * (s->values[n - 1 - i] - s->values[i]) / range;
    free(a);
    out->known = true;
    out->statistic = fmin(1, slope * slope / squares);
    out->p = shapiro_p(n, fmax(1 - out->statistic, 1e-19));
    return TT_OK;
}

/* ---- dip ---- */

/* Ascending values, and what the search needs: for every value the one before it on the greatest
 * convex minorant of all up to it, and the one after it on the least concave majorant of all from
 * it. */
struct dip_search {
    const double *x;
    size_t n, *before, *after;
    size_t *lower, *upper; /* vertices in the interval: of the minorant down, of the majorant up */
    size_t nlower, nupper;
};

static void link_hulls(struct dip_search *d)
{
    const double *x = d->x;

    d->before[0] = 0;
    for (size_t j = 1; j < d->n; j++) {
        size_t at = j - 1;

        while (at > 0 && (x[j] - x[at]) * (double)(at - d->before[at]) >=
                             (x[at] - x[d->before[at]]) * (double)(j - at))
            at = d->before[at];
        d->before[j] = at;
    }
    d->after[d->n - 1] = d->n - 1;
    for (size_t j = d->n - 1; j-- > 0;) {
        size_t at = j + 1;

        while (at + 1 < d->n && (x[at] - x[j]) * (double)(d->after[at] - at) >=
                                    (x[d->after[at]] - x[at]) * (double)(at - j))
            at = d->after[at];
        d->after[j] = at;
    }
}

static void list_vertices(struct dip_search *d, size_t low, size_t high)
{
    d->nlower = d->nupper = 1;
    d->lower[0] = high;
    while (d->lower[d->nlower - 1] > low) {
        d->lower[d->nlower] = d->before[d->lower[d->nlower - 1]];
        d->nlower++;
    }
    d->upper[0] = low;
    while (d->upper[d->nupper - 1] < high) {
        d->upper[d->nupper] = d->after[d->upper[d->nupper - 1]];
        d->nupper++;
    }
}

/* The largest distance between majorant and minorant, in ranks, and the vertices around it: it is
 * at a vertex of one of them, and both lists are walked together from left to right. */
static double largest_gap(const struct dip_search *d, size_t *of_lower, size_t *of_upper)
{
    const double *x = d->x;
    size_t l = d->nlower - 1, u = 1; /* lower[l] < lower[l - 1], upper[u - 1] < upper[u] */
    double largest = 0;

    *of_lower = d->nlower - 1;
    *of_upper = d->nupper - 1;
    if (d->nlower == 2 && d->nupper == 2)
        return 1;
    l = d->nlower - 2;
    for (;;) {
        size_t low = d->lower[l], up = d->upper[u];
        double gap;

        if (low > up) {
            size_t from = d->lower[l + 1];

            gap = (double)(up + 1) - (double)from -
                  (x[up] - x[from]) * (double)(low - from) / (x[low] - x[from]);
            u++;
            if (gap >= largest) {
                largest = gap;
                *of_lower = l + 1;
                *of_upper = u - 1;
            }
        } else {
            size_t from = d->upper[u - 1];

            gap = (x[low] - x[from]) * (double)(up - from) / (x[up] - x[from]) -
                  ((double)low - (double)from - 1);
            if (gap >= largest) {
                largest = gap;
                *of_lower = l;
                *of_upper = u;
            }
            l = l ? l - 1 : 0;
        }
        u = u < d->nupper ? u : d->nupper - 1;
        if (d->lower[l] == d->upper[u])
            return largest;
    }
}

/* How far the distribution function of the values leaves the chord from one vertex to another:
 * above it if side is 1, else below. */
static double off_chord(const double *x, size_t from, size_t to, double side)
{
    double largest = 1, slope;

    if (to - from < 2 || x[to] == x[from])
        return 1;
    slope = (double)(to - from) / (x[to] - x[from]);
    for (size_t i = from; i <= to; i++)
        largest = fmax(largest, 1 + side * ((double)(i - from) - (x[i] - x[from]) * slope));
    return largest;
}

/* Narrows the interval in which the mode is until what lies outside decides; in 1 / 2n. */
static double search_dip(struct dip_search *d)
{
    size_t low = 0, high = d->n - 1;
    double dip = 1;

    link_hulls(d);
    for (;;) {
        size_t of_lower, of_upper;

        list_vertices(d, low, high);
        if (largest_gap(d, &of_lower, &of_upper) < dip)
            break;
        for (size_t j = of_lower; j + 1 < d->nlower; j++)
            dip = fmax(dip, off_chord(d->x, d->lower[j + 1], d->lower[j], 1));
        for (size_t j = of_upper; j + 1 < d->nupper; j++)
            dip = fmax(dip, off_chord(d->x, d->upper[j], d->upper[j + 1], -1));
        if (low == d->lower[of_lower] && high == d->upper[of_upper])
            break;
        low = d->lower[of_lower];
        high = d->upper[of_upper];
    }
    return dip / (2 * (double)d->n);
}

/* n uniform values, ascending: spacings of such are exponential. */
static void draw_uniform(gsl_rng *rng, double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = sum += gsl_ran_exponential(rng, 1);
}

int tt_dip(const struct tt_sample *s, uint64_t seed, struct tt_shape_test *out, struct tt_error *e)
{
    size_t n = s->n, drawn = n < MAX_DIP_SAMPLE ? n : MAX_DIP_SAMPLE, extreme = 0;
    struct dip_search d = {.x = s->values, .n = n};
    double *x, limit;
    gsl_rng *rng;

    *out = (struct tt_shape_test){.known = false, .p = 1};
    if (n < 4 || !(s->values[n - 1] > s->values[0]))
        return TT_OK;
    d.before = malloc(4 * n * sizeof *d.before);
    x = malloc(drawn * sizeof *x);
    rng = tt_make_rng(seed);
    if (d.before && x && rng) {
        d.after = d.before + n;
        d.lower = d.after + n;
        d.upper = d.lower + n;
        out->known = true;
        out->statistic = search_dip(&d);
        limit = out->statistic * sqrt((double)n / (double)drawn);
        d.x = x;
        d.n = drawn;
        for (size_t i = 0; i < DIP_DRAWS; i++) {
            draw_uniform(rng, x, drawn);
            extreme += search_dip(&d) >= limit;
        }
        out->p = (double)(extreme + 1) / (DIP_DRAWS + 1);
    }
    free(d.before);
    free(x);
    gsl_rng_free(rng);
    return out->known ? TT_OK : tt_fail_nomem(e, "the dip");
}
