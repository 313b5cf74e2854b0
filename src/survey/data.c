/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "survey/data.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/ended.h"
#include "plan/clean.h"
#include "plan/folder.h"
#include "survey/folder.h"

/* <dir>/tutti-<id>/bulk, as the workload names it. */
static int note_source(void *context, size_t point, const char *folder, struct tt_error *e)
{
    struct tt_survey_sources *all = context;
    json_t *plan = NULL;
    int rc = tt_folder_read_json(folder, "plan.json", &plan, e);
    const char *id = json_string_value(json_object_get(plan, "id"));
    const char *dir =
        json_string_value(json_object_get(json_object_get(plan, "parameters"), "dir"));

    if (rc == TT_OK && (!id || !dir || point >= all->n))
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json says not where its data is", folder);
    if (rc == TT_OK) {
        free(all->paths[point]);
        if (asprintf(&all->paths[point], "%s/tutti-%s/bulk", dir, id) < 0) {
            all->paths[point] = NULL;
            rc = tt_fail_nomem(e, "a path");
        }
    }
    json_decref(plan);
    return rc;
}

void tt_survey_free_sources(struct tt_survey_sources *all)
{
    for (size_t i = 0; all->paths && i < all->n; i++)
        free(all->paths[i]);
    free(all->paths);
}

int tt_survey_find_sources(const char *folder, const struct tt_survey_stage *data,
                           struct tt_survey_sources *all, struct tt_error *e)
{
    int rc;

    *all = (struct tt_survey_sources){.n = data->n, .paths = calloc(data->n, sizeof *all->paths)};
    if (!all->paths)
        return tt_fail_nomem(e, "paths");
    rc = tt_survey_each_run(folder, data, note_source, all, e);
    for (size_t i = 0; rc == TT_OK && i < all->n; i++)
        if (!all->paths[i])
            rc = tt_fail(e, TT_FAILED,
                         "stage %s: point %zu could not be written, so it cannot be read",
                         data->name, i);
    return rc;
}

int tt_survey_clean_stage(const char *folder, const struct tt_survey_stage *stage, bool force,
                          uint64_t *removed, struct tt_error *e)
{
    char *own = tt_survey_stage_folder(folder, stage), *roots[] = {own, NULL};
    FTS *walk =
        own && access(own, F_OK) == 0 ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    const FTSENT *entry;
    int rc = TT_OK;

    while (walk && rc == TT_OK && (entry = fts_read(walk))) {
        if (entry->fts_info != FTS_D || entry->fts_level != 3) /* ensemble, repetition, run */
            continue;
        if (!force)
            rc = tt_check_ended(entry->fts_path, e);
        if (rc == TT_OK)
            rc = tt_clean_data(entry->fts_path, removed, e);
        fts_set(walk, (FTSENT *)entry, FTS_SKIP);
    }
    if (walk)
        fts_close(walk);
    free(own);
    return rc;
}

int tt_survey_clean(const char *folder, bool force, uint64_t *removed, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_survey s = {0};
    int rc = tt_survey_load(folder, &settings, e);

    if (rc == TT_OK)
        rc = tt_survey_make(&s, &settings, e);
    for (size_t i = 0; rc == TT_OK && i < s.nstages; i++)
        if (s.stages[i].keep)
            rc = tt_survey_clean_stage(folder, &s.stages[i], force, removed, e);
    tt_survey_free(&s);
    tt_settings_free(&settings);
    return rc;
}
