/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/require.h"
#include "analysis/slowdown.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/result.h"
#include "cli/run.h"
#include "ensemble/run.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/settings_json.h"
#include "plan/workload.h"
#include "report/ensemble.h"
#include "report/junit.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "spec/read.h"
#include "spec/units.h"
#include "store/baseline.h"

#define SCENARIOS "empty, balanced, peak:io, peak:cpu, peak:memory, peak:network"

/* ---- before ---- */

static int read_file(const char *path, struct tt_settings *settings, struct tt_error *e)
{
    char *workload = NULL;
    int rc;

    if (!strpbrk(path, "./") && access(path, F_OK) != 0)
        return tt_fail(e, TT_USAGE, "'%.80s' is neither a file nor a scenario (" SCENARIOS ")",
                       path);
    rc = tt_read_yaml(path, settings, &workload, e);
    if (rc == TT_OK && workload)
        rc = tt_fail(e, TT_USAGE,
                     "%s: 'workload' belongs inside reference or load: 'reference: {workload: "
                     "%.40s}'; tutti run runs a single one",
                     path, workload);
    free(workload);
    return rc;
}

/* Repetitions of different things are never put together. */
static const struct tt_resume resumed = {
    .what = "ensemble",
    .how = "tutti ensemble FILE --resume DIRECTORY",
    .may_differ =
        (const char *const[]){"resume", "repeat", "stop_when.ci", "stop_when.at_most",
                              "stop_when.metric", "max_time", "max_bytes", "watchdog", "limit",
                              "require", "json", "csv", "junit", "quiet", "dry_run", NULL},
};

/* What is resumed is what the directory says, as far as it may. */
static int resume_settings(const char *directory, const char *file, const struct tt_settings *words,
                           struct tt_settings *settings, bool *is_matrix, struct tt_error *e)
{
    struct tt_settings given = {0};
    bool scenario = file && tt_is_scenario(file);
    int rc = tt_ensemble_load(directory, settings, is_matrix, e);

    if (rc == TT_OK && scenario)
        rc = tt_scenario_make(file, words, &given, e);
    else if (rc == TT_OK && file)
        rc = read_file(file, &given, e);
    if (rc == TT_OK)
        rc = tt_settings_check_resumed(&resumed, settings, words, &given, scenario, e);
    tt_settings_free(&given);
    return rc;
}

/* The file's settings, or those of the ensemble to be resumed; the command line wins. */
static int read_settings(const char *file, const char *resume, const struct tt_settings *words,
                         struct tt_settings *settings, bool *is_matrix, struct tt_error *e)
{
    int rc;

    if (!file && !resume)
        return tt_fail(e, TT_USAGE,
                       "ensemble takes a file, a scenario (" SCENARIOS
                       "), or --resume DIRECTORY; tutti help ensemble");
    if (resume)
        rc = resume_settings(resume, file, words, settings, is_matrix, e);
    else if (tt_is_scenario(file))
        rc = tt_scenario_make(file, words, settings, e);
    else
        rc = read_file(file, settings, e);
    return rc == TT_OK ? tt_settings_append(settings, words, e) : rc;
}

/* The first job that does exactly the same, before this one; NULL: none does. */
static const struct tt_job_spec *twin_of(const struct tt_ensemble *x, size_t spec)
{
    json_t *own = tt_config_to_json(&x->specs[spec].config);
    const struct tt_job_spec *twin = NULL;

    for (size_t i = 0; i < spec && !twin; i++) {
        json_t *other = tt_config_to_json(&x->specs[i].config);

        if (json_equal(own, other) && !strcmp(x->specs[i].workload, x->specs[spec].workload))
            twin = &x->specs[i];
        json_decref(other);
    }
    json_decref(own);
    return twin;
}

static int describe_spec(const struct tt_ensemble *x, size_t spec, struct tt_paragraph *out,
                         struct tt_error *e)
{
    const struct tt_job_spec *p = &x->specs[spec], *twin = twin_of(x, spec);
    char bytes[TT_UNIT_TEXT], time[TT_UNIT_TEXT];
    struct tt_estimate estimate = {0};
    int rc = p->config.workload->estimate(&p->config, &estimate, e);

