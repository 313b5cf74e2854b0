/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "analysis/result.h"
#include "base/clock.h"
#include "base/json.h"
#include "plan/directory.h"
#include "plan/removal.h"

struct collected {
    json_t *result; /* NULL: there is none */
    struct tt_window window;
    bool has_window;
    double late;    /* seconds after its go */
    json_t *work;   /* in the reference's window */
    json_t *phases; /* the reference's */
};

static void trouble(struct tt_trial *s, const char *who, const char *what)
{
    if (!s->trouble[0])
        snprintf(s->trouble, sizeof s->trouble, "%s: %.480s", who, what);
}

static double metric(const json_t *result, const char *name)
{
    return tt_number_or_nan(json_object_get(json_object_get(result, "metrics"), name), "value");
}

/* ---- each job ---- */

/* Jobs that were killed could not do so themselves. A command has no data files that tutti knows
 * of, whatever it may have written into the manifest. */
static void remove_data(struct tt_trial *s, const struct tt_trial_job *a)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char text[480];

    if (!a->directory || a->spec->is_command || a->spec->config.run->keep ||
        tt_manifest_remove(a->directory, &e) == TT_OK)
        return;
    tt_error_format(&e, text, sizeof text);
    trouble(s, a->is_load ? "a load" : "the reference", text);
}

void tt_collect_nothing(struct tt_trial *s)
{
    for (size_t i = 0; i < s->n; i++)
        remove_data(s, &s->jobs[i]);
}

static void take_window(struct tt_trial *s, const struct tt_trial_job *a,
                        const struct tt_run_data *run, struct collected *c,
                        const struct collected *reference)
{
    c->has_window = tt_run_data_window(run, &c->window);
    if (!c->has_window) {
        trouble(s, a->is_load ? "a load" : "the reference",
                "there are no records of its measured time");
        return;
    }
    if (a->go_ns)
        c->late = tt_seconds(c->window.from_ns - a->go_ns);
    if (reference->has_window)
        c->work = tt_window_work(run, &reference->window);
    if (!a->is_load)
        c->phases = tt_phase_times(run);
}

/* A job's records may be large, so only one job's are in memory at a time. */
static void take_result(struct tt_trial *s, const struct tt_trial_job *a, struct collected *c,
                        const struct collected *reference)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const char *who = a->is_load ? "a load" : "the reference";
    struct tt_run_data run;
    const char *error;
    char text[480];

    remove_data(s, a);
    if (tt_run_data_load(&run, a->directory, &e) == TT_OK) {
        if (tt_result_of(&run, &c->result, &e) == TT_OK) {
            error = tt_text_of(c->result, "error");
            if (s->early == a && *error)
                s->trouble[0] = '\0'; /* now there is more to say */
            if (!tt_is_true(c->result, "valid"))
                trouble(s, who, *error ? error : "its result is not valid");
            take_window(s, a, &run, c, reference);
        }
        tt_run_data_free(&run);
    }
    if (e.code != TT_OK) {
        tt_error_format(&e, text, sizeof text);
        trouble(s, who, text);
    }
}

/* Every iteration of the reference was under load only if the loads outlasted it. */
static double covered(const struct tt_trial *s, const struct collected *all)
{
    double least = 1;

    for (size_t i = 1; i < s->n; i++) {
        int64_t from = all[0].window.from_ns, to = all[0].window.to_ns;
        int64_t end = all[i].window.to_ns < to ? all[i].window.to_ns : to;
        double part = to > from ? (double)(end - from) / (double)(to - from) : 1;

        least = part < least ? (part > 0 ? part : 0) : least;
    }
    return least;
}

static json_t *metrics_json(const json_t *result)
{
    json_t *all = json_object();

    for (int m = 0; m < TT_NMETRICS; m++) {
        double value = metric(result, tt_metrics[m].name);

        if (isfinite(value))
            json_object_set_new(all, tt_metrics[m].name, json_real(value));
    }
    return all;
}

static json_t *job_json(const struct tt_trial *s, const struct tt_trial_job *a,
                        const struct collected *c)
{
    size_t index = (size_t)(a - s->jobs);
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:f}", "role", a->is_load ? "load" : "reference",
                  "job", a->spec->name, "workload", a->spec->workload, "directory",
                  tt_directory_id(a->directory), "go_ns", (json_int_t)a->go_ns, "late", c->late);
    double runtime = metric(c->result, "runtime");

    if (s->shares.n > 0)
        json_object_set_new(o, "cpus", json_string(s->shares.list[index].text));
    if (a->nodes[0])
        json_object_set_new(o, "nodes", json_string(a->nodes));
    json_object_set_new(o, "runtime", isfinite(runtime) ? json_real(runtime) : json_null());
    json_object_set_new(o, "start_ns", json_integer(c->window.from_ns));
    json_object_set_new(o, "stop_ns", json_integer(c->window.to_ns));
    json_object_set_new(o, "metrics", metrics_json(c->result));
    if (c->work)
        json_object_set(o, "window", c->work);
    if (c->phases)
        json_object_set(o, "phases", c->phases);
    if (!a->is_load)
        json_object_set(o, "saturated", tt_member_at(c->result, "counters/saturated"));
    return o;
}

