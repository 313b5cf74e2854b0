/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/survey.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "report/paragraph.h"
#include "report/table.h"
#include "spec/units.h"

const struct tt_survey_table tt_survey_tables[TT_SURVEY_NTABLES] = {
    [TT_SURVEY_NAIVE] = {"bandwidth, naive", "bandwidth", "B/s", false},
    [TT_SURVEY_AGED] = {"bandwidth, aged", "bandwidth", "B/s", false},
    [TT_SURVEY_BUFFERED] = {"IOPS, buffered", "iops", "1/s", false},
    [TT_SURVEY_DIRECT] = {"IOPS, direct", "iops", "1/s", false},
    [TT_SURVEY_OVER_SIZE] = {"IOPS over size", "iops", "1/s", true},
};

const struct tt_survey_table *tt_survey_table_of(const json_t *row)
{
    for (size_t i = 0; i < TT_SURVEY_NTABLES; i++)
        if (!strcmp(tt_survey_tables[i].title, tt_text_of(row, "table")))
            return &tt_survey_tables[i];
    return &tt_survey_tables[0];
}

/* What tells the rows of a table apart. */
static const char *format_place(const json_t *row, char text[TT_UNIT_TEXT])
{
    if (tt_survey_table_of(row)->over_size)
        return tt_format_bytes(tt_number_of(row, "size"), text);
    snprintf(text, TT_UNIT_TEXT, "%lld", (long long)tt_number_of(row, "ranks"));
    return text;
}

static bool is_of_table(const json_t *row, const struct tt_survey_table *t)
{
    return !strcmp(tt_text_of(row, "table"), t->title);
}

static size_t count_rows(const json_t *rows, const struct tt_survey_table *t)
{
    const json_t *row;
    size_t i, n = 0;

    json_array_foreach(rows, i, row)
    {
        n += is_of_table(row, t);
    }
    return n;
}

static void print_table(FILE *out, const json_t *summary, const struct tt_survey_table *t)
{
    const struct tt_column columns[] = {{.title = t->over_size ? "size" : "N x p", .width = 10},
                                        {.title = "access", .width = 7},
                                        {.title = "runs", .right = true, .width = 6},
                                        {.title = "mean", .right = true, .width = 14},
                                        {.title = "deviation", .right = true, .width = 14},
                                        {.title = "CV", .right = true, .width = 10}};
    struct tt_table table = {columns, sizeof columns / sizeof *columns, .indent = 2};
    char text[TT_UNIT_TEXT];
    const json_t *row;
    size_t i;

    json_array_foreach(summary, i, row)
    {
        if (!is_of_table(row, t))
            continue;
        tt_table_add(&table, "%s", format_place(row, text));
        tt_table_add(&table, "%s", tt_text_of(row, "access"));
        tt_table_add(&table, "%lld", (long long)tt_number_of(row, "n"));
        tt_table_add(&table, "%s", tt_format_value(tt_number_of(row, "mean"), t->unit, text));
        tt_table_add(&table, "%s",
                     tt_has_number(row, "deviation")
                         ? tt_format_value(tt_number_of(row, "deviation"), t->unit, text)
                         : "-");
        if (tt_has_number(row, "variation"))
            tt_table_add(&table, "%.1f %%", 100 * tt_number_of(row, "variation"));
        else
            tt_table_add(&table, "-");
    }
    fprintf(out, "\n%s\n", t->title);
    tt_table_print(&table, out, NULL);
}

/* ---- warnings ---- */

/* Whether every run that a table is made of has it. */
static bool concerns_all(const json_t *rows, const json_t *summary, const struct tt_survey_table *t)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (is_of_table(row, t) && tt_number_of(row, "runs") < tt_number_of(row, "of"))
            return false;
    }
    return count_rows(rows, t) == count_rows(summary, t);
}

/* "N x p 1 write (2 of 3 runs), 2 write (1 of 3)" */
static void add_rows(struct tt_paragraph *p, const json_t *rows, const struct tt_survey_table *t)
{
    const char *what = t->over_size ? "size " : "N x p ", *runs = " runs", *comma = "";
    char of[TT_UNIT_TEXT];
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (!is_of_table(row, t))
            continue;
        tt_paragraph_add(p, "%s%s%s %s (%lld of %lld%s)", comma, what, format_place(row, of),
                         tt_text_of(row, "access"), (long long)tt_number_of(row, "runs"),
                         (long long)tt_number_of(row, "of"), runs);
        what = runs = "";
        comma = ", ";
    }
}

/* Once, and below it which figures it stands beside. */
static void print_warning(FILE *out, const json_t *warning, const json_t *summary)
{
    const json_t *rows = json_object_get(warning, "rows");
    const char *said = tt_text_of(warning, "text");
    struct tt_paragraph head = {0};

    tt_paragraph_add(&head, "%s", said);
    if (strpbrk(said, "0123456789"))
        tt_paragraph_add(&head, " (numbers of the first such run)");
    tt_paragraph_print_marked(&head, out, "! ");
    for (const struct tt_survey_table *t = tt_survey_tables;
         t < tt_survey_tables + TT_SURVEY_NTABLES; t++) {
        struct tt_paragraph p = {0};

        if (count_rows(rows, t) == 0)
            continue;
        tt_paragraph_add(&p, "%s: ", t->title);
        if (concerns_all(rows, summary, t))
            tt_paragraph_add(&p, "all runs");
        else
            add_rows(&p, rows, t);
        tt_paragraph_print_marked(&p, out, "    ");
    }
}

static void print_warnings(FILE *out, const json_t *answer)
{
    const json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(answer, "warnings"), i, warning)
    {
        if (i == 0)
            fputc('\n', out);
        print_warning(out, warning, json_object_get(answer, "summary"));
    }
}

/* ---- all of it ---- */

void tt_report_survey(FILE *out, const json_t *answer)
{
    const json_t *summary = json_object_get(answer, "summary");

    fprintf(out, "tutti survey flash\n");
    for (size_t k = 0; k < TT_SURVEY_NTABLES; k++)
        if (count_rows(summary, &tt_survey_tables[k]) > 0)
            print_table(out, summary, &tt_survey_tables[k]);
    print_warnings(out, answer);
    fputc('\n', out);
    if (json_array_size(summary) == 0)
        tt_say(out, "figures", "nothing has been measured so far");
    else
        tt_say(out, "levels",
               "naive and buffered figures are application-level: what a program sees, with "
               "the write buffers and caches on its way. Aged and direct ones are "
               "system-level: reads come from where data rests after more has been written, "
               "requests reach the storage one by one. N x p: processes in all; mean, "
               "deviation and CV (deviation / mean) are over all transfer sizes and "
               "repetitions with as many processes");
    tt_say(out, "directory", "%s", tt_text_of(answer, "directory"));
}
