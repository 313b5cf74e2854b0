/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which combinations of values there are. */
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "study/study.h"

/* A full grid beyond this is a slip; sampled ones never get there. */
#define MOST_COMBINATIONS 1000000
/* Rows that are tried for a pair before the best is taken. */
#define CANDIDATES 16
/* Samples that are drawn until one has no combination twice; the last one is taken as it is. */
#define DRAWS 100

static bool is_allowed(const struct tt_combinations *c, const size_t *numbers)
{
    return !c->allowed || c->allowed(c->context, numbers);
}

int tt_grid_full(const struct tt_combinations *c, struct tt_error *e)
{
    size_t *numbers = calloc(c->n + 1, sizeof *numbers), at = c->n;
    double all = 1;
    int rc = numbers ? TT_OK : tt_fail_nomem(e, "a point");

    for (size_t i = 0; i < c->n; i++)
        all *= (double)c->counts[i];
    if (rc == TT_OK && all > MOST_COMBINATIONS)
        rc =
            tt_fail(e, TT_USAGE,
                    "a full grid of %.3g points is too large; use fewer values, grid: pairwise, or "
                    "grid: lhs with sample",
                    all);
    while (rc == TT_OK && all > 0) {
        if (is_allowed(c, numbers))
            rc = c->take(c->context, numbers, e);
        for (at = c->n; at > 0 && ++numbers[at - 1] == c->counts[at - 1]; at--)
            numbers[at - 1] = 0;
        if (at == 0)
            break;
    }
    free(numbers);
    return rc;
}

/* ---- a sample ---- */

struct sample {
    const struct tt_combinations *c;
    size_t n;
    struct tt_permutation *orders; /* of each factor */
    uint64_t *ids;                 /* of the rows */
};

static size_t number_in(const struct sample *s, size_t row, size_t factor)
{
    return (size_t)tt_permute(&s->orders[factor], row) * s->c->counts[factor] / s->n;
}

static int compare_ids(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return a < b ? -1 : a > b;
}

/* Whether no combination occurs twice. */
static bool draw_sample(struct sample *s, uint64_t seed)
{
    for (size_t f = 0; f < s->c->n; f++)
        s->orders[f] = tt_permutation_make(s->n, tt_mix(seed + f));
    for (size_t row = 0; row < s->n; row++) {
        s->ids[row] = 0;
        for (size_t f = 0; f < s->c->n; f++)
            s->ids[row] = tt_mix(s->ids[row] + number_in(s, row, f));
    }
    qsort(s->ids, s->n, sizeof *s->ids, compare_ids);
    for (size_t row = 1; row < s->n; row++)
        if (s->ids[row] == s->ids[row - 1])
            return false;
    return true;
}

/* With few values combinations come twice by chance: another draw may have none. */
int tt_grid_lhs(const struct tt_combinations *c, size_t n, uint64_t seed, struct tt_error *e)
{
    struct sample s = {.c = c, .n = n};
    size_t *numbers = calloc(c->n + 1, sizeof *numbers);
    int rc = TT_OK;

    s.orders = calloc(c->n + 1, sizeof *s.orders);
    s.ids = n <= MOST_COMBINATIONS ? calloc(n + 1, sizeof *s.ids) : NULL;
    if (n < 1 || n > MOST_COMBINATIONS)
        rc = tt_fail(e, TT_USAGE, "sample is 1 to %d points", MOST_COMBINATIONS);
    else if (!numbers || !s.orders || !s.ids)
        rc = tt_fail_nomem(e, "the sample");
    for (unsigned k = 0; rc == TT_OK && k < DRAWS && !draw_sample(&s, tt_mix(seed) + k * c->n); k++)
        ;
    for (size_t row = 0; row < n && rc == TT_OK; row++) {
        for (size_t f = 0; f < c->n; f++)
            numbers[f] = number_in(&s, row, f);
        if (is_allowed(c, numbers))
            rc = c->take(c->context, numbers, e);
    }
    free(s.orders);
    free(s.ids);
    free(numbers);
    return rc;
}

/* ---- pairs ---- */

struct pairs {
    const struct tt_combinations *c;
    size_t *offset; /* of factor i and j > i, at i * n + j, into covered */
    bool *covered;
    size_t total;
    uint64_t random;
};

static uint64_t draw(struct pairs *p)
{
    return p->random = tt_mix(p->random);
}

