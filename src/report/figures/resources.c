/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each node counted while the run was measured, under its rates: who was busy, and when. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters_columns.h"
#include "base/json.h"
#include "node/counters.h"
#include "plan/directory.h"
#include "report/figures.h"

#define GROUP "Over time"
#define MOST_NODES 8
#define MOST_SERIES 24      /* of a node */
#define MOST_POINTS 2000000 /* of a node's figure */

/* What is shown of a column: what a counter grew by / time, in shares where it counts time. */
static const struct {
    const char *group, *field; /* field NULL: any */
    double scale;              /* 0: a level, as it is */
    const char *figure;
} shown[] = {
    {"job", "cpu", 1e-3, "busy"},
    {"disk", "busy", 1e-3, "busy"},
    {"pressure", "some", 1e-6, "busy"},
    {"disk", "written", 1, "moved"},
    {"disk", "read", 1, "moved"},
    {"net", "received", 1, "moved"},
    {"net", "transmitted", 1, "moved"},
    {"lustre", "written", 1, "moved"},
    {"lustre", "read", 1, "moved"},
    {"infiniband", "received", 1, "moved"},
    {"infiniband", "transmitted", 1, "moved"},
    {"memory", "dirty", 0, "memory"},
    {"memory", "writeback", 0, "memory"},
    {"watched", "value", 0, "watched"},
};
#define NSHOWN (sizeof shown / sizeof *shown)

static const struct {
    const char *id, *title, *text, *label, *unit;
} kinds[] = {
    {"busy", "busy, and waiting",
     "CPUs that the job used, share of time in which a device had "
     "something to do, and in which some process waited (pressure).",
     "CPUs, or share of time", "1"},
    {"moved", "bytes moved", "Bytes per second of devices and interfaces, whoever moved them.",
     "rate", "B/s"},
    {"memory", "pages to be written",
     "Dirty pages of the node, and those on their way to a device.", "memory", "B"},
    {"watched", "watched files", "The first number of each file of counters.watch.", "value", ""},
};

struct node {
    size_t n, room; /* points */
    double *at;
    int64_t start;
    double *values[MOST_SERIES];
    size_t column[MOST_SERIES], kind[MOST_SERIES], nseries;
    bool chosen;
};

static void choose(struct node *n, const struct tt_columns *c)
{
    n->chosen = true;
    for (size_t k = 0; k < NSHOWN; k++)
        for (size_t i = 0; i < c->n && n->nseries < MOST_SERIES; i++)
            if (!strcmp(c->list[i].group, shown[k].group) &&
                !strcmp(c->list[i].field, shown[k].field)) {
                n->column[n->nseries] = i;
                n->kind[n->nseries++] = k;
            }
}

static bool grow(struct node *n)
{
    size_t room = n->room ? 2 * n->room : 1024;
    double *at = realloc(n->at, room * sizeof *at);

    n->at = at ? at : n->at;
    for (size_t s = 0; s < n->nseries && at; s++) {
        double *more = realloc(n->values[s], room * sizeof *more);

        if (!more)
            return false;
        n->values[s] = more;
    }
    n->room = at ? room : n->room;
    return at != NULL;
}

static int take(void *context, const struct tt_columns *c, int64_t wall, double seconds,
                const double *before, const double *now)
{
    struct node *n = context;

    if (!n->chosen)
        choose(n, c);
    if (n->n >= MOST_POINTS / MOST_SERIES)
        return TT_OK;
    if (n->n == n->room && !grow(n))
        return TT_NOMEM;
    n->at[n->n] = 1e-9 * (double)(wall - n->start);
    for (size_t s = 0; s < n->nseries; s++) {
        double from = before[n->column[s]], to = now[n->column[s]], scale = shown[n->kind[s]].scale;

        n->values[s][n->n] = scale > 0 ? (to >= from ? scale * (to - from) / seconds : NAN) : to;
    }
    n->n++;
    return TT_OK;
}

/* Whether anything but nothing happened. */
static bool says_something(const struct node *n, size_t series)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->values[series][i] > 0)
            return true;
    return false;
}

static void add_node(struct tt_document *d, const char *host, const struct node *n,
                     const struct tt_columns *c)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        json_t *figure = NULL;
        char title[160];

        for (size_t s = 0; s < n->nseries; s++) {
            if (strcmp(shown[n->kind[s]].figure, kinds[k].id) != 0 || !says_something(n, s))
                continue;
            if (!figure) {
                snprintf(title, sizeof title, "Node %.64s: %s", host, kinds[k].title);
                figure = tt_figure(d, "lines", kinds[k].id, GROUP, title, kinds[k].text);
                tt_figure_axis(d, figure, "x", "time since the start", "s", "time");
                tt_figure_axis(d, figure, "y", kinds[k].label, kinds[k].unit, "linear");
                tt_document_set_text(d, figure, "linked", "time");
                if (n->n >= MOST_POINTS / MOST_SERIES)
                    tt_figure_note(d, figure, "Only the first %zu samples.", n->n);
            }
            tt_figure_series(d, figure, c->list[n->column[s]].name,
                             &(struct tt_points){n->n, n->at, n->values[s]});
        }
    }
}

static int add_host(struct tt_document *d, const char *path, const char *host, int64_t from,
                    int64_t to, struct tt_error *e)
{
    struct node n = {.start = from};
    struct tt_columns c;
    int rc = tt_columns_scan(path, from, to, take, &n, &c, e);

    if (rc == TT_OK) {
        add_node(d, host, &n, &c);
        tt_columns_free(&c);
    } else if (rc == TT_CORRUPT) { /* the result warns of it */
        tt_error_clear(e);
        rc = TT_OK;
    }
    for (size_t s = 0; s < MOST_SERIES; s++)
        free(n.values[s]);
    free(n.at);
    return rc;
}

/* When the run was measured, by the wall clock of rank 0. */
static int64_t start_of(const json_t *result)
{
    const json_t *rank;
    int64_t first = INT64_MAX;
    size_t i;

    json_array_foreach(json_object_get(result, "ranks"), i, rank)
    {
        int64_t at = tt_integer_of(rank, "start_wall_ns");

        first = at > 0 && at < first ? at : first;
    }
    return first;
}

int tt_figures_resources(struct tt_document *d, const json_t *result, const char *directory,
                         struct tt_error *e)
{
    char *path = tt_directory_path(directory, TT_COUNTERS_DIRECTORY);
    const json_t *hosts = tt_member_at(result, "counters/hosts");
    int64_t from = start_of(result);
    size_t done = 0;
    const char *host;
    json_t *counted;
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    json_object_foreach((json_t *)hosts, host, counted)
    {
        double seconds = tt_number_of(counted, "seconds");
        char *name = NULL, *file;
        int64_t to;

        if (rc != TT_OK || from == INT64_MAX || done == MOST_NODES || strchr(host, '/') ||
            !(seconds > 0 && seconds < 1e9) ||
            __builtin_add_overflow(from, (int64_t)(1e9 * seconds), &to))
            continue;
        if (asprintf(&name, "%s.csv", host) < 0)
            name = NULL;
        file = name ? tt_directory_path(path, name) : NULL;
        rc = file ? add_host(d, file, host, from, to, e) : tt_fail_nomem(e, "a path");
        done++;
        free(name);
        free(file);
    }
    free(path);
    return rc;
}
