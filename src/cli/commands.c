/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From words to a command: finding it, reading its options, reporting its error. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/notice.h"
#include "cli/command.h"
#include "launch/launch.h"

#define LIST_COMMAND(name) &tt_command_##name,
const struct tt_command *const tt_commands[] = {TT_COMMANDS(LIST_COMMAND) NULL};
#define NCOMMANDS (sizeof tt_commands / sizeof *tt_commands - 1)

int tt_usage(FILE *out)
{
    fprintf(out, "usage: tutti COMMAND ...\n\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!tt_commands[i]->hidden)
            fprintf(out, "  %-8s  %s\n", tt_commands[i]->name, tt_commands[i]->summary);
    fprintf(out,
            "\nFirst steps: tutti run stencil -n 2 --write every=2000, then tutti help stencil.\n");
    return out == stdout ? 0 : 2;
}

int tt_report_error(const struct tt_error *e)
{
    char line[1024];

    tt_error_format(e, line, sizeof line);
    if (tt_launched_rank() == 0) /* all ranks have the same error */
        fprintf(stderr, "tutti: %s\n", line);
    return tt_exit_status(e->code);
}

static void print_notice(const char *text)
{
    fprintf(stderr, "tutti: %s\n", text);
}

static void print_notice_once(const char *text)
{
    if (tt_launched_rank() == 0)
        print_notice(text);
}

static void draw_notice(const char *text)
{
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
}

int tt_call_command(const struct tt_command *c, int argc, char **argv)
{
    const struct tt_param *params = c->options ? c->options->params : NULL;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_invocation call = {.opts = calloc(1, c->options ? c->options->size : 1),
                                 .words = calloc((size_t)argc, sizeof *call.words),
                                 .argc = argc,
                                 .argv = argv};
    struct tt_arguments a = {.command = c->name,
                             .options = c->options,
                             .opts = call.opts,
                             .job = c->job ? c->job->params : NULL,
                             .settings = c->job ? &call.settings : NULL,
                             .max_words = c->max_words,
                             .words = call.words};
    int rc = call.opts && call.words ? tt_params_default(params, call.opts, &e)
                                     : tt_fail_nomem(&e, "arguments");

    if (rc == TT_OK)
        rc = tt_read_arguments(argc - 1, argv + 1, &a, &e);
    call.nwords = a.nwords;
    if (rc == TT_OK)
        rc = c->run(&call, &e);
    tt_params_free(params, call.opts);
    tt_settings_free(&call.settings);
    free(call.opts);
    free(call.words);
    return rc < 0 ? tt_report_error(&e) : rc;
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
        return tt_call_command(command, argc, argv);
    if (tt_launched_rank() == 0)
        fprintf(stderr, "tutti: %s works alone; start it without a launcher\n", command->name);
    return 2;
}

int tt_dispatch(int argc, char **argv)
{
    const struct tt_notices notices = {print_notice, print_notice_once,
                                       isatty(STDERR_FILENO) ? draw_notice : NULL};
    const char *names[NCOMMANDS + 1] = {0};
    struct tt_error e = TT_ERROR_CLEAR;

    tt_notices_to(&notices);
    if (argc < 2)
        return tt_usage(stderr);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return tt_usage(stdout);
    if (!strcmp(argv[1], "--version"))
        return start(&tt_command_info, 2, (char *[]){"info", "--build", NULL});
    for (size_t i = 0, n = 0; i < NCOMMANDS; i++) {
        if (!strcmp(argv[1], tt_commands[i]->name))
            return start(tt_commands[i], argc - 1, argv + 1);
        if (!tt_commands[i]->hidden)
            names[n++] = tt_commands[i]->name;
    }
    tt_fail(&e, TT_USAGE, "unknown command '%.80s'%s; tutti --help lists them", argv[1],
            TT_DID_YOU_MEAN(tt_nearest_word(argv[1], names)));
    return tt_report_error(&e);
}