static bool *pair_of(const struct pairs *p, size_t i, size_t a, size_t j, size_t b)
{
    return i < j ? &p->covered[p->offset[i * p->c->n + j] + a * p->c->counts[j] + b]
                 : &p->covered[p->offset[j * p->c->n + i] + b * p->c->counts[i] + a];
}

static size_t count_new(const struct pairs *p, const size_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < p->c->n; i++)
        for (size_t j = i + 1; j < p->c->n; j++)
            n += !*pair_of(p, i, numbers[i], j, numbers[j]);
    return n;
}

/* The other factors get the values that cover most together with those that are fixed; of equally
 * good ones a random one. */
static void complete(struct pairs *p, size_t *numbers, bool *fixed)
{
    for (size_t i = 0; i < p->c->n; i++) {
        size_t best = 0, ties = 0, most = 0;

        if (fixed[i])
            continue;
        for (size_t v = 0; v < p->c->counts[i]; v++) {
            size_t gain = 0;

            for (size_t j = 0; j < p->c->n; j++)
                gain += fixed[j] && !*pair_of(p, i, v, j, numbers[j]);
            ties = gain > most || ties == 0 ? 1 : ties + (gain == most);
            if (gain > most || ties == 1 || (gain == most && draw(p) % ties == 0))
                best = v;
            most = gain > most ? gain : most;
        }
        numbers[i] = best;
        fixed[i] = true;
    }
}

/* A row with this pair: the candidate that covers most and is allowed; none is, if the pair itself
 * is not, and then it counts as covered. */
static int cover(struct pairs *p, size_t i, size_t a, size_t j, size_t b, struct tt_error *e)
{
    size_t n = p->c->n, *row = calloc(2 * n, sizeof *row), *best = row + n, most = 0;
    bool *fixed = calloc(n, sizeof *fixed);
    int rc = row && fixed ? TT_OK : tt_fail_nomem(e, "a point");

    for (unsigned k = 0; rc == TT_OK && k < CANDIDATES * (most ? 1 : 4); k++) {
        memset(fixed, 0, n * sizeof *fixed);
        row[i] = a, row[j] = b;
        fixed[i] = fixed[j] = true;
        if (k % 2) /* greedy rows may all be forbidden for the same reason */
            for (size_t f = 0; f < n; f++)
                if (!fixed[f] && draw(p) % 2) {
                    row[f] = (size_t)(draw(p) % p->c->counts[f]);
                    fixed[f] = true;
                }
        complete(p, row, fixed);
        if (count_new(p, row) > most && is_allowed(p->c, row)) {
            most = count_new(p, row);
            memcpy(best, row, n * sizeof *best);
        }
    }
    *pair_of(p, i, a, j, b) = true;
    for (size_t f = 0; rc == TT_OK && most > 0 && f < n; f++)
        for (size_t g = f + 1; g < n; g++)
            *pair_of(p, f, best[f], g, best[g]) = true;
    if (rc == TT_OK && most > 0)
        rc = p->c->take(p->c->context, best, e);
    free(row);
    free(fixed);
    return rc;
}

static int cover_all(struct pairs *p, struct tt_error *e)
{
    size_t n = p->c->n;
    int rc = TT_OK;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            for (size_t a = 0; a < p->c->counts[i]; a++)
                for (size_t b = 0; b < p->c->counts[j] && rc == TT_OK; b++)
                    if (!*pair_of(p, i, a, j, b))
                        rc = cover(p, i, a, j, b, e);
    return rc;
}

int tt_grid_pairwise(const struct tt_combinations *c, uint64_t seed, struct tt_error *e)
{
    struct pairs p = {.c = c, .random = seed};
    double all = 0;
    int rc = TT_OK;

    if (c->n < 2)
        return tt_grid_full(c, e);
    p.offset = calloc(c->n * c->n, sizeof *p.offset);
    for (size_t i = 0; p.offset && i < c->n; i++)
        for (size_t j = i + 1; j < c->n; j++) {
            p.offset[i * c->n + j] = p.total;
            p.total += c->counts[i] * c->counts[j];
            all += (double)c->counts[i] * (double)c->counts[j];
        }
    if (all > MOST_COMBINATIONS)
        rc = tt_fail(e, TT_USAGE, "%.3g pairs of values are too many; use fewer values", all);
    p.covered = rc == TT_OK ? calloc(p.total + 1, sizeof *p.covered) : NULL;
    if (rc == TT_OK)
        rc = p.offset && p.covered ? cover_all(&p, e) : tt_fail_nomem(e, "the grid");
    free(p.offset);
    free(p.covered);
    return rc;
}
