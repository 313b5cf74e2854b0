/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_combination.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#define MAX_ARRANGEMENTS 200000
#define MAX_EXACT_RANKS 60

gsl_rng *tt_make_rng(uint64_t seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    if (rng)
        gsl_rng_set(rng, (unsigned long)seed);
    return rng;
}

int tt_ranks(const double *values, size_t n, double *ranks, double *ties, struct tt_error *e)
{
    size_t *order = malloc((n + 1) * sizeof *order);

    *ties = 0;
    if (!order)
        return tt_fail_nomem(e, "the ranks");
    gsl_sort_index(order, values, 1, n);
    for (size_t i = 0, end; i < n; i = end) {
        double t;

        for (end = i + 1; end < n && values[order[end]] == values[order[i]];)
            end++;
        for (size_t j = i; j < end; j++)
            ranks[order[j]] = (double)(i + 1 + end) / 2;
        t = (double)(end - i);
        *ties += t * t * t - t;
    }
    free(order);
    return TT_OK;
}

/* ---- median ---- */

#define DIGIT 11 /* bits: six digits make a number */
#define DIGITS 6
#define FEW 400

/* A whole number in the same order as the value, and back: the sign turns the others around. */
static uint64_t to_ordered(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : UINT64_C(1) << 63);
}

static double from_ordered(uint64_t bits)
{
    double value;

    bits ^= bits >> 63 ? UINT64_C(1) << 63 : UINT64_MAX;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Digit by digit, from the lowest: a fifth of the time of comparing where there are very many. */
static void sort_by_digits(double *values, uint64_t *keys, size_t n)
{
    uint64_t *from = keys, *to = keys + n;

    for (size_t i = 0; i < n; i++)
        from[i] = to_ordered(values[i]);
    for (int d = 0; d < DIGITS; d++) {
        size_t places[(1 << DIGIT) + 1] = {0};
        uint64_t *done = from;

        for (size_t i = 0; i < n; i++)
            places[(from[i] >> d * DIGIT & ((1 << DIGIT) - 1)) + 1]++;
        for (size_t k = 1; k <= 1 << DIGIT; k++)
            places[k] += places[k - 1];
        for (size_t i = 0; i < n; i++)
            to[places[from[i] >> d * DIGIT & ((1 << DIGIT) - 1)]++] = from[i];
        from = to;
        to = done;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = from_ordered(from[i]);
}

double tt_median(double *values, size_t n)
{
    uint64_t *keys = n > FEW ? malloc(2 * n * sizeof *keys) : NULL;

    if (keys)
        sort_by_digits(values, keys, n);
    else
        gsl_sort(values, 1, n);
    free(keys);
    return gsl_stats_median_from_sorted_data(values, 1, n);
}

double tt_sample_median(const struct tt_sample *s)
{
    return gsl_stats_median_from_sorted_data(s->values, 1, s->n);
}

size_t tt_runs_for_interval(double level)
{
    size_t n = 2;

    while (1 - ldexp(2, -(int)n) < level && n < 1000)
        n++;
    return n;
}

/* How likely the median lies between the low-th and the high-th smallest of n values, whatever
 * their distribution: if at least `low` and fewer than `high` values lie below it. */
static double coverage(size_t low, size_t high, size_t n)
{
    return gsl_cdf_binomial_P((unsigned)high - 1, 0.5, (unsigned)n) -
           gsl_cdf_binomial_P((unsigned)low - 1, 0.5, (unsigned)n);
}

struct tt_interval tt_median_interval(const struct tt_sample *s, double level)
{
    size_t n = s->n, k = 0;

    while (k < n / 2 && coverage(k + 1, n - k, n) >= level)
        k++;
    if (k == 0)
        return (struct tt_interval){.known = false};
    return (struct tt_interval){true, s->values[k - 1], s->values[n - k]};
}

struct tt_interval tt_median_estimate(const struct tt_sample *s, double level)
{
    size_t n = s->n, low = 1, high = n, best_low = 0, best_high = 0;
    double off = 1;

    /* From the range inwards, the upper end first. */
    while (low < high) {
        double covers = coverage(low, high, n);

        if (covers < level - (1 - level) / 5)
            break;
        if (fabs(covers - level) < off && (best_low || covers >= level)) {
            off = fabs(covers - level);
            best_low = low;
            best_high = high;
        }
        if (low + high > n)
            high--;
        else
            low++;
    }
    if (!best_low)
        return (struct tt_interval){.known = false};
    return (struct tt_interval){true, s->values[best_low - 1], s->values[best_high - 1]};
}

/* ---- bootstrap ---- */

double tt_effect(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b)
{
    double from = tt_sample_median(a), to = tt_sample_median(b);

    return kind == TT_RATIO ? to / from : to - from;
}

static double at(const struct tt_sample *s, double u)
{
    size_t i = (size_t)(u * (double)s->n);

    return s->values[i < s->n ? i : s->n - 1];
}

/* The median of a resample. Only its middle values count, and these are at the middle order
 * statistics of n uniform numbers, so they are drawn as such: the same distribution, whatever n, in
 * one step. */
static double draw_median(gsl_rng *rng, const struct tt_sample *s)
{
    size_t k = (s->n + 1) / 2;
    double u = gsl_ran_beta(rng, (double)k, (double)(s->n + 1 - k)), next;

    if (s->n % 2)
        return at(s, u);
    next = u + (1 - u) * gsl_ran_beta(rng, 1, (double)(s->n - k));
    return (at(s, u) + at(s, next)) / 2;
}

static double draw_effect(gsl_rng *rng, enum tt_effect kind, const struct tt_sample *a,
                          const struct tt_sample *b)
{
    double from = draw_median(rng, a), to = draw_median(rng, b);

    return kind == TT_RATIO ? to / from : to - from;
}

static void set_interval(double *draws, double level, struct tt_interval *out)
{
    gsl_sort(draws, 1, TT_RESAMPLES);
    out->known = true;
    out->low = gsl_stats_quantile_from_sorted_data(draws, 1, TT_RESAMPLES, (1 - level) / 2);
    out->high = gsl_stats_quantile_from_sorted_data(draws, 1, TT_RESAMPLES, (1 + level) / 2);
}

/* Means of few rows vary less when the rows are drawn again than those of new rows would: by the
 * square root of (n - 1) / n, and their spread is an estimate. So draws are moved away from the
 * mean as far as Student's t is from the normal distribution (after Hesterberg's expanded
 * percentiles). */
static double expansion(double level, size_t n)
{
    double t = gsl_cdf_tdist_Pinv((1 + level) / 2, (double)n - 1);

    return t / gsl_cdf_ugaussian_Pinv((1 + level) / 2) * sqrt((double)n / ((double)n - 1));
}

static void draw_means(gsl_rng *rng, const struct tt_drawn *s, double by, double *means)
{
    for (size_t c = 0; c < s->width; c++)
        means[c] = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double *row = s->values + s->width * gsl_rng_uniform_int(rng, s->n);
        const double *there = s->values + s->width * i;

        for (size_t c = 0; c < s->width; c++)
            means[c] += (there[c] + by * (row[c] - there[c])) / (double)s->n;
    }
}

int tt_bootstrap_means(tt_of_means *of, const struct tt_drawn *a, const struct tt_drawn *b,
                       double level, uint64_t seed, struct tt_interval *out, struct tt_error *e)
{
    size_t few = tt_runs_for_interval(level);
    double *draws, by_a, by_b;
    gsl_rng *rng;

    *out = (struct tt_interval){.known = false};
    if (a->n < few || b->n < few)
        return TT_OK;
    by_a = expansion(level, a->n);
    by_b = expansion(level, b->n);
    rng = tt_make_rng(seed);
    draws = malloc(TT_RESAMPLES * sizeof *draws);
    for (size_t i = 0; rng && draws && i < TT_RESAMPLES; i++) {
        double means[2][TT_DRAWN_WIDTH];

        draw_means(rng, a, by_a, means[0]);
        draw_means(rng, b, by_b, means[1]);
        draws[i] = of(means[0], means[1]);
    }
    if (rng && draws)
        set_interval(draws, level, out);
    free(draws);
    gsl_rng_free(rng);
    return out->known ? TT_OK : tt_fail_nomem(e, "the resamples");
}

/* a NULL: of the median of b alone. */
static int bootstrap(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b,
                     double level, uint64_t seed, struct tt_interval *out, struct tt_error *e)
{
    size_t few = tt_runs_for_interval(level);
    double *draws;
    gsl_rng *rng;

    *out = (struct tt_interval){.known = false};
    if (b->n < few || (a && a->n < few))
        return TT_OK;
    rng = tt_make_rng(seed);
    draws = malloc(TT_RESAMPLES * sizeof *draws);
    for (size_t i = 0; rng && draws && i < TT_RESAMPLES; i++)
        draws[i] = a ? draw_effect(rng, kind, a, b) : draw_median(rng, b);
    if (rng && draws)
        set_interval(draws, level, out);
    free(draws);
    gsl_rng_free(rng);
    return out->known ? TT_OK : tt_fail_nomem(e, "the resamples");
}

int tt_bootstrap_median(const struct tt_sample *s, double level, uint64_t seed,
                        struct tt_interval *out, struct tt_error *e)
{
    return bootstrap(TT_DIFFERENCE, NULL, s, level, seed, out, e);
}

int tt_bootstrap_effect(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b,
                        double level, uint64_t seed, struct tt_interval *out, struct tt_error *e)
{
    return bootstrap(kind, a, b, level, seed, out, e);
}

/* ---- variation ---- */

double tt_variation(const double *values, size_t n)
{
    double mean = n >= 2 ? gsl_stats_mean(values, 1, n) : 0;

    return mean > 0 ? gsl_stats_sd_m(values, 1, n, mean) / mean : NAN;
}

/* Of the logarithm of the variation, by the spread and the kurtosis of the values. A resample of
 * two different values in equal parts has none: it keeps a floor. */
static double error_of_log(const double *values, size_t n)
{
    double kurtosis = gsl_stats_kurtosis(values, 1, n) + 3;

    return sqrt(fmax(kurtosis - 1, 0.01) / (4 * (double)n));
}

/* How far the resamples' logarithms lie from the sample's, in their own standard errors. Resamples
 * of equal values have no spread: they lie below all others. */
static void draw_variations(gsl_rng *rng, const double *values, size_t n, double *resample,
                            double *draws)
{
    double from = log(tt_variation(values, n));

    for (size_t i = 0; i < TT_RESAMPLES; i++) {
        double cv;

        for (size_t k = 0; k < n; k++)
            resample[k] = values[gsl_rng_uniform_int(rng, n)];
        cv = tt_variation(resample, n);
        draws[i] = cv > 0 ? (log(cv) - from) / error_of_log(resample, n) : -1e300;
    }
}

int tt_bootstrap_variation(const double *values, size_t n, double level, uint64_t seed,
                           struct tt_interval *out, struct tt_error *e)
{
    double cv = tt_variation(values, n), error, *draws, *resample;
    struct tt_interval t = {.known = false};
    gsl_rng *rng;

    *out = (struct tt_interval){.known = n >= TT_RUNS_FOR_VARIATION && cv == 0};
    if (n < TT_RUNS_FOR_VARIATION || !(cv > 0))
        return TT_OK;
    rng = tt_make_rng(seed);
    draws = malloc(TT_RESAMPLES * sizeof *draws);
    resample = malloc(n * sizeof *resample);
    if (rng && draws && resample) {
        draw_variations(rng, values, n, resample, draws);
        set_interval(draws, level, &t);
        error = error_of_log(values, n);
        *out = (struct tt_interval){true, cv * exp(-t.high * error), cv * exp(-t.low * error)};
        out->known = isfinite(out->high); /* where most runs are equal there is no upper end */
    }
    free(resample);
    free(draws);
    gsl_rng_free(rng);
    return t.known ? TT_OK : tt_fail_nomem(e, "the resamples");
}

/* ---- permutation test ---- */

/* Both samples as one. */
struct pool {
    size_t n, k; /* k of the n belong to b */
    double *values;
};

static int make_pool(struct pool *p, const struct tt_sample *a, const struct tt_sample *b,
                     struct tt_error *e)
{
    p->n = a->n + b->n;
    p->k = b->n;
    p->values = malloc(p->n * sizeof *p->values);
    if (!p->values)
        return tt_fail_nomem(e, "the pooled runs");
    for (size_t i = 0; i < p->n; i++)
        p->values[i] = i < a->n ? a->values[i] : b->values[i - a->n];
    gsl_sort(p->values, 1, p->n);
    return TT_OK;
}

/* Median of the chosen values minus that of the others; `chosen` are k ascending indices. */
static double split_difference(const struct pool *p, const size_t *chosen)
{
    size_t others = p->n - p->k, low = (others - 1) / 2, high = others / 2, seen = 0, c = 0;
    double rest = 0;

    for (size_t i = 0; i < p->n && seen <= high; i++) {
        if (c < p->k && chosen[c] == i) {
            c++;
            continue;
        }
        if (seen == low)
            rest += p->values[i] / 2;
        if (seen == high)
            rest += p->values[i] / 2;
        seen++;
    }
    return (p->values[chosen[(p->k - 1) / 2]] + p->values[chosen[p->k / 2]]) / 2 - rest;
}

/* Counts the arrangements with a difference of at least `limit` either way. */
static int count_all(const struct pool *p, double limit, double *extreme, double *total)
{
    gsl_combination *c = gsl_combination_calloc(p->n, p->k);

    if (!c)
        return -1;
    do {
        *extreme += fabs(split_difference(p, gsl_combination_data(c))) >= limit;
        *total += 1;
    } while (gsl_combination_next(c) == GSL_SUCCESS);
    gsl_combination_free(c);
    return 0;
}

/* The arrangement that was observed counts, too, so that p is never 0 and never too small. */
static int count_some(const struct pool *p, double limit, uint64_t seed, double *extreme,
                      double *total)
{
    gsl_rng *rng = tt_make_rng(seed);
    size_t *all = malloc(p->n * sizeof *all), *chosen = malloc(p->k * sizeof *chosen);
    int rc = rng && all && chosen ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < p->n; i++)
        all[i] = i;
    for (size_t i = 0; rc == 0 && i < TT_RESAMPLES; i++) {
        gsl_ran_choose(rng, chosen, p->k, all, p->n, sizeof *all); /* keeps the order */
        *extreme += fabs(split_difference(p, chosen)) >= limit;
    }
    *extreme += 1;
    *total = TT_RESAMPLES + 1;
    free(chosen);
    free(all);
    gsl_rng_free(rng);
    return rc;
}

