/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "record/liveness.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "spec/units.h"
#include "survey/directory.h"

/* <dir>/tutti-<id>/bulk, as the workload names it. */
static int note_source(void *context, size_t point, const char *directory, struct tt_error *e)
{
    struct tt_survey_sources *all = context;
    json_t *plan = NULL;
    int rc = tt_directory_read_json(directory, "plan.json", &plan, e);
    const char *id = rc == TT_OK ? tt_plan_id(directory, plan, e) : NULL;
    char *dir = tt_bytes_of_json(tt_member_at(plan, "parameters/dir"));

    if (rc == TT_OK && !id)
        rc = TT_CORRUPT;
    if (rc == TT_OK && (!dir || point >= all->n))
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json says not where its data is", directory);
    if (rc == TT_OK) {
        free(all->paths[point]);
        if (asprintf(&all->paths[point], "%s/tutti-%s/bulk", dir, id) < 0) {
            all->paths[point] = NULL;
            rc = tt_fail_nomem(e, "a path");
        }
    }
    free(dir);
    json_decref(plan);
    return rc;
}

void tt_survey_free_sources(struct tt_survey_sources *all)
{
    for (size_t i = 0; all->paths && i < all->n; i++)
        free(all->paths[i]);
    free(all->paths);
}

int tt_survey_find_sources(const char *directory, const struct tt_survey_stage *data,
                           struct tt_survey_sources *all, struct tt_error *e)
{
    int rc;

    *all = (struct tt_survey_sources){.n = data->n, .paths = calloc(data->n, sizeof *all->paths)};
    if (!all->paths)
        return tt_fail_nomem(e, "paths");
    rc = tt_survey_each_run(directory, data, note_source, all, e);
    for (size_t i = 0; rc == TT_OK && i < all->n; i++)
        if (!all->paths[i])
            rc = tt_fail(e, TT_FAILED,
                         "stage %s: point %zu could not be written, so it cannot be read",
                         data->name, i);
    return rc;
}

static int clean_run(const FTSENT *entry, bool force, uint64_t *removed, struct tt_error *e)
{
    int rc;

    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
        return tt_fail_call(e, entry->fts_errno, "read", entry->fts_path, -1);
    if (entry->fts_info != FTS_D || entry->fts_level != 3) /* ensemble, repetition, run */
        return TT_OK;
    rc = tt_check_liveness(entry->fts_path, force, e);
    return rc == TT_OK ? tt_clean_data(entry->fts_path, removed, e) : rc;
}

int tt_survey_clean_stage(const char *directory, const struct tt_survey_stage *stage, bool force,
                          uint64_t *removed, struct tt_error *e)
{
    char *own = tt_survey_stage_directory(directory, stage), *roots[] = {own, NULL};
    FTS *walk = NULL;
    FTSENT *entry;
    int rc = own ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && access(own, F_OK) == 0) {
        walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        if (!walk)
            rc = tt_fail_call(e, errno, "read", own, -1);
    }
    while (walk && rc == TT_OK && (entry = fts_read(walk))) {
        rc = clean_run(entry, force, removed, e);
        if (entry->fts_level == 3)
            fts_set(walk, entry, FTS_SKIP);
    }
    if (walk)
        fts_close(walk);
    free(own);
    return rc;
}

/* ---- data that is gone ---- */

static int look_for_data(void *context, size_t point, const char *directory, struct tt_error *e)
{
    bool *missing = context;
    struct tt_made_list all;
    struct stat st;
    int rc = tt_manifest_read(directory, &all, e);

    (void)point;
    for (size_t i = 0; i < all.n; i++)
        *missing |= all.list[i].kind == TT_MADE_FILE && lstat(all.list[i].path, &st) != 0 &&
                    (errno == ENOENT || errno == ENOTDIR);
    tt_manifest_free(&all);
    return rc;
}

/* What the survey may write in all, if these stages are run once more. */
static int check_bytes(const struct tt_survey *s, const char *directory, const bool *again,
                       struct tt_error *e)
{
    struct tt_survey_estimate x;
    char bytes[TT_UNIT_TEXT], cap[TT_UNIT_TEXT];
    double all;

    tt_survey_estimate(s, &x);
    all = (double)x.bytes_written;
    for (size_t i = 0; i < s->nstages; i++)
        all += (double)tt_survey_stage_bytes(&s->stages[i]) *
               (double)(tt_survey_times_lost(directory, &s->stages[i]) + again[i]);
    if (s->o.max_bytes == 0 || all <= (double)s->o.max_bytes)
        return TT_OK;
    return tt_fail(e, TT_LIMIT,
                   "data of the survey is gone; with what is to be written again it may write %s, "
                   "more than --max-bytes %s; allow more, or start a new survey",
                   tt_format_bytes(all, bytes), tt_format_bytes((double)s->o.max_bytes, cap));
}

/* The stages without which an open one cannot be run: again[i]. */
static int find_lost(const struct tt_survey *s, const char *directory, bool *again,
                     struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < s->nstages; i++) {
        const struct tt_survey_stage *data = s->stages[i].data;
        bool missing = false;

        if (!data || tt_survey_is_complete(directory, &s->stages[i]))
            continue;
        rc = tt_survey_each_run(directory, data, look_for_data, &missing, e);
        for (size_t k = (size_t)(data - s->stages); missing && k < i; k++)
            again[k] |= &s->stages[k] == data || s->stages[k].flushes;
    }
    return rc;
}

/* The last first: a stage that empties buffers is never older than the data. */
int tt_survey_redo_lost(const struct tt_survey *s, const char *directory, struct tt_error *e)
{
    bool again[TT_SURVEY_MAX_STAGES] = {false};
    uint64_t removed = 0;
    int rc = find_lost(s, directory, again, e);

    if (rc == TT_OK)
        rc = check_bytes(s, directory, again, e);
    for (size_t i = s->nstages; rc == TT_OK && i-- > 0;) {
        if (!again[i])
            continue;
        if (!s->o.quiet && !s->stages[i].flushes)
            fprintf(stderr, "tutti: data of stage %s is gone: it is written again\n",
                    s->stages[i].name);
        rc = tt_survey_clean_stage(directory, &s->stages[i], false, &removed, e);
        if (rc == TT_OK)
            rc = tt_survey_set_aside(directory, &s->stages[i], e);
    }
    return rc;
}
