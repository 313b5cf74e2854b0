/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/directory.h"

static bool is_directory(const char *word)
{
    size_t at = strcspn(word, "/=<>!");

    return word[at] == '/' || !word[at];
}

bool tt_choice_has_filter(size_t n, const char *const *words)
{
    for (size_t i = 0; i < n; i++)
        if (!is_directory(words[i]))
            return true;
    return false;
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
        fprintf(stderr,
                "tutti: directories that are damaged or of another version: %llu (tutti index "
                "names them)\n",
                (unsigned long long)r->refused);
}

char *tt_choice_text(size_t n, const char *const *words)
{
    size_t length = 1;
    char *text, *at;

    for (size_t i = 0; i < n; i++)
        length += strlen(words[i]) + 1;
    text = at = malloc(length);
    if (text)
        *text = '\0';
    for (size_t i = 0; text && i < n; i++)
        at += snprintf(at, length - (size_t)(at - text), "%s%s", i ? " " : "", words[i]);
    return text;
}

/* A run directory stands for itself: its results directory, with a filter for its name, both in one
 * block that the caller frees. */
static int split_run_directory(const char *directory, char **path, const char **filter,
                               struct tt_error *e)
{
    char *whole = realpath(directory, NULL), *name = whole ? strrchr(whole, '/') : NULL;
    int rc = TT_OK;

    *path = NULL;
    if (!name || name == whole)
        rc = tt_fail(e, TT_FAILED, "'%.80s' is a run directory in no results directory", directory);
    else if (asprintf(path, "%.*s%cdirectory=%s", (int)(name - whole), whole, '\0', name + 1) < 0)
        rc = tt_fail_nomem(e, "a filter");
    else
        *filter = *path + strlen(*path) + 1;
    free(whole);
    return rc;
}

static int choose(size_t nwords, const char *const *words, struct tt_store **store,
                  struct tt_run_rows *runs, struct tt_index_report *report, struct tt_error *stale,
                  struct tt_error *e)
{
    const char *directory, *filters[TT_MAX_CHOICE_WORDS + 1];
    char *path = NULL;
    size_t nfilters;
    int rc = split_words(nwords, words, &directory, filters, &nfilters, e);

    *store = NULL;
    *runs = (struct tt_run_rows){0};
    if (rc == TT_OK && tt_directory_has(directory, "plan.json")) {
        rc = split_run_directory(directory, &path, &filters[nfilters], e);
        directory = path;
        nfilters++;
    }
    if (rc == TT_OK)
        rc = tt_store_open_updated(directory, store, report, stale, e);
    if (rc == TT_OK)
        rc = tt_store_find(*store, nfilters, filters, runs, e);
    free(path);
    return rc;
}

int tt_choose_runs(size_t nwords, const char *const *words, struct tt_store **store,
                   struct tt_run_rows *runs, struct tt_error *e)
{
    struct tt_error stale = TT_ERROR_CLEAR;
    struct tt_index_report report;
    int rc = choose(nwords, words, store, runs, &report, &stale, e);

    if (rc == TT_OK)
        note(&report, &stale);
    return rc;
}

int tt_choose_some_runs(size_t nwords, const char *const *words, struct tt_store **store,
                        struct tt_run_rows *runs, struct tt_error *e)
{
    struct tt_error stale = TT_ERROR_CLEAR;
    struct tt_index_report report;
    char *given, refused[120] = "";
    int rc = choose(nwords, words, store, runs, &report, &stale, e);

    if (rc != TT_OK)
        return rc;
    if (runs->n) {
        note(&report, &stale);
        return TT_OK;
    }
    if (report.refused)
        snprintf(refused, sizeof refused,
                 "; directories that are damaged or of another version: %llu (tutti index names "
                 "them)",
                 (unsigned long long)report.refused);
    given = nwords ? tt_choice_text(nwords, words) : strdup(TT_DEFAULT_RESULTS);
    rc = tt_fail(e, TT_FAILED, "%s '%.200s'%s",
                 tt_choice_has_filter(nwords, words) ? "no run matches" : "no runs in",
                 given ? given : "", refused);
    free(given);
    return rc;
}