int tt_permutation_test(const struct tt_sample *a, const struct tt_sample *b, uint64_t seed,
                        struct tt_test *out, struct tt_error *e)
{
    double extreme = 0, total = 0, limit;
    struct pool p;
    int rc = make_pool(&p, a, b, e);

    if (rc != TT_OK)
        return rc;
    out->statistic = tt_effect(TT_DIFFERENCE, a, b);
    out->exact = gsl_sf_lnchoose((unsigned)p.n, (unsigned)p.k) <= log(MAX_ARRANGEMENTS) + 1e-9;
    /* Equal differences of different values may differ in their last bits. */
    limit = fabs(out->statistic) - 1e-12 * fmax(fabs(p.values[0]), fabs(p.values[p.n - 1]));
    rc = out->exact ? count_all(&p, limit, &extreme, &total)
                    : count_some(&p, limit, seed, &extreme, &total);
    free(p.values);
    if (rc != 0)
        return tt_fail_nomem(e, "the permutations");
    out->p = extreme / total;
    return TT_OK;
}

/* ---- Mann-Whitney ---- */

/* Twice the rank of each value, which is whole with ties, too. Returns the sum of t^3 - t over
 * groups of t equal values. */
static double double_ranks(const struct pool *p, size_t *ranks)
{
    double ties = 0;

    for (size_t i = 0, end; i < p->n; i = end) {
        double t;

        for (end = i + 1; end < p->n && p->values[end] == p->values[i];)
            end++;
        for (size_t j = i; j < end; j++)
            ranks[j] = i + 1 + end;
        t = (double)(end - i);
        ties += t * t * t - t;
    }
    return ties;
}

