/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document as text for a terminal, and as Markdown for papers: the same tables. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/paragraph.h"
#include "report/plot.h"
#include "report/render.h"
#include "report/table.h"

#define INDENT 2
#define MOST_CELL 40 /* columns of a cell that is not the last */
#define MOST_COLUMNS 16
#define MOST_RUNS 20 /* whose commands are printed */

/* How a document is written down. */
struct style {
    void (*heading)(FILE *out, int level, const char *text);
    void (*text)(FILE *out, const char *mark, const char *text);
    int (*table)(FILE *out, const json_t *cells, struct tt_error *e);
    void (*command)(FILE *out, const char *name, const char *command);
    bool (*unicode)(FILE *out);
};

/* ---- text ---- */

static void text_heading(FILE *out, int level, const char *text)
{
    if (!*text)
        return;
    fputc('\n', out);
    tt_style(out, TT_BOLD);
    tt_say_marked(out, level > 2 ? "  " : "", "%s", text);
    tt_style(out, TT_PLAIN);
}

static void text_text(FILE *out, const char *mark, const char *text)
{
    tt_say_marked(out, mark, "%s", text);
}

static const char *cell_at(const json_t *rows, size_t row, size_t column)
{
    const char *text = json_string_value(json_array_get(json_array_get(rows, row), column));

    return text ? text : "";
}

static size_t width_of(const json_t *cells, size_t column)
{
    const json_t *rows = json_object_get(cells, "rows");
    const char *title = json_string_value(json_array_get(json_object_get(cells, "head"), column));
    size_t width = tt_text_columns(title, strlen(title));

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = cell_at(rows, i, column);
        size_t n = tt_text_columns(text, strlen(text));

        width = n > width ? n : width;
    }
    return width < MOST_CELL ? width : MOST_CELL;
}

/* Whether nothing stands in it: a reader of 80 columns does without it. */
static bool is_empty(const json_t *rows, size_t column)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (*cell_at(rows, i, column) && strcmp(cell_at(rows, i, column), "-") != 0)
            return false;
    return true;
}

/* The first column and those from `from` on that fit a line; returns where the next part begins. */
static size_t text_part(FILE *out, const json_t *cells, size_t from, struct tt_error *e)
{
    const json_t *heads = json_object_get(cells, "head"), *right = json_object_get(cells, "right"),
                 *rows = json_object_get(cells, "rows");
    struct tt_column columns[MOST_COLUMNS] = {0};
    size_t shown[MOST_COLUMNS] = {0}, n = json_array_size(heads), used = INDENT, next = from;
    struct tt_table t = {columns, 0, .indent = INDENT};

    used += width_of(cells, 0) + 2;
    shown[t.ncolumns++] = 0;
    while (next < n && t.ncolumns < MOST_COLUMNS) {
        if (is_empty(rows, next)) {
            next++;
            continue;
        }
        used += width_of(cells, next) + 2;
        if (used > TT_WIDTH + 2 && t.ncolumns > 1)
            break;
        shown[t.ncolumns++] = next++;
    }
    for (size_t k = 0; k < t.ncolumns; k++)
        columns[k] = (struct tt_column){.title = json_string_value(json_array_get(heads, shown[k])),
                                        .right = json_is_true(json_array_get(right, shown[k])),
                                        .least = 6};
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t k = 0; k < t.ncolumns; k++)
            tt_table_add(&t, "%s", cell_at(rows, i, shown[k]));
    return tt_table_print(&t, out, e) == TT_OK ? next : n + 1;
}

static int text_table(FILE *out, const json_t *cells, struct tt_error *e)
{
    size_t n = json_array_size(json_object_get(cells, "head")), next = n > 1 ? 1 : n;

    if (json_array_size(json_object_get(cells, "rows")) == 0)
        return TT_OK;
    do {
        fputc('\n', out);
        next = text_part(out, cells, next, e);
    } while (next < n);
    return e->code;
}

static void text_command(FILE *out, const char *name, const char *command)
{
    tt_say_marked(out, "  ", "%s", name);
    tt_say_marked(out, "    ", "%s", command);
}

/* ---- Markdown ---- */

