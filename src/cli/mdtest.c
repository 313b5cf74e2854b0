/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti mdtest: the workload metadata with mdtest's options and mdtest's summary. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/dialect.h"
#include "plan/config.h"
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

/* A run that was told that the directory is new removes it: of several the last would. */
static int run_in(const struct tt_mdtest_tests *tests, char *command_line, struct tt_error *e)
{
    const char *directory = tt_dialect_directory(&tests->list[0], "-d");
    bool made;
    int rc = make_directory(directory, &made, e);

    if (rc != TT_OK)
        return rc;
    rc = tt_run_sequence("metadata", tests->n, tests->list,
                         (struct tt_printer){.print = print_result,
                                             .context = command_line,
                                             .new_dir = made && tests->n == 1});
    if (made)
        (void)!rmdir(directory); /* unless a tree is kept in it */
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    char *command_line = tt_dialect_line(call);
    struct tt_mdtest_tests tests = {0};
    int rc = command_line ? tt_mdtest_translate(call->opts, &call->settings, &tests, e)
                          : tt_fail_nomem(e, "arguments");

    if (rc == TT_OK)
        rc = run_in(&tests, command_line, e);
    tt_mdtest_free(&tests);
    free(command_line);
    return rc;
}

const struct tt_command tt_command_mdtest = {
    .name = "mdtest",
    .summary = "run with the options of mdtest",
    .synopsis = "[mpirun -n TASKS] tutti mdtest [-n ITEMS] [-d DIR] [...]",
    .text = "Run the workload metadata with the options of mdtest, and print its summary.",
    .run = run,
    .options = &tt_mdtest_options,
    .job = &tt_run_component,
    .also = "run, metadata",
    .as_ranks = true,
};