/* ways[c * width + s]: choices of c values whose double ranks sum to s. Each value is added to all
 * choices without it, from the top down. */
static void count_choices(const struct pool *p, const size_t *ranks, double *ways, size_t width)
{
    ways[0] = 1;
    for (size_t i = 0; i < p->n; i++)
        for (size_t c = i < p->k ? i + 1 : p->k; c > 0; c--)
            for (size_t s = ranks[i]; s < width; s++)
                ways[c * width + s] += ways[(c - 1) * width + s - ranks[i]];
}

static int exact_p(const struct pool *p, const size_t *ranks, double u, double *out)
{
    size_t width = p->n * (p->n + 1) + 1, base = p->k * (p->k + 1);
    double middle = (double)(p->k * (p->n - p->k)) / 2, extreme = 0, total = 0;
    double *ways = calloc((p->k + 1) * width, sizeof *ways);

    if (!ways)
        return -1;
    count_choices(p, ranks, ways, width);
    for (size_t s = base; s < width; s++) { /* u = s / 2 - k (k + 1) / 2, exact in halves */
        double n = ways[p->k * width + s];

        total += n;
        if (fabs((double)(s - base) / 2 - middle) >= fabs(u - middle))
            extreme += n;
    }
    free(ways);
    *out = extreme / total;
    return 0;
}

