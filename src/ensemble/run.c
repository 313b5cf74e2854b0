/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/notice.h"
#include "analysis/slowdown.h"
#include "analysis/statistics.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "ensemble/trial.h"
#include "plan/directory.h"
#include "plan/limits.h"
#include "plan/settings_json.h"
#include "plan/workload.h"

#define PLAN_FORMAT 2
/* Seconds that a run takes at least, whatever it does, and what storage is taken to do. */
#define START_SECONDS 0.3
#define USUAL_RATE (1024.0 * 1024 * 1024)
/* A load alone is watched for as long as the reference usually takes, but not for less. */
#define LEAST_ALONE 0.5

/* ---- the directory ---- */

int tt_ensemble_create(const struct tt_ensemble *x, const struct tt_settings *settings,
                       bool is_matrix, char **directory, struct tt_error *e)
{
    json_t *plan = tt_ensemble_to_json(x);
    int rc = tt_directory_make(x->o.results, "ensemble-", directory, e);

    if (rc == TT_OK && plan) {
        json_object_set_new(plan, "format", json_integer(PLAN_FORMAT));
        json_object_set_new(plan, "id", json_string(tt_directory_id(*directory)));
        json_object_set_new(plan, "label", x->o.label ? tt_json_text(x->o.label) : json_null());
        json_object_set_new(plan, "matrix", json_boolean(is_matrix));
        json_object_set_new(plan, "settings", tt_settings_to_json(settings));
        rc = tt_directory_write_json(*directory, TT_ENSEMBLE_PLAN, plan, e);
    } else if (rc == TT_OK) {
        rc = tt_fail_nomem(e, "the plan");
    }
    json_decref(plan);
    return rc;
}

int tt_ensemble_load(const char *directory, struct tt_settings *settings, bool *is_matrix,
                     struct tt_error *e)
{
    json_t *plan = NULL;
    int rc =
        tt_settings_from_directory(directory, TT_ENSEMBLE_PLAN, PLAN_FORMAT, &plan, settings, e);

    *is_matrix = tt_is_true(plan, "matrix");
    json_decref(plan);
    return rc;
}

/* ---- a repetition ---- */

struct owner {
    const struct tt_ensemble *ensemble;
    const char *directory;
    struct tt_estimate *estimates; /* of a job of each spec */
    double usual; /* seconds that a reference took alone, the last time; 0: not known yet */
};

int tt_ensemble_estimate(const struct tt_ensemble *x, struct tt_estimate **list, struct tt_error *e)
{
    int rc = TT_OK;

    *list = calloc(x->nspecs + 1, sizeof **list);
    if (!*list)
        return tt_fail_nomem(e, "the jobs");
    for (size_t i = 0; i < x->nspecs && rc == TT_OK; i++) {
        const struct tt_config *config = &x->specs[i].config;

        rc = config->workload->estimate(config, &(*list)[i], e);
    }
    return rc;
}

void tt_ensemble_expect(const struct tt_ensemble *x, const struct tt_estimate *estimates,
                        double *bytes, double *seconds)
{
    *bytes = *seconds = 0;
    for (size_t i = 0; i < x->npoints; i++) {
        double longest = 0;

        for (uint64_t k = 0; k <= x->steps[i].others; k++) {
            const struct tt_estimate *job = &estimates[tt_step_spec(x, &x->steps[i], k) - x->specs];
            double moved = (double)job->bytes_written + (double)job->bytes_read;

            *bytes += (double)job->bytes_written;
            longest = fmax(longest, job->compute_seconds + moved / USUAL_RATE);
        }
        *seconds += START_SECONDS + longest + (x->steps[i].others > 0 ? x->o.warmup : 0);
    }
}

/* What the jobs of a step have on a file system at once. */
struct disk {
    dev_t device;
    uint64_t bytes;
};

/* The disk of that device; there is room for one more than there are. */
static struct disk *find_disk(struct disk *disks, size_t *n, dev_t device)
{
    for (size_t i = 0; i < *n; i++)
        if (disks[i].device == device)
            return &disks[i];
    disks[*n] = (struct disk){.device = device};
    return &disks[(*n)++];
}

