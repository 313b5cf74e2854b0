/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/factors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "base/json.h"
#include "base/text.h"

#define LEAST_RUNS 4   /* of a level: four against four are the first that may show anything */
#define MOST_PAIRED 12 /* levels whose pairs are tested */

struct factor {
    const char *name, *kind;
    struct tt_grouped g;
    double *values;
    size_t *group, *block;
    const char **names; /* of a key's levels */
    uint32_t *ranks;    /* that are levels */
    struct tt_group_test test;
    double adjusted;
    const char *why; /* why it was not tested; NULL: it was */
};

/* ---- classes of runs ---- */

static char *levels_text(const struct tt_analysis *a, size_t run, size_t but)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    for (size_t k = 0; f && k < a->nkeys; k++)
        if (k != but) {
            const char *level = a->runs[run].levels[k];

            fprintf(f, "%s\x1f", level ? level : "\x1e");
        }
    if (!f || fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

int tt_classify_runs(const struct tt_analysis *a, size_t but, size_t *classes, size_t *n,
                     struct tt_error *e)
{
    json_t *seen = json_object();
    int rc = seen ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < a->nruns; i++) {
        char *text = levels_text(a, i, but);
        const json_t *old = text ? json_object_get(seen, text) : NULL;

        classes[i] = old ? (size_t)json_integer_value(old) : json_object_size(seen);
        if (!old)
            rc = text
                     ? json_object_set_new_nocheck(seen, text, json_integer((json_int_t)classes[i]))
                     : -1;
        free(text);
    }
    *n = json_object_size(seen);
    json_decref(seen);
    return rc == 0 ? TT_OK : tt_fail_nomem(e, "classes of runs");
}

/* The values of each class together, ascending: those of class c from sorted[begins[c]] on. */
static int gather(const double *values, const size_t *classes, size_t n, size_t nclasses,
                  double *sorted, size_t *begins, struct tt_error *e)
{
    size_t *members = malloc((n + 1) * sizeof *members);

    if (!members)
        return tt_fail_nomem(e, "classes of values");
    tt_sort_by_class(classes, n, nclasses, members, begins);
    for (size_t i = 0; i < n; i++)
        sorted[i] = values[members[i]];
    for (size_t c = 0; c < nclasses; c++)
        tt_median(sorted + begins[c], begins[c + 1] - begins[c]);
    free(members);
    return TT_OK;
}

static struct tt_sample group_of(const double *sorted, const size_t *begins, size_t group)
{
    return (struct tt_sample){begins[group + 1] - begins[group], sorted + begins[group]};
}

int tt_relate(const double *values, const size_t *classes, size_t n, size_t nclasses, bool *ratios,
              double *out, struct tt_error *e)
{
    size_t *begins = malloc((nclasses + 2) * sizeof *begins);
    double *sorted = malloc((n + 1) * sizeof *sorted);
    int rc = begins && sorted ? gather(values, classes, n, nclasses, sorted, begins, e)
                              : tt_fail_nomem(e, "classes of values");

    for (size_t c = 0; rc == TT_OK && c < nclasses; c++) {
        struct tt_sample s = group_of(sorted, begins, c);

        *ratios = *ratios && (s.n == 0 || tt_sample_median(&s) > 0);
    }
    for (size_t i = 0; rc == TT_OK && i < n; i++) {
        struct tt_sample s = group_of(sorted, begins, classes[i]);
        double median = tt_sample_median(&s);

        out[i] = *ratios ? values[i] / median : values[i] - median;
    }
    free(begins);
    free(sorted);
    return rc;
}

/* ---- the values of a factor ---- */

static int make_room(struct factor *f, size_t n, struct tt_error *e)
{
    f->values = malloc((n + 1) * sizeof *f->values);
    f->group = malloc((n + 1) * sizeof *f->group);
    f->block = malloc((n + 1) * sizeof *f->block);
    if (!f->values || !f->group || !f->block)
        return tt_fail_nomem(e, "a factor");
    f->g = (struct tt_grouped){.values = f->values, .group = f->group, .block = f->block};
    return TT_OK;
}

