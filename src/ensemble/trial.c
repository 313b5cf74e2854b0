/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/trial.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "launch/hold.h"
#include "plan/control.h"
#include "plan/directory.h"
#include "plan/workload.h"

/* How soon the driver sees what its jobs do. */
#define TICK_SECONDS 0.01
/* All jobs have read go before it comes: here, and on other nodes. */
#define LOCAL_LEAD_NS 60000000
#define REMOTE_LEAD_NS 2000000000
#define HEARTBEAT_NS 5000000000
/* What jobs get to end when they are told to, before they are asked harder. */
#define GRACE_NS 15000000000
/* The random phase is spread over the time between two dumps of a load, but not for ever. */
#define LONGEST_PHASE 30.0
#define CONTEXT "%s, %" PRIu64 " others" /* of a job, for its plan */

/* ---- trouble ---- */

/* Only the first counts; it begins with the job that it befell. */
static void trouble(struct tt_trial *s, const struct tt_trial_job *a, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void trouble(struct tt_trial *s, const struct tt_trial_job *a, const char *fmt, ...)
{
    va_list args;
    int n;

    if (s->trouble[0])
        return;
    if (a->is_load)
        n = snprintf(s->trouble, sizeof s->trouble, "load %zu (%.64s) ", (size_t)(a - s->jobs),
                     a->spec->workload);
    else
        n = snprintf(s->trouble, sizeof s->trouble, "the reference (%.64s) ", a->spec->workload);
    va_start(args, fmt);
    vsnprintf(s->trouble + n, sizeof s->trouble - (size_t)n, fmt, args);
    va_end(args);
}

/* ---- preparation ---- */

bool tt_context_is_alone(const char *context)
{
    char alone[64];

    snprintf(alone, sizeof alone, CONTEXT, "reference", (uint64_t)0);
    return !*context || !strcmp(context, alone);
}

static int plan_job(struct tt_trial *s, struct tt_trial_job *a, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_config config = {0};
    const char *place = "the ensemble";
    int rc = TT_OK;

    /* The node's counters are read once, beside the reference. */
    if (a->is_load)
        rc = tt_settings_add(&settings, "counters.interval", "0", place, e);
    if (rc == TT_OK)
        rc = tt_settings_append(&settings, &a->spec->settings, e);
    if (rc == TT_OK)
        rc = tt_settings_add(&settings, "results", s->directory, place, e);
    if (rc == TT_OK && s->ensemble->o.label)
        rc = tt_settings_add(&settings, "label", s->ensemble->o.label, place, e);
    tt_settings_put(&settings, place, "context", CONTEXT, a->is_load ? "load" : "reference",
                    s->step->others);
    if (rc == TT_OK)
        rc = tt_settings_check(&settings, e);
    if (rc == TT_OK)
        rc = tt_config_make(&config, a->spec->workload, &settings, e);
    if (rc == TT_OK)
        rc = tt_directory_create(&config, &a->directory, e);
    if (rc == TT_OK)
        rc = tt_control_prepare(a->directory, e);
    tt_settings_free(&settings);
    tt_config_free(&config);
    return rc;
}

static int fail_interrupted(int got, struct tt_error *e)
{
    return tt_fail(e, TT_INTERRUPTED, "interrupted by signal %d (%s)", got, strsignal(got));
}

/* Thousands of jobs take their time: Ctrl-C does not wait for it. */
static int check_signals(struct tt_error *e)
{
    int got = tt_signal_wait(0);

    return got ? fail_interrupted(got, e) : TT_OK;
}

bool tt_trial_is_local(const struct tt_job_spec *p)
{
    const struct tt_launcher *l = tt_launcher_choose(tt_config_opts(&p->config, "launch"));

    return !strcmp(l->name, "local");
}

int tt_trial_make(struct tt_trial *s, const struct tt_ensemble *x, const struct tt_step *step,
                  const struct tt_runner_state *state, const char *directory, struct tt_error *e)
{
    int rc = TT_OK;

    *s = (struct tt_trial){.ensemble = x,
                           .step = step,
                           .state = state,
                           .directory = directory,
                           .n = (size_t)step->others + 1,
                           .heartbeat_ns = tt_now_ns()};
    s->jobs = calloc(s->n, sizeof *s->jobs);
    if (!s->jobs)
        return tt_fail_nomem(e, "the jobs");
    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        struct tt_trial_job *a = &s->jobs[i];

        a->spec = tt_step_spec(x, step, i);
        a->is_load = i > 0 || step->is_load;
        a->loops = a->is_load && a->spec->o.loop;
        rc = check_signals(e);
        if (rc == TT_OK)
            rc = plan_job(s, a, e);
    }
    if (rc == TT_OK && tt_trial_is_local(s->jobs[0].spec))
        rc = tt_shares_make(x, step, tt_directory_id(s->jobs[0].directory), &s->shares, e);
    return rc == TT_OK ? tt_nodes_spread(s, e) : rc;
}

