/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/variance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/mix.h"

#define RESAMPLES 1000

struct work {
    const struct tt_design *d;
    double *values;       /* on the scale that is analysed, sorted by cell */
    size_t *first;        /* of each cell in values; one more than there are cells */
    double *sums;         /* of each cell */
    double *level_sums;   /* of each level of the factor at hand */
    size_t *level_counts; /* runs of each level */
    double *shares;       /* nfactors, and noise; not a number: not known */
    bool balanced;
    double noise; /* mean square among runs of one cell, of the runs themselves; 0: not known */
};

/* ---- shares ---- */

/* Of a factor, from the sums of the cells; grand: mean of all. */
static double between_levels(struct work *w, size_t factor, double grand, size_t *nused)
{
    const struct tt_design *d = w->d;
    double sum = 0;

    *nused = 0;
    memset(w->level_sums, 0, d->nlevels[factor] * sizeof *w->level_sums);
    memset(w->level_counts, 0, d->nlevels[factor] * sizeof *w->level_counts);
    for (size_t c = 0; c < d->ncells; c++) {
        size_t level = d->levels[c * d->nfactors + factor];

        w->level_sums[level] += w->sums[c];
        w->level_counts[level] += w->first[c + 1] - w->first[c];
    }
    for (size_t k = 0; k < d->nlevels[factor]; k++)
        if (w->level_counts[k] > 0) {
            double n = (double)w->level_counts[k], mean = w->level_sums[k] / n;

            sum += n * (mean - grand) * (mean - grand);
            ++*nused;
        }
    return sum;
}

/* values: of all runs, by cell. What noise adds to the squares between k levels is (k - 1) times
 * its mean square; drawing runs anew adds as much a second time, also between all cells. Where
 * levels of other factors are spread unevenly over those of one, they act as noise, too. */
static void find_shares(struct work *w, const double *values, bool drawn, double *noise)
{
    const struct tt_design *d = w->d;
    double total = 0, within = 0, grand = 0, n = (double)d->n;
    size_t used_cells = 0;

    for (size_t c = 0; c < d->ncells; c++) {
        w->sums[c] = 0;
        for (size_t i = w->first[c]; i < w->first[c + 1]; i++)
            w->sums[c] += values[i];
        grand += w->sums[c] / n;
        used_cells += w->first[c + 1] > w->first[c];
    }
    for (size_t c = 0; c < d->ncells; c++)
        for (size_t i = w->first[c]; i < w->first[c + 1]; i++) {
            double own = values[i] - w->sums[c] / (double)(w->first[c + 1] - w->first[c]);

            within += own * own;
            total += (values[i] - grand) * (values[i] - grand);
        }
    *noise = d->n > used_cells ? within / (double)(d->n - used_cells) : 0;
    if (drawn)
        total = fmax(within, total - (double)(used_cells - 1) * w->noise);
    for (size_t f = 0; f < d->nfactors; f++) {
        size_t k;
        double between = between_levels(w, f, grand, &k), error = *noise;

        if (!w->balanced || d->n == used_cells)
            error = d->n > k ? (total - between) / (double)(d->n - k) : NAN;
        else if (drawn)
            error += w->noise;
        w->shares[f] = NAN;
        if (k > 1 && isfinite(error))
            w->shares[f] =
                total > 0 ? fmin(1, fmax(0, between - (double)(k - 1) * error) / total) : 0;
    }
    w->shares[d->nfactors] = d->n > used_cells ? 0 : NAN;
    if (d->n > used_cells && total > 0)
        w->shares[d->nfactors] = fmin(1, *noise * (n - 1) / total);
}

/* ---- intervals ---- */

/* Draws of n values vary by one in n less than what they are drawn from: that is made good. */
static void draw_runs(const struct work *w, uint64_t *random, double *out)
{
    for (size_t c = 0; c < w->d->ncells; c++) {
        size_t first = w->first[c], n = w->first[c + 1] - first;
        double mean = n > 0 ? gsl_stats_mean(w->values + first, 1, n) : 0;
        double wider = n > 1 ? sqrt((double)n / (double)(n - 1)) : 1;

        for (size_t i = 0; i < n; i++) {
            double drawn = w->values[first + (*random = tt_mix(*random)) % n];

            out[first + i] = mean + wider * (drawn - mean);
        }
    }
}

static int find_intervals(struct work *w, uint64_t seed, struct tt_variance *out,
                          struct tt_error *e)
{
    size_t nshares = w->d->nfactors + 1;
    double *drawn = calloc(w->d->n, sizeof *drawn), noise;
    double *all = calloc(RESAMPLES * nshares, sizeof *all);
    int rc = drawn && all ? TT_OK : tt_fail_nomem(e, "a bootstrap");

