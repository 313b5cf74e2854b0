/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comment lines say what made the file; then one row per rank and iteration. */
#include <string.h>

#include "analysis/samples.h"
#include "base/json.h"
#include "report/outfile.h"
#include "report/report.h"

/* "# name: value" without line breaks, which would end the comment. */
static void write_comment(FILE *f, const char *name, const char *value)
{
    fprintf(f, "# %s: ", name);
    for (; *value; value++)
        fputc((unsigned char)*value < ' ' ? ' ' : *value, f);
    fputc('\n', f);
}

/* A word of a command, in quotes if a shell needs them. */
static void write_word(FILE *f, const char *word)
{
    const char *quote = word[strcspn(word, " \t\n'\"\\$&;|<>()*?[]#~`!")] ? "'" : "";

    fputs(quote, f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc((unsigned char)*word < ' ' ? ' ' : *word, f);
    fputs(quote, f);
}

/* A command that repeats the run: every parameter of the plan, however it was set. */
static void write_command(FILE *f, const json_t *plan)
{
    const char *key, *text;
    json_t *value;

    fputs("# command: tutti run ", f);
    write_word(f, tt_text_of(plan, "workload"));
    json_object_foreach(json_object_get(plan, "parameters"), key, value)
    {
        text = json_string_value(value);
        if (!text || !text[0] || !strcmp(key, "json") || !strcmp(key, "csv"))
            continue;
        fputs(" --", f);
        write_word(f, key);
        fputc('=', f);
        write_word(f, text);
    }
    fputc('\n', f);
}

static void write_head(FILE *f, const json_t *result)
{
    const json_t *version = json_object_get(result, "tutti"),
                 *plan = json_object_get(result, "plan"),
                 *reduced = json_object_get(result, "reduced");

    fprintf(f, "# tutti %s (%s)\n", tt_text_of(version, "version"),
            tt_text_of(version, "revision"));
    write_comment(f, "run", tt_text_of(result, "id"));
    write_comment(f, "status", tt_text_of(result, "status"));
    write_comment(f, "workload", tt_text_of(plan, "workload"));
    write_comment(f, "plan hash", tt_text_of(plan, "hash"));
    write_command(f, plan);
    fputs("# iteration 0 is what happened before and after the loop\n", f);
    if (tt_number_of(reduced, "iterations") > 0)
        fprintf(f, "# after iteration %.0f only a sample of ranks has rows\n",
                tt_number_of(reduced, "whole"));
}

struct rows {
    FILE *f;
    unsigned rank;
};

static void write_rows(void *context, const struct tt_iteration_record *list, size_t n)
{
    const struct rows *rows = context;
    int64_t row[TT_SAMPLE_COLUMNS];

    for (size_t i = 0; i < n; i++) {
        tt_sample_row(&list[i], row);
        fprintf(rows->f, "%u", rows->rank);
        for (int k = 0; k < TT_SAMPLE_COLUMNS; k++)
            fprintf(rows->f, ",%lld", (long long)row[k]);
        fputc('\n', rows->f);
    }
}

int tt_report_csv(const char *path, const json_t *result, const char *directory, struct tt_error *e)
{
    struct tt_samples samples;
    struct tt_outfile out;
    int rc = tt_samples_open(directory, &samples, e);

    if (rc == TT_OK && (rc = tt_outfile_open(&out, path, e)) == TT_OK) {
        write_head(out.stream, result);
        fputs("rank", out.stream);
        for (int k = 0; k < TT_SAMPLE_COLUMNS; k++)
            fprintf(out.stream, ",%s", tt_sample_columns[k]);
        fputc('\n', out.stream);
        for (size_t i = 0; i < samples.n && rc == TT_OK; i++) {
            struct rows rows = {out.stream, samples.ranks[i].header.rank};

            rc = tt_samples_scan(&samples, i, write_rows, &rows, e);
        }
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    tt_samples_close(&samples);
    return rc;
}
