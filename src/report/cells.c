/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures as tables of text: few points one a row, many of them by what sums them up and a plot of
 * one line. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "base/json.h"
#include "base/text.h"
#include "report/plot.h"
#include "report/render.h"
#include "spec/units.h"

#define MOST_LISTED 40 /* points, one a row */

struct cells {
    const struct tt_document *d;
    const json_t *figure;
    bool unicode;
    json_t *head, *right, *rows, *row;
    bool failed;
};

const char *tt_format_cell(double value, const char *unit, char out[32])
{
    if (!isfinite(value))
        snprintf(out, 32, "-");
    else if (!*unit || !strcmp(unit, "1"))
        snprintf(out, 32, "%.4g", value);
    else
        tt_format_value(value, unit, out);
    return out;
}

static void head(struct cells *c, const char *title, bool right)
{
    c->failed |= json_array_append_new(c->head, tt_json_text(title)) != 0;
    c->failed |= json_array_append_new(c->right, json_boolean(right)) != 0;
}

static void heads(struct cells *c, bool right, size_t n, const char *const *titles)
{
    for (size_t i = 0; i < n; i++)
        head(c, titles[i], right);
}

static void begin_row(struct cells *c)
{
    c->row = json_array();
    c->failed |= json_array_append_new(c->rows, c->row) != 0;
}

static void text(struct cells *c, const char *what)
{
    c->failed |= json_array_append_new(c->row, tt_json_text(what)) != 0;
}

static void number(struct cells *c, double value, const char *unit)
{
    char out[32];

    text(c, tt_format_cell(value, unit, out));
}

static void interval(struct cells *c, double low, double high, const char *unit)
{
    char a[32], b[32], both[80];

    snprintf(both, sizeof both, "%s to %s", tt_format_cell(low, unit, a),
             tt_format_cell(high, unit, b));
    text(c, isfinite(low) && isfinite(high) ? both : "-");
}

/* The values of a member as numbers; caller frees. NULL: there are none, or no memory. */
static double *values_of(struct cells *c, const json_t *numbers, size_t *n)
{
    double *values;

    *n = tt_numbers_count(c->d, numbers);
    values = *n ? malloc(*n * sizeof *values) : NULL;
    c->failed |= *n && !values;
    for (size_t i = 0; values && i < *n; i++)
        values[i] = tt_numbers_at(c->d, numbers, i);
    return values;
}

/* The finite ones to the front; returns how many. */
static size_t keep_finite(double *values, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            values[kept++] = values[i];
    return kept;
}

/* ---- lines, dots, bars, stacks ---- */

static const char *unit_of(const json_t *figure, const char *axis)
{
    return tt_text_of(json_object_get(figure, axis), "unit");
}

static void put_x(struct cells *c, double x)
{
    const json_t *axis = json_object_get(c->figure, "x");
    const char *name = tt_axis_name(axis, x);

    if (name)
        text(c, name);
    else
        number(c, x, tt_text_of(axis, "unit"));
}

/* Whether all series have the same places, few enough for a row each, and not just moments. */
static bool are_listed(const struct cells *c, const json_t *series)
{
    const json_t *first = json_object_get(json_array_get(series, 0), "x"), *one;
    size_t i, n = tt_numbers_count(c->d, first);

    if (n > MOST_LISTED || !strcmp(tt_text_of(json_object_get(c->figure, "x"), "scale"), "time"))
        return false;
    json_array_foreach(series, i, one)
    {
        const json_t *x = json_object_get(one, "x");

        if (tt_numbers_count(c->d, x) != n)
            return false;
        for (size_t k = 0; k < n; k++)
            if (tt_numbers_at(c->d, x, k) != tt_numbers_at(c->d, first, k))
                return false;
    }
    return true;
}

static double longest_of(const struct cells *c, const json_t *series)
{
    double longest = 0;

    for (size_t i = 0; i < tt_numbers_count(c->d, json_object_get(series, "y")); i++)
        longest = fmax(longest, fmax(tt_numbers_at(c->d, json_object_get(series, "y"), i),
                                     tt_numbers_at(c->d, json_object_get(series, "high"), i)));
    return longest;
}

