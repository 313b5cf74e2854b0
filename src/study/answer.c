/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the runs of a study to its answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/variance.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "ensemble/run.h"
#include "plan/directory.h"
#include "spec/units.h"
#include "study/private.h"

#define ANSWER_FORMAT 1
#define SEED 1 /* of bootstraps: the same runs always give the same answer */

static const struct tt_metric slowdown_metric = {
    .name = "slowdown",
    .unit = "1",
    .label = "slowdown",
    .definition = "runtime with others / runtime alone in the same round",
    .direction = {TT_BETTER_LOWER, TT_RATIO, "slower", "faster"},
};

static const struct tt_metric *metric_of(int metric)
{
    return metric == TT_METRIC_SLOWDOWN ? &slowdown_metric : &tt_metrics[metric];
}

/* ---- the table ---- */

struct answer {
    const struct tt_study *study;
    struct tt_measurements all;
    double *values, *others; /* room for the runs of two rows */
    char **base;             /* values of the factors in the base; NULL: unknown */
    bool has_others;
};

static const char *row_value(const struct answer *a, size_t row, size_t factor)
{
    const char *own = a->study->points[row / a->study->nrows].values[factor];

    return own ? own : a->base[factor] ? a->base[factor] : "-";
}

static json_t *summary_json(const struct tt_sample *s)
{
    struct tt_interval interval = tt_median_interval(s, TT_LEVEL);
    json_t *o = json_pack("{s:I, s:o}", "n", (json_int_t)s->n, "median",
                          s->n ? tt_json_real(tt_sample_median(s)) : json_null());

    if (s->n > 0) {
        json_object_set_new(o, "least", tt_json_real(s->values[0]));
        json_object_set_new(o, "most", tt_json_real(s->values[s->n - 1]));
    }
    if (interval.known) {
        json_object_set_new(o, "low", tt_json_real(interval.low));
        json_object_set_new(o, "high", tt_json_real(interval.high));
    }
    return o;
}

static json_t *row_json(const struct answer *a, size_t row, const int *metrics, size_t n)
{
    const struct tt_study *s = a->study;
    json_t *values = json_object(), *summaries = json_object(), *o;

    for (size_t f = 0; f < s->nfactors; f++)
        json_object_set_new(values, s->factors[f].key, tt_json_text(row_value(a, row, f)));
    for (size_t i = 0; i < n; i++) {
        struct tt_sample sample = tt_row_sample(&a->all, row, metrics[i], a->values);

        json_object_set_new(summaries, metric_of(metrics[i])->name, summary_json(&sample));
    }
    o = json_pack("{s:s, s:o, s:I, s:o}", "point", s->points[row / s->nrows].hash, "values", values,
                  "runs", (json_int_t)(a->all.first[row + 1] - a->all.first[row]), "metrics",
                  summaries);
    if (a->has_others)
        json_object_set_new(
            values, "others",
            json_sprintf("%llu", (unsigned long long)s->steps[row % s->nrows].others));
    return o;
}

static json_t *runs_json(const struct answer *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->all.n; i++) {
        const struct tt_measured *one = &a->all.list[i];
        json_t *metrics = json_object();

        for (int m = 0; m <= TT_NMETRICS; m++)
            if (isfinite(tt_measured_value(one, m)))
                json_object_set_new(metrics, metric_of(m)->name,
                                    json_real(tt_measured_value(one, m)));
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:o, s:o}", "row", (json_int_t)one->row, "number",
                            (json_int_t)one->number, "round", (json_int_t)one->round, "directory",
                            tt_json_text(one->directory), "metrics", metrics));
    }
    return list;
}

/* ---- which factors matter ---- */

/* Levels are the values as text, numbered as they first occur. */
static size_t number_levels(const struct answer *a, size_t factor, size_t nfactors, size_t *levels)
{
    const struct tt_study *s = a->study;
    json_t *seen = json_object();
    size_t n;

    for (size_t row = 0; row < s->npoints * s->nrows; row++) {
        char others[24];
        const char *value = others;
        json_t *level;

        snprintf(others, sizeof others, "%llu",
                 (unsigned long long)s->steps[row % s->nrows].others);
        if (factor < s->nfactors)
            value = row_value(a, row, factor);
        level = json_object_get(seen, value);
        if (!level) {
            level = json_integer((json_int_t)json_object_size(seen));
            json_object_set_new(seen, value, level);
        }
        levels[row * nfactors + factor] = (size_t)json_integer_value(level);
    }
    n = json_object_size(seen);
    json_decref(seen);
    return n ? n : 1;
}