    if (rc != TT_OK)
        return rc;
    if (twin) {
        tt_paragraph_add(out, "the same as %s", twin->name);
    } else {
        tt_paragraph_add(out, "%s on %llu rank%s", p->workload,
                         (unsigned long long)p->config.run->ranks,
                         p->config.run->ranks == 1 ? "" : "s");
        if (estimate.bytes_written > 0)
            tt_paragraph_add(out, ", writes %s",
                             tt_format_bytes((double)estimate.bytes_written, bytes));
        if (estimate.compute_seconds > estimate.sleep_seconds)
            tt_paragraph_add(
                out, ", computes about %s on a free CPU",
                tt_format_seconds(estimate.compute_seconds - estimate.sleep_seconds, time));
        if (estimate.sleep_seconds > 0)
            tt_paragraph_add(out, ", sleeps about %s",
                             tt_format_seconds(estimate.sleep_seconds, time));
    }
    if (!strncmp(p->name, "load", 4))
        tt_paragraph_add(out,
                         p->o.loop ? "; again and again until the reference has ended" : "; once");
    return TT_OK;
}

/* What is known beforehand; loads go on until the reference has ended, however long that takes. */
static int announce(const struct tt_ensemble *x, FILE *out, struct tt_error *e)
{
    struct tt_paragraph steps = {0};
    int rc = TT_OK;

    tt_paragraph_add(&steps, "%zu step%s, each %llu time%s, in random order:", x->nsteps,
                     x->nsteps == 1 ? "" : "s", (unsigned long long)x->o.repeat,
                     x->o.repeat == 1 ? "" : "s");
    for (size_t i = 0; i < x->nsteps; i++) {
        const struct tt_step *s = &x->steps[i];

        tt_paragraph_add(&steps, "%s %s", i ? "," : "", x->specs[s->reference].name);
        if (s->others > 0 && x->nmixes > 1)
            tt_paragraph_add(&steps, " with %llu %s", (unsigned long long)s->others,
                             x->specs[x->mixes[s->mix].specs[0]].name);
        else if (s->others > 0)
            tt_paragraph_add(&steps, " with %llu other%s", (unsigned long long)s->others,
                             s->others == 1 ? "" : "s");
        else
            tt_paragraph_add(&steps, " alone%s",
                             x->o.alone > 1 && tt_step_is_base(x, i) ? " twice" : "");
    }
    for (size_t i = x->nsteps; i < x->npoints; i++)
        if (x->steps[i].is_load)
            tt_paragraph_add(&steps, ", %s alone", x->specs[x->steps[i].reference].name);
    tt_paragraph_print(&steps, out, "plan");
    for (size_t i = 0; i < x->nspecs && rc == TT_OK; i++) {
        struct tt_paragraph p = {0};

        rc = describe_spec(x, i, &p, e);
        if (rc == TT_OK)
            tt_paragraph_print(&p, out, x->specs[i].name);
    }
    return rc;
}

/* Somebody pays for an allocation. */
static int tell_idle(const struct tt_ensemble *x, struct tt_error *e)
{
    size_t idle, all;
    int rc = tt_nodes_idle(x, &idle, &all, e);

    if (rc == TT_OK && idle > 0)
        fprintf(stderr,
                "tutti: %zu of the %zu nodes of this allocation stay idle: no step has jobs for "
                "them\n",
                idle, all);
    return rc;
}

/* ---- the answer ---- */

/* Stored runs lie where the ensemble does. */
static int judge_require(const struct tt_ensemble *x, const char *directory, const json_t *steps,
                         json_t **list, enum tt_verdict_kind *verdict, struct tt_error *e)
{
    char *copy = strdup(directory);
    struct tt_baselines baselines = {.results = copy ? dirname(copy) : NULL, .own = directory};
    const struct tt_baseline_source source = tt_baseline_source(&baselines);
    int rc = copy ? tt_require_judge(&x->o.require, steps, &source, list, verdict, e)
                  : tt_fail_nomem(e, "a path");

    tt_baselines_close(&baselines);
    free(copy);
    return rc;
}

static int add_verdicts(const struct tt_ensemble *x, const char *directory, json_t *answer,
                        enum tt_verdict_kind *verdict, struct tt_error *e)
{
    const json_t *steps = json_object_get(answer, "steps");
    json_t *limit = NULL, *list = NULL;
    int rc = TT_OK;

