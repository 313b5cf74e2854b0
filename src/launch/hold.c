/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/hold.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/counters.h"
#include "record/recorder.h"
#include "launch/launch.h"
#include "plan/control.h"
#include "workloads/command.h"

/* How soon go and stop are seen. */
#define GO_POLL_NS 2000000
#define STOP_POLL_SECONDS 0.1
/* How often the node's records are written out. */
#define FLUSH_NS 5000000000
/* What a command gets to end when it is told to. */
#define GRACE_NS 5000000000

struct hold {
    const char *directory;
    const struct tt_config *config;
    struct tt_perform_how how;
    int rank, size;
    struct tt_recorder *recorder;
    struct tt_counters *counters; /* of the first process on each node */
    int64_t start_ns, stop_ns, next_flush_ns;
    struct tt_control_listener listener;
    uint64_t rounds;
    char **words;
};

/* ---- before ---- */

static int wait_for_go(struct hold *h, struct tt_error *e)
{
    struct tt_control_listener listener = {0};
    int64_t go;
    int rc = tt_control_await_go(h->directory, &listener, &go, e);

    while (rc == TT_OK && go == 0) {
        if (tt_signal_wait(tt_seconds(GO_POLL_NS)))
            return tt_fail(e, TT_INTERRUPTED, "ended before it was started");
        rc = tt_control_await_go(h->directory, &listener, &go, e);
    }
    if (rc == TT_OK)
        tt_sleep_until(tt_now_ns() + (go - tt_wall_ns()));
    return rc;
}

/* Counters are of use, but no condition. */
static void watch_node(struct hold *h)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const int self = getpid();

    if (tt_launched_local_rank() == 0)
        tt_counters_start(h->directory, tt_config_opts(h->config, "counters"), 1, &self,
                          &h->counters, &ignored);
}

static int begin(struct hold *h, struct tt_error *e)
{
    struct tt_iteration_record before = {0};
    int rc = tt_recorder_open(h->directory,
                              &(struct tt_recorder_how){.rank = h->rank,
                                                        .size = h->size,
                                                        .writes = tt_launched_local_rank() == 0},
                              &h->recorder, e);

    if (rc == TT_OK && h->rank == 0)
        rc = tt_control_write(h->directory, TT_CONTROL_READY, tt_wall_ns(), e);
    if (rc == TT_OK && h->rank == 0 && !h->how.held)
        rc = tt_control_write(h->directory, TT_CONTROL_GO, tt_wall_ns(), e);
    if (rc == TT_OK)
        watch_node(h);
    if (rc == TT_OK)
        rc = wait_for_go(h, e);
    h->start_ns = tt_now_ns();
    if (rc == TT_OK) {
        before.start_ns = tt_recorder_header(h->recorder)->start_monotonic_ns - h->start_ns;
        before.span_ns = -before.start_ns;
        tt_recorder_iteration(h->recorder, &before);
    }
    return rc;
}

/* ---- the command ---- */

static int fail_status(const struct hold *h, const struct tt_process *p, struct tt_error *e)
{
    if (p->status > 128)
        return tt_fail(e, TT_FAILED, "command '%s' was ended by signal %d (%s)", h->words[0],
                       p->status - 128, strsignal(p->status - 128));
    return tt_fail(e, TT_FAILED, "command '%s' ended with status %d; its words are in stderr",
                   h->words[0], p->status);
}

static void end_command(struct tt_process *p)
{
    int64_t deadline = tt_now_ns() + GRACE_NS;

    tt_process_terminate(p);
    while (!tt_process_poll(p)) {
        if (tt_now_ns() > deadline)
            tt_process_kill(p);
        tt_signal_wait(0.01);
    }
}

/* TT_STOPPED if the driver wants no more of it. */
static int heed_driver(struct hold *h, struct tt_error *e)
{
    int rc = h->how.loop ? tt_control_listen(h->directory, &h->listener) : TT_OK;

    return rc == TT_INTERRUPTED ? tt_fail(e, rc, "the driver of this run is gone") : rc;
}

static int run_once(struct hold *h, struct tt_error *e)
{
    const struct tt_process_spec spec = {.words = h->words};
    double limit = h->config->run->max_time;
    struct tt_process process;
    int rc = tt_process_start(&spec, &process, e);

    while (rc == TT_OK && !tt_process_poll(&process)) {
        if (tt_signal_wait(STOP_POLL_SECONDS))
            rc = tt_fail(e, TT_INTERRUPTED, "the command was told to end");
        else if (limit > 0 && tt_seconds(tt_now_ns() - h->start_ns) > limit)
            rc = tt_fail(e, TT_LIMIT, "stopped by --max-time %g s", limit);
        else
            rc = heed_driver(h, e);
        if (tt_now_ns() > h->next_flush_ns) {
            tt_recorder_flush(h->recorder, true);
            h->next_flush_ns = tt_now_ns() + FLUSH_NS;
        }
    }
    if (rc != TT_OK) {
        end_command(&process);
        return rc;
    }
    return process.status == 0 ? TT_OK : fail_status(h, &process, e);
}