static void add_value(struct factor *f, double value, size_t group, size_t block)
{
    f->values[f->g.n] = value;
    f->group[f->g.n] = group;
    f->block[f->g.n++] = block;
    f->g.ngroups = group < f->g.ngroups ? f->g.ngroups : group + 1;
    f->g.nblocks = block < f->g.nblocks ? f->g.nblocks : block + 1;
}

/* 8 before 16. */
static int by_version(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* The levels of a key, each once. */
static size_t list_levels(const struct tt_analysis *a, size_t key, const char **names)
{
    size_t n = 0, different = 0;

    for (size_t i = 0; i < a->nruns; i++)
        if (a->runs[i].levels[key])
            names[n++] = a->runs[i].levels[key];
    qsort(names, n, sizeof *names, by_version);
    for (size_t i = 0; i < n; i++)
        if (different == 0 || strcmp(names[i], names[different - 1]) != 0)
            names[different++] = names[i];
    return different;
}

static int take_key(const struct tt_measured *m, size_t key, struct factor *f, struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    size_t *classes = malloc((a->nruns + 1) * sizeof *classes), nclasses, nlevels = 0;
    int rc = make_room(f, a->nruns, e);

    f->names = calloc(a->nruns + 1, sizeof *f->names);
    if (rc == TT_OK)
        rc = classes && f->names ? tt_classify_runs(a, key, classes, &nclasses, e)
                                 : tt_fail_nomem(e, "a factor");
    if (rc == TT_OK)
        nlevels = list_levels(a, key, f->names);
    for (size_t i = 0; rc == TT_OK && i < a->nruns; i++) {
        const char *const *level =
            bsearch(&a->runs[i].levels[key], f->names, a->runs[i].levels[key] ? nlevels : 0,
                    sizeof *level, by_version);

        if (level)
            add_value(f, m->medians[i], (size_t)(level - f->names), classes[i]);
    }
    if (f->g.ngroups < 2)
        f->why = "it is the same in all runs";
    else if (f->g.ngroups == f->g.n)
        f->why = "it is another one in every run";
    free(classes);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The ranks of all runs, each once. */
static size_t list_ranks(const struct tt_analysis *a, uint32_t *ranks)
{
    size_t n = 0, different = 0;

    for (size_t i = 0; i < a->nruns; i++)
        for (size_t r = 0; r < a->runs[i].times.nranks; r++)
            ranks[n++] = a->runs[i].times.ranks[r];
    qsort(ranks, n, sizeof *ranks, by_number);
    for (size_t i = 0; i < n; i++)
        if (different == 0 || ranks[i] != ranks[different - 1])
            ranks[different++] = ranks[i];
    return different;
}

/* One rank of one run: its median, with the run as block; one run alone has its frames as blocks.
 */
static void take_rank(const struct tt_analysis *a, size_t run, size_t r, size_t group, double *row,
                      struct factor *f)
{
    const struct tt_times *t = &a->runs[run].times;
    const double *values = t->values + r * t->nframes;
    size_t n = 0;

    for (size_t k = 0; k < t->nframes; k++)
        if (!isnan(values[k])) {
            row[n++] = values[k];
            if (a->nruns == 1)
                add_value(f, values[k], group, k);
        }
    if (a->nruns > 1)
        add_value(f, tt_median(row, n), group, run);
}

static int take_ranks(const struct tt_measured *m, struct factor *f, struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    size_t most = 0, ranks = 0, longest = 0, nlevels = 0;
    double *row;
    int rc;

    for (size_t i = 0; i < a->nruns; i++) {
        const struct tt_times *t = &a->runs[i].times;

        most += t->nranks * (a->nruns == 1 ? t->nframes : 1);
        ranks += t->nranks;
        longest = t->nframes > longest ? t->nframes : longest;
    }
    rc = make_room(f, most, e);
    f->ranks = malloc((ranks + 1) * sizeof *f->ranks);
    row = malloc((longest + 1) * sizeof *row);
    if (rc == TT_OK && (!row || !f->ranks))
        rc = tt_fail_nomem(e, "a factor");
    if (rc == TT_OK)
        nlevels = list_ranks(a, f->ranks);
    for (size_t i = 0; rc == TT_OK && i < a->nruns; i++)
        for (size_t r = 0; r < a->runs[i].times.nranks; r++) {
            const uint32_t *level =
                bsearch(&a->runs[i].times.ranks[r], f->ranks, nlevels, sizeof *level, by_number);

            take_rank(a, i, r, (size_t)(level - f->ranks), row, f);
        }
    free(row);
    if (f->g.ngroups < 2)
        f->why = "there is one rank";
    return rc;
}

static int take_frames(const struct tt_measured *m, struct factor *f, struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    int rc = make_room(f, m->first[a->nruns], e);

    for (size_t i = 0; rc == TT_OK && i < a->nruns; i++)
        for (size_t k = m->first[i]; k < m->first[i + 1]; k++)
            add_value(f, m->frames[k], k - m->first[i], i);
    if (f->g.ngroups < 2)
        f->why = "there is one frame in a run";
    else if (a->nruns < 2)
        f->why = "one run cannot tell frames from chance: repeat it";
    return rc;
}

/* ---- testing ---- */

static int test(struct factor *f, struct tt_error *e)
{
    int rc = TT_OK;

    if (!f->why) {
        rc = tt_rank_test(&f->g, &f->test, e);
        if (!f->test.known)
            f->why = !f->test.blocks   ? "it never varies while all else stays alike"
                     : !f->test.varies ? "all values are equal"
                                       : "runs differ in which of very many they have";
    }
    return rc;
}

static int adjust(struct factor *list, size_t n, struct tt_error *e)
{
    double *p = malloc((n + 1) * sizeof *p);
    size_t tested = 0;
    int rc;

    if (!p)
        return tt_fail_nomem(e, "a correction");
    for (size_t i = 0; i < n; i++)
        if (!list[i].why)
            p[tested++] = list[i].test.p;
    rc = tt_adjust_holm(p, tested, e);
    for (size_t i = 0, k = 0; rc == TT_OK && i < n; i++)
        if (!list[i].why)
            list[i].adjusted = p[k++];
    free(p);
    return rc;
}

/* The least number of runs of a level, or of blocks, and how many would be enough. */
static size_t least_runs(const struct factor *f, size_t *enough)
{
    size_t *counts, least = SIZE_MAX;

    *enough = tt_runs_for_interval(TT_LEVEL);
    if (strcmp(f->kind, "key") != 0)
        return f->test.blocks;
    *enough = LEAST_RUNS;
    counts = calloc(f->g.ngroups, sizeof *counts);
    for (size_t i = 0; counts && i < f->g.n; i++)
        counts[f->group[i]]++;
    for (size_t i = 0; counts && i < f->g.ngroups; i++)
        least = counts[i] < least ? counts[i] : least;
    free(counts);
    return least;
}

/* ---- as JSON ---- */

/* What a level is called: a frame has the number of its iteration. */
static json_t *level_name(const struct tt_measured *m, const struct factor *f, size_t level)
{
    const struct tt_analysis *a = m->of;

    if (f->names)
        return tt_json_text(f->names[level]);
    if (f->ranks)
        return json_integer((json_int_t)f->ranks[level]);
    for (size_t i = 0; i < a->nruns; i++)
        if (level < a->runs[i].times.nframes)
            return json_integer((json_int_t)a->runs[i].times.frames[level]);
    return json_null();
}

static json_t *interval_end(const struct tt_interval *i, double end)
{
    return i->known ? tt_json_real(end) : json_null();
}

static json_t *levels_json(const struct tt_measured *m, const struct factor *f,
                           const double *sorted, const size_t *begins)
{
    json_t *list = json_array();

    for (size_t i = 0; i < f->g.ngroups; i++) {
        struct tt_sample s = group_of(sorted, begins, i);
        struct tt_interval within = tt_median_estimate(&s, TT_LEVEL);

        json_array_append_new(list, json_pack("{s:o, s:I, s:o, s:o, s:o}", "level",
                                              level_name(m, f, i), "n", (json_int_t)s.n, "value",
                                              tt_json_real(tt_sample_median(&s)), "low",
                                              interval_end(&within, within.low), "high",
                                              interval_end(&within, within.high)));
    }
    return list;
}

/* A pair within blocks: the same test, of these two groups alone. */
static int test_pair(const struct factor *f, struct tt_pair *pair, struct tt_error *e)
{
    struct factor two = {0};
    struct tt_group_test found;
    int rc = make_room(&two, f->g.n, e);

    for (size_t i = 0; rc == TT_OK && i < f->g.n; i++)
        if (f->group[i] == pair->a || f->group[i] == pair->b)
            add_value(&two, f->values[i], f->group[i] == pair->b, f->block[i]);
    if (rc == TT_OK)
        rc = tt_rank_test(&two.g, &found, e);
    if (rc == TT_OK)
        pair->p = found.p;
    free(two.values);
    free(two.group);
    free(two.block);
    return rc;
}

/* Dunn's test, or within blocks one test for each pair; corrected as Holm does. */
static int test_pairs(const struct factor *f, struct tt_pair *pairs, size_t n, struct tt_error *e)
{
    double p[MOST_PAIRED * MOST_PAIRED];
    int rc = tt_dunn(&f->g, pairs, e);

    if (rc != TT_OK || f->test.blocks == 1)
        return rc;
    for (size_t i = 0; rc == TT_OK && i < n; i++) {
        rc = test_pair(f, &pairs[i], e);
        p[i] = pairs[i].p;
    }
    if (rc == TT_OK)
        rc = tt_adjust_holm(p, n, e);
    for (size_t i = 0; rc == TT_OK && i < n; i++)
        pairs[i].adjusted = p[i];
    return rc;
}

static int pair_json(const struct tt_measured *m, const struct factor *f,
                     const struct tt_pair *pair, double fdr, const struct tt_sample *a,
                     const struct tt_sample *b, json_t *list, struct tt_error *e)
{
    struct tt_test whitney = {0};
    bool plain = f->test.blocks == 1;
    int rc = plain ? tt_mann_whitney(a, b, &whitney, e) : TT_OK;

    if (rc != TT_OK)
        return rc;
    rc = json_array_append_new(
        list, json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:o}", "a", level_name(m, f, pair->a),
                        "b", level_name(m, f, pair->b), "effect",
                        tt_json_real(tt_effect(m->positive ? TT_RATIO : TT_DIFFERENCE, a, b)),
                        "delta", tt_cliffs_delta(a, b), "p", pair->p, "adjusted", pair->adjusted,
                        "fdr", fdr, "mann_whitney", plain ? json_real(whitney.p) : json_null()));
    return rc == 0 ? TT_OK : tt_fail_nomem(e, "pairs");
}

