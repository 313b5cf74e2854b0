/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "analysis/statistics.h"
#include "base/mix.h"

#define MAX_EXACT_DRIFT 49
#define MAX_ALL_PAIRS 200

/* ---- change points ---- */

/* One search: room for the longest segment. */
struct search {
    const double *values;
    double alarm;
    uint64_t drawn;           /* random numbers so far */
    double *scores, *weights; /* of the segment at hand */
};

struct split {
    bool found;
    size_t at;
    double p;
};

/* Normal scores with mean 0 and variance 1; false: all values are equal. */
static bool score(double *scores, size_t n)
{
    double mean = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        scores[i] = gsl_cdf_ugaussian_Pinv(scores[i] / (double)(n + 1));
        mean += scores[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        scores[i] -= mean;
        square += scores[i] * scores[i] / (double)n;
    }
    for (size_t i = 0; i < n && square > 0; i++)
        scores[i] /= sqrt(square);
    return square > 0;
}

/* The first k of n values sum up to 0 with variance k (n - k) / (n - 1). */
static double largest_jump(const double *scores, const double *weights, size_t n, size_t *at)
{
    double sum = 0, largest = -1;

    for (size_t k = 1; k <= n - TT_LEVEL_LENGTH; k++) {
        double jump;

        sum += scores[k - 1];
        jump = sum * sum * weights[k];
        if (k >= TT_LEVEL_LENGTH && jump > largest) {
            largest = jump;
            *at = k;
        }
    }
    return largest;
}

/* A random order. GSL's would take three times as long, and this is where the time goes. */
static void shuffle(struct search *s, size_t n)
{
    for (size_t i = n - 1; i > 0; i--) {
        size_t k = (size_t)((tt_mix(s->drawn++) >> 32) * (i + 1) >> 32);
        double kept = s->scores[i];

        s->scores[i] = s->scores[k];
        s->scores[k] = kept;
    }
}

/* Looks for one change in the values from `begin` to before `end`. */
static int find_split(struct search *s, size_t begin, size_t end, struct split *out,
                      struct tt_error *e)
{
    size_t n = end - begin, enough = 10, draws = (size_t)ceil((double)enough / s->alarm) - 1;
    size_t extreme = 0, drawn = 0, ignored;
    double found, ties;
    int rc;

    *out = (struct split){.found = false, .p = 1};
    if (n < 2 * TT_LEVEL_LENGTH)
        return TT_OK;
    rc = tt_ranks(s->values + begin, n, s->scores, &ties, e);
    if (rc != TT_OK || !score(s->scores, n))
        return rc;
    for (size_t k = 1; k < n; k++)
        s->weights[k] = (double)(n - 1) / ((double)k * (double)(n - k));
    found = largest_jump(s->scores, s->weights, n, &out->at);
    /* The same values in another order may differ in the last bits of a sum. */
    while (drawn < draws && extreme < enough) {
        shuffle(s, n);
        extreme += largest_jump(s->scores, s->weights, n, &ignored) >= found * (1 - 1e-12);
        drawn++;
    }
    out->p = extreme < enough ? (double)(extreme + 1) / (double)(drawn + 1)
                              : (double)extreme / (double)drawn;
    out->at += begin;
    out->found = extreme < enough;
    return TT_OK;
}

/* From left to right: splits the first open segment until nothing is found in it. `open` holds the
 * ends of open segments, the nearest last. */
static int segment(struct search *s, size_t n, size_t *open, struct tt_changes *out,
                   struct tt_error *e)
{
    size_t begin = 0, depth = 1;
    int rc = TT_OK;

    open[0] = n;
    while (rc == TT_OK && depth > 0) {
        struct split split;

        rc = find_split(s, begin, open[depth - 1], &split, e);
        if (rc == TT_OK && split.found) {
            open[depth++] = split.at;
        } else if (rc == TT_OK) {
            begin = open[--depth];
            if (depth > 0)
                out->items[out->n++].at = begin;
        }
    }
    return rc;
}

/* A split that was found while others were still in its segment may be misplaced, or none. */
static int place_again(struct search *s, size_t n, struct tt_changes *c, struct tt_error *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct split split;
        int rc = find_split(s, kept ? c->items[kept - 1].at : 0,
                            i + 1 < c->n ? c->items[i + 1].at : n, &split, e);

        if (rc != TT_OK)
            return rc;
        if (split.found)
            c->items[kept++] = (struct tt_change){.at = split.at, .p = split.p};
    }
    c->n = kept;
    return TT_OK;
}

static double level_of(struct search *s, size_t begin, size_t end)
{
    memcpy(s->scores, s->values + begin, (end - begin) * sizeof *s->scores);
    return tt_median(s->scores, end - begin);
}

int tt_change_points(const double *values, size_t n, double alarm, uint64_t seed,
                     struct tt_changes *out, struct tt_error *e)
{
    struct search s = {.values = values, .alarm = alarm, .drawn = tt_mix(seed)};
    size_t *open = malloc((n / TT_LEVEL_LENGTH + 1) * sizeof *open);
    int rc = TT_OK;

    s.scores = malloc((n + 1) * sizeof *s.scores);
    s.weights = malloc((n + 1) * sizeof *s.weights);
    *out = (struct tt_changes){0, calloc(n / TT_LEVEL_LENGTH + 1, sizeof *out->items)};
    if (!s.scores || !s.weights || !open || !out->items)
        rc = tt_fail_nomem(e, "the search for changes");
    if (rc == TT_OK)
        rc = segment(&s, n, open, out, e);
    if (rc == TT_OK)
        rc = place_again(&s, n, out, e);
    for (size_t i = 0; rc == TT_OK && i < out->n; i++) {
        struct tt_change *c = &out->items[i];

        c->before = level_of(&s, i ? c[-1].at : 0, c->at);
        c->after = level_of(&s, c->at, i + 1 < out->n ? c[1].at : n);
    }
    free(s.scores);
    free(s.weights);
    free(open);
    if (rc != TT_OK) {
        free(out->items);
        *out = (struct tt_changes){0, NULL};
    }
    return rc;
}