    for (size_t r = 0; r < RESAMPLES && rc == TT_OK; r++) {
        draw_runs(w, &seed, drawn);
        find_shares(w, drawn, true, &noise);
        for (size_t f = 0; f < nshares; f++)
            all[f * RESAMPLES + r] = w->shares[f];
    }
    for (size_t f = 0; f < nshares && rc == TT_OK; f++) {
        struct tt_share_of_variance *s = f < w->d->nfactors ? &out->factors[f] : &out->noise;
        double *its = all + f * RESAMPLES, tail = (1 - TT_LEVEL) / 2;

        if (!s->known)
            continue;
        gsl_sort(its, 1, RESAMPLES);
        s->interval = (struct tt_interval){
            true, fmin(s->share, gsl_stats_quantile_from_sorted_data(its, 1, RESAMPLES, tail)),
            fmax(s->share, gsl_stats_quantile_from_sorted_data(its, 1, RESAMPLES, 1 - tail))};
    }
    free(drawn);
    free(all);
    return rc;
}

/* ---- all ---- */

/* By cell, and as logarithms if that is possible. */
static void sort_values(struct work *w, bool log_scale)
{
    const struct tt_design *d = w->d;
    size_t *next = w->level_counts; /* has room for as many */

    for (size_t i = 0; i < d->n; i++)
        w->first[d->cells[i] + 1]++;
    for (size_t c = 0; c < d->ncells; c++) {
        w->first[c + 1] += w->first[c];
        next[c] = w->first[c];
    }
    for (size_t i = 0; i < d->n; i++)
        w->values[next[d->cells[i]]++] = log_scale ? log(d->values[i]) : d->values[i];
}

/* All combinations of levels that occur are there, with equally many runs. */
static bool is_balanced(struct work *w)
{
    const struct tt_design *d = w->d;
    double all = 1, cells = 0;
    size_t runs = 0;

    for (size_t c = 0; c < d->ncells; c++) {
        size_t n = w->first[c + 1] - w->first[c];

        if (n > 0 && runs > 0 && n != runs)
            return false;
        runs = n > 0 ? n : runs;
        cells += n > 0;
    }
    for (size_t f = 0; f < d->nfactors; f++) {
        size_t used;

        between_levels(w, f, 0, &used);
        all *= (double)used;
    }
    return cells == all;
}

static size_t fewest_runs(const struct work *w)
{
    size_t fewest = w->d->n;

    for (size_t c = 0; c < w->d->ncells; c++) {
        size_t n = w->first[c + 1] - w->first[c];

        fewest = n > 0 && n < fewest ? n : fewest;
    }
    return fewest;
}

static int make_work(struct work *w, struct tt_error *e)
{
    size_t most = w->d->ncells + 1;

    for (size_t f = 0; f < w->d->nfactors; f++)
        most = w->d->nlevels[f] > most ? w->d->nlevels[f] : most;
    w->values = calloc(w->d->n, sizeof *w->values);
    w->first = calloc(w->d->ncells + 1, sizeof *w->first);
    w->sums = calloc(w->d->ncells, sizeof *w->sums);
    w->level_sums = calloc(most, sizeof *w->level_sums);
    w->level_counts = calloc(most, sizeof *w->level_counts);
    w->shares = calloc(w->d->nfactors + 1, sizeof *w->shares);
    return w->values && w->first && w->sums && w->level_sums && w->level_counts && w->shares
               ? TT_OK
               : tt_fail_nomem(e, "the variance");
}

static void free_work(struct work *w)
{
    free(w->values);
    free(w->first);
    free(w->sums);
    free(w->level_sums);
    free(w->level_counts);
    free(w->shares);
}

int tt_variance_explained(const struct tt_design *d, uint64_t seed, struct tt_variance *out,
                          struct tt_error *e)
{
    struct work w = {.d = d};
    int rc;

    *out = (struct tt_variance){.factors = out->factors, .log = true};
    for (size_t i = 0; i < d->n; i++) {
        out->log &= d->values[i] > 0;
        out->known |= d->values[i] != d->values[0];
    }
    if (!out->known)
        return TT_OK;
    rc = make_work(&w, e);
    if (rc == TT_OK) {
        sort_values(&w, out->log);
        w.balanced = out->balanced = is_balanced(&w);
        find_shares(&w, w.values, false, &w.noise);
        for (size_t f = 0; f <= d->nfactors; f++) {
            struct tt_share_of_variance *s = f < d->nfactors ? &out->factors[f] : &out->noise;

            *s = (struct tt_share_of_variance){.known = isfinite(w.shares[f])};
            s->share = s->known ? w.shares[f] : 0;
        }
        out->runs = fewest_runs(&w);
        if (out->runs >= tt_runs_for_interval(TT_LEVEL))
            rc = find_intervals(&w, seed, out, e);
    }
    free_work(&w);
    return rc;
}
