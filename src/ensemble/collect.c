/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/metrics.h"
#include "analysis/result.h"
#include "base/clock.h"
#include "base/json.h"
#include "plan/control.h"
#include "plan/directory.h"
#include "plan/removal.h"

struct collected {
    json_t *result; /* NULL: there is none */
    struct tt_window window;
    bool has_window;
    double late;                      /* seconds after its go */
    struct tt_clock_difference clock; /* of its rank 0 */
    json_t *work;                     /* in the reference's window */
    json_t *phases;                   /* the reference's */
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

/* The job's word that it is ready is seen after it was written, and so is the driver's that it may
 * go: between the two lies the difference of their clocks. */
struct tt_clock_difference tt_clock_between(int64_t ready_ns, int64_t ready_seen_ns,
                                            int64_t go_written_ns, int64_t go_seen_ns)
{
    struct tt_clock_difference d = {0};
    int64_t least, most, between;

    if (ready_ns <= 0 || go_seen_ns <= 0 || ready_seen_ns <= 0 || go_written_ns <= 0)
        return d;
    least = ready_ns - ready_seen_ns;
    most = go_seen_ns - go_written_ns;
    if (__builtin_sub_overflow(most, least, &between) || between < 0)
        return d; /* what is in the files is not true */
    d.known = true;
    d.uncertainty_ns = between / 2;
    if (least > 0 || most < 0) /* else they may as well be the same */
        d.offset_ns = least + d.uncertainty_ns;
    return d;
}

/* On the driver's own node there is one clock only. */
static void compare_clocks(const struct tt_trial_job *a, const struct tt_run_data *run,
                           struct collected *c)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    if (run->nranks == 0 || !strcmp(host, run->ranks[0].header.host))
        return;
    c->clock = tt_clock_between(
        tt_control_read(a->directory, TT_CONTROL_READY), a->ready_seen_ns, a->go_written_ns,
        tt_integer_of(json_object_get(run->ranks[0].summary, "clock"), "go_seen_ns"));
}

static struct tt_window shifted(struct tt_window w, int64_t by)
{
    struct tt_window out;

    return __builtin_add_overflow(w.from_ns, by, &out.from_ns) ||
                   __builtin_add_overflow(w.to_ns, by, &out.to_ns)
               ? w
               : out;
}

/* The window is told on the driver's clock. */
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
    compare_clocks(a, run, c);
    c->window = shifted(c->window, -c->clock.offset_ns);
    if (a->go_ns)
        c->late = tt_seconds(c->window.from_ns - a->go_ns);
    if (s->step->is_load) { /* in a mix the reference comes after the same time */
        int64_t from = c->window.from_ns + (int64_t)(s->ensemble->o.warmup * 1e9);

        c->window.from_ns = from < c->window.to_ns ? from : c->window.from_ns;
    }
    if (reference->has_window) {
        struct tt_window its = shifted(reference->window, c->clock.offset_ns);

        c->work = tt_window_work(run, &its);
    }
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

