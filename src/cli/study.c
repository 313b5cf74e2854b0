/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti study: points over values of keys, and which of the keys matter. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/result.h"
#include "cli/run.h"
#include "launch/launch.h"
#include "plan/settings_json.h"
#include "report/outfile.h"
#include "report/study.h"
#include "spec/units.h"
#include "study/study.h"

#define HOW \
    "tutti study FILE.yaml, tutti study WORKLOAD --sweep KEY=VALUES, or tutti study --resume " \
    "DIRECTORY; tutti help study"

/* ---- before ---- */

/* What is shown, sorted or pivoted by exists, before anything is run for it. */
static int check_shown(const struct tt_study *s, struct tt_error *e)
{
    const char **words = calloc(s->nfactors + 2, sizeof *words), *near;
    int rc = words ? tt_study_check_metrics(s, e) : tt_fail_nomem(e, "the keys");

    for (size_t i = 0; i < s->nfactors && rc == TT_OK; i++)
        words[i] = s->factors[i].key;
    if (rc == TT_OK && s->nrows > 1)
        words[s->nfactors] = "others";
    if (rc == TT_OK && s->o.pivot && !tt_has_word(words, s->o.pivot))
        rc = tt_fail(e, TT_USAGE, "pivot: '%.40s' is not varied%s", s->o.pivot,
                     TT_DID_YOU_MEAN(tt_nearest_word(s->o.pivot, words)));
    if (rc == TT_OK && s->o.sort && !tt_has_word(words, s->o.sort) && !tt_find_metric(s->o.sort) &&
        strcmp(s->o.sort, "slowdown") != 0) {
        near = tt_nearest_word(s->o.sort, words);
        rc = tt_fail(e, TT_USAGE, "sort: '%.40s' is neither varied nor a metric%s", s->o.sort,
                     TT_DID_YOU_MEAN(near ? near : TT_NEAREST_ROW(s->o.sort, tt_metrics)));
    }
    free(words);
    return rc == TT_OK ? tt_outfiles_check(s->o.json, s->o.csv, e) : rc;
}

static void announce(const struct tt_study *s, const struct tt_study_budget *b, FILE *out)
{
    char bytes[TT_UNIT_TEXT], time[TT_UNIT_TEXT];

    fprintf(out, "study       %zu points", s->npoints);
    if (s->skipped > 0)
        fprintf(out, ", %zu skipped", s->skipped);
    if (s->nsteps > 1)
        fprintf(out, ", %zu steps each", s->nsteps);
    fprintf(out, "\nruns        %llu", (unsigned long long)(b->runs - b->done));
    fprintf(out, "%s\n", b->done > 0 ? ", the others are done" : "");
    fprintf(out, "writes      %s%s\n", tt_format_bytes(b->bytes, bytes),
            s->nsteps > 1 ? ", loads more if they go on longer" : "");
    fprintf(out, "takes       %s%s\n", tt_format_seconds(b->seconds, time),
            b->measured ? ", as the runs so far"
                        : " at least: starting, computation, and I/O at 1 GiB/s");
}

/* ---- after ---- */

static int get_answer(const struct tt_study *s, const char *directory, json_t **answer,
                      struct tt_error *e)
{
    int rc = tt_study_answer(s, directory, answer, e);
    const char *why = tt_text_of(json_object_get(*answer, "failures"), "first");

    if (rc == TT_OK && json_array_size(json_object_get(*answer, "runs")) == 0)
        rc = tt_fail(e, TT_FAILED, "%s has no usable run%s%.200s; --resume it for more", directory,
                     *why ? ": " : "", why);
    return rc == TT_OK ? tt_study_fit(s, *answer, e) : rc;
}

int tt_get_study_answer(const char *directory, json_t **answer, struct tt_error *e)
{
    struct tt_study s = {0};
    int rc = tt_study_load(&s, directory, NULL, e);

    if (rc == TT_OK)
        rc = get_answer(&s, directory, answer, e);
    tt_study_free(&s);
    return rc;
}

static int show_answer(const struct tt_study *s, const char *directory, struct tt_error *e)
{
    FILE *table = tt_is_stdout(s->o.json) || tt_is_stdout(s->o.csv) ? stderr : stdout;
    json_t *answer = NULL;
    int rc = get_answer(s, directory, &answer, e);

    if (rc == TT_OK && !s->o.quiet)
        rc = tt_report_study(table, answer, s->o.sort, s->o.pivot, e);
    if (rc == TT_OK && s->o.json)
        rc = tt_outfile_json(s->o.json, answer, e);
    if (rc == TT_OK && s->o.csv)
        rc = tt_report_study_csv(s->o.csv, answer, s->o.csv_form == TT_CSV_WIDE, s->o.metrics.n > 0,
                                 e);
    json_decref(answer);
    return rc;
}

/* What was measured is shown, also if it is not all. */
static int run_and_show(const struct tt_study *s, const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR, later = TT_ERROR_CLEAR;
    struct tt_study_budget left = {0};
    int rc = tt_study_run(s, directory, NULL, &e);

    if (rc == TT_USAGE || rc == TT_BUSY || rc == TT_CORRUPT)
        return tt_report_error(&e);
    if (show_answer(s, directory, &later) != TT_OK && rc == TT_OK)
        return tt_report_error(&later);
    if (rc == TT_OK && tt_study_budget(s, directory, NULL, &left, &later) == TT_OK &&
        left.done < left.runs)
        rc = tt_fail(&e, TT_FAILED, "%llu of %llu runs could not be used",
                     (unsigned long long)(left.runs - left.done), (unsigned long long)left.runs);
    if (rc == TT_OK)
        return 0;
    tt_report_error(&e);
    fprintf(stderr, "tutti: go on with: tutti study %s--resume %s\n",
            tt_settings_programs(&s->base) ? "FILE " : "", directory);
    return 1;
}

