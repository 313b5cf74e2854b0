/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study: metrics over the values of its factors, as small multiples, and which factors matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "plan/directory.h"
#include "report/figures.h"

#define GROUP "The study"
#define MOST_PANELS 16
#define MOST_LINES 12 /* of a panel */
#define MOST_VALUES 256

struct view {
    struct tt_document *d;
    const json_t *answer, *factors, *rows, *finding;
    size_t x, panel; /* the factors whose values are places and panels */
};

static const char *key_of(const struct view *v, size_t factor)
{
    return tt_text_of(json_array_get(v->factors, factor), "key");
}

static const json_t *values_of(const struct view *v, size_t factor)
{
    return json_object_get(json_array_get(v->factors, factor), "values");
}

static const char *value_of(const struct view *v, const json_t *row, size_t factor)
{
    return tt_text_of(json_object_get(row, "values"), key_of(v, factor));
}

/* Most values go along x, the next most into panels. */
static void choose_factors(struct view *v)
{
    size_t n = json_array_size(v->factors);

    v->x = 0;
    for (size_t i = 1; i < n; i++)
        if (json_array_size(values_of(v, i)) > json_array_size(values_of(v, v->x)))
            v->x = i;
    v->panel = n;
    for (size_t i = 0; i < n; i++)
        if (i != v->x && (v->panel == n || json_array_size(values_of(v, i)) >
                                               json_array_size(values_of(v, v->panel))))
            v->panel = i;
}

/* "ranks=2 size=64": what is neither x nor panel. */
static void name_line(const struct view *v, const json_t *row, char *out, size_t size)
{
    size_t used = 0;

    snprintf(out, size, "%s", tt_text_of(v->finding, "label"));
    for (size_t i = 0; i < json_array_size(v->factors) && used < size; i++)
        if (i != v->x && i != v->panel)
            used += (size_t)snprintf(out + used, size - used, "%s%.40s=%.40s", used ? " " : "",
                                     key_of(v, i), value_of(v, row, i));
}

/* The rows of a line, in the order of x's values. */
static void add_line(const struct view *v, json_t *panel, const char *name, const char *panel_value)
{
    double x[MOST_VALUES], y[MOST_VALUES], low[MOST_VALUES], high[MOST_VALUES];
    const json_t *row, *value;
    size_t i, k, n = 0;
    char own[256];

    json_array_foreach(values_of(v, v->x), k, value) json_array_foreach(v->rows, i, row)
    {
        const json_t *m =
            json_object_get(json_object_get(row, "metrics"), tt_text_of(v->finding, "metric"));
        bool known = tt_has_number(m, "low");

        if (strcmp(value_of(v, row, v->x), json_string_value(value)) ||
            strcmp(value_of(v, row, v->panel), panel_value) || n == MOST_VALUES)
            continue;
        name_line(v, row, own, sizeof own);
        if (strcmp(own, name) != 0)
            continue;
        x[n] = (double)k;
        y[n] = tt_number_or_nan(m, "median");
        low[n] = tt_number_or_nan(m, known ? "low" : "least");
        high[n++] = tt_number_or_nan(m, known ? "high" : "most");
    }
    if (n)
        tt_figure_series(v->d, panel, name, &(struct tt_points){n, x, y, low, high});
}

static void add_panel(const struct view *v, json_t *figure, const char *panel_value)
{
    const struct tt_metric *metric = tt_find_metric(tt_text_of(v->finding, "metric"));
    json_t *done = json_object(), *panel, *axis;
    const json_t *row, *value;
    char title[160], name[256];
    size_t i;

    snprintf(title, sizeof title, *panel_value ? "%.60s = %.60s" : "%s%s", key_of(v, v->panel),
             panel_value);
    panel = tt_figure_panel(v->d, figure, "lines", title);
    axis = tt_figure_axis(v->d, panel, "x", key_of(v, v->x), "", "category");
    json_array_foreach(values_of(v, v->x), i, value)
        tt_axis_category(v->d, axis, json_string_value(value));
    if (metric)
        tt_figure_metric_axis(v->d, panel, "y", metric, "linear");
    else
        tt_figure_axis(v->d, panel, "y", tt_text_of(v->finding, "label"),
                       tt_text_of(v->finding, "unit"), "linear");
    json_array_foreach(v->rows, i, row)
    {
        name_line(v, row, name, sizeof name);
        if (json_object_get(done, name) || json_object_size(done) == MOST_LINES)
            continue;
        v->d->failed |= json_object_set_new(done, name, json_true()) != 0;
        add_line(v, panel, name, panel_value);
    }
    json_decref(done);
}

static void add_panels(const struct view *v)
{
    json_t *figure = tt_figure(v->d, "panels", tt_text_of(v->finding, "metric"), GROUP,
                               tt_text_of(v->finding, "label"),
                               "Medians over repetitions with 95 % intervals; with fewer than six "
                               "runs a point, from the least to the most.");
    const json_t *value;
    size_t i;

    if (v->panel == json_array_size(v->factors)) {
        add_panel(v, figure, "");
        return;
    }
    json_array_foreach(values_of(v, v->panel), i, value) if (i < MOST_PANELS)
        add_panel(v, figure, json_string_value(value));
    if (i > MOST_PANELS)
        tt_figure_note(v->d, figure, "The first %d of %zu values of %s.", MOST_PANELS, i,
                       key_of(v, v->panel));
}

