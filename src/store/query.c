/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/directory.h"
#include "store/filter.h"
#include "store/private.h"

#define MAX_FILTERS 64

/* ---- finding runs ---- */

static void write_condition(FILE *sql, const struct tt_filter *f)
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

static int bind_condition(sqlite3_stmt *q, int at, const struct tt_filter *f)
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

static sqlite3_stmt *prepare_find(struct tt_store *s, const struct tt_filter *filters, size_t n,
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
    struct tt_filter parsed[MAX_FILTERS];
    sqlite3_stmt *q = NULL;
    size_t n = 0;
    int rc = TT_OK;

    *out = (struct tt_run_rows){0};
    if (nfilters > MAX_FILTERS)
        return tt_fail(e, TT_USAGE, "%zu filters are too many: at most %d", nfilters, MAX_FILTERS);
    while (rc == TT_OK && n < nfilters) {
        rc = tt_filter_parse(s, filters[n], &parsed[n], e);
        n++;
    }
    if (rc == TT_OK && !(q = prepare_find(s, parsed, n, e)))
        rc = e->code;
    if (rc == TT_OK)
        rc = collect(s, q, out, e);
    sqlite3_finalize(q);
    while (n > 0)
        tt_filter_free(&parsed[--n]);
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
