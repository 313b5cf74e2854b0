/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti compare: one set of runs against another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/compare.h"
#include "analysis/require.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/result.h"
#include "plan/directory.h"
#include "report/junit.h"
#include "report/outfile.h"
#include "report/report.h"
#include "spec/units.h"

#define SEED 1
#define DEFAULT_MARGIN "5%"

enum fail_if { FAIL_NEVER, FAIL_IF_WORSE, FAIL_IF_DIFFERENT };
static const char *const reasons[] = {"never", "worse", "different", NULL};

struct compare {
    char *margin, *metrics, *json, *junit, *dir, *baseline;
    bool any_plan;
    int fail_if; /* enum fail_if */
};

#define AT(member) offsetof(struct compare, member)
static const struct tt_param params[] = {
    {"dir", TT_PARAM_TEXT, AT(dir), TT_DEFAULT_RESULTS, NULL,
     "the results directory that filters search", .placeholder = "DIR"},
    {"baseline", TT_PARAM_TEXT, AT(baseline), NULL, NULL,
     "compare A with all other runs, or with those that match the filters", .placeholder = "A"},
    {"margin", TT_PARAM_TEXT, AT(margin), DEFAULT_MARGIN, NULL,
     "smaller differences count as equivalent", .placeholder = "SHARE"},
    {"metric", TT_PARAM_TEXT, AT(metrics), NULL, NULL, "compare only these metrics",
     .placeholder = "NAME,..."},
    {"fail_if", TT_PARAM_CHOICE, AT(fail_if), "never", NULL,
     "exit status 3 if B is so in one of the metrics named by --metric, 4 if that cannot be told",
     .choices = reasons},
    {"any_plan", TT_PARAM_BOOL, AT(any_plan), NULL, NULL, "also compare runs of different plans"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL,
     "write all numbers; -: to stdout, instead of the table", .placeholder = "FILE"},
    {"junit", TT_PARAM_TEXT, AT(junit), NULL, NULL,
     "write what --fail-if says of each metric, as JUnit XML; -: to stdout, instead of the table",
     .placeholder = "FILE"},
    {NULL},
};

/* The results directory that filters search, opened once. */
struct search {
    const char *results;
    struct tt_store *store;
};

/* ---- options ---- */

/* "5%": a bare number might mean 5 % or 500 %. */
static int parse_margin(const char *text, double *margin, struct tt_error *e)
{
    size_t n = strlen(text);
    struct tt_error ignored = TT_ERROR_CLEAR;
    char number[32];

    if (n > 1 && n < sizeof number && text[n - 1] == '%') {
        memcpy(number, text, n - 1);
        number[n - 1] = '\0';
        if (tt_parse_real(number, margin, &ignored) == TT_OK && *margin > 0 && *margin < 100) {
            *margin /= 100;
            return TT_OK;
        }
    }
    return tt_fail(e, TT_USAGE,
                   "--margin: '%.40s' is not a share: expected more than 0%% and less than "
                   "100%%, such as 5%%",
                   text);
}

static int take_metric(const char *name, struct tt_compare_options *o, struct tt_error *e)
{
    const struct tt_metric *m = tt_find_metric(name);

    if (m) {
        o->metrics[m - tt_metrics] = true;
        return TT_OK;
    }
    return tt_fail(e, TT_USAGE, "--metric: there is no metric '%.40s'%s", name,
                   TT_DID_YOU_MEAN(TT_NEAREST_ROW(name, tt_metrics)));
}

static int take_metrics(const char *list, struct tt_compare_options *o, struct tt_error *e)
{
    char *copy = strdup(list), *rest = copy, *name;
    int rc = copy ? TT_OK : tt_fail_nomem(e, "a list");

    o->named = true;
    while (rc == TT_OK && (name = strsep(&rest, ",")))
        rc = take_metric(name, o, e);
    free(copy);
    return rc;
}

