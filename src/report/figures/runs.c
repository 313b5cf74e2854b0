/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many runs from the index: what they measured, by what was varied, and in their order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/canary.h"
#include "analysis/compare.h"
#include "analysis/series.h"
#include "base/json.h"
#include "base/text.h"
#include "report/figures.h"
#include "spec/units.h"

#define GROUP "The runs"
#define HISTORY "One after another"
#define MOST_RUNS 5000
#define MOST_KEYS 8    /* varied keys that the table shows */
#define MOST_VALUES 12 /* of a key whose values are groups */
#define MOST_METRICS 8 /* that have a figure */
#define MOST_PLANS 8   /* that have a history */
#define SEED 1

struct many {
    struct tt_document *d;
    struct tt_store *store;
    const struct tt_run_row *rows; /* the last n */
    size_t n;
    json_t *varied;    /* keys */
    json_t **values;   /* of each run: {key: value} of all parameters */
    double *metrics;   /* n of each metric; NAN: not measured */
    const char *group; /* the key whose values are groups; NULL: none */
};

static const double *values_of(const struct many *m, int metric)
{
    return m->metrics + (size_t)metric * m->n;
}

static size_t count_measured(const struct many *m, int metric)
{
    size_t count = 0;

    for (size_t i = 0; i < m->n; i++)
        count += isfinite(values_of(m, metric)[i]);
    return count;
}

/* Several runs that all measured the same: no more than a number. */
static bool is_constant(const struct many *m, int metric)
{
    const double *values = values_of(m, metric);
    double least = INFINITY, most = -INFINITY;

    for (size_t i = 0; i < m->n; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    return least == most && count_measured(m, metric) > 1;
}

/* ---- reading ---- */

static int load(struct many *m, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < m->n && rc == TT_OK; i++) {
        rc = tt_store_parameters(m->store, m->rows[i].key, &m->values[i], e);
        for (int k = 0; k < TT_NMETRICS && rc == TT_OK; k++) {
            bool known = false;
            double *to = &m->metrics[(size_t)k * m->n + i];

            rc = tt_store_metric(m->store, m->rows[i].key, tt_metrics[k].name, &known, to, e);
            if (!known)
                *to = NAN;
        }
    }
    return rc;
}

/* The keys that differ, without those that say nothing about what was measured. */
static int find_varied(struct many *m, struct tt_error *e)
{
    const struct tt_run_rows some = {m->n, (struct tt_run_row *)m->rows};
    json_t *all = NULL, *key;
    int rc = tt_store_varied(m->store, &some, &all, e);
    size_t i;

    m->varied = json_array();
    json_array_foreach(all, i, key) if (!tt_is_silent_key(json_string_value(key))) m->d->failed |=
        json_array_append(m->varied, key) != 0;
    json_decref(all);
    return rc;
}

/* A varied key with few values: one of the workload's own if there is any. */
static void choose_group(struct many *m)
{
    size_t length = strlen(m->rows[0].workload), best = 0, i;
    const json_t *key;

    json_array_foreach(m->varied, i, key)
    {
        const char *name = json_string_value(key);
        size_t rank = !strncmp(name, m->rows[0].workload, length) && name[length] == '.' ? 3
                      : !strcmp(name, "context") || !strcmp(name, "seed")                ? 1
                                                                                         : 2;
        json_t *seen = json_object();

        for (size_t r = 0; r < m->n; r++)
            json_object_set_new(seen, tt_text_of(m->values[r], name), json_true());
        if (rank > best && json_object_size(seen) > 1 && json_object_size(seen) <= MOST_VALUES) {
            m->group = name;
            best = rank;
        }
        json_decref(seen);
    }
}

/* ---- the list of runs ---- */