static json_t *share_json(const char *key, const struct tt_share_of_variance *s)
{
    json_t *o = json_pack("{s:s, s:f}", "factor", key, "share", s->share);

    if (s->interval.known) {
        json_object_set_new(o, "low", json_real(s->interval.low));
        json_object_set_new(o, "high", json_real(s->interval.high));
    }
    return o;
}

static json_t *variance_json(const struct answer *a, const struct tt_variance *v, size_t nfactors)
{
    const struct tt_study *s = a->study;
    json_t *list = json_array();

    for (size_t f = 0; f < nfactors; f++)
        if (v->factors[f].known)
            json_array_append_new(
                list, share_json(f < s->nfactors ? s->factors[f].key : "others", &v->factors[f]));
    if (v->noise.known)
        json_array_append_new(list, share_json("repetitions", &v->noise));
    return json_pack("{s:o, s:s, s:b, s:I}", "shares", list, "scale", v->log ? "log" : "linear",
                     "balanced", v->balanced, "runs", (json_int_t)v->runs);
}

/* NULL: all runs have the same value, or none has one. */
static int explain(const struct answer *a, int metric, json_t **out, struct tt_error *e)
{
    const struct tt_study *s = a->study;
    size_t nrows = s->npoints * s->nrows, nfactors = s->nfactors + a->has_others;
    size_t *levels = calloc(nrows * nfactors + 1, sizeof *levels);
    size_t *nlevels = calloc(nfactors + 1, sizeof *nlevels),
           *cells = calloc(a->all.n + 1, sizeof *cells);
    struct tt_variance v = {.factors = calloc(nfactors + 1, sizeof *v.factors)};
    struct tt_design d = {.values = a->values,
                          .cells = cells,
                          .ncells = nrows,
                          .nfactors = nfactors,
                          .levels = levels,
                          .nlevels = nlevels};
    int rc = levels && nlevels && cells && v.factors ? TT_OK : tt_fail_nomem(e, "the variance");

    *out = NULL;
    for (size_t f = 0; f < nfactors && rc == TT_OK; f++)
        nlevels[f] = number_levels(a, f, nfactors, levels);
    for (size_t i = 0; i < a->all.n && rc == TT_OK; i++)
        if (isfinite(tt_measured_value(&a->all.list[i], metric))) {
            a->values[d.n] = tt_measured_value(&a->all.list[i], metric);
            cells[d.n++] = a->all.list[i].row;
        }
    if (rc == TT_OK && d.n > 0)
        rc = tt_variance_explained(&d, SEED, &v, e);
    if (rc == TT_OK && v.known)
        *out = variance_json(a, &v, nfactors);
    free(levels);
    free(nlevels);
    free(cells);
    free(v.factors);
    return rc;
}

/* ---- the best ---- */

static char *row_text(const struct answer *a, size_t row, char *out, size_t size)
{
    const struct tt_study *s = a->study;
    size_t n = 0;

    *out = '\0';
    for (size_t f = 0; f < s->nfactors && n < size; f++)
        n += (size_t)snprintf(out + n, size - n, "%s%s=%s", n ? " " : "", s->factors[f].key,
                              row_value(a, row, f));
    if (a->has_others && n < size)
        snprintf(out + n, size - n, "%sothers=%llu", n ? " " : "",
                 (unsigned long long)s->steps[row % s->nrows].others);
    return out;
}

/* Rows of the most others are compared, since it is they that the ensemble is about. */
static bool is_compared(const struct answer *a, size_t row)
{
    const struct tt_study *s = a->study;
    uint64_t most = 0;

    for (size_t k = 0; k < s->nrows; k++)
        most = s->steps[k].others > most ? s->steps[k].others : most;
    return s->steps[row % s->nrows].others == most;
}

