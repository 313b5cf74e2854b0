/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti mdtest: the workload metadata with mdtest's options and mdtest's summary. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/dialect.h"
#include "report/mdtest.h"
#include "spec/dialects/mdtest.h"

static void print_result(FILE *out, const json_t *result, void *context)
{
    tt_mdtest_print(out, result, context);
}

/* mdtest makes the directory of -d. Every rank tries, and *made is set for one of them. */
static int make_directory(const char *directory, bool *made, struct tt_error *e)
{
    *made = directory && mkdir(directory, 0777) == 0;
    if (*made || !directory)
        return TT_OK;
    if (errno == EEXIST)
        return tt_dialect_check_directory(directory, "-d", e);
    return tt_fail(e, TT_FAILED, "-d: cannot make the directory '%.200s': %s; choose another",
                   directory, strerror(errno));
}

static int run(struct tt_settings *settings, char *command_line)
{
    const char *directory = tt_dialect_directory(settings, "-d");
    struct tt_error e = TT_ERROR_CLEAR;
    bool made;
    int status;

    if (make_directory(directory, &made, &e) != TT_OK)
        return tt_report_error(&e);
    status = tt_run_settings(
        "metadata", settings,
        (struct tt_printer){.print = print_result, .context = command_line, .new_dir = made});
    if (made)
        (void)!rmdir(directory); /* unless a tree is kept in it */
    return status;
}

int tt_cmd_mdtest(int argc, char **argv)
{
    char *command_line = tt_dialect_line(argc, argv);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings settings = {0};
    int status;

    if (!command_line)
        tt_fail_nomem(&e, "arguments");
    if (!command_line || tt_dialect_read(argc, argv, tt_mdtest_translate, &settings, &e) != TT_OK)
        status = tt_report_error(&e);
    else
        status = run(&settings, command_line);
    tt_settings_free(&settings);
    free(command_line);
    return status;
}