static int pairs_json(const struct tt_measured *m, const struct factor *f, const double *sorted,
                      const size_t *begins, json_t *list, struct tt_error *e)
{
    struct tt_pair pairs[MOST_PAIRED * MOST_PAIRED];
    double fdr[MOST_PAIRED * MOST_PAIRED];
    size_t n = f->g.ngroups * (f->g.ngroups - 1) / 2;
    int rc;

    if (f->g.ngroups > MOST_PAIRED)
        return TT_OK;
    rc = test_pairs(f, pairs, n, e);
    for (size_t i = 0; rc == TT_OK && i < n; i++)
        fdr[i] = pairs[i].p;
    if (rc == TT_OK)
        rc = tt_adjust_bh(fdr, n, e);
    for (size_t i = 0; rc == TT_OK && i < n; i++) {
        struct tt_sample a = group_of(sorted, begins, pairs[i].a),
                         b = group_of(sorted, begins, pairs[i].b);

        rc = pair_json(m, f, &pairs[i], fdr[i], &a, &b, list, e);
    }
    return rc;
}

/* Levels, and pairs of what matters. In one block values are shown as they are, else as ratios to
 * the median of their block, or differences. */
static int details_json(const struct tt_measured *m, const struct factor *f, bool pairs,
                        json_t *one, struct tt_error *e)
{
    double *values = malloc(2 * (f->g.n + 1) * sizeof *values), *sorted = values + f->g.n;
    size_t *begins = malloc((f->g.ngroups + 2) * sizeof *begins);
    bool relative = f->test.blocks != 1, ratios = m->positive;
    json_t *list = json_array();
    int rc = values && begins && list ? TT_OK : tt_fail_nomem(e, "levels");

    if (rc == TT_OK && relative)
        rc = tt_relate(f->values, f->block, f->g.n, f->g.nblocks, &ratios, values, e);
    else if (rc == TT_OK)
        memcpy(values, f->values, f->g.n * sizeof *values);
    if (rc == TT_OK)
        rc = gather(values, f->group, f->g.n, f->g.ngroups, sorted, begins, e);
    if (rc == TT_OK) {
        json_object_set_new(one, "relative", json_boolean(relative));
        json_object_set_new(one, "ratios", json_boolean(ratios));
        json_object_set_new(one, "levels", levels_json(m, f, sorted, begins));
    }
    if (rc == TT_OK && pairs)
        rc = pairs_json(m, f, sorted, begins, list, e);
    json_object_set_new(one, "pairs", list);
    free(values);
    free(begins);
    return rc;
}

