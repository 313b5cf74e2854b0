/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti show DIRECTORY|ID [--json FILE] [--csv FILE]: the result of a run directory, printed again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/result.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/ensemble_show.h"
#include "cli/option.h"
#include "cli/result.h"
#include "cli/survey.h"
#include "launch/launch.h"
#include "report/outfile.h"
#include "report/report.h"
#include "survey/survey.h"

struct show {
    const char *directory, *json, *csv;
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

static int write_files(const struct show *s, const json_t *result, struct tt_error *e)
{
    int rc = TT_OK;

    if (rc == TT_OK && s->json)
        rc = tt_report_json(s->json, result, s->directory, e);
    if (rc == TT_OK && s->csv)
        rc = tt_report_csv(s->csv, result, s->directory, e);
    return rc;
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static int show(struct show *s, struct tt_error *e)
{
    json_t *result = NULL;
    char *found;
    int rc = tt_find_run(s->directory, &found, e);

    if (rc == TT_OK) {
        s->directory = found;
        rc = tt_get_result(s->directory, &result, e);
    }
    if (rc == TT_OK)
        correct_place(s->directory, result);
    if (rc == TT_OK && !is_stdout(s->json) && !is_stdout(s->csv))
        tt_report_text(stdout, result);
    if (rc == TT_OK)
        rc = write_files(s, result, e);
    json_decref(result);
    free(found);
    return rc;
}

int tt_cmd_show(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct show s = {0};
    const struct tt_option options[] = {
        {"--json", &s.json, NULL}, {"--csv", &s.csv, NULL}, {NULL, NULL, NULL}};

    if (tt_take_options(argc, argv, options, &s.directory, &e) != TT_OK)
        return tt_report_error(&e);
    if (!s.directory)
        tt_fail(&e, TT_USAGE, "show needs a run directory; see tutti show --help");
    else if (tt_launched_size() > 1)
        tt_fail(&e, TT_USAGE, "show is not for ranks: run it without mpirun or srun");
    else if (tt_is_ensemble_directory(s.directory))
        return tt_ensemble_show(argc, argv);
    else if (tt_survey_is_directory(s.directory) && s.csv)
        tt_fail(&e, TT_USAGE, "a survey has no --csv; --json has all samples");
    else if (tt_survey_is_directory(s.directory))
        tt_survey_show(s.directory, s.json, &e);
    else if (tt_outfiles_check(s.json, s.csv, &e) == TT_OK)
        show(&s, &e);
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