static void list_points(struct cells *c, const json_t *series)
{
    const json_t *first = json_array_get(series, 0), *one;
    bool single = json_array_size(series) == 1;
    size_t i, n = tt_numbers_count(c->d, json_object_get(first, "x"));
    const char *unit = unit_of(c->figure, "y");

    head(c, tt_text_of(json_object_get(c->figure, "x"), "label"), false);
    json_array_foreach(series, i, one)
    {
        head(c, tt_text_of(one, "name"), true);
        if (json_object_get(one, "low"))
            head(c, "from - to", false);
    }
    if (single)
        head(c, "from 0 on", false);
    for (size_t k = 0; k < n; k++) {
        begin_row(c);
        put_x(c, tt_numbers_at(c->d, json_object_get(first, "x"), k));
        json_array_foreach(series, i, one)
        {
            number(c, tt_numbers_at(c->d, json_object_get(one, "y"), k), unit);
            if (json_object_get(one, "low"))
                interval(c, tt_numbers_at(c->d, json_object_get(one, "low"), k),
                         tt_numbers_at(c->d, json_object_get(one, "high"), k), unit);
        }
        if (single) {
            char bar[TT_PLOT_COLUMNS + 1];

            tt_plot_bar(tt_numbers_at(c->d, json_object_get(first, "y"), k),
                        tt_numbers_at(c->d, json_object_get(first, "low"), k),
                        tt_numbers_at(c->d, json_object_get(first, "high"), k),
                        longest_of(c, first), TT_PLOT_COLUMNS - 6, bar);
            text(c, bar);
        }
    }
}

static void sum_up_series(struct cells *c, const json_t *series)
{
    static const char *const titles[] = {"points", "min", "median", "max"};
    const char *unit = unit_of(c->figure, "y");
    const json_t *one;
    size_t i;

    head(c, "series", false);
    heads(c, true, 4, titles);
    head(c, "from start to end", false);
    json_array_foreach(series, i, one)
    {
        double parts[TT_PLOT_COLUMNS], *y;
        char line[TT_PLOT_TEXT];
        size_t n, kept, nparts;

        y = values_of(c, json_object_get(one, "y"), &n);
        nparts = y ? tt_plot_means(y, n, parts) : 0;
        kept = y ? keep_finite(y, n) : 0;
        begin_row(c);
        text(c, tt_text_of(one, "name"));
        number(c, (double)n, "");
        tt_median(y, kept); /* sorted now */
        number(c, kept ? y[0] : NAN, unit);
        number(c, kept ? tt_median(y, kept) : NAN, unit);
        number(c, kept ? y[kept - 1] : NAN, unit);
        tt_plot_line(parts, nparts, c->unicode, line);
        text(c, line);
        free(y);
    }
}

/* The value that a share of p does not exceed, of a curve over shares. */
static double quantile_at(const struct cells *c, const json_t *series, double p)
{
    const json_t *x = json_object_get(series, "x");
    size_t n = tt_numbers_count(c->d, x), at = 0;

    while (at + 1 < n && tt_numbers_at(c->d, x, at + 1) < p)
        at++;
    return tt_numbers_at(c->d, json_object_get(series, "y"), at);
}

static void list_percentiles(struct cells *c, const json_t *series)
{
    static const char *const titles[] = {"p50", "p90", "p99", "p99.9", "max"};
    static const double shares[] = {0.5, 0.9, 0.99, 0.999, 1};
    const json_t *one;
    size_t i;

    head(c, "series", false);
    heads(c, true, 5, titles);
    json_array_foreach(series, i, one)
    {
        begin_row(c);
        text(c, tt_text_of(one, "name"));
        for (size_t k = 0; k < 5; k++) {
            /* of fewer calls it would be the longest of them */
            bool told = k == 4 || !tt_has_number(one, "n") ||
                        tt_number_of(one, "n") >= 1 / (1 - shares[k]) - 1e-6;

            number(c, told ? quantile_at(c, one, shares[k]) : NAN, unit_of(c->figure, "y"));
        }
    }
}