/* Of the compared rows that have a value: how many, the best, and the one to compare it with. */
static size_t find_best(const struct answer *a, int metric, size_t *best, size_t *usual,
                        bool *is_default)
{
    bool higher = metric_of(metric)->direction.better == TT_BETTER_HIGHER;
    const struct tt_study *s = a->study;
    double top = NAN;
    size_t n = 0;

    *is_default = false;
    for (size_t row = 0; row < s->npoints * s->nrows; row++) {
        struct tt_sample sample = tt_row_sample(&a->all, row, metric, a->values);
        double median = sample.n ? tt_sample_median(&sample) : NAN;

        if (!is_compared(a, row) || !isfinite(median))
            continue;
        if (n == 0 || !strcmp(s->points[row / s->nrows].hash, s->usual)) {
            *usual = row;
            *is_default = !strcmp(s->points[row / s->nrows].hash, s->usual);
        }
        if (n++ == 0 || (higher ? median > top : median < top)) {
            top = median;
            *best = row;
        }
    }
    return n;
}

static int best_json(const struct answer *a, int metric, json_t **out, struct tt_error *e)
{
    struct tt_interval interval = {0};
    struct tt_sample top, other;
    size_t best = 0, usual = 0, n;
    bool is_default;
    char text[200];
    int rc = TT_OK;

    *out = NULL;
    if (metric_of(metric)->direction.better == TT_BETTER_NEITHER)
        return TT_OK;
    n = find_best(a, metric, &best, &usual, &is_default);
    if (n < 2)
        return TT_OK;
    top = tt_row_sample(&a->all, best, metric, a->values);
    other = tt_row_sample(&a->all, usual, metric, a->others);
    *out = json_pack("{s:I, s:I, s:o, s:I, s:s, s:f}", "of", (json_int_t)n, "row", (json_int_t)best,
                     "point", tt_json_text(row_text(a, best, text, sizeof text)), "than",
                     (json_int_t)usual, "is", is_default ? "default" : "first", "median",
                     tt_sample_median(&top));
    json_object_set_new(*out, "than_point", tt_json_text(row_text(a, usual, text, sizeof text)));
    if (best == usual || !(other.values[0] > 0) || !(top.values[0] > 0))
        return TT_OK;
    rc = tt_bootstrap_effect(TT_RATIO, &other, &top, TT_LEVEL, SEED, &interval, e);
    json_object_set_new(*out, "ratio", json_real(tt_effect(TT_RATIO, &other, &top)));
    if (rc == TT_OK && interval.known) {
        json_object_set_new(*out, "low", json_real(interval.low));
        json_object_set_new(*out, "high", json_real(interval.high));
    }
    return rc;
}

/* ---- the sentence ---- */

/* An interval this wide says nothing; it narrows with the root of the number of runs. */
#define WIDEST 0.5

static size_t say_too_few(long long runs, long long needed, const char *metric, char *out,
                          size_t size)
{
    return (size_t)snprintf(out, size,
                            "With %lld run%s a point it cannot be told which keys matter for %s "
                            "(at least %lld are needed)",
                            runs, runs == 1 ? "" : "s", metric, needed);
}

static size_t say_shares(const json_t *variance, const char *metric, char *out, size_t size)
{
    const json_t *one, *largest = NULL;
    long long runs = (long long)tt_integer_of(variance, "runs");
    double low, high;
    bool by_chance;
    size_t i;

    if (!variance)
        return (size_t)snprintf(out, size, "All runs have the same %s", metric);
    json_array_foreach(json_object_get(variance, "shares"), i, one)
    {
        if (!largest || tt_number_of(one, "share") > tt_number_of(largest, "share"))
            largest = one;
    }
    if (!tt_has_number(largest, "low"))
        return say_too_few(runs, (long long)tt_runs_for_interval(TT_LEVEL), metric, out, size);
    low = tt_number_of(largest, "low");
    high = tt_number_of(largest, "high");
    if (high - low > WIDEST)
        return say_too_few(runs, (long long)ceil((double)runs * pow((high - low) / WIDEST, 2)),
                           metric, out, size);
    by_chance = !strcmp(tt_text_of(largest, "factor"), "repetitions");
    return (size_t)snprintf(out, size, "%s%s explain%s %.0f %% [%.0f, %.0f] of the variance of %s",
                            by_chance ? "No key matters as much as chance: " : "",
                            tt_text_of(largest, "factor"), by_chance ? "" : "s",
                            100 * tt_number_of(largest, "share"), 100 * low, 100 * high, metric);
}

