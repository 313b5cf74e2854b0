/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From settings to a study: which are its own, which its base's, and what the grid of its factors
 * is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "plan/registry.h"
#include "plan/settings_json.h"
#include "study/private.h"

/* ---- sorting settings ---- */

/* Whose a setting is. */
struct parts {
    struct tt_settings own;    /* options of the study */
    struct tt_settings varied; /* "transfer" with "4k..1m*4" */
    struct tt_settings listed; /* "0.transfer" with "4k" */
    struct tt_settings base;
};

static void free_parts(struct parts *p)
{
    tt_settings_free(&p->own);
    tt_settings_free(&p->varied);
    tt_settings_free(&p->listed);
    tt_settings_free(&p->base);
}

/* --sweep transfer=4k..1m*4 */
static int add_sweep(struct parts *p, const struct tt_setting *s, struct tt_error *e)
{
    const char *equals = s->value ? strchr(s->value, '=') : NULL;
    char *key = NULL, *place = NULL;
    int rc;

    if (!equals || equals == s->value)
        return tt_fail(e, TT_USAGE,
                       "%.200s: '%.80s' is not KEY=VALUES, such as transfer=4k..1m*4 or ranks=1,2",
                       s->place, s->value ? s->value : "");
    key = strndup(s->value, (size_t)(equals - s->value));
    if (!key || asprintf(&place, "%s %s", s->place, key) < 0)
        rc = tt_fail_nomem(e, "settings");
    else
        rc = tt_settings_add(&p->varied, key, equals + 1, place, e);
    free(key);
    free(place);
    return rc;
}

static int sort_setting(struct parts *p, const struct tt_setting *s, struct tt_error *e)
{
    static const char *const refused[] = {
        "require", "junit", "limit", "stop_when.ci", "stop_when.metric", "stop_when.at_most"};
    struct tt_settings *to = &p->base;
    const char *key = s->key;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (tt_same_key(refused[i], s->key))
            return tt_fail(e, TT_USAGE,
                           "%.200s: a study has no %s; it is for one ensemble, or one job that is "
                           "repeated",
                           s->place, s->key);
    if (tt_same_key(s->key, "sweep"))
        return add_sweep(p, s, e);
    if (tt_same_key(s->key, "others")) {
        to = &p->varied; /* a list of its own is steps of an ensemble */
    } else if (!strncmp(s->key, "vary.", 5)) {
        to = &p->varied;
        key += 5;
    } else if (!strncmp(s->key, "points.", 7)) {
        to = &p->listed;
        key += 7;
    } else if (tt_same_key(s->key, "vary") || tt_same_key(s->key, "points")) {
        return tt_fail(e, TT_USAGE, "%.200s: %s needs keys, as in '%s'", s->place, s->key,
                       *s->key == 'v' ? "vary: {transfer: [4k, 64k]}"
                                      : "points: [{transfer: 4k}, {transfer: 64k}]");
    } else if (tt_param_find(tt_study_component.params, s->key)) {
        to = &p->own;
    }
    return tt_settings_add(to, key, s->value, s->place, e);
}

static int sort_settings(struct parts *p, const struct tt_settings *settings, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < settings->n && rc == TT_OK; i++)
        rc = sort_setting(p, &settings->list[i], e);
    return rc;
}

/* ---- options ---- */

/* Conditions add up. */
static int add_conditions(struct tt_study_options *o, const struct tt_setting *s,
                          const struct tt_param *param, struct tt_error *e)
{
    struct tt_study_options more = {0};
    int rc = tt_setting_apply(s, param, &more, e);

    for (size_t i = 0; i < more.skip.n && rc == TT_OK; i++) {
        char **longer = reallocarray(o->skip.words, o->skip.n + 1, sizeof *longer);

        if (!longer)
            rc = tt_fail_nomem(e, "a condition");
        else {
            o->skip.words = longer;
            o->skip.words[o->skip.n++] = more.skip.words[i];
            more.skip.words[i] = NULL;
        }
    }
    tt_values_free(&more.skip);
    return rc;
}

