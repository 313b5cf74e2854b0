/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/paragraph.h"

#define MAX_COLUMNS 16

void tt_table_add(struct tt_table *t, const char *fmt, ...)
{
    bool full = (t->n & (t->n - 1)) == 0; /* 0, 1, 2, 4, ... */
    char **grown = t->failed ? NULL
                   : full    ? realloc(t->cells, 2 * (t->n + 1) * sizeof *grown)
                             : t->cells;
    char *text;
    va_list args;

    if (grown) {
        t->cells = grown;
        va_start(args, fmt);
        t->failed = vasprintf(&text, fmt, args) < 0;
        va_end(args);
    } else {
        t->failed = true;
    }
    if (t->failed)
        return;
    tt_disarm(text);
    t->cells[t->n++] = text;
}

/* Between a column and the one before it. */
static int gap_before(const struct tt_table *t, const int *width, size_t column)
{
    size_t before = column;

    while (before > 0 && !width[before - 1])
        before--;
    if (before == 0)
        return t->indent;
    return !t->tight && t->columns[before - 1].right && !t->columns[column].right ? 2 : 1;
}

/* As wide as titles and cells need, 0 for those left out. Returns that of all together. */
static int find_widths(const struct tt_table *t, int width[MAX_COLUMNS])
{
    int total = 0;

    for (size_t i = 0; i < t->ncolumns; i++) {
        bool any = false;

        width[i] = t->columns[i].width;
        for (size_t k = i; k < t->n; k += t->ncolumns) {
            int n = (int)tt_text_columns(t->cells[k], strlen(t->cells[k]));

            any |= n > 0;
            width[i] = n > width[i] ? n : width[i];
        }
        if (t->columns[i].optional && !any)
            width[i] = 0;
        else if (width[i] < (int)strlen(t->columns[i].title))
            width[i] = (int)strlen(t->columns[i].title);
        total += width[i] ? width[i] + gap_before(t, width, i) : 0;
    }
    return total;
}

/* The widest column that may be cut gives way, again and again. */
static void fit(const struct tt_table *t, int *width, int total)
{
    for (; total > TT_WIDTH; total--) {
        size_t widest = t->ncolumns;

        for (size_t i = 0; i < t->ncolumns; i++)
            if (t->columns[i].least && width[i] > t->columns[i].least &&
                (widest == t->ncolumns || width[i] > width[widest]))
                widest = i;
        if (widest == t->ncolumns)
            return;
        width[widest]--;
    }
}

/* Cut text ends in ~. Returns the columns that it took. */
static int print_text(FILE *out, const char *text, int width, bool may_cut)
{
    int used = (int)tt_text_columns(text, strlen(text)), n = 0;
    bool cut = may_cut && used > width;

    for (; *text; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
        if (cut && n >= width)
            break;
        fputc(*text, out);
    }
    if (cut)
        fputc('~', out);
    return cut ? width : used;
}

/* Blanks are only printed before something. */
static void print_row(FILE *out, const struct tt_table *t, const int *width,
                      char *const *cells /* NULL: titles */)
{
    int at = 0, begin = 0;

    for (size_t i = 0; i < t->ncolumns; i++) {
        const char *text = cells ? cells[i] : t->columns[i].title;
        int wide = (int)tt_text_columns(text, strlen(text));

        if (!width[i])
            continue;
        begin += gap_before(t, width, i);
        if (*text) {
            int from = begin + (t->columns[i].right && wide < width[i] ? width[i] - wide : 0);

            fprintf(out, "%*s", from - at, "");
            if (cells && i + 1 == t->ncolumns && !t->columns[i].right && !t->columns[i].least) {
                tt_paragraph_wrap(text, out, (size_t)from);
                return;
            }
            at = from + print_text(out, text, width[i], t->columns[i].least > 0);
        }
        begin += width[i];
    }
    fputc('\n', out);
}

int tt_table_print(struct tt_table *t, FILE *out, struct tt_error *e)
{
    int width[MAX_COLUMNS] = {0}, rc = TT_OK;

    if (t->failed)
        rc = tt_fail_nomem(e, "a table");
    if (t->failed)
        fprintf(out, "%*s(no memory for this table)\n", t->indent, "");
    if (!t->failed && t->n > 0) {
        fit(t, width, find_widths(t, width));
        tt_style(out, TT_BOLD);
        print_row(out, t, width, NULL);
        tt_style(out, TT_PLAIN);
        for (size_t i = 0; i < t->n; i += t->ncolumns)
            print_row(out, t, width, t->cells + i);
    }
    tt_table_free(t);
    return rc;
}

void tt_table_free(struct tt_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->n = 0;
}