static void say_best(const json_t *best, const struct tt_metric *metric, char *out, size_t size)
{
    char median[TT_UNIT_TEXT], interval[48] = "";
    const char *than = tt_text_of(best, "is");

    if (!best) {
        snprintf(out, size, ".");
        return;
    }
    tt_format_value(tt_number_of(best, "median"), metric->unit, median);
    if (tt_has_number(best, "low"))
        snprintf(interval, sizeof interval, " [%.3g, %.3g]", tt_number_of(best, "low"),
                 tt_number_of(best, "high"));
    if (tt_has_number(best, "ratio"))
        snprintf(out, size, "; the best of %lld points is %s with %s, %.3g x%s the %s (%s).",
                 (long long)tt_integer_of(best, "of"), tt_text_of(best, "point"), median,
                 tt_number_of(best, "ratio"), interval, than, tt_text_of(best, "than_point"));
    else
        snprintf(out, size, "; the best of %lld points is %s with %s%s.",
                 (long long)tt_integer_of(best, "of"), tt_text_of(best, "point"), median,
                 tt_integer_of(best, "row") == tt_integer_of(best, "than") &&
                         !strcmp(than, "default")
                     ? ", the default"
                     : "");
}

static bool is_known(const struct answer *a, int metric)
{
    for (size_t i = 0; i < a->all.n; i++)
        if (isfinite(tt_measured_value(&a->all.list[i], metric)))
            return true;
    return false;
}

static int add_findings(const struct answer *a, int metric, json_t *findings, struct tt_error *e)
{
    const struct tt_metric *m = metric_of(metric);
    json_t *variance = NULL, *best = NULL;
    char text[1000];
    size_t n;
    int rc = explain(a, metric, &variance, e);

    if (rc == TT_OK && variance)
        rc = best_json(a, metric, &best, e);
    if (rc == TT_OK) {
        n = is_known(a, metric)
                ? say_shares(variance, m->name, text, sizeof text)
                : (size_t)snprintf(text, sizeof text, "No run measures %s", m->name);
        say_best(best, m, text + n, n < sizeof text ? sizeof text - n : 0);
        tt_make_plain(text);
        json_array_append_new(findings,
                              json_pack("{s:s, s:s, s:s, s:s, s:O?, s:O?, s:s}", "metric", m->name,
                                        "label", m->label, "unit", m->unit, "better",
                                        m->direction.better == TT_BETTER_HIGHER  ? "higher"
                                        : m->direction.better == TT_BETTER_LOWER ? "lower"
                                                                                 : "neither",
                                        "variance", variance, "best", best, "text", text));
    }
    json_decref(variance);
    json_decref(best);
    return rc;
}

/* ---- all of it ---- */

/* Those that were asked for, else what the job measures of the usual ones; and what is sorted by.
 */
static size_t choose_metrics(const struct answer *a, int out[TT_NMETRICS + 1])
{
    static const int usual[] = {TT_METRIC_SLOWDOWN, TT_METRIC_write_rate, TT_METRIC_read_rate,
                                TT_METRIC_runtime};
    const struct tt_words *asked = &a->study->o.metrics;
    size_t n = 0;

    for (size_t i = 0; i < asked->n; i++)
        for (int m = 0; m <= TT_NMETRICS && n <= TT_NMETRICS; m++)
            if (!strcmp(asked->words[i], metric_of(m)->name))
                out[n++] = m;
    for (size_t i = 0; asked->n == 0 && i < sizeof usual / sizeof *usual; i++)
        if (is_known(a, usual[i]))
            out[n++] = usual[i];
    for (int m = 0; a->study->o.sort && m <= TT_NMETRICS && n <= TT_NMETRICS; m++) {
        bool is_there = strcmp(a->study->o.sort, metric_of(m)->name) != 0;

        for (size_t i = 0; i < n; i++)
            is_there |= out[i] == m;
        if (!is_there)
            out[n++] = m;
    }
    return n;
}

struct level {
    const char *text;
    double number; /* not a number: it is none */
    size_t place;
};

