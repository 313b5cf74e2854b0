/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command is one file, or one directory with its name: it defines one const table,
 * tt_command_NAME, and has one row in the list below. advise and tune are one search, and one file.
 */
#ifndef TT_CLI_COMMAND_H
#define TT_CLI_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "spec/read.h"

/* A command line that has been read as the command's table says. */
struct tt_invocation {
    void *opts; /* the structure of the command's options */
    size_t nwords;
    const char **words;          /* that are no options */
    struct tt_settings settings; /* options that are not the command's, if it takes any */
    int argc;
    char **argv; /* all of it; argv[0] is the command's name */
};

struct tt_command {
    const char *name;
    const char *summary;  /* a line in the list of commands */
    const char *synopsis; /* and */
    const char *text;     /* for help and docs/reference.md */
    /* Returns 0, an exit status if the error has been reported, or a negative code: then *e is
     * reported. */
    int (*run)(struct tt_invocation *call, struct tt_error *e);
    const struct tt_options *options; /* NULL: none */
    const struct tt_component *job;   /* what other options are settings of; NULL: refused */
    const char *also;                 /* topics of help that list those, "run, bulk" */
    size_t max_words;
    bool as_ranks; /* a launcher may start it */
    bool hidden;   /* only tutti starts it: not in the list of commands */
};

#define TT_ANY_WORDS ((size_t)-1)

/* In the order of the list. */
#define TT_COMMANDS(X) \
    X(run) \
    X(ensemble) \
    X(survey) \
    X(study) \
    X(watch) \
    X(accept) \
    X(advise) \
    X(tune) \
    X(show) \
    X(report) \
    X(runs) \
    X(compare) \
    X(analyze) \
    X(model) \
    X(export) \
    X(index) \
    X(verify) \
    X(convert) \
    X(clean) \
    X(list) \
    X(help) \
    X(explain) \
    X(info) \
    X(numio) \
    X(ior) \
    X(mdtest) \
    X(h5bench) \
    X(perform) \
    X(hold) \
    X(prove)

#define TT_DECLARE_COMMAND(name) extern const struct tt_command tt_command_##name;
TT_COMMANDS(TT_DECLARE_COMMAND)
extern const struct tt_command *const tt_commands[]; /* up to NULL */

/* The whole program but its beginning and end: the command that argv[1] names. Returns the exit
 * status. */
int tt_dispatch(int argc, char **argv);
/* One command; argv[0] is its name. */
int tt_call_command(const struct tt_command *command, int argc, char **argv);

/* The list of commands; returns the exit status. */
int tt_usage(FILE *out);
/* What a command with --help among its words prints instead of running. */
int tt_help_asked(int argc, char **argv);
/* "tutti: <error>" to stderr; returns the exit status for e. */
int tt_report_error(const struct tt_error *e);

#endif
