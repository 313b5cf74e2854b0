/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti runs: a list of runs, from the index. */
#include "cli/choose.h"
#include "cli/command.h"
#include "report/outfile.h"
#include "report/runs.h"

struct runs {
    char *json, *columns;
};

static const struct tt_param params[] = {
    {"json", TT_PARAM_TEXT, offsetof(struct runs, json), NULL, NULL,
     "write the list; -: to stdout, instead of the table", .placeholder = "FILE"},
    {"columns", TT_PARAM_TEXT, offsetof(struct runs, columns), NULL, NULL,
     "show these keys, instead of date, duration, rates and what was varied",
     .placeholder = "KEY,..."},
    {NULL},
};

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct runs *o = call->opts;
    struct tt_store *s;
    struct tt_run_rows runs;
    int rc = tt_choose_runs(call->nwords, call->words, &s, &runs, e);

    if (rc == TT_OK && o->json)
        rc = tt_report_runs_json(o->json, s, &runs, false, e);
    if (rc == TT_OK && !tt_is_stdout(o->json)) {
        rc = tt_report_runs(stdout, s, &runs, o->columns, e);
        if (!runs.n)
            puts(tt_choice_has_filter(call->nwords, call->words) ? "no run matches" : "no runs");
    }
    tt_run_rows_free(&runs);
    tt_store_close(s);
    return rc;
}

const struct tt_command tt_command_runs = {
    .name = "runs",
    .summary = "list runs, all or those that match: tutti runs label=nightly",
    .synopsis = "tutti runs [DIR] [FILTER ...] [--columns KEY,...] [--json FILE]",
    .text = "List the runs in the results directory DIR (tutti-runs) that match every filter: "
            "KEY=VALUE, or with != >= <= > or <, as in stencil.size=4096 'write_rate>=1g' "
            "'start>2026-11-15'. A key is id, label, workload, status, plan, valid, directory, "
            "start (UTC), a parameter, a metric, or anything that tutti export --json has.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct runs)},
    .max_words = TT_MAX_CHOICE_WORDS,
};
