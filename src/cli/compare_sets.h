/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From words of the command line to sets of runs. */
#ifndef TT_CLI_COMPARE_SETS_H
#define TT_CLI_COMPARE_SETS_H

#include "analysis/compare.h"
#include "store/store.h"

/* The results directory that filters search, opened once. */
struct tt_search {
    const char *results;
    struct tt_store *store;
};

/* One word: a run directory, a directory of run directories, the id of a run, or filters
 * "label=a,stencil.size=64" that must all hold. Only valid runs are taken; a set without any is an
 * error. */
int tt_set_from_word(struct tt_search *search, const char *word, struct tt_compared_set *out,
                     struct tt_error *e);
/* All runs that match every filter and are not in the baseline. */
int tt_set_from_filters(struct tt_search *search, size_t n, const char *const *filters,
                        const struct tt_compared_set *baseline, struct tt_compared_set *out,
                        struct tt_error *e);
void tt_search_end(struct tt_search *search);

#endif
