/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/ensemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/require.h"
#include "cli/command.h"
#include "cli/ensemble_show.h"
#include "ensemble/run.h"
#include "launch/launch.h"
#include "plan/workload.h"
#include "plan/settings_json.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "spec/read.h"
#include "spec/units.h"

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
                     "%s: 'workload' stands inside of reference or load: 'reference: {workload: "
                     "%.40s}'; tutti run runs a single one",
                     path, workload);
    free(workload);
    return rc;
}

/* Repetitions of different things are never put together. */
static const char *const may_differ[] = {
    "resume",   "repeat",    "stop_when.ci", "stop_when.at_most",
    "max_time", "max_bytes", "watchdog",     "limit",
    "require",  "json",      "csv",          "quiet",
    "dry_run",  NULL};

#define RESUME_HOW "tutti ensemble FILE --resume DIRECTORY"

/* What is resumed is what the directory says, as far as it may. */
static int resume_settings(const char *directory, const char *file, const struct tt_settings *words,
                           struct tt_settings *settings, bool *is_matrix, struct tt_error *e)
{
    struct tt_settings given = {0};
    bool scenario = file && tt_is_scenario(file);
    int rc = tt_ensemble_load(directory, settings, is_matrix, e);

    if (rc == TT_OK)
        rc = tt_settings_check_resumed(words, settings, may_differ, "ensemble", e);
    if (rc == TT_OK && scenario)
        rc = tt_scenario_make(file, words, &given, e);
    else if (rc == TT_OK && file)
        rc = read_file(file, &given, e);
    if (rc == TT_OK && !scenario)
        rc = tt_settings_check_resumed(&given, settings, may_differ, "ensemble", e);
    if (rc == TT_OK)
        rc = tt_settings_vouch(settings, &given, words, RESUME_HOW, e);
    tt_settings_free(&given);
    return rc;
}

/* The file's settings, or those of the ensemble to be resumed; the command line wins. */
static int read_settings(int argc, char **argv, struct tt_settings *settings, bool *is_matrix,
                         char **resume, struct tt_error *e)
{
    struct tt_settings words = {0};
    const char *file = NULL;
    int rc;

    *is_matrix = argc > 1 && !strcmp(argv[1], "matrix");
    if (*is_matrix) {
        argc--;
        argv++;
    }
    rc = tt_read_arguments(argc - 1, argv + 1, tt_ensemble_component.params, &words, &file, e);
    for (size_t i = 0; i < words.n && rc == TT_OK; i++)
        if (tt_same_key(words.list[i].key, "resume") && words.list[i].value) {
            free(*resume);
            *resume = strdup(words.list[i].value);
        }
    if (rc == TT_OK && !file && !*resume)
        rc = tt_fail(e, TT_USAGE,
                     "ensemble takes a file, a scenario (" SCENARIOS
                     "), or --resume DIRECTORY; tutti "
                     "help ensemble");
    if (rc == TT_OK && *resume)
        rc = resume_settings(*resume, file, &words, settings, is_matrix, e);
    else if (rc == TT_OK && tt_is_scenario(file))
        rc = tt_scenario_make(file, &words, settings, e);
    else if (rc == TT_OK)
        rc = read_file(file, settings, e);
    for (size_t i = 0; i < words.n && rc == TT_OK; i++)
        rc = tt_settings_add(settings, words.list[i].key, words.list[i].value, words.list[i].place,
                             e);
    tt_settings_free(&words);
    return rc;
}

static int check_outputs(const struct tt_ensemble *x, struct tt_error *e)
{
    int rc = tt_require_check(&x->o.require, &x->o.others, e);

    return rc == TT_OK ? tt_outfiles_check(x->o.json, x->o.csv, e) : rc;
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
        if (estimate.compute_seconds > 0)
            tt_paragraph_add(out, ", computes about %s on a free CPU",
                             tt_format_seconds(estimate.compute_seconds, time));
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
            tt_paragraph_add(&steps, " alone");
    }
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

/* ---- the command ---- */

