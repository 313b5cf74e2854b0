/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/engine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/note.h"
#include "engine/guard.h"
#include "engine/private.h"
#include "plan/control.h"
#include "plan/directory.h"
#include "record/trace.h"

/* Time between looks at the clock of rank 0, for --max-time and the progress display. */
#define CHECK_SECONDS 0.2
/* All ranks have heard of the start before it comes. */
#define START_DELAY_NS 5000000
/* The driver gives its word at most two seconds ahead (REMOTE_LEAD_NS in ensemble/trial.c). */
#define LONGEST_LEAD_NS 3000000000
/* How soon the driver's go is seen. */
#define GO_POLL_NS 2000000

int64_t tt_phase_add(struct tt_engine *engine, enum tt_phase phase, int64_t since_ns)
{
    int64_t now_ns = tt_now_ns();

    tt__phase_add_ns(engine, phase, now_ns - since_ns);
    if (tt_trace_wants(TT_TRACE_ALL) && tt_phase_is_main(phase))
        tt_trace_add(
            &(struct tt_span){.start_ns = since_ns, .end_ns = now_ns, .kind = (uint16_t)phase});
    return now_ns;
}

int64_t tt_call_add(struct tt_engine *engine, enum tt_phase phase, enum tt_call call,
                    int64_t since_ns)
{
    int64_t now_ns = tt_now_ns();

    tt__phase_add_ns(engine, phase, now_ns - since_ns);
    tt_histogram_add(&engine->p->calls[call], now_ns - since_ns);
    tt_trace_call(TT_TRACE_ALL, call, 0, since_ns, now_ns);
    return now_ns;
}

int64_t tt_passes_add(struct tt_engine *engine, int64_t since_ns)
{
    struct tt_engine_private *p = engine->p;
    uint64_t iteration = p->played + p->last_iteration;
    int64_t now_ns = tt_phase_add(engine, TT_COMPUTE, since_ns);

    p->passes.ns += now_ns - since_ns;
    p->passes.iterations += iteration != p->passes.last;
    p->passes.last = iteration;
    return now_ns;
}

double tt_phase_seconds(const struct tt_engine *engine, enum tt_phase phase)
{
    return tt_seconds((int64_t)engine->p->total_ns[phase]);
}

static void tally_all(const struct tt_engine *engine, int sign, struct tt_tally *tally)
{
    for (int p = 0; p < TT_NPHASES; p++)
        tally->spent[p] += sign * tt_phase_seconds(engine, (enum tt_phase)p);
    tally->observed += sign * tt_seconds(tt_now_ns() - engine->p->unmeasured_ns);
}

void tt_tally_begin(const struct tt_engine *engine, struct tt_tally *tally)
{
    tally_all(engine, -1, tally);
}

void tt_tally_end(const struct tt_engine *engine, struct tt_tally *tally)
{
    tally_all(engine, 1, tally);
}

void tt_count_communicated(struct tt_engine *engine, uint64_t bytes)
{
    engine->p->now.bytes_communicated += bytes;
}

void tt_count_read(struct tt_engine *engine, uint64_t bytes)
{
    engine->p->now.bytes_read += bytes;
}

void *tt_staging_allocate(struct tt_engine *engine, size_t bytes, struct tt_error *e)
{
    return engine->p->memory.allocate(&engine->p->memory, bytes, e);
}

void tt_staging_release(struct tt_engine *engine, void *data)
{
    engine->p->memory.release(&engine->p->memory, data);
}

void tt_count_staged(struct tt_engine *engine, uint64_t bytes, int64_t ns)
{
    tt__phase_add_ns(engine, TT_IO_STAGE, ns);
    engine->p->staging_ns += ns;
    engine->p->staged += bytes;
}

void tt_count_written(struct tt_engine *engine, uint64_t bytes)
{
    engine->p->now.bytes_written += bytes;
    engine->p->bytes_written += bytes;
}

void tt_count_file(struct tt_engine *engine)
{
    engine->p->nfiles++;
}

