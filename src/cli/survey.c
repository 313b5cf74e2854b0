/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti survey flash: naive and aged figures of a store, on the one runner. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/survey.h"
#include "plan/settings_json.h"
#include "report/outfile.h"
#include "report/survey.h"
#include "spec/read.h"
#include "spec/units.h"
#include "survey/survey.h"

#define HOW \
    "tutti survey flash FILE.yaml, or tutti survey --resume DIRECTORY, with flash FILE.yaml too " \
    "if " \
    "it " \
    "starts programs; tutti help survey"

/* Figures of different jobs are never put into one table. */
static const char *const may_differ[] = {"resume",    "quiet",    "json", "dry_run",
                                         "max_bytes", "max_time", NULL};

/* What is resumed is what the directory says, as far as it may. */
static int resume_settings(const char *directory, const char *file, const struct tt_settings *words,
                           struct tt_settings *settings, struct tt_error *e)
{
    struct tt_settings given = {0};
    char *workload = NULL;
    int rc = tt_survey_load(directory, settings, e);

    if (rc == TT_OK)
        rc = tt_settings_check_resumed(words, settings, may_differ, "survey", e);
    if (rc == TT_OK && file)
        rc = tt_read_yaml(file, &given, &workload, e);
    if (rc == TT_OK)
        rc = tt_settings_check_resumed(&given, settings, may_differ, "survey", e);
    if (rc == TT_OK)
        rc = tt_settings_vouch(settings, &given, words,
                               "tutti survey flash FILE --resume DIRECTORY", e);
    free(workload);
    tt_settings_free(&given);
    return rc;
}

static int read_settings(int argc, char **argv, struct tt_settings *settings, char **resume,
                         struct tt_error *e)
{
    struct tt_settings words = {0};
    bool flash = argc > 1 && !strcmp(argv[1], "flash");
    const char *file = NULL;
    char *workload = NULL;
    int rc = tt_read_arguments(argc - 1 - flash, argv + 1 + flash, tt_survey_component.params,
                               &words, &file, e);

    for (size_t i = 0; i < words.n && rc == TT_OK; i++)
        if (tt_same_key(words.list[i].key, "resume") && words.list[i].value) {
            free(*resume);
            *resume = strdup(words.list[i].value);
        }
    if (rc == TT_OK && ((!flash && !*resume) || (flash && *resume && !file)))
        rc = tt_fail(e, TT_USAGE, HOW);
    if (rc == TT_OK && *resume)
        rc = resume_settings(*resume, file, &words, settings, e);
    else if (rc == TT_OK && file)
        rc = tt_read_yaml(file, settings, &workload, e);
    if (rc == TT_OK && workload)
        rc = tt_fail(e, TT_USAGE, "%s: a survey has no workload of its own", file);
    for (size_t i = 0; i < words.n && rc == TT_OK; i++)
        rc = tt_settings_add(settings, words.list[i].key, words.list[i].value, words.list[i].place,
                             e);
    free(workload);
    tt_settings_free(&words);
    return rc;
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
    struct tt_outfile file;
    json_t *answer = NULL;
    int rc = tt_survey_answer(s, directory, &answer, e);

    if (rc == TT_OK && !s->o.quiet && !(s->o.json && !strcmp(s->o.json, "-")))
        tt_report_survey(stdout, answer);
    if (rc == TT_OK && s->o.json) {
        rc = tt_outfile_open(&file, s->o.json, e);
        if (rc == TT_OK && json_dumpf(answer, file.stream, JSON_INDENT(2)) != 0)
            rc = tt_outfile_discard(&file,
                                    tt_fail(e, TT_FAILED, "'%s' could not be written", s->o.json));
        else if (rc == TT_OK)
            rc = tt_outfile_close(&file, e);
    }
    json_decref(answer);
    return rc;
}

/* What was measured is shown, also if it is not all. */
static int conduct(const struct tt_survey *s, const struct tt_settings *settings,
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

static int run(const struct tt_survey *s, const struct tt_settings *settings, const char *resume)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *directory = NULL;
    int rc = s->o.json ? tt_outfile_check(s->o.json, &e) : TT_OK, status;

    if (rc == TT_OK && !resume)
        rc = tt_survey_check_room(s, &e);
    if (rc == TT_OK && s->o.dry_run) {
        announce(s, stdout);
        return 0;
    }
    if (rc == TT_OK)
        rc = tt_survey_check_jobs(s, &e);
    if (rc == TT_OK && !s->o.quiet)
        announce(s, stderr);
    if (rc == TT_OK && resume)
        directory = strdup(resume);
    else if (rc == TT_OK)
        rc = tt_survey_create(s, settings, &directory, &e);
    status = rc == TT_OK ? conduct(s, settings, directory) : tt_report_error(&e);
    free(directory);
    return status;
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

int tt_cmd_survey(int argc, char **argv)
{
    struct tt_settings settings = {0};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_survey s = {0};
    char *resume = NULL;
    int status;

    if (read_settings(argc, argv, &settings, &resume, &e) != TT_OK ||
        tt_survey_make(&s, &settings, &e) != TT_OK)
        status = tt_report_error(&e);
    else
        status = run(&s, &settings, resume);
    tt_survey_free(&s);
    tt_settings_free(&settings);
    free(resume);
    return status;
}
