/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/survey.h"
#include "engine/ended.h"
#include "ensemble/conduct.h"
#include "launch/launch.h"
#include "plan/clean.h"
#include "plan/folder.h"
#include "plan/settings_json.h"
#include "survey/survey.h"

#define PLAN_VERSION 1
#define REPETITION "repetition.json"

/* ---- the folder ---- */

int tt_survey_create(const struct tt_survey *s, const struct tt_settings *settings, char **folder,
                     struct tt_error *e)
{
    json_t *plan =
        json_pack("{s:i, s:o}", "version", PLAN_VERSION, "settings", tt_settings_to_json(settings));
    int rc =
        plan ? tt_folder_make(s->o.results, "survey-", folder, e) : tt_fail_nomem(e, "the plan");

    if (rc == TT_OK)
        rc = tt_folder_write_json(*folder, TT_SURVEY_PLAN, plan, e);
    json_decref(plan);
    return rc;
}

int tt_survey_load(const char *folder, struct tt_settings *settings, struct tt_error *e)
{
    json_t *plan = NULL;
    int rc = tt_settings_from_folder(folder, TT_SURVEY_PLAN, PLAN_VERSION, &plan, settings, e);

    json_decref(plan);
    return rc;
}

/* <survey>/<stage>; caller frees. */
static char *stage_folder(const char *folder, const struct tt_survey_stage *stage)
{
    return tt_folder_path(folder, stage->name);
}

/* The one ensemble below the folder of a stage; NULL: none yet. */
static char *find_ensemble(const char *folder)
{
    char *roots[] = {(char *)folder, NULL}, *found = NULL;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;

    while (walk && !found && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_D && entry->fts_level == 1) {
            char *plan = tt_folder_path(entry->fts_path, TT_ENSEMBLE_PLAN);

            if (plan && access(plan, F_OK) == 0)
                found = strdup(entry->fts_path);
            free(plan);
            fts_set(walk, (FTSENT *)entry, FTS_SKIP);
        }
    }
    if (walk)
        fts_close(walk);
    return found;
}

/* ---- what an earlier stage has left ---- */

/* The run folder of a repetition's only job; caller frees. */
static int run_folder(const char *ensemble, const struct tt_repetition *r, char **out,
                      struct tt_error *e)
{
    char *repetition = tt_folder_path(ensemble, r->folder);
    const char *name;
    json_t *o = NULL;
    int rc = repetition ? tt_folder_read_json(repetition, REPETITION, &o, e)
                        : tt_fail_nomem(e, "a path");

    *out = NULL;
    name =
        json_string_value(json_object_get(json_array_get(json_object_get(o, "jobs"), 0), "folder"));
    if (rc == TT_OK && (!name || strchr(name, '/')))
        rc = tt_fail(e, TT_CORRUPT, "%s/" REPETITION " names no run folder", repetition);
    if (rc == TT_OK && !(*out = tt_folder_path(repetition, name)))
        rc = tt_fail_nomem(e, "a path");
    json_decref(o);
    free(repetition);
    return rc;
}

/* Calls visit for the run folder of every complete repetition of a stage that has been played. */
typedef int visit_run(void *context, size_t point, const char *folder, struct tt_error *e);
static int each_run(const char *folder, const struct tt_survey_stage *stage, visit_run *visit,
                    void *context, struct tt_error *e)
{
    char *own = stage_folder(folder, stage), *ensemble = own ? find_ensemble(own) : NULL;
    struct tt_runner_report report = {0};
    int rc = ensemble ? tt_journal_read(ensemble, stage->n, &report, e) : TT_OK;

    for (size_t i = 0; rc == TT_OK && i < report.n; i++) {
        char *run = NULL;

        if (!report.list[i].complete)
            continue;
        rc = run_folder(ensemble, &report.list[i], &run, e);
        if (rc == TT_OK)
            rc = visit(context, report.list[i].point, run, e);
        free(run);
    }
    free(report.list);
    free(ensemble);
    free(own);
    return rc;
}

struct sources {
    size_t n;
    char **paths; /* of the data of each point; NULL: none */
};

