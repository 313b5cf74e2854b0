/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of commands. Only main ends the process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>
#include <mpi.h>

#include "cli/command.h"
#include "launch/launch.h"

static const struct tt_command commands[] = {
    {"run", tt_cmd_run, true, "run a workload: tutti run stencil -n 2 ..."},
    {"ensemble", tt_cmd_ensemble, false,
     "a job alone and with others around it: tutti ensemble FILE.yaml"},
    {"survey", tt_cmd_survey, false, "naive and aged figures of a store, stage after stage"},
    {"show", tt_cmd_show, false, "print the result of a run directory again"},
    {"runs", tt_cmd_runs, false, "list runs, all or those that match: tutti runs label=nightly"},
    {"compare", tt_cmd_compare, false, "one set of runs against another, with intervals"},
    {"export", tt_cmd_export, false, "parameters and metrics of many runs, as CSV or JSON"},
    {"index", tt_cmd_index, false, "bring the index of a results directory up to date"},
    {"verify", tt_cmd_verify, true, "check the kept data files of a run against what it wrote"},
    {"clean", tt_cmd_clean, false, "remove the data files that a run left behind"},
    {"list", tt_cmd_list, false, "workloads, backends, layers or metrics"},
    {"help", tt_cmd_help, false, "a command's, workload's, backend's or layer's parameters"},
    {"explain", tt_cmd_explain, false, "how a metric is defined"},
    {"info", tt_cmd_info, false, "this build and this machine"},
    {"numio", tt_cmd_numio, true, "run with the options of numio"},
    {"ior", tt_cmd_ior, true, "run with the options of IOR"},
    {"mdtest", tt_cmd_mdtest, true, "run with the options of mdtest"},
    {"h5bench", tt_cmd_h5bench, false, "run a workflow of h5bench: tutti h5bench FILE.json"},
    {"perform", tt_cmd_perform, true,
     "what the launcher starts as ranks: run the plan of a run directory"},
    {"hold", tt_cmd_hold, true, "the same for a plan that is a command"},
};

int tt_usage(FILE *out)
{
    fprintf(out, "usage: tutti COMMAND ...\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].summary);
    fprintf(out,
            "\nFirst steps: tutti run stencil -n 2 --write every=20, then tutti help stencil.\n");
    return out == stdout ? 0 : 2;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

/* Four copies of a command that works alone would say everything four times. */
static int start(const struct tt_command *command, int argc, char **argv)
{
    if (asks_for_help(argc, argv))
        return tt_launched_size() > 1 && tt_launched_rank() != 0 ? 0 : tt_help_asked(argc, argv);
    if (command->as_ranks || tt_launched_size() <= 1)
        return command->main(argc, argv);
    if (tt_launched_rank() == 0)
        fprintf(stderr, "tutti: %s works alone; start it without a launcher\n", command->name);
    return 2;
}

static int dispatch(int argc, char **argv)
{
    const char *names[sizeof commands / sizeof *commands + 1] = {0};
    struct tt_error e = TT_ERROR_CLEAR;
    const char *near;

    gsl_set_error_handler_off(); /* it would abort; what it returns is looked at */
    if (argc < 2)
        return tt_usage(stderr);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return tt_usage(stdout);
    if (!strcmp(argv[1], "--version"))
        argv[1] = "info";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        names[i] = commands[i].name;
        if (!strcmp(argv[1], commands[i].name))
            return start(&commands[i], argc - 1, argv + 1);
    }
    near = tt_nearest_word(argv[1], names);
    tt_fail(&e, TT_USAGE, "unknown command '%.80s'%s; tutti --help lists them", argv[1],
            TT_DID_YOU_MEAN(near));
    return tt_report_error(&e);
}

/* Some launchers kill the other ranks at once when one ends with an error. Before MPI is up all
 * find the same, and only rank 0 says what. */
static void let_rank_0_speak(void)
{
    int up = 0;

    MPI_Initialized(&up);
    if (!up && tt_launched_rank() > 0)
        sleep(1);
}

/* A file that is opened later must not become stdout or stderr, which would be written into it.
 * What was closed stays unwritable, so that output which nobody can see is no success. */
static int open_streams(struct tt_error *e)
{
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream)
            return tt_fail_call(e, errno, "open", "/dev/null", -1);
    return TT_OK;
}

/* A full disk behind a pipe or redirection must not look like success. */
int main(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int status;

    if (open_streams(&e) != TT_OK)
        return tt_report_error(&e);
    signal(SIGXFSZ, SIG_IGN); /* a file larger than ulimit -f is an error like any other */
    status = dispatch(argc, argv);
    if (status != 0)
        let_rank_0_speak();
    if (status != 0 || (fflush(stdout) == 0 && !ferror(stdout)))
        return status;
    tt_fail(&e, TT_FAILED, "the output could not be written to stdout");
    return tt_report_error(&e);
}