static json_t *facts_of(const struct many *m, size_t i, struct tt_error *e, int *rc)
{
    static const char *const names[] = {"version", "host",       "kernel",     "cpu",
                                        "cpus",    "data.mount", "mpi.library"};
    json_t *environment = NULL, *out = json_object();

    *rc = tt_store_environment(m->store, m->rows[i].key, &environment, e);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (*tt_text_of(environment, names[k]))
            tt_document_set_text(m->d, out, names[k], tt_text_of(environment, names[k]));
    tt_document_set_text(m->d, out, "directory", m->rows[i].directory);
    tt_document_set_text(m->d, out, "plan", m->rows[i].plan_hash);
    json_decref(environment);
    return out;
}

static int add_run(const struct many *m, size_t i, struct tt_error *e)
{
    const struct tt_run_row *row = &m->rows[i];
    char *repeat = tt_repeat_command(NULL, row->workload, m->values[i]), start[TT_TIME_TEXT];
    json_t *keys = json_object(), *facts;
    const json_t *key;
    size_t k;
    int rc;

    tt_document_set_text(m->d, keys, "workload", row->workload);
    json_array_foreach(m->varied, k, key) tt_document_set_text(
        m->d, keys, json_string_value(key), tt_text_of(m->values[i], json_string_value(key)));
    facts = facts_of(m, i, e, &rc);
    tt_document_run(m->d,
                    json_pack("{s:o, s:o, s:s, s:o, s:b, s:o, s:o, s:o}", "id",
                              tt_json_text(row->id), "label", tt_json_text(row->label), "start",
                              tt_format_time(row->start_seconds, start), "status",
                              tt_json_text(row->status), "valid", row->valid, "keys", keys,
                              "repeat", repeat ? tt_json_text(repeat) : NULL, "facts", facts));
    free(repeat);
    return rc;
}

static void add_table(const struct many *m)
{
    struct tt_document *d = m->d;
    json_t *figure =
        tt_figure(d, "table", "runs", GROUP, "Every run", "What was varied, and the main metrics.");
    size_t nkeys = json_array_size(m->varied);
    bool shown[TT_NMETRICS];

    nkeys = nkeys < MOST_KEYS ? nkeys : MOST_KEYS;
    tt_figure_head(d, figure, "id", "", false);
    tt_figure_head(d, figure, "start", "", false);
    tt_figure_head(d, figure, "workload", "", false);
    tt_figure_head(d, figure, "status", "", false);
    for (size_t k = 0; k < nkeys; k++)
        tt_figure_head(d, figure, json_string_value(json_array_get(m->varied, k)), "", false);
    for (int k = 0; k < TT_NMETRICS; k++) {
        shown[k] =
            tt_metrics[k].shown & (TT_SHOWN_LISTED | TT_SHOWN_ENSEMBLE) && count_measured(m, k);
        if (shown[k])
            tt_figure_head(d, figure, tt_metrics[k].label, tt_metrics[k].unit, true);
    }
    for (size_t i = 0; i < m->n; i++) {
        json_t *row = tt_figure_row(d, figure);
        char start[TT_TIME_TEXT];

        tt_row_text(d, row, m->rows[i].id);
        tt_row_text(d, row, tt_format_time(m->rows[i].start_seconds, start));
        tt_row_text(d, row, m->rows[i].workload);
        tt_row_text(d, row, m->rows[i].valid ? m->rows[i].status : "not valid");
        for (size_t k = 0; k < nkeys; k++)
            tt_row_text(d, row,
                        tt_text_of(m->values[i], json_string_value(json_array_get(m->varied, k))));
        for (int k = 0; k < TT_NMETRICS; k++)
            if (shown[k])
                tt_row_number(d, row, values_of(m, k)[i]);
    }
    if (nkeys < json_array_size(m->varied))
        tt_figure_note(d, figure, "The first %zu of %zu keys that differ.", nkeys,
                       json_array_size(m->varied));
}

/* ---- distributions ---- */

static const char *group_of(const struct many *m, size_t run)
{
    const char *value = m->group ? tt_text_of(m->values[run], m->group) : "all";

    return *value ? value : "-";
}

