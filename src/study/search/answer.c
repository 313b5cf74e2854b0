/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the runs of a search to its answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "plan/directory.h"
#include "spec/units.h"
#include "study/private.h"
#include "study/search/search.h"

#define ANSWER_FORMAT 1
#define SEED 1
#define SMALL_EFFECT 1.05 /* times: a key that does less does not matter */

struct answer {
    const struct tt_search *search;
    struct tt_measurements all;
    struct tt_candidate *list;
    double *values, *others; /* room for all runs of a point */
};

static const struct tt_metric *metric_of(const struct answer *a)
{
    return &tt_metrics[a->search->metric];
}

static char *point_text(const struct answer *a, size_t point, char *out, size_t size)
{
    const struct tt_study *s = &a->search->study;

    if (a->list[point].changed == 0)
        snprintf(out, size, "the default");
    else
        tt_point_text(s, (const char *const *)s->points[point].values, out, size);
    return out;
}

/* Of the runs of the search: the last ones are another matter. */
static size_t searched_values(const struct answer *a, size_t point, double *values)
{
    const struct tt_search *s = a->search;
    uint64_t to = s->best > 0 && point == 0         ? s->before[0]
                  : s->best > 0 && point == s->best ? s->before[1]
                                                    : UINT64_MAX;

    return tt_search_values(s, &a->all, point, 0, to, values);
}

static double median_of(const struct answer *a, size_t point)
{
    size_t n = searched_values(a, point, a->values);

    return n ? tt_median(a->values, n) : NAN;
}

/* ---- what was tried ---- */

static int tried_json(const struct answer *a, json_t *o, struct tt_error *e)
{
    const struct tt_study *s = &a->search->study;
    struct tt_standing *standings = calloc(s->npoints + 1, sizeof *standings);
    size_t *order = calloc(s->npoints + 1, sizeof *order), n;
    json_t *tried = json_array(), *refused = json_deep_copy(a->search->refused);
    char text[200];

    if (!standings || !order) {
        free(standings);
        free(order);
        return tt_fail_nomem(e, "the answer");
    }
    for (size_t i = 0; i < s->npoints; i++) {
        if (a->list[i].aside) {
            standings[i].median = NAN;
            continue;
        }
        standings[i] =
            (struct tt_standing){*a->list[i].why ? NAN : median_of(a, i), a->list[i].changed};
        if (*a->list[i].why)
            json_array_append_new(refused,
                                  json_pack("{s:o, s:o}", "setting",
                                            tt_json_text(point_text(a, i, text, sizeof text)),
                                            "why", tt_json_text(a->list[i].why)));
    }
    n = tt_best_of(standings, s->npoints, s->npoints,
                   metric_of(a)->direction.better == TT_BETTER_HIGHER, order);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(tried,
                              json_pack("{s:o, s:f, s:I, s:b}", "setting",
                                        tt_json_text(point_text(a, order[i], text, sizeof text)),
                                        "median", standings[order[i]].median, "runs",
                                        (json_int_t)searched_values(a, order[i], a->values),
                                        "default", order[i] == 0));
    json_object_set_new(o, "tried", tried);
    json_object_set_new(o, "refused", refused);
    free(standings);
    free(order);
    return TT_OK;
}

/* ---- which keys matter ---- */

static int keys_json(const struct answer *a, json_t *o, struct tt_error *e)
{
    const struct tt_study *s = &a->search->study;
    struct tt_tried *tried = calloc(s->npoints + 1, sizeof *tried);
    double noise = tt_search_noise(a->search, &a->all), enough = fmax(noise, SMALL_EFFECT);
    json_t *keys = json_array();
    int rc = tried ? TT_OK : tt_fail_nomem(e, "the answer");

    for (size_t i = 0; i < s->npoints && rc == TT_OK; i++)
        tried[i] = (struct tt_tried){a->list[i].numbers,
                                     *a->list[i].why || a->list[i].aside ? NAN : median_of(a, i)};
    for (size_t f = 0; f < s->nfactors && rc == TT_OK; f++) {
        struct tt_key_effect effect;

        rc = tt_key_effect(tried, s->npoints, s->nfactors, f, &effect, e);
        if (rc == TT_OK && effect.groups > 0)
            json_array_append_new(keys, json_pack("{s:o, s:I, s:f, s:b}", "key",
                                                  tt_json_text(s->factors[f].key), "comparisons",
                                                  (json_int_t)effect.groups, "times", effect.times,
                                                  "matters", effect.times > enough));
    }
    json_object_set_new(o, "keys", keys);
    json_object_set_new(o, "noise", json_real(noise));
    free(tried);
    return rc;
}

/* ---- the best ---- */