void tt_trial_free(struct tt_trial *s)
{
    for (size_t i = 0; s->jobs && i < s->n; i++)
        free(s->jobs[i].directory);
    free(s->jobs);
    tt_shares_free(&s->shares);
    *s = (struct tt_trial){0};
}

static struct tt_launch launch_of(const struct tt_trial *s, const struct tt_trial_job *a)
{
    const struct tt_config *config = &a->spec->config;
    const struct tt_share *share = s->shares.n ? &s->shares.list[a - s->jobs] : NULL;

    return (struct tt_launch){.options = tt_config_opts(config, "launch"),
                              .directory = a->directory,
                              .ranks = (unsigned)config->run->ranks,
                              .is_command = a->spec->is_command,
                              .nodes = a->nodes[0] ? a->nodes : NULL,
                              .cpus = share ? &share->set : NULL,
                              .cgroups = {share && share->cgroup[0] ? share->cgroup : NULL,
                                          share && share->watched[0] ? share->watched : NULL}};
}

int tt_trial_calibrate(struct tt_trial *s, struct tt_error *e)
{
    struct tt_trial_job *a = &s->jobs[0];
    struct tt_launch launch = launch_of(s, a);
    struct tt_command_line worker = {0};
    int rc = tt_worker_command(&a->spec->config, a->directory,
                               (struct tt_perform_how){.calibrate = true}, &worker, e);
    int status;

    launch.words = worker.words;
    launch.run = a->spec->config.run;
    if (rc == TT_OK)
        rc = tt_launch_and_wait(&launch, true, &status, e);
    tt_command_free(&worker);
    return rc;
}

static int start_job(struct tt_trial *s, struct tt_trial_job *a, struct tt_error *e)
{
    struct tt_launch launch = launch_of(s, a);
    struct tt_command_line worker = {0};
    int rc = tt_worker_command(&a->spec->config, a->directory,
                               (struct tt_perform_how){.held = true, .loop = a->loops}, &worker, e);

    launch.words = worker.words;
    a->seen_ns = tt_now_ns();
    if (rc == TT_OK)
        rc = tt_job_start(&launch, &a->job, e);
    tt_command_free(&worker);
    return rc;
}

/* ---- watching ---- */

static void give_signs_of_life(struct tt_trial *s)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (tt_now_ns() - s->heartbeat_ns < HEARTBEAT_NS)
        return;
    s->heartbeat_ns = tt_now_ns();
    for (size_t i = 0; i < s->n; i++)
        if (s->jobs[i].directory)
            tt_control_heartbeat(s->jobs[i].directory, false, &ignored);
}

/* A job that shows no progress for so long hangs. */
static void watch(struct tt_trial *s, struct tt_trial_job *a)
{
    struct tt_progress p;

    if (tt_progress_read(a->directory, &p) == 0 && p.iteration != a->iteration) {
        a->iteration = p.iteration;
        a->seen_ns = tt_now_ns();
    }
    if (a->go_ns && tt_seconds(tt_now_ns() - a->seen_ns) > s->ensemble->o.watchdog)
        trouble(s, a, "shows no progress since %.0f s (watchdog): it was ended",
                s->ensemble->o.watchdog);
}