/* A gate on all metrics would fail by chance: each of them errs in a few cases of a hundred. */
static int check_gate(const struct compare *o, const struct tt_compare_options *how,
                      struct tt_error *e)
{
    if (o->fail_if == FAIL_NEVER)
        return o->junit ? tt_fail(e, TT_USAGE,
                                  "--junit needs --fail-if worse or --fail-if different: else "
                                  "there is no condition")
                        : TT_OK;
    if (!how->named)
        return tt_fail(e, TT_USAGE,
                       "--fail-if needs --metric: among a dozen metrics one differs by chance");
    for (int m = 0; m < TT_NMETRICS; m++)
        if (how->metrics[m] && o->fail_if == FAIL_IF_WORSE &&
            tt_metrics[m].direction.better == TT_BETTER_NEITHER)
            return tt_fail(e, TT_USAGE,
                           "--fail-if worse: %s has no better or worse; use --fail-if different",
                           tt_metrics[m].name);
    return TT_OK;
}

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
    if (!json_is_true(json_object_get(result, "valid")))
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

static int take_rows(struct tt_store *store, const struct tt_run_rows *rows,
                     const struct tt_compared_set *baseline, struct tt_compared_set *out,
                     struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < rows->n; i++) {
        const struct tt_run_row *row = &rows->rows[i];

        if (baseline && tt_compared_has(baseline, row->id))
            continue;
        rc = row->valid ? take_row(store, row, out, e) : leave_out(out, row->id, row->status, e);
    }
    return rc;
}

