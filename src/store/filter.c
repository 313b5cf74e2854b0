/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "plan/module.h"
#include "plan/registry.h"
#include "spec/units.h"

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
static int take_text(struct tt_filter *f, const char *value, struct tt_error *e)
{
    if (strcmp(f->operator, "=") && strcmp(f->operator, "<>"))
        return tt_fail(e, TT_USAGE,
                       "filter: '%.80s' is no number: compare it with = or !=", f->key);
    f->text = strdup(value);
    return f->text ? TT_OK : tt_fail_nomem(e, "a filter");
}

static int take_column(struct tt_filter *f, const char *value, struct tt_error *e)
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
static int take_parameter(struct tt_filter *f, const struct tt_param *known, const char *value,
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

static int take_metric(struct tt_filter *f, const char *unit, const char *value, struct tt_error *e)
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
static int take_indexed(struct tt_store *s, struct tt_filter *f, const char *value,
                        struct tt_error *e)
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
static const char *split(const char *word, struct tt_filter *f, struct tt_error *e)
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
    tt_fail(e, TT_USAGE, "'%.80s' is no filter: expected KEY=VALUE (or != >= <= > <)", word);
    return NULL;
}

int tt_filter_parse(struct tt_store *s, const char *word, struct tt_filter *f, struct tt_error *e)
{
    const struct tt_metric *metric;
    const struct tt_param *p;
    const char *value;

    *f = (struct tt_filter){0};
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

void tt_filter_free(struct tt_filter *f)
{
    free(f->key);
    free(f->text);
    *f = (struct tt_filter){0};
}
