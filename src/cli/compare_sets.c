/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/compare_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/result.h"
#include "plan/directory.h"

static int leave_out(struct tt_compared_set *s, const char *id, const char *reason,
                     struct tt_error *e)
{
    if (!s->left_out)
        s->left_out = json_array();
    if (json_array_append_new(s->left_out, json_pack("{s:o, s:o}", "id", tt_json_text(id), "reason",
                                                     tt_json_text(reason))) != 0)
        return tt_fail_nomem(e, "a run");
    return TT_OK;
}

/* ---- one run directory, as untrusted as any ---- */

static bool take_texts(struct tt_compared_run *run, const char *directory, const char *id,
                       const char *workload, const char *plan)
{
    run->directory = strdup(directory);
    run->id = strdup(id);
    run->workload = strdup(workload);
    run->plan = strdup(plan);
    return run->directory && run->id && run->workload && run->plan;
}

static int take_result(const char *directory, const json_t *result, struct tt_compared_set *out,
                       struct tt_error *e)
{
    const json_t *plan = json_object_get(result, "plan");
    const json_t *metrics = json_object_get(result, "metrics");
    const char *id = json_string_value(json_object_get(result, "id"));
    const char *status = json_string_value(json_object_get(result, "status"));
    const char *workload = json_string_value(json_object_get(plan, "workload"));
    const char *hash = json_string_value(json_object_get(plan, "hash"));
    struct tt_compared_run *run;

    if (!id || !workload || !hash)
        return tt_fail(e, TT_CORRUPT, "%s/result.json names no id, workload or plan", directory);
    if (!tt_is_true(result, "valid"))
        return tt_fail(e, TT_FAILED, "'%s' is not valid (%.20s); see tutti show", directory,
                       status ? status : "no status");
    run = tt_compared_add(out);
    if (!run || !take_texts(run, directory, id, workload, hash))
        return tt_fail_nomem(e, "a run");
    for (int m = 0; m < TT_NMETRICS; m++) {
        const json_t *value =
            json_object_get(json_object_get(metrics, tt_metrics[m].name), "value");

        run->metrics[m] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    run->parameters = json_incref(json_object_get(plan, "parameters"));
    run->environment = json_incref(json_object_get(result, "environment"));
    return TT_OK;
}

static bool is_run_directory(const char *word)
{
    char *plan = tt_directory_path(word, "plan.json");
    bool is = plan && access(plan, F_OK) == 0;

    free(plan);
    return is;
}

static int set_from_directory(const char *directory, struct tt_compared_set *out,
                              struct tt_error *e)
{
    json_t *result = NULL;
    int rc = tt_get_result(directory, &result, e);

    if (rc == TT_OK)
        rc = take_result(directory, result, out, e);
    json_decref(result);
    return rc;
}

/* ---- many, from the index ---- */

static int take_row(struct tt_store *store, const struct tt_run_row *row,
                    struct tt_compared_set *out, struct tt_error *e)
{
    struct tt_compared_run *run = tt_compared_add(out);
    int rc = TT_OK;

    if (!run || !take_texts(run, row->directory, row->id, row->workload, row->plan_hash))
        return tt_fail_nomem(e, "a run");
    for (int m = 0; rc == TT_OK && m < TT_NMETRICS; m++) {
        bool known = false;

        rc = tt_store_metric(store, row->key, tt_metrics[m].name, &known, &run->metrics[m], e);
        if (!known)
            run->metrics[m] = NAN;
    }
    if (rc == TT_OK)
        rc = tt_store_parameters(store, row->key, &run->parameters, e);
    if (rc == TT_OK)
        rc = tt_store_environment(store, row->key, &run->environment, e);
    return rc;
}

static bool is_in(const struct tt_compared_set *s, const char *id)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (!strcmp(s->runs[i].id, id))
            return true;
    return false;
}

static int take_rows(struct tt_store *store, const struct tt_run_rows *rows,
                     const struct tt_compared_set *baseline, struct tt_compared_set *out,
                     struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < rows->n; i++) {
        const struct tt_run_row *row = &rows->rows[i];

        if (is_in(baseline, row->id))
            continue;
        rc = row->valid ? take_row(store, row, out, e) : leave_out(out, row->id, row->status, e);
    }
    return rc;
}

