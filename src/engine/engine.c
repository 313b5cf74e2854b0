/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/engine.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "base/note.h"
#include "engine/guard.h"
#include "engine/private.h"
#include "plan/control.h"

/* Time between looks at the clock of rank 0, for --max-time and the progress display. */
#define CHECK_SECONDS 0.2
/* All ranks have heard of the start before it comes. */
#define START_DELAY_NS 5000000
/* How soon the driver's go is seen. */
#define GO_POLL_NS 2000000

void tt__phase_add_ns(struct tt_engine *engine, enum tt_phase phase, int64_t ns)
{
    engine->p->now.phase_ns[phase] += (uint64_t)ns;
    engine->p->total_ns[phase] += (uint64_t)ns;
}

void tt_phase_add(struct tt_engine *engine, enum tt_phase phase, int64_t since_ns)
{
    tt__phase_add_ns(engine, phase, tt_now_ns() - since_ns);
}

void tt_call_add(struct tt_engine *engine, enum tt_phase phase, enum tt_call call, int64_t since_ns)
{
    int64_t ns = tt_now_ns() - since_ns;

    tt__phase_add_ns(engine, phase, ns);
    tt_histogram_add(&engine->p->calls[call], ns);
}

double tt_phase_seconds(const struct tt_engine *engine, enum tt_phase phase)
{
    return tt_seconds((int64_t)engine->p->total_ns[phase]);
}

void tt_count_communicated(struct tt_engine *engine, uint64_t bytes)
{
    engine->p->now.bytes_communicated += bytes;
}

void tt_count_read(struct tt_engine *engine, uint64_t bytes)
{
    engine->p->now.bytes_read += bytes;
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
    uint64_t sum = r->iteration + r->bytes_written + r->bytes_read + r->bytes_communicated;

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
    struct tt_iteration_record last = p->now;
    int64_t now = tt_now_ns() - p->start_ns;

    memset(&p->now, 0, sizeof p->now); /* first: a signal in the middle must not count it twice */
    p->now.iteration = iteration;
    p->now.start_ns = now;
    last.span_ns = now - last.start_ns;
    if (!has_happened(&last)) {
        p->unnamed_ns += last.span_ns;
        return;
    }
    last.phase_ns[TT_OTHER] = rest_of(p, &last);
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

/* Rank 0 says when; the wall clock, so that jobs on other nodes can share the instant. The others
 * sleep while they wait: other jobs may be at work. */
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
        } else if (rc == TT_OK) {
            go = tt_wall_ns() + START_DELAY_NS;
            rc = tt_control_write(directory, TT_CONTROL_GO, go, e);
        }
    }
    rc = tt_agree_patiently(engine->comm, rc, e);
    MPI_Bcast(&go, 1, MPI_INT64_T, 0, engine->comm);
    if (rc == TT_OK) /* not before: others are measured while this run is held */
        rc = tt_agree(engine->comm, tt__monitor_start(engine, e), e);
    tt_sleep_until(tt_now_ns() + (go - tt_wall_ns()));
    return rc;
}

static void meet(const struct tt_engine *engine)
{
    uint64_t before = tt_note_waiting(TT_DOING_AGREE);

    MPI_Barrier(engine->comm);
    tt_note_end(before);
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
    rc = wait_for_start(engine, e);
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
        double per_check = CHECK_SECONDS * (double)(iteration - 1) / (seconds > 0 ? seconds : 1e-9);

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

void tt__engine_stop_clock(struct tt_engine *engine)
{
    struct tt_engine_private *p = engine->p;

    if (p->start_ns == 0 || p->stop_ns != 0)
        return;
    tt_guard_enter(TT_GUARD_OUTSIDE);
    tt_unmeasured_end(engine);
    p->stop_ns = tt_now_ns();
    p->cpu = tt_cpu_since(p->cpu);
    tt__monitor_stop(engine);
    next_record(engine, 0);
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
    int64_t began_ns;
    struct tt_cpu_time cpu;
    int64_t step_files_ns;
    uint64_t total_ns[TT_NPHASES];
    struct tt_histogram calls[TT_NCALLS];
};

int tt_unmeasured_begin(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt__unmeasured *before = malloc(sizeof *before);

    if (!before)
        return tt_fail_nomem(e, "the accounts of a run");
    next_record(engine, 0);
    before->cpu = tt_cpu_now();
    before->step_files_ns = p->step_files_ns;
    memcpy(before->total_ns, p->total_ns, sizeof p->total_ns);
    memcpy(before->calls, p->calls, sizeof before->calls);
    before->began_ns = tt_now_ns();
    p->unmeasured = before;
    return TT_OK;
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
    memset(&p->now, 0, sizeof p->now);
    p->now.start_ns = tt_now_ns() - p->start_ns;
    p->unmeasured_ns += tt_now_ns() - before->began_ns;
    p->unmeasured = NULL;
    free(before);
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

void tt_warning(struct tt_engine *engine, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_array_append_new(engine->p->warnings, json_string(text));
}