/* ---- all together ---- */

/* Bytes per second of all jobs in the reference's window. */
static double total_rate(const struct tt_trial *s, const struct collected *all, const char *what)
{
    double seconds, bytes = 0;

    if (!all[0].has_window) /* it has not begun, and its ends are no instants */
        return 0;
    seconds = tt_seconds(all[0].window.to_ns - all[0].window.from_ns);
    for (size_t i = 0; i < s->n; i++)
        bytes += tt_number_of(all[i].work, what);
    return seconds > 0 ? bytes / seconds : 0;
}

/* Jain's index of what equal jobs got done in the common window: 1 if all the same, 1/n if one got
 * everything. Only jobs of the reference's own kind are equal to it. */
static double fairness(const struct tt_trial *s, const struct collected *all)
{
    json_t *mine = tt_config_to_json(&s->jobs[0].spec->config);
    double sum = 0, squares = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        json_t *its = tt_config_to_json(&s->jobs[i].spec->config);
        double done = tt_number_of(all[i].work, "iterations");

        if (json_equal(mine, its)) {
            sum += done;
            squares += done * done;
            n++;
        }
        json_decref(its);
    }
    json_decref(mine);
    return n > 1 && squares > 0 ? sum * sum / ((double)n * squares) : NAN;
}

static void set_number(json_t *o, const char *key, double value)
{
    json_object_set_new(o, key, isfinite(value) ? json_real(value) : json_null());
}

static json_t *repetition_json(const struct tt_trial *s, const struct collected *all,
                               const struct tt_repetition *r)
{
    json_t *jobs = json_array(), *loads = json_array(), *o;
    double skew = 0;

    for (size_t i = 0; i < s->n; i++) {
        json_array_append_new(jobs, job_json(s, &s->jobs[i], &all[i]));
        if (i > 0)
            json_array_append_new(loads, json_string(s->jobs[i].spec->name));
        skew = fabs(all[i].late) > skew ? fabs(all[i].late) : skew;
    }
    o = json_pack("{s:s, s:I, s:o, s:I, s:b, s:s, s:f, s:o}", "reference", s->jobs[0].spec->name,
                  "others", (json_int_t)s->step->others, "loads", loads, "number",
                  (json_int_t)r->number, "complete", r->complete, "why", r->why, "phase", s->phase,
                  "jobs", jobs);
    set_number(o, "skew", skew);
    set_number(o, "covered", covered(s, all));
    set_number(o, "total_write_rate", total_rate(s, all, "bytes_written"));
    set_number(o, "total_read_rate", total_rate(s, all, "bytes_read"));
    set_number(o, "total_communication_rate", total_rate(s, all, "bytes_communicated"));
    set_number(o, "total_iteration_rate", total_rate(s, all, "iterations"));
    set_number(o, "fairness", fairness(s, all));
    if (s->shares.exceeded)
        json_object_set_new(o, "exceeded", json_string(s->shares.note));
    return o;
}

int tt_collect(struct tt_trial *s, struct tt_repetition *r, struct tt_error *e)
{
    struct collected *all = calloc(s->n, sizeof *all);
    json_t *o = NULL;
    int rc = all ? TT_OK : tt_fail_nomem(e, "the results");

    for (size_t i = 0; i < s->n && rc == TT_OK; i++)
        take_result(s, &s->jobs[i], &all[i], &all[0]);
    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        r->bytes += (uint64_t)fmax(0, metric(all[i].result, "bytes_written"));
        if (i > 0 && s->jobs[i].loops && all[i].window.to_ns < all[0].window.to_ns)
            trouble(s, "a load", "it ended before the reference");
    }
    r->complete = rc == TT_OK && !s->trouble[0];
    tt_make_plain(s->trouble);
    snprintf(r->why, sizeof r->why, "%s", s->trouble);
    if (rc == TT_OK) {
        o = repetition_json(s, all, r);
        rc = o ? tt_directory_write_json(s->directory, TT_REPETITION, o, e)
               : tt_fail_nomem(e, "the repetition");
        if (rc == TT_OK) /* the journal will say that it is there */
            rc = tt_directory_sync(s->directory, TT_REPETITION, e);
    }
    for (size_t i = 0; all && i < s->n; i++) {
        json_decref(all[i].result);
        json_decref(all[i].work);
        json_decref(all[i].phases);
    }
    free(all);
    json_decref(o);
    return rc;
}