    if (x->o.limit > 0)
        rc = tt_slowdown_limit(steps, x->o.limit, &limit, e);
    if (rc == TT_OK && limit)
        json_object_set_new(answer, "limit", limit);
    if (rc == TT_OK && x->o.require.n > 0)
        rc = judge_require(x, directory, steps, &list, verdict, e);
    if (rc == TT_OK && list)
        json_object_set(answer, "require", list);
    if (rc == TT_OK && x->o.ci.percent > 0 &&
        json_object_set_new(answer, "stop_when",
                            tt_stop_judge(x->o.stop_metric ? x->o.stop_metric : "runtime",
                                          x->o.ci.percent / 100, steps)) != 0)
        rc = tt_fail_nomem(e, "the answer");
    json_decref(list);
    return rc;
}

static int exit_status(enum tt_verdict_kind verdict, const json_t *answer)
{
    const json_t *step;
    size_t i;

    if (verdict != TT_PASS)
        return tt_verdict_status(verdict);
    json_array_foreach(json_object_get(answer, "steps"), i, step)
    {
        if (tt_integer_of(step, "rounds") < tt_integer_of(answer, "repeat"))
            return 1;
    }
    return 0;
}

/* Conditions, and that all of it was measured, as the exit status has it. why: what ended it early,
 * NULL: nothing did. */
static int write_junit(const struct tt_ensemble *x, const char *directory, const json_t *answer,
                       const char *why, struct tt_error *e)
{
    bool is_done = !why && exit_status(TT_PASS, answer) == 0;
    json_t *suite;

    if (!x->o.junit)
        return TT_OK;
    suite = tt_case_suite_of(tt_directory_id(directory), answer,
                             is_done ? tt_verdict_names[TT_PASS] : TT_CASE_NOT_MEASURED,
                             why       ? why
                             : is_done ? "all are"
                                       : "some are left out; see the answer");
    return tt_report_junit(x->o.junit, "ensemble", json_pack("[o]", suite), e);
}

/* Whoever is quiet wants to hear of a failure all the more. */
static void say_unmet(const json_t *answer)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(answer, "require"), i, one)
    {
        if (strcmp(tt_text_of(one, "verdict"), tt_verdict_names[TT_PASS]))
            fprintf(stderr, "tutti: require: %s: %s; %s\n", tt_text_of(one, "condition"),
                    tt_text_of(one, "verdict"), tt_text_of(one, "text"));
    }
}

/* Analyse, judge, print and export as the options of the ensemble say. why: what ended it early,
 * NULL: nothing did. *status is the exit status; *kept (may be NULL) is a new reference to the
 * answer. */
static int show_answer(const struct tt_ensemble *x, const char *directory, const char *why,
                       json_t **kept, int *status, struct tt_error *e)
{
    bool is_taken = tt_is_stdout(x->o.json) || tt_is_stdout(x->o.csv) || tt_is_stdout(x->o.junit);
    FILE *table = is_taken ? stderr : stdout;
    enum tt_verdict_kind verdict = TT_PASS;
    json_t *answer = NULL;
    int rc = tt_ensemble_answer(x, directory, &answer, e);

    if (rc == TT_OK)
        rc = add_verdicts(x, directory, answer, &verdict, e);
    if (rc == TT_OK && !x->o.quiet)
        tt_report_ensemble(table, answer);
    if (rc == TT_OK)
        say_unmet(answer);
    if (rc == TT_OK && x->o.json)
        rc = tt_outfile_json(x->o.json, answer, e);
    if (rc == TT_OK && x->o.csv)
        rc = tt_report_ensemble_csv(x->o.csv, answer, e);
    if (rc == TT_OK)
        rc = write_junit(x, directory, answer, why, e);
    if (kept && answer)
        *kept = json_incref(answer);
    *status = rc == TT_OK ? exit_status(verdict, answer) : tt_exit_status(rc);
    json_decref(answer);
    return rc;
}

/* ---- the command ---- */

