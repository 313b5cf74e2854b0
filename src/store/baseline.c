/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/baseline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/statistics.h"
#include "base/json.h"
#include "plan/directory.h"
#include "plan/registry.h"
#include "plan/workload.h"

#define MAX_FILTERS 32

/* What makes a machine another one. Host names do not: a cluster's nodes are alike. */
static const char *const machine[] = {"cpu", "cpus", "architecture", "data.filesystem", NULL};

/* What a stored run has to be like: one of the runs that are judged. */
struct like {
    char *workload;
    json_t *parameters, *environment;
};

/* Runs that were left out for one reason, and what told the first of them. */
struct other {
    size_t n;
    char key[64], there[64], here[64];
};
struct left_out {
    size_t invalid;
    struct other plan, machine;
};

static int open_store(struct tt_baselines *b, struct tt_error *e)
{
    struct tt_error stale = TT_ERROR_CLEAR;
    struct tt_index_report report = {0};
    int rc;

    if (b->store)
        return TT_OK;
    rc = tt_store_open_updated(b->results, &b->store, &report, &stale, e);
    b->refused = report.refused;
    return rc;
}

static int find(struct tt_baselines *b, const char *conditions, struct tt_run_rows *rows,
                struct tt_error *e)
{
    const char *filters[MAX_FILTERS];
    char *copy = strdup(conditions);
    int rc = copy ? open_store(b, e) : tt_fail_nomem(e, "conditions");

    if (rc == TT_OK)
        rc =
            tt_store_find(b->store, tt_filters_split(copy, filters, MAX_FILTERS), filters, rows, e);
    free(copy);
    return rc;
}

/* Whoever makes the first runs, to be the baseline of later ones, has no results yet. */
static int check(void *context, const char *conditions, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_run_rows rows = {0};
    struct tt_baselines *b = context;
    int rc;

    rc = access(b->results, F_OK) == 0 ? find(b, conditions, &rows, &why) : TT_OK;
    if (rc == TT_OK && rows.n == 0 && !b->missing[0])
        snprintf(b->missing, sizeof b->missing, "%s", conditions);
    tt_run_rows_free(&rows);
    return rc == TT_OK ? rc : tt_fail(e, rc, "require: baseline(%.100s): %s", conditions, why.text);
}

/* The name of an ensemble's directory is nobody else's. */
static bool is_own(const struct tt_baselines *b, const struct tt_run_row *row)
{
    const char *name = b->own ? tt_directory_id(b->own) : "";
    const char *at = *name ? strstr(row->directory, name) : NULL;

    return at && (at == row->directory || at[-1] == '/') && at[strlen(name)] == '/';
}

/* ---- what a run is like ---- */

static void free_like(struct like *l)
{
    free(l->workload);
    json_decref(l->parameters);
    json_decref(l->environment);
}

static int load_like(struct tt_baselines *b, const struct tt_run_row *row, struct like *out,
                     struct tt_error *e)
{
    int rc = tt_store_parameters(b->store, row->key, &out->parameters, e);

    if (rc == TT_OK)
        rc = tt_store_environment(b->store, row->key, &out->environment, e);
    if (rc == TT_OK && !(out->workload = strdup(row->workload)))
        rc = tt_fail_nomem(e, "a run");
    return rc;
}

/* A run of its own is what a reference without others is. */
static bool has_others(const json_t *parameters, uint64_t others)
{
    const char *context = tt_text_of(parameters, "context");
    char wanted[40];

    snprintf(wanted, sizeof wanted, "reference, %" PRIu64 " others", others);
    return !strcmp(context, wanted) || (others == 0 && !*context);
}

/* The last of the runs that are judged. */
static int find_own(struct tt_baselines *b, uint64_t others, struct like *out, struct tt_error *e)
{
    struct tt_run_rows rows = {0};
    bool found = false;
    int rc = open_store(b, e);

    if (rc == TT_OK)
        rc = tt_store_find(b->store, 0, NULL, &rows, e);
    for (size_t i = rows.n; i-- > 0 && rc == TT_OK && !found;) {
        struct like one = {0};

        if (!is_own(b, &rows.rows[i]) || !rows.rows[i].valid)
            continue;
        rc = load_like(b, &rows.rows[i], &one, e);
        found = rc == TT_OK && has_others(one.parameters, others);
        if (found)
            *out = one;
        else
            free_like(&one);
    }
    tt_run_rows_free(&rows);
    return rc;
}

/* Whether a key tells nothing of what was measured: the context was looked at before, and jobs of
 * an ensemble have no baseline epochs, which some workloads never have. */
static bool is_idle(const char *key, const char *workload)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_workload *w = tt_find_workload(workload, &ignored);

    return !strcmp(key, "context") || (!strcmp(key, "baseline") && w && !w->has_epochs);
}

/* The first parameter that a result depends on and that differs; NULL: none does. */
static const char *other_parameter(const struct like *a, const struct like *b)
{
    const char *keys[3]; /* two of them may be idle */
    size_t n = tt_parameters_differ(a->parameters, b->parameters, 3, keys);

    for (size_t i = 0; i < n && i < 3; i++)
        if (!is_idle(keys[i], a->workload))
            return keys[i];
    return NULL;
}

/* Whether one of the conditions is about this key. */
static bool is_named(const char *conditions, const char *key)
{
    size_t n = strlen(key);

    for (const char *at = conditions; (at = strstr(at, key)); at += n)
        if ((at == conditions || at[-1] == ',') && at[n] && strchr("=!<>", at[n]))
            return true;
    return false;
}

