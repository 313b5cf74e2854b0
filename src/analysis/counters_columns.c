/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/counters_columns.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/directory.h"

/* No line that tutti wrote is longer, nor has more columns. */
#define LINE_BYTES (1 << 20)
#define MAX_COLUMNS 4096

/* One file being read. */
struct reader {
    FILE *f;
    const char *path;
    int64_t from, to;
    struct tt_columns *columns;
    char *line, *names; /* the line at hand; three copies of each name */
    int64_t then;       /* of the row before */
    double *before, *now;
    bool has_before;
    tt_take_counters *take; /* NULL: nobody wants single samples */
    void *context;
};

static int fail_corrupt(const struct reader *r, const char *what, struct tt_error *e)
{
    return tt_fail(e, TT_CORRUPT, "'%s' %s", r->path, what);
}

/* ---- names ---- */

static char *keep(struct reader *r, const char *text, size_t length)
{
    char *copy = r->names;

    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
    copy[length] = '\0';
    r->names += length + 1;
    return copy;
}

/* "disk.vda.busy[ms]": between the first dot and the last is the instance. */
static void name_column(struct reader *r, struct tt_counter_column *c, const char *cell)
{
    size_t length = strcspn(cell, "[");
    const char *first = memchr(cell, '.', length);
    const char *last = first ? memrchr(cell, '.', length) : cell + length;
    size_t group = first ? (size_t)(first - cell) : length;

    *c = (struct tt_counter_column){.min = INFINITY, .max = -INFINITY};
    c->name = keep(r, cell, length);
    c->group = keep(r, cell, group);
    c->instance = last > first && first ? keep(r, first + 1, (size_t)(last - first) - 1) : "";
    c->field = last < cell + length ? keep(r, last + 1, (size_t)(cell + length - last) - 1) : "";
}

