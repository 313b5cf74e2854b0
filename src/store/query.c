/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding runs by what they were and measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/text.h"
#include "plan/directory.h"
#include "plan/module.h"
#include "plan/registry.h"
#include "spec/units.h"
#include "store/private.h"

/* ---- a filter: a word such as "write_rate>=1g" as a condition on runs ---- */

struct filter {
    const char *column;   /* of the table of runs; NULL: a value of the given kind */
    const char *kind;     /* "metric", ... */
    const char *operator; /* as in SQL */
    char *key;
    bool is_number;
    double number;
    char *text; /* if it is no number */
};

#define NCOLUMNS 6
static const char *const columns[NCOLUMNS + 1] = {"id",   "label", "workload", "status",
                                                  "plan", "valid", NULL};

/* ---- unknown keys ---- */

struct words {
    bool workloads; /* add those of workloads, or all others */
    size_t n;
    char *list[1024]; /* the last one stays NULL */
};

static void add_word(struct words *w, const char *component, const char *key)
{
    if (w->n + 1 < sizeof w->list / sizeof *w->list &&
        asprintf(&w->list[w->n], "%s%s%s", component, *component ? "." : "", key) >= 0)
        w->n++;
}

static void add_component(const char *kind, const struct tt_component *c, void *context)
{
    struct words *w = context;

    if (w->workloads == !strcmp(kind, "workload"))
        for (const struct tt_param *p = c->params; p && p->key; p++)
            add_word(w, c->name, p->key);
}

/* "stencil.size" for "size", else the nearest of all. */
static const char *nearest(const struct words *w, const char *key)
{
    for (size_t i = 0; i < w->n; i++) {
        const char *dot = strchr(w->list[i], '.');

        if (dot && tt_same_key(dot + 1, key))
            return w->list[i];
    }
    return tt_nearest_word(key, (const char *const *)w->list);
}

static int fail_unknown(const char *key, struct tt_error *e)
{
    struct words *w = calloc(1, sizeof *w);
    const char *near;

    if (!w)
        return tt_fail_nomem(e, "a filter");
    for (size_t i = 0; i < NCOLUMNS; i++)
        add_word(w, "", columns[i]);
    for (size_t i = 0; i < TT_NMETRICS; i++)
        add_word(w, "", tt_metrics[i].name);
    w->workloads = true; /* first: a key without a prefix is most likely theirs */
    tt_each_component(add_component, w);
    w->workloads = false;
    tt_each_component(add_component, w);
    near = nearest(w, key);
    tt_fail(e, TT_USAGE, "filter: unknown key '%.80s'%s", key, TT_DID_YOU_MEAN(near));
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i]);
    free(w);
    return e->code;
}

/* The user's own word may open a module, unlike what a run directory says. */
static void open_module(const char *key)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *name = strchr(key, '.') ? strndup(key, strcspn(key, ".")) : NULL;

    if (name && tt_module_open_named("backend", name, &ignored) == TT_OK)
        tt_module_open_named("layer", name, &ignored);
    if (name)
        tt_module_open_named("workload", name, &ignored);
    free(name);
}

/* ---- values ---- */

/* Words have no order. */
static int take_text(struct filter *f, const char *value, struct tt_error *e)
{
    if (strcmp(f->operator, "=") && strcmp(f->operator, "<>"))
        return tt_fail(e, TT_USAGE,
                       "filter: '%.80s' is not a number: compare it with = or !=", f->key);
    f->text = strdup(value);
    return f->text ? TT_OK : tt_fail_nomem(e, "a filter");
}

