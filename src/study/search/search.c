/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search itself: the default, candidates by halves, neighbours of the best, and the last runs,
 * which decide. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/notice.h"
#include "ensemble/run.h"
#include "launch/process.h"
#include "plan/directory.h"
#include "spec/units.h"
#include "study/private.h"
#include "study/search/search.h"

#define SHARE_OF_CANDIDATES 0.7 /* of the runs; the rest is for neighbours of the best */
#define MOST_CANDIDATES 1000
#define FAR_WORSE 3 /* times */

static bool higher_is_better(const struct tt_search *s)
{
    return tt_metrics[s->metric].direction.better == TT_BETTER_HIGHER;
}

/* ---- before the first run ---- */

/* All candidates compute the same number of passes: those that were calibrated apart would be
 * different jobs. */
static int calibrate_default(struct tt_search *s, const char *directory, struct tt_error *e)
{
    const char **none = calloc(s->study.nfactors + 1, sizeof *none);
    struct tt_ensemble x = {0};
    const struct tt_param *p = NULL;
    struct tt_passes *passes = NULL;
    char *text = NULL, *key = NULL;
    int rc = none ? tt_point_ensemble(&s->study, none, &x, e) : tt_fail_nomem(e, "a point");

    if (rc == TT_OK && tt_config_uncalibrated(&x.specs[0].config)) {
        rc = tt_ensemble_calibrate(&x, directory, true, e);
        passes = rc == TT_OK ? tt_config_passes(&x.specs[0].config, &p) : NULL;
    }
    if (passes && p) {
        const struct tt_param alone = {.key = p->key, .type = p->type};

        text = tt_param_get(&alone, passes);
        if (!text || asprintf(&key, "reference.%s", p->key) < 0)
            rc = tt_fail_nomem(e, "the computation");
        else
            rc = tt_settings_add(&s->study.base, key, text, "calibration", e);
    }
    free(key);
    free(text);
    free(none);
    tt_ensemble_free(&x);
    return rc;
}

/* The points again, since they have another plan now. */
static int add_again(struct tt_search *s, struct tt_error *e)
{
    struct tt_study old = s->study;
    struct tt_study *new = &s->study;
    int rc = TT_OK;

    new->points = NULL;
    new->npoints = 0;
    new->known = json_object();
    new->steps = NULL;
    new->nsteps = new->nrows = 0;
    for (size_t i = 0; i < old.npoints && rc == TT_OK; i++)
        rc = tt_study_add(new, (const char *const *)old.points[i].values, NULL, e);
    for (size_t i = 0; i < old.npoints; i++) {
        for (size_t k = 0; k < old.nfactors; k++)
            free(old.points[i].values[k]);
        free(old.points[i].values);
        free(old.points[i].estimates);
    }
    free(old.points);
    free(old.steps);
    json_decref(old.known);
    return rc;
}

static int calibrate(struct tt_search *s, const char *directory, struct tt_error *e)
{
    size_t before = s->study.base.n;
    int rc = calibrate_default(s, directory, e);

    return rc == TT_OK && s->study.base.n > before ? add_again(s, e) : rc;
}

/* ---- what is known of points ---- */

size_t tt_search_values(const struct tt_search *s, const struct tt_measurements *m, size_t point,
                        uint64_t from, uint64_t to, double *values)
{
    size_t row = TT_ROW(&s->study, point, 0), first = m->first[row], n = m->first[row + 1] - first;
    size_t found = 0;

    for (uint64_t i = from; i < to && i < n; i++)
        if (isfinite(m->list[first + i].values[s->metric]))
            values[found++] = m->list[first + i].values[s->metric];
    return found;
}

double tt_search_noise(const struct tt_search *s, const struct tt_measurements *m)
{
    double *ratios = calloc(s->study.npoints + 1, sizeof *ratios), noise = 1, pair[2];
    size_t n = 0;

    for (size_t i = 0; ratios && i < s->study.npoints; i++)
        if (tt_search_values(s, m, i, 0, 2, pair) == 2 && pair[0] > 0 && pair[1] > 0)
            ratios[n++] = fmax(pair[0], pair[1]) / fmin(pair[0], pair[1]);
    if (n > 0)
        noise = tt_median(ratios, n);
    free(ratios);
    return noise;
}

