/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti export: many runs at once, from the index. */
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/result.h"
#include "report/details.h"
#include "report/exporter.h"
#include "report/outfile.h"
#include "report/report.h"
#include "report/runs.h"

struct export
{
    int what; /* 0: runs, else a detail of them and one more */
    char *csv, *json, *prometheus, *trace, *otf2;
};

static const char *const contents[] = {"runs", TT_DETAILS, NULL};

static const struct tt_param params[] = {
    {"what", TT_PARAM_CHOICE, offsetof(struct export, what), "runs", NULL,
     "parameters and metrics of runs, or what only their results hold: histograms of calls' "
     "latencies, rates over time, sizes of requests by file",
     .choices = contents},
    {"csv", TT_PARAM_TEXT, offsetof(struct export, csv), NULL, NULL,
     "write a row per run; -: to stdout", .placeholder = "FILE"},
    {"json", TT_PARAM_TEXT, offsetof(struct export, json), NULL, NULL,
     "write phases and environment, too; -: to stdout", .placeholder = "FILE"},
    {"prometheus", TT_PARAM_TEXT, offsetof(struct export, prometheus), NULL, NULL,
     "write the metrics of the newest run of each plan, label and host, for node-exporter's "
     "textfile collector; -: to stdout",
     .placeholder = "FILE"},
    {"trace", TT_PARAM_TEXT, offsetof(struct export, trace), NULL, NULL,
     "write the spans of one run that had --trace, for Perfetto or chrome://tracing; -: to stdout",
     .placeholder = "FILE"},
    {"otf2", TT_PARAM_TEXT, offsetof(struct export, otf2), NULL, NULL,
     "write the same spans as an OTF2 archive, for Vampir, Scalasca or otf2-print, into a new "
     "directory",
     .placeholder = "DIR"},
    {NULL},
};

/* What the index does not have: from the results, one after the other. */
static int write_details(const char *path, bool as_json, enum tt_detail what,
                         const struct tt_run_rows *runs, struct tt_error *e)
{
    struct tt_details out;
    int rc = tt_details_open(&out, path, as_json, what, e);

    if (rc != TT_OK)
        return rc;
    for (size_t i = 0; rc == TT_OK && i < runs->n; i++) {
        json_t *result = NULL;

        rc = tt_get_result(runs->rows[i].directory, &result, e);
        if (rc == TT_OK)
            rc = tt_details_add(&out, result, e);
        json_decref(result);
    }
    return tt_details_close(&out, rc, e);
}

static int write_runs(const struct export *o, struct tt_store *s, const struct tt_run_rows *runs,
                      struct tt_error *e)
{
    int rc = TT_OK;

    if ((o->trace || o->otf2) && runs->n > 1)
        return tt_fail(e, TT_USAGE, "a trace is that of one run, but %zu match; add id=ID",
                       runs->n);
    if (o->trace)
        rc = tt_report_trace(o->trace, runs->rows[0].directory, e);
    if (rc == TT_OK && o->otf2)
        rc = tt_export_spans("otf2", o->otf2, runs->rows[0].directory, e);
    if (rc == TT_OK && o->csv)
        rc = o->what ? write_details(o->csv, false, (enum tt_detail)(o->what - 1), runs, e)
                     : tt_report_runs_csv(o->csv, s, runs, e);
    if (rc == TT_OK && o->json)
        rc = o->what ? write_details(o->json, true, (enum tt_detail)(o->what - 1), runs, e)
                     : tt_report_runs_json(o->json, s, runs, true, e);
    if (rc == TT_OK && o->prometheus)
        rc = tt_report_runs_prometheus(o->prometheus, s, runs, e);
    return rc;
}

/* Each result in a place of its own. */
static int check_files(const struct export *o, struct tt_error *e)
{
    const struct tt_outfile_option files[] = {{"--json", o->json},
                                              {"--csv", o->csv},
                                              {"--prometheus", o->prometheus},
                                              {"--trace", o->trace},
                                              {NULL}};
    bool spans = o->trace || o->otf2;
    int rc;

    if (!o->json && !o->csv && !o->prometheus && !spans)
        return tt_fail(e, TT_USAGE,
                       "export needs --csv FILE, --json FILE, --prometheus FILE, --trace FILE or "
                       "--otf2 DIR");
    if (spans && (o->csv || o->json || o->prometheus || o->what))
        return tt_fail(e, TT_USAGE,
                       "--%s is written alone; give it without --what, --csv, --json and "
                       "--prometheus",
                       o->trace ? "trace" : "otf2");
    if (o->prometheus && o->what)
        return tt_fail(e, TT_USAGE, "--prometheus has metrics, and no --what");
    rc = tt_outfiles_differ(files, e);
    return rc == TT_OK && o->otf2 ? tt_export_check(o->otf2, e) : rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct export *o = call->opts;
    struct tt_run_rows runs = {0};
    struct tt_store *s = NULL;
    int rc = check_files(o, e);

    if (rc == TT_OK)
        rc = tt_choose_some_runs(call->nwords, call->words, &s, &runs, e);
    if (rc == TT_OK)
        rc = write_runs(o, s, &runs, e);
    tt_run_rows_free(&runs);
    tt_store_close(s);
    return rc;
}

const struct tt_command tt_command_export = {
    .name = "export",
    .summary = "write parameters and metrics of many runs: CSV, JSON, Prometheus",
    .synopsis = "tutti export [DIR] [FILTER ...] [--what WHAT] --csv FILE | --json FILE | "
                "--prometheus FILE | --trace FILE | --otf2 DIR",
    .text = "Write parameters and metrics, or a detail, of the runs that tutti runs would list.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct export)},
    .max_words = TT_MAX_CHOICE_WORDS,
};
