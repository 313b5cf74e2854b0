/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_sort.h>

/* A covariance of more groups than this would take long to solve; designs without gaps need none.
 */
#define MAX_UNBALANCED 300

void tt_sort_by_class(const size_t *classes, size_t n, size_t nclasses, size_t *members,
                      size_t *begins)
{
    memset(begins, 0, (nclasses + 2) * sizeof *begins);
    for (size_t i = 0; i < n; i++)
        begins[(classes ? classes[i] : 0) + 2]++;
    for (size_t c = 2; c < nclasses + 2; c++)
        begins[c] += begins[c - 1];
    for (size_t i = 0; i < n; i++) /* begins[c + 1] becomes the end of c */
        members[begins[(classes ? classes[i] : 0) + 1]++] = i;
}

/* ---- ranks within blocks ---- */

struct sums {
    size_t k;
    double *u;              /* of each group: ranks above what is expected */
    size_t *counts;         /* values of each group, in this block */
    size_t *usual;          /* the same of the first block that counted */
    gsl_matrix *covariance; /* of u; NULL: not needed yet */
    bool balanced;          /* every block has as many values of each group as the first one */
    double scale;           /* sum over blocks of the ranks' variance / n */
};

/* Members of one block: their places in the values, sorted by block. */
struct block {
    size_t n;
    const size_t *members;
    double *values, *ranks;
};

static int add_block(struct sums *s, const struct tt_grouped *g, const struct block *b,
                     struct tt_group_test *out, struct tt_error *e)
{
    double n = (double)b->n, mean = (n + 1) / 2, square, ties, scale;
    size_t groups = 0;
    int rc;

    memset(s->counts, 0, s->k * sizeof *s->counts);
    for (size_t i = 0; i < b->n; i++) {
        b->values[i] = g->values[b->members[i]];
        groups += s->counts[g->group[b->members[i]]]++ == 0;
    }
    rc = tt_ranks(b->values, b->n, b->ranks, &ties, e);
    if (rc != TT_OK)
        return rc;
    square = (n * n * n - n - ties) / 12;
    if (groups < 2)
        return TT_OK;
    out->n += b->n;
    out->blocks++;
    if (!(square > 0)) /* all equal: it speaks against a difference, but adds nothing to the sums */
        return TT_OK;
    scale = square / (n * (n - 1)) / ((n + 1) * (n + 1));
    for (size_t i = 0; i < b->n; i++)
        s->u[g->group[b->members[i]]] += (b->ranks[i] - mean) / (n + 1);
    if (s->scale == 0)
        memcpy(s->usual, s->counts, s->k * sizeof *s->usual);
    s->balanced = s->balanced && !memcmp(s->usual, s->counts, s->k * sizeof *s->usual);
    s->scale += scale;
    for (size_t i = 0; s->covariance && i < s->k; i++)
        for (size_t j = 0; s->counts[i] && j < s->k; j++)
            *gsl_matrix_ptr(s->covariance, i, j) +=
                scale * (double)s->counts[i] * ((i == j ? n : 0) - (double)s->counts[j]);
    return TT_OK;
}

/* All blocks alike, and so one covariance c (n_i d_ij - n_i n_j / n): sums of squares do. */
static void solve_balanced(const struct sums *s, struct tt_group_test *out)
{
    size_t n = 0, groups = 0;

    for (size_t i = 0; i < s->k; i++) {
        n += s->usual[i];
        groups += s->usual[i] > 0;
    }
    for (size_t i = 0; i < s->k; i++)
        if (s->usual[i])
            out->h += s->u[i] * s->u[i] / (s->scale * (double)n * (double)s->usual[i]);
    out->df = groups - 1;
}

/* By the eigenvectors of the covariance: groups that no block joins leave several without variance.
 */