void tt_calls_merge(struct tt_engine *engine, enum tt_call call, const struct tt_histogram *seen)
{
    tt_histogram_merge(&engine->p->calls[call], seen);
}

static bool has_happened(const struct tt_iteration_record *r)
{
    uint64_t sum = r->bytes_written + r->bytes_read + r->bytes_communicated;

    if (r->iteration > 0)
        return true;
    for (int i = 0; i < TT_NPHASES; i++)
        sum += r->phase_ns[i];
    return sum > 0;
}

/* What no phase names of a record in the measured time. */
static uint64_t rest_of(const struct tt_engine_private *p, const struct tt_iteration_record *r)
{
    int64_t rest = r->span_ns + p->unnamed_ns;

    if (r->start_ns < 0 || (p->stop_ns && r->start_ns >= p->stop_ns - p->start_ns))
        return 0;
    for (int i = 0; i < TT_NPHASES; i++)
        if (tt_phase_is_main(i) && i != TT_OTHER)
            rest -= (int64_t)r->phase_ns[i];
    return rest > 0 ? (uint64_t)rest : 0;
}

/* Write out the current record, unless it is an empty one between iterations, and start the next,
 * to which the time of an empty one goes. */
static void next_record(struct tt_engine *engine, uint64_t iteration)
{
    struct tt_engine_private *p = engine->p;
    int64_t now = tt_now_ns() - p->start_ns;
    struct tt_iteration_record last;

    if (!has_happened(&p->now)) { /* so it is all zeros, as the next one begins */
        p->unnamed_ns += now - p->now.start_ns;
        p->now.start_ns = now;
        atomic_signal_fence(memory_order_seq_cst); /* from here on something has happened */
        p->now.iteration = iteration;
        return;
    }
    last = p->now;
    memset(&p->now, 0, sizeof p->now); /* first: a signal in the middle must not count it twice */
    p->now.iteration = iteration;
    p->now.start_ns = now;
    last.span_ns = now - last.start_ns;
    p->read_before += last.bytes_read;
    last.phase_ns[TT_OTHER] = rest_of(p, &last);
    if (p->unmeasured)
        last.iteration |= TT_ITERATION_EXCLUDED;
    p->unnamed_ns = 0;
    atomic_signal_fence(memory_order_seq_cst);
    tt_recorder_iteration(p->recorder, &last);
}

bool tt__record_so_far(const struct tt_engine *engine, struct tt_iteration_record *out)
{
    const struct tt_engine_private *p = engine->p;

    if (p->start_ns == 0 || p->stop_ns != 0 || p->unmeasured || !has_happened(&p->now))
        return false;
    *out = p->now;
    out->span_ns = tt_now_ns() - p->start_ns - out->start_ns;
    out->phase_ns[TT_OTHER] = rest_of(p, out);
    return true;
}

/* Until the driver has said when. */
static int wait_for_go(struct tt_engine *engine, int64_t *go, struct tt_error *e)
{
    struct tt_control_listener listener = {0};
    int rc = tt_control_await_go(engine->p->directory, &listener, go, e);

    while (rc == TT_OK && *go == 0) {
        tt_sleep_until(tt_now_ns() + GO_POLL_NS);
        rc = tt_control_await_go(engine->p->directory, &listener, go, e);
    }
    return rc;
}

/* Where all cores have just slept, the first transfers were seen to be slower than later ones. So a
 * job on its own stays awake; beside others, which may be at work, it sleeps. */
static void wait_until(int64_t at_ns, bool awake)
{
    while (awake && tt_now_ns() < at_ns)
        sched_yield();
    tt_sleep_until(at_ns);
}

/* Rank 0 says when; the wall clock, so that jobs on other nodes can share the instant. Clocks that
 * are apart are reckoned with: within the job by what was measured, and the driver's never makes
 * anybody wait longer than it means. */
