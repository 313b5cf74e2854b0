/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/survey.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "report/paragraph.h"
#include "spec/units.h"

static const char *const titles[] = {"bandwidth, naive", "bandwidth, aged", "IOPS, buffered",
                                     "IOPS, direct", "IOPS over size"};
#define NTITLES (sizeof titles / sizeof *titles)

static bool is_over_size(const char *title)
{
    return strstr(title, "over size") != NULL;
}

/* What tells the rows of a table apart. */
static const char *format_place(const json_t *row, bool over_size, char text[TT_UNIT_TEXT])
{
    if (over_size)
        return tt_format_bytes(tt_number_of(row, "size"), text);
    snprintf(text, TT_UNIT_TEXT, "%lld", (long long)tt_number_of(row, "ranks"));
    return text;
}

static void print_row(FILE *out, const json_t *row, bool over_size)
{
    char mean[TT_UNIT_TEXT], deviation[TT_UNIT_TEXT] = "-", variation[16] = "-", of[TT_UNIT_TEXT];

    tt_format_value(tt_number_of(row, "mean"), tt_text_of(row, "unit"), mean);
    if (tt_has_number(row, "deviation"))
        tt_format_value(tt_number_of(row, "deviation"), tt_text_of(row, "unit"), deviation);
    if (tt_has_number(row, "variation"))
        snprintf(variation, sizeof variation, "%.1f %%", 100 * tt_number_of(row, "variation"));
    fprintf(out, "  %-10s %-7s %6lld %14s %14s %10s\n", format_place(row, over_size, of),
            tt_text_of(row, "access"), (long long)tt_number_of(row, "n"), mean, deviation,
            variation);
}

static void print_table(FILE *out, const json_t *summary, const char *title)
{
    bool over_size = is_over_size(title);
    const json_t *row;
    size_t i;

    fprintf(out, "\n%s\n  %-10s %-7s %6s %14s %14s %10s\n", title, over_size ? "size" : "N x p",
            "access", "runs", "mean", "deviation", "CV");
    json_array_foreach(summary, i, row)
    {
        if (!strcmp(tt_text_of(row, "table"), title))
            print_row(out, row, over_size);
    }
}

/* ---- warnings ---- */

static bool is_of_table(const json_t *row, const char *title)
{
    return !strcmp(tt_text_of(row, "table"), title);
}

static size_t count_rows(const json_t *rows, const char *title)
{
    const json_t *row;
    size_t i, n = 0;

    json_array_foreach(rows, i, row)
    {
        n += is_of_table(row, title);
    }
    return n;
}

/* Whether every run that a table is made of has it. */
static bool concerns_all(const json_t *rows, const json_t *summary, const char *title)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (is_of_table(row, title) && tt_number_of(row, "runs") < tt_number_of(row, "of"))
            return false;
    }
    return count_rows(rows, title) == count_rows(summary, title);
}

/* "N x p 1 write (2 of 3 runs), 2 write (1 of 3)" */
static void add_rows(struct tt_paragraph *p, const json_t *rows, const char *title)
{
    bool over_size = is_over_size(title);
    const char *what = over_size ? "size " : "N x p ", *runs = " runs", *comma = "";
    char of[TT_UNIT_TEXT];
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (!is_of_table(row, title))
            continue;
        tt_paragraph_add(p, "%s%s%s %s (%lld of %lld%s)", comma, what,
                         format_place(row, over_size, of), tt_text_of(row, "access"),
                         (long long)tt_number_of(row, "runs"), (long long)tt_number_of(row, "of"),
                         runs);
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
    for (size_t k = 0; k < NTITLES; k++) {
        struct tt_paragraph p = {0};

        if (count_rows(rows, titles[k]) == 0)
            continue;
        tt_paragraph_add(&p, "%s: ", titles[k]);
        if (concerns_all(rows, summary, titles[k]))
            tt_paragraph_add(&p, "all runs");
        else
            add_rows(&p, rows, titles[k]);
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
    struct tt_paragraph levels = {0}, directory = {0};

    fprintf(out, "tutti survey flash\n");
    for (size_t k = 0; k < NTITLES; k++)
        if (count_rows(summary, titles[k]) > 0)
            print_table(out, summary, titles[k]);
    print_warnings(out, answer);
    fputc('\n', out);
    if (json_array_size(summary) == 0)
        tt_paragraph_add(&levels, "nothing has been measured so far");
    else
        tt_paragraph_add(
            &levels, "naive and buffered figures are application-level: what a program sees, with "
                     "the write buffers and caches on its way. Aged and direct ones are "
                     "system-level: reads come from where data rests after more has been written, "
                     "requests reach the storage one by one. N x p: processes in all; mean, "
                     "deviation and CV (deviation / mean) are over all transfer sizes and "
                     "repetitions with as many processes");
    tt_paragraph_print(&levels, out, json_array_size(summary) > 0 ? "levels" : "figures");
    tt_paragraph_add(&directory, "%s", tt_text_of(answer, "directory"));
    tt_paragraph_print(&directory, out, "directory");
}
