/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/document.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/distribution.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "record/phases.h"
#include "report/words.h"
#include "spec/units.h"

#define FORMAT 1           /* of the document, as page/src/document.ts has it */
#define DENSITY_PLACES 128 /* of the curve beside the dots */
#define DENSITY_LEAST 20   /* samples: the curve of fewer says more than they do */

/* ---- the tree ---- */

void tt_document_set(struct tt_document *d, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        d->failed = true;
}

json_t *tt_document_append(struct tt_document *d, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return json_array_get(array, json_array_size(array) - 1);
    d->failed = true;
    return NULL;
}

void tt_document_set_text(struct tt_document *d, json_t *object, const char *key, const char *text)
{
    tt_document_set(d, object, key, tt_json_text(text));
}

/* The array at key, made if there is none. */
static json_t *list_of(struct tt_document *d, json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        tt_document_set(d, object, key, json_array());
    return json_object_get(object, key);
}

static json_t *formatted(const char *fmt, va_list args)
{
    char *text = NULL;
    json_t *value = vasprintf(&text, fmt, args) < 0 ? NULL : tt_json_text(text);

    free(text);
    return value;
}

int tt_document_begin(struct tt_document *d, const char *title, const char *command,
                      struct tt_error *e)
{
    static const char *const lists[] = {"answer", "warnings", "phases", "runs",
                                        "varied", "figures",  "columns"};
    char made[TT_TIME_TEXT];

    *d = (struct tt_document){
        .root = json_pack("{s:i, s:{s:s, s:s}, s:s, s:o, s:o, s:{}, s:{}}", "format", FORMAT,
                          "tutti", "version", TT_VERSION, "revision", TT_REVISION, "made",
                          tt_format_time((double)time(NULL), made), "title", tt_json_text(title),
                          "command", tt_json_text(command), "metrics", "words")};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_of(d, d->root, lists[i]);
    for (int i = 0; i < TT_NPHASES; i++)
        tt_document_append(d, json_object_get(d->root, "phases"),
                           json_pack("{s:s, s:s, s:i}", "name", tt_phase_names[i], "text",
                                     tt_phase_texts[i], "colour", tt_phase_colours[i]));
    if (!d->failed)
        return TT_OK;
    tt_document_free(d);
    return tt_fail_nomem(e, "a report");
}

void tt_document_free(struct tt_document *d)
{
    for (size_t i = 0; i < d->ncolumns; i++)
        free(d->columns[i].values);
    free(d->columns);
    json_decref(d->root);
    *d = (struct tt_document){0};
}

/* ---- what is not a figure ---- */

void tt_document_say(struct tt_document *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tt_document_append(d, json_object_get(d->root, "answer"), formatted(fmt, args));
    va_end(args);
}

void tt_document_warn(struct tt_document *d, const char *text, const char *explanation, long run)
{
    json_t *warning = tt_document_append(d, json_object_get(d->root, "warnings"),
                                         json_pack("{s:o, s:o}", "text", tt_json_text(text),
                                                   "explanation", tt_json_text(explanation)));

    if (run >= 0)
        tt_document_set(d, warning, "run", json_integer(run));
}

void tt_document_word(struct tt_document *d, const char *word)
{
    const char *text = tt_words_text(word);

    if (*text)
        tt_document_set_text(d, json_object_get(d->root, "words"), word, text);
}

size_t tt_document_run(struct tt_document *d, json_t *run)
{
    json_t *runs = json_object_get(d->root, "runs");

    tt_document_append(d, runs, run);
    return json_array_size(runs) - 1;
}

void tt_document_find_varied(struct tt_document *d)
{
    const json_t *runs = json_object_get(d->root, "runs"), *run;
    json_t *seen = json_object(), *value; /* of every key the value of the first run that has it */
    const char *key;
    size_t i;

    json_array_foreach(runs, i, run) json_object_foreach(json_object_get(run, "keys"), key, value)
        d->failed |= !json_object_get(seen, key) && json_object_set(seen, key, value) != 0;
    json_object_foreach(seen, key, value)
    {
        bool differs = false;

        json_array_foreach(runs, i, run) differs |=
            !json_equal(value, json_object_get(json_object_get(run, "keys"), key));
        if (differs)
            tt_document_append(d, json_object_get(d->root, "varied"), tt_json_text(key));
    }
    json_decref(seen);
}

