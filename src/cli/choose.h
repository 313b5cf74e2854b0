/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "[DIR] [FILTER ...]" of a command line: which runs of which results directory. */
#ifndef TT_CLI_CHOOSE_H
#define TT_CLI_CHOOSE_H

#include "store/store.h"

#define TT_DEFAULT_RESULTS "tutti-runs"
#define TT_MAX_CHOICE_WORDS 65

/* A word without an operator, or with a slash before it, is the directory; the others are filters.
 * The index is brought up to date; what the user should know of that goes to stderr. */
int tt_choose_runs(size_t nwords, const char *const *words, struct tt_store **store,
                   struct tt_run_rows *runs, struct tt_error *e);

#endif