/* Dots at places of their own. What is dashed among them only guides the eye. */
static void list_dots(struct cells *c, const json_t *series)
{
    const json_t *one;
    size_t i;

    head(c, "series", false);
    head(c, tt_text_of(json_object_get(c->figure, "x"), "label"), true);
    head(c, tt_text_of(json_object_get(c->figure, "y"), "label"), true);
    json_array_foreach(series, i, one)
    {
        size_t n =
            tt_is_true(one, "dashed") ? 0 : tt_numbers_count(c->d, json_object_get(one, "y"));

        for (size_t k = 0; k < n; k++) {
            begin_row(c);
            text(c, tt_text_of(one, "name"));
            put_x(c, tt_numbers_at(c->d, json_object_get(one, "x"), k));
            number(c, tt_numbers_at(c->d, json_object_get(one, "y"), k), unit_of(c->figure, "y"));
        }
    }
}

static bool are_few_dots(const struct cells *c, const json_t *series)
{
    const json_t *one;
    size_t i, n = 0;

    json_array_foreach(series, i, one) n += tt_numbers_count(c->d, json_object_get(one, "y"));
    return !strcmp(tt_text_of(c->figure, "kind"), "dots") && json_array_size(series) > 1 &&
           n <= MOST_LISTED;
}

static void put_xy(struct cells *c)
{
    const json_t *series = json_object_get(c->figure, "series");

    if (!strcmp(tt_text_of(json_object_get(c->figure, "x"), "scale"), "percentile"))
        list_percentiles(c, series);
    else if (are_few_dots(c, series))
        list_dots(c, series);
    else if (json_array_size(series) && are_listed(c, series))
        list_points(c, series);
    else if (json_array_size(series))
        sum_up_series(c, series);
}

/* ---- the other kinds ---- */

/* How many values lie in each of equal parts from the least to the most of all groups. */
static void histogram(const double *values, size_t n, double from, double to,
                      double bins[TT_PLOT_COLUMNS])
{
    memset(bins, 0, TT_PLOT_COLUMNS * sizeof *bins);
    for (size_t i = 0; i < n; i++) {
        double part = (values[i] - from) / (to - from); /* not finite if they are far apart */
        size_t at = part > 0 ? (size_t)(fmin(part, 1) * TT_PLOT_COLUMNS) : 0;

        bins[at < TT_PLOT_COLUMNS ? at : TT_PLOT_COLUMNS - 1]++;
    }
}

static void put_samples(struct cells *c)
{
    static const char *const titles[] = {"samples", "median", "min", "max"};
    const json_t *groups = json_object_get(c->figure, "groups"), *group;
    const char *unit = unit_of(c->figure, "y");
    double from = INFINITY, to = -INFINITY;
    size_t i, n;

    head(c, "group", false);
    heads(c, true, 4, titles);
    head(c, "95 % interval", false);
    head(c, "how many, from min to max", false);
    json_array_foreach(groups, i, group)
    {
        n = tt_numbers_count(c->d, json_object_get(group, "y"));
        for (size_t k = 0; k < n; k++) {
            double value = tt_numbers_at(c->d, json_object_get(group, "y"), k);

            from = fmin(from, value);
            to = fmax(to, value);
        }
    }
    json_array_foreach(groups, i, group)
    {
        double *y = values_of(c, json_object_get(group, "y"), &n), bins[TT_PLOT_COLUMNS];
        size_t kept = y ? keep_finite(y, n) : 0;
        char line[TT_PLOT_TEXT];

        tt_median(y, kept); /* sorts */
        begin_row(c);
        text(c, tt_text_of(group, "name"));
        number(c, (double)n, "");
        number(c, tt_number_or_nan(group, "median"), unit);
        number(c, kept ? y[0] : NAN, unit);
        number(c, kept ? y[kept - 1] : NAN, unit);
        interval(c, tt_number_or_nan(group, "low"), tt_number_or_nan(group, "high"), unit);
        histogram(y, kept, from, to, bins);
        tt_plot_line(bins, TT_PLOT_COLUMNS, c->unicode, line);
        text(c, line);
        free(y);
    }
}

