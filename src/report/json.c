/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result readable by people, its samples a row a line. */
#include <string.h>

#include <jansson.h>

#include "analysis/samples.h"
#include "analysis/tables.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/members.h"
#include "report/outfile.h"
#include "report/parameter.h"
#include "report/report.h"

static void write_key(FILE *f, const char *key, const char **separator)
{
    json_t *text = json_string(key);

    fprintf(f, "%s\n", *separator);
    json_dumpf(text, f, JSON_ENCODE_ANY);
    fputs(": ", f);
    json_decref(text);
    *separator = ",";
}

struct list {
    FILE *f;
    const char *before; /* the next element */
};

static void write_rows(void *context, const struct tt_iteration_record *records, size_t n)
{
    struct list *rows = context;
    int64_t row[TT_SAMPLE_COLUMNS];

    for (size_t i = 0; i < n; i++) {
        tt_sample_row(&records[i], row);
        fprintf(rows->f, "%s\n[%lld", rows->before, (long long)row[0]);
        for (int k = 1; k < TT_SAMPLE_COLUMNS; k++)
            fprintf(rows->f, ",%lld", (long long)row[k]);
        fputc(']', rows->f);
        rows->before = ",";
    }
}

static int write_samples(FILE *f, const struct tt_samples *samples, struct tt_error *e)
{
    int rc = TT_OK;

    fputs("{\"columns\": [", f);
    for (int k = 0; k < TT_SAMPLE_COLUMNS; k++)
        fprintf(f, "%s\"%s\"", k ? "," : "", tt_sample_columns[k]);
    fputs("], \"ranks\": [", f);
    for (size_t i = 0; i < samples->n && rc == TT_OK; i++) {
        struct list rows = {f, ""};

        fprintf(f, "%s\n{\"rank\": %u, \"rows\": [", i ? "," : "", samples->ranks[i].header.rank);
        rc = tt_samples_scan(samples, i, write_rows, &rows, e);
        fputs("]}", f);
    }
    fputs("]}", f);
    return rc;
}

static void write_epoch(void *context, const json_t *epoch)
{
    struct list *epochs = context;

    fprintf(epochs->f, "%s\n ", epochs->before);
    tt_json_print(epochs->f, epoch, 1);
    epochs->before = ",";
}

/* Of a long run they are in the file alone. */
static int write_epochs(FILE *f, const char *directory, struct tt_error *e)
{
    struct list epochs = {f, "["};
    int rc = tt_members_each(directory, "result.json", "epochs", write_epoch, &epochs, e);

    fputs(epochs.before[0] == '[' ? "[]" : "\n]", f);
    return rc;
}

/* ---- types and names ---- */

/* {"access": 0, "bytes": 4096, ...}: by the names of columns; a row with a meaning of its own has
 * its name, too. Cells beyond the columns are left out. */
static json_t *named_row(const json_t *row, const json_t *columns, const char *name)
{
    json_t *named = json_object();
    const json_t *column;
    size_t i;
    int bad = *name ? json_object_set_new(named, "row", json_string(name)) : 0;

    json_array_foreach(columns, i, column)
    {
        json_t *cell = json_array_get(row, i);

        if (cell && *tt_text_of(column, "name"))
            bad |= json_object_set(named, tt_text_of(column, "name"), cell);
    }
    return tt_json_unless(bad, named);
}

/* A table that nobody describes stays as it is. */
static json_t *named_table(const json_t *plan, const char *name, const json_t *table,
                           const json_t *columns)
{
    json_t *named = json_array(), *row;
    size_t i;
    int bad = 0;

    if (!json_is_array(columns) || !json_is_array(table)) {
        json_decref(named);
        return json_incref((json_t *)table);
    }
    json_array_foreach((json_t *)table, i, row)
    {
        bad |= json_array_append_new(named, named_row(row, columns, tt_row_name(plan, name, i)));
    }
    return tt_json_unless(bad, named);
}

json_t *tt_report_typed(const json_t *result)
{
    const json_t *plan = json_object_get(result, "plan");
    const json_t *columns = json_object_get(result, "columns"),
                 *all = json_object_get(result, "tables");
    json_t *typed = json_copy((json_t *)result), *own = NULL, *tables = json_object(), *table;
    const char *name;
    int bad = !typed || !tables;

    json_object_foreach((json_t *)all, name, table) bad |= json_object_set_new(
        tables, name, named_table(plan, name, table, json_object_get(columns, name)));
    if (json_is_object(plan)) {
        own = json_copy((json_t *)plan);
        bad |= json_object_set_new(own, "parameters",
                                   tt_parameters_json(plan, json_object_get(plan, "parameters")));
        bad |= json_object_set_new(typed, "plan", own);
    }
    if (json_is_object(all))
        bad |= json_object_set(typed, "tables", tables);
    json_decref(tables);
    return tt_json_unless(bad, typed);
}

static int write_all(FILE *f, const json_t *result, const char *directory,
                     const struct tt_samples *samples, struct tt_error *e)
{
    const char *key, *separator = "";
    int rc = TT_OK;
    json_t *value;

    fputc('{', f);
    json_object_foreach((json_t *)result, key, value)
    {
        write_key(f, key, &separator);
        if (directory && json_is_null(value) && !strcmp(key, "epochs"))
            rc = rc == TT_OK ? write_epochs(f, directory, e) : rc;
        else if (tt_json_print(f, value, 0) != 0)
            rc = tt_fail_nomem(e, "the result");
    }
    if (directory) {
        write_key(f, "samples", &separator);
        rc = rc == TT_OK ? write_samples(f, samples, e) : rc;
    }
    fputs("\n}\n", f);
    return rc;
}

int tt_report_json(const char *path, const json_t *result, const char *directory,
                   struct tt_error *e)
{
    struct tt_samples samples = {0};
    struct tt_outfile out;
    int rc = directory ? tt_samples_open(directory, &samples, e) : TT_OK;
    json_t *typed = tt_report_typed(result);

    if (rc == TT_OK && !typed)
        rc = tt_fail_nomem(e, "the result");
    if (rc == TT_OK && (rc = tt_outfile_open(&out, path, e)) == TT_OK) {
        rc = write_all(out.stream, typed, directory, &samples, e);
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    json_decref(typed);
    tt_samples_close(&samples);
    return rc;
}
