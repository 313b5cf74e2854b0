/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti clean FOLDER: remove the data files of a run that could not do so itself, since it was
 * killed, or was told to keep them. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/option.h"
#include "engine/ended.h"
#include "plan/folder.h"
#include "plan/removal.h"
#include "survey/survey.h"

static int check_run(const char *folder, bool force, struct tt_error *e)
{
    json_t *plan = NULL;
    int rc = tt_folder_read_json(folder, "plan.json", &plan, e);

    json_decref(plan);
    return rc == TT_OK && !force ? tt_check_ended(folder, e) : rc;
}

static int clean(const char *folder, bool force, struct tt_error *e)
{
    bool survey = tt_survey_is_folder(folder);
    uint64_t removed = 0;
    int rc = survey ? TT_OK : check_run(folder, force, e);

    if (rc != TT_OK)
        return rc;
    rc = survey ? tt_survey_clean(folder, force, &removed, e) : tt_clean_data(folder, &removed, e);
    printf("removed %" PRIu64 " data file%s\n", removed, removed == 1 ? "" : "s");
    return rc;
}

int tt_cmd_clean(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const char *folder = NULL;
    bool force = false;
    const struct tt_option options[] = {{"--force", NULL, &force}, {NULL, NULL, NULL}};

    if (tt_take_options(argc, argv, options, &folder, &e) == TT_OK) {
        if (folder)
            clean(folder, force, &e);
        else
            tt_fail(&e, TT_USAGE, "clean needs a run folder; see tutti clean --help");
    }
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
