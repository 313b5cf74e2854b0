/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti export: many runs at once, from the index. */
#include "cli/choose.h"
#include "cli/command.h"
#include "report/outfile.h"
#include "report/runs.h"

struct export
{
    char *csv, *json;
};

static const struct tt_param params[] = {
    {"csv", TT_PARAM_TEXT, offsetof(struct export, csv), NULL, NULL,
     "write a row per run; -: to stdout", .placeholder = "FILE"},
    {"json", TT_PARAM_TEXT, offsetof(struct export, json), NULL, NULL,
     "write phases and environment, too; -: to stdout", .placeholder = "FILE"},
    {NULL},
};

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct export *o = call->opts;
    struct tt_run_rows runs = {0};
    struct tt_store *s = NULL;
    int rc = o->json || o->csv ? tt_outfiles_check(o->json, o->csv, e)
                               : tt_fail(e, TT_USAGE, "export needs --csv FILE or --json FILE");

    if (rc == TT_OK)
        rc = tt_choose_runs(call->nwords, call->words, &s, &runs, e);
    if (rc == TT_OK && runs.n == 0)
        rc = tt_fail(e, TT_FAILED, "no run matches: nothing was exported, no file was changed");
    if (rc == TT_OK && o->csv)
        rc = tt_report_runs_csv(o->csv, s, &runs, e);
    if (rc == TT_OK && o->json)
        rc = tt_report_runs_json(o->json, s, &runs, true, e);
    tt_run_rows_free(&runs);
    tt_store_close(s);
    return rc;
}

const struct tt_command tt_command_export = {
    .name = "export",
    .summary = "write parameters and metrics of many runs, as CSV or JSON",
    .synopsis = "tutti export [DIR] [FILTER ...] --csv FILE | --json FILE",
    .text = "Write parameters and metrics of the runs that tutti runs would list.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct export)},
    .max_words = TT_MAX_CHOICE_WORDS,
};