static int wait_for_start(struct tt_engine *engine, struct tt_error *e)
{
    const char *directory = engine->p->directory;
    int64_t go = 0;
    int rc = TT_OK;

    if (engine->p->how.held)
        tt_guard_enter(TT_GUARD_HELD);
    if (engine->rank == 0) {
        rc = tt_control_write(directory, TT_CONTROL_READY, tt_wall_ns(), e);
        if (rc == TT_OK && engine->p->how.held) {
            rc = wait_for_go(engine, &go, e);
            engine->p->go_seen_ns = tt_wall_ns();
            if (go - engine->p->go_seen_ns > LONGEST_LEAD_NS)
                go = engine->p->go_seen_ns + LONGEST_LEAD_NS;
        } else if (rc == TT_OK) {
            go = tt_wall_ns() + START_DELAY_NS;
            rc = tt_control_write(directory, TT_CONTROL_GO, go, e);
        }
    }
    rc = engine->p->how.held ? tt_agree_patiently(engine->comm, rc, e)
                             : tt_agree(engine->comm, rc, e);
    MPI_Bcast(&go, 1, MPI_INT64_T, 0, engine->comm);
    if (rc == TT_OK) /* not before: others are measured while this run is held */
        rc = tt_agree(engine->comm, tt__monitor_start(engine, e), e);
    wait_until(tt_now_ns() + (go + engine->p->clocks[0].offset_ns - tt_wall_ns()),
               !engine->p->how.held);
    return rc;
}

static void meet(const struct tt_engine *engine)
{
    uint64_t before = tt_note_waiting(TT_DOING_AGREE);

    MPI_Barrier(engine->comm);
    tt_note_end(before);
}

static void time_device(struct tt_engine *engine, bool timed)
{
    if (engine->device)
        engine->device->timed = timed;
}

int tt_engine_start(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt_iteration_record before = p->now;
    int rc;

    if (p->start_ns != 0) { /* a later pass of a run that goes on until it is told to stop */
        meet(engine);
        return TT_OK;
    }
    tt__node_watch(engine);
    p->clocks[0] = tt__clock_measure(engine);
    rc = wait_for_start(engine, e);
    meet(engine);
    p->cpu = tt_cpu_now();
    tt_guard_enter(TT_GUARD_MEASURED);
    p->start_ns = tt_now_ns();
    before.start_ns = tt_recorder_header(p->recorder)->start_monotonic_ns - p->start_ns;
    before.span_ns = -before.start_ns;
    tt_recorder_iteration(p->recorder, &before);
    memset(&p->now, 0, sizeof p->now);
    p->unnamed_ns = 0;
    p->room = UINT64_MAX;
    p->next_check = 2;
    time_device(engine, true);
    return rc;
}

static int end_because(const struct tt_engine *engine, int reason, uint64_t iteration,
                       uint64_t total, struct tt_error *e)
{
    if (reason == TT_LIMIT)
        return tt_fail(e, TT_LIMIT, "stopped by --max-time %g s at iteration %llu of %llu",
                       engine->config->run->max_time, (unsigned long long)(iteration - 1),
                       (unsigned long long)total);
    if (reason == TT_INTERRUPTED)
        return tt_fail(e, TT_INTERRUPTED, "the driver of this run is gone");
    return tt_fail(e, TT_STOPPED, "told to stop");
}

/* Collective. What rank 0 sees on its clock holds for all. */
static int check_clock(struct tt_engine *engine, uint64_t iteration, uint64_t total,
                       struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    int64_t ns = tt_now_ns() - p->start_ns;
    double seconds = tt_seconds(ns);
    int64_t decision[3] = {TT_OK, 0, 0};

    if (engine->rank == 0) {
        double done = (double)(iteration - 1),
               per_check = CHECK_SECONDS * done / (seconds > 0 ? seconds : 1e-9);

        /* The first iterations may be much faster than those that write: of few nothing follows
         * for many. */
        per_check = per_check < done ? per_check : done;
        decision[0] = tt__reason_to_end(engine, seconds);
        decision[1] = (int64_t)iteration + (per_check < 1     ? 1
                                            : per_check > 1e9 ? 1000000000
                                                              : (int64_t)per_check);
        decision[2] = (int64_t)(tt__monitor_room(engine) / 2); /* halved, it has no sign */
        tt__monitor_tell(engine, iteration - 1, total, ns);
    }
    MPI_Bcast(decision, 3, MPI_INT64_T, 0, engine->comm);
    p->room = 2 * (uint64_t)decision[2];
    p->next_check = (uint64_t)decision[1];
    p->ended = decision[0] != TT_OK;
    return decision[0] ? end_because(engine, (int)decision[0], iteration, total, e) : TT_OK;
}