/* ---- drift ---- */

/* Sorts values and returns the pairs that stood the wrong way round (Knight, 1966). */
static double count_falls(double *values, double *room, size_t n)
{
    double falls = 0;
    size_t half = n / 2, i = 0, j = half, k = 0;

    if (n < 2)
        return 0;
    falls = count_falls(values, room, half) + count_falls(values + half, room, n - half);
    while (i < half && j < n) {
        if (values[j] < values[i]) {
            falls += (double)(half - i);
            room[k++] = values[j++];
        } else {
            room[k++] = values[i++];
        }
    }
    while (i < half)
        room[k++] = values[i++];
    memcpy(values, room, k * sizeof *values);
    return falls;
}

/* Chance of at least so many, or so few, rising pairs among n different values in any order. The
 * inversions of n values are those of n - 1, and 0 to n - 1 more. */
static int exact_trend_p(size_t n, double falls, double *p, struct tt_error *e)
{
    size_t pairs = n * (n - 1) / 2, few = (size_t)fmin(falls, (double)pairs - falls);
    double *chance = calloc(2 * (few + 1), sizeof *chance), *next = chance + few + 1, sum = 0;

    if (!chance)
        return tt_fail_nomem(e, "the orders");
    chance[0] = 1;
    for (size_t m = 2; m <= n; m++) {
        double window = 0;

        for (size_t k = 0; k <= few; k++) {
            window += chance[k] - (k >= m ? chance[k - m] : 0);
            next[k] = window / (double)m;
        }
        memcpy(chance, next, (few + 1) * sizeof *chance);
    }
    for (size_t k = 0; k <= few; k++)
        sum += chance[k];
    *p = fmin(1, 2 * sum);
    free(chance);
    return TT_OK;
}

static double normal_trend_p(const struct tt_drift *d)
{
    return d->variance > 0
               ? fmin(1, 2 * gsl_cdf_ugaussian_Q(fmax(0, fabs(d->s) - 1) / sqrt(d->variance)))
               : 1;
}

static int median_slope(const double *values, size_t n, double *out, struct tt_error *e)
{
    bool all = n <= MAX_ALL_PAIRS;
    size_t half = (n + 1) / 2, pairs = 0;
    double *slopes = malloc((all ? n * (n - 1) / 2 : n - half) * sizeof *slopes);

    if (!slopes)
        return tt_fail_nomem(e, "the slopes");
    for (size_t gap = all ? 1 : half; gap < (all ? n : half + 1); gap++)
        for (size_t i = 0; i + gap < n; i++)
            slopes[pairs++] = (values[i + gap] - values[i]) / (double)gap;
    *out = tt_median(slopes, pairs);
    free(slopes);
    return TT_OK;
}

/* Groups of t equal values: t (t - 1) / 2 pairs do not count, and the variance shrinks. */
static void correct_for_ties(const double *sorted, size_t n, double *equal_pairs, double *less)
{
    *equal_pairs = *less = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double t;

        for (end = i + 1; end < n && sorted[end] == sorted[i];)
            end++;
        t = (double)(end - i);
        *equal_pairs += t * (t - 1) / 2;
        *less += t * (t - 1) * (2 * t + 5) / 18;
    }
}

int tt_drift(const double *values, size_t n, struct tt_drift *out, struct tt_error *e)
{
    double *sorted = malloc(2 * (n + 1) * sizeof *sorted), m = (double)n, pairs = m * (m - 1) / 2;
    double falls, equal, less;
    int rc = TT_OK;

    *out = (struct tt_drift){.known = false, .p = 1};
    if (!sorted)
        return tt_fail_nomem(e, "the series");
    memcpy(sorted, values, n * sizeof *sorted);
    falls = count_falls(sorted, sorted + n, n);
    out->known = n >= 4 && sorted[0] < sorted[n - 1];
    if (out->known) {
        correct_for_ties(sorted, n, &equal, &less);
        out->s = pairs - equal - 2 * falls;
        out->variance = m * (m - 1) * (2 * m + 5) / 18 - less;
        out->tau = out->s / sqrt(pairs * (pairs - equal));
        out->exact = equal == 0 && n <= MAX_EXACT_DRIFT;
        out->p = normal_trend_p(out);
        if (out->exact)
            rc = exact_trend_p(n, falls, &out->p, e);
        if (rc == TT_OK)
            rc = median_slope(values, n, &out->slope, e);
    }
    free(sorted);
    return rc;
}

int tt_drift_together(const struct tt_drift *parts, size_t n, struct tt_drift *out,
                      struct tt_error *e)
{
    double *slopes = malloc((n + 1) * sizeof *slopes);
    size_t known = 0;

    *out = (struct tt_drift){.known = false, .p = 1};
    if (!slopes)
        return tt_fail_nomem(e, "the slopes");
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].known)
            continue;
        slopes[known++] = parts[i].slope;
        out->s += parts[i].s;
        out->variance += parts[i].variance;
        out->tau += parts[i].tau;
    }
    out->known = known > 0;
    if (known) {
        out->tau /= (double)known;
        out->slope = tt_median(slopes, known);
        out->p = normal_trend_p(out);
    }
    free(slopes);
    return TT_OK;
}