static int run_command(struct hold *h, struct tt_error *e)
{
    int rc;

    do {
        struct tt_iteration_record round = {.iteration = ++h->rounds,
                                            .start_ns = tt_now_ns() - h->start_ns};

        rc = run_once(h, e);
        round.span_ns = tt_now_ns() - h->start_ns - round.start_ns;
        tt_recorder_iteration(h->recorder, &round);
        rc = rc == TT_OK ? heed_driver(h, e) : rc;
    } while (rc == TT_OK && h->how.loop);
    return rc == TT_STOPPED ? TT_OK : rc;
}

/* ---- after ---- */

static double cpu_seconds(const struct rusage *r)
{
    return (double)r->ru_utime.tv_sec + 1e-6 * (double)r->ru_utime.tv_usec +
           (double)r->ru_stime.tv_sec + 1e-6 * (double)r->ru_stime.tv_usec;
}

static void record_summary(struct hold *h, json_t *environment)
{
    struct rusage children;
    json_t *o;

    getrusage(RUSAGE_CHILDREN, &children);
    o = json_pack(
        "{s:{}, s:[], s:f, s:I, s:I, s:I, s:[i, i]}", "results", "warnings", "cpu_seconds",
        cpu_seconds(&children), "peak_memory", (json_int_t)children.ru_maxrss * 1024, "runtime_ns",
        (json_int_t)(h->stop_ns - h->start_ns), "files", (json_int_t)0, "library_bytes", 0, 0);
    if (o && environment && h->rank == 0)
        json_object_set(o, "environment", environment);
    if (o)
        tt_recorder_json(h->recorder, o);
    json_decref(o);
}

/* The command comes with the worker's words, not by its plan: a directory may be anybody's. */
int tt_worker_command(const struct tt_config *config, const char *directory,
                      struct tt_perform_how how, struct tt_command_line *out, struct tt_error *e)
{
    const struct tt_program_options *command = tt_config_opts(config, "command");
    char self[PATH_MAX] = "";
    int rc = tt_own_program(self, e);

    if (rc != TT_OK)
        return rc;
    tt_command_add_array(out,
                         (char *[]){self, command ? "hold" : "perform", (char *)directory, NULL});
    if (how.held)
        tt_command_add(out, "--held");
    if (how.loop)
        tt_command_add(out, "--loop");
    if (how.calibrate)
        tt_command_add(out, "--calibrate");
    if (how.new_dir)
        tt_command_add(out, "--new-dir");
    if (how.rows)
        tt_command_add(out, "--rows");
    if (!command) {
        tt_command_add(out, "--patience");
        tt_command_add(out, "%.17g", config->run->patience);
        tt_command_add(out, "--ranks");
        tt_command_add(out, "%llu", (unsigned long long)config->run->ranks);
    }
    if (!command &&
        (config->run->overlap != TT_OVERLAP_NONE || tt_stack_has_thread(&config->stack)))
        tt_command_add(out, "--overlap");
    if (config->run->module)
        tt_command_add_array(out, (char *[]){"--module", config->run->module, NULL});
    if (command) {
        tt_command_add(out, "--");
        tt_command_add_list(out, &command->words);
    }
    return tt_command_check(out, e);
}

int tt_hold(const char *directory, const struct tt_config *config, struct tt_perform_how how,
            char **words, json_t *environment, struct tt_error *e)
{
    int size = tt_launched_size(), rc, closed;
    struct hold h = {.directory = directory,
                     .config = config,
                     .how = how,
                     .words = words,
                     .rank = tt_launched_rank(),
                     .size = size > 0 ? size : 1};
    struct tt_error later = TT_ERROR_CLEAR;

    tt_processes_begin();
    rc = begin(&h, e);
    if (rc == TT_OK)
        rc = run_command(&h, e);
    h.stop_ns = tt_now_ns();
    tt_counters_stop(h.counters);
    if (h.recorder) {
        record_summary(&h, environment);
        closed = tt_recorder_close(h.recorder, rc == TT_OK ? TT_RANK_DONE : TT_RANK_FAILED, &later);
        rc = rc == TT_OK ? closed : rc;
    }
    if (h.rank == 0 || rc != TT_OK)
        tt_outcome_write(directory, rc, e->code != TT_OK ? e : &later, &later);
    tt_processes_end();
    return rc;
}