static int tick(struct tt_trial *s, struct tt_error *e)
{
    int got = tt_signal_wait(TICK_SECONDS);

    if (got)
        return fail_interrupted(got, e);
    give_signs_of_life(s);
    for (size_t i = 0; i < s->n; i++) {
        struct tt_trial_job *a = &s->jobs[i];

        if (a->job.process.pid <= 0)
            continue;
        if (tt_job_poll(&a->job)) {
            bool may_end = a->go_ns && (!a->is_load || !a->loops); /* a load that runs once may */

            if (!may_end && !s->trouble[0]) {
                s->early = a;
                trouble(s, a, "ended before its time: see %s", a->directory);
            }
        } else {
            watch(s, a);
        }
    }
    tt_display_draw(s);
    return TT_OK;
}

/* ---- acts ---- */

static int start_all(struct tt_trial *s, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        struct tt_error why = TT_ERROR_CLEAR;
        char text[400];

        rc = check_signals(&why);
        if (rc == TT_OK)
            rc = start_job(s, &s->jobs[i], &why);
        if (rc == TT_FAILED) {
            tt_error_format(&why, text, sizeof text);
            trouble(s, &s->jobs[i], "cannot be started: %s", text);
            return TT_OK;
        }
        if (rc != TT_OK)
            *e = why;
    }
    return rc;
}

static int wait_until_ready(struct tt_trial *s, struct tt_error *e)
{
    int64_t start = tt_now_ns();
    size_t ready = 0;
    int rc = TT_OK;

    while (rc == TT_OK && !s->trouble[0] && ready < s->n) {
        struct tt_trial_job *a = &s->jobs[ready];
        const struct tt_launch_options *launch = tt_config_opts(&a->spec->config, "launch");

        if (tt_control_read(a->directory, TT_CONTROL_READY) != 0) {
            a->ready_seen_ns = tt_wall_ns();
            ready++;
            continue;
        }
        if (tt_seconds(tt_now_ns() - start) > launch->start_timeout)
            trouble(s, a, "was not ready after launch.start_timeout, %.0f s: all were ended",
                    launch->start_timeout);
        rc = tick(s, e);
    }
    return rc;
}

/* All given jobs at one instant of the wall clock. */
static int go(struct tt_trial *s, size_t first, size_t last, struct tt_error *e)
{
    int64_t lead = s->shares.n ? LOCAL_LEAD_NS : REMOTE_LEAD_NS;
    int64_t instant = tt_wall_ns() + lead;
    int rc = TT_OK;

    if (first == 0 && s->shares.n > 0)
        tt_waits_read(&s->shares.list[0], &s->waits);
    for (size_t i = first; i < last && rc == TT_OK; i++) {
        s->jobs[i].go_ns = instant;
        s->jobs[i].seen_ns = tt_now_ns() + lead;
        s->jobs[i].go_written_ns = tt_wall_ns();
        rc = tt_control_write(s->jobs[i].directory, TT_CONTROL_GO, instant, e);
    }
    return rc;
}

/* Iterations between dumps, after which a load repeats itself; 1 if it does not write. */
static uint64_t period(const struct tt_job_spec *p)
{
    const struct tt_write_options *w = tt_config_opts(&p->config, "write");

    return w && w->every > 0 ? w->every : 1;
}

/* Commands have no progress to look at: for them the time must do. */
static bool is_steady(const struct tt_trial_job *a)
{
    return a->spec->is_command || !a->loops || a->iteration >= period(a->spec) + 1;
}

/* The reference must not always meet the same moment of the loads' period. */
static double random_phase(const struct tt_trial *s)
{
    const uint64_t place[] = {s->state->point, s->state->number};
    uint64_t bits = XXH3_64bits_withSeed(place, sizeof place, s->ensemble->o.seed);
    double longest = 0;

    for (size_t i = 1; i < s->n; i++) {
        struct tt_progress p;

        if (tt_progress_read(s->jobs[i].directory, &p) == 0 && p.iteration > 0) {
            double seconds = p.seconds / (double)p.iteration * (double)period(s->jobs[i].spec);

            longest = seconds > longest ? seconds : longest;
        }
    }
    longest = longest > LONGEST_PHASE ? LONGEST_PHASE : longest;
    return longest * (double)(bits >> 11) / (double)(1ull << 53);
}

