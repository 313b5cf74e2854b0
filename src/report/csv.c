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

/* The command's words, those that need it in quotes. */
static void write_command(FILE *f, const json_t *words)
{
    const json_t *word;
    size_t i;

    if (!json_is_array(words))
        return;
    fputs("# command:", f);
    json_array_foreach(words, i, word)
    {
        const char *w = json_is_string(word) ? json_string_value(word) : "";
        const char *quote = w[0] && !w[strcspn(w, " \t\n'\"\\$&;|<>()*?[]#~`!")] ? "" : "'";

        fprintf(f, " %s", quote);
        for (; *w; w++)
            if (*w == '\'')
                fputs("'\\''", f);
            else
                fputc((unsigned char)*w < ' ' ? ' ' : *w, f);
        fputs(quote, f);
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
    write_command(f, json_object_get(plan, "command"));
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