static int add_job(const struct tt_job_spec *p, uint64_t bytes, struct disk *disks, size_t *n,
                   struct tt_error *e)
{
    const struct tt_run_options *run = p->config.run;
    struct disk *disk;
    struct stat st;
    char *dir;
    int rc;

    if (stat(run->dir, &st) != 0)
        return tt_fail(e, TT_FAILED,
                       "data directory '%s' of %s does not exist; create it, or choose another "
                       "with dir",
                       run->dir, p->name);
    if (!S_ISDIR(st.st_mode))
        return tt_fail(e, TT_FAILED,
                       "data directory '%s' of %s is not a directory; choose another with dir",
                       run->dir, p->name);
    if (bytes == 0)
        return TT_OK;
    dir = tt_config_data_directory(&p->config);
    rc = dir && stat(dir, &st) == 0 ? TT_OK : tt_fail_call(e, errno, "stat", dir ? dir : "", -1);
    free(dir);
    if (rc != TT_OK)
        return rc;
    disk = find_disk(disks, n, st.st_dev);
    if (__builtin_add_overflow(disk->bytes, bytes, &disk->bytes))
        disk->bytes = UINT64_MAX;
    return tt_limits_check_room(&p->config, disk->bytes, e);
}

static int check_space(const struct tt_ensemble *x, const struct tt_step *step,
                       const struct tt_estimate *estimates, struct tt_error *e)
{
    struct disk *disks = calloc(x->nspecs + 1, sizeof *disks);
    int rc = disks ? TT_OK : tt_fail_nomem(e, "the data directories");
    size_t n = 0;

    for (uint64_t k = 0; k <= step->others && rc == TT_OK; k++) {
        const struct tt_job_spec *p = tt_step_spec(x, step, k);

        rc = add_job(p, estimates[p - x->specs].bytes_on_disk, disks, &n, e);
    }
    free(disks);
    return rc;
}

/* How many processes the kernel has numbers for, and this user may have. */
static double most_processes(void)
{
    FILE *in = fopen("/proc/sys/kernel/pid_max", "re");
    struct rlimit own;
    double most = INFINITY;

    if (in && fscanf(in, "%lf", &most) != 1)
        most = INFINITY;
    if (in)
        fclose(in);
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
        most = fmin(most, (double)own.rlim_cur);
    return most;
}

/* Every job is at least a launcher and its ranks, and all of them run at once; where the ranks are
 * elsewhere, still a launcher. */
static int check_processes(const struct tt_ensemble *x, const struct tt_step *step,
                           struct tt_error *e)
{
    double processes = 0, most = most_processes();

    for (uint64_t k = 0; k <= step->others; k++) {
        const struct tt_job_spec *p = tt_step_spec(x, step, k);

        processes += 1 + (tt_trial_is_local(p) ? (double)p->config.run->ranks : 0);
    }
    if (processes <= most)
        return TT_OK;
    return tt_fail(e, TT_LIMIT,
                   "others: %" PRIu64
                   " are %.0f processes at once, and this machine allows %.0f; use fewer others",
                   step->others, processes, most);
}

int tt_ensemble_fits(const struct tt_ensemble *x, const struct tt_estimate *estimates,
                     struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < x->nsteps && rc == TT_OK; i++)
        rc = check_processes(x, &x->steps[i], e);
    for (size_t i = 0; i < x->nsteps && rc == TT_OK; i++)
        rc = check_space(x, &x->steps[i], estimates, e);
    return rc;
}

int tt_ensemble_check_room(const struct tt_ensemble *x, struct tt_error *e)
{
    struct tt_estimate *estimates = NULL;
    int rc = tt_ensemble_estimate(x, &estimates, e);

    if (rc == TT_OK)
        rc = tt_ensemble_fits(x, estimates, e);
    free(estimates);
    return rc;
}

/* A repetition that a dead driver left unfinished keeps its directory; the new one gets another
 * name.
 */