static const struct tt_search_key *row_of(const struct tt_search *s, const char *key)
{
    for (const struct tt_search_key *row = s->kind->keys; row->key; row++)
        if (tt_same_key(row->key, key))
            return row;
    return NULL;
}

/* Whether the run's facts show every value that has to be shown. */
static void check_facts(const struct tt_search *s, const json_t *facts, struct tt_candidate *c)
{
    for (size_t f = 0; f < s->study.nfactors && !*c->why; f++) {
        const char *key = s->study.factors[f].key, *proof = NULL, *how = "no fact tells of it";
        const struct tt_search_key *row = row_of(s, key);
        const json_t *fact;
        size_t i;

        json_array_foreach(facts, i, fact)
        {
            if (tt_same_key(tt_text_of(fact, "key"), key)) {
                proof = tt_text_of(fact, "proof");
                how = tt_text_of(fact, "how");
            }
        }
        if (c->numbers[f] == 0 || (proof && !strcmp(proof, "in effect")))
            continue;
        if (row ? row->proof || (proof && !strcmp(proof, "no effect")) : proof != NULL)
            snprintf(c->why, sizeof c->why, "%s%snot proved to be in effect%s%s",
                     c->changed > 1 ? key : "", c->changed > 1 ? " is " : "", *how ? ": " : "",
                     how);
    }
}

static void judge_facts(const struct tt_search *s, const char *directory,
                        const struct tt_measurements *m, size_t point, struct tt_candidate *c)
{
    size_t row = TT_ROW(&s->study, point, 0);
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *result = NULL;
    char *path;

    if (m->first[row] == m->first[row + 1])
        return;
    path = tt_directory_path(directory, m->list[m->first[row]].directory);
    if (path && tt_directory_read_json(path, "result.json", &result, &ignored) == TT_OK)
        check_facts(s, json_object_get(result, "facts"), c);
    json_decref(result);
    free(path);
}

void tt_candidates_free(const struct tt_search *s, struct tt_candidate *list)
{
    for (size_t i = 0; list && i < s->study.npoints; i++)
        free(list[i].numbers);
    free(list);
}

static void find_numbers(const struct tt_study *s, size_t point, struct tt_candidate *c)
{
    for (size_t f = 0; f < s->nfactors; f++) {
        const char *value = s->points[point].values[f];

        for (size_t k = 0; value && k < s->factors[f].n; k++)
            if (!strcmp(s->factors[f].values[k], value))
                c->numbers[f] = k + 1;
        c->changed += c->numbers[f] > 0;
        c->aside |= value && c->numbers[f] == 0;
    }
}

int tt_search_judge(const struct tt_search *s, const char *directory,
                    const struct tt_measurements *m, struct tt_candidate **list, struct tt_error *e)
{
    struct tt_candidate *all = calloc(s->study.npoints + 1, sizeof *all);
    struct tt_runner_report report = {0};
    int rc = all ? tt_study_journal(&s->study, directory, &report, e)
                 : tt_fail_nomem(e, "the candidates");

    *list = all;
    for (size_t i = 0; i < s->study.npoints && rc == TT_OK; i++) {
        all[i].numbers = calloc(s->study.nfactors + 1, sizeof *all[i].numbers);
        if (all[i].numbers)
            find_numbers(&s->study, i, &all[i]);
        else
            rc = tt_fail_nomem(e, "the candidates");
    }
    for (size_t i = 0; i < report.n && rc == TT_OK; i++) {
        const struct tt_repetition *r = &report.list[i];
        size_t point = r->point / s->study.nsteps, row = TT_ROW(&s->study, point, 0);

        all[point].tried++;
        if (!r->complete && m->first[row] == m->first[row + 1])
            snprintf(all[point].why, sizeof all[point].why, "%s", r->why);
    }
    for (size_t i = 1; i < s->study.npoints && rc == TT_OK; i++)
        if (!*all[i].why)
            judge_facts(s, directory, m, i, &all[i]);
    free(report.list);
    return rc;
}

/* ---- running ---- */

struct pool {
    size_t n, *points;
};

static double left(const struct tt_search *s)
{
    return s->o.max_time - tt_seconds(tt_now_ns() - s->began);
}

