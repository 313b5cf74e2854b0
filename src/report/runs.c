/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs for a terminal, and as JSON and CSV, one at a time, since there may be many. */
#include "report/runs.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/json.h"
#include "base/text.h"
#include "report/outfile.h"
#include "report/table.h"
#include "spec/units.h"

/* ---- for a terminal ---- */

static const struct tt_column before_metrics[] = {
    {.title = "id", .least = 8, .optional = true},
    {.title = "label", .least = 5, .optional = true},
    {.title = "context", .least = 12, .optional = true},
    {.title = "workload", .least = 6, .optional = true},
    {.title = "ranks", .right = true},
    {.title = "backend", .least = 4},
    {.title = "overlap/sync", .least = 6},
};
#define NBEFORE (sizeof before_metrics / sizeof *before_metrics)
static const struct tt_column after_metrics = {.title = "status", .least = 6};

/* In the order in which add_run adds cells; returns how many there are. */
static unsigned list_columns(struct tt_column columns[NBEFORE + TT_NMETRICS + 1])
{
    unsigned n = NBEFORE;

    memcpy(columns, before_metrics, sizeof before_metrics);
    for (int i = 0; i < TT_NMETRICS; i++)
        if (tt_metrics[i].shown & TT_SHOWN_LISTED)
            columns[n++] = (struct tt_column){.title = tt_metrics[i].label, .right = true};
    columns[n++] = after_metrics;
    return n;
}

static int add_metric(struct tt_table *t, struct tt_store *s, int64_t run,
                      const struct tt_metric *metric, struct tt_error *e)
{
    char text[TT_UNIT_TEXT];
    double value = 0;
    bool known = false;
    int rc = tt_store_metric(s, run, metric->name, &known, &value, e);

    tt_table_add(t, "%s", known ? tt_format_value(value, metric->unit, text) : "-");
    return rc;
}

/* What follows the time in the id is enough to name it. */
static const char *short_id(const char *id)
{
    const char *dash = strrchr(id, '-');

    return dash && dash[1] ? dash + 1 : id;
}

static int add_parameters(struct tt_table *t, struct tt_store *s, int64_t run, struct tt_error *e)
{
    static const char *const keys[] = {"backend", "overlap", "sync"};
    char *values[3] = {NULL};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < 3; i++)
        rc = tt_store_parameter(s, run, keys[i], &values[i], e);
    tt_table_add(t, "%s", values[0] ? values[0] : "-");
    tt_table_add(t, "%s/%s", values[1] ? values[1] : "-", values[2] ? values[2] : "-");
    for (size_t i = 0; i < 3; i++)
        free(values[i]);
    return rc;
}

static int add_run(struct tt_table *t, struct tt_store *s, const struct tt_run_row *r,
                   struct tt_error *e)
{
    bool wrong = !strcmp(r->status, "done") && !r->valid;
    char *context = NULL;
    int rc = tt_store_parameter(s, r->key, "context", &context, e);

    tt_table_add(t, "%s", short_id(r->id));
    tt_table_add(t, "%s", r->label);
    tt_table_add(t, "%s", context ? context : "");
    tt_table_add(t, "%s", r->workload);
    tt_table_add(t, "%llu", (unsigned long long)r->ranks);
    free(context);
    if (rc == TT_OK)
        rc = add_parameters(t, s, r->key, e);
    for (int i = 0; i < TT_NMETRICS && rc == TT_OK; i++)
        if (tt_metrics[i].shown & TT_SHOWN_LISTED)
            rc = add_metric(t, s, r->key, &tt_metrics[i], e);
    tt_table_add(t, "%s", wrong ? "invalid" : r->status);
    return rc;
}

