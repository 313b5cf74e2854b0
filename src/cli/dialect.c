/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/dialect.h"

#include <stdlib.h>

#include "cli/command.h"
#include "plan/config.h"
#include "spec/read.h"

int tt_dialect_rest(int n, char **words, struct tt_settings *settings, struct tt_error *e)
{
    const char *word = NULL;
    int rc = tt_read_arguments(n, words, tt_run_component.params, settings, &word, e);

    return rc == TT_OK && word ? tt_fail(e, TT_USAGE, "unexpected word '%.80s'", word) : rc;
}

static int read_words(int argc, char **argv, tt_translate *translate, struct tt_settings *settings,
                      struct tt_error *e)
{
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int nrest = 0, rc;

    if (!rest)
        return tt_fail_nomem(e, "arguments");
    rc = translate(argc, argv, settings, rest, &nrest, e);
    if (rc == TT_OK)
        rc = tt_dialect_rest(nrest, rest, settings, e);
    free(rest);
    return rc;
}

int tt_dialect_run(int argc, char **argv, const char *workload, tt_translate *translate,
                   tt_print_function *print)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings settings = {0};
    int status;

    if (read_words(argc - 1, argv + 1, translate, &settings, &e) != TT_OK)
        status = tt_report_error(&e);
    else
        status = tt_run_settings(workload, &settings, (struct tt_printer){print, NULL});
    tt_settings_free(&settings);
    return status;
}