static void put_matrix(struct cells *c)
{
    const json_t *rows = json_object_get(c->figure, "rows"),
                 *columns = json_object_get(c->figure, "columns"),
                 *cells = json_object_get(c->figure, "cells"), *one;
    size_t i, k, n = json_array_size(columns);

    head(c, tt_text_of(c->figure, "rowsAre"), false);
    json_array_foreach(columns, k, one) head(c, json_string_value(one), true);
    json_array_foreach(rows, i, one)
    {
        begin_row(c);
        text(c, json_string_value(one));
        for (k = 0; k < n; k++)
            number(c, tt_number_or_nan(json_array_get(cells, i * n + k), "value"),
                   unit_of(c->figure, "value"));
    }
}

/* A column of units is told with the numbers before it. */
static void put_table(struct cells *c)
{
    const json_t *titles = json_object_get(c->figure, "head"), *one, *cell;
    size_t i, k, units = SIZE_MAX;

    json_array_foreach(titles, i, one)
    {
        if (tt_is_true(one, "units"))
            units = i;
        else
            head(c, tt_text_of(one, "label"), tt_is_true(one, "number"));
    }
    json_array_foreach(json_object_get(c->figure, "rows"), i, one)
    {
        begin_row(c);
        json_array_foreach(one, k, cell)
        {
            const char *unit = tt_text_of(json_array_get(titles, k), "unit"),
                       *own = json_string_value(json_array_get(one, units));

            if (k == units)
                continue;
            if (json_is_string(cell))
                text(c, json_string_value(cell));
            else
                number(c, json_is_number(cell) ? json_number_value(cell) : NAN,
                       own && k < units ? own : unit);
        }
    }
}

static void put_heat(struct cells *c)
{
    static const char *const titles[] = {"cells", "min", "median", "max"};
    size_t n;
    double *values = values_of(c, json_object_get(c->figure, "cells"), &n);
    size_t kept = values ? keep_finite(values, n) : 0;
    const char *unit = unit_of(c->figure, "value");

    heads(c, true, 4, titles);
    begin_row(c);
    number(c, (double)n, "");
    tt_median(values, kept); /* sorts */
    number(c, kept ? values[0] : NAN, unit);
    number(c, kept ? tt_median(values, kept) : NAN, unit);
    number(c, kept ? values[kept - 1] : NAN, unit);
    free(values);
}

static void put_timeline(struct cells *c)
{
    const json_t *track;
    size_t i;

    head(c, "thread", false);
    head(c, "spans", true);
    json_array_foreach(json_object_get(c->figure, "tracks"), i, track)
    {
        begin_row(c);
        text(c, tt_text_of(track, "name"));
        number(c, tt_number_of(track, "n"), "");
    }
}

json_t *tt_figure_cells(const struct tt_document *d, const json_t *figure, bool unicode)
{
    struct cells c = {d, figure, unicode, json_array(), json_array(), json_array()};
    const char *kind = tt_text_of(figure, "kind");
    json_t *out;

    if (!strcmp(kind, "samples"))
        put_samples(&c);
    else if (!strcmp(kind, "matrix"))
        put_matrix(&c);
    else if (!strcmp(kind, "table"))
        put_table(&c);
    else if (!strcmp(kind, "heat"))
        put_heat(&c);
    else if (!strcmp(kind, "timeline"))
        put_timeline(&c);
    else
        put_xy(&c);
    out = json_pack("{s:o, s:o, s:o}", "head", c.head, "right", c.right, "rows", c.rows);
    return tt_json_unless(c.failed, out);
}