/* Seconds that a run takes: of the default, and on average. */
static int read_seconds(const struct tt_search *s, const char *directory, double *usual,
                        double *mean, struct tt_error *e)
{
    struct tt_runner_report report = {0};
    double sum = 0, all = 0;
    size_t n = 0;
    int rc = tt_study_journal(&s->study, directory, &report, e);

    for (size_t i = 0; i < report.n; i++) {
        all += report.list[i].seconds;
        if (report.list[i].point < s->study.nsteps && report.list[i].complete) {
            sum += report.list[i].seconds;
            n++;
        }
    }
    *usual = n ? sum / (double)n : 0;
    *mean = report.n ? all / (double)report.n : 0;
    free(report.list);
    return rc;
}

/* What the last runs take is not for the search; the best takes no longer than the default. */
static int reserve(const struct tt_search *s, const char *directory, double *seconds,
                   struct tt_error *e)
{
    double usual, mean;
    int rc = read_seconds(s, directory, &usual, &mean, e);

    *seconds = 1.5 * 2 * (double)s->o.repeat * usual;
    return rc;
}

/* Whether the last runs would still fit after these. */
static int check_bytes(const struct tt_search *s, const char *directory, const uint64_t *wanted,
                       struct tt_error *e)
{
    double last = 2 * (double)s->o.repeat * s->study.points[0].bytes;
    struct tt_study_budget b;
    int rc = s->o.max_bytes > 0 ? tt_study_budget(&s->study, directory, wanted, &b, e) : TT_OK;

    if (rc == TT_OK && s->o.max_bytes > 0 && b.written + b.bytes + last > (double)s->o.max_bytes)
        return tt_fail(e, TT_LIMIT, "more runs would exceed --max-bytes");
    return rc;
}

/* So many runs of the default and of the pool's points. */
static int measure(struct tt_search *s, const char *directory, const struct pool *pool,
                   uint64_t repeat, double seconds, struct tt_error *e)
{
    uint64_t *wanted = calloc(s->study.npoints + 1, sizeof *wanted);
    int rc = TT_OK;

    if (!wanted)
        return tt_fail_nomem(e, "the candidates");
    wanted[0] = repeat;
    for (size_t i = 0; i < pool->n; i++)
        wanted[pool->points[i]] = repeat;
    rc = check_bytes(s, directory, wanted, e);
    s->study.o.max_time = fmax(seconds, 1e-3);
    if (rc == TT_OK)
        rc = tt_study_run(&s->study, directory, wanted, e);
    free(wanted);
    return rc;
}

/* The same within what is left but for the last runs. The end of the budget ends the search. */
static int measure_within(struct tt_search *s, const char *directory, const struct pool *pool,
                          uint64_t repeat, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    double keep_back;
    int rc = reserve(s, directory, &keep_back, e);

    if (rc == TT_OK)
        rc = measure(s, directory, pool, repeat, left(s) - keep_back, &why);
    s->cut_short |= rc == TT_LIMIT;
    if (why.code != TT_OK && rc != TT_LIMIT)
        *e = why;
    return rc == TT_LIMIT ? TT_OK : rc;
}

/* The candidates of a pool as they stand after so many runs of each; *noise may be NULL. */
static int stand(const struct tt_search *s, const char *directory, const struct pool *pool,
                 uint64_t repeat, struct tt_standing *out, double *noise, struct tt_error *e)
{
    struct tt_measurements m = {0};
    struct tt_candidate *list = NULL;
    double *values = NULL;
    int rc = tt_study_read(&s->study, directory, &m, e);

    if (rc == TT_OK)
        rc = tt_search_judge(s, directory, &m, &list, e);
    if (rc == TT_OK && !(values = calloc(repeat + 1, sizeof *values)))
        rc = tt_fail_nomem(e, "the candidates");
    for (size_t i = 0; i < pool->n && rc == TT_OK; i++) {
        size_t point = pool->points[i];
        size_t n = tt_search_values(s, &m, point, 0, repeat, values);

        out[i] = (struct tt_standing){.median = n && !*list[point].why ? tt_median(values, n) : NAN,
                                      .changed = list[point].changed};
    }
    if (rc == TT_OK && noise)
        *noise = tt_search_noise(s, &m);
    free(values);
    tt_candidates_free(s, list);
    tt_measurements_free(&m);
    return rc;
}