/* ---- numbers ---- */

json_t *tt_numbers_take(struct tt_document *d, enum tt_number_type type, size_t n, void *values)
{
    struct tt_numbers *more = realloc(d->columns, (d->ncolumns + 1) * sizeof *more);

    if (more)
        d->columns = more;
    if (!more || (!values && n > 0)) {
        d->failed = true;
        free(values);
        return NULL;
    }
    d->columns[d->ncolumns] = (struct tt_numbers){type, n, values};
    return json_pack("{s:I}", "column", (json_int_t)d->ncolumns++);
}

json_t *tt_numbers_copy(struct tt_document *d, size_t n, const double *values)
{
    double *copy = malloc((n ? n : 1) * sizeof *copy);

    for (size_t i = 0; copy && i < n; i++)
        copy[i] = isfinite(values[i]) ? values[i] : NAN;
    return tt_numbers_take(d, TT_NUMBER_F64, n, copy);
}

/* What {"column": i} stands for; NULL: it is something else. */
static const struct tt_numbers *numbers_of(const struct tt_document *d, const json_t *value)
{
    const json_t *column = json_object_get(value, "column");
    json_int_t i = json_is_integer(column) ? json_integer_value(column) : -1;

    return i >= 0 && (size_t)i < d->ncolumns ? &d->columns[i] : NULL;
}

static double number_at(const struct tt_numbers *c, size_t i)
{
    switch (c->type) {
    case TT_NUMBER_F64:
        return ((const double *)c->values)[i];
    case TT_NUMBER_F32:
        return ((const float *)c->values)[i];
    case TT_NUMBER_U32:
        return ((const uint32_t *)c->values)[i];
    default:
        return ((const uint8_t *)c->values)[i];
    }
}

size_t tt_numbers_count(const struct tt_document *d, const json_t *numbers)
{
    const struct tt_numbers *c = numbers_of(d, numbers);

    return c ? c->n : 0;
}

double tt_numbers_at(const struct tt_document *d, const json_t *numbers, size_t i)
{
    const struct tt_numbers *c = numbers_of(d, numbers);

    return c && i < c->n ? number_at(c, i) : NAN;
}

/* ---- figures ---- */

static bool has_id(const json_t *figures, const char *id)
{
    const json_t *figure;
    size_t i;

    json_array_foreach(figures, i, figure) if (!strcmp(tt_text_of(figure, "id"), id)) return true;
    return false;
}

static json_t *begin_figure(struct tt_document *d, json_t *list, const char *kind, const char *id,
                            const char *group, const char *title, const char *text)
{
    return tt_document_append(d, list,
                              json_pack("{s:s, s:s, s:o, s:o, s:o}", "kind", kind, "id", id,
                                        "group", tt_json_text(group), "title", tt_json_text(title),
                                        "text", tt_json_text(text)));
}

json_t *tt_figure(struct tt_document *d, const char *kind, const char *id, const char *group,
                  const char *title, const char *text)
{
    json_t *figures = json_object_get(d->root, "figures"), *figure;
    char own[96];

    for (int n = 1;; n++) {
        snprintf(own, sizeof own, n > 1 ? "%.80s-%d" : "%.80s", id, n);
        for (char *c = own; *c; c++)
            *c = isascii(*c) && isalnum(*c) ? (char)tolower(*c) : '-';
        if (!has_id(figures, own))
            break;
    }
    figure = begin_figure(d, figures, kind, own, group, title, text);
    if (!strcmp(kind, "table")) {
        list_of(d, figure, "head");
        list_of(d, figure, "rows");
    } else if (!strcmp(kind, "samples")) {
        list_of(d, figure, "groups");
    } else if (!strcmp(kind, "panels")) {
        list_of(d, figure, "panels");
    } else if (!strcmp(kind, "matrix")) {
        list_of(d, figure, "cells");
    } else if (strcmp(kind, "heat") != 0 && strcmp(kind, "timeline") != 0) {
        list_of(d, figure, "series");
    }
    return figure;
}