static int factor_json(const struct tt_measured *m, const struct factor *f, json_t *list,
                       struct tt_error *e)
{
    bool is_key = !strcmp(f->kind, "key"), matters = !f->why && f->adjusted <= 1 - TT_LEVEL;
    size_t enough, least = least_runs(f, &enough);
    bool few = !f->why && !matters && least < enough;
    json_t *one;
    char why[120] = "";

    if (few)
        snprintf(why, sizeof why, "%zu more run%s%s", enough - least,
                 enough - least == 1 ? "" : "s", is_key ? " of each" : "");
    one = json_pack("{s:s, s:s, s:s, s:I, s:o}", "factor", f->name, "kind", f->kind, "verdict",
                    f->why    ? "untested"
                    : matters ? "matters"
                    : few     ? "too few"
                              : "no effect",
                    "count", (json_int_t)f->g.ngroups, "why",
                    f->why || few ? json_string(f->why ? f->why : why) : json_null());
    if (!one || json_array_append_new(list, one) != 0)
        return tt_fail_nomem(e, "a factor");
    if (f->why)
        return TT_OK;
    json_object_update_new(
        one, json_pack("{s:I, s:I, s:f, s:I, s:f, s:f, s:f}", "n", (json_int_t)f->test.n, "blocks",
                       (json_int_t)f->test.blocks, "h", f->test.h, "df", (json_int_t)f->test.df,
                       "p", f->test.p, "adjusted", f->adjusted, "epsilon", f->test.epsilon));
    return is_key || matters ? details_json(m, f, is_key && matters, one, e) : TT_OK;
}