/* The index is brought up to date by the first who asks, and what is to be said of it said once. */
static int find_rows(struct search *search, size_t n, const char *const *filters,
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

/* All runs that match every filter and are not in the baseline. */
static int set_from_filters(struct search *search, size_t n, const char *const *filters,
                            const struct tt_compared_set *baseline, struct tt_compared_set *out,
                            struct tt_error *e)
{
    struct tt_run_rows rows = {0};
    int rc = find_rows(search, n, filters, &rows, e);

    if (rc == TT_OK)
        rc = take_rows(search->store, &rows, baseline, out, e);
    tt_run_rows_free(&rows);
    if (rc != TT_OK || out->n)
        return rc;
    return tt_fail(e, TT_FAILED, "no valid run in '%.80s' matches %.80s%s", search->results,
                   out->given,
                   json_array_size(out->left_out) ? "; some that are not valid do" : "");
}

/* ---- a word ---- */

/* A word that is neither a directory nor a filter is an id as tutti runs prints it. */
static int set_from_id(struct search *search, const char *id, struct tt_compared_set *out,
                       struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *filter;
    int rc;

    if (asprintf(&filter, "id=%s", id) < 0)
        return tt_fail_nomem(e, "a filter");
    rc = set_from_filters(search, 1, (const char *const *)&filter, NULL, out, &ignored);
    free(filter);
    if (rc == TT_OK)
        return rc;
    return tt_fail(
        e, TT_FAILED,
        "'%.80s' is not a run directory, and no valid run in '%.80s' has that id; a filter is "
        "KEY=VALUE",
        id, search->results);
}

static int set_from_joined(struct search *search, const char *word, struct tt_compared_set *out,
                           struct tt_error *e)
{
    const char *filters[TT_MAX_CHOICE_WORDS];
    char *copy = strdup(word);
    int rc;

    if (!copy)
        return tt_fail_nomem(e, "a filter");
    rc = set_from_filters(search, tt_filters_split(copy, filters, TT_MAX_CHOICE_WORDS - 1), filters,
                          NULL, out, e);
    free(copy);
    return rc;
}

/* One word: a run directory, a directory of run directories, the id of a run, or filters
 * "label=a,stencil.size=64" that must all hold. Only valid runs are taken; a set without any is an
 * error. */
static int set_from_word(struct search *search, const char *word, struct tt_compared_set *out,
                         struct tt_error *e)
{
    struct search other = {.results = word};
    int rc;

    out->given = word;
    if (tt_directory_has(word, "plan.json"))
        return set_from_directory(word, out, e);
    if (access(word, F_OK) == 0) {
        rc = set_from_filters(&other, 0, NULL, NULL, out, e);
        tt_store_close(other.store);
        return rc;
    }
    if (!strpbrk(word, "=<>"))
        return set_from_id(search, word, out, e);
    return set_from_joined(search, word, out, e);
}

/* ---- doing it ---- */

/* What a verdict (analysis/verdict.h) means for the gate. */
static enum tt_verdict_kind judge(int fail_if, const char *verdict)
{
    bool changed = !strcmp(verdict, "better") || !strcmp(verdict, "different");

    if (!strcmp(verdict, "worse") || (changed && fail_if == FAIL_IF_DIFFERENT))
        return TT_FAIL;
    return changed || !strcmp(verdict, "equivalent") ? TT_PASS : TT_UNDECIDED;
}

/* "cannot tell (-4 to +12 %; ...)" is told by the verdict's own words. */
static void say_verdict(int fail_if, const json_t *metric, enum tt_verdict_kind kind)
{
    static const char same[] = "cannot tell";
    const char *text = tt_text_of(metric, "text");
    bool is_told = !strncmp(text, same, sizeof same - 1);

    fprintf(stderr, "tutti: --fail-if %s: %s: %s%s%s\n", reasons[fail_if],
            tt_text_of(metric, "metric"), tt_verdict_names[kind], is_told ? "" : "; ",
            is_told ? text + sizeof same - 1 : text);
}

/* Of the metrics of one plan: a line on stderr for what does not pass, and a case for each. */
static json_t *gate_plan(int fail_if, const json_t *plan, enum tt_verdict_kind *worst)
{
    json_t *cases = json_array();
    const json_t *one;
    char name[200];
    size_t i;
    int failed = 0;

    json_array_foreach(json_object_get(plan, "metrics"), i, one)
    {
        enum tt_verdict_kind kind = judge(fail_if, tt_text_of(one, "verdict"));

        if (kind != TT_PASS)
            say_verdict(fail_if, one, kind);
        *worst = tt_verdict_worst(*worst, kind);
        snprintf(name, sizeof name, "%s: B is not %s", tt_text_of(one, "metric"), reasons[fail_if]);
        failed |= tt_case_add(cases, name, tt_verdict_names[kind], tt_text_of(one, "text"));
    }
    snprintf(name, sizeof name, "%s %s", tt_text_of(plan, "workload"), tt_text_of(plan, "plan"));
    return tt_json_unless(failed, tt_case_suite(name, cases));
}

/* Of all plans of A. Returns the exit status. */
static int gate(int fail_if, const json_t *comparison, const char *junit, struct tt_error *e)
{
    size_t missing = json_array_size(json_object_get(comparison, "only_a")), i;
    enum tt_verdict_kind worst = missing ? TT_UNDECIDED : TT_PASS;
    json_t *suites = json_array();
    const json_t *plan;
    char text[80];
    int failed = 0, rc = TT_OK;

    snprintf(text, sizeof text, "%zu plan%s of A", missing, missing == 1 ? "" : "s");
    if (missing)
        fprintf(stderr, "tutti: --fail-if %s: %s: %s; B has no run of %s\n", reasons[fail_if], text,
                tt_verdict_names[TT_UNDECIDED], missing == 1 ? "it" : "them");
    json_array_foreach(json_object_get(comparison, "plans"), i, plan) failed |=
        json_array_append_new(suites, gate_plan(fail_if, plan, &worst));
    if (missing) {
        json_t *cases = json_array();

        failed |= tt_case_add(cases, "B has runs of all plans of A", tt_verdict_names[TT_UNDECIDED],
                              text);
        failed |= json_array_append_new(suites, tt_case_suite("plans", cases));
    }
    suites = tt_json_unless(failed, suites);
    if (junit)
        rc = tt_report_junit(junit, "compare", suites, e);
    else
        json_decref(suites);
    return rc == TT_OK ? tt_verdict_status(worst) : rc;
}

static int load(const struct tt_invocation *call, struct tt_compared_set *a,
                struct tt_compared_set *b, char **given, struct tt_error *e)
{
    const struct compare *o = call->opts;
    struct search search = {.results = o->dir};
    /* against a baseline: a directory instead of filters */
    bool is_directory = call->nwords == 1 && access(call->words[0], F_OK) == 0;
    int rc = set_from_word(&search, o->baseline ? o->baseline : call->words[0], a, e);

    if (rc == TT_OK && (!o->baseline || is_directory)) {
        rc = set_from_word(&search, call->words[o->baseline ? 0 : 1], b, e);
    } else if (rc == TT_OK) {
        *given =
            call->nwords ? tt_choice_text(call->nwords, call->words) : strdup("all other runs");
        b->given = *given;
        rc = *given ? set_from_filters(&search, call->nwords, call->words, a, b, e)
                    : tt_fail_nomem(e, "a name");
    }
    tt_store_close(search.store);
    return rc;
}

int tt_get_comparison(const char *a, const char *b, const char *results, bool any_plan,
                      json_t **out, struct tt_error *e)
{
    struct tt_compare_options how = {.seed = SEED, .any_plan = any_plan};
    struct search search = {.results = results};
    struct tt_compared_set first = {0}, second = {0};
    int rc = parse_margin(DEFAULT_MARGIN, &how.margin, e);

    if (rc == TT_OK)
        rc = set_from_word(&search, a, &first, e);
    if (rc == TT_OK)
        rc = set_from_word(&search, b, &second, e);
    if (rc == TT_OK)
        rc = tt_compare(&first, &second, &how, out, e);
    tt_store_close(search.store);
    tt_compared_free(&first);
    tt_compared_free(&second);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct compare *o = call->opts;
    struct tt_compare_options how = {.seed = SEED, .any_plan = o->any_plan};
    struct tt_compared_set a = {0}, b = {0};
    json_t *comparison = NULL;
    char *given = NULL;
    int rc = parse_margin(o->margin, &how.margin, e);

    if (rc == TT_OK && o->metrics)
        rc = take_metrics(o->metrics, &how, e);
    if (rc == TT_OK)
        rc = check_gate(o, &how, e);
    if (rc == TT_OK)
        rc = tt_outfiles_differ(
            (const struct tt_outfile_option[]){{"--json", o->json}, {"--junit", o->junit}, {NULL}},
            e);
    if (rc == TT_OK && !o->baseline && call->nwords != 2)
        rc = tt_fail(e, TT_USAGE,
                     "compare needs two sets of runs, A and B: run directories, or filters such as "
                     "label=nightly");
    if (rc == TT_OK)
        rc = load(call, &a, &b, &given, e);
    if (rc == TT_OK)
        rc = tt_compare(&a, &b, &how, &comparison, e);
    if (rc == TT_OK && !tt_is_stdout(o->json) && !tt_is_stdout(o->junit))
        tt_report_comparison(stdout, comparison);
    if (rc == TT_OK && o->json)
        rc = tt_outfile_json(o->json, comparison, e);
    if (rc == TT_OK && o->fail_if != FAIL_NEVER)
        rc = gate(o->fail_if, comparison, o->junit, e);
    json_decref(comparison);
    tt_compared_free(&a);
    tt_compared_free(&b);
    free(given);
    return rc;
}

const struct tt_command tt_command_compare = {
    .name = "compare",
    .summary = "one set of runs against another, with intervals",
    .synopsis = "tutti compare A B | --baseline A [FILTER ...] [--fail-if worse|different --metric "
                "NAME,...]",
    .text = "Say of every metric how B differs from A. Both are run directories, directories of "
            "run directories, ids or filters: label=nightly,stencil.size=64. Runs are compared "
            "with those of the same plan. Exit status with --fail-if: 0 if no metric that is named "
            "has become worse (or different), 3 if one has, 4 if that cannot be told.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct compare)},
    .max_words = TT_MAX_CHOICE_WORDS - 1,
};