static int solve(const struct sums *s, struct tt_group_test *out, struct tt_error *e)
{
    gsl_matrix *vectors = gsl_matrix_alloc(s->k, s->k);
    gsl_vector *values = gsl_vector_alloc(s->k);
    gsl_eigen_symmv_workspace *room = gsl_eigen_symmv_alloc(s->k);
    double largest = 0;
    int rc = TT_OK;

    if (!vectors || !values || !room ||
        gsl_eigen_symmv(s->covariance, values, vectors, room) != GSL_SUCCESS)
        rc = tt_fail_nomem(e, "the covariance of groups");
    for (size_t i = 0; rc == TT_OK && i < s->k; i++)
        largest = fmax(largest, gsl_vector_get(values, i));
    for (size_t i = 0; rc == TT_OK && i < s->k; i++) {
        double along = 0;

        if (gsl_vector_get(values, i) <= 1e-9 * largest)
            continue;
        for (size_t j = 0; j < s->k; j++)
            along += gsl_matrix_get(vectors, j, i) * s->u[j];
        out->h += along * along / gsl_vector_get(values, i);
        out->df++;
    }
    gsl_matrix_free(vectors);
    gsl_vector_free(values);
    if (room)
        gsl_eigen_symmv_free(room);
    return rc;
}

static int sum_blocks(struct sums *s, const struct tt_grouped *g, struct tt_group_test *out,
                      struct tt_error *e)
{
    size_t *members = malloc((g->n + 1) * sizeof *members);
    size_t *begins = malloc((g->nblocks + 2) * sizeof *begins);
    double *values = malloc(2 * (g->n + 1) * sizeof *values);
    int rc = members && begins && values ? TT_OK : tt_fail_nomem(e, "the ranks");

    if (rc == TT_OK)
        tt_sort_by_class(g->block, g->n, g->nblocks, members, begins);
    for (size_t b = 0; rc == TT_OK && b < g->nblocks; b++)
        rc = add_block(
            s, g,
            &(struct block){begins[b + 1] - begins[b], members + begins[b], values, values + g->n},
            out, e);
    free(members);
    free(begins);
    free(values);
    return rc;
}

/* Once more, with the covariance, which blocks that are all alike do not need. */
static int sum_again(struct sums *s, const struct tt_grouped *g, struct tt_group_test *out,
                     struct tt_error *e)
{
    int rc;

    s->covariance = gsl_matrix_calloc(s->k, s->k);
    if (!s->covariance)
        return tt_fail_nomem(e, "the groups");
    memset(s->u, 0, s->k * sizeof *s->u);
    s->scale = 0;
    out->n = out->blocks = 0;
    rc = sum_blocks(s, g, out, e);
    return rc == TT_OK ? solve(s, out, e) : rc;
}

int tt_rank_test(const struct tt_grouped *g, struct tt_group_test *out, struct tt_error *e)
{
    struct sums s = {.k = g->ngroups, .balanced = true};
    int rc;

    *out = (struct tt_group_test){.known = false, .p = 1};
    s.u = calloc(s.k + 1, sizeof *s.u);
    s.counts = calloc(2 * s.k + 1, sizeof *s.counts);
    s.usual = s.counts + s.k;
    rc = s.u && s.counts ? sum_blocks(&s, g, out, e) : tt_fail_nomem(e, "the groups");
    out->varies = s.scale > 0;
    if (rc == TT_OK && s.scale > 0 && s.balanced)
        solve_balanced(&s, out);
    else if (rc == TT_OK && s.scale > 0 && s.k <= MAX_UNBALANCED)
        rc = sum_again(&s, g, out, e);
    if (rc == TT_OK && out->df) {
        out->known = true;
        out->p = gsl_cdf_chisq_Q(out->h, (double)out->df);
        out->epsilon = fmin(1, out->h / (double)(out->n - out->blocks));
    }
    free(s.u);
    free(s.counts);
    gsl_matrix_free(s.covariance);
    return rc;
}

/* ---- pairs ---- */