static int keep_best(const struct tt_search *s, const char *directory, struct pool *pool,
                     size_t keep, uint64_t repeat, struct tt_error *e)
{
    struct tt_standing *standings = calloc(pool->n + 1, sizeof *standings);
    size_t *order = calloc(pool->n + 1, sizeof *order);
    int rc = standings && order ? stand(s, directory, pool, repeat, standings, NULL, e)
                                : tt_fail_nomem(e, "the candidates");

    if (rc == TT_OK) {
        pool->n = tt_best_of(standings, pool->n, keep, higher_is_better(s), order);
        for (size_t i = 0; i < pool->n; i++)
            order[i] = pool->points[order[i]];
        memcpy(pool->points, order, pool->n * sizeof *order);
    }
    free(standings);
    free(order);
    return rc;
}

/* The default stands among the others. simply: one that changes less is taken unless it is worse
 * by more than chance. */
static int choose(const struct tt_search *s, const char *directory, const struct pool *pool,
                  uint64_t repeat, bool simply, size_t *best, struct tt_error *e)
{
    struct pool all = {pool->n + 1, calloc(pool->n + 2, sizeof *all.points)};
    struct tt_standing *standings = calloc(pool->n + 2, sizeof *standings);
    double noise = 1;
    size_t chosen;
    int rc = all.points && standings ? TT_OK : tt_fail_nomem(e, "the candidates");

    *best = 0;
    if (rc == TT_OK && pool->n > 0)
        memcpy(all.points + 1, pool->points, pool->n * sizeof *all.points);
    if (rc == TT_OK)
        rc = stand(s, directory, &all, repeat, standings, &noise, e);
    if (rc == TT_OK) {
        chosen = tt_choose(standings, all.n, higher_is_better(s),
                           simply ? fmax(TT_TIE, noise - 1) : TT_TIE);
        *best = chosen < all.n ? all.points[chosen] : 0;
    }
    free(all.points);
    free(standings);
    return rc;
}

/* Halves the pool, and says who is best in it, or the default. When the budget is used up, who
 * stands best then. */
static int halve(struct tt_search *s, const char *directory, struct pool *pool, size_t *best,
                 struct tt_error *e)
{
    struct tt_rung rungs[TT_RUNGS];
    size_t n = tt_halving(pool->n, rungs);
    int rc = TT_OK;

    *best = 0;
    for (size_t i = 0; i < n && rc == TT_OK && !s->cut_short && pool->n > 0; i++) {
        rc = measure_within(s, directory, pool, rungs[i].repeat, e);
        if (rc == TT_OK)
            rc = keep_best(s, directory, pool, i + 1 < n ? rungs[i + 1].candidates : pool->n,
                           rungs[i].repeat, e);
        if (rc == TT_OK)
            rc = choose(s, directory, pool, rungs[i].repeat, false, best, e);
    }
    return rc;
}

/* ---- candidates ---- */

static bool has_point(const struct pool *pool, size_t point)
{
    for (size_t i = 0; i < pool->n; i++)
        if (pool->points[i] == point)
            return true;
    return false;
}

/* Into a pool that has room for `most`. */
struct filling {
    struct tt_search *search;
    struct pool *pool;
    size_t most;
    const bool *useless; /* by factor and number: failed alone; NULL: nothing is known */
    size_t width;        /* the most values of a key, with the default's */
    struct pool seen;    /* all that have been in a pool that was halved */
};

static bool is_allowed(void *context, const size_t *numbers)
{
    const struct filling *f = context;

    for (size_t i = 0; f->useless && i < f->search->study.nfactors; i++)
        if (f->useless[i * f->width + numbers[i]])
            return false;
    return true;
}

static int take(void *context, const size_t *numbers, struct tt_error *e)
{
    struct filling *f = context;
    size_t index;
    int rc;

    if (f->pool->n >= f->most)
        return TT_OK;
    rc = tt_search_add(f->search, numbers, &index, e);
    if (rc == TT_OK && index > 0 && !has_point(f->pool, index))
        f->pool->points[f->pool->n++] = index;
    return rc;
}

/* What differs from these numbers in one key; the first value of every key before the second, for
 * there may be room for a few only. */
