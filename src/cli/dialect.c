/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "plan/config.h"
#include "spec/read.h"

int tt_dialect_rest(int n, char **words, struct tt_settings *settings, struct tt_error *e)
{
    const char *word = NULL;
    int rc = tt_read_arguments(n, words, tt_run_component.params, settings, &word, e);

    return rc == TT_OK && word ? tt_fail(e, TT_USAGE, "unexpected word '%.80s'", word) : rc;
}

char *tt_dialect_line(int argc, char **argv)
{
    size_t size = sizeof "tutti", at;
    char *line;

    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    line = malloc(size);
    at = line ? (size_t)snprintf(line, size, "tutti") : 0;
    for (int i = 0; line && i < argc; i++)
        at += (size_t)snprintf(line + at, size - at, " %s", argv[i]);
    return line;
}

int tt_dialect_read(int argc, char **argv, tt_translate *translate, struct tt_settings *settings,
                    struct tt_error *e)
{
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int nrest = 0, rc;

    if (!rest)
        return tt_fail_nomem(e, "arguments");
    rc = translate(argc - 1, argv + 1, settings, rest, &nrest, e);
    if (rc == TT_OK)
        rc = tt_dialect_rest(nrest, rest, settings, e);
    free(rest);
    return rc;
}

const char *tt_dialect_directory(const struct tt_settings *settings, const char *place)
{
    for (size_t i = settings->n; i-- > 0;)
        if (!strcmp(settings->list[i].key, "dir"))
            return strcmp(settings->list[i].place, place) ? NULL : settings->list[i].value;
    return NULL;
}

int tt_dialect_check_directory(const char *directory, const char *place, struct tt_error *e)
{
    struct stat st;

    if (stat(directory, &st) != 0)
        return tt_fail(e, TT_FAILED, "%s: the directory '%.200s' does not exist; create it", place,
                       directory);
    return S_ISDIR(st.st_mode)
               ? TT_OK
               : tt_fail(e, TT_FAILED, "%s: '%.200s' is no directory; choose another", place,
                         directory);
}

int tt_dialect_run(int argc, char **argv, const char *workload, tt_translate *translate,
                   tt_print_function *print)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings settings = {0};
    int status;

    if (tt_dialect_read(argc, argv, translate, &settings, &e) != TT_OK)
        status = tt_report_error(&e);
    else
        status = tt_run_settings(workload, &settings, (struct tt_printer){print, NULL});
    tt_settings_free(&settings);
    return status;
}
