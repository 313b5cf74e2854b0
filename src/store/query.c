/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding runs by what they were and measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/text.h"
#include "plan/config.h"
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
    double length; /* of the day or minute that a time names */
    char *text;    /* if it is no number */
};

#define NCOLUMNS 8
static const char *const columns[NCOLUMNS + 1] = {"id",    "label", "workload",  "status", "plan",
                                                  "valid", "start", "directory", NULL};

/* ---- several in one text ---- */

/* "label=a,...", not "verify,throttle,label=a": an operator comes before the next comma. */
static bool starts_filter(const char *text)
{
    size_t n = strcspn(text, ",=<>!");

    return text[n] && text[n] != ',';
}

size_t tt_filters_split(char *text, const char **filters, size_t most)
{
    size_t n = 0;

    filters[n++] = text;
    for (char *at = text; (at = strchr(at, ',')) && n < most; at++)
        if (starts_filter(at + 1)) {
            *at = '\0';
            filters[n++] = at + 1;
        }
    return n;
}

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

static int fail_unknown(const char *where, const char *key, struct tt_error *e)
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
    tt_fail(e, TT_USAGE, "%s: unknown key '%.80s'%s", where, key, TT_DID_YOU_MEAN(near));
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

static int take_time(struct filter *f, const char *value, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;

    f->is_number = true;
    if (tt_parse_time(value, &f->number, &f->length, &why) == TT_OK)
        return TT_OK;
    return tt_fail(e, TT_USAGE, "filter: start: %s", why.text);
}

static int take_column(struct filter *f, const char *value, struct tt_error *e)
{
    if (!strcmp(f->column, "start"))
        return take_time(f, value, e);
    if (!strcmp(f->column, "valid")) {
        f->is_number = true;
        f->number = !strcmp(value, "yes");
        if (!f->number && strcmp(value, "no"))
            return tt_fail(e, TT_USAGE, "filter: valid is yes or no, not '%.80s'", value);
    }
    if (!strcmp(f->column, "status") && !tt_has_word(tt__statuses, value))
        return tt_fail(e, TT_USAGE,
                       "filter: no status is '%.80s'%s: expected done, failed, stopped or "
                       "interrupted",
                       value, TT_DID_YOU_MEAN(tt_nearest_word(value, tt__statuses)));
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
                   p.type == TT_PARAM_REAL ||
                   /* A list of one, and a count of passes, are numbers. */
                   ((p.type == TT_PARAM_COUNTS || p.type == TT_PARAM_PASSES) &&
                    !text[strspn(text, "0123456789")]);
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
static int take_indexed(struct filter *f, const char *value, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    f->is_number = tt_parse_real(value, &f->number, &ignored) == TT_OK;
    return f->is_number ? TT_OK : take_text(f, value, e);
}

/* Which of the tables a key is of; leaves *kind alone where it is of none. */
static int look_for_kind(struct tt_store *s, const char *key, const char **kind, struct tt_error *e)
{
    sqlite3_stmt *q;
    const char *found;
    int step;

    if (tt_find_param(key)) {
        *kind = tt__stored_names[TT_STORED_PARAMETERS];
        return TT_OK;
    }
    if (tt_find_metric(key)) {
        *kind = tt__stored_names[TT_STORED_METRICS];
        return TT_OK;
    }
    q = tt__sql_prepare(s, "SELECT kind FROM name WHERE key = ? ORDER BY kind LIMIT 1", e);
    if (!q)
        return e->code;
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    step = sqlite3_step(q);
    found = step == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    for (int i = 0; found && i <= TT_STORED_ENVIRONMENT; i++)
        if (!strcmp(found, tt__stored_names[i]))
            *kind = tt__stored_names[i];
    sqlite3_finalize(q);
    return step == SQLITE_ROW || step == SQLITE_DONE ? TT_OK : tt__sql_fail(s, e);
}

/* *full: "stencil.size" for "size" where all runs are of stencil; NULL: of several, or no memory.
 */
static int add_workload(struct tt_store *s, const char *key, char **full, struct tt_error *e)
{
    sqlite3_stmt *q =
        tt__sql_prepare(s, "SELECT min(workload), count(DISTINCT workload) FROM run", e);
    const char *workload;

    *full = NULL;
    if (!q)
        return e->code;
    if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int(q, 1) == 1 &&
        (workload = (const char *)sqlite3_column_text(q, 0)) &&
        asprintf(full, "%s.%s", workload, key) < 0)
        *full = NULL;
    sqlite3_finalize(q);
    return TT_OK;
}