json_t *tt_figure_panel(struct tt_document *d, json_t *figure, const char *kind, const char *title)
{
    json_t *panels = json_object_get(figure, "panels"), *panel;
    char id[112];

    snprintf(id, sizeof id, "%.95s-%zu", tt_text_of(figure, "id"), json_array_size(panels) + 1);
    panel = begin_figure(d, panels, kind, id, tt_text_of(figure, "group"), title, "");
    list_of(d, panel, "series");
    return panel;
}

void tt_figure_note(struct tt_document *d, json_t *figure, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tt_document_append(d, list_of(d, figure, "notes"), formatted(fmt, args));
    va_end(args);
}

json_t *tt_figure_axis(struct tt_document *d, json_t *figure, const char *key, const char *label,
                       const char *unit, const char *scale)
{
    tt_document_set(d, figure, key,
                    json_pack("{s:o, s:o, s:s}", "label", tt_json_text(label), "unit",
                              tt_json_text(unit), "scale", scale));
    return json_object_get(figure, key);
}

void tt_document_metric(struct tt_document *d, const struct tt_metric *metric)
{
    static const char *const better[] = {
        [TT_BETTER_NEITHER] = "", [TT_BETTER_LOWER] = "less", [TT_BETTER_HIGHER] = "more"};
    json_t *metrics = json_object_get(d->root, "metrics");

    if (!json_object_get(metrics, metric->name))
        tt_document_set(d, metrics, metric->name,
                        json_pack("{s:s, s:s, s:s, s:s}", "label", metric->label, "unit",
                                  metric->unit, "better", better[metric->direction.better],
                                  "definition", metric->definition));
}

json_t *tt_figure_metric_axis(struct tt_document *d, json_t *figure, const char *key,
                              const struct tt_metric *metric, const char *scale)
{
    tt_document_metric(d, metric);
    return tt_figure_axis(d, figure, key, metric->label, metric->unit, scale);
}

size_t tt_axis_category(struct tt_document *d, json_t *axis, const char *name)
{
    json_t *categories = list_of(d, axis, "categories"), *one, *text = tt_json_text(name);
    size_t i;

    json_array_foreach(categories, i, one)
    {
        if (text && json_equal(one, text)) {
            json_decref(text);
            return i;
        }
    }
    tt_document_append(d, categories, text);
    return i;
}

const char *tt_axis_name(const json_t *axis, double x)
{
    const json_t *categories = json_object_get(axis, "categories");

    return x >= 0 && x < (double)json_array_size(categories)
               ? json_string_value(json_array_get(categories, (size_t)x))
               : NULL;
}

static void set_numbers(struct tt_document *d, json_t *object, const char *key, size_t n,
                        const double *values)
{
    if (values)
        tt_document_set(d, object, key, tt_numbers_copy(d, n, values));
}