/* What was measured is shown, also if it is not all. */
static int run_and_show(const struct tt_ensemble *x, const struct tt_settings *settings,
                        const char *directory, struct tt_part *part)
{
    struct tt_error e = TT_ERROR_CLEAR, later = TT_ERROR_CLEAR;
    struct tt_runner_report report = {0};
    int rc = tt_ensemble_run(x, directory, &report, &e), status;

    if (rc == TT_OK && report.out_of_budget)
        rc = tt_fail(&e, TT_LIMIT, "%s", report.why);
    free(report.list);
    part->code = rc;
    if (rc == TT_USAGE || rc == TT_BUSY || rc == TT_CORRUPT || (rc != TT_OK && report.n == 0)) {
        write_junit(x, directory, NULL, e.text, &later);
        return tt_report_error(&e);
    }
    /* A full disk, for one, ends both; the first says it. */
    if (show_answer(x, directory, rc == TT_OK ? NULL : e.text, &part->answer, &status, &later) !=
            TT_OK &&
        rc == TT_OK)
        tt_report_error(&later);
    if (rc == TT_OK)
        return status;
    tt_report_error(&e);
    if (!part->made)
        fprintf(stderr, "tutti: go on with: tutti ensemble %s--resume %s\n",
                tt_settings_programs(settings) ? "FILE " : "", directory);
    return 1;
}

/* What no repetition could ever tell is refused before the first. */
static int check_require(const struct tt_ensemble *x, struct tt_error *e)
{
    struct tt_baselines baselines = {.results = x->o.results};
    const struct tt_baseline_source source = tt_baseline_source(&baselines);
    int rc = tt_require_check(&x->o.require, &x->o.others, &source, e);

    if (rc == TT_OK && baselines.missing[0])
        fprintf(stderr,
                "tutti: require: no stored run matches baseline(%s) yet, so it cannot be told\n",
                baselines.missing);
    tt_baselines_close(&baselines);
    return rc;
}

/* A part of a suite may be meant for a larger machine than the one that plans it. */
static int rehearse(const struct tt_ensemble *x, struct tt_part *part, int possible,
                    const struct tt_error *why, struct tt_error *e)
{
    struct tt_estimate *estimates = NULL;
    int rc;

    if (possible == TT_USAGE || (possible != TT_OK && !part->made))
        return tt_fail(e, possible, "%s", why->text);
    rc = announce(x, stdout, e);
    if (rc == TT_OK && possible != TT_OK)
        tt_say(stdout, "not here", "%s", why->text);
    if (rc == TT_OK && part->made)
        rc = tt_ensemble_estimate(x, &estimates, e);
    if (rc == TT_OK && estimates) {
        tt_ensemble_expect(x, estimates, &part->bytes, &part->seconds);
        part->runs = (double)x->npoints * (double)x->o.repeat;
        part->bytes *= (double)x->o.repeat;
        part->seconds *= (double)x->o.repeat;
    }
    free(estimates);
    return rc;
}

static int run_ensemble(struct tt_ensemble *x, const struct tt_settings *settings, bool is_matrix,
                        struct tt_part *part, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    bool resume = part->directory != NULL;
    int rc =
        part->made ? TT_OK : check_require(x, &why); /* of a part it was checked at the start */

    if (rc == TT_OK)
        rc = tt_outfiles_differ(
            (const struct tt_outfile_option[]){
                {"--json", x->o.json}, {"--csv", x->o.csv}, {"--junit", x->o.junit}, {NULL}},
            &why);
    if (rc == TT_OK)
        rc = tt_ensemble_check_room(x, &why);
    if (x->o.dry_run)
        return rehearse(x, part, rc, &why, e);
    if (rc != TT_OK)
        *e = why;
    if (rc == TT_OK && !x->o.quiet && !resume)
        rc = announce(x, stderr, e);
    if (rc == TT_OK)
        rc = tell_idle(x, e);
    if (rc == TT_OK && !resume)
        rc = tt_ensemble_create(x, settings, is_matrix, &part->directory, e);
    if (rc == TT_OK && !resume && part->made)
        rc = part->made(part->context, part->directory, e);
    if (rc == TT_OK)
        rc = tt_ensemble_calibrate(x, part->directory, true, e);
    return rc == TT_OK ? run_and_show(x, settings, part->directory, part) : rc;
}

static void free_part(struct tt_part *part)
{
    free(part->directory);
    json_decref(part->answer);
}

/* ---- tutti ensemble show ---- */

/* A table without numbers needs a word. */
static int check_runs(const json_t *answer, const char *directory, struct tt_error *e)
{
    const json_t *step;
    size_t i;

    json_array_foreach(json_object_get(answer, "steps"), i, step)
    {
        if (tt_integer_of(step, "runs") > 0)
            return TT_OK;
    }
    return tt_fail(e, TT_FAILED, "%s has no usable repetition; --resume it for more", directory);
}