/* The index is brought up to date by the first who asks, and what is to be said of it said once. */
static int find(struct tt_search *search, size_t n, const char *const *filters,
                struct tt_run_rows *rows, struct tt_error *e)
{
    const char *words[TT_MAX_CHOICE_WORDS] = {search->results};

    if (search->store)
        return tt_store_find(search->store, n, filters, rows, e);
    if (n + 1 > TT_MAX_CHOICE_WORDS)
        return tt_fail(e, TT_USAGE, "more than %d filters", TT_MAX_CHOICE_WORDS - 1);
    for (size_t i = 0; i < n; i++)
        words[i + 1] = filters[i];
    return tt_choose_runs(n + 1, words, &search->store, rows, e);
}

int tt_set_from_filters(struct tt_search *search, size_t n, const char *const *filters,
                        const struct tt_compared_set *baseline, struct tt_compared_set *out,
                        struct tt_error *e)
{
    struct tt_run_rows rows = {0};
    int rc = find(search, n, filters, &rows, e);

    if (rc == TT_OK)
        rc = take_rows(search->store, &rows, baseline, out, e);
    tt_run_rows_free(&rows);
    if (rc != TT_OK || out->n)
        return rc;
    return tt_fail(e, TT_FAILED, "no valid run in '%.80s' matches %.80s%s", search->results,
                   out->given,
                   json_array_size(out->left_out) ? "; some that are not valid do" : "");
}

void tt_search_end(struct tt_search *search)
{
    tt_store_close(search->store);
    search->store = NULL;
}

/* ---- words ---- */

/* "label=a,...", not "verify,throttle,label=a": an operator comes before the next comma. */
static bool starts_filter(const char *text)
{
    size_t n = strcspn(text, ",=<>!");

    return text[n] && text[n] != ',';
}

/* Cut at commas that another filter follows: a value may have commas, too. Returns the number. */
static size_t split_filters(char *text, const char **filters, size_t most)
{
    size_t n = 0;

    filters[n++] = text;
    for (char *at = text; (at = strchr(at, ',')) && n < most; at++)
        if (starts_filter(at + 1)) {
            *at = '\0';
            filters[n++] = at + 1;
        }
    return n;
}

/* A word that is neither a directory nor a filter is an id as tutti runs prints it. */
static int set_from_id(struct tt_search *search, const char *id, struct tt_compared_set *out,
                       struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *filter;
    int rc;

    if (asprintf(&filter, "id=%s", id) < 0)
        return tt_fail_nomem(e, "a filter");
    rc = tt_set_from_filters(search, 1, (const char *const *)&filter, NULL, out, &ignored);
    free(filter);
    if (rc == TT_OK)
        return rc;
    return tt_fail(
        e, TT_FAILED,
        "'%.80s' is no run directory, and no valid run in '%.80s' has that id; a filter is "
        "KEY=VALUE",
        id, search->results);
}

static int set_from_joined(struct tt_search *search, const char *word, struct tt_compared_set *out,
                           struct tt_error *e)
{
    const char *filters[TT_MAX_CHOICE_WORDS];
    char *copy = strdup(word);
    int rc;

    if (!copy)
        return tt_fail_nomem(e, "a filter");
    rc = tt_set_from_filters(search, split_filters(copy, filters, TT_MAX_CHOICE_WORDS - 1), filters,
                             NULL, out, e);
    free(copy);
    return rc;
}

int tt_set_from_word(struct tt_search *search, const char *word, struct tt_compared_set *out,
                     struct tt_error *e)
{
    struct tt_search other = {.results = word};
    int rc;

    out->given = word;
    if (is_run_directory(word))
        return set_from_directory(word, out, e);
    if (access(word, F_OK) == 0) {
        rc = tt_set_from_filters(&other, 0, NULL, NULL, out, e);
        tt_search_end(&other);
        return rc;
    }
    if (!strpbrk(word, "=<>"))
        return set_from_id(search, word, out, e);
    return set_from_joined(search, word, out, e);
}
