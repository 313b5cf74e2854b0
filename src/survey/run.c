/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "ensemble/run.h"
#include "launch/process.h"
#include "plan/directory.h"
#include "spec/units.h"
#include "survey/directory.h"

/* ---- a stage ---- */

/* Layer throttle's log, by which its buffer outlives a run: a plain name is a file of the survey's
 * directory, so that none is left elsewhere. *path: caller frees; NULL: there is no such log. */
static int own_buffer_log(const struct tt_survey *s, const char *directory, char **path,
                          struct tt_error *e)
{
    struct tt_error later = TT_ERROR_CLEAR; /* what is wrong with the keys the stages will say */
    struct tt_config config = {0};
    json_t *keys = tt_config_make(&config, "bulk", &s->job, &later) == TT_OK
                       ? tt_config_to_json(&config)
                       : NULL;
    const char *name = tt_text_of(keys, "throttle.buffer_log");
    int rc = TT_OK;

    *path = NULL;
    if (*name && !strchr(name, '/') && !(*path = tt_directory_path(directory, name)))
        rc = tt_fail_nomem(e, "a path");
    json_decref(keys);
    tt_config_free(&config);
    return rc;
}

struct builder {
    struct tt_settings *out; /* keeps an error */
    char *buffer_log;        /* NULL: as the job has it */
    char prefix[32];
};

static void put(struct builder *b, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put(struct builder *b, const char *key, const char *fmt, ...)
{
    char full[80];
    va_list args;

    snprintf(full, sizeof full, "%s%s", b->prefix, key);
    va_start(args, fmt);
    tt_settings_vput(b->out, "the survey", full, fmt, args);
    va_end(args);
}

static void put_number(struct builder *b, const char *key, uint64_t value)
{
    put(b, key, "%" PRIu64, value);
}

static void put_flag(struct builder *b, const char *key, bool value)
{
    put(b, key, "%s", value ? "yes" : "no");
}

/* The user's keys of every run, with their places. */
static void put_job(struct builder *b, const struct tt_settings *job)
{
    struct tt_error kept_by_out = TT_ERROR_CLEAR;

    for (size_t i = 0; i < job->n; i++) {
        const struct tt_setting *s = &job->list[i];
        char *full = NULL;

        if (asprintf(&full, "%s%s", b->prefix, s->key) < 0)
            b->out->lost = true;
        else
            tt_settings_add(b->out, full, s->value, s->place, &kept_by_out);
        free(full);
    }
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
    char key[40];

    put(b, "workload", "bulk");
    put_job(b, &s->job);
    if (b->buffer_log)
        put(b, "throttle.buffer_log", "%s", b->buffer_log);
    put_number(b, "ranks", p->nodes * p->processes);
    put_number(b, "launch.tasks_per_node", p->processes);
    put(b, "files", "process");
    put_number(b, "transfer", p->transfer);
    put_number(b, "block", p->transfer);
    put_number(b, "segments", p->size / p->transfer);
    put(b, "order", "%s", stage->random ? "random" : "sequential");
    put(b, "reorder", "constant");
    put_flag(b, "barriers", true);
    put_flag(b, "write", stage->write);
    put_flag(b, "read", stage->read);
    put_flag(b, "keep", stage->keep);
    put_number(b, "seed", s->o.seed);
    if (s->o.deadline > 0 && !stage->flushes) { /* what is thrown away is so much as was asked */
        put(b, "deadline", "%.9g", s->o.deadline);
        put_flag(b, "wear_out", stage->wear_out);
    }
    if (stage->direct) {
        snprintf(key, sizeof key, "%.20s.odirect", backend_of(s));
        put(b, key, "yes");
    }
}

static int stage_settings(const struct tt_survey *s, const struct tt_survey_stage *stage,
                          const char *directory, const struct tt_survey_sources *sources,
                          struct tt_settings *out, struct tt_error *e)
{
    struct builder b = {.out = out};
    char *own = tt_survey_stage_directory(directory, stage);
    int rc = own ? own_buffer_log(s, directory, &b.buffer_log, e) : tt_fail_nomem(e, "a path");

    put(&b, "others", "0");
    put_number(&b, "repeat", stage->repeat);
    put_number(&b, "seed", s->o.seed);
    put(&b, "dir", "%s", s->o.dir ? s->o.dir : "");
    put(&b, "min_free", "%s", s->o.min_free ? s->o.min_free : "");
    put(&b, "results", "%s", own ? own : "");
    put_flag(&b, "quiet", s->o.quiet);
    put(&b, "max_time", "%.9g", s->o.max_time);
    if (s->o.label)
        put(&b, "label", "%s", s->o.label);
    for (size_t i = 0; i < stage->n; i++) {
        snprintf(b.prefix, sizeof b.prefix, "set.%s%zu.", stage->write ? "write" : "read", i);
        put_point(&b, s, stage, &stage->points[i]);
        if (sources->paths)
            put(&b, "paths", "%s", sources->paths[stage->points[i].source]);
    }
    free(b.buffer_log);
    free(own);
    return rc == TT_OK ? tt_settings_check(out, e) : rc;
}

/* "naive, 2 nodes x 4 processes, 1 GiB each, transfers of 1 MiB" */
static int name_points(const struct tt_survey_stage *stage, struct tt_ensemble *x,
                       struct tt_error *e)
{
    for (size_t i = 0; i < stage->n; i++) {
        const struct tt_survey_point *p = &stage->points[i];
        char size[TT_UNIT_TEXT], transfer[TT_UNIT_TEXT], nodes[40] = "";
        int n;

        if (p->nodes > 1)
            snprintf(nodes, sizeof nodes, "%" PRIu64 " nodes x ", p->nodes);
        n = asprintf(&x->specs[i].title, "%s, %s%" PRIu64 " process%s, %s each, transfers of %s",
                     stage->name, nodes, p->processes, p->processes == 1 ? "" : "es",
                     tt_format_bytes((double)p->size, size),
                     tt_format_bytes((double)p->transfer, transfer));
        if (n < 0) {
            x->specs[i].title = NULL;
            return tt_fail_nomem(e, "a title");
        }
    }
    return TT_OK;
}

/* Begins the ensemble of the stage, or goes on with it. */
static int play_points(const struct tt_survey_stage *stage, const struct tt_settings *settings,
                       const char *directory, struct tt_error *e)
{
    struct tt_runner_report report = {0};
    struct tt_ensemble x = {0};
    char *ensemble = tt_survey_find_ensemble(directory);
    int rc = tt_ensemble_make(&x, settings, true, e);

    if (rc == TT_OK)
        rc = name_points(stage, &x, e);
    if (rc == TT_OK && !ensemble)
        rc = tt_ensemble_check_room(&x, e);
    if (rc == TT_OK && !ensemble)
        rc = tt_ensemble_create(&x, settings, true, &ensemble, e);
    if (rc == TT_OK)
        rc = tt_ensemble_run(&x, ensemble, &report, e);
    if (rc == TT_OK && report.out_of_budget)
        rc = tt_fail(e, TT_LIMIT, "stage %s: %s", stage->name, report.why);
    free(report.list);
    free(ensemble);
    tt_ensemble_free(&x);
    return rc;
}

static int play_stage(const struct tt_survey *s, const struct tt_survey_stage *stage,
                      const char *directory, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_survey_sources sources = {0};
    char *own = tt_survey_stage_directory(directory, stage);
    int rc = own ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && mkdir(own, 0777) != 0 && errno != EEXIST)
        rc = tt_fail_call(e, errno, "mkdir", own, -1);
    if (rc == TT_OK && stage->data)
        rc = tt_survey_find_sources(directory, stage->data, &sources, e);
    if (rc == TT_OK)
        rc = stage_settings(s, stage, directory, &sources, &settings, e);
    if (rc == TT_OK)
        rc = play_points(stage, &settings, own, e);
    tt_survey_free_sources(&sources);
    tt_settings_free(&settings);
    free(own);
    return rc;
}