static int take_column(struct filter *f, const char *value, struct tt_error *e)
{
    const char *const *known = tt__statuses, *near;

    if (!strcmp(f->column, "valid")) {
        f->is_number = true;
        f->number = !strcmp(value, "yes");
        if (!f->number && strcmp(value, "no"))
            return tt_fail(e, TT_USAGE, "filter: valid is yes or no, not '%.80s'", value);
    }
    if (!strcmp(f->column, "status")) {
        while (*known && strcmp(*known, value))
            known++;
        near = tt_nearest_word(value, tt__statuses);
        if (!*known)
            return tt_fail(e, TT_USAGE,
                           "filter: no status is '%.80s'%s: expected done, failed, stopped or "
                           "interrupted",
                           value, TT_DID_YOU_MEAN(near));
    }
    return take_text(f, value, e);
}

/* As the parameter's own table reads and writes it, but without its range: ranks>0 is fair. */
static int take_parameter(struct filter *f, const struct tt_param *known, const char *value,
                          struct tt_error *e)
{
    union {
        char room[64];
        void *pointer;
        double real;
    } opts = {{0}};
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_param p = *known, table[2] = {{0}};
    char *text;
    int rc;

    p.key = f->key;
    p.offset = 0;
    p.min = p.max = 0;
    table[0] = p;
    rc = tt_param_set(&p, &opts, value, &why);
    if (rc != TT_OK)
        return tt_fail(e, rc, "filter: %s", why.text);
    text = tt_param_get(&p, &opts);
    tt_params_free(table, &opts);
    if (!text)
        return tt_fail_nomem(e, "a filter");
    f->is_number = p.type == TT_PARAM_COUNT || p.type == TT_PARAM_BYTES ||
                   p.type == TT_PARAM_DURATION || p.type == TT_PARAM_RATE ||
                   p.type == TT_PARAM_REAL;
    rc = f->is_number ? tt_parse_real(text, &f->number, e) : take_text(f, text, e);
    free(text);
    return rc;
}

static int take_metric(struct filter *f, const char *unit, const char *value, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    uint64_t bytes = 0;
    int rc;

    f->is_number = true;
    if (!strcmp(unit, "B")) {
        rc = tt_parse_bytes(value, &bytes, &why);
        f->number = (double)bytes;
    } else if (!strcmp(unit, "B/s"))
        rc = tt_parse_rate(value, &f->number, &why);
    else if (!strcmp(unit, "s"))
        rc = tt_parse_duration(value, &f->number, &why);
    else
        rc = tt_parse_real(value, &f->number, &why);
    return rc == TT_OK ? rc : tt_fail(e, rc, "filter: %s: %s", f->key, why.text);
}

/* What this build does not know, but some run has: environment, phases, other components. */
static int take_indexed(struct tt_store *s, struct filter *f, const char *value, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    sqlite3_stmt *q =
        tt__sql_prepare(s, "SELECT kind FROM name WHERE key = ? ORDER BY kind LIMIT 1", e);
    const char *kind;
    int step;

    if (!q)
        return e->code;
    sqlite3_bind_text(q, 1, f->key, -1, SQLITE_STATIC);
    step = sqlite3_step(q);
    kind = step == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    for (int i = 0; kind && i <= TT_STORED_ENVIRONMENT; i++)
        if (!strcmp(kind, tt__stored_names[i]))
            f->kind = tt__stored_names[i];
    sqlite3_finalize(q);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return tt__sql_fail(s, e);
    if (!f->kind)
        return fail_unknown(f->key, e);
    f->is_number = tt_parse_real(value, &f->number, &ignored) == TT_OK;
    return f->is_number ? TT_OK : take_text(f, value, e);
}

/* ---- a whole filter ---- */