static int add_neighbours(struct filling *f, const size_t *from, struct tt_error *e)
{
    const struct tt_study *s = &f->search->study;
    size_t *numbers = calloc(s->nfactors + 1, sizeof *numbers);
    int rc = numbers ? TT_OK : tt_fail_nomem(e, "a setting");

    for (size_t k = 0; k < f->width && rc == TT_OK; k++)
        for (size_t i = 0; i < s->nfactors && rc == TT_OK; i++) {
            memcpy(numbers, from, s->nfactors * sizeof *numbers);
            numbers[i] = k;
            if (k <= s->factors[i].n && k != from[i] && is_allowed(f, numbers))
                rc = take(f, numbers, e);
        }
    free(numbers);
    return rc;
}

/* All combinations if there are no more than may be tried; else pairs first, then others. */
static int add_combinations(struct filling *f, struct tt_error *e)
{
    struct tt_study *s = &f->search->study;
    size_t *counts = calloc(s->nfactors + 1, sizeof *counts);
    struct tt_combinations c = {s->nfactors, counts, take, is_allowed, f};
    double all = 1;
    int rc = counts ? TT_OK : tt_fail_nomem(e, "the candidates");

    for (size_t i = 0; i < s->nfactors && rc == TT_OK; i++) {
        counts[i] = s->factors[i].n + 1;
        all *= (double)counts[i];
    }
    if (rc == TT_OK && all <= (double)f->most + 1)
        rc = tt_grid_full(&c, e);
    else if (rc == TT_OK)
        rc = tt_grid_pairwise(&c, f->search->o.shuffle, e);
    if (rc == TT_OK && f->pool->n < f->most && all > (double)f->most + 1)
        rc = tt_grid_lhs(&c, 4 * f->most, f->search->o.shuffle, e);
    free(counts);
    return rc;
}

/* Values that could not be run, were not in effect, or were far worse than the default, alone: what
 * they take is better spent on others. */
static int find_useless(struct filling *f, const char *directory, bool *useless, struct tt_error *e)
{
    const struct tt_search *s = f->search;
    struct tt_measurements m = {0};
    struct tt_candidate *list = NULL;
    double usual = NAN, alone;
    int rc = tt_study_read(&s->study, directory, &m, e);

    if (rc == TT_OK)
        rc = tt_search_judge(s, directory, &m, &list, e);
    if (rc == TT_OK)
        tt_search_values(s, &m, 0, 0, 1, &usual);
    for (size_t i = 1; i < s->study.npoints && rc == TT_OK; i++) {
        bool far = tt_search_values(s, &m, i, 0, 1, &alone) == 1 &&
                   (higher_is_better(s) ? alone * FAR_WORSE < usual : alone > FAR_WORSE * usual);

        for (size_t k = 0; k < s->study.nfactors && list[i].changed == 1 && !list[i].aside; k++)
            if ((*list[i].why || far) && list[i].numbers[k])
                useless[k * f->width + list[i].numbers[k]] = true;
    }
    tt_candidates_free(s, list);
    tt_measurements_free(&m);
    f->useless = useless;
    return rc;
}

static size_t most_values(const struct tt_study *s)
{
    size_t most = 0;

    for (size_t i = 0; i < s->nfactors; i++)
        most = s->factors[i].n > most ? s->factors[i].n : most;
    return most + 1;
}

/* The pool's points are about to be halved, and never again. */
static int see(struct filling *f, struct tt_error *e)
{
    struct pool *seen = &f->seen;
    size_t *longer = reallocarray(seen->points, seen->n + f->pool->n + 1, sizeof *longer);

    if (!longer)
        return tt_fail_nomem(e, "the candidates");
    seen->points = longer;
    for (size_t i = 0; i < f->pool->n; i++)
        longer[seen->n++] = f->pool->points[i];
    return TT_OK;
}

static void drop_seen(struct filling *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->pool->n; i++)
        if (!has_point(&f->seen, f->pool->points[i]))
            f->pool->points[kept++] = f->pool->points[i];
    f->pool->n = kept;
}

