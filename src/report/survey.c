/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/survey.h"

#include <stdbool.h>

#include <string.h>

#include "report/paragraph.h"
#include "spec/units.h"

static const char *text(const json_t *o, const char *key)
{
    const char *value = json_string_value(json_object_get(o, key));

    return value ? value : "";
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void print_row(FILE *out, const json_t *row, bool over_size)
{
    char mean[TT_UNIT_TEXT], deviation[TT_UNIT_TEXT] = "-", variation[16] = "-", of[TT_UNIT_TEXT];

    if (over_size)
        tt_format_bytes(number(row, "size"), of);
    else
        snprintf(of, sizeof of, "%lld", (long long)number(row, "ranks"));
    tt_format_value(number(row, "mean"), text(row, "unit"), mean);
    if (json_is_number(json_object_get(row, "deviation")))
        tt_format_value(number(row, "deviation"), text(row, "unit"), deviation);
    if (json_is_number(json_object_get(row, "variation")))
        snprintf(variation, sizeof variation, "%.1f %%", 100 * number(row, "variation"));
    fprintf(out, "  %-10s %-7s %6lld %14s %14s %10s\n", of, text(row, "access"),
            (long long)number(row, "n"), mean, deviation, variation);
}

static void print_table(FILE *out, const json_t *summary, const char *title)
{
    bool over_size = strstr(title, "over size") != NULL;
    const json_t *row;
    size_t i;

    fprintf(out, "\n%s\n  %-10s %-7s %6s %14s %14s %10s\n", title, over_size ? "size" : "N x p",
            "access", "runs", "mean", "deviation", "CV");
    json_array_foreach(summary, i, row)
    {
        if (!strcmp(text(row, "table"), title))
            print_row(out, row, over_size);
    }
}

void tt_report_survey(FILE *out, const json_t *answer)
{
    static const char *const titles[] = {"bandwidth, naive", "bandwidth, aged", "IOPS, buffered",
                                         "IOPS, direct", "IOPS over size"};
    const json_t *summary = json_object_get(answer, "summary"), *row;
    struct tt_paragraph levels = {0}, folder = {0};

    fprintf(out, "tutti survey flash\n");
    for (size_t k = 0; k < sizeof titles / sizeof *titles; k++) {
        size_t i;

        json_array_foreach(summary, i, row)
        {
            if (!strcmp(text(row, "table"), titles[k])) {
                print_table(out, summary, titles[k]);
                break;
            }
        }
    }
    fputc('\n', out);
    tt_paragraph_add(&levels,
                     "naive and buffered figures are application-level: what a program sees, with "
                     "the write buffers and caches on its way. Aged and direct ones are "
                     "system-level: reads come from where data rests after more has been written, "
                     "requests reach the storage one by one. N x p: processes in all; mean, "
                     "deviation and CV (deviation / mean) are over all transfer sizes and "
                     "repetitions with as many processes");
    tt_paragraph_print(&levels, out, "levels");
    tt_paragraph_add(&folder, "%s", text(answer, "folder"));
    tt_paragraph_print(&folder, out, "folder");
}