int tt_study_check_metrics(const struct tt_study *s, struct tt_error *e)
{
    for (size_t i = 0; i < s->o.metrics.n; i++)
        if (!tt_find_metric(s->o.metrics.words[i]) && strcmp(s->o.metrics.words[i], "slowdown"))
            return tt_fail(e, TT_USAGE,
                           "metrics: there is no metric '%.40s'%s; tutti list metrics names them",
                           s->o.metrics.words[i],
                           TT_DID_YOU_MEAN(TT_NEAREST_ROW(s->o.metrics.words[i], tt_metrics)));
    return TT_OK;
}

static int take_options(struct tt_study *s, const struct tt_settings *own, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < own->n && rc == TT_OK; i++) {
        const struct tt_param *p = tt_param_find(tt_study_component.params, own->list[i].key);

        rc = !strcmp(p->key, "skip") ? add_conditions(&s->o, &own->list[i], p, e)
                                     : tt_setting_apply(&own->list[i], p, &s->o, e);
    }
    return rc == TT_OK ? tt_study_check_metrics(s, e) : rc;
}

/* ---- factors ---- */

/* Those that are not there yet. */
static int add_values(struct tt_factor *f, struct tt_words *more, struct tt_error *e)
{
    char **longer = reallocarray(f->values, f->n + more->n + 1, sizeof *longer);
    json_t *seen = json_object();

    if (!longer || !seen) {
        json_decref(seen);
        return tt_fail_nomem(e, "values");
    }
    f->values = longer;
    for (size_t i = 0; i < f->n; i++)
        json_object_set_new_nocheck(seen, f->values[i], json_true());
    for (size_t i = 0; i < more->n; i++)
        if (!json_object_get(seen, more->words[i])) {
            json_object_set_new_nocheck(seen, more->words[i], json_true());
            f->values[f->n++] = more->words[i];
            more->words[i] = NULL;
        }
    json_decref(seen);
    return TT_OK;
}

/* How many others there are the steps of every point's ensemble say; a study that was begun keeps
 * those that it has. */
static int vary_others(struct tt_study *s, const struct tt_setting *one, struct tt_words *values,
                       struct tt_error *e)
{
    const struct tt_param words = {.key = "others", .type = TT_PARAM_WORDS};
    const struct tt_setting *before = tt_settings_find(&s->base, "others");
    struct tt_factor all = {0};
    struct tt_words joined = {0};
    char *text = NULL;
    int rc = before && s->npoints > 0 ? tt_param_set(&words, &joined, before->value, e) : TT_OK;

    if (rc == TT_OK)
        rc = add_values(&all, &joined, e);
    if (rc == TT_OK)
        rc = add_values(&all, values, e);
    tt_values_free(&joined);
    joined = (struct tt_words){all.n, all.values};
    if (rc == TT_OK && !(text = tt_param_get(&words, &joined)))
        rc = tt_fail_nomem(e, "values");
    if (rc == TT_OK)
        rc = tt_settings_add(&s->base, "others", text, one->place, e);
    if (rc == TT_OK)
        s->nsteps = 0; /* those of the next point that is looked at */
    tt_values_free(&joined);
    free(text);
    return rc;
}

/* Values that a factor has already stay, so that a grid grows. */
static int take_varied(struct tt_study *s, const struct tt_setting *one, struct tt_error *e)
{
    struct tt_param count = {.key = "others", .type = TT_PARAM_COUNT};
    struct tt_error why = TT_ERROR_CLEAR;
    bool others = tt_same_key(one->key, "others");
    struct tt_words values = {0};
    size_t index = 0;
    int rc = others ? TT_OK : tt_study_factor(s, one->key, one->place, &index, e);

    if (rc != TT_OK)
        return rc;
    rc = tt_values_expand(others ? &count : s->factors[index].param, one->value ? one->value : "",
                          &values, &why);
    if (rc != TT_OK)
        return tt_fail(e, rc, "%.200s: %s", one->place, why.text);
    rc = others ? vary_others(s, one, &values, e) : add_values(&s->factors[index], &values, e);
    tt_values_free(&values);
    return rc;
}

/* ---- the grid ---- */

/* A key of a condition, looked up once. */
struct looked_up {
    char *key, *base; /* and its value in the base */
    size_t factor;    /* nfactors: none */
};