/* What would be markup is plain text; a line break would end a row. */
static void put_plain(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_[]<>|#", *text))
            fputc('\\', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
}

static void markdown_heading(FILE *out, int level, const char *text)
{
    fprintf(out, "\n%.*s ", level, "####");
    put_plain(out, text);
    fputs("\n\n", out);
}

static void markdown_text(FILE *out, const char *mark, const char *text)
{
    fputs(strchr(mark, '!') ? "- " : "", out);
    put_plain(out, text);
    fputs(strchr(mark, '!') ? "\n" : "\n\n", out);
}

static void markdown_row(FILE *out, const json_t *cells)
{
    const json_t *cell;
    size_t i;

    fputc('|', out);
    json_array_foreach(cells, i, cell)
    {
        fputc(' ', out);
        put_plain(out, json_string_value(cell));
        fputs(" |", out);
    }
    fputc('\n', out);
}

static int markdown_table(FILE *out, const json_t *cells, struct tt_error *e)
{
    const json_t *rows = json_object_get(cells, "rows"), *one;
    size_t i;

    (void)e;
    if (json_array_size(rows) == 0)
        return TT_OK;
    markdown_row(out, json_object_get(cells, "head"));
    fputc('|', out);
    json_array_foreach(json_object_get(cells, "right"), i, one)
        fputs(json_is_true(one) ? "--:|" : "---|", out);
    fputc('\n', out);
    json_array_foreach(rows, i, one) markdown_row(out, one);
    fputc('\n', out);
    return TT_OK;
}

/* Indented by four: a block of code, whatever stands in it. */
static void markdown_command(FILE *out, const char *name, const char *command)
{
    put_plain(out, name);
    fputs("\n\n    ", out);
    for (; *command; command++)
        fputc(*command == '\n' ? ' ' : *command, out);
    fputs("\n\n", out);
}

static bool always(FILE *out)
{
    (void)out;
    return true;
}

/* ---- both ---- */

static const struct style as_text = {text_heading, text_text, text_table, text_command,
                                     tt_shows_unicode};
static const struct style as_markdown = {markdown_heading, markdown_text, markdown_table,
                                         markdown_command, always};

/* A line between two of what is counted says in its label where it is. */
static void put_mark(const struct style *s, const json_t *figure, const json_t *mark, FILE *out)
{
    const json_t *axis = json_object_get(figure, tt_text_of(mark, "axis"));
    const char *unit = tt_text_of(axis, "unit");
    bool band = tt_has_number(mark, "to");
    char from[32], to[32], text[400];

    if (!band && !strcmp(tt_text_of(axis, "scale"), "count"))
        snprintf(text, sizeof text, "%.300s", tt_text_of(mark, "label"));
    else
        snprintf(text, sizeof text, "%.300s: %s%s%s", tt_text_of(mark, "label"),
                 tt_format_cell(tt_number_or_nan(mark, "from"), unit, from), band ? " to " : "",
                 band ? tt_format_cell(tt_number_of(mark, "to"), unit, to) : "");
    s->text(out, "  ", text);
}

static int put_figure(const struct tt_document *d, const struct style *s, const json_t *figure,
                      FILE *out, struct tt_error *e)
{
    json_t *cells = tt_figure_cells(d, figure, s->unicode(out));
    const json_t *one;
    size_t i;
    int rc = cells ? TT_OK : tt_fail_nomem(e, "a report");

    s->heading(out, 3, tt_text_of(figure, "title"));
    if (*tt_text_of(figure, "text"))
        s->text(out, "  ", tt_text_of(figure, "text"));
    if (rc == TT_OK)
        rc = s->table(out, cells, e);
    json_decref(cells);
    json_array_foreach(json_object_get(figure, "panels"), i, one) if (rc == TT_OK) rc =
        put_figure(d, s, one, out, e);
    json_array_foreach(json_object_get(figure, "marks"), i, one) put_mark(s, figure, one, out);
    json_array_foreach(json_object_get(figure, "notes"), i, one)
        s->text(out, "  ", json_string_value(one));
    return rc;
}

static void put_warnings(const struct tt_document *d, const struct style *s, FILE *out)
{
    const json_t *warnings = json_object_get(d->root, "warnings"), *one;
    size_t i;

    if (json_array_size(warnings))
        s->heading(out, 2, "Warnings");
    json_array_foreach(warnings, i, one)
    {
        struct tt_paragraph p = {0};

        tt_paragraph_add(&p, "%s%s%s", tt_text_of(one, "text"),
                         *tt_text_of(one, "explanation") ? ": " : "",
                         tt_text_of(one, "explanation"));
        s->text(out, "! ", p.text);
    }
}

/* The command of each run, once. */
static void put_runs(const struct tt_document *d, const struct style *s, FILE *out)
{
    const json_t *runs = json_object_get(d->root, "runs"), *run;
    json_t *said = json_object();
    size_t i;

    if (json_array_size(runs))
        s->heading(out, 2, "To repeat it");
    json_array_foreach(runs, i, run)
    {
        const char *command = tt_text_of(run, "repeat");

        if (!*command || json_object_get(said, command) || json_object_size(said) >= MOST_RUNS)
            continue;
        s->command(out, tt_text_of(run, "id"), command);
        json_object_set_new(said, command, json_true());
    }
    json_decref(said);
}

static int render(const struct tt_document *d, const struct style *s, FILE *out, struct tt_error *e)
{
    const json_t *one;
    const char *group = "";
    size_t i;
    int rc = d->failed ? tt_fail_nomem(e, "a report") : TT_OK;

    if (rc != TT_OK)
        return rc;
    s->heading(out, 1, tt_text_of(d->root, "title"));
    json_array_foreach(json_object_get(d->root, "answer"), i, one)
        s->text(out, "  ", json_string_value(one));
    put_warnings(d, s, out);
    json_array_foreach(json_object_get(d->root, "figures"), i, one)
    {
        if (strcmp(group, tt_text_of(one, "group")) != 0)
            s->heading(out, 2, group = tt_text_of(one, "group"));
        if (rc == TT_OK)
            rc = put_figure(d, s, one, out, e);
    }
    put_runs(d, s, out);
    return rc;
}

int tt_render_text(const struct tt_document *d, FILE *out, struct tt_error *e)
{
    return render(d, &as_text, out, e);
}

int tt_render_markdown(const struct tt_document *d, FILE *out, struct tt_error *e)
{
    return render(d, &as_markdown, out, e);
}
