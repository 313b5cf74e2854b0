/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/search.h"

#include <string.h>

#include "base/json.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/table.h"
#include "spec/param.h"
#include "spec/units.h"

#define MOST_ROWS 10 /* of the settings that were tried; --json has all */

/* ---- for people ---- */

/* "2.00 GiB every 60.0 s, 50.0 ms an iteration, 64 ranks" */
static void say_application(FILE *out, const json_t *a)
{
    char size[TT_UNIT_TEXT], every[TT_UNIT_TEXT], compute[TT_UNIT_TEXT];
    double factor = tt_number_of(a, "factor");
    struct tt_paragraph p = {0};

    if (!json_is_object(a))
        return;
    tt_paragraph_add(&p, "%s every %s", tt_format_bytes(tt_number_of(a, "size"), size),
                     tt_format_seconds(tt_number_of(a, "every"), every));
    if (tt_number_of(a, "compute") > 0)
        tt_paragraph_add(&p, ", %s an iteration",
                         tt_format_seconds(tt_number_of(a, "compute"), compute));
    tt_paragraph_add(&p, ", %lld ranks", (long long)tt_integer_of(a, "ranks"));
    tt_paragraph_print(&p, out, "described");
    if (factor < 1)
        tt_say(out, "scaled",
               "to %.3g of it: %lld dumps of %s, each after %s of computation, as workload %s; "
               "more --max-time scales it less",
               factor, (long long)tt_integer_of(a, "dumps"),
               tt_format_bytes(tt_number_of(a, "scaled_size"), size),
               tt_format_seconds(tt_number_of(a, "scaled_every"), every),
               tt_text_of(a, "workload"));
    else
        tt_say(out, "scaled", "not at all: %lld dumps, as workload %s",
               (long long)tt_integer_of(a, "dumps"), tt_text_of(a, "workload"));
}

static void print_tried(FILE *out, const json_t *answer)
{
    const struct tt_column columns[] = {{.title = "setting", .width = 30, .least = 20},
                                        {.title = tt_text_of(answer, "label"), .right = true},
                                        {.title = "runs", .right = true, .width = 6}};
    struct tt_table table = {columns, sizeof columns / sizeof *columns, .indent = 2};
    const json_t *tried = json_object_get(answer, "tried"), *one;
    char text[TT_UNIT_TEXT];
    size_t i;

    json_array_foreach(tried, i, one)
    {
        if (i >= MOST_ROWS && !tt_is_true(one, "default"))
            continue;
        tt_table_add(&table, "%s", tt_text_of(one, "setting"));
        tt_table_add(
            &table, "%s",
            tt_format_value(tt_number_of(one, "median"), tt_text_of(answer, "unit"), text));
        tt_table_add(&table, "%lld", (long long)tt_integer_of(one, "runs"));
    }
    fputc('\n', out);
    tt_table_print(&table, out, NULL);
    if (json_array_size(tried) > MOST_ROWS)
        fprintf(out, "  ... of %zu settings; --json has all\n", json_array_size(tried));
    fputc('\n', out);
}

static void say_keys(FILE *out, const json_t *answer, bool matters)
{
    struct tt_paragraph p = {0};
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(answer, "keys"), i, one)
    {
        if (tt_is_true(one, "matters") == matters)
            tt_paragraph_add(&p, "%s%s (%.3g times)", p.n ? ", " : "", tt_text_of(one, "key"),
                             tt_number_of(one, "times"));
    }
    tt_paragraph_print(&p, out, matters ? "mattered" : "did not");
}

static void say_refused(FILE *out, const json_t *answer)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(answer, "refused"), i, one)
    {
        struct tt_paragraph p = {0};

        tt_paragraph_add(&p, "%s: %s", tt_text_of(one, "setting"), tt_text_of(one, "why"));
        tt_paragraph_print(&p, out, i == 0 ? "left out" : "");
    }
}

static void say_ways(FILE *out, const json_t *answer)
{
    const json_t *one;
    size_t i;

    if (!tt_is_true(answer, "recommended"))
        return;
    json_array_foreach(tt_member_at(answer, "best/ways"), i, one)
    {
        tt_say(out, tt_text_of(one, "way"), "%s", tt_text_of(one, "text"));
    }
}