struct grid {
    struct tt_study *study;
    struct tt_condition **conditions;
    size_t nkeys;
    struct looked_up *keys;
    const char **values; /* of the point that is looked at, by factor; NULL: as the base */
    size_t seen;
};

/* A key that is asked for is looked up once: a grid may have many points. */
static const struct tt_param *find_key(void *context, const char *key)
{
    struct grid *g = context;
    char *full = tt_study_full_key(g->study, key);
    const struct tt_param *param = full ? tt_study_param(g->study, full) : NULL;
    struct looked_up *longer = reallocarray(g->keys, g->nkeys + 1, sizeof *longer);
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (longer)
        g->keys = longer;
    if (longer && param) {
        struct looked_up *one = &g->keys[g->nkeys++];

        *one =
            (struct looked_up){.key = strdup(key), .factor = tt_study_find_factor(g->study, full)};
        tt_study_base_value(g->study, full, &one->base, &ignored);
    }
    free(full);
    return param;
}

static const char *value_of_key(void *context, const char *key)
{
    const struct grid *g = context;

    for (size_t i = 0; i < g->nkeys; i++)
        if (g->keys[i].key && !strcmp(g->keys[i].key, key)) {
            size_t factor = g->keys[i].factor;

            return factor < g->study->nfactors && g->values[factor] ? g->values[factor]
                                                                    : g->keys[i].base;
        }
    return NULL;
}

static const char *near_key(void *context, const char *word)
{
    const struct grid *g = context;
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_workload *w =
        g->study->workload ? tt_find_workload(g->study->workload, &ignored) : NULL;
    const char *near = w ? tt_nearest_key(word, w->params) : NULL;
    const char *keys[2] = {NULL, NULL};

    for (size_t i = 0; i < g->study->nfactors && !keys[0]; i++) {
        keys[0] = g->study->factors[i].key;
        keys[0] = tt_nearest_word(word, keys);
    }
    if (keys[0])
        return keys[0];
    return near ? near : tt_nearest_key(word, tt_run_component.params);
}

static struct tt_condition_keys keys_of(struct grid *g)
{
    return (struct tt_condition_keys){g, find_key, value_of_key, near_key};
}

static bool is_skipped(struct grid *g)
{
    const struct tt_condition_keys keys = keys_of(g);

    for (size_t i = 0; i < g->study->o.skip.n; i++)
        if (tt_condition_holds(g->conditions[i], &keys))
            return true;
    return false;
}

static void set_values(struct grid *g, const size_t *numbers)
{
    for (size_t i = 0, k = 0; i < g->study->nfactors; i++)
        g->values[i] =
            g->study->factors[i].n > 0 ? g->study->factors[i].values[numbers[k++]] : NULL;
}

static bool is_allowed(void *context, const size_t *numbers)
{
    struct grid *g = context;

    set_values(g, numbers);
    return !is_skipped(g);
}

/* What skip leaves out of a full grid or a sample is counted; pairs find other rows. */
static int take_combination(void *context, const size_t *numbers, struct tt_error *e)
{
    struct grid *g = context;

    g->seen++;
    set_values(g, numbers);
    if (is_skipped(g)) {
        g->study->skipped++;
        return TT_OK;
    }
    return tt_study_add(g->study, g->values, NULL, e);
}

/* Where only the number of others is varied, the base is the one point. */
static int add_grid(struct grid *g, bool varied, struct tt_error *e)
{
    const struct tt_study *s = g->study;
    size_t *counts = calloc(s->nfactors + 1, sizeof *counts);
    struct tt_combinations c = {.counts = counts, .take = take_combination, .context = g};
    int rc = counts ? TT_OK : tt_fail_nomem(e, "the grid");

    for (size_t i = 0; rc == TT_OK && i < s->nfactors; i++)
        if (s->factors[i].n > 0)
            counts[c.n++] = s->factors[i].n;
    if (rc == TT_OK && (c.n > 0 || (varied && s->nfactors == 0))) {
        if (s->o.grid == TT_GRID_LHS) {
            rc = tt_grid_lhs(&c, s->o.sample, s->o.shuffle, e);
        } else if (s->o.grid == TT_GRID_PAIRWISE) {
            c.allowed = is_allowed;
            rc = tt_grid_pairwise(&c, s->o.shuffle, e);
        } else {
            rc = tt_grid_full(&c, e);
        }
    }
    free(counts);
    return rc;
}

