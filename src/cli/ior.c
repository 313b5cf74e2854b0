/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti ior: the workload bulk with IOR's options and IOR's columns. */
#include <stdlib.h>

#include "base/json.h"
#include "cli/dialect.h"
#include "plan/config.h"
#include "report/ior.h"
#include "report/outfile.h"
#include "report/report.h"
#include "spec/dialects/ior.h"

struct session {
    struct tt_ior_tests tests;
    char *command_line;
    json_t *results; /* of the tests so far; only whoever prints has any */
    json_t *running; /* what is known of the test that runs: its plan and rows, as in a result */
    size_t printed;  /* rows of it */
    bool begun;
};

static void begin_test(FILE *out, const json_t *plan, void *context)
{
    struct session *s = context;

    json_decref(s->running);
    s->running = json_pack("{s:O, s:{s:[]}}", "plan", plan, "tables", "accesses");
    s->printed = 0;
    if (s->tests.format != TT_IOR_TEXT)
        return;
    if (!s->begun)
        tt_ior_head(out, s->command_line);
    s->begun = true;
    tt_ior_begin(out, plan, (unsigned)json_array_size(s->results));
}

static void print_row(FILE *out, const double *values, size_t n, void *context)
{
    struct session *s = context;
    json_t *rows = tt_member_at(s->running, "tables/accesses"), *row = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(row, json_real(values[i]));
    json_array_append_new(rows, row);
    if (s->tests.format == TT_IOR_TEXT)
        s->printed = tt_ior_rows(out, s->running, s->printed, s->tests.verbose);
}

static void print_test(FILE *out, const json_t *result, void *context)
{
    struct session *s = context;

    if (s->tests.format == TT_IOR_TEXT) {
        tt_ior_rows(out, result, s->printed, s->tests.verbose);
        tt_ior_end(out, result, s->tests.verbose);
        if (s->tests.verbose > 2)
            tt_report_text(out, result, false);
    }
    json_array_append_new(s->results, json_deep_copy(result));
}

/* JSON and CSV have stdout, or a file, for themselves. */
static int finish(const struct session *s, struct tt_error *e)
{
    const char *path = s->tests.summary_file ? s->tests.summary_file : "-";
    struct tt_outfile file;
    json_t *all;
    int rc;

    if (json_array_size(s->results) == 0)
        return TT_OK;
    if (s->tests.format == TT_IOR_TEXT) {
        tt_ior_summary(stdout, s->results);
        return TT_OK;
    }
    if (s->tests.format == TT_IOR_JSON) {
        all = tt_ior_json(s->results, s->command_line);
        rc = tt_outfile_json(path, all, e);
        json_decref(all);
        return rc;
    }
    rc = tt_outfile_open(&file, path, e);
    if (rc != TT_OK)
        return rc;
    tt_ior_csv(file.stream, s->results);
    return tt_outfile_close(&file, e);
}

static int prepare(struct session *s, struct tt_invocation *call, struct tt_error *e)
{
    int rc = TT_OK;

    s->command_line = tt_dialect_line(call);
    s->results = json_array();
    if (!s->command_line || !s->results)
        return tt_fail_nomem(e, "arguments");
    rc = tt_ior_translate(call->opts, &call->settings, &s->tests, e);
    for (size_t i = 0; rc == TT_OK && i < s->tests.n; i++) {
        const char *directory = tt_dialect_directory(&s->tests.list[i], "-o");

        rc = directory ? tt_dialect_check_directory(directory, "-o", e) : TT_OK;
    }
    return rc == TT_OK && s->tests.summary_file ? tt_outfile_check(s->tests.summary_file, e) : rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    struct session s = {0};
    int rc = prepare(&s, call, e), finished;

    if (rc == TT_OK) {
        rc = tt_run_sequence(
            "bulk", s.tests.n, s.tests.list,
            (struct tt_printer){
                .print = print_test, .context = &s, .begin = begin_test, .row = print_row});
        finished = finish(&s, e);
        rc = finished != TT_OK ? finished : rc;
    }
    tt_ior_free(&s.tests);
    free(s.command_line);
    json_decref(s.results);
    json_decref(s.running);
    return rc;
}

const struct tt_command tt_command_ior = {
    .name = "ior",
    .summary = "run with the options of IOR",
    .synopsis = "[mpirun -n TASKS] tutti ior [-a API] [-b SIZE] [-t SIZE] [-s N] [...]",
    .text = "Run the workload bulk with the options of IOR, and print its columns. -O "
            "NAME=VALUE[,...] takes any option by its long name, as a script does.",
    .run = run,
    .options = &tt_ior_options,
    .job = &tt_run_component,
    .also = "run, bulk",
    .as_ranks = true,
};