int tt_report_runs(FILE *out, struct tt_store *s, const struct tt_run_rows *runs,
                   struct tt_error *e)
{
    struct tt_column columns[NBEFORE + TT_NMETRICS + 1];
    struct tt_table t = {columns, list_columns(columns), .tight = true};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < runs->n; i++)
        rc = add_run(&t, s, &runs->rows[i], e);
    if (rc == TT_OK)
        return tt_table_print(&t, out, e);
    tt_table_free(&t);
    return rc;
}

/* ---- JSON ---- */

/* What the list shows; like the whole thing, but with less in it. */
static int add_shown(json_t *run, struct tt_store *s, int64_t key, struct tt_error *e)
{
    static const char *const parameters[] = {"backend", "overlap", "sync"};
    json_t *p = json_object(), *m = json_object();
    int rc = TT_OK, bad = 0;

    for (size_t i = 0; rc == TT_OK && i < sizeof parameters / sizeof *parameters; i++) {
        char *value = NULL;

        rc = tt_store_parameter(s, key, parameters[i], &value, e);
        if (value)
            bad |= json_object_set_new(p, parameters[i], tt_json_text(value));
        free(value);
    }
    for (int i = 0; rc == TT_OK && i < TT_NMETRICS; i++) {
        double value = 0;
        bool known;

        if (!(tt_metrics[i].shown & TT_SHOWN_LISTED))
            continue;
        rc = tt_store_metric(s, key, tt_metrics[i].name, &known, &value, e);
        bad |= json_object_set_new(m, tt_metrics[i].name,
                                   json_pack("{s:o, s:s}", "value",
                                             known ? json_real(value) : json_null(), "unit",
                                             tt_metrics[i].unit));
    }
    bad |= json_object_set_new(run, "parameters", p);
    bad |= json_object_set_new(run, "metrics", m);
    return rc == TT_OK && bad ? tt_fail_nomem(e, "a run") : rc;
}

static int add_everything(json_t *run, struct tt_store *s, int64_t key, struct tt_error *e)
{
    json_t *parameters = NULL, *metrics = NULL, *phases = NULL, *environment = NULL;
    int bad = 0;

    if (tt_store_parameters(s, key, &parameters, e) == TT_OK &&
        tt_store_values(s, key, TT_STORED_METRICS, &metrics, e) == TT_OK &&
        tt_store_values(s, key, TT_STORED_PHASES, &phases, e) == TT_OK)
        tt_store_environment(s, key, &environment, e);
    bad |= json_object_set_new(run, "parameters", parameters);
    bad |= json_object_set_new(run, "metrics", metrics);
    bad |= json_object_set_new(run, "phases", phases);
    bad |= json_object_set_new(run, "environment", environment);
    return e->code == TT_OK && bad ? tt_fail_nomem(e, "a run") : e->code;
}

static json_t *run_json(const struct tt_run_row *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:b, s:f}", "id", tt_json_text(r->id),
                     "label", *r->label ? tt_json_text(r->label) : json_null(), "directory",
                     tt_json_text(r->directory), "workload", tt_json_text(r->workload), "plan",
                     tt_json_text(r->plan_hash), "ranks", (json_int_t)r->ranks, "status",
                     tt_json_text(r->status), "valid", r->valid, "start", r->start_seconds);
}

