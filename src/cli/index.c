/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti index [DIR] [--rebuild]: bring the index up to date, and say what was refused and why. */
#include <stdio.h>
#include <string.h>

#include "cli/choose.h"
#include "cli/command.h"
#include "cli/option.h"
#include "report/paragraph.h"

static const char usage[] =
    "usage: tutti index [DIR] [--rebuild]\n\n"
    "DIR is the results directory (tutti-runs). The index, DIR/index.sqlite, can be\n"
    "deleted at any time: it is made again from the run directories.\n";

static void print_report(const struct tt_store *s, const struct tt_index_report *r)
{
    const char *directory;
    char line[1400];
    json_t *why;

    printf("%llu added, %llu kept, %llu removed, %llu refused", (unsigned long long)r->added,
           (unsigned long long)r->kept, (unsigned long long)r->removed,
           (unsigned long long)r->refused);
    if (r->unfinished)
        printf(", %llu not over yet", (unsigned long long)r->unfinished);
    putchar('\n');
    json_object_foreach((json_t *)tt_store_refused(s), directory, why)
    {
        snprintf(line, sizeof line, "%s: %s", directory, json_string_value(why));
        tt_disarm(line);
        fprintf(stderr, "tutti: refused %s\n", line);
    }
}

int tt_cmd_index(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const char *directory = NULL;
    bool help = false, rebuild = false;
    const struct tt_option options[] = {
        {"--rebuild", NULL, &rebuild}, {"--help", NULL, &help}, {NULL, NULL, NULL}};
    struct tt_index_report report;
    struct tt_store *s = NULL;

    if (tt_take_options(argc, argv, options, &directory, &e) != TT_OK)
        return tt_report_error(&e);
    if (help)
        return fputs(usage, stdout) < 0;
    if (tt_store_open(directory ? directory : TT_DEFAULT_RESULTS, true, &s, &e) == TT_OK &&
        tt_store_index(s, rebuild, &report, &e) == TT_OK)
        print_report(s, &report);
    tt_store_close(s);
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