/* What a directory was made with, and further settings; to be freed also after an error. */
static int open_ensemble(const char *directory, const struct tt_settings *wanted,
                         struct tt_settings *settings, struct tt_ensemble *x, struct tt_error *e)
{
    bool is_matrix;
    int rc = tt_ensemble_load(directory, settings, &is_matrix, e);

    if (rc == TT_OK)
        rc = tt_settings_append(settings, wanted, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(x, settings, is_matrix, e);
    return rc == TT_OK ? tt_ensemble_calibrate(x, directory, false, e) : rc;
}

int tt_get_ensemble_answer(const char *directory, json_t **answer, struct tt_error *e)
{
    const struct tt_settings nothing = {0};
    enum tt_verdict_kind ignored = TT_PASS;
    struct tt_settings settings = {0};
    struct tt_ensemble x = {0};
    int rc = open_ensemble(directory, &nothing, &settings, &x, e);

    if (rc == TT_OK)
        rc = tt_ensemble_answer(&x, directory, answer, e);
    if (rc == TT_OK)
        rc = add_verdicts(&x, directory, *answer, &ignored, e);
    if (rc == TT_OK)
        rc = check_runs(*answer, directory, e);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
    return rc;
}

static int show_one(const char *directory, const struct tt_settings *wanted, json_t *answers,
                    int *status, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_ensemble x = {0};
    json_t *answer = NULL;
    int rc = open_ensemble(directory, wanted, &settings, &x, e);

    if (rc == TT_OK)
        rc = show_answer(&x, directory, NULL, &answer, status, e);
    if (rc == TT_OK)
        rc = check_runs(answer, directory, e);
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

static int check_wanted(size_t n, const struct tt_settings *wanted, struct tt_error *e)
{
    static const char *const known[] = {"limit", "json", "csv", "junit", NULL};

    for (size_t i = 0; i < wanted->n; i++) {
        const struct tt_setting *s = &wanted->list[i];
        size_t k = 0;

        while (known[k] && !tt_same_key(known[k], s->key))
            k++;
        if (!known[k])
            return tt_fail(e, TT_USAGE, "unknown option '%.80s'%s", s->place,
                           TT_DID_YOU_MEAN(tt_nearest_word(s->key, known)));
        if (!s->value)
            return tt_fail(e, TT_USAGE, "option %s needs a value", s->place);
    }
    if (n == 0)
        return tt_fail(e, TT_USAGE, "ensemble show takes directories of ensembles");
    if (n > 1 && (tt_settings_find(wanted, "json") || tt_settings_find(wanted, "csv") ||
                  tt_settings_find(wanted, "junit")))
        return tt_fail(e, TT_USAGE, "--json, --csv and --junit take the answer of one ensemble");
    return TT_OK;
}

int tt_ensemble_show(size_t n, const char *const *directories, const struct tt_settings *wanted,
                     struct tt_error *e)
{
    const struct tt_setting *limit = tt_settings_find(wanted, "limit");
    json_t *answers = json_array();
    int status = 0, rc = check_wanted(n, wanted, e);

    for (size_t i = 0; i < n && rc == TT_OK; i++)
        rc = show_one(directories[i], wanted, answers, &status, e);
    if (rc == TT_OK && n > 1 && limit)
        rc = say_which(answers, limit->value, e);
    json_decref(answers);
    return rc == TT_OK ? status : rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(&call->settings, "resume");
    const char *first = call->nwords ? call->words[0] : "", *resume = given ? given->value : NULL;
    struct tt_settings settings = {0};
    struct tt_ensemble x = {0};
    struct tt_part part = {0};
    bool is_matrix = !strcmp(first, "matrix");
    int rc;

    if (!strcmp(first, "show"))
        return tt_ensemble_show(call->nwords - 1, call->words + 1, &call->settings, e);
    if (call->nwords > 1u + is_matrix)
        return tt_fail(e, TT_USAGE, "unexpected word '%.80s' after '%.80s'",
                       call->words[1 + is_matrix], call->words[is_matrix]);
    rc = read_settings(call->nwords > is_matrix ? call->words[is_matrix] : NULL, resume,
                       &call->settings, &settings, &is_matrix, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(&x, &settings, is_matrix, e);
    if (rc == TT_OK && resume && !(part.directory = strdup(resume)))
        rc = tt_fail_nomem(e, "a path");
    if (rc == TT_OK)
        rc = run_ensemble(&x, &settings, is_matrix, &part, e);
    free_part(&part);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
    return rc;
}

const struct tt_command tt_command_ensemble = {
    .name = "ensemble",
    .summary = "a job alone and with others around it: tutti ensemble FILE.yaml",
    .synopsis =
        "tutti ensemble FILE.yaml|SCENARIO|matrix FILE.yaml|show DIRECTORY ... [--KEY VALUE]",
    .text = "Measure a reference job alone and with others around it. A scenario is empty, "
            "balanced, peak:io, peak:cpu, peak:memory or peak:network, and is sized to the "
            "machine. matrix takes every job of a set as reference and as load. show prints an "
            "answer again; with --limit it says which of several systems suffices. A file has "
            "reference: and load: with the keys of a workload, and the keys below. Exit status: "
            "0 if all was done, 3 if a require failed, 4 if one cannot be told.",
    .run = run,
    .job = &tt_ensemble_component,
    .max_words = TT_ANY_WORDS,
};

/* ---- a single job, repeated ---- */

bool tt_asks_for_repetitions(const struct tt_settings *settings)
{
    for (size_t i = 0; i < settings->n; i++)
        if (tt_same_key(settings->list[i].key, "repeat") ||
            tt_same_key(settings->list[i].key, "require") ||
            !strncmp(settings->list[i].key, "stop_when.", 10))
            return true;
    return false;
}

int tt_run_repeatedly(const char *workload, const struct tt_settings *job, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_ensemble x = {0};
    struct tt_part part = {0};
    int rc;

    if (tt_launched_size() > 0)
        return tt_fail(
            e, TT_USAGE,
            "repeat, stop_when and require launch jobs again and again: start tutti without a "
            "launcher, with -n");
    rc = tt_ensemble_of_job(workload, job, &settings, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(&x, &settings, false, e);
    if (rc == TT_OK)
        rc = run_ensemble(&x, &settings, false, &part, e);
    free_part(&part);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
    return rc;
}

/* ---- an ensemble as a part ---- */

static const struct tt_settings nothing = {0};

/* Of a part that was not begun only the settings are known: none is new, and none is gone. */
static int check_planned(const json_t *planned, const struct tt_settings *given, struct tt_error *e)
{
    struct tt_settings settings = {0};
    int rc = tt_settings_from_list(planned, "the suite", &settings, e);

    if (rc == TT_OK)
        rc = tt_settings_check_resumed(&resumed, &settings, &nothing, given, false, e);
    if (rc == TT_OK)
        rc = tt_settings_check_resumed(&resumed, given, &nothing, &settings, false, e);
    tt_settings_free(&settings);
    return rc;
}

/* What is resumed is what the directory says; what may not differ is refused. */
static int make_part(const struct tt_settings *given, const struct tt_part *part,
                     struct tt_ensemble *x, bool *is_matrix, struct tt_error *e)
{
    struct tt_settings settings = {0};
    int rc = TT_OK;

    *is_matrix = false;
    if (part->directory)
        rc = tt_ensemble_load(part->directory, &settings, is_matrix, e);
    else if (part->planned)
        rc = check_planned(part->planned, given, e);
    if (rc == TT_OK && part->directory)
        rc = tt_settings_check_resumed(&resumed, &settings, &nothing, given, false, e);
    if (rc == TT_OK)
        rc = tt_settings_append(&settings, given, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(x, &settings, *is_matrix, e);
    tt_settings_free(&settings);
    return rc;
}

int tt_check_part(const struct tt_settings *given, const struct tt_part *part, struct tt_error *e)
{
    struct tt_ensemble x = {0};
    bool is_matrix;
    int rc = make_part(given, part, &x, &is_matrix, e);

    if (rc == TT_OK)
        rc = check_require(&x, e);
    tt_ensemble_free(&x);
    return rc;
}

int tt_run_part(const struct tt_settings *given, struct tt_part *part, struct tt_error *e)
{
    struct tt_ensemble x = {0};
    bool is_matrix;
    int rc = make_part(given, part, &x, &is_matrix, e);

    if (rc == TT_OK)
        rc = run_ensemble(&x, given, is_matrix, part, e);
    tt_ensemble_free(&x);
    return rc;
}
