/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The few options of commands that take no parameters of a job. */
#ifndef TT_CLI_OPTION_H
#define TT_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct tt_option {
    const char *name;   /* "--json" */
    const char **value; /* where its value goes, NULL before; NULL: takes none */
    bool *given;        /* set to true if the option is there; may be NULL */
};

/* Options up to one with a NULL name, as "--json FILE" or "--json=FILE". At most one word that is
 * no option goes to *word (word NULL: none is expected). */
int tt_take_options(int argc, char **argv, const struct tt_option *options, const char **word,
                    struct tt_error *e);

/* The same with up to max words that are no options, in order; *n of them. */
int tt_take_words(int argc, char **argv, const struct tt_option *options, size_t max,
                  const char **words, size_t *n, struct tt_error *e);

#endif