/* "0.transfer", "0.ranks", "1.transfer": those of a number are one point. */
static int add_listed(struct grid *g, const struct tt_settings *listed, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < listed->n && rc == TT_OK;) {
        size_t number = strspn(listed->list[i].key, "0123456789"), k = i;

        memset(g->values, 0, (g->study->nfactors + 1) * sizeof *g->values);
        for (; k < listed->n && !strncmp(listed->list[k].key, listed->list[i].key, number + 1);
             k++) {
            size_t factor;

            rc = tt_study_factor(g->study, listed->list[k].key + number + 1, listed->list[k].place,
                                 &factor, e);
            if (rc == TT_OK)
                g->values[factor] = listed->list[k].value;
        }
        g->seen++;
        if (rc == TT_OK && is_skipped(g))
            g->study->skipped++;
        else if (rc == TT_OK)
            rc = tt_study_add(g->study, g->values, NULL, e);
        i = k;
    }
    return rc;
}

/* All factors before the first point, which has a value of each. */
static int find_listed_factors(struct tt_study *s, const struct tt_settings *listed,
                               struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < listed->n && rc == TT_OK; i++) {
        const struct tt_setting *one = &listed->list[i];
        size_t number = strspn(one->key, "0123456789"), factor;

        if (number == 0 || one->key[number] != '.')
            rc = tt_fail(e, TT_USAGE,
                         "%.200s: points is a list, as in 'points: [{transfer: 4k}, {transfer: "
                         "64k}]'",
                         one->place);
        else
            rc = tt_study_factor(s, one->key + number + 1, one->place, &factor, e);
    }
    return rc;
}

static int make_points(struct tt_study *s, const struct parts *parts, struct tt_error *e)
{
    struct grid g = {.study = s};
    const struct tt_condition_keys keys = keys_of(&g);
    int rc = find_listed_factors(s, &parts->listed, e);

    g.conditions = calloc(s->o.skip.n + 1, sizeof *g.conditions);
    g.values = calloc(s->nfactors + 1, sizeof *g.values);
    if (rc == TT_OK && (!g.conditions || !g.values))
        rc = tt_fail_nomem(e, "the grid");
    for (size_t i = 0; i < s->o.skip.n && rc == TT_OK; i++) {
        struct tt_error why = TT_ERROR_CLEAR;

        rc = tt_condition_parse(s->o.skip.words[i], &keys, &g.conditions[i], &why);
        if (rc != TT_OK)
            tt_fail(e, rc, "skip: %s", why.text);
    }
    s->skipped = 0;
    if (rc == TT_OK)
        rc = add_grid(&g, parts->varied.n > 0, e);
    if (rc == TT_OK)
        rc = add_listed(&g, &parts->listed, e);
    if (rc == TT_OK && s->npoints == 0)
        rc = g.seen
                 ? tt_fail(e, TT_USAGE, "skip leaves none of %zu points; say less in it", g.seen)
                 : tt_fail(e, TT_USAGE,
                           "nothing is varied: give 'vary: {KEY: VALUES}', --sweep KEY=VALUES or "
                           "points");
    for (size_t i = 0; g.conditions && i < s->o.skip.n; i++)
        tt_condition_free(g.conditions[i]);
    for (size_t i = 0; i < g.nkeys; i++) {
        free(g.keys[i].key);
        free(g.keys[i].base);
    }
    free(g.keys);
    free(g.conditions);
    free(g.values);
    return rc;
}

/* ---- what is given again ---- */

static bool is_of_factor(const struct tt_study *s, const char *key, const struct tt_factor *f)
{
    char *full = tt_study_full_key(s, key);
    bool same = full && tt_same_key(full, f->full);

    free(full);
    return same;
}