static int best_json(const struct answer *a, json_t *o, struct tt_error *e)
{
    const struct tt_search *s = a->search;
    const struct tt_study *study = &s->study;
    json_t *values = json_object(), *ways = json_array(), *best;
    char text[200];
    int rc = TT_OK;

    for (size_t f = 0; f < study->nfactors && rc == TT_OK; f++) {
        const char *value = study->points[s->best].values[f];

        if (!value)
            continue;
        json_object_set_new(values, study->factors[f].key, tt_json_text(value));
        rc = tt_ways_of(study->factors[f].param, study->factors[f].key, value, ways, e);
    }
    best = json_pack("{s:o, s:o, s:o}", "setting",
                     tt_json_text(point_text(a, s->best, text, sizeof text)), "values", values,
                     "ways", ways);
    json_object_set_new(o, "best", best);
    return rc;
}

/* Only of runs that were made after the choice. */
static int verdict_json(const struct answer *a, json_t *o, struct tt_error *e)
{
    const struct tt_search *s = a->search;
    struct tt_values usual = {.values = a->values}, best = {.values = a->others};
    json_t *verdict = NULL;
    int rc;

    usual.n = tt_search_values(s, &a->all, 0, s->before[0], UINT64_MAX, usual.values);
    best.n = tt_search_values(s, &a->all, s->best, s->before[1], UINT64_MAX, best.values);
    rc = tt_verdict((enum tt_metric_id)s->metric, &usual, &best, TT_TIE, SEED, &verdict, e);
    if (rc == TT_OK) {
        json_object_set_new(o, "recommended",
                            json_boolean(!strcmp(tt_text_of(verdict, "verdict"), "better")));
        json_object_set_new(o, "verdict", verdict);
    }
    return rc;
}

/* ---- how often to write ---- */

/* Runs of the best setting in which it writes so often; NULL: of the default's interval. */
static double interval_median(const struct answer *a, const char *every, size_t *n)
{
    const struct tt_study *s = &a->search->study;

    *n = 0;
    for (size_t i = 0; i < s->npoints; i++) {
        const char *value = s->points[i].values[a->search->interval];
        bool same = every ? value && !strcmp(value, every) : i == a->search->best;

        for (size_t f = 0; f < s->nfactors && same; f++)
            same = f == a->search->interval ||
                   a->list[i].numbers[f] == a->list[a->search->best].numbers[f];
        if (same)
            *n = tt_search_values(a->search, &a->all, i, 0, UINT64_MAX, a->values);
        if (*n)
            return tt_median(a->values, *n);
    }
    return NAN;
}

/* What I/O costs: the metric with it / without any. */
static int intervals_json(const struct answer *a, json_t *o, struct tt_error *e)
{
    const uint64_t every = tt_search_interval(a->search), tried[] = {every / 2, every, 2 * every};
    json_t *list = json_array();
    size_t n;
    double never = interval_median(a, "0", &n);

    for (size_t i = 0; i < 3 && never > 0 && isfinite(never); i++) {
        char text[24];
        double median;

        snprintf(text, sizeof text, "%llu", (unsigned long long)tried[i]);
        median = interval_median(a, tried[i] == every ? NULL : text, &n);
        if (isfinite(median))
            json_array_append_new(list,
                                  json_pack("{s:I, s:f, s:f, s:I}", "every", (json_int_t)tried[i],
                                            "times", (double)tried[i] / (double)every, "cost",
                                            median / never, "runs", (json_int_t)n));
    }
    return json_object_set_new(o, "intervals", list) == 0 ? TT_OK
                                                          : tt_fail_nomem(e, "the intervals");
}

/* ---- the sentence ---- */

/* "1.23 s instead of 2.46 s, 0.5 [0.48, 0.52] times the default's (8 fresh runs of each)" */
static void say_numbers(const json_t *verdict, char *out, size_t size)
{
    const json_t *effect = json_object_get(verdict, "effect");
    const json_t *a = json_object_get(verdict, "a"), *b = json_object_get(verdict, "b");
    const char *unit = tt_text_of(verdict, "unit");
    bool is_ratio = !strcmp(tt_text_of(verdict, "kind"), "ratio");
    char usual[TT_UNIT_TEXT], best[TT_UNIT_TEXT], interval[48] = "";

    if (tt_has_number(effect, "low"))
        snprintf(interval, sizeof interval, " [%.3g, %.3g]", tt_number_of(effect, "low"),
                 tt_number_of(effect, "high"));
    snprintf(out, size, "%s instead of %s, %.3g%s %s the default's (%lld fresh runs of each)",
             tt_format_value(tt_number_of(b, "median"), unit, best),
             tt_format_value(tt_number_of(a, "median"), unit, usual), tt_number_of(effect, "value"),
             interval, is_ratio ? "times" : "more than", (long long)tt_integer_of(b, "n"));
}

