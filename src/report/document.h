/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report shows, as data: the answer, figures, runs and what words mean. The page, text,
 * Markdown, CSV and JSON are renderings of one document; page/src/document.ts says what the page
 * gets of it, and has the meaning of every member.
 *
 * Numbers stand beside the tree, in arrays, so that a million of them cost their bytes and no more.
 * Whatever fails for lack of memory is remembered, and said when the document is written. Names and
 * texts may be anybody's. */
#ifndef TT_REPORT_DOCUMENT_H
#define TT_REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "analysis/metrics.h"
#include "base/error.h"

enum tt_number_type { TT_NUMBER_F64, TT_NUMBER_F32, TT_NUMBER_U32, TT_NUMBER_U8 };

struct tt_document {
    json_t *root;
    size_t ncolumns;
    struct tt_numbers {
        enum tt_number_type type;
        size_t n;
        void *values;
    } * columns;
    bool failed; /* no memory */
};

/* command: what made the report. */
int tt_document_begin(struct tt_document *d, const char *title, const char *command,
                      struct tt_error *e);
void tt_document_free(struct tt_document *d);

/* ---- the tree: value is a new reference, which they take; NULL is a failure of the document ----
 */

void tt_document_set(struct tt_document *d, json_t *object, const char *key, json_t *value);
/* Returns the value, which the array holds now; NULL after a failure. */
json_t *tt_document_append(struct tt_document *d, json_t *array, json_t *value);
void tt_document_set_text(struct tt_document *d, json_t *object, const char *key, const char *text);

/* ---- what is not a figure ---- */

/* A sentence of the answer; the first one is the answer. */
void tt_document_say(struct tt_document *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* run: index of a run, or -1. explanation may be "". */
void tt_document_warn(struct tt_document *d, const char *text, const char *explanation, long run);
/* A metric that figures tell of, with its definition. */
void tt_document_metric(struct tt_document *d, const struct tt_metric *metric);
/* A word that figures print, with its meaning if it has one (report/words.h). */
void tt_document_word(struct tt_document *d, const char *word);
/* {"id", "label", "start", "status", "valid", "keys": {}, "repeat", "facts": {}}. Returns its index
 * for series and warnings. */
size_t tt_document_run(struct tt_document *d, json_t *run);
/* After the last run: which keys differ between runs. */
void tt_document_find_varied(struct tt_document *d);

/* ---- numbers ---- */

/* A copy; what is not finite is missing. NULL values are no failure: the member is left out. */
json_t *tt_numbers_copy(struct tt_document *d, size_t n, const double *values);
/* values from malloc, which the document takes; NULL: no memory. */
json_t *tt_numbers_take(struct tt_document *d, enum tt_number_type type, size_t n, void *values);
/* Of a member of a figure; 0 and NaN if it has none. */
size_t tt_numbers_count(const struct tt_document *d, const json_t *numbers);
double tt_numbers_at(const struct tt_document *d, const json_t *numbers, size_t i);

/* ---- figures ---- */

/* kind as in document.ts: "lines", "dots", "bars", "stack", "samples", "heat", "matrix", "table",
 * "panels", "timeline". An id that is taken gets a number, a character that ids cannot have becomes
 * '-'. The document holds what is returned. */
json_t *tt_figure(struct tt_document *d, const char *kind, const char *id, const char *group,
                  const char *title, const char *text);
/* A panel of a figure of kind "panels". */
json_t *tt_figure_panel(struct tt_document *d, json_t *figure, const char *kind, const char *title);
/* Reductions, what is missing and why. */
void tt_figure_note(struct tt_document *d, json_t *figure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* key: "x", "y" or "value"; scale: "linear", "count", "log", "category", "time" or "percentile".
 * Returns the axis. */
json_t *tt_figure_axis(struct tt_document *d, json_t *figure, const char *key, const char *label,
                       const char *unit, const char *scale);
/* By the table of metrics, whose definition the document then has. */
json_t *tt_figure_metric_axis(struct tt_document *d, json_t *figure, const char *key,
                              const struct tt_metric *metric, const char *scale);
/* One more category of an axis; returns its number, and that of one that is there already. */
size_t tt_axis_category(struct tt_document *d, json_t *axis, const char *name);
/* The category at x; NULL: there is none. */
const char *tt_axis_name(const json_t *axis, double x);

/* Members that are NULL are left out; x NULL: 0, 1, 2, ... */
struct tt_points {
    size_t n;
    const double *x, *y, *low, *high, *runs;
};
json_t *tt_figure_series(struct tt_document *d, json_t *figure, const char *name,
                         const struct tt_points *points);
/* Of "samples": every value as a dot, with median, its interval and a density. runs as above.
 * Returns the group. */
json_t *tt_figure_samples(struct tt_document *d, json_t *figure, const char *name, size_t n,
                          const double *values, const double *runs);
/* axis: "x" or "y"; to NaN: a line. */
void tt_figure_mark(struct tt_document *d, json_t *figure, const char *axis, double from, double to,
                    const char *label);

/* Of "table": its columns first, then rows, cell by cell. */
void tt_figure_head(struct tt_document *d, json_t *figure, const char *label, const char *unit,
                    bool number);
/* A column with the units of the numbers that stand before it in its row, and are shown with them.
 */
void tt_figure_units(struct tt_document *d, json_t *figure);
json_t *tt_figure_row(struct tt_document *d, json_t *figure);
void tt_row_text(struct tt_document *d, json_t *row, const char *text);
void tt_row_number(struct tt_document *d, json_t *row, double value);

/* Of "matrix": names of rows and columns as arrays of text, then cells row by row. */
void tt_figure_matrix(struct tt_document *d, json_t *figure, json_t *rows, const char *rows_are,
                      json_t *columns, const char *columns_are, double neutral);
void tt_matrix_cell(struct tt_document *d, json_t *figure, double value, double low, double high);

/* Of "heat": cells as numbers, row by row from y0 on. */
struct tt_heat_grid {
    size_t nx, ny;
    double x0, dx, y0, dy;
};
void tt_figure_grid(struct tt_document *d, json_t *figure, const struct tt_heat_grid *grid,
                    json_t *cells);

/* ---- writing ---- */

/* As short as is read back to the same number; "" if it is none. */
const char *tt_number_text(double value, char out[32]);

/* As JSON: plain, numbers where they belong; else as the page gets it, safe within <script>: long
 * arrays as deflated columns. */
int tt_document_write(const struct tt_document *d, bool plain, FILE *out, struct tt_error *e);

#endif