/* Every value alone first: what fails alone is not tried with others. */
static int search_widely(struct filling *f, const char *directory, size_t *best, struct tt_error *e)
{
    struct tt_search *s = f->search;
    size_t *none = calloc(s->study.nfactors + 1, sizeof *none);
    bool *useless = calloc(s->study.nfactors * f->width + 1, sizeof *useless);
    int rc = none && useless ? add_neighbours(f, none, e) : tt_fail_nomem(e, "the candidates");

    if (rc == TT_OK)
        rc = measure_within(s, directory, f->pool, 1, e);
    if (rc == TT_OK)
        rc = find_useless(f, directory, useless, e);
    if (rc == TT_OK && !s->cut_short)
        rc = add_combinations(f, e);
    if (rc == TT_OK)
        rc = see(f, e);
    if (rc == TT_OK && s->cut_short)
        rc = choose(s, directory, f->pool, 1, false, best, e);
    else if (rc == TT_OK)
        rc = halve(s, directory, f->pool, best, e);
    f->useless = NULL;
    free(useless);
    free(none);
    return rc;
}

/* Those near the best that are new, as many as what is left is good for. */
static int add_new_neighbours(struct filling *f, const char *directory, size_t best,
                              struct tt_error *e)
{
    struct tt_search *s = f->search;
    struct tt_candidate at = {.numbers = calloc(s->study.nfactors + 1, sizeof *at.numbers)};
    double usual = 0, mean = 0, keep_back = 0;
    int rc = at.numbers ? reserve(s, directory, &keep_back, e) : tt_fail_nomem(e, "a setting");

    if (rc == TT_OK)
        rc = read_seconds(s, directory, &usual, &mean, e);
    if (rc == TT_OK) {
        size_t most = tt_halving_affordable((left(s) - keep_back) / fmax(mean, 1e-3));

        find_numbers(&s->study, best, &at);
        f->pool->n = 0;
        f->most = MOST_CANDIDATES;
        rc = add_neighbours(f, at.numbers, e);
        drop_seen(f);
        f->pool->n = f->pool->n < most ? f->pool->n : most;
    }
    free(at.numbers);
    return rc == TT_OK ? see(f, e) : rc;
}

/* As long as a neighbour of the best is better. */
static int search_nearby(struct filling *f, const char *directory, size_t *best, struct tt_error *e)
{
    struct tt_search *s = f->search;
    size_t from = 0;
    int rc = TT_OK;

    while (rc == TT_OK && !s->cut_short && *best != from && *best > 0) {
        from = *best;
        rc = add_new_neighbours(f, directory, from, e);
        if (rc == TT_OK && f->pool->n > 0) {
            f->pool->points[f->pool->n++] = from;
            rc = halve(s, directory, f->pool, best, e);
        }
    }
    return rc;
}

/* The point, and what has one key less that differs from the default. */
static int add_simpler(struct filling *f, size_t point, struct tt_error *e)
{
    const struct tt_study *s = &f->search->study;
    struct tt_candidate at = {.numbers = calloc(s->nfactors + 1, sizeof *at.numbers)};
    int rc = at.numbers ? TT_OK : tt_fail_nomem(e, "a setting");

    f->pool->n = 0;
    f->pool->points[f->pool->n++] = point;
    if (rc == TT_OK)
        find_numbers(s, point, &at);
    for (size_t i = 0; i < s->nfactors && at.changed > 1 && rc == TT_OK; i++) {
        size_t had = at.numbers[i];

        at.numbers[i] = 0;
        if (had > 0)
            rc = take(f, at.numbers, e);
        at.numbers[i] = had;
    }
    free(at.numbers);
    return rc;
}

/* Keys whose value gains nothing go back to the default's. */
static int simplify(struct filling *f, const char *directory, size_t *best, struct tt_error *e)
{
    const uint64_t repeat = UINT64_C(1) << (TT_RUNGS - 1);
    size_t from = 0;
    int rc = TT_OK;

    f->most = MOST_CANDIDATES;
    while (rc == TT_OK && *best != from && *best > 0) {
        from = *best;
        rc = add_simpler(f, from, e);
        if (rc == TT_OK)
            rc = measure_within(f->search, directory, f->pool, repeat, e);
        if (rc == TT_OK)
            rc = choose(f->search, directory, f->pool, repeat, true, best, e);
    }
    return rc;
}

/* ---- the budget ---- */