/* The first stage reads nothing, and has a point with the most nodes. */
int tt_survey_check_jobs(const struct tt_survey *s, struct tt_error *e)
{
    const struct tt_survey_stage *first = &s->stages[0];
    const struct tt_survey_sources none = {0};
    struct tt_settings settings = {0};
    struct tt_ensemble x = {0};
    int rc = stage_settings(s, first, s->o.results, &none, &settings, e);

    if (rc == TT_OK)
        rc = tt_ensemble_make(&x, &settings, true, e);
    for (size_t i = 0; rc == TT_OK && i < first->n; i++)
        rc = tt_nodes_check(&x.specs[i], first->points[i].nodes, e);
    tt_ensemble_free(&x);
    tt_settings_free(&settings);
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

static void tell(const struct tt_survey *s, size_t i)
{
    const struct tt_survey_stage *stage = &s->stages[i];

    if (!s->o.quiet)
        fprintf(stderr, "tutti: stage %zu of %zu: %s, %s: %zu point%s, %" PRIu64 " time%s\n", i + 1,
                s->nstages, stage->part, stage->name, stage->n, stage->n == 1 ? "" : "s",
                stage->repeat, stage->repeat == 1 ? "" : "s");
}

/* A stage is complete before its data goes, so that it is not run again without. A signal
 * between two stages waits for the next one, which it ends. */
int tt_survey_run(const struct tt_survey *s, const char *directory, struct tt_error *e)
{
    uint64_t removed = 0;
    int rc;

    tt_processes_begin();
    rc = tt_survey_redo_lost(s, directory, e);
    for (size_t i = 0; rc == TT_OK && i < s->nstages; i++) {
        const struct tt_survey_stage *stage = &s->stages[i];

        if (!tt_survey_is_complete(directory, stage)) {
            tell(s, i);
            rc = play_stage(s, stage, directory, e);
            if (rc == TT_OK)
                rc = tt_survey_mark_complete(directory, stage, e);
        }
        if (rc == TT_OK && stage->data && !is_read_later(s, stage->data, i))
            rc = tt_survey_clean_stage(directory, stage->data, true, &removed, e);
    }
    tt_processes_end();
    return rc;
}
