/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "survey/directory.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "ensemble/run.h"
#include "plan/directory.h"
#include "plan/settings_json.h"

#define PLAN_FORMAT 2

int tt_survey_create(const struct tt_survey *s, const struct tt_settings *settings,
                     char **directory, struct tt_error *e)
{
    json_t *list = tt_settings_to_json(settings), *plan;
    int rc;

    json_array_append_new(list,
                          json_pack("[s, o, s]", "dir", tt_json_bytes(s->o.dir), "the survey"));
    plan = json_pack("{s:i, s:o}", "format", PLAN_FORMAT, "settings", list);
    rc = plan ? tt_directory_make(s->o.results, "survey-", directory, e)
              : tt_fail_nomem(e, "the plan");
    if (rc == TT_OK)
        rc = tt_directory_write_json(*directory, TT_SURVEY_PLAN, plan, e);
    json_decref(plan);
    return rc;
}

bool tt_survey_is_directory(const char *directory)
{
    return tt_directory_has(directory, TT_SURVEY_PLAN);
}

int tt_survey_load(const char *directory, struct tt_settings *settings, struct tt_error *e)
{
    json_t *plan = NULL;
    int rc = tt_settings_from_directory(directory, TT_SURVEY_PLAN, PLAN_FORMAT, &plan, settings, e);

    json_decref(plan);
    return rc;
}

char *tt_survey_stage_directory(const char *directory, const struct tt_survey_stage *stage)
{
    return tt_directory_path(directory, stage->name);
}

char *tt_survey_find_ensemble(const char *directory)
{
    char *roots[] = {(char *)directory, NULL}, *found = NULL;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;

    while (walk && !found && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_D && entry->fts_level == 1) {
            if (tt_directory_has(entry->fts_path, TT_ENSEMBLE_PLAN))
                found = strdup(entry->fts_path);
            fts_set(walk, (FTSENT *)entry, FTS_SKIP);
        }
    }
    if (walk)
        fts_close(walk);
    return found;
}

bool tt_survey_is_complete(const char *directory, const struct tt_survey_stage *stage)
{
    char *own = tt_survey_stage_directory(directory, stage);
    bool complete = own && tt_directory_has(own, "complete");

    free(own);
    return complete;
}

int tt_survey_mark_complete(const char *directory, const struct tt_survey_stage *stage,
                            struct tt_error *e)
{
    char *own = tt_survey_stage_directory(directory, stage);
    int rc =
        own ? tt_directory_write_text(own, "complete", "yes\n", e) : tt_fail_nomem(e, "a path");

    free(own);
    return rc;
}

/* The run directory of a repetition's only job; caller frees. */
static int run_directory(const char *ensemble, const struct tt_repetition *r, char **out,
                         struct tt_error *e)
{
    char *repetition = tt_directory_path(ensemble, r->directory);
    const char *name;
    json_t *o = NULL;
    int rc = repetition ? tt_directory_read_json(repetition, TT_REPETITION, &o, e)
                        : tt_fail_nomem(e, "a path");

    *out = NULL;
    name = tt_text_of(json_array_get(json_object_get(o, "jobs"), 0), "directory");
    if (rc == TT_OK && (!*name || strchr(name, '/')))
        rc = tt_fail(e, TT_CORRUPT, "%s/" TT_REPETITION " names no run directory", repetition);
    if (rc == TT_OK && !(*out = tt_directory_path(repetition, name)))
        rc = tt_fail_nomem(e, "a path");
    json_decref(o);
    free(repetition);
    return rc;
}

int tt_survey_each_run(const char *directory, const struct tt_survey_stage *stage,
                       tt_survey_visit_run *visit, void *context, struct tt_error *e)
{
    char *own = tt_survey_stage_directory(directory, stage),
         *ensemble = own ? tt_survey_find_ensemble(own) : NULL;
    struct tt_runner_report report = {0};
    int rc = ensemble ? tt_journal_read(ensemble, NULL, stage->n, &report, e) : TT_OK;

    for (size_t i = 0; rc == TT_OK && i < report.n; i++) {
        char *run = NULL;

        if (!report.list[i].complete)
            continue;
        rc = run_directory(ensemble, &report.list[i], &run, e);
        if (rc == TT_OK)
            rc = visit(context, report.list[i].point, run, e);
        free(run);
    }
    free(report.list);
    free(ensemble);
    free(own);
    return rc;
}

/* ---- stages that are run again ---- */

/* <survey>/<stage>.lost-<k>; caller frees. */
static char *lost_directory(const char *directory, const struct tt_survey_stage *stage, uint64_t k)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s.lost-%" PRIu64, directory, stage->name, k) < 0 ? NULL : path;
}

uint64_t tt_survey_times_lost(const char *directory, const struct tt_survey_stage *stage)
{
    for (uint64_t k = 0;; k++) {
        char *path = lost_directory(directory, stage, k + 1);
        bool is = path && access(path, F_OK) == 0;

        free(path);
        if (!is)
            return k;
    }
}

int tt_survey_set_aside(const char *directory, const struct tt_survey_stage *stage,
                        struct tt_error *e)
{
    char *own = tt_survey_stage_directory(directory, stage);
    char *aside = lost_directory(directory, stage, tt_survey_times_lost(directory, stage) + 1);
    int rc = own && aside ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && rename(own, aside) != 0 && errno != ENOENT)
        rc = tt_fail_call(e, errno, "rename", own, -1);
    free(own);
    free(aside);
    return rc;
}