static int read_names(struct reader *r, struct tt_error *e)
{
    struct tt_columns *c = r->columns;
    char *rest = r->line, *cell = strsep(&rest, ",");
    size_t n = 0, bytes = strlen(rest ? rest : "");

    if (!cell || strcmp(cell, "wall[ns]") != 0)
        return fail_corrupt(r, "is not a file of counters", e);
    for (const char *p = rest; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        n++;
    if (n == 0 || n > MAX_COLUMNS)
        return fail_corrupt(r, "does not have a sane number of columns", e);
    c->list = calloc(n, sizeof *c->list);
    c->text = r->names = malloc(2 * bytes + 4 * n + 1);
    r->before = malloc(n * sizeof *r->before);
    r->now = malloc(n * sizeof *r->now);
    if (!c->list || !c->text || !r->before || !r->now)
        return tt_fail_nomem(e, "the counters");
    while ((cell = strsep(&rest, ",")))
        name_column(r, &c->list[c->n++], cell);
    return TT_OK;
}

/* ---- rows ---- */

/* False: not a whole row. */
static bool parse_row(const struct reader *r, int64_t *wall, double *values)
{
    char *rest = r->line, *cell = strsep(&rest, ","), *end;
    size_t n = 0;

    errno = 0;
    *wall = strtoll(cell, &end, 10);
    if (end == cell || *end || errno || *wall < 0)
        return false;
    while (n < r->columns->n && (cell = strsep(&rest, ","))) {
        values[n] = strtod(cell, &end);
        if (end == cell || *end || !isfinite(values[n]))
            values[n] = NAN;
        n++;
    }
    return n == r->columns->n && !rest;
}

/* What a column did from one sample to the next, of which a part is in the window. */
static void add_change(struct tt_counter_column *c, double before, double now, double seconds,
                       double part)
{
    c->min = fmin(c->min, fmin(before, now)); /* these take a number rather than none */
    c->max = fmax(c->max, fmax(before, now));
    if (isnan(before) || isnan(now))
        return;
    c->seconds += seconds;
    c->integral += seconds * (before / 2 + now / 2);
    if (now > before)
        c->growth += part * (now - before);
}

static int add_row(struct reader *r, int64_t wall)
{
    int64_t a = r->then > r->from ? r->then : r->from, b = wall < r->to ? wall : r->to;
    double seconds = 1e-9 * (double)(b - a);

    if (!r->has_before || wall <= r->then || b <= a)
        return TT_OK;
    r->columns->seconds += seconds;
    for (size_t i = 0; i < r->columns->n; i++)
        add_change(&r->columns->list[i], r->before[i], r->now[i], seconds,
                   (double)(b - a) / (double)(wall - r->then));
    if (!r->take)
        return TT_OK;
    return r->take(r->context, r->columns, wall, 1e-9 * (double)(wall - r->then), r->before,
                   r->now);
}

/* 1: a line; 0: the end, or a line cut off; negative: an error. */
static int next_line(struct reader *r, struct tt_error *e)
{
    size_t n;

    if (!fgets(r->line, LINE_BYTES, r->f))
        return 0;
    n = strlen(r->line);
    if (n == LINE_BYTES - 1)
        return fail_corrupt(r, "has a line that is too long", e);
    if (n == 0 || r->line[n - 1] != '\n')
        return 0;
    r->line[n - 1] = '\0';
    return 1;
}

static int read_rows(struct reader *r, struct tt_error *e)
{
    int more;

    while ((more = next_line(r, e)) > 0) {
        double *swap = r->before;
        int64_t wall;

        if (!parse_row(r, &wall, r->now))
            return fail_corrupt(r, "has a row that does not fit its columns", e);
        if (add_row(r, wall) != TT_OK)
            return tt_fail_nomem(e, "the counters");
        r->before = r->now;
        r->now = swap;
        r->then = wall;
        r->has_before = true;
        if (wall > r->to)
            break;
    }
    return more < 0 ? more : TT_OK;
}

/* ---- the file ---- */

/* Neither a link to elsewhere nor a pipe. */
static FILE *open_file(const char *path, struct tt_error *e)
{
    int fd = open(path, O_RDONLY | TT_DIRECTORY_OPEN);
    struct stat st;
    FILE *f = NULL;

    if (fd < 0)
        tt_fail_call(e, errno, "open", path, -1);
    else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        tt_fail(e, TT_CORRUPT, "'%s' is not a file that tutti wrote", path);
    else if (!(f = fdopen(fd, "r")))
        tt_fail_nomem(e, "the counters");
    if (!f && fd >= 0)
        close(fd);
    return f;
}

int tt_columns_load(const char *path, int64_t from_ns, int64_t to_ns, struct tt_columns *out,
                    struct tt_error *e)
{
    return tt_columns_scan(path, from_ns, to_ns, NULL, NULL, out, e);
}

int tt_columns_scan(const char *path, int64_t from_ns, int64_t to_ns, tt_take_counters *take,
                    void *context, struct tt_columns *out, struct tt_error *e)
{
    struct reader r = {.path = path,
                       .from = from_ns,
                       .to = to_ns,
                       .columns = out,
                       .take = take,
                       .context = context};
    int rc;

    memset(out, 0, sizeof *out);
    r.f = open_file(path, e);
    if (!r.f)
        return e->code;
    r.line = malloc(LINE_BYTES);
    rc = r.line ? next_line(&r, e) : tt_fail_nomem(e, "the counters");
    if (rc == 0)
        rc = fail_corrupt(&r, "is empty", e);
    if (rc > 0)
        rc = read_names(&r, e);
    if (rc == TT_OK)
        rc = read_rows(&r, e);
    fclose(r.f);
    free(r.line);
    free(r.before);
    free(r.now);
    if (rc != TT_OK)
        tt_columns_free(out);
    return rc;
}

void tt_columns_free(struct tt_columns *c)
{
    free(c->list);
    free(c->text);
    memset(c, 0, sizeof *c);
}

const struct tt_counter_column *tt_columns_find(const struct tt_columns *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->list[i].name, name))
            return c->list[i].seconds > 0 ? &c->list[i] : NULL;
    return NULL;
}