static json_t *sentence(const struct answer *a, const json_t *o)
{
    const json_t *verdict = json_object_get(o, "verdict");
    const char *said = tt_text_of(verdict, "verdict"), *label = metric_of(a)->label;
    const char *setting = tt_text_of(json_object_get(o, "best"), "setting");
    size_t tried = json_array_size(json_object_get(o, "tried"));
    char numbers[200];
    double needed = tt_number_of(verdict, "runs_needed");

    if (tried < 2)
        return json_sprintf("No setting but the default could be run and proved to be in effect.");
    if (a->search->best == 0 && a->search->cut_short)
        return json_sprintf("The default is as good as any of %zu settings as far as can be told: "
                            "the budget ended the search early, after %lld runs.",
                            tried, (long long)tt_integer_of(o, "runs"));
    if (a->search->best == 0)
        return json_sprintf("The default is as good as any of %zu settings: none of the others was "
                            "better in %s by more than %.0f %% and more than chance.",
                            tried, label, 100 * TT_TIE);
    say_numbers(verdict, numbers, sizeof numbers);
    if (tt_is_true(o, "recommended"))
        return json_sprintf("Set %s: %s is %s.", setting, label, numbers);
    if (!strcmp(said, "too few") || !strcmp(said, "not measured"))
        return json_sprintf("Nothing is recommended yet: %s was best of %zu settings, but too few "
                            "runs of it and the default were made after that.",
                            setting, tried);
    if (!strcmp(said, "cannot tell") && needed > 0)
        return json_sprintf("The default is as good as any of %zu settings as far as can be told: "
                            "with the best of them, %s, %s was %s; about %.0f runs of each would "
                            "tell more.",
                            tried, setting, label, numbers, needed);
    return json_sprintf("The default is as good as any of %zu settings: with the best of them, %s, "
                        "%s was %s.",
                        tried, setting, label, numbers);
}

/* ---- all of it ---- */

static int base_json(const struct answer *a, json_t *o, struct tt_error *e)
{
    const struct tt_study *s = &a->search->study;
    json_t *base = json_object();

    for (size_t i = 0; i < s->base.n; i++) {
        const struct tt_setting *one = &s->base.list[i];
        const char *key = one->key + 10;

        if (!strncmp(one->key, "reference.", 10) && one->value && strcmp(key, "workload") &&
            !tt_same_key(key, "baseline"))
            json_object_set_new(base, key, tt_json_text(one->value));
    }
    return json_object_set_new(o, "base", base) == 0 ? TT_OK : tt_fail_nomem(e, "the answer");
}

static json_t *head_json(const struct answer *a, const char *directory)
{
    const struct tt_search *s = a->search;
    const struct tt_metric *m = metric_of(a);
    json_t *keys = json_array();

    for (size_t f = 0; f < s->study.nfactors; f++)
        if (s->study.factors[f].n > 0)
            json_array_append_new(keys, tt_json_text(s->study.factors[f].key));
    return json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:I, s:b, s:o, s:b, s:O?}", "format",
                     ANSWER_FORMAT, "version", TT_VERSION, "search", s->kind->name, "workload",
                     s->study.workload, "directory", tt_json_text(directory), "metric", m->name,
                     "label", m->label, "unit", m->unit, "runs", (json_int_t)a->all.n, "cut_short",
                     s->cut_short, "varied", keys, "recommended", false, "application",
                     s->application);
}

int tt_search_answer(const struct tt_search *s, const char *directory, json_t **answer,
                     struct tt_error *e)
{
    struct answer a = {.search = s};
    json_t *o = NULL;
    int rc = tt_study_read(&s->study, directory, &a.all, e);

    *answer = NULL;
    a.values = calloc(a.all.n + 1, sizeof *a.values);
    a.others = calloc(a.all.n + 1, sizeof *a.others);
    if (rc == TT_OK && (!a.values || !a.others))
        rc = tt_fail_nomem(e, "the answer");
    if (rc == TT_OK)
        rc = tt_search_judge(s, directory, &a.all, &a.list, e);
    if (rc == TT_OK && !(o = head_json(&a, directory)))
        rc = tt_fail_nomem(e, "the answer");
    if (rc == TT_OK)
        rc = base_json(&a, o, e);
    if (rc == TT_OK)
        rc = tried_json(&a, o, e);
    if (rc == TT_OK)
        rc = keys_json(&a, o, e);
    if (rc == TT_OK && s->best > 0)
        rc = best_json(&a, o, e);
    if (rc == TT_OK && s->best > 0)
        rc = verdict_json(&a, o, e);
    if (rc == TT_OK && s->interval < s->study.nfactors)
        rc = intervals_json(&a, o, e);
    if (rc == TT_OK)
        json_object_set_new(o, "text", sentence(&a, o));
    if (rc == TT_OK)
        rc = tt_directory_write_json(directory, TT_SEARCH_ANSWER, o, e);
    tt_candidates_free(s, a.list);
    tt_measurements_free(&a.all);
    free(a.values);
    free(a.others);
    if (rc == TT_OK)
        *answer = o;
    else
        json_decref(o);
    return rc;
}
