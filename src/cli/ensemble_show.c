/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/ensemble_show.h"

#include <stdio.h>
#include <string.h>

#include "analysis/require.h"
#include "analysis/slowdown.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/option.h"
#include "ensemble/run.h"
#include "report/outfile.h"
#include "report/ensemble.h"
#include "spec/units.h"

#define MAX_SHOWN 64

static int add_verdicts(const struct tt_ensemble *x, json_t *answer, enum tt_verdict_kind *verdict,
                        struct tt_error *e)
{
    const json_t *steps = json_object_get(answer, "steps");
    json_t *limit = NULL, *list = NULL;
    int rc = TT_OK;

    if (x->o.limit > 0)
        rc = tt_slowdown_limit(steps, x->o.limit, &limit, e);
    if (rc == TT_OK && limit)
        json_object_set_new(answer, "limit", limit);
    if (rc == TT_OK && x->o.require.n > 0)
        rc = tt_require_judge(&x->o.require, steps, &list, verdict, e);
    if (rc == TT_OK && list)
        json_object_set(answer, "require", list);
    json_decref(list);
    return rc;
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static int exit_status(enum tt_verdict_kind verdict, const json_t *answer)
{
    const json_t *step;
    size_t i;

    if (verdict != TT_PASS)
        return verdict == TT_FAIL ? TT_EXIT_FAIL : TT_EXIT_INCONCLUSIVE;
    json_array_foreach(json_object_get(answer, "steps"), i, step)
    {
        if (tt_integer_of(step, "runs") < tt_integer_of(answer, "repeat"))
            return 1;
    }
    return 0;
}

int tt_ensemble_show_answer(const struct tt_ensemble *x, const char *directory, json_t **kept,
                            int *status, struct tt_error *e)
{
    FILE *table = is_stdout(x->o.json) || is_stdout(x->o.csv) ? stderr : stdout;
    enum tt_verdict_kind verdict = TT_PASS;
    json_t *answer = NULL;
    int rc = tt_ensemble_answer(x, directory, &answer, e);

    if (rc == TT_OK)
        rc = add_verdicts(x, answer, &verdict, e);
    if (rc == TT_OK && !x->o.quiet)
        tt_report_ensemble(table, answer);
    if (rc == TT_OK && x->o.json)
        rc = tt_outfile_json(x->o.json, answer, e);
    if (rc == TT_OK && x->o.csv)
        rc = tt_report_ensemble_csv(x->o.csv, answer, e);
    if (kept && answer)
        *kept = json_incref(answer);
    *status = rc == TT_OK ? exit_status(verdict, answer) : tt_exit_status(rc);
    json_decref(answer);
    return rc;
}

/* ---- tutti ensemble show ---- */

struct wanted {
    const char *limit, *json, *csv;
};

static int add_wanted(const struct wanted *w, struct tt_settings *settings, struct tt_error *e)
{
    int rc = TT_OK;

    if (w->limit)
        rc = tt_settings_add(settings, "limit", w->limit, "--limit", e);
    if (rc == TT_OK && w->json)
        rc = tt_settings_add(settings, "json", w->json, "--json", e);
    if (rc == TT_OK && w->csv)
        rc = tt_settings_add(settings, "csv", w->csv, "--csv", e);
    return rc;
}

static int show_one(const char *directory, const struct wanted *w, json_t *answers, int *status,
                    struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_ensemble x = {0};
    json_t *answer = NULL;
    bool is_matrix;
    int rc = tt_ensemble_load(directory, &settings, &is_matrix, e);

    if (rc == TT_OK)
        rc = add_wanted(w, &settings, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(&x, &settings, is_matrix, e);
    if (rc == TT_OK)
        rc = tt_ensemble_show_answer(&x, directory, &answer, status, e);
    if (answer)
        json_array_append_new(answers, answer);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
    return rc;
}

/* Which of several systems suffices, from ensembles that were run on each of them. */
static int say_which(const json_t *answers, const char *limit, struct tt_error *e)
{
    json_t *systems = NULL;
    double value = 0;
    int rc = tt_parse_real(limit, &value, e);

    if (rc == TT_OK)
        rc = tt_slowdown_suffices(answers, value, &systems, e);
    if (rc == TT_OK)
        tt_report_systems(stdout, systems, value);
    json_decref(systems);
    return rc;
}

int tt_ensemble_show(int argc, char **argv)
{
    const char *words[MAX_SHOWN];
    struct wanted w = {0};
    const struct tt_option options[] = {
        {"--limit", &w.limit, NULL}, {"--json", &w.json, NULL}, {"--csv", &w.csv, NULL}, {0}};
    json_t *answers = json_array();
    struct tt_error e = TT_ERROR_CLEAR;
    int status = 0, rc;
    size_t n;

    rc = tt_take_words(argc, argv, options, MAX_SHOWN, words, &n, &e);
    if (rc == TT_OK && n == 0)
        rc = tt_fail(&e, TT_USAGE, "ensemble show takes directories of ensembles");
    if (rc == TT_OK && n > 1 && (w.json || w.csv))
        rc = tt_fail(&e, TT_USAGE, "--json and --csv take the answer of one ensemble");
    for (size_t i = 0; i < n && rc == TT_OK; i++)
        rc = show_one(words[i], &w, answers, &status, &e);
    if (rc == TT_OK && n > 1 && w.limit)
        rc = say_which(answers, w.limit, &e);
    json_decref(answers);
    return rc == TT_OK ? status : tt_report_error(&e);
}
