/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comment lines say what made the file; then one row per rank and iteration. */
#include <string.h>

#include "report/outfile.h"
#include "report/report.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

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
    write_word(f, text_of(plan, "workload"));
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
                 *plan = json_object_get(result, "plan");

    fprintf(f, "# tutti %s (%s)\n", text_of(version, "version"), text_of(version, "revision"));
    write_comment(f, "run", text_of(result, "id"));
    write_comment(f, "status", text_of(result, "status"));
    write_comment(f, "workload", text_of(plan, "workload"));
    write_comment(f, "plan hash", text_of(plan, "hash"));
    write_command(f, plan);
    fputs("# iteration 0 is what happened before and after the loop\n", f);
}

static void write_rows(FILE *f, const json_t *rank)
{
    json_int_t number = json_integer_value(json_object_get(rank, "rank"));
    const json_t *row, *value;
    size_t i, k;

    json_array_foreach(json_object_get(rank, "rows"), i, row)
    {
        fprintf(f, "%lld", (long long)number);
        json_array_foreach(row, k, value) fprintf(f, ",%lld", (long long)json_integer_value(value));
        fputc('\n', f);
    }
}

int tt_report_csv(const char *path, const json_t *result, const json_t *samples, struct tt_error *e)
{
    struct tt_outfile out;
    const json_t *entry;
    size_t i;

    if (tt_outfile_open(&out, path, e) != TT_OK)
        return e->code;
    write_head(out.stream, result);
    fputs("rank", out.stream);
    json_array_foreach(json_object_get(samples, "columns"), i, entry)
        fprintf(out.stream, ",%s", json_string_value(entry));
    fputc('\n', out.stream);
    json_array_foreach(json_object_get(samples, "ranks"), i, entry) write_rows(out.stream, entry);
    return tt_outfile_close(&out, e);
}
