/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti show: the result of the last run, or of a run directory, printed again. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/result.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "record/liveness.h"
#include "report/outfile.h"
#include "report/report.h"
#include "study/search/search.h"
#include "study/study.h"
#include "survey/survey.h"

struct show {
    char *json, *csv, *junit;
    bool all;
};

static const struct tt_param params[] = {
    {"json", TT_PARAM_TEXT, offsetof(struct show, json), NULL, NULL,
     "write the result with all samples; -: to stdout, instead of the table",
     .placeholder = "FILE"},
    {"csv", TT_PARAM_TEXT, offsetof(struct show, csv), NULL, NULL,
     "write a row per rank and iteration; -: to stdout, instead of the table",
     .placeholder = "FILE"},
    {"junit", TT_PARAM_TEXT, offsetof(struct show, junit), NULL, NULL,
     "write what an ensemble or a suite requires, as JUnit XML; -: to stdout",
     .placeholder = "FILE"},
    {"all", TT_PARAM_BOOL, offsetof(struct show, all), NULL, NULL,
     "also parameters that have their defaults and metrics that are 0 or not known"},
    {NULL},
};

void tt_correct_place(const char *directory, json_t *result)
{
    const char *recorded = json_string_value(json_object_get(result, "directory"));
    struct stat then, now;

    if (recorded && stat(directory, &now) == 0 && stat(recorded, &then) == 0 &&
        then.st_ino == now.st_ino && then.st_dev == now.st_dev)
        return;
    json_object_set_new(result, "directory", tt_json_text(directory));
}

static int show_run(const char *word, const struct show *s, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *result = NULL;
    char *directory;
    int rc = tt_find_run(word, &directory, e);

    if (rc == TT_OK)
        rc = tt_get_result(directory, &result, e);
    if (rc == TT_OK)
        tt_correct_place(directory, result);
    if (rc == TT_OK && !tt_is_stdout(s->json) && !tt_is_stdout(s->csv))
        tt_report_text(stdout, result, s->all);
    if (rc == TT_OK && json_object_get(result, "error") &&
        tt_check_liveness(directory, true, &ignored) == TT_OK)
        tt_tell_caches(directory);
    if (rc == TT_OK && s->json)
        rc = tt_report_json(s->json, result, directory, e);
    if (rc == TT_OK && s->csv)
        rc = tt_report_csv(s->csv, result, directory, e);
    json_decref(result);
    free(directory);
    return rc;
}

/* The answer of an ensemble or a study. */
static int show_answer(const char *directory, const struct show *s, struct tt_error *e)
{
    struct tt_settings wanted = {0};
    int rc;

    if (s->json)
        tt_settings_put(&wanted, "--json", "json", "%s", s->json);
    if (s->csv)
        tt_settings_put(&wanted, "--csv", "csv", "%s", s->csv);
    if (s->junit)
        tt_settings_put(&wanted, "--junit", "junit", "%s", s->junit);
    rc = tt_study_is_directory(directory) ? tt_study_show(directory, &wanted, e)
                                          : tt_ensemble_show(1, &directory, &wanted, e);
    tt_settings_free(&wanted);
    return rc;
}

/* ---- the last one ---- */

static bool is_shown(const char *directory)
{
    return tt_directory_has(directory, "plan.json") || tt_is_ensemble_directory(directory) ||
           tt_survey_is_directory(directory) || tt_study_is_directory(directory) ||
           tt_accept_is_directory(directory);
}

/* Names end in "20261116T223330Z-a73c44de": the time, to the second. Returns where it begins. */
static const char *stamp_of(const char *name)
{
    size_t n = strlen(name);

    return n >= 25 && name[n - 9] == '-' && name[n - 10] == 'Z' ? name + n - 25 : NULL;
}

/* Whether a directory was made after another; within a second what was changed last counts. */
static bool is_later(const char *a, const char *b)
{
    int order = strncmp(stamp_of(tt_directory_id(a)), stamp_of(tt_directory_id(b)), 16);
    struct stat sa, sb;

    if (order != 0 || stat(a, &sa) != 0 || stat(b, &sb) != 0)
        return order > 0;
    return sa.st_mtim.tv_sec != sb.st_mtim.tv_sec ? sa.st_mtim.tv_sec > sb.st_mtim.tv_sec
                                                  : sa.st_mtim.tv_nsec > sb.st_mtim.tv_nsec;
}

int tt_find_last(const char *results, char **last, struct tt_error *e)
{
    DIR *d = opendir(results);
    struct dirent *entry;

    *last = NULL;
    while (d && (entry = readdir(d))) {
        char *path = stamp_of(entry->d_name) ? tt_directory_path(results, entry->d_name) : NULL;

        if (path && is_shown(path) && (!*last || is_later(path, *last))) {
            free(*last);
            *last = path;
        } else {
            free(path);
        }
    }
    if (d)
        closedir(d);
    return *last ? TT_OK
                 : tt_fail(e, TT_FAILED, "there is no run in '%s'; name a run directory or an id",
                           results);
}

static int show(const char *word, const struct show *s, struct tt_error *e)
{
    bool has_verdicts = tt_is_ensemble_directory(word) || tt_accept_is_directory(word);
    int rc;

    if (s->junit && !has_verdicts)
        return tt_fail(e, TT_USAGE,
                       "--junit is for conditions, which ensembles and suites have; '%.80s' is "
                       "neither",
                       word);
    if (tt_search_is_directory(word))
        return s->csv ? tt_fail(e, TT_USAGE, "a search has no --csv; tutti study show has one")
                      : tt_search_show(word, s->json, e);
    if (tt_is_ensemble_directory(word) || tt_study_is_directory(word))
        return show_answer(word, s, e);
    if (tt_accept_is_directory(word))
        return s->csv ? tt_fail(e, TT_USAGE, "a suite has no --csv; --json has all answers")
                      : tt_accept_show(word, s->json, s->junit, e);
    if (tt_survey_is_directory(word))
        return s->csv ? tt_fail(e, TT_USAGE, "a survey has no --csv; --json has all samples")
                      : tt_survey_show(word, s->json, e);
    rc = tt_outfiles_check(s->json, s->csv, e);
    return rc == TT_OK ? show_run(word, s, e) : rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    char *last = NULL;
    int rc = call->nwords ? TT_OK : tt_find_last(TT_DEFAULT_RESULTS, &last, e);

    if (rc == TT_OK)
        rc = show(last ? last : call->words[0], call->opts, e);
    free(last);
    return rc;
}

const struct tt_command tt_command_show = {
    .name = "show",
    .summary = "print the result of the last run, or of a run directory, again",
    .synopsis = "tutti show [DIRECTORY|ID] [--all] [--json FILE] [--csv FILE]",
    .text =
        "Print the result of a run, or the answer of an ensemble, survey, study or suite, again. "
        "An ID is one that tutti runs lists. Without either: the last one in tutti-runs.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct show)},
    .max_words = 1,
};