static int make_directory(const struct tt_step_run *what, struct tt_repetition *r, char **path,
                          struct tt_error *e)
{
    for (unsigned attempt = 1; attempt < 1000; attempt++) {
        char again[16] = "";

        if (attempt > 1)
            snprintf(again, sizeof again, "-%u", attempt);
        snprintf(r->directory, sizeof r->directory, "%s-run%" PRIu64 "%s", what->name, r->number,
                 again);
        *path = tt_directory_path(what->directory, r->directory);
        if (!*path)
            return tt_fail_nomem(e, "a path");
        if (mkdir(*path, 0777) == 0)
            return TT_OK;
        if (errno != EEXIST)
            return tt_fail_call(e, errno, "mkdir", *path, -1);
        free(*path);
        *path = NULL;
    }
    return tt_fail(e, TT_FAILED, "'%s' is full of unfinished repetitions", what->directory);
}

/* "stencil alone", "stencil with 2 others", or the title that its owner gave it. */
static void describe(const struct tt_ensemble *x, const struct tt_step *step, char *out,
                     size_t size)
{
    const struct tt_job_spec *reference = &x->specs[step->reference];
    const char *load = step->others == 1 ? "other" : "others";

    if (step->others > 0 && x->nmixes > 1)
        load = tt_step_spec(x, step, 1)->name;
    if (reference->title)
        snprintf(out, size, "%s", reference->title);
    else if (step->is_load || step->others == 0)
        snprintf(out, size, "%s alone", reference->name);
    else
        snprintf(out, size, "%s with %" PRIu64 " %s", reference->name, step->others, load);
}

static void tell(const struct owner *c, const struct tt_runner_state *state,
                 const struct tt_repetition *r)
{
    char what[256];

    if (c->ensemble->o.quiet || (r->complete && tt_notice_is_drawn()))
        return;
    describe(c->ensemble, &c->ensemble->steps[r->point], what, sizeof what);
    tt_notice("%" PRIu64 " of %" PRIu64 ": %s%s%s", state->done + r->complete, state->planned, what,
              r->complete ? "" : " is not used: ", r->why);
}

int tt_repetitions_continue(const char *directory, const struct tt_repetition *list, size_t n,
                            struct tt_error *e)
{
    for (size_t i = 0; i < n; i++) {
        char *path = tt_directory_path(directory, list[i].directory);
        struct tt_error ignored = TT_ERROR_CLEAR;
        json_t *o = NULL;
        bool older = path && tt_directory_read_json(path, TT_REPETITION, &o, &ignored) == TT_OK &&
                     !tt_repetition_is_current(o);

        json_decref(o);
        free(path);
        if (older)
            return tt_fail(e, TT_CORRUPT,
                           "'%s' was begun under other definitions of its metrics, and cannot be "
                           "continued; start it anew",
                           directory);
    }
    return tt_stale_remove(directory, list, n, e);
}

static int begin(void *context, const struct tt_repetition *list, size_t n, struct tt_error *e)
{
    const struct owner *c = context;

    return tt_repetitions_continue(c->directory, list, n, e);
}

/* A metric of the reference; NAN if it is not known. */
static double metric_of(const struct owner *c, const struct tt_repetition *r, const char *metric)
{
    char *path = tt_directory_path(c->directory, r->directory);
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *o = NULL;
    double number = NAN;

    if (path && tt_directory_read_json(path, TT_REPETITION, &o, &ignored) == TT_OK) {
        const json_t *job = json_array_get(json_object_get(o, "jobs"), 0);
        const json_t *value = !strcmp(metric, "runtime")
                                  ? json_object_get(job, "runtime")
                                  : json_object_get(json_object_get(job, "metrics"), metric);

        number = json_is_number(value) ? json_number_value(value) : NAN;
    }
    json_decref(o);
    free(path);
    return number;
}

int tt_step_run(const struct tt_step_run *what, const struct tt_runner_state *state,
                struct tt_repetition *r, struct tt_error *e)
{
    const struct tt_ensemble *x = what->ensemble;
    const struct tt_step *step = what->step;
    const char *title = x->specs[step->reference].title;
    struct tt_settled settled = {0};
    struct tt_trial trial = {0};
    char *directory = NULL;
    int rc = tt_settle(x, &settled, e);