/* The runs of one group that measured it; returns how many. */
static size_t collect(const struct many *m, int metric, const char *name, double *values,
                      double *runs)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(group_of(m, i), name) && isfinite(values_of(m, metric)[i])) {
            values[n] = values_of(m, metric)[i];
            runs[n++] = (double)i;
        }
    return n;
}

static void add_distribution(const struct many *m, int metric, double *values, double *runs)
{
    char title[160];
    json_t *figure, *done = json_object();

    snprintf(title, sizeof title, m->group ? "%s, by %.60s" : "%s", tt_metrics[metric].label,
             m->group);
    figure = tt_figure(m->d, "samples", tt_metrics[metric].name, GROUP, title,
                       "Each dot is a run, with the median and its 95 % interval from six runs "
                       "on.");
    tt_figure_metric_axis(m->d, figure, "y", &tt_metrics[metric], "linear");
    for (size_t i = 0; i < m->n; i++) {
        const char *name = group_of(m, i);
        size_t n;

        if (json_object_get(done, name))
            continue;
        m->d->failed |= json_object_set_new(done, name, json_true()) != 0;
        n = collect(m, metric, name, values, runs);
        if (n)
            tt_figure_samples(m->d, figure, name, n, values, runs);
    }
    json_decref(done);
}

/* ---- history ---- */

/* Runs of one plan in their order: where the level changed, and what is beyond the usual, as tutti
 * watch judges it. */
static int add_history(const struct many *m, const char *plan, const struct tt_metric *metric,
                       double *values, double *runs, struct tt_error *e)
{
    const struct tt_canary_options how = {.alarm = 0.01, .margin = 0.03, .seed = SEED};
    struct tt_changes changes = {0};
    struct tt_canary c = {0};
    json_t *figure;
    char title[160];
    size_t n = 0;
    int rc;

    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->rows[i].plan_hash, plan) && m->rows[i].valid &&
            isfinite(values_of(m, (int)(metric - tt_metrics))[i])) {
            values[n] = values_of(m, (int)(metric - tt_metrics))[i];
            runs[n++] = (double)i;
        }
    if (n < tt_canary_least(how.alarm))
        return TT_OK;
    rc = tt_canary_judge(values, n, metric->direction.better, &how, &c, e);
    if (rc == TT_OK)
        rc = tt_change_points(values, n, how.alarm, SEED, &changes, e);
    if (rc != TT_OK)
        return rc;
    snprintf(title, sizeof title, "%s of plan %.16s", metric->label, plan);
    figure = tt_figure(m->d, "dots", "history", HISTORY, title,
                       "Valid runs of one plan in the order of their start, with changes of the "
                       "level and the limits of tutti watch.");
    tt_figure_axis(m->d, figure, "x", "run", "", "count");
    tt_figure_metric_axis(m->d, figure, "y", metric, "linear");
    tt_figure_series(m->d, figure, metric->label,
                     &(struct tt_points){n, .y = values, .runs = runs});
    for (size_t i = 0; i < changes.n; i++) {
        char label[64];

        snprintf(label, sizeof label, "the level changed with run %zu", changes.items[i].at);
        tt_figure_mark(m->d, figure, "x", (double)changes.items[i].at - 0.5, NAN, label);
    }
    if (c.kind != TT_UNDECIDED) {
        tt_figure_mark(m->d, figure, "y", c.median, NAN, "median of the history");
        tt_figure_mark(m->d, figure, "y", c.limit, NAN,
                       c.rule == TT_CANARY_LEVEL ? "limit of the level"
                                                 : "limit of three runs in a row");
        if (isfinite(c.limit_of_one))
            tt_figure_mark(m->d, figure, "y", c.limit_of_one, NAN, "limit of one run");
    }
    free(changes.items);
    return TT_OK;
}

