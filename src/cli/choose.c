/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/choose.h"

#include <stdio.h>
#include <string.h>

static bool is_directory(const char *word)
{
    size_t at = strcspn(word, "/=<>!");

    return word[at] == '/' || !word[at];
}

static int split_words(size_t n, const char *const *words, const char **directory,
                       const char **filters, size_t *nfilters, struct tt_error *e)
{
    *directory = NULL;
    *nfilters = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_directory(words[i]))
            filters[(*nfilters)++] = words[i];
        else if (*directory)
            return tt_fail(e, TT_USAGE,
                           "'%.80s' is a second results directory; a filter is KEY=VALUE",
                           words[i]);
        else
            *directory = words[i];
    }
    if (!*directory)
        *directory = TT_DEFAULT_RESULTS;
    return TT_OK;
}

static void note(const struct tt_index_report *r, const struct tt_error *stale)
{
    char why[1024];

    if (stale->code != TT_OK) {
        tt_error_format(stale, why, sizeof why);
        fprintf(stderr, "tutti: the index may be old: %s\n", why);
    }
    if (r->unfinished)
        fprintf(stderr, "tutti: %llu run%s not over yet\n", (unsigned long long)r->unfinished,
                r->unfinished == 1 ? " is" : "s are");
    if (r->refused)
        fprintf(stderr, "tutti: directories that hold garbage: %llu (tutti index names them)\n",
                (unsigned long long)r->refused);
}

int tt_choose_runs(size_t nwords, const char *const *words, struct tt_store **store,
                   struct tt_run_rows *runs, struct tt_error *e)
{
    const char *directory, *filters[TT_MAX_CHOICE_WORDS];
    struct tt_error stale = TT_ERROR_CLEAR;
    struct tt_index_report report;
    size_t nfilters;
    int rc = split_words(nwords, words, &directory, filters, &nfilters, e);

    *store = NULL;
    *runs = (struct tt_run_rows){0};
    if (rc == TT_OK)
        rc = tt_store_open_updated(directory, store, &report, &stale, e);
    if (rc == TT_OK)
        rc = tt_store_find(*store, nfilters, filters, runs, e);
    if (rc == TT_OK)
        note(&report, &stale);
    return rc;
}