/* <dir>/tutti-<id>/bulk, as the workload names it. */
static int note_source(void *context, size_t point, const char *folder, struct tt_error *e)
{
    struct sources *all = context;
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

static void free_sources(struct sources *all)
{
    for (size_t i = 0; all->paths && i < all->n; i++)
        free(all->paths[i]);
    free(all->paths);
}

static int find_sources(const char *folder, const struct tt_survey_stage *data, struct sources *all,
                        struct tt_error *e)
{
    int rc;

    *all = (struct sources){.n = data->n, .paths = calloc(data->n, sizeof *all->paths)};
    if (!all->paths)
        return tt_fail_nomem(e, "paths");
    rc = each_run(folder, data, note_source, all, e);
    for (size_t i = 0; rc == TT_OK && i < all->n; i++)
        if (!all->paths[i])
            rc = tt_fail(e, TT_FAILED,
                         "stage %s: point %zu could not be written, so it cannot be read",
                         data->name, i);
    return rc;
}

/* Of every run of a stage, also of those that were not complete. */
static int clean_stage(const char *folder, const struct tt_survey_stage *stage, bool force,
                       uint64_t *removed, struct tt_error *e)
{
    char *own = stage_folder(folder, stage), *roots[] = {own, NULL};
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
            rc = clean_stage(folder, &s.stages[i], force, removed, e);
    tt_survey_free(&s);
    tt_settings_free(&settings);
    return rc;
}

/* ---- a stage ---- */

struct builder {
    struct tt_settings *out;
    struct tt_error *e;
    char prefix[32];
    int rc;
};

static void put(struct builder *b, const char *key, const char *value)
{
    char *full = NULL;

    if (b->rc != TT_OK)
        return;
    if (asprintf(&full, "%s%s", b->prefix, key) < 0)
        b->rc = tt_fail_nomem(b->e, "settings");
    else
        b->rc = tt_settings_add(b->out, full, value, "the survey", b->e);
    free(full);
}

static void put_number(struct builder *b, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    put(b, key, text);
}

static void put_flag(struct builder *b, const char *key, bool value)
{
    put(b, key, value ? "yes" : "no");
}

static const char *backend_of(const struct tt_survey *s)
{
    for (size_t i = s->job.n; i-- > 0;)
        if (tt_same_key(s->job.list[i].key, "backend") && s->job.list[i].value)
            return s->job.list[i].value;
    return "posix";
}

static void put_point(struct builder *b, const struct tt_survey *s,
                      const struct tt_survey_stage *stage, const struct tt_survey_point *p)
{
    char key[40], deadline[40];

    put(b, "workload", "bulk");
    for (size_t i = 0; i < s->job.n; i++)
        put(b, s->job.list[i].key, s->job.list[i].value);
    put_number(b, "ranks", p->nodes * p->processes);
    if (p->nodes > 1)
        put_number(b, "launch.tasks_per_node", p->processes);
    put(b, "files", "process");
    put_number(b, "transfer", p->transfer);
    put_number(b, "block", p->transfer);
    put_number(b, "segments", p->size / p->transfer);
    put(b, "order", stage->random ? "random" : "sequential");
    put(b, "reorder", "constant");
    put_flag(b, "barriers", true);
    put_flag(b, "write", stage->write);
    put_flag(b, "read", stage->read);
    put_flag(b, "keep", stage->keep);
    put_number(b, "seed", s->o.seed);
    if (s->o.deadline > 0 && !stage->flushes) { /* what is thrown away is so much as was asked */
        snprintf(deadline, sizeof deadline, "%.9g", s->o.deadline);
        put(b, "deadline", deadline);
        put_flag(b, "wear_out", stage->wear_out);
    }
    if (stage->direct) {
        snprintf(key, sizeof key, "%.20s.odirect", backend_of(s));
        put(b, key, "yes");
    }
}

static int stage_settings(const struct tt_survey *s, const struct tt_survey_stage *stage,
                          const char *folder, const struct sources *sources,
                          struct tt_settings *out, struct tt_error *e)
{
    struct builder b = {.out = out, .e = e};
    char time[40];

    put(&b, "others", "0");
    put_number(&b, "repeat", stage->repeat);
    put_number(&b, "seed", s->o.seed);
    put(&b, "dir", s->o.dir);
    put(&b, "min_free", s->o.min_free);
    put(&b, "results", folder);
    put_flag(&b, "quiet", s->o.quiet);
    snprintf(time, sizeof time, "%.9g", s->o.max_time);
    put(&b, "max_time", time);
    if (s->o.label)
        put(&b, "label", s->o.label);
    for (size_t i = 0; i < stage->n; i++) {
        snprintf(b.prefix, sizeof b.prefix, "set.%s%zu.", stage->write ? "write" : "read", i);
        put_point(&b, s, stage, &stage->points[i]);
        if (sources->paths)
            put(&b, "paths", sources->paths[stage->points[i].source]);
    }
    return b.rc;
}

/* Begins the ensemble of the stage, or goes on with it. */
static int play_points(const struct tt_survey_stage *stage, const struct tt_settings *settings,
                       const char *folder, struct tt_error *e)
{
    struct tt_runner_report report = {0};
    struct tt_ensemble x = {0};
    char *ensemble = find_ensemble(folder);
    int rc = tt_ensemble_make(&x, settings, true, e);

    if (rc == TT_OK && !ensemble)
        rc = tt_ensemble_check_room(&x, e);
    if (rc == TT_OK && !ensemble)
        rc = tt_ensemble_create(&x, settings, true, &ensemble, e);
    if (rc == TT_OK)
        rc = tt_ensemble_conduct(&x, ensemble, &report, e);
    if (rc == TT_OK && report.out_of_budget)
        rc = tt_fail(e, TT_LIMIT, "stage %s: %s", stage->name, report.why);
    free(report.list);
    free(ensemble);
    tt_ensemble_free(&x);
    return rc;
}

static int play_stage(const struct tt_survey *s, const struct tt_survey_stage *stage,
                      const char *folder, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct sources sources = {0};
    char *own = stage_folder(folder, stage);
    int rc = own ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && mkdir(own, 0777) != 0 && errno != EEXIST)
        rc = tt_fail_call(e, errno, "mkdir", own, -1);
    if (rc == TT_OK && stage->data)
        rc = find_sources(folder, stage->data, &sources, e);
    if (rc == TT_OK)
        rc = stage_settings(s, stage, own, &sources, &settings, e);
    if (rc == TT_OK)
        rc = play_points(stage, &settings, own, e);
    free_sources(&sources);
    tt_settings_free(&settings);
    free(own);
    return rc;
}