/* "every 1.00 s: 1.31, every 2.00 s: 1.15 times the runtime without I/O" */
static void say_intervals(FILE *out, const json_t *answer)
{
    const json_t *application = json_object_get(answer, "application"), *one;
    double seconds = tt_number_of(application, "every");
    char text[TT_UNIT_TEXT];
    struct tt_paragraph p = {0};
    size_t i;

    json_array_foreach(json_object_get(answer, "intervals"), i, one)
    {
        if (seconds > 0)
            tt_format_seconds(seconds * tt_number_of(one, "times"), text);
        else
            snprintf(text, sizeof text, "%lld", (long long)tt_integer_of(one, "every"));
        tt_paragraph_add(&p, "%severy %s: %.3g", i ? ", " : "", text, tt_number_of(one, "cost"));
    }
    if (p.n > 0)
        tt_paragraph_add(&p, " times the %s without I/O", tt_text_of(answer, "label"));
    tt_paragraph_print(&p, out, "writing");
}

void tt_report_search(FILE *out, const json_t *answer)
{
    fprintf(out, "tutti %s\n", tt_text_of(answer, "search"));
    say_application(out, json_object_get(answer, "application"));
    tt_say(out, "tried", "%zu settings in %lld runs%s",
           json_array_size(json_object_get(answer, "tried")),
           (long long)tt_integer_of(answer, "runs"),
           tt_is_true(answer, "cut_short")
               ? "; the budget ended the search early, so others may be better"
               : "");
    print_tried(out, answer);
    say_keys(out, answer, true);
    say_keys(out, answer, false);
    say_intervals(out, answer);
    say_refused(out, answer);
    say_ways(out, answer);
    tt_say(out, "directory", "%s", tt_text_of(answer, "directory"));
    fputc('\n', out);
    tt_print_wrapped(out, "", tt_text_of(answer, "text"));
}

/* ---- for programs ---- */

/* A comment is one line, whatever stands in it. */
static void comment(FILE *out, const char *fmt, const char *text)
{
    struct tt_paragraph p = {0};

    tt_paragraph_add(&p, "%s", text);
    fprintf(out, "# %s%s\n", fmt, p.text);
}

int tt_report_hints(const char *path, const json_t *answer, struct tt_error *e)
{
    const json_t *ways = tt_member_at(answer, "best/ways"), *one;
    struct tt_outfile f;
    size_t i;
    int rc = tt_outfile_open(&f, path, e);

    if (rc != TT_OK)
        return rc;
    comment(f.stream, "", tt_text_of(answer, "text"));
    if (tt_is_true(answer, "recommended")) {
        json_array_foreach(ways, i, one)
        {
            const char *way = tt_text_of(one, "way"), *text = tt_text_of(one, "text");

            if (strcmp(way, "hint") != 0)
                comment(f.stream, strcmp(way, "environment") ? "" : "export ", text);
            else
                fprintf(f.stream, "%s\n", text);
        }
    }
    return tt_outfile_close(&f, e);
}

/* In quotes, since it may hold anything. */
static void put_pair(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%s: \"", key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', out);
        if ((unsigned char)*value >= ' ')
            fputc(*value, out);
    }
    fputs("\"\n", out);
}

static bool is_among(const json_t *object, const char *wanted)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        if (tt_same_key(key, wanted))
            return true;
    }
    return false;
}

int tt_report_chosen_job(const char *path, const json_t *answer, struct tt_error *e)
{
    const json_t *chosen =
        tt_is_true(answer, "recommended") ? tt_member_at(answer, "best/values") : NULL;
    struct tt_outfile f;
    const char *key;
    json_t *value;
    int rc = tt_outfile_open(&f, path, e);

    if (rc != TT_OK)
        return rc;
    comment(f.stream, "", tt_text_of(answer, "text"));
    fprintf(f.stream, "workload: %s\n", tt_text_of(answer, "workload"));
    json_object_foreach(json_object_get(answer, "base"), key, value)
    {
        if (!is_among(chosen, key))
            put_pair(f.stream, key, json_string_value(value) ? json_string_value(value) : "");
    }
    json_object_foreach((json_t *)chosen, key, value)
    {
        put_pair(f.stream, key, json_string_value(value) ? json_string_value(value) : "");
    }
    return tt_outfile_close(&f, e);
}