int tt_report_runs_json(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                        bool everything, struct tt_error *e)
{
    struct tt_outfile out;
    int rc = tt_outfile_open(&out, path, e);

    if (rc != TT_OK)
        return rc;
    fputs("{\"runs\": [", out.stream);
    for (size_t i = 0; rc == TT_OK && i < runs->n; i++) {
        json_t *run = run_json(&runs->rows[i]);

        rc = (everything ? add_everything : add_shown)(run, s, runs->rows[i].key, e);
        if (rc == TT_OK) {
            fputs(i ? ",\n" : "\n", out.stream);
            json_dumpf(run, out.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
        }
        json_decref(run);
    }
    fputs("\n]}\n", out.stream);
    return rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
}

/* ---- CSV ---- */

static const enum tt_stored in_csv[] = {TT_STORED_PARAMETERS, TT_STORED_METRICS};
#define NGROUPS (sizeof in_csv / sizeof *in_csv)

/* {"stencil.size [points]": "4096", ...} of one run. */
static int named_values(struct tt_store *s, int64_t run, enum tt_stored group, json_t **out,
                        struct tt_error *e)
{
    json_t *values, *value;
    const char *key;
    int bad = 0, rc = tt_store_values(s, run, group, &values, e);

    *out = NULL;
    if (rc != TT_OK)
        return rc;
    *out = json_object();
    json_object_foreach(values, key, value)
    {
        const char *unit = tt_text_of(value, "unit");
        bool bare = !*unit || !strcmp(unit, "1");
        char *name;

        if (bad || asprintf(&name, "%s%s%s%s", key, bare ? "" : " [", bare ? "" : unit,
                            bare ? "" : "]") < 0) {
            bad = 1;
            break;
        }
        bad = json_object_set(*out, name, json_object_get(value, "value"));
        free(name);
    }
    json_decref(values);
    return bad ? tt_fail_nomem(e, "values") : TT_OK;
}

/* Every column that some run has. */
static int collect_columns(struct tt_store *s, const struct tt_run_rows *runs, enum tt_stored group,
                           json_t *columns, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < runs->n; i++) {
        json_t *values;

        rc = named_values(s, runs->rows[i].key, group, &values, e);
        if (rc == TT_OK && json_object_update(columns, values) != 0)
            rc = tt_fail_nomem(e, "columns");
        json_decref(values);
    }
    return rc;
}

static int write_run(struct tt_outfile *f, struct tt_store *s, const struct tt_run_row *r,
                     json_t *const columns[NGROUPS], struct tt_error *e)
{
    const char *const texts[] = {r->id,        r->directory, r->workload,
                                 r->plan_hash, r->status,    r->valid ? "yes" : "no"};
    const char *name;
    json_t *ignored;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tt_csv_text(f, texts[i]);
    tt_csv_number(f, r->start_seconds, 6);
    for (size_t g = 0; g < NGROUPS; g++) {
        json_t *values;

        if (named_values(s, r->key, in_csv[g], &values, e) == TT_OK)
            json_object_foreach(columns[g], name, ignored)
            {
                const json_t *value = json_object_get(values, name);
                char number[40] = "";

                if (json_is_number(value)) /* as exactly as it was measured */
                    snprintf(number, sizeof number, "%.17g", json_number_value(value));
                tt_csv_text(f, json_is_string(value) ? json_string_value(value) : number);
            }
        json_decref(values);
    }
    tt_csv_end_row(f);
    return e->code;
}

static void write_titles(struct tt_outfile *f, json_t *const columns[NGROUPS])
{
    const char *name;
    json_t *ignored;

    fputs("id,directory,workload,plan,status,valid,start [s]", f->stream);
    f->in_row = true;
    for (size_t g = 0; g < NGROUPS; g++)
        json_object_foreach(columns[g], name, ignored) tt_csv_text(f, name);
    tt_csv_end_row(f);
}

int tt_report_runs_csv(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                       struct tt_error *e)
{
    json_t *columns[NGROUPS] = {NULL};
    struct tt_outfile out;
    int rc = TT_OK;

    for (size_t g = 0; rc == TT_OK && g < NGROUPS; g++) {
        columns[g] = json_object();
        rc = collect_columns(s, runs, in_csv[g], columns[g], e);
    }
    if (rc == TT_OK)
        rc = tt_outfile_open(&out, path, e);
    if (rc == TT_OK) {
        write_titles(&out, columns);
        for (size_t i = 0; rc == TT_OK && i < runs->n; i++)
            rc = write_run(&out, s, &runs->rows[i], columns, e);
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    for (size_t g = 0; g < NGROUPS; g++)
        json_decref(columns[g]);
    return rc;
}
