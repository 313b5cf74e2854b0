/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one printer of tables for people: columns are data, cells come one after the other, and all
 * is printed when the widths are known. Two blanks stand between a column that is aligned to the
 * right and one to the left, else one. No line has more than 80 columns: the last column is wrapped
 * if it is text, and those that may be cut give way. */
#ifndef TT_REPORT_TABLE_H
#define TT_REPORT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct tt_column {
    const char *title; /* tutti explain knows it (report/words.c) */
    bool right;
    int width;     /* at least */
    int least;     /* it may be cut down to this, where cut text ends in ~; 0: never */
    bool optional; /* left out if nothing stands in it */
};

/* Filled with columns, their number and what stands before each line; the rest is zero. */
struct tt_table {
    const struct tt_column *columns;
    size_t ncolumns;
    int indent;
    bool tight; /* one blank between all columns */
    size_t n;   /* cells */
    char **cells;
    bool failed; /* no memory: nothing further is added */
};

/* The next cell, from left to right and row by row; control characters become '?'. */
void tt_table_add(struct tt_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Titles and rows, or nothing if there is no row; frees the cells in any case. e may be NULL: a
 * line in place of the table says that there was no memory. */
int tt_table_print(struct tt_table *t, FILE *out, struct tt_error *e);
/* Of a table that is not printed. */
void tt_table_free(struct tt_table *t);

#endif