/* ---- all of them ---- */

static bool is_read_later(const struct tt_survey *s, const struct tt_survey_stage *data, size_t now)
{
    for (size_t i = now + 1; i < s->nstages; i++)
        if (s->stages[i].data == data)
            return true;
    return false;
}

static bool is_complete(const char *folder, const struct tt_survey_stage *stage)
{
    char *own = stage_folder(folder, stage), *mark = own ? tt_folder_path(own, "complete") : NULL;
    bool complete = mark && access(mark, F_OK) == 0;

    free(mark);
    free(own);
    return complete;
}

static int mark_complete(const char *folder, const struct tt_survey_stage *stage,
                         struct tt_error *e)
{
    char *own = stage_folder(folder, stage);
    int rc = own ? tt_folder_write_text(own, "complete", "yes\n", e) : tt_fail_nomem(e, "a path");

    free(own);
    return rc;
}

static void tell(const struct tt_survey *s, size_t i)
{
    const struct tt_survey_stage *stage = &s->stages[i];

    if (!s->o.quiet)
        fprintf(stderr, "tutti: stage %zu of %zu: %s, %zu point%s, %" PRIu64 " time%s\n", i + 1,
                s->nstages, stage->name, stage->n, stage->n == 1 ? "" : "s", stage->repeat,
                stage->repeat == 1 ? "" : "s");
}

/* A stage whose data is gone must not be played again. A signal between two stages waits for the
 * next one, which it ends. */
int tt_survey_conduct(const struct tt_survey *s, const char *folder, struct tt_error *e)
{
    uint64_t removed = 0;
    int rc = TT_OK;

    tt_processes_begin();
    for (size_t i = 0; rc == TT_OK && i < s->nstages; i++) {
        const struct tt_survey_stage *stage = &s->stages[i];

        if (is_complete(folder, stage))
            continue;
        tell(s, i);
        rc = play_stage(s, stage, folder, e);
        if (rc == TT_OK && stage->data && !is_read_later(s, stage->data, i))
            rc = clean_stage(folder, stage->data, true, &removed, e);
        if (rc == TT_OK)
            rc = mark_complete(folder, stage, e);
    }
    tt_processes_end();
    return rc;
}

/* ---- the answer ---- */

struct gathering {
    const struct tt_survey_stage *stage;
    json_t *samples;
};

static int gather(void *context, size_t point, const char *folder, struct tt_error *e)
{
    struct gathering *g = context;
    const struct tt_survey_point *p = &g->stage->points[point];
    json_t *result = NULL;
    int rc = tt_folder_read_json(folder, "result.json", &result, e);

    if (rc == TT_OK)
        rc = tt_survey_sample(result,
                              &(struct tt_survey_place){.title = g->stage->title,
                                                        .nodes = p->nodes,
                                                        .processes = p->processes,
                                                        .transfer = p->transfer,
                                                        .size = p->size},
                              g->samples, e);
    json_decref(result);
    return rc;
}

int tt_survey_answer(const struct tt_survey *s, const char *folder, json_t **answer,
                     struct tt_error *e)
{
    json_t *samples = json_array();
    int rc = samples ? TT_OK : tt_fail_nomem(e, "the answer");

    for (size_t i = 0; rc == TT_OK && i < s->nstages; i++) {
        struct gathering g = {&s->stages[i], samples};

        if (g.stage->title)
            rc = each_run(folder, g.stage, gather, &g, e);
    }
    if (rc == TT_OK)
        rc = tt_survey_summarise(samples, answer, e);
    if (rc == TT_OK) {
        json_object_set_new(*answer, "folder", json_string(folder));
        rc = tt_folder_write_json(folder, "answer.json", *answer, e);
    }
    json_decref(samples);
    return rc;
}