/* Splits at the operator; returns where the value begins, or NULL. */
static const char *split(const char *word, struct filter *f, struct tt_error *e)
{
    static const struct {
        const char *text, *sql;
    } operators[] = {{">=", ">="}, {"<=", "<="}, {"!=", "<>"}, {"=", "="}, {">", ">"}, {"<", "<"}};
    size_t length = strcspn(word, "=<>!");

    for (size_t i = 0; length && i < sizeof operators / sizeof *operators; i++)
        if (!strncmp(word + length, operators[i].text, strlen(operators[i].text))) {
            f->operator= operators[i].sql;
            f->key = strndup(word, length);
            if (!f->key)
                tt_fail_nomem(e, "a filter");
            for (char *c = f->key; c && *c; c++)
                *c = *c == '-' ? '_' : *c;
            return f->key ? word + length + strlen(operators[i].text) : NULL;
        }
    tt_fail(e, TT_USAGE, "'%.80s' is not a filter: expected KEY=VALUE (or != >= <= > <)", word);
    return NULL;
}

static int parse_filter(struct tt_store *s, const char *word, struct filter *f, struct tt_error *e)
{
    const struct tt_metric *metric;
    const struct tt_param *p;
    const char *value;

    *f = (struct filter){0};
    value = split(word, f, e);
    if (!value)
        return e->code;
    for (size_t i = 0; i < NCOLUMNS; i++)
        if (!strcmp(f->key, columns[i])) {
            f->column = columns[i];
            return take_column(f, value, e);
        }
    open_module(f->key);
    if ((p = tt_find_param(f->key))) {
        f->kind = tt__stored_names[TT_STORED_PARAMETERS];
        return take_parameter(f, p, value, e);
    }
    if ((metric = tt_find_metric(f->key))) {
        f->kind = tt__stored_names[TT_STORED_METRICS];
        return take_metric(f, metric->unit, value, e);
    }
    return take_indexed(s, f, value, e);
}

static void free_filter(struct filter *f)
{
    free(f->key);
    free(f->text);
    *f = (struct filter){0};
}

#define MAX_FILTERS 64

/* ---- finding runs ---- */

static void write_condition(FILE *sql, const struct filter *f)
{
    if (!f->column)
        fprintf(sql,
                " AND EXISTS (SELECT 1 FROM value WHERE run = run.key AND value.key = ? AND "
                "kind = ? AND %s %s ?)",
                f->is_number ? "number" : "text", f->operator);
    else if (!strcmp(f->column, "id")) /* the whole id, or what follows the time in it */
        fprintf(sql, " AND (? IN (id, substr(id, instr(id, '-') + 1))) = %d",
                !strcmp(f->operator, "="));
    else
        fprintf(sql, " AND %s %s ?", f->column, f->operator);
}

static int bind_condition(sqlite3_stmt *q, int at, const struct filter *f)
{
    if (!f->column) {
        sqlite3_bind_text(q, at++, f->key, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, at++, f->kind, -1, SQLITE_STATIC);
    }
    if (f->is_number)
        sqlite3_bind_double(q, at++, f->number);
    else
        sqlite3_bind_text(q, at++, f->text, -1, SQLITE_STATIC);
    return at;
}

static sqlite3_stmt *prepare_find(struct tt_store *s, const struct filter *filters, size_t n,
                                  struct tt_error *e)
{
    char *text = NULL;
    size_t size;
    FILE *sql = open_memstream(&text, &size);
    sqlite3_stmt *q = NULL;

    if (sql) {
        fputs("SELECT key, directory, id, label, workload, plan, status, valid, ranks, start FROM "
              "run "
              "WHERE 1",
              sql);
        for (size_t i = 0; i < n; i++)
            write_condition(sql, &filters[i]);
        fputs(" ORDER BY start, directory", sql);
    }
    if (!sql || fclose(sql) != 0)
        tt_fail_nomem(e, "a query");
    else
        q = tt__sql_prepare(s, text, e);
    free(text);
    for (size_t i = 0, at = 1; q && i < n; i++)
        at = (size_t)bind_condition(q, (int)at, &filters[i]);
    return q;
}

static char *column(sqlite3_stmt *q, int at)
{
    const char *text = (const char *)sqlite3_column_text(q, at);

    return text ? strdup(text) : NULL;
}