json_t *tt_figure_series(struct tt_document *d, json_t *figure, const char *name,
                         const struct tt_points *p)
{
    json_t *series = tt_document_append(d, list_of(d, figure, "series"),
                                        json_pack("{s:o}", "name", tt_json_text(name)));
    double *x = p->x ? NULL : malloc((p->n ? p->n : 1) * sizeof *x);

    for (size_t i = 0; x && i < p->n; i++)
        x[i] = (double)i;
    tt_document_set(d, series, "x",
                    p->x ? tt_numbers_copy(d, p->n, p->x)
                         : tt_numbers_take(d, TT_NUMBER_F64, p->n, x));
    set_numbers(d, series, "y", p->n, p->y);
    set_numbers(d, series, "low", p->n, p->low);
    set_numbers(d, series, "high", p->n, p->high);
    set_numbers(d, series, "runs", p->n, p->runs);
    return series;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The finite ones, ascending; NULL: no memory. */
static double *sorted_copy(const double *values, size_t n, size_t *kept)
{
    double *copy = malloc((n ? n : 1) * sizeof *copy);

    *kept = 0;
    for (size_t i = 0; copy && i < n; i++)
        if (isfinite(values[i]))
            copy[(*kept)++] = values[i];
    if (copy)
        qsort(copy, *kept, sizeof *copy, compare_numbers);
    return copy;
}

json_t *tt_figure_samples(struct tt_document *d, json_t *figure, const char *name, size_t n,
                          const double *values, const double *runs)
{
    struct tt_error e = TT_ERROR_CLEAR;
    size_t kept;
    double *sorted = sorted_copy(values, n, &kept);
    struct tt_sample s = {kept, sorted};
    struct tt_interval i = sorted ? tt_median_estimate(&s, TT_LEVEL) : (struct tt_interval){0};
    struct tt_density density = {0};
    json_t *group =
        tt_document_append(d, list_of(d, figure, "groups"),
                           json_pack("{s:o, s:o, s:o, s:o}", "name", tt_json_text(name), "median",
                                     tt_json_real(kept ? tt_sample_median(&s) : NAN), "low",
                                     tt_json_real(i.known ? i.low : NAN), "high",
                                     tt_json_real(i.known ? i.high : NAN)));

    d->failed |= !sorted;
    set_numbers(d, group, "y", n, values);
    set_numbers(d, group, "runs", n, runs);
    if (kept >= DENSITY_LEAST && sorted[0] < sorted[kept - 1] &&
        tt_density(&s, DENSITY_PLACES, &density, &e) == TT_OK) {
        json_t *curve = json_object();

        set_numbers(d, curve, "y", density.n, density.at);
        set_numbers(d, curve, "weight", density.n, density.density);
        tt_document_set(d, group, "density", curve);
    }
    d->failed |= e.code == TT_NOMEM;
    free(density.at);
    free(sorted);
    return group;
}

void tt_figure_mark(struct tt_document *d, json_t *figure, const char *axis, double from, double to,
                    const char *label)
{
    json_t *mark = tt_document_append(d, list_of(d, figure, "marks"),
                                      json_pack("{s:s, s:o, s:o}", "axis", axis, "from",
                                                tt_json_real(from), "label", tt_json_text(label)));

    if (isfinite(to))
        tt_document_set(d, mark, "to", tt_json_real(to));
}

void tt_figure_head(struct tt_document *d, json_t *figure, const char *label, const char *unit,
                    bool number)
{
    tt_document_append(d, json_object_get(figure, "head"),
                       json_pack("{s:o, s:o, s:b}", "label", tt_json_text(label), "unit",
                                 tt_json_text(unit), "number", number));
    tt_document_word(d, label);
}

void tt_figure_units(struct tt_document *d, json_t *figure)
{
    json_t *heads = json_object_get(figure, "head");

    tt_figure_head(d, figure, "unit", "", false);
    tt_document_set(d, json_array_get(heads, json_array_size(heads) - 1), "units", json_true());
}

json_t *tt_figure_row(struct tt_document *d, json_t *figure)
{
    return tt_document_append(d, json_object_get(figure, "rows"), json_array());
}

void tt_row_text(struct tt_document *d, json_t *row, const char *text)
{
    tt_document_append(d, row, tt_json_text(text));
}

void tt_row_number(struct tt_document *d, json_t *row, double value)
{
    tt_document_append(d, row, tt_json_real(value));
}

void tt_figure_matrix(struct tt_document *d, json_t *figure, json_t *rows, const char *rows_are,
                      json_t *columns, const char *columns_are, double neutral)
{
    tt_document_set(d, figure, "rows", rows);
    tt_document_set(d, figure, "columns", columns);
    tt_document_set_text(d, figure, "rowsAre", rows_are);
    tt_document_set_text(d, figure, "columnsAre", columns_are);
    tt_document_set(d, figure, "neutral", tt_json_real(neutral));
}

void tt_matrix_cell(struct tt_document *d, json_t *figure, double value, double low, double high)
{
    tt_document_append(d, json_object_get(figure, "cells"),
                       json_pack("{s:o, s:o, s:o}", "value", tt_json_real(value), "low",
                                 tt_json_real(low), "high", tt_json_real(high)));
}

void tt_figure_grid(struct tt_document *d, json_t *figure, const struct tt_heat_grid *g,
                    json_t *cells)
{
    tt_document_set(d, figure, "nx", json_integer((json_int_t)g->nx));
    tt_document_set(d, figure, "ny", json_integer((json_int_t)g->ny));
    tt_document_set(d, figure, "x0", tt_json_real(g->x0));
    tt_document_set(d, figure, "dx", tt_json_real(g->dx));
    tt_document_set(d, figure, "y0", tt_json_real(g->y0));
    tt_document_set(d, figure, "dy", tt_json_real(g->dy));
    tt_document_set(d, figure, "cells", cells);
}