/* The first fact of the machine that differs and that no condition names; NULL: none does. */
static const char *other_machine(const struct like *a, const struct like *b, const char *conditions)
{
    for (size_t i = 0; machine[i]; i++)
        if (!is_named(conditions, machine[i]) &&
            strcmp(tt_text_of(a->environment, machine[i]), tt_text_of(b->environment, machine[i])))
            return machine[i];
    return NULL;
}

/* ---- the runs ---- */

static void leave_out(struct other *o, const char *key, const char *there, const char *here)
{
    if (o->n++ > 0)
        return;
    snprintf(o->key, sizeof o->key, "%s", key);
    snprintf(o->there, sizeof o->there, "%s", *there ? there : "not set");
    snprintf(o->here, sizeof o->here, "%s", *here ? here : "not set");
}

/* Whether the run may be compared with; else it is counted as left out. */
static bool is_comparable(const struct like *own, const struct like *run, uint64_t others,
                          const char *conditions, struct left_out *out)
{
    const char *key;

    if (strcmp(own->workload, run->workload)) {
        leave_out(&out->plan, "workload", run->workload, own->workload);
        return false;
    }
    key = has_others(run->parameters, others) ? other_parameter(own, run) : "context";
    if (key) {
        leave_out(&out->plan, key, tt_text_of(run->parameters, key),
                  tt_text_of(own->parameters, key));
        return false;
    }
    key = other_machine(own, run, conditions);
    if (key)
        leave_out(&out->machine, key, tt_text_of(run->environment, key),
                  tt_text_of(own->environment, key));
    return !key;
}

static int add_run(struct tt_baselines *b, const struct tt_run_row *row, const char *metric,
                   struct tt_baseline *out, struct tt_error *e)
{
    bool known = false;
    double value = NAN;
    int rc = tt_store_metric(b->store, row->key, metric, &known, &value, e);

    if (rc == TT_OK && known && isfinite(value))
        out->values[out->n++] = value;
    return rc;
}

/* "2 stored runs with label=golden can be compared with, 6 are needed; 5 of another plan: size is
 * 64 there, 128 here" */
static void say_why(const struct tt_baselines *b, const char *conditions,
                    const struct left_out *left, size_t needed, struct tt_baseline *out)
{
    const struct other *other = left->machine.n ? &left->machine : &left->plan;
    size_t n = (size_t)snprintf(out->why, sizeof out->why,
                                "%zu stored run%s with %.60s can be compared with, %zu are needed",
                                out->n, out->n == 1 ? "" : "s", conditions, needed);

    if (other->n && n < sizeof out->why)
        n += (size_t)snprintf(
            out->why + n, sizeof out->why - n, "; %zu of another %s: %s is %.40s there, %.40s here",
            other->n, left->machine.n ? "machine" : "plan", other->key, other->there, other->here);
    if (left->invalid && n < sizeof out->why)
        n += (size_t)snprintf(out->why + n, sizeof out->why - n, "; %zu not valid", left->invalid);
    if (b->refused && n < sizeof out->why)
        snprintf(out->why + n, sizeof out->why - n, "; %" PRIu64 " refused, see tutti index",
                 b->refused);
}

static int take_rows(struct tt_baselines *b, const struct tt_run_rows *rows, const struct like *own,
                     const char *conditions, const struct tt_metric *metric, uint64_t others,
                     struct tt_baseline *out, struct tt_error *e)
{
    size_t needed = tt_runs_for_interval(TT_LEVEL);
    struct left_out left = {0};
    int rc = TT_OK;

    for (size_t i = 0; i < rows->n && rc == TT_OK; i++) {
        struct like run = {0};

        if (is_own(b, &rows->rows[i]))
            continue;
        if (!rows->rows[i].valid) {
            left.invalid++;
            continue;
        }
        rc = load_like(b, &rows->rows[i], &run, e);
        if (rc == TT_OK && is_comparable(own, &run, others, conditions, &left))
            rc = add_run(b, &rows->rows[i], metric->name, out, e);
        free_like(&run);
    }
    if (rc == TT_OK && out->n < needed)
        say_why(b, conditions, &left, needed, out);
    return rc;
}

static int find_values(void *context, const char *conditions, const struct tt_metric *metric,
                       uint64_t others, struct tt_baseline *out, struct tt_error *e)
{
    struct tt_baselines *b = context;
    struct tt_run_rows rows = {0};
    struct like own = {0};
    int rc = find(b, conditions, &rows, e);

    if (rc == TT_OK)
        rc = find_own(b, others, &own, e);
    if (rc == TT_OK && !own.parameters)
        snprintf(out->why, sizeof out->why, "its own runs are not in the index of '%.100s'",
                 b->results);
    else if (rc == TT_OK && !(out->values = calloc(rows.n + 1, sizeof *out->values)))
        rc = tt_fail_nomem(e, "the baseline");
    else if (rc == TT_OK)
        rc = take_rows(b, &rows, &own, conditions, metric, others, out, e);
    free_like(&own);
    tt_run_rows_free(&rows);
    return rc;
}

struct tt_baseline_source tt_baseline_source(struct tt_baselines *b)
{
    return (struct tt_baseline_source){check, find_values, b};
}

void tt_baselines_close(struct tt_baselines *b)
{
    tt_store_close(b->store);
    b->store = NULL;
}