/* key: of a key. */
static int take_factor(const struct tt_measured *m, struct factor *f, size_t key,
                       struct tt_error *e)
{
    if (!strcmp(f->kind, "rank"))
        return take_ranks(m, f, e);
    if (!strcmp(f->kind, "frame"))
        return take_frames(m, f, e);
    f->name = m->of->keys[key];
    return take_key(m, key, f, e);
}

int tt_test_factors(const struct tt_measured *m, json_t **out, struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    struct factor *list = calloc(a->ntested + 3, sizeof *list);
    size_t within = 0, n = 0;
    json_t *all = json_array();
    int rc = list && all ? TT_OK : tt_fail_nomem(e, "the factors");

    if (rc == TT_OK && a->ranks)
        list[within++] = (struct factor){.name = "rank", .kind = "rank"};
    if (rc == TT_OK && a->frames)
        list[within++] = (struct factor){.name = "frame", .kind = "frame"};
    for (n = 0; rc == TT_OK && n < within + a->ntested; n++) {
        if (n >= within)
            list[n].kind = "key";
        rc = take_factor(m, &list[n], n - within, e);
        if (rc == TT_OK)
            rc = test(&list[n], e);
    }
    if (rc == TT_OK)
        rc = adjust(list, n, e);
    for (size_t i = 0; rc == TT_OK && i < n; i++)
        rc = factor_json(m, &list[i], all, e);
    for (size_t i = 0; i < n; i++) {
        free(list[i].names);
        free(list[i].ranks);
        free(list[i].values);
        free(list[i].group);
        free(list[i].block);
    }
    free(list);
    *out = rc == TT_OK ? all : NULL;
    if (rc != TT_OK)
        json_decref(all);
    return rc;
}
