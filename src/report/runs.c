/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of runs for a terminal. */
#include "report/runs.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "report/table.h"
#include "spec/units.h"

static const struct tt_column columns[] = {
    {.title = "id", .least = 8, .optional = true},
    {.title = "label", .least = 5, .optional = true},
    {.title = "context", .least = 12, .optional = true},
    {.title = "workload", .least = 6, .optional = true},
    {.title = "ranks", .right = true},
    {.title = "backend", .least = 4},
    {.title = "overlap/sync", .least = 6},
    {.title = "runtime", .right = true},
    {.title = "write rate", .right = true},
    {.title = "status", .least = 6},
};

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
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .tight = true};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < runs->n; i++)
        rc = add_run(&t, s, &runs->rows[i], e);
    if (rc == TT_OK)
        return tt_table_print(&t, out, e);
    tt_table_free(&t);
    return rc;
}