/* The same for the key of a filter or a column, which becomes a whole one. where: the option. */
static int find_kind(struct tt_store *s, struct filter *f, const char *where, struct tt_error *e)
{
    char *full = NULL;
    int rc;

    open_module(f->key);
    rc = look_for_kind(s, f->key, &f->kind, e);
    if (rc == TT_OK && !f->kind && !strchr(f->key, '.'))
        rc = add_workload(s, f->key, &full, e);
    if (rc == TT_OK && full)
        rc = look_for_kind(s, full, &f->kind, e);
    if (rc == TT_OK && !f->kind)
        rc = fail_unknown(where, f->key, e);
    if (rc == TT_OK && full) {
        free(f->key);
        f->key = full;
        return TT_OK;
    }
    free(full);
    return rc;
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
    if (find_kind(s, f, "filter", e) != TT_OK)
        return e->code;
    if ((p = tt_find_param(f->key)))
        return take_parameter(f, p, value, e);
    if ((metric = tt_find_metric(f->key)))
        return take_metric(f, metric->unit, value, e);
    return take_indexed(f, value, e);
}

/* "mode=async+bg" as the two filters that it is short for. */
static int parse_mode(struct tt_store *s, const char *word, struct filter f[2], struct tt_error *e)
{
    struct tt_run_options run = {0};
    struct tt_error why = TT_ERROR_CLEAR;
    char words[80], *second;

    if (word[strlen("mode")] != '=')
        return tt_fail(
            e, TT_USAGE,
            "filter: mode is short for overlap and sync: compare it with =, or use those");
    run.mode = (char *)word + strlen("mode=");
    if (tt_mode_apply(&run, &why) != TT_OK)
        return tt_fail(e, TT_USAGE, "filter: mode: %s", why.text);
    snprintf(words, sizeof words, "%s", tt_mode_meaning(run.mode));
    second = strchr(words, ' ');
    *second++ = '\0';
    if (parse_filter(s, words, &f[0], e) != TT_OK || parse_filter(s, second, &f[1], e) != TT_OK)
        return e->code;
    return TT_OK;
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
    else if (f->length > 0 && (!strcmp(f->operator, "=") || !strcmp(f->operator, "<>")))
        fprintf(sql, " AND (start - ? BETWEEN 0 AND %.6f) = %d", f->length - 1e-6,
                !strcmp(f->operator, "=")); /* within that day or minute */
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
    struct filter parsed[2 * MAX_FILTERS] = {{0}};
    sqlite3_stmt *q = NULL;
    size_t n = 0;
    int rc = TT_OK;

    *out = (struct tt_run_rows){0};
    if (nfilters > MAX_FILTERS)
        return tt_fail(e, TT_USAGE, "%zu filters are too many: at most %d", nfilters, MAX_FILTERS);
    for (size_t i = 0; rc == TT_OK && i < nfilters; i++) {
        bool mode =
            strcspn(filters[i], "=<>!") == strlen("mode") && !strncmp(filters[i], "mode", 4);

        rc = mode ? parse_mode(s, filters[i], &parsed[n], e)
                  : parse_filter(s, filters[i], &parsed[n], e);
        n += mode ? 2 : 1; /* also of what failed, so that it is freed */
    }
    if (rc == TT_OK && !(q = prepare_find(s, parsed, n, e)))
        rc = e->code;
    if (rc == TT_OK)
        rc = collect(s, q, out, e);
    sqlite3_finalize(q);
    while (n > 0) {
        free(parsed[--n].key);
        free(parsed[n].text);
    }
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

int tt_store_text(struct tt_store *s, int64_t run, enum tt_stored kind, const char *key,
                  char **value, struct tt_error *e)
{
    bool row = false;
    int rc = look_up(s, run, kind, key, &row, e);

    *value = NULL;
    if (rc != TT_OK)
        return rc;
    if (row && sqlite3_column_text(s->one_value, 0) && !(*value = column(s->one_value, 0)))
        rc = tt_fail_nomem(e, "a value");
    sqlite3_reset(s->one_value);
    return rc;
}

int tt_store_parameter(struct tt_store *s, int64_t run, const char *key, char **value,
                       struct tt_error *e)
{
    return tt_store_text(s, run, TT_STORED_PARAMETERS, key, value, e);
}

static bool is_column(const char *key)
{
    for (size_t i = 0; i < NCOLUMNS; i++)
        if (!strcmp(key, columns[i]))
            return true;
    return false;
}

int tt_store_kind(struct tt_store *s, const char *key, int *kind, struct tt_error *e)
{
    const char *found = NULL;
    int rc;

    *kind = -1;
    if (is_column(key))
        return TT_OK;
    rc = look_for_kind(s, key, &found, e);
    if (rc == TT_OK && !found)
        rc = fail_unknown("index", key, e);
    for (int i = 0; rc == TT_OK && i <= TT_STORED_ENVIRONMENT; i++)
        if (found == tt__stored_names[i])
            *kind = i;
    return rc;
}

int tt_store_whole_keys(struct tt_store *s, const char *where, const char *keys, char **out,
                        struct tt_error *e)
{
    char *copy = strdup(keys), *rest = copy, *key;
    size_t size;
    FILE *f = open_memstream(out, &size);
    int rc = copy && f ? TT_OK : tt_fail_nomem(e, "keys");

    while (rc == TT_OK && (key = strsep(&rest, ","))) {
        struct filter one = {.key = strdup(strcmp(key, "mode") ? key : "overlap,sync")};

        if (!one.key)
            rc = tt_fail_nomem(e, "a key");
        else if (strcmp(key, "mode") != 0 && !is_column(key))
            rc = find_kind(s, &one, where, e);
        if (rc == TT_OK)
            fprintf(f, "%s%s", ftell(f) > 0 ? "," : "", one.key);
        free(one.key);
    }
    if (f && fclose(f) != 0 && rc == TT_OK)
        rc = tt_fail_nomem(e, "keys");
    free(copy);
    if (rc != TT_OK) {
        free(f ? *out : NULL);
        *out = NULL;
    }
    return rc;
}

/* {"plan": 1}: one run of each plan, since those of the same plan do not differ; for json_each. */
static char *keys_text(const struct tt_run_rows *runs)
{
    json_t *keys = json_object();
    char *text;

    for (size_t i = 0; i < runs->n; i++)
        json_object_set_new(keys, runs->rows[i].plan_hash, json_integer(runs->rows[i].key));
    text = json_dumps(keys, JSON_COMPACT);
    json_decref(keys);
    return text;
}

int tt_store_varied(struct tt_store *s, const struct tt_run_rows *runs, json_t **out,
                    struct tt_error *e)
{
    static const char sql[] =
        "SELECT key FROM value WHERE kind = 'parameter' AND run IN (SELECT value FROM "
        "json_each(?)) GROUP BY key HAVING count(DISTINCT text) > 1 ORDER BY instr(key, '.'), key";
    char *keys = keys_text(runs);
    sqlite3_stmt *q = keys ? tt__sql_prepare(s, sql, e) : NULL;
    json_t *all = json_array();
    int step = SQLITE_DONE, rc = !keys || !all ? tt_fail_nomem(e, "keys") : q ? TT_OK : e->code;

    if (q)
        sqlite3_bind_text(q, 1, keys, -1, SQLITE_STATIC);
    while (rc == TT_OK && (step = sqlite3_step(q)) == SQLITE_ROW)
        if (json_array_append_new(all, tt_json_text((const char *)sqlite3_column_text(q, 0))) != 0)
            rc = tt_fail_nomem(e, "keys");
    if (rc == TT_OK && step != SQLITE_DONE)
        rc = tt__sql_fail(s, e);
    sqlite3_finalize(q);
    free(keys);
    *out = rc == TT_OK ? all : NULL;
    if (rc != TT_OK)
        json_decref(all);
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
