/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result readable by people, its samples a row a line. */
#include <string.h>

#include <jansson.h>

#include "analysis/samples.h"
#include "base/text.h"
#include "plan/members.h"
#include "report/outfile.h"
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
    struct tt_records_header header;
    int rc = TT_OK;

    fputs("{\"columns\": [", f);
    for (int k = 0; k < TT_SAMPLE_COLUMNS; k++)
        fprintf(f, "%s\"%s\"", k ? "," : "", tt_sample_columns[k]);
    fputs("], \"ranks\": [", f);
    for (size_t i = 0; i < samples->n && rc == TT_OK; i++) {
        struct list rows = {f, ""};

        fprintf(f, "%s\n{\"rank\": %u, \"rows\": [", i ? "," : "", samples->ranks[i].header.rank);
        rc = tt_records_scan(samples->ranks[i].path, write_rows, &rows, &header, e);
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

    if (rc == TT_OK && (rc = tt_outfile_open(&out, path, e)) == TT_OK) {
        rc = write_all(out.stream, result, directory, &samples, e);
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    tt_samples_close(&samples);
    return rc;
}