/* What was measured is shown, also if it is not all. */
static int conduct(const struct tt_ensemble *x, const struct tt_settings *settings,
                   const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR, later = TT_ERROR_CLEAR;
    struct tt_runner_report report = {0};
    int rc = tt_ensemble_run(x, directory, &report, &e), status;

    if (rc == TT_OK && report.out_of_budget)
        rc = tt_fail(&e, TT_LIMIT, "%s", report.why);
    free(report.list);
    if (rc == TT_USAGE || rc == TT_BUSY || rc == TT_CORRUPT || (rc != TT_OK && report.n == 0))
        return tt_report_error(&e);
    /* A full disk, for one, ends both; the first says it. */
    if (tt_ensemble_show_answer(x, directory, NULL, &status, &later) != TT_OK && rc == TT_OK)
        tt_report_error(&later);
    if (rc == TT_OK)
        return status;
    tt_report_error(&e);
    fprintf(stderr, "tutti: go on with: tutti ensemble %s--resume %s\n",
            tt_settings_programs(settings) ? "FILE " : "", directory);
    return 1;
}

static int run(const struct tt_ensemble *x, const struct tt_settings *settings, bool is_matrix,
               const char *resume)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *directory = NULL;
    int rc = check_outputs(x, &e), status;

    if (rc == TT_OK)
        rc = tt_ensemble_check_room(x, &e);
    if (rc == TT_OK && x->o.dry_run) {
        rc = announce(x, stdout, &e);
        return rc == TT_OK ? 0 : tt_report_error(&e);
    }
    if (rc == TT_OK && !x->o.quiet && !resume)
        rc = announce(x, stderr, &e);
    if (rc == TT_OK)
        rc = tell_idle(x, &e);
    if (rc == TT_OK && resume)
        directory = strdup(resume);
    else if (rc == TT_OK)
        rc = tt_ensemble_create(x, settings, is_matrix, &directory, &e);
    status = rc == TT_OK ? conduct(x, settings, directory) : tt_report_error(&e);
    free(directory);
    return status;
}

int tt_cmd_ensemble(int argc, char **argv)
{
    struct tt_settings settings = {0};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ensemble x = {0};
    char *resume = NULL;
    bool is_matrix;
    int status;

    if (argc > 1 && !strcmp(argv[1], "show"))
        return tt_ensemble_show(argc - 1, argv + 1);
    if (read_settings(argc, argv, &settings, &is_matrix, &resume, &e) != TT_OK ||
        tt_ensemble_make(&x, &settings, is_matrix, &e) != TT_OK)
        status = tt_report_error(&e);
    else
        status = run(&x, &settings, is_matrix, resume);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
    free(resume);
    return status;
}

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

/* What an ensemble has, too, is the ensemble's; everything else is the reference's. */
static bool is_of_ensemble(const char *key)
{
    static const char *const jobs[] = {"dir", "min_free", "seed", "cpus", NULL};

    for (size_t i = 0; jobs[i]; i++)
        if (tt_same_key(jobs[i], key))
            return false;
    for (const struct tt_param *p = tt_ensemble_component.params; p->key; p++)
        if (tt_same_key(p->key, key))
            return true;
    return false;
}

static int as_reference(const char *workload, const struct tt_settings *job,
                        struct tt_settings *out, struct tt_error *e)
{
    int rc = tt_settings_add(out, "reference.workload", workload, "run", e);

    if (rc == TT_OK)
        rc = tt_settings_add(out, "others", "0", "run", e);
    for (size_t i = 0; i < job->n && rc == TT_OK; i++) {
        const struct tt_setting *s = &job->list[i];
        const char *name = strcmp(s->key, "-n") ? s->key : "ranks";
        char *key = NULL;

        if (asprintf(&key, "%s%s", is_of_ensemble(name) ? "" : "reference.", name) < 0)
            return tt_fail_nomem(e, "settings");
        rc = tt_settings_add(out, key, s->value, s->place, e);
        free(key);
    }
    return rc;
}

int tt_run_repeatedly(const char *workload, const struct tt_settings *job)
{
    struct tt_settings settings = {0};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ensemble x = {0};
    int status;

    if (tt_launched_size() > 0)
        tt_fail(&e, TT_USAGE,
                "repeat, stop_when and require launch jobs again and again: start tutti without a "
                "launcher, with -n");
    if (e.code != TT_OK || as_reference(workload, job, &settings, &e) != TT_OK ||
        tt_ensemble_make(&x, &settings, false, &e) != TT_OK)
        status = tt_report_error(&e);
    else
        status = run(&x, &settings, false, NULL);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
    return status;
}