static double normal_p(const struct pool *p, double ties, double u)
{
    double n = (double)p->n, pairs = (double)p->k * (n - (double)p->k);
    double variance = pairs / 12 * (n + 1 - ties / (n * (n - 1)));
    double off = fabs(u - pairs / 2) - 0.5;

    if (off <= 0 || variance <= 0)
        return 1;
    return fmin(1, 2 * gsl_cdf_ugaussian_Q(off / sqrt(variance)));
}

static double count_larger(const struct tt_sample *a, const struct tt_sample *b)
{
    double u = 0;

    for (size_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < a->n; j++)
            u += b->values[i] > a->values[j] ? 1 : b->values[i] == a->values[j] ? 0.5 : 0;
    return u;
}

int tt_mann_whitney(const struct tt_sample *a, const struct tt_sample *b, struct tt_test *out,
                    struct tt_error *e)
{
    struct pool p;
    size_t *ranks;
    double ties;
    int rc = make_pool(&p, a, b, e);

    if (rc != TT_OK)
        return rc;
    ranks = malloc(p.n * sizeof *ranks);
    *out = (struct tt_test){count_larger(a, b), 1, p.n <= MAX_EXACT_RANKS};
    if (!ranks) {
        rc = tt_fail_nomem(e, "the ranks");
    } else {
        ties = double_ranks(&p, ranks);
        if (!out->exact)
            out->p = normal_p(&p, ties, out->statistic);
        else if (exact_p(&p, ranks, out->statistic, &out->p) != 0)
            rc = tt_fail_nomem(e, "the ranks");
    }
    free(ranks);
    free(p.values);
    return rc;
}

/* ---- decisions ---- */

bool tt_is_equivalent(enum tt_effect kind, const struct tt_interval *i, double margin)
{
    double high = kind == TT_RATIO ? 1 + margin : margin;
    double low = kind == TT_RATIO ? 1 / high : -high;

    return i->known && i->low >= low && i->high <= high;
}

double tt_runs_to_decide(enum tt_effect kind, const struct tt_sample *a, const struct tt_sample *b,
                         const struct tt_interval *i, double margin)
{
    double effect = tt_effect(kind, a, b), low = i->low, high = i->high, target, n;

    if (kind == TT_RATIO) { /* where nothing is 0 and both directions are alike */
        effect = log(effect);
        low = log(low);
        high = log(high);
        margin = log1p(margin);
    }
    /* Half an interval of 95 % is 1.96 standard errors; seen four times in five is what lies 1.96 +
     * 0.84 of them away. The width shrinks with the root of the runs. */
    target = fmax(fabs(effect), margin - fabs(effect)) * 1.96 / (1.96 + 0.84);
    n = 2 / (1 / (double)a->n + 1 / (double)b->n);
    return ceil(n * pow((high - low) / 2 / target, 2));
}