/* Iterations of a run that is run several times are counted through. */
int tt_iteration_begin(struct tt_engine *engine, uint64_t iteration, uint64_t total,
                       struct tt_error *e)
{
    int rc = TT_OK;

    engine->p->last_iteration = iteration;
    iteration += engine->p->played;
    if (iteration >= engine->p->next_check)
        rc = check_clock(engine, iteration, total, e);
    next_record(engine, iteration);
    return rc;
}

void tt_iteration_end(struct tt_engine *engine)
{
    next_record(engine, 0);
}

void tt_iterations_apart(struct tt_engine *engine)
{
    engine->p->apart = true;
}

void tt__engine_stop_clock(struct tt_engine *engine)
{
    struct tt_engine_private *p = engine->p;

    if (p->start_ns == 0 || p->stop_ns != 0)
        return;
    tt_guard_enter(TT_GUARD_OUTSIDE);
    tt_unmeasured_end(engine);
    p->stop_ns = tt_now_ns();
    time_device(engine, false);
    next_record(engine, 0);       /* at once: what follows is not of the run, and no phase of it */
    tt_trace_set(TT_TRACE_FILES); /* what is read from here on does not count */
    p->cpu = tt_cpu_since(p->cpu);
    tt__monitor_stop(engine);
    tt__device_report(engine);
}

int tt_engine_stop(struct tt_engine *engine, struct tt_error *e)
{
    (void)e;
    if (!engine->p->how.loop)
        tt__engine_stop_clock(engine);
    meet(engine);
    return TT_OK;
}

/* ---- what does not count ---- */

struct tt__unmeasured {
    bool is_baseline; /* its iterations are recorded, but marked */
    int64_t began_ns;
    struct tt_cpu_time cpu;
    int64_t step_files_ns, staging_ns, staged_out_ns, waited_ns;
    uint64_t staged;
    uint64_t total_ns[TT_NPHASES];
    struct tt_histogram calls[TT_NCALLS];
};

static void set_aside(struct tt_engine *engine, struct tt__unmeasured *before)
{
    struct tt_engine_private *p = engine->p;

    before->step_files_ns = p->step_files_ns;
    before->staging_ns = p->staging_ns;
    before->staged_out_ns = p->staged_out_ns;
    before->waited_ns = p->waited_ns;
    before->staged = p->staged;
    memcpy(before->total_ns, p->total_ns, sizeof p->total_ns);
    memcpy(before->calls, p->calls, sizeof before->calls);
    p->unmeasured = before;
}

int tt_unmeasured_begin(struct tt_engine *engine, struct tt_error *e)
{
    struct tt__unmeasured *before = malloc(sizeof *before);

    if (!before)
        return tt_fail_nomem(e, "the accounts of a run");
    next_record(engine, 0);
    before->is_baseline = false;
    before->began_ns = tt_now_ns();
    before->cpu = tt_cpu_now();
    set_aside(engine, before);
    time_device(engine, false);
    tt_trace_set(TT_TRACE_OFF);
    return TT_OK;
}

/* Each rank leaves the job that was asked for when it is there: a job without baselines would not
 * make it wait for the others. It waits as part of the baseline, which all begin together. */
int tt__baseline_begin(struct tt_engine *engine, struct tt_error *e)
{
    struct tt__unmeasured *before;
    struct tt_cpu_time cpu;
    int rc;

    next_record(engine, engine->p->now.iteration);
    cpu = tt_cpu_now(); /* from the same instant on */
    before = malloc(sizeof *before);
    rc = tt_agree_patiently(engine->comm,
                            before ? TT_OK : tt_fail_nomem(e, "the accounts of a run"), e);
    if (rc != TT_OK) {
        free(before);
        return rc;
    }
    before->is_baseline = true;
    before->cpu = cpu;
    before->began_ns = engine->p->start_ns + engine->p->now.start_ns;
    set_aside(engine, before);
    return TT_OK;
}

