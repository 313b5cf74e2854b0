/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command that takes another program's options: the dialect translates what it knows, and the
 * rest is tutti's own. */
#ifndef TT_CLI_DIALECT_H
#define TT_CLI_DIALECT_H

#include "cli/run.h"

/* Words that are not the dialect's go to rest, which has room for argc of them. */
typedef int tt_translate(int argc, char **argv, struct tt_settings *s, char **rest, int *nrest,
                         struct tt_error *e);

/* Adds tutti's own words to settings; they come later and win. */
int tt_dialect_rest(int n, char **words, struct tt_settings *settings, struct tt_error *e);
/* argv[0] is the command's name here and below. All of a command's words into settings. */
int tt_dialect_read(int argc, char **argv, tt_translate *translate, struct tt_settings *settings,
                    struct tt_error *e);
/* "tutti ior -b 1m"; NULL: no memory. The caller frees it. */
char *tt_dialect_line(int argc, char **argv);
/* The data directory, if the option at this place has said it last; NULL: another did, or none. */
const char *tt_dialect_directory(const struct tt_settings *settings, const char *place);
/* Whether it is there, in words of that option. */
int tt_dialect_check_directory(const char *directory, const char *place, struct tt_error *e);
/* The whole command: returns the exit status. */
int tt_dialect_run(int argc, char **argv, const char *workload, tt_translate *translate,
                   tt_print_function *print);

#endif