static int add_histories(const struct many *m, double *values, double *runs, struct tt_error *e)
{
    static const enum tt_metric_id watched[] = {TT_METRIC_runtime, TT_METRIC_write_rate};
    json_t *done = json_object();
    int rc = TT_OK;

    for (size_t i = 0; i < m->n && rc == TT_OK && json_object_size(done) < MOST_PLANS; i++) {
        const char *plan = m->rows[i].plan_hash;

        if (json_object_get(done, plan))
            continue;
        m->d->failed |= json_object_set_new(done, plan, json_true()) != 0;
        for (size_t k = 0; k < 2 && rc == TT_OK; k++)
            rc = add_history(m, plan, &tt_metrics[watched[k]], values, runs, e);
    }
    json_decref(done);
    return rc;
}

/* ---- all of it ---- */

static void say(const struct many *m, const struct tt_run_rows *all)
{
    char median[TT_UNIT_TEXT];
    size_t valid = 0, n = count_measured(m, TT_METRIC_runtime);
    double *values = malloc((m->n + 1) * sizeof *values);

    m->d->failed |= !values;
    for (size_t i = 0; i < all->n; i++)
        valid += all->rows[i].valid;
    if (values && n) {
        size_t kept = 0;

        for (size_t i = 0; i < m->n; i++)
            if (isfinite(values_of(m, TT_METRIC_runtime)[i]))
                values[kept++] = values_of(m, TT_METRIC_runtime)[i];
        tt_document_say(m->d, "%zu run%s, %zu valid; the median runtime is %s.", all->n,
                        all->n == 1 ? "" : "s", valid,
                        tt_format_seconds(tt_median(values, kept), median));
    } else {
        tt_document_say(m->d, "%zu run%s, %zu valid.", all->n, all->n == 1 ? "" : "s", valid);
    }
    if (json_array_size(m->varied))
        tt_document_say(m->d, "%zu key%s between them.", json_array_size(m->varied),
                        json_array_size(m->varied) == 1 ? " differs" : "s differ");
    free(values);
}

static int add_all(struct many *m, const struct tt_run_rows *all, struct tt_error *e)
{
    double *values = calloc(2 * (m->n + 1), sizeof *values), *runs = values ? values + m->n + 1 : 0;
    size_t figures = 0;
    int rc = values ? load(m, e) : tt_fail_nomem(e, "the runs");

    if (rc == TT_OK)
        rc = find_varied(m, e);
    for (size_t i = 0; i < m->n && rc == TT_OK; i++)
        rc = add_run(m, i, e);
    if (rc == TT_OK) {
        choose_group(m);
        say(m, all);
        for (int k = 0; k < TT_NMETRICS && figures < MOST_METRICS; k++)
            if (tt_metrics[k].shown & (TT_SHOWN_LISTED | TT_SHOWN_COMPARED) &&
                count_measured(m, k) > 0 && !is_constant(m, k)) {
                add_distribution(m, k, values, runs);
                figures++;
            }
        rc = add_histories(m, values, runs, e);
        add_table(m);
        tt_document_find_varied(m->d);
    }
    free(values);
    return rc;
}

int tt_figures_runs(struct tt_document *d, struct tt_store *s, const struct tt_run_rows *runs,
                    struct tt_error *e)
{
    size_t n = runs->n < MOST_RUNS ? runs->n : MOST_RUNS;
    struct many m = {d,
                     s,
                     runs->rows + (runs->n - n),
                     n,
                     .values = calloc(n + 1, sizeof *m.values),
                     .metrics = calloc(n * TT_NMETRICS + 1, sizeof *m.metrics)};
    int rc = m.values && m.metrics ? add_all(&m, runs, e) : tt_fail_nomem(e, "the runs");

    if (rc == TT_OK && n < runs->n)
        tt_document_warn(d, "not all runs are shown",
                         "these are the last 5,000; a filter such as 'start>2026-11-15' chooses "
                         "others",
                         -1);
    for (size_t i = 0; m.values && i < n; i++)
        json_decref(m.values[i]);
    json_decref(m.varied);
    free(m.values);
    free(m.metrics);
    return rc;
}