int tt_study_has_given(const struct tt_study *s, const struct tt_settings *given, size_t factor,
                       const char *value, bool *has, struct tt_error *e)
{
    const struct tt_factor *f = &s->factors[factor];
    struct parts p = {0};
    int rc = sort_settings(&p, given, e);

    *has = false;
    for (size_t i = 0; i < p.varied.n && rc == TT_OK; i++) {
        struct tt_words values = {0};

        if (!is_of_factor(s, p.varied.list[i].key, f))
            continue;
        rc = tt_values_expand(f->param, p.varied.list[i].value ? p.varied.list[i].value : "",
                              &values, e);
        for (size_t k = 0; k < values.n; k++)
            *has |= !strcmp(values.words[k], value);
        tt_values_free(&values);
    }
    for (size_t i = 0; i < p.listed.n && rc == TT_OK; i++) {
        const struct tt_setting *one = &p.listed.list[i];
        const char *dot = strchr(one->key, '.');

        *has |= dot && is_of_factor(s, dot + 1, f) && one->value && !strcmp(one->value, value);
    }
    free_parts(&p);
    return rc;
}

/* ---- all of it ---- */

static int take_factors(struct tt_study *s, const struct parts *p, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < p->varied.n && rc == TT_OK; i++)
        rc = take_varied(s, &p->varied.list[i], e);
    return rc;
}

bool tt_study_is_asked_for(const struct tt_settings *settings)
{
    for (size_t i = 0; i < settings->n; i++)
        if (tt_same_key(settings->list[i].key, "sweep") ||
            !strncmp(settings->list[i].key, "vary.", 5) ||
            !strncmp(settings->list[i].key, "points.", 7))
            return true;
    return false;
}

int tt_study_make(struct tt_study *s, const char *workload, const struct tt_settings *settings,
                  struct tt_error *e)
{
    struct parts p = {0};
    int rc = sort_settings(&p, settings, e);

    *s = (struct tt_study){0};
    if (rc == TT_OK)
        rc = tt_study_begin(s, workload, &p.base, e);
    if (rc == TT_OK)
        rc = take_options(s, &p.own, e);
    if (rc == TT_OK && s->o.add > 0)
        rc = tt_fail(e, TT_USAGE, "add: more repetitions than what? give --resume DIRECTORY, too");
    if (rc == TT_OK)
        rc = take_factors(s, &p, e);
    if (rc == TT_OK)
        rc = make_points(s, &p, e);
    free_parts(&p);
    return rc;
}

/* Runs of different things are never put together. */
static int check_base(const struct tt_study *s, const char *workload,
                      const struct tt_settings *given, struct tt_error *e)
{
    static const char *const none_may_differ[] = {NULL};
    const struct tt_resume resumed = {
        .what = "study",
        .how = "tutti study FILE --resume DIRECTORY",
        .may_differ = none_may_differ,
        .hidden = s->is_job ? "reference." : NULL,
    };
    const struct tt_settings none = {0};
    struct tt_settings base = {0};
    int rc = TT_OK;

    if (s->is_job && workload)
        rc = tt_ensemble_of_job(workload, given, &base, e);
    else if (s->is_job && given->n > 0) /* words without their file */
        rc = tt_ensemble_of_job(s->workload, given, &base, e);
    else
        rc = tt_settings_append(&base, given, e);
    if (rc == TT_OK)
        rc = tt_settings_check_resumed(&resumed, &s->base, &base, &none, false, e);
    tt_settings_free(&base);
    return rc;
}

int tt_study_extend(struct tt_study *s, const char *workload, const struct tt_settings *settings,
                    struct tt_error *e)
{
    uint64_t before = s->o.repeat;
    struct parts p = {0};
    int rc = sort_settings(&p, settings, e);
    bool grows = p.varied.n > 0 || p.listed.n > 0 || tt_settings_find(&p.own, "sample") ||
                 tt_settings_find(&p.own, "grid");

    if (rc == TT_OK)
        rc = check_base(s, workload, &p.base, e);
    if (rc == TT_OK)
        rc = take_options(s, &p.own, e);
    if (rc == TT_OK && (s->o.add > 0 || s->o.repeat < before)) /* its file says what it said then */
        s->o.repeat = before + s->o.add;
    if (rc == TT_OK)
        rc = take_factors(s, &p, e);
    if (rc == TT_OK && grows)
        rc = make_points(s, &p, e);
    if (rc == TT_OK && s->nsteps == 0)
        rc = tt_study_add(s, (const char *const *)s->points[0].values, NULL, e);
    free_parts(&p);
    return rc;
}