static int run_study(const struct tt_study *s, const char *resume, struct tt_error *e)
{
    struct tt_study_budget budget;
    char *directory = NULL;
    int rc = check_shown(s, e);

    if (rc == TT_OK)
        rc = tt_study_budget(s, resume, NULL, &budget, e);
    if (rc == TT_OK && s->o.dry_run)
        announce(s, &budget, stdout);
    else if (rc == TT_OK && !s->o.quiet)
        announce(s, &budget, stderr);
    if (rc == TT_OK)
        rc = tt_study_check_budget(s, &budget, e);
    if (rc != TT_OK || s->o.dry_run)
        return rc;
    if (resume)
        directory = strdup(resume);
    else
        rc = tt_study_create(s, &directory, e);
    if (rc == TT_OK)
        rc = directory ? run_and_show(s, directory) : tt_fail_nomem(e, "a path");
    free(directory);
    return rc;
}

int tt_study_of_settings(const char *workload, const struct tt_settings *settings,
                         struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(settings, "resume");
    const char *resume = given ? given->value : NULL;
    struct tt_study s = {0};
    int rc;

    if (tt_launched_size() > 0)
        return tt_fail(e, TT_USAGE,
                       "a study launches its runs itself: start tutti without a launcher, with -n");
    rc = resume ? tt_study_load(&s, resume, settings, e) : tt_study_make(&s, workload, settings, e);
    if (rc == TT_OK && resume)
        rc = tt_study_extend(&s, workload, settings, e);
    if (rc == TT_OK)
        rc = run_study(&s, resume, e);
    tt_study_free(&s);
    return rc;
}

/* ---- tutti study show ---- */

int tt_study_show(const char *directory, const struct tt_settings *wanted, struct tt_error *e)
{
    static const char *const known[] = {"metrics", "sort",     "pivot", "json",
                                        "csv",     "csv_form", "fit",   NULL};
    struct tt_study s = {0};
    int rc = TT_OK;

    for (size_t i = 0; i < wanted->n && rc == TT_OK; i++) {
        size_t k = 0;

        while (known[k] && !tt_same_key(known[k], wanted->list[i].key))
            k++;
        if (!known[k])
            rc = tt_fail(e, TT_USAGE, "unknown option '%.80s'%s", wanted->list[i].place,
                         TT_DID_YOU_MEAN(tt_nearest_word(wanted->list[i].key, known)));
    }
    if (rc == TT_OK)
        rc = tt_study_load(&s, directory, NULL, e);
    for (size_t i = 0; i < wanted->n && rc == TT_OK; i++)
        rc = tt_setting_apply(&wanted->list[i],
                              tt_param_find(tt_study_component.params, wanted->list[i].key), &s.o,
                              e);
    if (rc == TT_OK)
        rc = check_shown(&s, e);
    if (rc == TT_OK)
        rc = show_answer(&s, directory, e);
    tt_study_free(&s);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const char *first = call->nwords ? call->words[0] : NULL;
    struct tt_settings settings = {0};
    char *workload = NULL;
    int rc = TT_OK;

    if (first && !strcmp(first, "show"))
        return call->nwords == 2
                   ? tt_study_show(call->words[1], &call->settings, e)
                   : tt_fail(e, TT_USAGE, "study show takes the directory of one study");
    if (call->nwords > 1)
        return tt_fail(e, TT_USAGE, "unexpected word '%.80s' after '%.80s'", call->words[1], first);
    if (!first && !tt_settings_find(&call->settings, "resume"))
        return tt_fail(e, TT_USAGE, HOW);
    if (first)
        rc = tt_read_base(first, &settings, &workload, e);
    if (rc == TT_OK)
        rc = tt_settings_append(&settings, &call->settings, e);
    if (rc == TT_OK)
        rc = tt_study_of_settings(workload, &settings, e);
    tt_settings_free(&settings);
    free(workload);
    return rc;
}

const struct tt_command tt_command_study = {
    .name = "study",
    .summary = "values of keys varied: which of them matter? tutti study FILE.yaml",
    .synopsis = "tutti study FILE.yaml|WORKLOAD [--sweep KEY=VALUES ...] [--KEY VALUE ...] | "
                "[FILE.yaml] --resume DIRECTORY [--add N] | show DIRECTORY",
    .text = "Run a job or an ensemble with other values of some keys, each in random order again "
            "and again, and say which keys matter. A file is that of tutti run or tutti ensemble "
            "with vary: {KEY: VALUES}, or points: [{KEY: VALUE}, ...]. Values are a list, 1,2,4, "
            "or a range: 1..9+2, 4k..1m*4. A resumed study may get more values and repetitions; "
            "what is done is not run again. show prints the answer again, with --metrics, --sort, "
            "--pivot, --fit, --csv and --json. tutti run WORKLOAD --sweep KEY=VALUES is the same.",
    .run = run,
    .job = &tt_study_component,
    .max_words = 2,
};
