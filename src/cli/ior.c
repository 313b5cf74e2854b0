/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti ior: the workload bulk with IOR's options and IOR's columns. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/dialect.h"
#include "report/ior.h"
#include "report/outfile.h"
#include "report/report.h"
#include "spec/dialects/ior.h"

struct session {
    struct tt_ior_tests tests;
    char *command_line;
    json_t *results; /* of the tests so far; only whoever prints has any */
};

static void print_test(FILE *out, const json_t *result, void *context)
{
    struct session *s = context;
    unsigned number = (unsigned)json_array_size(s->results);
    json_t *copy = json_deep_copy(result);

    if (s->tests.format == TT_IOR_TEXT) {
        if (number == 0)
            tt_ior_head(out, s->command_line);
        tt_ior_test(out, result, number, s->tests.verbose);
        if (s->tests.verbose > 2)
            tt_report_text(out, result);
    }
    json_array_append_new(s->results, copy);
}

static int write_summary(const struct session *s, FILE *out, struct tt_error *e)
{
    json_t *all;
    int failed;

    if (s->tests.format == TT_IOR_CSV) {
        tt_ior_csv(out, s->results);
        return TT_OK;
    }
    all = tt_ior_json(s->results, s->command_line);
    failed = all ? json_dumpf(all, out, JSON_INDENT(2)) : -1;
    json_decref(all);
    fputc('\n', out);
    return failed ? tt_fail_nomem(e, "the summary") : TT_OK;
}

/* stdout has nothing else on it then. */
static int finish(const struct session *s, struct tt_error *e)
{
    const char *path = s->tests.summary_file ? s->tests.summary_file : "-";
    struct tt_outfile file;
    int rc;

    if (json_array_size(s->results) == 0)
        return TT_OK;
    if (s->tests.format == TT_IOR_TEXT) {
        tt_ior_summary(stdout, s->results);
        return TT_OK;
    }
    rc = tt_outfile_open(&file, path, e);
    if (rc != TT_OK)
        return rc;
    rc = write_summary(s, file.stream, e);
    return rc == TT_OK ? tt_outfile_close(&file, e) : tt_outfile_discard(&file, rc);
}

static int check_directory(const struct tt_settings *settings, struct tt_error *e)
{
    const char *directory = tt_dialect_directory(settings, "-o");

    return directory ? tt_dialect_check_directory(directory, "-o", e) : TT_OK;
}

static int read_words(struct session *s, int argc, char **argv, struct tt_error *e)
{
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int nrest = 0, rc;

    s->command_line = tt_dialect_line(argc + 1, argv - 1);
    s->results = json_array();
    if (!rest || !s->command_line || !s->results) {
        free(rest);
        return tt_fail_nomem(e, "arguments");
    }
    rc = tt_ior_translate(argc, argv, &s->tests, rest, &nrest, e);
    for (size_t i = 0; rc == TT_OK && i < s->tests.n; i++)
        rc = tt_dialect_rest(nrest, rest, &s->tests.list[i], e);
    for (size_t i = 0; rc == TT_OK && i < s->tests.n; i++)
        rc = check_directory(&s->tests.list[i], e);
    if (rc == TT_OK && s->tests.summary_file)
        rc = tt_outfile_check(s->tests.summary_file, e);
    free(rest);
    return rc;
}

int tt_cmd_ior(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct session s = {0};
    int status;

    if (read_words(&s, argc - 1, argv + 1, &e) != TT_OK) {
        status = tt_report_error(&e);
    } else {
        status =
            tt_run_sequence("bulk", s.tests.n, s.tests.list, (struct tt_printer){print_test, &s});
        if (finish(&s, &e) != TT_OK)
            status = tt_report_error(&e);
    }
    tt_ior_free(&s.tests);
    free(s.command_line);
    json_decref(s.results);
    return status;
}