int tt_dunn(const struct tt_grouped *g, struct tt_pair *pairs, struct tt_error *e)
{
    double *ranks = malloc((g->n + 1) * sizeof *ranks),
           *sums = calloc(g->ngroups + 1, sizeof *sums);
    size_t *counts = calloc(g->ngroups + 1, sizeof *counts), made = 0;
    double n = (double)g->n, ties, variance, *p;
    int rc = ranks && sums && counts ? tt_ranks(g->values, g->n, ranks, &ties, e)
                                     : tt_fail_nomem(e, "the ranks");

    for (size_t i = 0; rc == TT_OK && i < g->n; i++) {
        sums[g->group[i]] += ranks[i];
        counts[g->group[i]]++;
    }
    for (size_t a = 0; rc == TT_OK && a < g->ngroups; a++)
        for (size_t b = a + 1; b < g->ngroups; b++) {
            struct tt_pair *pair = &pairs[made++];

            *pair = (struct tt_pair){.a = a, .b = b, .p = 1, .adjusted = 1};
            if (!counts[a] || !counts[b])
                continue;
            variance = (n * (n + 1) / 12 - ties / (12 * (n - 1))) *
                       (1 / (double)counts[a] + 1 / (double)counts[b]);
            if (!(variance > 0))
                continue;
            pair->z = (sums[b] / (double)counts[b] - sums[a] / (double)counts[a]) / sqrt(variance);
            pair->p = fmin(1, 2 * gsl_cdf_ugaussian_Q(fabs(pair->z)));
        }
    p = ranks; /* there may be more pairs than values */
    if (rc == TT_OK && !(p = realloc(ranks, (made + 1) * sizeof *p)))
        rc = tt_fail_nomem(e, "the pairs");
    else
        ranks = p;
    for (size_t i = 0; rc == TT_OK && i < made; i++)
        p[i] = pairs[i].p;
    if (rc == TT_OK)
        rc = tt_adjust_holm(p, made, e);
    for (size_t i = 0; rc == TT_OK && i < made; i++)
        pairs[i].adjusted = p[i];
    free(ranks);
    free(sums);
    free(counts);
    return rc;
}

double tt_cliffs_delta(const struct tt_sample *a, const struct tt_sample *b)
{
    double larger = 0, smaller = 0;

    /* Both ascend, so the places of b's values among a's ascend, too. */
    for (size_t i = 0, below = 0, upto = 0; i < b->n; i++) {
        while (below < a->n && a->values[below] < b->values[i])
            below++;
        while (upto < a->n && a->values[upto] <= b->values[i])
            upto++;
        larger += (double)below;
        smaller += (double)(a->n - upto);
    }
    return (larger - smaller) / ((double)a->n * (double)b->n);
}

/* ---- many tests ---- */

int tt_adjust_holm(double *p, size_t n, struct tt_error *e)
{
    size_t *order = malloc((n + 1) * sizeof *order);
    double most = 0;

    if (!order)
        return tt_fail_nomem(e, "a correction");
    gsl_sort_index(order, p, 1, n);
    for (size_t i = 0; i < n; i++)
        p[order[i]] = most = fmax(most, fmin(1, (double)(n - i) * p[order[i]]));
    free(order);
    return TT_OK;
}

int tt_adjust_bh(double *p, size_t n, struct tt_error *e)
{
    size_t *order = malloc((n + 1) * sizeof *order);
    double least = 1;

    if (!order)
        return tt_fail_nomem(e, "a correction");
    gsl_sort_index(order, p, 1, n);
    for (size_t i = n; i-- > 0;)
        p[order[i]] = least = fmin(least, (double)n / (double)(i + 1) * p[order[i]]);
    free(order);
    return TT_OK;
}

/* ---- power ---- */

double tt_runs_to_see(const struct tt_sample *s, double ratio, double power)
{
    double larger = 0, pairs = (double)s->n * (double)(s->n - 1), off, reach;

    if (s->n < 2)
        return 0;
    /* How often a value with the change exceeds another one without it. */
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++)
            if (i != j)
                larger += s->values[i] * ratio > s->values[j]    ? 1
                          : s->values[i] * ratio == s->values[j] ? 0.5
                                                                 : 0;
    off = fabs(larger / pairs - 0.5);
    if (off == 0)
        return 0;
    reach = gsl_cdf_ugaussian_Pinv((1 + TT_LEVEL) / 2) + gsl_cdf_ugaussian_Pinv(power);
    return fmax(ceil(reach * reach / (6 * off * off)), (double)tt_runs_for_interval(TT_LEVEL));
}
