/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti runs and tutti export: many runs at once, from the index. */
#include <string.h>

#include "cli/choose.h"
#include "cli/command.h"
#include "cli/option.h"
#include "report/outfile.h"
#include "report/runs.h"

#define FILTERS \
    "DIR is the results directory (tutti-runs). A FILTER is KEY=VALUE, or with != >= <=\n" \
    "> <; all must hold. A KEY is id, label, workload, status, plan, valid, a\n" \
    "parameter or a metric: stencil.size=4096 'write_rate>=1g'. FILE - is stdout.\n"

static const char runs_usage[] = "usage: tutti runs [DIR] [FILTER ...] [--json FILE]\n\n" FILTERS;
static const char export_usage[] =
    "usage: tutti export [DIR] [FILTER ...] --csv FILE | --json FILE\n\n" FILTERS;

struct request {
    const char *json, *csv;
    bool help;
    size_t nwords;
    const char *words[TT_MAX_CHOICE_WORDS];
};

static int take(int argc, char **argv, struct request *r, bool csv, struct tt_error *e)
{
    const struct tt_option options[] = {{"--json", &r->json, NULL},
                                        {"--help", NULL, &r->help},
                                        {csv ? "--csv" : NULL, &r->csv, NULL},
                                        {NULL, NULL, NULL}};

    return tt_take_words(argc, argv, options, TT_MAX_CHOICE_WORDS, r->words, &r->nwords, e);
}

static int list(const struct request *r, struct tt_error *e)
{
    struct tt_store *s;
    struct tt_run_rows runs;
    int rc = tt_choose_runs(r->nwords, r->words, &s, &runs, e);

    if (rc == TT_OK && r->json)
        rc = tt_report_runs_json(r->json, s, &runs, false, e);
    if (rc == TT_OK && (!r->json || strcmp(r->json, "-"))) {
        rc = tt_report_runs(stdout, s, &runs, e);
        if (!runs.n)
            puts(r->nwords ? "no run matches" : "no runs");
    }
    tt_run_rows_free(&runs);
    tt_store_close(s);
    return rc;
}

static int export(const struct request *r, struct tt_error *e)
{
    struct tt_store *s;
    struct tt_run_rows runs;
    int rc = tt_choose_runs(r->nwords, r->words, &s, &runs, e);

    if (rc == TT_OK && runs.n == 0)
        rc = tt_fail(e, TT_FAILED, "no run matches: nothing was exported, no file was changed");
    if (rc == TT_OK && r->csv)
        rc = tt_report_runs_csv(r->csv, s, &runs, e);
    if (rc == TT_OK && r->json)
        rc = tt_report_runs_json(r->json, s, &runs, true, e);
    tt_run_rows_free(&runs);
    tt_store_close(s);
    return rc;
}

int tt_cmd_runs(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct request r = {0};

    if (take(argc, argv, &r, false, &e) != TT_OK)
        return tt_report_error(&e);
    if (r.help)
        return fputs(runs_usage, stdout) < 0;
    return list(&r, &e) == TT_OK ? 0 : tt_report_error(&e);
}

int tt_cmd_export(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct request r = {0};

    if (take(argc, argv, &r, true, &e) != TT_OK)
        return tt_report_error(&e);
    if (r.help)
        return fputs(export_usage, stdout) < 0;
    if (!r.json && !r.csv)
        tt_fail(&e, TT_USAGE, "export needs --csv FILE or --json FILE");
    else if (tt_outfiles_check(r.json, r.csv, &e) == TT_OK)
        export(&r, &e);
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