static void free_row(struct tt_run_row *r)
{
    free(r->directory);
    free(r->id);
    free(r->label);
    free(r->workload);
    free(r->plan_hash);
    free(r->status);
}

static int take_row(const struct tt_store *s, sqlite3_stmt *q, struct tt_run_rows *out,
                    size_t *capacity, struct tt_error *e)
{
    const char *directory = (const char *)sqlite3_column_text(q, 1);
    struct tt_run_row *r;

    if (out->n == *capacity) {
        size_t more = *capacity * 2 + 16;
        struct tt_run_row *grown = realloc(out->rows, more * sizeof *grown);

        if (!grown)
            return tt_fail_nomem(e, "runs");
        out->rows = grown;
        *capacity = more;
    }
    r = &out->rows[out->n];
    *r = (struct tt_run_row){.key = sqlite3_column_int64(q, 0),
                             .directory =
                                 directory ? tt_directory_path(s->results, directory) : NULL,
                             .id = column(q, 2),
                             .label = column(q, 3),
                             .workload = column(q, 4),
                             .plan_hash = column(q, 5),
                             .status = column(q, 6),
                             .valid = sqlite3_column_int(q, 7),
                             .ranks = (uint64_t)sqlite3_column_int64(q, 8),
                             .start_seconds = sqlite3_column_double(q, 9)};
    if (!r->directory || !r->id || !r->label || !r->workload || !r->plan_hash || !r->status) {
        free_row(r);
        return tt_fail_nomem(e, "runs");
    }
    out->n++;
    return TT_OK;
}

static int collect(struct tt_store *s, sqlite3_stmt *q, struct tt_run_rows *out, struct tt_error *e)
{
    size_t capacity = 0;
    int step, rc = TT_OK;

    while (rc == TT_OK && (step = sqlite3_step(q)) != SQLITE_DONE)
        rc = step == SQLITE_ROW ? take_row(s, q, out, &capacity, e) : tt__sql_fail(s, e);
    return rc;
}

int tt_store_find(struct tt_store *s, size_t nfilters, const char *const *filters,
                  struct tt_run_rows *out, struct tt_error *e)
{
    struct filter parsed[MAX_FILTERS];
    sqlite3_stmt *q = NULL;
    size_t n = 0;
    int rc = TT_OK;

    *out = (struct tt_run_rows){0};
    if (nfilters > MAX_FILTERS)
        return tt_fail(e, TT_USAGE, "%zu filters are too many: at most %d", nfilters, MAX_FILTERS);
    while (rc == TT_OK && n < nfilters) {
        rc = parse_filter(s, filters[n], &parsed[n], e);
        n++;
    }
    if (rc == TT_OK && !(q = prepare_find(s, parsed, n, e)))
        rc = e->code;
    if (rc == TT_OK)
        rc = collect(s, q, out, e);
    sqlite3_finalize(q);
    while (n > 0)
        free_filter(&parsed[--n]);
    if (rc != TT_OK)
        tt_run_rows_free(out);
    return rc;
}

void tt_run_rows_free(struct tt_run_rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        free_row(&r->rows[i]);
    free(r->rows);
    *r = (struct tt_run_rows){0};
}

/* ---- one value ---- */

/* *row says whether there is one; then the statement stands on it until it is reset. */
static int look_up(struct tt_store *s, int64_t run, enum tt_stored kind, const char *key, bool *row,
                   struct tt_error *e)
{
    sqlite3_stmt *q = s->one_value;
    int step;

    if (!q)
        q = s->one_value = tt__sql_prepare(
            s, "SELECT text, number FROM value WHERE run = ? AND kind = ? AND key = ?", e);
    if (!q)
        return e->code;
    sqlite3_bind_int64(q, 1, run);
    sqlite3_bind_text(q, 2, tt__stored_names[kind], -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, key, -1, SQLITE_TRANSIENT);
    step = sqlite3_step(q);
    *row = step == SQLITE_ROW;
    if (step == SQLITE_ROW || step == SQLITE_DONE)
        return TT_OK;
    tt__sql_fail(s, e);
    sqlite3_reset(q);
    return e->code;
}