static int wait_until_steady(struct tt_trial *s, struct tt_error *e)
{
    int64_t start = tt_now_ns(), until;
    size_t steady = 1;
    int rc = TT_OK;

    while (rc == TT_OK && !s->trouble[0] &&
           (steady < s->n || tt_seconds(tt_now_ns() - start) < s->ensemble->o.warmup)) {
        if (steady < s->n && is_steady(&s->jobs[steady]))
            steady++;
        else
            rc = tick(s, e);
    }
    s->phase = random_phase(s);
    until = tt_now_ns() + (int64_t)(s->phase * 1e9);
    while (rc == TT_OK && !s->trouble[0] && tt_now_ns() < until)
        rc = tick(s, e);
    return rc;
}

/* What is compared with loaded runs waits as they do. */
static int begin(struct tt_trial *s, struct tt_error *e)
{
    int rc;

    if (tt_ensemble_jobs(s->ensemble) == 1 || s->step->is_load ||
        s->ensemble->o.start == TT_START_TOGETHER)
        return go(s, 0, s->n, e);
    rc = go(s, 1, s->n, e);
    if (rc == TT_OK)
        rc = wait_until_steady(s, e);
    return rc == TT_OK && !s->trouble[0] ? go(s, 0, 1, e) : rc;
}

static bool all_ended(struct tt_trial *s)
{
    bool ended = true;

    for (size_t i = 0; i < s->n; i++)
        ended &= tt_job_poll(&s->jobs[i].job);
    return ended;
}

/* Where a directory is full or gone, nobody hears it: that is trouble. */
static void tell_to_stop(struct tt_trial *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct tt_error why = TT_ERROR_CLEAR;
        char text[400];

        if (!s->jobs[i].directory ||
            tt_control_heartbeat(s->jobs[i].directory, true, &why) == TT_OK)
            continue;
        tt_error_format(&why, text, sizeof text);
        trouble(s, &s->jobs[i], "cannot be told to stop: %s", text);
    }
}

/* Loads are told to stop, and get as long for their last iteration as any other may take; in
 * trouble, and whoever does not listen, is terminated, then killed. */
static int end_all(struct tt_trial *s, bool at_once, struct tt_error *e)
{
    int64_t deadline = tt_now_ns();
    int rc = TT_OK;
    bool asked = false;

    tell_to_stop(s);
    if (!at_once && !s->trouble[0])
        deadline += (int64_t)(s->ensemble->o.watchdog * 1e9);
    while (!all_ended(s)) {
        int got;

        if (tt_now_ns() > deadline) {
            for (size_t i = 0; i < s->n; i++)
                if (asked)
                    tt_job_kill(&s->jobs[i].job);
                else
                    tt_job_terminate(&s->jobs[i].job);
            deadline = tt_now_ns() + GRACE_NS;
            asked = true;
        }
        got = tt_signal_wait(TICK_SECONDS);
        if (got) {
            rc = fail_interrupted(got, e);
            deadline = 0;
        }
    }
    return rc;
}

/* The reference has ended; a load alone has run for long enough, or once, if that is all it does.
 */
static bool is_over(struct tt_trial *s)
{
    double most = s->ensemble->o.warmup + s->seconds;

    return tt_job_poll(&s->jobs[0].job) ||
           (s->step->is_load && tt_seconds(tt_wall_ns() - s->jobs[0].go_ns) > most);
}

int tt_trial_run(struct tt_trial *s, struct tt_error *e)
{
    int rc, ended;

    tt_processes_begin();
    rc = start_all(s, e);
    if (rc == TT_OK && !s->trouble[0])
        rc = wait_until_ready(s, e);
    if (rc == TT_OK && !s->trouble[0])
        rc = begin(s, e);
    while (rc == TT_OK && !s->trouble[0] && !is_over(s))
        rc = tick(s, e);
    if (s->shares.n > 0)
        tt_waits_since(&s->shares.list[0], &s->waits);
    ended = end_all(s, rc != TT_OK || s->trouble[0], e);
    rc = rc == TT_OK ? ended : rc;
    tt_processes_end();
    for (size_t i = 0; i < s->n; i++)
        tt_job_sweep(&s->jobs[i].job);
    tt_display_clear(s);
    return rc;
}
