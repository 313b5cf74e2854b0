/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti show: the result of a run directory, printed again. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/result.h"
#include "report/outfile.h"
#include "report/report.h"
#include "survey/survey.h"

struct show {
    char *json, *csv;
};

static const struct tt_param params[] = {
    {"json", TT_PARAM_TEXT, offsetof(struct show, json), NULL, NULL,
     "write the result with all samples; -: to stdout, instead of the table",
     .placeholder = "FILE"},
    {"csv", TT_PARAM_TEXT, offsetof(struct show, csv), NULL, NULL,
     "write a row per rank and iteration; -: to stdout, instead of the table",
     .placeholder = "FILE"},
    {NULL},
};

/* A directory may have been moved since. */
static void correct_place(const char *directory, json_t *result)
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
    json_t *result = NULL;
    char *directory;
    int rc = tt_find_run(word, &directory, e);

    if (rc == TT_OK)
        rc = tt_get_result(directory, &result, e);
    if (rc == TT_OK)
        correct_place(directory, result);
    if (rc == TT_OK && !tt_is_stdout(s->json) && !tt_is_stdout(s->csv))
        tt_report_text(stdout, result);
    if (rc == TT_OK && s->json)
        rc = tt_report_json(s->json, result, directory, e);
    if (rc == TT_OK && s->csv)
        rc = tt_report_csv(s->csv, result, directory, e);
    json_decref(result);
    free(directory);
    return rc;
}

static int show_ensemble(const char *directory, const struct show *s, struct tt_error *e)
{
    struct tt_settings wanted = {0};
    int rc;

    if (s->json)
        tt_settings_put(&wanted, "--json", "json", "%s", s->json);
    if (s->csv)
        tt_settings_put(&wanted, "--csv", "csv", "%s", s->csv);
    rc = tt_ensemble_show(1, &directory, &wanted, e);
    tt_settings_free(&wanted);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct show *s = call->opts;
    const char *word = call->words[0];
    int rc;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE, "show needs a run directory; see tutti show --help");
    if (tt_is_ensemble_directory(word))
        return show_ensemble(word, s, e);
    if (tt_survey_is_directory(word))
        return s->csv ? tt_fail(e, TT_USAGE, "a survey has no --csv; --json has all samples")
                      : tt_survey_show(word, s->json, e);
    rc = tt_outfiles_check(s->json, s->csv, e);
    return rc == TT_OK ? show_run(word, s, e) : rc;
}

const struct tt_command tt_command_show = {
    .name = "show",
    .summary = "print the result of a run directory again",
    .synopsis = "tutti show DIRECTORY|ID [--json FILE] [--csv FILE]",
    .text = "Print the result of a run, or the answer of an ensemble or survey, again. An ID is "
            "one that tutti runs lists.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct show)},
    .max_words = 1,
};