    if (rc == TT_OK)
        rc = check_space(x, step, what->estimates, e);
    if (rc == TT_OK)
        rc = make_directory(what, r, &directory, e);
    if (rc == TT_OK)
        rc = tt_trial_make(&trial, x, step, state, directory, e);
    trial.settled = settled;
    trial.seconds = fmax(what->seconds, LEAST_ALONE);
    if (rc == TT_OK) {
        rc = tt_trial_run(&trial, e);
        if (rc == TT_OK)
            rc = tt_collect(&trial, r, e);
        else
            tt_collect_nothing(&trial);
    }
    if (rc == TT_OK && !r->complete && what->must_work && state->done == 0)
        rc = tt_fail(e, TT_FAILED, "%s%s %s (more: %s)", title ? title : "alone", title ? ":" : ",",
                     r->why, directory);
    tt_trial_free(&trial);
    free(directory);
    return rc;
}

static int run(void *context, const struct tt_runner_state *state, struct tt_repetition *r,
               struct tt_error *e)
{
    struct owner *c = context;
    const struct tt_step *step = &c->ensemble->steps[r->point];
    char name[32];
    int rc;

    snprintf(name, sizeof name, "step%zu", r->point);
    /* What cannot be done alone even once will not be done with others. */
    rc = tt_step_run(&(struct tt_step_run){.ensemble = c->ensemble,
                                           .step = step,
                                           .must_work = step->others == 0 && !step->is_load,
                                           .directory = c->directory,
                                           .name = name,
                                           .estimates = c->estimates,
                                           .seconds = c->usual},
                     state, r, e);
    if (rc == TT_OK && r->complete && step->others == 0 && !step->is_load)
        c->usual = fmax(0, metric_of(c, r, "runtime")); /* 0 also if it is not a number */
    if (rc == TT_OK)
        tell(c, state, r);
    return rc;
}

/* ---- the stop rule ---- */

/* The metric that the rule is about. */
static double goal_of(const struct owner *c, const struct tt_repetition *r)
{
    return metric_of(c, r, c->ensemble->o.stop_metric ? c->ensemble->o.stop_metric : "runtime");
}

/* The same of a step in a round; NAN if it has none. */
static double goal_in(const struct owner *c, size_t step, uint64_t round,
                      const struct tt_repetition *list, size_t n)
{
    double sum = 0;
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const struct tt_step *s = &c->ensemble->steps[list[i].point];
        double value = NAN;

        if (list[i].round == round && list[i].complete &&
            (list[i].point == step || (s->again && s->base == step)))
            value = goal_of(c, &list[i]);
        if (isfinite(value)) {
            sum += value;
            used++;
        }
    }
    return used ? sum / (double)used : NAN;
}

/* Of the slowdown by rounds; what others are compared with goes on as long as they do. */
static double width(void *context, size_t point, const struct tt_repetition *list, size_t n)
{
    const struct owner *c = context;
    const struct tt_step *step = &c->ensemble->steps[point];
    double *values = malloc((n + 1) * sizeof *values), half = NAN;
    struct tt_sample s = {0, values};

    if (step->again || step->is_load || tt_step_is_base(c->ensemble, point)) {
        free(values);
        return 0;
    }
    for (size_t i = 0; values && i < n; i++) {
        double value = list[i].point == point && list[i].complete ? goal_of(c, &list[i]) : NAN;

        if (step->base != point && isfinite(value))
            value /= goal_in(c, step->base, list[i].round, list, n);
        if (isfinite(value))
            values[s.n++] = value;
    }
    if (s.n > 0) {
        double median = tt_median(values, s.n);
        struct tt_interval interval = tt_median_interval(&s, TT_LEVEL);

        if (interval.known && median > 0)
            half = (interval.high - interval.low) / 2 / median;
    }
    free(values);
    return half;
}

