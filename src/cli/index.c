/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti index: bring the index up to date, and say what was refused and why. */
#include <string.h>

#include "cli/choose.h"
#include "cli/command.h"
#include "report/paragraph.h"

struct index {
    bool rebuild;
};

static const struct tt_param params[] = {
    {"rebuild", TT_PARAM_BOOL, offsetof(struct index, rebuild), NULL, NULL,
     "read every directory again"},
    {NULL},
};

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

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct index *o = call->opts;
    struct tt_index_report report;
    struct tt_store *s = NULL;
    int rc = tt_store_open(call->nwords ? call->words[0] : TT_DEFAULT_RESULTS, true, &s, e);

    if (rc == TT_OK)
        rc = tt_store_index(s, o->rebuild, &report, e);
    if (rc == TT_OK)
        print_report(s, &report);
    tt_store_close(s);
    return rc;
}

const struct tt_command tt_command_index = {
    .name = "index",
    .summary = "bring the index of a results directory up to date",
    .synopsis = "tutti index [DIR] [--rebuild]",
    .text = "Bring the index of the runs in DIR (tutti-runs) up to date, as runs, compare and "
            "export do by themselves. You can delete the index, DIR/index.sqlite, at any time: it "
            "is made again from the run directories.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct index)},
    .max_words = 1,
};