/* Asleep: a rank that has spun may have used up its time on the CPU when it goes on. */
int tt__baseline_end(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    int rc;

    if (!engine->p->unmeasured)
        return TT_OK;
    rc = tt_agree_patiently(engine->comm, TT_OK, &why);
    if (rc != TT_OK && e->code == TT_OK)
        *e = why;
    tt_unmeasured_end(engine);
    return rc;
}

void tt_unmeasured_end(struct tt_engine *engine)
{
    struct tt_engine_private *p = engine->p;
    struct tt__unmeasured *before = p->unmeasured;
    struct tt_cpu_time cpu;

    if (!before)
        return;
    cpu = tt_cpu_since(before->cpu);
    p->cpu.own += cpu.own;
    p->cpu.waiting += cpu.waiting;
    p->cpu.node += cpu.node;
    p->step_files_ns = before->step_files_ns;
    memcpy(p->total_ns, before->total_ns, sizeof p->total_ns);
    memcpy(p->calls, before->calls, sizeof before->calls);
    if (before->is_baseline) {
        next_record(engine, p->now.iteration);
    } else {
        memset(&p->now, 0, sizeof p->now);
        p->now.start_ns = tt_now_ns() - p->start_ns;
        p->staging_ns = before->staging_ns; /* copies of a baseline are like all others */
        p->staged_out_ns = before->staged_out_ns;
        p->waited_ns = before->waited_ns;
        p->staged = before->staged;
    }
    p->unmeasured_ns += p->start_ns + p->now.start_ns - before->began_ns;
    p->unmeasured = NULL;
    free(before);
    time_device(engine, true);
    tt_trace_set(TT_TRACE_ALL);
}

bool tt_engine_is_endless(const struct tt_engine *engine)
{
    return engine->p->how.loop;
}

/* Of several passes only the last one's sums would be known, but the runtime is that of all. */
static bool is_of_one_pass(const struct tt_engine_private *p)
{
    return p->how.loop && (p->played > 0 || !p->ended);
}

void tt_result(struct tt_engine *engine, const char *name, enum tt_result_kind kind, double value)
{
    if (kind == TT_RESULT_SUM && is_of_one_pass(engine->p))
        return;
    json_object_set_new(
        engine->p->results, name,
        json_pack("{s:f, s:s}", "value", value, "kind", kind == TT_RESULT_SUM ? "sum" : "same"));
}

void tt_result_table(struct tt_engine *engine, const char *name, unsigned rows, unsigned columns,
                     const double *values)
{
    json_t *table = json_array();

    for (unsigned i = 0; i < rows; i++) {
        json_t *row = json_array();

        for (unsigned j = 0; j < columns; j++)
            json_array_append_new(row, json_real(values[i * columns + j]));
        json_array_append_new(table, row);
    }
    json_object_set_new(engine->p->tables, name, table);
}

void tt_result_row(struct tt_engine *engine, unsigned columns, const double *row)
{
    const struct tt_perform_how *how = &engine->p->how;
    FILE *f = NULL;
    int fd;

    if (engine->rank != 0)
        return;
    if (how->rows_to)
        how->rows_to->take(how->rows_to->context, row, columns);
    if (!how->rows || (fd = tt_directory_open(engine->p->directory, TT_ROWS_FILE,
                                              O_CREAT | O_WRONLY | O_APPEND)) < 0)
        return; /* it is in the table, too */
    if (!(f = fdopen(fd, "a"))) {
        close(fd);
        return;
    }
    for (unsigned i = 0; i < columns; i++)
        fprintf(f, "%s%.17g", i ? " " : "", row[i]);
    fputc('\n', f);
    fclose(f);
}

void tt_warning(struct tt_engine *engine, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    json_array_append_new(engine->p->warnings, json_vsprintf(fmt, args));
    va_end(args);
}
