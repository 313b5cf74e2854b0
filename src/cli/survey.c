/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti survey flash: naive and aged figures of a store, on the one runner. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/result.h"
#include "plan/settings_json.h"
#include "report/outfile.h"
#include "report/survey.h"
#include "spec/read.h"
#include "spec/units.h"
#include "survey/survey.h"

#define HOW \
    "tutti survey flash FILE.yaml, or tutti survey --resume DIRECTORY, with flash FILE.yaml too " \
    "if it starts programs; tutti help survey"

/* Figures of different jobs are never put into one table. */
static const struct tt_resume resumed = {
    .what = "survey",
    .how = "tutti survey flash FILE --resume DIRECTORY",
    .may_differ =
        (const char *const[]){"resume", "quiet", "json", "dry_run", "max_bytes", "max_time", NULL},
};

static int read_file(const char *file, struct tt_settings *settings, struct tt_error *e)
{
    char *workload = NULL;
    int rc = tt_read_yaml(file, settings, &workload, e);

    if (rc == TT_OK && workload)
        rc = tt_fail(e, TT_USAGE, "%s: a survey has no workload of its own", file);
    free(workload);
    return rc;
}

/* What is resumed is what the directory says, as far as it may; the command line wins. */
static int read_settings(const struct tt_invocation *call, const char *resume,
                         struct tt_settings *settings, struct tt_error *e)
{
    bool flash = call->nwords > 0 && !strcmp(call->words[0], "flash");
    const char *file = call->nwords > flash ? call->words[flash] : NULL;
    struct tt_settings given = {0};
    int rc = TT_OK;

    if (call->nwords > 1u + flash)
        return tt_fail(e, TT_USAGE, "unexpected word '%.80s' after '%.80s'", call->words[1 + flash],
                       file);
    if ((!flash && !resume) || (flash && resume && !file))
        return tt_fail(e, TT_USAGE, HOW);
    if (resume)
        rc = tt_survey_load(resume, settings, e);
    if (rc == TT_OK && file)
        rc = read_file(file, resume ? &given : settings, e);
    if (rc == TT_OK && resume)
        rc = tt_settings_check_resumed(&resumed, settings, &call->settings, &given, false, e);
    tt_settings_free(&given);
    return rc == TT_OK ? tt_settings_append(settings, &call->settings, e) : rc;
}

/* Before anything is written. */
static void announce(const struct tt_survey *s, FILE *out)
{
    char bytes[TT_UNIT_TEXT], disk[TT_UNIT_TEXT], time[TT_UNIT_TEXT];
    struct tt_survey_estimate x;

    tt_survey_estimate(s, &x);
    fprintf(out, "survey      %zu stages, %llu runs, data in %s\n", s->nstages,
            (unsigned long long)x.runs, s->o.dir);
    fprintf(out, "writes      %s at most, of which %s at a time\n",
            tt_format_bytes((double)x.bytes_written, bytes),
            tt_format_bytes((double)x.bytes_on_disk, disk));
    if (x.nodes > 1)
        fprintf(out, "needs       a Slurm allocation of %llu nodes, or --job.launch.by batch\n",
                (unsigned long long)x.nodes);
    if (x.seconds > 0)
        fprintf(out, "takes       %s at most until all deadlines, and what comes after them\n",
                tt_format_seconds(x.seconds, time));
}

static int show(const struct tt_survey *s, const char *directory, struct tt_error *e)
{
    json_t *answer = NULL;
    int rc = tt_survey_answer(s, directory, &answer, e);

    if (rc == TT_OK && !s->o.quiet && !tt_is_stdout(s->o.json))
        tt_report_survey(stdout, answer);
    if (rc == TT_OK && s->o.json)
        rc = tt_outfile_json(s->o.json, answer, e);
    json_decref(answer);
    return rc;
}

/* What was measured is shown, also if it is not all. */
static int run_and_show(const struct tt_survey *s, const struct tt_settings *settings,
                        const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR, later = TT_ERROR_CLEAR;
    int rc = tt_survey_run(s, directory, &e);

    if (show(s, directory, &later) != TT_OK && rc == TT_OK)
        return tt_report_error(&later);
    if (rc == TT_OK)
        return 0;
    tt_report_error(&e);
    fprintf(stderr,
            "tutti: go on with: tutti survey %s--resume %s; its data stays until then, or until: "
            "tutti clean %s\n",
            tt_settings_programs(settings) ? "flash FILE " : "", directory, directory);
    return 1;
}

static int run_survey(const struct tt_survey *s, const struct tt_settings *settings,
                      const char *resume, struct tt_error *e)
{
    char *directory = NULL;
    int rc = s->o.json ? tt_outfile_check(s->o.json, e) : TT_OK;

    if (rc == TT_OK && !resume)
        rc = tt_survey_check_room(s, e);
    if (rc == TT_OK && s->o.dry_run) {
        announce(s, stdout);
        return TT_OK;
    }
    if (rc == TT_OK)
        rc = tt_survey_check_jobs(s, e);
    if (rc == TT_OK && !s->o.quiet)
        announce(s, stderr);
    if (rc == TT_OK && resume)
        directory = strdup(resume);
    else if (rc == TT_OK)
        rc = tt_survey_create(s, settings, &directory, e);
    if (rc == TT_OK)
        rc = run_and_show(s, settings, directory);
    free(directory);
    return rc;
}

int tt_get_survey_answer(const char *directory, json_t **answer, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_survey s = {0};
    int rc = tt_survey_load(directory, &settings, e);

    if (rc == TT_OK)
        rc = tt_survey_make(&s, &settings, e);
    if (rc == TT_OK)
        rc = tt_survey_answer(&s, directory, answer, e);
    tt_survey_free(&s);
    tt_settings_free(&settings);
    return rc;
}

int tt_survey_show(const char *directory, const char *json, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_survey s = {0};
    int rc = tt_survey_load(directory, &settings, e);

    if (rc == TT_OK)
        rc = tt_survey_make(&s, &settings, e);
    if (rc == TT_OK) {
        free(s.o.json);
        s.o.json = json ? strdup(json) : NULL;
        s.o.quiet = false;
        rc = json && !s.o.json ? tt_fail_nomem(e, "a path") : show(&s, directory, e);
    }
    tt_survey_free(&s);
    tt_settings_free(&settings);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(&call->settings, "resume");
    const char *resume = given ? given->value : NULL;
    struct tt_settings settings = {0};
    struct tt_survey s = {0};
    int rc = read_settings(call, resume, &settings, e);

    if (rc == TT_OK)
        rc = tt_survey_make(&s, &settings, e);
    if (rc == TT_OK)
        rc = run_survey(&s, &settings, resume, e);
    tt_survey_free(&s);
    tt_settings_free(&settings);
    return rc;
}

const struct tt_command tt_command_survey = {
    .name = "survey",
    .summary = "naive and aged figures of a store, stage after stage",
    .synopsis = "tutti survey flash [FILE.yaml] [--KEY VALUE] | [flash FILE.yaml] --resume "
                "DIRECTORY",
    .text = "Measure a store as the all-flash paper does: bandwidth naive and aged, requests per "
            "second buffered and direct, and over the size of the data. Settings for every run "
            "stand in job: {backend: ..., layers: ...}.",
    .run = run,
    .job = &tt_survey_component,
    .max_words = 2,
};