uint64_t tt_search_least_runs(const struct tt_search *s)
{
    return 1 + tt_halving_runs(1) + 2 * s->o.repeat;
}

int tt_search_check_budget(const struct tt_search *s, double seconds, struct tt_error *e)
{
    double runs = (double)tt_search_least_runs(s), bytes = s->study.points[0].bytes;
    char each[TT_UNIT_TEXT], need[TT_UNIT_TEXT], cap[TT_UNIT_TEXT];

    if (runs * seconds > s->o.max_time)
        return tt_fail(e, TT_LIMIT,
                       "a run of the default takes %s and the smallest search %.0f runs, so it "
                       "needs --max-time %.0fs instead of %s, or a smaller job",
                       tt_format_seconds(seconds, each), runs, ceil(1.2 * runs * seconds),
                       tt_format_seconds(s->o.max_time, cap));
    if (s->o.max_bytes > 0 && runs * bytes > (double)s->o.max_bytes)
        return tt_fail(e, TT_LIMIT,
                       "a run of the default writes %s and the smallest search takes %.0f runs, so "
                       "it needs %s instead of --max-bytes %s, or a smaller job",
                       tt_format_bytes(bytes, each), runs, tt_format_bytes(runs * bytes, need),
                       tt_format_bytes((double)s->o.max_bytes, cap));
    return TT_OK;
}

/* After the default's first run. */
static int plan(struct tt_search *s, const char *directory, struct tt_error *e)
{
    double usual, mean, runs, bytes = s->study.points[0].bytes;
    int rc = read_seconds(s, directory, &usual, &mean, e);

    s->seconds = usual;
    if (rc == TT_OK && s->planned == 0)
        rc = tt_search_check_budget(s, usual, e);
    if (rc != TT_OK || s->planned > 0)
        return rc;
    runs = left(s) / fmax(usual, 1e-3);
    if (s->o.max_bytes > 0 && bytes > 0)
        runs = fmin(runs, (double)s->o.max_bytes / bytes - 1);
    s->planned = tt_halving_affordable(SHARE_OF_CANDIDATES * (runs - 2 * (double)s->o.repeat));
    s->planned = s->planned < 1 ? 1 : s->planned;
    s->planned = s->planned < MOST_CANDIDATES ? s->planned : MOST_CANDIDATES;
    if (s->o.candidates > 0)
        s->planned = s->o.candidates;
    return tt_search_keep(s, directory, e);
}

/* ---- all of it ---- */

static int run_default(struct tt_search *s, const char *directory, struct tt_error *e)
{
    struct tt_measurements m = {0};
    struct tt_candidate *list = NULL;
    int rc = measure(s, directory, &(struct pool){0}, 1, left(s), e);

    if (rc == TT_OK)
        rc = tt_study_read(&s->study, directory, &m, e);
    if (rc == TT_OK)
        rc = tt_search_judge(s, directory, &m, &list, e);
    if (rc == TT_OK && m.first[1] == m.first[0])
        rc = tt_fail(e, TT_FAILED, "the default itself cannot be run: %.300s", list[0].why);
    else if (rc == TT_OK && !isfinite(m.list[0].values[s->metric]))
        rc = tt_fail(e, TT_USAGE, "metric: a run of %s does not measure %s", s->study.workload,
                     s->o.metric);
    tt_candidates_free(s, list);
    tt_measurements_free(&m);
    return rc;
}

static int find_best(struct tt_search *s, const char *directory, size_t *best, struct tt_error *e)
{
    struct pool pool = {0, calloc((s->planned > MOST_CANDIDATES ? s->planned : MOST_CANDIDATES) + 2,
                                  sizeof *pool.points)};
    struct filling f = {
        .search = s, .pool = &pool, .most = s->planned, .width = most_values(&s->study)};
    int rc =
        pool.points ? search_widely(&f, directory, best, e) : tt_fail_nomem(e, "the candidates");

    if (rc == TT_OK)
        rc = search_nearby(&f, directory, best, e);
    if (rc == TT_OK)
        rc = simplify(&f, directory, best, e);
    free(f.seen.points);
    free(pool.points);
    return rc;
}