static void add_shares(const struct view *v)
{
    const json_t *shares = tt_member_at(v->finding, "variance/shares"), *one;
    size_t i, n = json_array_size(shares);
    double *y = calloc(3 * (n + 1), sizeof *y), *low = y ? y + n : NULL, *high = y ? y + 2 * n : 0;
    json_t *figure, *axis;
    char title[160];
    bool known = false;

    v->d->failed |= !y;
    json_array_foreach(shares, i, one) known |= tt_has_number(one, "low");
    if (!y || !known) { /* of too few runs a share says nothing, however exact it looks */
        free(y);
        return;
    }
    snprintf(title, sizeof title, "Which factors matter for %.60s",
             tt_text_of(v->finding, "label"));
    figure = tt_figure(v->d, "bars", "factors", GROUP, title,
                       "The share of the variance that each factor explains, with its 95 % "
                       "interval; what is left to repetitions is chance.");
    axis = tt_figure_axis(v->d, figure, "x", "factor", "", "category");
    tt_figure_axis(v->d, figure, "y", "share of the variance", "1", "linear");
    json_array_foreach(shares, i, one)
    {
        tt_axis_category(v->d, axis, tt_text_of(one, "factor"));
        y[i] = tt_number_or_nan(one, "share");
        low[i] = tt_number_or_nan(one, "low");
        high[i] = tt_number_or_nan(one, "high");
    }
    tt_figure_series(v->d, figure, "explains", &(struct tt_points){n, NULL, y, low, high});
    free(y);
}

static void add_table(const struct view *v)
{
    const json_t *findings = json_object_get(v->answer, "findings"), *row, *one;
    json_t *figure = tt_figure(v->d, "table", "points", GROUP, "Every point",
                               "Medians over the repetitions of each point.");
    size_t i, k;

    for (i = 0; i < json_array_size(v->factors); i++)
        tt_figure_head(v->d, figure, key_of(v, i), "", false);
    tt_figure_head(v->d, figure, "runs", "", true);
    json_array_foreach(findings, k, one)
        tt_figure_head(v->d, figure, tt_text_of(one, "label"), tt_text_of(one, "unit"), true);
    json_array_foreach(v->rows, i, row)
    {
        json_t *cells = tt_figure_row(v->d, figure);

        for (k = 0; k < json_array_size(v->factors); k++)
            tt_row_text(v->d, cells, value_of(v, row, k));
        tt_row_number(v->d, cells, tt_number_of(row, "runs"));
        json_array_foreach(findings, k, one)
            tt_row_number(v->d, cells,
                          tt_number_or_nan(json_object_get(json_object_get(row, "metrics"),
                                                           tt_text_of(one, "metric")),
                                           "median"));
    }
}

/* The command of a run whose directory is still there; "": it is not. */
static char *repeat_of(const char *study, const char *run)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *directory = tt_directory_path(study, run), *out = NULL;
    json_t *plan = NULL;

    if (directory && tt_directory_read_plan(directory, &plan, &ignored) == TT_OK)
        out = tt_repeat_command(plan, tt_text_of(plan, "workload"),
                                json_object_get(plan, "parameters"));
    else if (directory)
        out = strdup("");
    json_decref(plan);
    free(directory);
    return out;
}

static void add_runs(const struct view *v)
{
    const json_t *run;
    json_int_t last = -1;
    char *repeat = NULL;
    size_t i;

    json_array_foreach(json_object_get(v->answer, "runs"), i, run)
    {
        json_int_t at = tt_integer_of(run, "row");
        const json_t *row = json_array_get(v->rows, (size_t)at);
        json_t *keys = json_deep_copy(json_object_get(row, "values"));

        if (at != last) {
            free(repeat);
            repeat = repeat_of(tt_text_of(v->answer, "directory"), tt_text_of(run, "directory"));
            last = at;
        }
        tt_document_run(v->d,
                        json_pack("{s:o, s:o, s:s, s:s, s:b, s:o, s:o, s:{s:I}}", "id",
                                  tt_json_text(tt_text_of(run, "directory")), "label",
                                  tt_json_text(tt_text_of(row, "point")), "start", "", "status",
                                  "done", "valid", true, "keys", keys ? keys : json_object(),
                                  "repeat", repeat ? tt_json_text(repeat) : NULL, "facts",
                                  "repetition", tt_integer_of(run, "number")));
    }
    free(repeat);
}

void tt_figures_study(struct tt_document *d, const json_t *answer)
{
    const json_t *findings = json_object_get(answer, "findings"),
                 *failures = json_object_get(answer, "failures");
    struct view v = {d, answer, json_object_get(answer, "factors"),
                     json_object_get(answer, "rows")};
    size_t i;

    json_array_foreach(findings, i, v.finding)
        tt_document_say(d, "%s", tt_text_of(v.finding, "text"));
    if (*tt_text_of(json_object_get(answer, "fit"), "text"))
        tt_document_say(d, "%s", tt_text_of(json_object_get(answer, "fit"), "text"));
    if (tt_integer_of(failures, "n") > 0)
        tt_document_warn(d, "some runs failed and do not count", tt_text_of(failures, "first"), -1);
    choose_factors(&v);
    json_array_foreach(findings, i, v.finding)
    {
        add_panels(&v);
        add_shares(&v);
    }
    add_table(&v);
    add_runs(&v);
    tt_document_find_varied(d);
}