/* Shares of the time, what was not observed is not there. */
static void add_waits(const struct tt_waits *w, json_t *metrics)
{
    static const char *const names[] = {
#define X(name, text) #name,
        TT_WAITS(X)
#undef X
    };

    for (int i = 0; i < TT_NWAITS; i++)
        if (w->at_ns > 0 && isfinite(w->seconds[i]))
            json_object_set_new(metrics, names[i], json_real(w->seconds[i] / tt_seconds(w->at_ns)));
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
    if (s->shares.n > 0)
        json_object_set_new(o, "place", json_string(s->shares.list[index].place));
    if (a->nodes[0])
        json_object_set_new(o, "nodes", json_string(a->nodes));
    if (c->clock.known)
        json_object_set_new(o, "clock",
                            json_pack("{s:f, s:f}", "offset", tt_seconds(c->clock.offset_ns),
                                      "uncertainty", tt_seconds(c->clock.uncertainty_ns)));
    json_object_set_new(o, "runtime", isfinite(runtime) ? json_real(runtime) : json_null());
    json_object_set_new(o, "start_ns", json_integer(c->window.from_ns));
    json_object_set_new(o, "stop_ns", json_integer(c->window.to_ns));
    json_object_set_new(o, "metrics", metrics_json(c->result));
    if (c->work)
        json_object_set(o, "window", c->work);
    if (c->phases)
        json_object_set(o, "phases", c->phases);
    if (!a->is_load) {
        json_object_set(o, "saturated", tt_member_at(c->result, "counters/saturated"));
        json_object_set_new(o, "waits", json_object());
        add_waits(&s->waits, json_object_get(o, "waits"));
    }
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
    o = json_pack("{s:s, s:I, s:o, s:I, s:I, s:b, s:b, s:s, s:f, s:o}", "reference",
                  s->jobs[0].spec->name, "others", (json_int_t)s->step->others, "loads", loads,
                  "number", (json_int_t)r->number, "round", (json_int_t)r->round, "again",
                  s->step->again, "complete", r->complete, "why", r->why, "phase", s->phase, "jobs",
                  jobs);
    json_object_set_new(
        o, "settle",
        json_pack("{s:f, s:s}", "seconds", s->settled.seconds, "gave_up", s->settled.why));
    json_object_set_new(o, "definitions", json_integer(TT_RESULT_FORMAT));
    set_number(o, "skew", skew);
    set_number(o, "covered", covered(s, all));
    set_number(o, "total_write_rate", total_rate(s, all, "bytes_written"));
    set_number(o, "total_read_rate", total_rate(s, all, "bytes_read"));
    set_number(o, "total_communication_rate", total_rate(s, all, "bytes_communicated"));
    set_number(o, "total_iteration_rate", total_rate(s, all, "iterations"));
    json_object_set_new(o, "share_cores", json_boolean(s->shares.share_cores));
    if (s->shares.exceeded)
        json_object_set_new(o, "exceeded", json_string(s->shares.note));
    return o;
}

/* ---- of an older version ---- */

bool tt_repetition_is_current(const json_t *repetition)
{
    return json_integer_value(json_object_get(repetition, "definitions")) == TT_RESULT_FORMAT;
}

static int measure_again(const char *directory, json_t *job, struct tt_error *e)
{
    const char *id = tt_text_of(job, "directory");
    char *path = strpbrk(id, "/.") || !*id ? NULL : tt_directory_path(directory, id);
    json_t *metrics = json_object();
    struct tt_run_data run;
    int rc = path && metrics ? tt_run_data_load(&run, path, e)
                             : tt_fail(e, TT_CORRUPT, "a job has no run directory");

    if (rc == TT_OK && run.nranks == 0)
        rc = tt_fail(e, TT_FAILED, "'%s' has no records left", path);
    for (int m = 0; rc == TT_OK && m < TT_NMETRICS; m++)
        if (run.metrics[m].known)
            json_object_set_new(metrics, tt_metrics[m].name, json_real(run.metrics[m].value));
    if (rc == TT_OK) {
        const json_t *runtime = json_object_get(metrics, "runtime");

        json_object_set_new(job, "runtime", runtime ? json_deep_copy(runtime) : json_null());
        json_object_set(job, "metrics", metrics);
        if (json_object_get(job, "phases"))
            json_object_set_new(job, "phases", tt_phase_times(&run));
        tt_run_data_free(&run);
    }
    json_decref(metrics);
    free(path);
    return rc;
}

int tt_repetition_renew(const char *directory, json_t *repetition, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    char text[400];
    json_t *job;
    size_t i;

    json_array_foreach(json_object_get(repetition, "jobs"), i, job)
    {
        int rc = measure_again(directory, job, &why);

        if (rc != TT_OK) {
            tt_error_format(&why, text, sizeof text);
            return tt_fail(e, rc, "it was measured under older definitions, and %s", text);
        }
    }
    json_object_set_new(repetition, "definitions", json_integer(TT_RESULT_FORMAT));
    return TT_OK;
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
