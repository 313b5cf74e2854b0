/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti compare: one set of runs against another. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/choose.h"
#include "cli/command.h"
#include "cli/compare_sets.h"
#include "cli/option.h"
#include "report/outfile.h"
#include "report/report.h"
#include "spec/units.h"

#define SEED 1

struct request {
    const char *margin, *metrics, *json, *dir, *baseline;
    bool any_plan;
    size_t nwords;
    const char *words[TT_MAX_CHOICE_WORDS];
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
                   "--margin: '%.40s' is no share: expected more than 0%% and less than "
                   "100%%, such as 5%%",
                   text);
}

static int take_metric(const char *name, struct tt_compare_options *o, struct tt_error *e)
{
    const struct tt_metric *m = tt_find_metric(name);
    const char *names[TT_NMETRICS + 1] = {0}, *near;

    if (m) {
        o->metrics[m - tt_metrics] = true;
        return TT_OK;
    }
    for (int i = 0; i < TT_NMETRICS; i++)
        names[i] = tt_metrics[i].name;
    near = tt_nearest_word(name, names);
    return tt_fail(e, TT_USAGE, "--metric: there is no metric '%.40s'%s", name,
                   TT_DID_YOU_MEAN(near));
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

static int check(const struct request *r, struct tt_compare_options *o, struct tt_error *e)
{
    int rc = parse_margin(r->margin ? r->margin : "5%", &o->margin, e);

    if (rc == TT_OK && r->metrics)
        rc = take_metrics(r->metrics, o, e);
    if (rc == TT_OK && !r->baseline && r->nwords != 2)
        rc = tt_fail(e, TT_USAGE,
                     "compare needs two sets of runs, A and B: run directories, or filters such as "
                     "label=nightly");
    return rc;
}

/* ---- doing it ---- */

/* "label=b size=64": how B was asked for, for the report. */
static char *join(size_t n, const char *const *words)
{
    size_t length = 1;
    char *text, *at;

    for (size_t i = 0; i < n; i++)
        length += strlen(words[i]) + 1;
    text = at = malloc(length);
    for (size_t i = 0; text && i < n; i++)
        at += snprintf(at, length - (size_t)(at - text), "%s%s", i ? " " : "", words[i]);
    return text;
}

/* Against a baseline: a directory instead of filters. */
static bool is_directory(const struct request *r)
{
    return r->nwords == 1 && access(r->words[0], F_OK) == 0;
}

static int load(const struct request *r, struct tt_compared_set *a, struct tt_compared_set *b,
                char **given, struct tt_error *e)
{
    struct tt_search search = {.results = r->dir ? r->dir : TT_DEFAULT_RESULTS};
    int rc = tt_set_from_word(&search, r->baseline ? r->baseline : r->words[0], a, e);

    if (rc == TT_OK && (!r->baseline || is_directory(r))) {
        rc = tt_set_from_word(&search, r->words[r->baseline ? 0 : 1], b, e);
    } else if (rc == TT_OK) {
        *given = r->nwords ? join(r->nwords, r->words) : strdup("all other runs");
        b->given = *given;
        rc = *given ? tt_set_from_filters(&search, r->nwords, r->words, a, b, e)
                    : tt_fail_nomem(e, "a name");
    }
    tt_search_end(&search);
    return rc;
}

static int compare(const struct request *r, const struct tt_compare_options *o, struct tt_error *e)
{
    struct tt_compared_set a = {0}, b = {0};
    json_t *comparison = NULL;
    char *given = NULL;
    int rc = load(r, &a, &b, &given, e);

    if (rc == TT_OK)
        rc = tt_compare(&a, &b, o, &comparison, e);
    if (rc == TT_OK && (!r->json || strcmp(r->json, "-") != 0))
        tt_report_comparison(stdout, comparison);
    if (rc == TT_OK && r->json)
        rc = tt_outfile_json(r->json, comparison, e);
    json_decref(comparison);
    tt_compared_free(&a);
    tt_compared_free(&b);
    free(given);
    return rc;
}

int tt_cmd_compare(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct request r = {0};
    struct tt_compare_options o = {.seed = SEED};
    const struct tt_option options[] = {{"--margin", &r.margin, NULL},
                                        {"--metric", &r.metrics, NULL},
                                        {"--json", &r.json, NULL},
                                        {"--dir", &r.dir, NULL},
                                        {"--baseline", &r.baseline, NULL},
                                        {"--any-plan", NULL, &r.any_plan},
                                        {NULL, NULL, NULL}};

    if (tt_take_words(argc, argv, options, TT_MAX_CHOICE_WORDS - 1, r.words, &r.nwords, &e) !=
        TT_OK)
        return tt_report_error(&e);
    o.any_plan = r.any_plan;
    if (check(&r, &o, &e) == TT_OK)
        compare(&r, &o, &e);
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
