/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "[DIR] [FILTER ...]" of a command line: which runs of which results directory. */
#ifndef TT_CLI_CHOOSE_H
#define TT_CLI_CHOOSE_H

#include "store/store.h"

#define TT_DEFAULT_RESULTS "tutti-runs"
#define TT_MAX_CHOICE_WORDS 65

/* A word without an operator, or with a slash before it, is the directory, or the directory of a
 * single run; the others are filters. The index is brought up to date; what the user should know of
 * that goes to stderr. */
int tt_choose_runs(size_t nwords, const char *const *words, struct tt_store **store,
                   struct tt_run_rows *runs, struct tt_error *e);
/* The same; that nothing is found is an error, in the one line that says all of it. */
int tt_choose_some_runs(size_t nwords, const char *const *words, struct tt_store **store,
                        struct tt_run_rows *runs, struct tt_error *e);
bool tt_choice_has_filter(size_t n, const char *const *words);
/* "label=b size=64": the words as they were given, for a report; caller frees; NULL: no memory. */
char *tt_choice_text(size_t n, const char *const *words);

#endif
