/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file a command; argv[0] is the command's name, and what is returned is the exit status. */
#ifndef TT_CLI_COMMAND_H
#define TT_CLI_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "spec/param.h"

struct tt_command {
    const char *name;
    int (*main)(int argc, char **argv);
    bool as_ranks; /* a launcher may start it */
    const char *summary;
};

int tt_cmd_run(int argc, char **argv);
int tt_cmd_show(int argc, char **argv);
int tt_cmd_ensemble(int argc, char **argv);
int tt_cmd_runs(int argc, char **argv);
int tt_cmd_compare(int argc, char **argv);
int tt_cmd_export(int argc, char **argv);
int tt_cmd_index(int argc, char **argv);
int tt_cmd_verify(int argc, char **argv);
int tt_cmd_clean(int argc, char **argv);
int tt_cmd_list(int argc, char **argv);
int tt_cmd_help(int argc, char **argv);
int tt_cmd_explain(int argc, char **argv);
int tt_cmd_info(int argc, char **argv);
int tt_cmd_numio(int argc, char **argv);
int tt_cmd_survey(int argc, char **argv);
int tt_cmd_ior(int argc, char **argv);
int tt_cmd_mdtest(int argc, char **argv);
int tt_cmd_h5bench(int argc, char **argv);
int tt_cmd_perform(int argc, char **argv);
int tt_cmd_hold(int argc, char **argv);

int tt_usage(FILE *out);
/* What a command with --help among its words prints instead of running. */
int tt_help_asked(int argc, char **argv);
/* "tutti: <error>" to stderr; returns the exit status for e. */
int tt_report_error(const struct tt_error *e);

#endif