int tt_store_metric(struct tt_store *s, int64_t run, const char *metric, bool *known, double *value,
                    struct tt_error *e)
{
    bool row = false;
    int rc = look_up(s, run, TT_STORED_METRICS, metric, &row, e);

    *known = false;
    if (rc != TT_OK)
        return rc;
    if (row && sqlite3_column_type(s->one_value, 1) != SQLITE_NULL) {
        *known = true;
        *value = sqlite3_column_double(s->one_value, 1);
    }
    sqlite3_reset(s->one_value);
    return TT_OK;
}

int tt_store_parameter(struct tt_store *s, int64_t run, const char *key, char **value,
                       struct tt_error *e)
{
    bool row = false;
    int rc = look_up(s, run, TT_STORED_PARAMETERS, key, &row, e);

    *value = NULL;
    if (rc != TT_OK)
        return rc;
    if (row && sqlite3_column_text(s->one_value, 0) && !(*value = column(s->one_value, 0)))
        rc = tt_fail_nomem(e, "a parameter");
    sqlite3_reset(s->one_value);
    return rc;
}

/* ---- all values ---- */

/* Text where the kind is text, else a number or null. */
static json_t *value_json(sqlite3_stmt *q, enum tt_stored kind)
{
    const char *text = (const char *)sqlite3_column_text(q, 1);

    if (kind == TT_STORED_PARAMETERS || kind == TT_STORED_ENVIRONMENT)
        return tt_json_text(text ? text : "");
    return sqlite3_column_type(q, 2) == SQLITE_NULL ? json_null()
                                                    : json_real(sqlite3_column_double(q, 2));
}

static int gather(struct tt_store *s, int64_t run, enum tt_stored kind, bool units, json_t **out,
                  struct tt_error *e)
{
    sqlite3_stmt *q = tt__sql_prepare(
        s, "SELECT key, text, number, unit FROM value WHERE run = ? AND kind = ? ORDER BY key", e);
    json_t *all = json_object();
    int step, rc = q ? TT_OK : e->code, bad = 0;

    if (q) {
        sqlite3_bind_int64(q, 1, run);
        sqlite3_bind_text(q, 2, tt__stored_names[kind], -1, SQLITE_STATIC);
    }
    while (rc == TT_OK && !bad && (step = sqlite3_step(q)) != SQLITE_DONE) {
        const char *key = (const char *)sqlite3_column_text(q, 0);
        const char *unit = (const char *)sqlite3_column_text(q, 3);
        json_t *value = step == SQLITE_ROW ? value_json(q, kind) : NULL;

        if (step != SQLITE_ROW)
            rc = tt__sql_fail(s, e);
        else if (units)
            bad = json_object_set_new(
                all, key,
                json_pack("{s:o, s:o}", "value", value, "unit", tt_json_text(unit ? unit : "")));
        else
            bad = json_object_set_new(all, key, value);
    }
    sqlite3_finalize(q);
    if (rc == TT_OK && (!all || bad))
        rc = tt_fail_nomem(e, "values");
    if (rc != TT_OK)
        json_decref(all);
    *out = rc == TT_OK ? all : NULL;
    return rc;
}

int tt_store_values(struct tt_store *s, int64_t run, enum tt_stored kind, json_t **out,
                    struct tt_error *e)
{
    return gather(s, run, kind, true, out, e);
}

int tt_store_parameters(struct tt_store *s, int64_t run, json_t **out, struct tt_error *e)
{
    return gather(s, run, TT_STORED_PARAMETERS, false, out, e);
}

int tt_store_environment(struct tt_store *s, int64_t run, json_t **out, struct tt_error *e)
{
    return gather(s, run, TT_STORED_ENVIRONMENT, false, out, e);
}
