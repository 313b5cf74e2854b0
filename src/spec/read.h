/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options and settings from the command line; settings from YAML (or JSON) files. */
#ifndef TT_SPEC_READ_H
#define TT_SPEC_READ_H

#include "spec/param.h"
#include "spec/settings.h"

/* ---- the command line ---- */

enum tt_option_style {
    TT_OPTIONS_LONG,    /* --json FILE, --json=FILE, -f NAME */
    TT_OPTIONS_LETTERS, /* -b 1m, -b1m, -b=1m, -wrz; "--" begins a row only if it has no flag */
    TT_OPTIONS_NAMES,   /* letters; --blockSize=1m, -blockSize=1m; -O NAME=VALUE,... */
};

/* An option of another program that has no row in the table: it is taken with a note, or refused.
 * The value 0 asks for nothing, so it is taken without a word. */
struct tt_other_option {
    const char *flag, *name; /* "-A", "refNum"; either may be NULL */
    bool takes_value, refused;
    const char *why;
};

/* The options of a command or a dialect: one row of the table per option. A row is a parameter: its
 * flag ("-b"), its key ("json" is --json), and the value by type, placeholder and text. An option
 * of type bool takes no value; nor does one with the placeholder "", a count of how often it is
 * given. A placeholder in brackets, "[SEED]", is a number that may follow its letter at once. */
struct tt_options {
    const struct tt_param *params;
    size_t size; /* of the structure that the offsets belong to */
    enum tt_option_style style;
    const struct tt_other_option *others; /* up to one without why; NULL: none */
};

/* What is read, and where it goes. */
struct tt_arguments {
    const char *command;              /* for messages */
    const struct tt_options *options; /* NULL: none */
    void *opts;                       /* the structure of the options, with their defaults */
    /* Options that are not in the table become settings, if there is a place for them: "--size 64",
     * "--write every=20,pattern=10:0:1", "--set key=value", "-n 2". job is the table of what the
     * settings are for: a bool in it takes no following word as its value, so that "--keep stencil"
     * works. Keys and values are not checked here; an option without a value gets NULL. */
    const struct tt_param *job;
    struct tt_settings *settings; /* NULL: unknown options are refused */
    /* What is neither an option nor its value; after "--" everything. */
    size_t max_words, nwords;
    const char **words;
};

int tt_read_arguments(int argc, char **argv, struct tt_arguments *a, struct tt_error *e);

/* "blockSize=1m", or the name of an option without a value, as a script has them in a line. */
int tt_read_directive(const struct tt_arguments *a, const char *place, const char *text,
                      size_t length, struct tt_error *e);

/* ---- files ---- */

/* A mapping; nested mappings become dotted keys, sequences become "a,b" lists (with a backslash
 * before a comma in a value), sequences of mappings keys with a number ("load.0.size"). "workload"
 * names the workload and goes to *workload (caller frees; NULL if the file has none). Anchors,
 * aliases and "<<" work. Errors name file:line:column. */
int tt_read_yaml(const char *path, struct tt_settings *s, char **workload, struct tt_error *e);

#endif
