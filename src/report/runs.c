/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of runs for a terminal. */
#include "report/runs.h"

#include <stdlib.h>
#include <string.h>

#include "report/paragraph.h"
#include "spec/units.h"

#define WIDTH 80
#define GAP 1

enum { ID, LABEL, CONTEXT, WORKLOAD, RANKS, BACKEND, MODE, RUNTIME, RATE, STATUS, NCOLUMNS };
static const struct {
    const char *title;
    bool number;
    int least; /* how narrow it may get; 0: never cut */
} columns[NCOLUMNS] = {
    [ID] = {"id", false, 8},
    [LABEL] = {"label", false, 5},
    [CONTEXT] = {"context", false, 12},
    [WORKLOAD] = {"workload", false, 6},
    [RANKS] = {"ranks", true, 0},
    [BACKEND] = {"backend", false, 4},
    [MODE] = {"overlap/sync", false, 6},
    [RUNTIME] = {"runtime", true, 0},
    [RATE] = {"write rate", true, 0},
    [STATUS] = {"status", false, 6},
};

struct table {
    size_t n;
    char *(*cells)[NCOLUMNS];
    int width[NCOLUMNS]; /* 0: nothing in it, left out */
};

/* Characters, not bytes. */
static int width_of(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static char *metric_cell(struct tt_store *s, int64_t run, const char *name, const char *unit,
                         struct tt_error *e)
{
    char text[TT_UNIT_TEXT];
    double value = 0;
    bool known;

    if (tt_store_metric(s, run, name, &known, &value, e) != TT_OK)
        return NULL;
    return strdup(known ? tt_format_value(value, unit, text) : "-");
}

static char *parameter_cell(struct tt_store *s, int64_t run, const char *key, const char *none,
                            struct tt_error *e)
{
    char *text;

    if (tt_store_parameter(s, run, key, &text, e) != TT_OK)
        return NULL;
    return text ? text : strdup(none);
}

static char *mode_cell(struct tt_store *s, int64_t run, struct tt_error *e)
{
    char *overlap = parameter_cell(s, run, "overlap", "-", e),
         *sync = parameter_cell(s, run, "sync", "-", e);
    char *both = NULL;

    if (!overlap || !sync || asprintf(&both, "%s/%s", overlap, sync) < 0)
        both = NULL;
    free(overlap);
    free(sync);
    return both;
}

/* What follows the time in the id is enough to name it. */
static const char *short_id(const char *id)
{
    const char *dash = strrchr(id, '-');

    return dash && dash[1] ? dash + 1 : id;
}

static int fill_row(struct table *t, struct tt_store *s, const struct tt_run_row *r,
                    struct tt_error *e)
{
    char **cell = t->cells[t->n++];
    bool wrong = !strcmp(r->status, "done") && !r->valid;

    cell[ID] = strdup(short_id(r->id));
    cell[LABEL] = strdup(r->label);
    cell[CONTEXT] = parameter_cell(s, r->key, "context", "", e);
    cell[WORKLOAD] = strdup(r->workload);
    if (asprintf(&cell[RANKS], "%llu", (unsigned long long)r->ranks) < 0)
        cell[RANKS] = NULL;
    cell[BACKEND] = parameter_cell(s, r->key, "backend", "-", e);
    cell[MODE] = mode_cell(s, r->key, e);
    cell[RUNTIME] = metric_cell(s, r->key, "runtime", "s", e);
    cell[RATE] = metric_cell(s, r->key, "write_rate", "B/s", e);
    cell[STATUS] = strdup(wrong ? "invalid" : r->status);
    for (int i = 0; i < NCOLUMNS; i++) {
        if (!cell[i])
            return tt_fail_nomem(e, "the list");
        tt_disarm(cell[i]);
        if (width_of(cell[i]) > t->width[i])
            t->width[i] = width_of(cell[i]);
    }
    return TT_OK;
}

/* The widest column that may be cut gives way, again and again. */
static void fit(struct table *t)
{
    int total = -GAP;

    for (int i = 0; i < NCOLUMNS; i++)
        if (t->width[i]) {
            if (t->width[i] < width_of(columns[i].title))
                t->width[i] = width_of(columns[i].title);
            total += t->width[i] + GAP;
        }
    for (; total > WIDTH; total--) {
        int widest = -1;

        for (int i = 0; i < NCOLUMNS; i++)
            if (columns[i].least && t->width[i] > columns[i].least &&
                (widest < 0 || t->width[i] > t->width[widest]))
                widest = i;
        if (widest < 0)
            return;
        t->width[widest]--;
    }
}

/* Cut text ends in ~. */
static void print_cell(FILE *out, const char *text, int width, bool right, bool last)
{
    int used = width_of(text), n = 0;

    if (right)
        fprintf(out, "%*s", width > used ? width - used : 0, "");
    for (; *text; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
        if (used > width && n >= width)
            break;
        fputc(*text, out);
    }
    if (used > width)
        fputc('~', out);
    if (!right && !last)
        fprintf(out, "%*s", width > used ? width - used : 0, "");
}

static void print_row(FILE *out, const struct table *t, char *const *cells)
{
    const char *separator = "";

    for (int i = 0; i < NCOLUMNS; i++) {
        if (!t->width[i])
            continue;
        fputs(separator, out);
        print_cell(out, cells ? cells[i] : columns[i].title, t->width[i], columns[i].number,
                   i == NCOLUMNS - 1);
        separator = " ";
    }
    fputc('\n', out);
}

int tt_report_runs(FILE *out, struct tt_store *s, const struct tt_run_rows *runs,
                   struct tt_error *e)
{
    struct table t = {.cells = calloc(runs->n + 1, sizeof *t.cells)};
    int rc = t.cells ? TT_OK : tt_fail_nomem(e, "the list");

    while (rc == TT_OK && t.n < runs->n)
        rc = fill_row(&t, s, &runs->rows[t.n], e);
    fit(&t);
    if (rc == TT_OK && t.n)
        print_row(out, &t, NULL);
    for (size_t i = 0; i < t.n; i++) {
        if (rc == TT_OK)
            print_row(out, &t, t.cells[i]);
        for (int k = 0; k < NCOLUMNS; k++)
            free(t.cells[i][k]);
    }
    free(t.cells);
    return rc;
}