/* So that a search that goes on knows which runs are the last ones. */
static int fix_best(struct tt_search *s, const char *directory, size_t best, struct tt_error *e)
{
    struct tt_measurements m = {0};
    int rc = tt_study_read(&s->study, directory, &m, e);

    if (rc == TT_OK) {
        s->best = best;
        s->before[0] = m.first[1] - m.first[0];
        s->before[1] = m.first[best + 1] - m.first[best];
        rc = tt_search_keep(s, directory, e);
    }
    tt_measurements_free(&m);
    return rc;
}

static int measure_again(struct tt_search *s, const char *directory, struct tt_error *e)
{
    uint64_t *wanted = calloc(s->study.npoints + 1, sizeof *wanted);
    struct tt_error why = TT_ERROR_CLEAR;
    char text[160];
    int rc = wanted ? TT_OK : tt_fail_nomem(e, "the candidates");

    if (rc == TT_OK && !s->o.quiet)

        tt_notice("the best is %s; it and the default are measured again",
                  tt_point_text(&s->study, (const char *const *)s->study.points[s->best].values,
                                text, sizeof text));
    if (rc == TT_OK) {
        wanted[0] = s->before[0] + s->o.repeat;
        wanted[s->best] = s->before[1] + s->o.repeat;
        s->study.o.max_time = fmax(left(s), 1e-3);
        rc = tt_study_run(&s->study, directory, wanted, &why);
        if (rc == TT_LIMIT)
            tt_fail(e, rc, "--max-time %s was over before the last runs were",
                    tt_format_seconds(s->o.max_time, text));
        else if (rc != TT_OK)
            *e = why;
    }
    free(wanted);
    return rc;
}

/* ---- how often to write ---- */

uint64_t tt_search_interval(const struct tt_search *s)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *text = NULL;
    uint64_t every = 0;

    tt_study_base_value(&s->study, "reference." TT_INTERVAL_KEY, &text, &ignored);
    if (text)
        tt_parse_count(text, &every, &ignored);
    free(text);
    return every;
}

/* The best setting, or the default, writing twice as often, half as often and never. What is left
 * of the budget is good for that, or it is not done. */
static int measure_intervals(struct tt_search *s, const char *directory, struct tt_error *e)
{
    const uint64_t every = tt_search_interval(s), values[] = {0, every / 2, 2 * every};
    const char **point = calloc(s->study.nfactors + 1, sizeof *point);
    size_t points[4] = {s->best}, index;
    struct pool pool = {1, points};
    struct tt_error why = TT_ERROR_CLEAR;
    int rc = point ? TT_OK : tt_fail_nomem(e, "the intervals");

    for (size_t i = 0; i < 3 && rc == TT_OK; i++) {
        struct tt_error refused = TT_ERROR_CLEAR;
        char text[24];

        if (i > 0 && values[i] == 0)
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)values[i]);
        for (size_t f = 0; f < s->study.nfactors; f++)
            point[f] = s->study.points[s->best].values[f];
        point[s->interval] = text;
        if (tt_study_add(&s->study, point, &index, &refused) == TT_OK)
            points[pool.n++] = index;
    }
    if (rc == TT_OK && left(s) > 2 * 3 * (double)pool.n * s->seconds)
        rc = measure(s, directory, &pool, 3, left(s), &why);
    free(point);
    if (rc != TT_OK && rc != TT_LIMIT && why.code != TT_OK)
        *e = why;
    return rc == TT_LIMIT ? TT_OK : rc;
}

int tt_search_run(struct tt_search *s, const char *directory, struct tt_error *e)
{
    size_t best = s->best;
    int rc;

    s->began = tt_now_ns();
    tt_processes_begin(); /* Ctrl-C between two runs waits for the next one */
    rc = calibrate(s, directory, e);
    if (rc == TT_OK)
        rc = run_default(s, directory, e);
    if (rc == TT_OK)
        rc = plan(s, directory, e);
    if (rc == TT_OK && best == 0)
        rc = find_best(s, directory, &best, e);
    if (rc == TT_OK && best > 0 && s->best == 0)
        rc = fix_best(s, directory, best, e);
    if (rc == TT_OK && best > 0)
        rc = measure_again(s, directory, e);
    if (rc == TT_OK && s->interval < s->study.nfactors)
        rc = measure_intervals(s, directory, e);
    tt_processes_end();
    return rc;
}