static int compare_levels(const void *x, const void *y)
{
    const struct level *a = x, *b = y;

    if (isfinite(a->number) && isfinite(b->number) && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* The values of a factor that occur: numbers in their order, words as they were given. A new
 * reference. */
static json_t *levels_json(const struct answer *a, size_t factor)
{
    const struct tt_study *s = a->study;
    struct level *levels = calloc(s->npoints + 1, sizeof *levels);
    json_t *seen = json_object(), *list = json_array();
    size_t n = 0;

    for (size_t p = 0; levels && p < s->npoints; p++) {
        const char *value = row_value(a, TT_ROW(s, p, 0), factor);

        if (json_object_get(seen, value))
            continue;
        json_object_set_new(seen, value, json_true());
        levels[n] = (struct level){value, NAN, n};
        if (!tt_value_number(s->factors[factor].param, value, &levels[n].number))
            levels[n].number = NAN;
        n++;
    }
    if (levels)
        qsort(levels, n, sizeof *levels, compare_levels);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, tt_json_text(levels[i].text));
    json_decref(seen);
    free(levels);
    return list;
}

static json_t *factors_json(const struct answer *a)
{
    const struct tt_study *s = a->study;
    json_t *list = json_array();

    for (size_t i = 0; i < s->nfactors; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "key", tt_json_text(s->factors[i].key),
                                              "values", levels_json(a, i)));
    if (a->has_others) {
        json_t *values = json_array();

        for (size_t k = 0; k < s->nrows; k++)
            json_array_append_new(values,
                                  json_sprintf("%llu", (unsigned long long)s->steps[k].others));
        json_array_append_new(list, json_pack("{s:s, s:o}", "key", "others", "values", values));
    }
    return list;
}

/* How many attempts failed, and why the first did; *out NULL: none. */
static int failures_json(const struct tt_study *s, const char *directory, json_t **out,
                         struct tt_error *e)
{
    struct tt_runner_report report;
    int rc = tt_study_journal(s, directory, &report, e);
    const char *first = "";
    json_int_t n = 0;

    for (size_t i = 0; i < report.n; i++)
        if (!report.list[i].complete && n++ == 0)
            first = report.list[i].why;
    *out = n ? json_pack("{s:I, s:o}", "n", n, "first", tt_json_text(first)) : NULL;
    free(report.list);
    return rc;
}

static int make_answer(struct answer *a, const char *directory, json_t **out, struct tt_error *e)
{
    const struct tt_study *s = a->study;
    json_t *rows = json_array(), *findings = json_array(), *failures = NULL;
    int metrics[TT_NMETRICS + 1], rc = failures_json(s, directory, &failures, e);
    size_t n = choose_metrics(a, metrics);

    for (size_t row = 0; row < s->npoints * s->nrows; row++)
        json_array_append_new(rows, row_json(a, row, metrics, n));
    for (size_t i = 0; i < n && rc == TT_OK; i++)
        rc = add_findings(a, metrics[i], findings, e);
    *out =
        json_pack("{s:{s:s, s:s, s:i}, s:s, s:o, s:o?, s:I, s:I, s:o?, s:o, s:o, s:o, s:o}",
                  "tutti", "version", TT_VERSION, "revision", TT_REVISION, "format", ANSWER_FORMAT,
                  "id", tt_directory_id(directory), "directory", tt_json_text(directory), "label",
                  s->o.label ? tt_json_text(s->o.label) : NULL, "repeat", (json_int_t)s->o.repeat,
                  "points", (json_int_t)s->npoints, "failures", failures, "factors",
                  factors_json(a), "findings", findings, "rows", rows, "runs", runs_json(a));
    return rc == TT_OK && !*out ? tt_fail_nomem(e, "the answer") : rc;
}

int tt_study_answer(const struct tt_study *s, const char *directory, json_t **answer,
                    struct tt_error *e)
{
    struct answer a = {.study = s, .base = calloc(s->nfactors + 1, sizeof *a.base)};
    int rc = tt_study_read(s, directory, &a.all, e);

    *answer = NULL;
    a.values = calloc(a.all.n + 1, sizeof *a.values);
    a.others = calloc(a.all.n + 1, sizeof *a.others);
    if (rc == TT_OK && (!a.base || !a.values || !a.others))
        rc = tt_fail_nomem(e, "the answer");
    for (size_t f = 0; f < s->nfactors && rc == TT_OK; f++)
        rc = tt_study_base_value(s, s->factors[f].full, &a.base[f], e);
    for (size_t k = 0; k < s->nrows; k++)
        a.has_others |= s->steps[k].others > 0;
    if (rc == TT_OK)
        rc = make_answer(&a, directory, answer, e);
    if (rc == TT_OK)
        rc = tt_answer_keep(directory, *answer, e);
    for (size_t f = 0; a.base && f < s->nfactors; f++)
        free(a.base[f]);
    free(a.base);
    free(a.values);
    free(a.others);
    tt_measurements_free(&a.all);
    return rc;
}