int tt_ensemble_run(const struct tt_ensemble *x, const char *directory,
                    struct tt_runner_report *report, struct tt_error *e)
{
    struct tt_runner_point *points = calloc(x->npoints + 1, sizeof *points);
    struct owner c = {x, directory, NULL, 0};
    const struct tt_runner_rules rules = {.repeat = x->o.repeat,
                                          .width = x->o.ci.percent / 100,
                                          .at_most = x->o.at_most,
                                          .max_time = x->o.max_time,
                                          .max_bytes = x->o.max_bytes,
                                          .seed = x->o.seed};
    const struct tt_runner_owner owner = {.context = &c,
                                          .npoints = x->npoints,
                                          .points = points,
                                          .begin = begin,
                                          .run = run,
                                          .width = width};
    int rc = points ? tt_ensemble_estimate(x, &c.estimates, e) : tt_fail_nomem(e, "the steps");

    for (size_t i = 0; points && i < x->npoints; i++)
        points[i] = (struct tt_runner_point){x->steps[i].base, x->steps[i].others == 0};
    /* Ctrl-C between two repetitions waits for the next one, which it ends. */
    tt_processes_begin();
    if (rc == TT_OK)
        rc = tt_runner_run(directory, &rules, &owner, report, e);
    tt_processes_end();
    free(c.estimates);
    free(points);
    return rc;
}

/* ---- the answer ---- */

int tt_repetition_read(const char *directory, const struct tt_repetition *r, json_t **repetition,
                       struct tt_error *e)
{
    char *path = tt_directory_path(directory, r->directory), text[400];
    struct tt_error why = TT_ERROR_CLEAR;

    *repetition = NULL;
    if (!path)
        return tt_fail_nomem(e, "a path");
    if (tt_directory_read_json(path, TT_REPETITION, repetition, &why) != TT_OK ||
        (!tt_repetition_is_current(*repetition) &&
         tt_repetition_renew(path, *repetition, &why) != TT_OK)) {
        tt_error_format(&why, text, sizeof text);
        tt_notice("a repetition is not used: %s", text);
        json_decref(*repetition);
        *repetition = NULL;
    }
    free(path);
    return TT_OK;
}

static int read_repetitions(const struct tt_ensemble *x, const char *directory, json_t *list,
                            struct tt_error *e)
{
    struct tt_runner_report report;
    int rc = tt_journal_read(directory, NULL, x->npoints, &report, e);

    for (size_t i = 0; i < report.n && rc == TT_OK; i++) {
        json_t *o = NULL;

        rc = tt_repetition_read(directory, &report.list[i], &o, e);
        if (o)
            json_array_append_new(list, o);
    }
    free(report.list);
    return rc;
}

int tt_answer_keep(const char *directory, const json_t *answer, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    int rc = tt_directory_write_json(directory, "answer.json", answer, &why);

    if (why.sys_errno == EACCES || why.sys_errno == EROFS || why.sys_errno == EPERM)
        return TT_OK;
    if (rc != TT_OK)
        *e = why;
    return rc;
}

int tt_ensemble_answer(const struct tt_ensemble *x, const char *directory, json_t **answer,
                       struct tt_error *e)
{
    json_t *plan = tt_ensemble_to_json(x), *repetitions = json_array();
    int rc = plan && repetitions ? read_repetitions(x, directory, repetitions, e)
                                 : tt_fail_nomem(e, "the answer");

    if (rc == TT_OK)
        rc = tt_slowdown(plan, repetitions, answer, e);
    if (rc == TT_OK) {
        json_object_set_new(*answer, "tutti",
                            json_pack("{s:s, s:s, s:i}", "version", TT_VERSION, "revision",
                                      TT_REVISION, "format", TT_ANSWER_FORMAT));
        json_object_set_new(*answer, "id", json_string(tt_directory_id(directory)));
        json_object_set_new(*answer, "directory", tt_json_text(directory));
        json_object_set_new(*answer, "label", x->o.label ? tt_json_text(x->o.label) : json_null());
        json_object_set_new(*answer, "repeat", json_integer((json_int_t)x->o.repeat));
        json_object_set(*answer, "jobs", json_object_get(plan, "jobs"));
        json_object_set(*answer, "repetitions", repetitions);
        rc = tt_answer_keep(directory, *answer, e);
    }
    json_decref(plan);
    json_decref(repetitions);
    return rc;
}
