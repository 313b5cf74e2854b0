/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/render.h"

static void put_number(struct tt_outfile *f, double value)
{
    char text[32];

    tt_csv_text(f, tt_number_text(value, text));
}

/* A row whose numbers may be missing; x and y as text where they are. */
struct row {
    const char *figure, *series, *x, *run;
    double at, y, low, high;
};

static void put_row(struct tt_outfile *f, const struct row *r)
{
    tt_csv_text(f, r->figure);
    tt_csv_text(f, r->series);
    if (r->x)
        tt_csv_text(f, r->x);
    else
        put_number(f, r->at);
    put_number(f, r->y);
    put_number(f, r->low);
    put_number(f, r->high);
    tt_csv_text(f, r->run ? r->run : "");
    tt_csv_end_row(f);
}

static const char *run_of(const struct tt_document *d, const json_t *runs, size_t i)
{
    double number = tt_numbers_at(d, runs, i);
    const json_t *run = isfinite(number) && number >= 0
                            ? json_array_get(json_object_get(d->root, "runs"), (size_t)number)
                            : NULL;

    return tt_text_of(run, "id");
}

/* A series of points, or a group of samples. */
static void put_series(const struct tt_document *d, struct tt_outfile *f, const json_t *figure,
                       const json_t *series)
{
    const json_t *y = json_object_get(series, "y"), *x = json_object_get(series, "x");

    for (size_t i = 0; i < tt_numbers_count(d, y); i++) {
        double at = x ? tt_numbers_at(d, x, i) : (double)i;

        put_row(f, &(struct row){tt_text_of(figure, "id"), tt_text_of(series, "name"),
                                 tt_axis_name(json_object_get(figure, "x"), at),
                                 run_of(d, json_object_get(series, "runs"), i), at,
                                 tt_numbers_at(d, y, i),
                                 tt_numbers_at(d, json_object_get(series, "low"), i),
                                 tt_numbers_at(d, json_object_get(series, "high"), i)});
    }
}

/* A row of a table is as many rows as it has cells: the series is the column. */
static void put_table(struct tt_outfile *f, const json_t *figure)
{
    const json_t *row, *cell, *heads = json_object_get(figure, "head");
    size_t i, k;

    json_array_foreach(json_object_get(figure, "rows"), i, row) json_array_foreach(row, k, cell)
    {
        tt_csv_text(f, tt_text_of(figure, "id"));
        tt_csv_text(f, tt_text_of(json_array_get(heads, k), "label"));
        put_number(f, (double)i);
        if (json_is_string(cell))
            tt_csv_text(f, json_string_value(cell));
        else
            put_number(f, json_is_number(cell) ? json_number_value(cell) : NAN);
        for (int empty = 0; empty < 3; empty++)
            tt_csv_text(f, "");
        tt_csv_end_row(f);
    }
}

static void put_matrix(struct tt_outfile *f, const json_t *figure)
{
    const json_t *cell, *columns = json_object_get(figure, "columns"),
                        *rows = json_object_get(figure, "rows");
    size_t i, n = json_array_size(columns);

    json_array_foreach(json_object_get(figure, "cells"), i, cell) put_row(
        f, &(struct row){tt_text_of(figure, "id"), json_string_value(json_array_get(rows, i / n)),
                         json_string_value(json_array_get(columns, i % n)), NULL, NAN,
                         tt_number_or_nan(cell, "value"), tt_number_or_nan(cell, "low"),
                         tt_number_or_nan(cell, "high")});
}

static void put_heat(const struct tt_document *d, struct tt_outfile *f, const json_t *figure)
{
    const json_t *cells = json_object_get(figure, "cells");
    size_t nx = (size_t)tt_integer_of(figure, "nx");
    char row[32];

    for (size_t i = 0; i < tt_numbers_count(d, cells) && nx > 0; i++) {
        snprintf(row, sizeof row, "%.15g",
                 tt_number_of(figure, "y0") + (double)(i / nx) * tt_number_of(figure, "dy"));
        put_row(f, &(struct row){tt_text_of(figure, "id"), row, NULL, NULL,
                                 tt_number_of(figure, "x0") +
                                     (double)(i % nx) * tt_number_of(figure, "dx"),
                                 tt_numbers_at(d, cells, i), NAN, NAN});
    }
}

/* x: start, y: duration. */
static void put_spans(const struct tt_document *d, struct tt_outfile *f, const json_t *figure)
{
    const json_t *track;
    size_t i;

    json_array_foreach(json_object_get(figure, "tracks"), i, track)
    {
        size_t first = (size_t)tt_integer_of(track, "first");

        for (size_t k = first; k < first + (size_t)tt_integer_of(track, "n"); k++)
            put_row(f, &(struct row){tt_text_of(figure, "id"), tt_text_of(track, "name"), NULL,
                                     NULL, tt_numbers_at(d, json_object_get(figure, "start"), k),
                                     tt_numbers_at(d, json_object_get(figure, "duration"), k), NAN,
                                     NAN});
    }
}

static void put_figure(const struct tt_document *d, struct tt_outfile *f, const json_t *figure)
{
    const char *kind = tt_text_of(figure, "kind");
    const json_t *one;
    size_t i;

    if (!strcmp(kind, "table"))
        put_table(f, figure);
    else if (!strcmp(kind, "matrix"))
        put_matrix(f, figure);
    else if (!strcmp(kind, "heat"))
        put_heat(d, f, figure);
    else if (!strcmp(kind, "timeline"))
        put_spans(d, f, figure);
    json_array_foreach(json_object_get(figure, "series"), i, one) put_series(d, f, figure, one);
    json_array_foreach(json_object_get(figure, "groups"), i, one) put_series(d, f, figure, one);
    json_array_foreach(json_object_get(figure, "panels"), i, one) put_figure(d, f, one);
}

int tt_render_csv(const struct tt_document *d, struct tt_outfile *f, struct tt_error *e)
{
    const json_t *figure;
    size_t i;

    if (d->failed)
        return tt_fail_nomem(e, "a report");
    fputs("figure,series,x,y,low,high,run\n", f->stream);
    json_array_foreach(json_object_get(d->root, "figures"), i, figure) put_figure(d, f, figure);
    return TT_OK;
}
