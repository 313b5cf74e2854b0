/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/json.h"
#include "base/note.h"
#include "base/yield.h"
#include "engine/guard.h"
#include "engine/private.h"
#include "engine/spot_check.h"
#include "engine/stripe.h"
#include "io/layers/verify/check.h"
#include "plan/directory.h"
#include "plan/workload.h"
#include "record/trace.h"

/* ---- preparation ---- */

/* Asynchrony needs MPI from two threads wherever a backend or its library uses MPI itself. */
static int check_thread_level(const struct tt_config *config, int level, struct tt_error *e)
{
    if (level == MPI_THREAD_MULTIPLE)
        return TT_OK;
    if (tt_stack_has_thread(&config->stack))
        return tt_fail(e, TT_FAILED,
                       "a layer needs MPI_THREAD_MULTIPLE for its thread, which this MPI does not "
                       "give; use --layers without it, or another MPI");
    if (config->run->overlap == TT_OVERLAP_NONE)
        return TT_OK;
    return tt_fail(e, TT_FAILED,
                   "overlap needs MPI_THREAD_MULTIPLE, which this MPI does not give; use "
                   "--mode sync or another MPI");
}

static int open_progress(struct tt_engine *engine, struct tt_error *e)
{
    char *path = tt_directory_path(engine->p->directory, "progress");

    if (!path)
        return tt_fail_nomem(e, "a path");
    engine->p->progress_fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    free(path);
    return engine->p->progress_fd < 0 ? tt_fail_call(e, errno, "open", engine->p->directory, -1)
                                      : TT_OK;
}

static void begin_helper(void)
{
    tt_note_as_helper();
    tt_yield_as_helper();
}

static int prepare_here(struct tt_engine *engine, int thread_level, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    int rc = check_thread_level(engine->config, thread_level, e);

    if (rc == TT_OK)
        rc = tt_recorder_open(p->directory,
                              &(struct tt_recorder_how){.rank = engine->rank,
                                                        .size = engine->size,
                                                        .writes = p->node_rank == 0},
                              &p->recorder, e);
    p->collective = tt_config_opts(engine->config, "collective");
    p->calls = calloc(TT_NCALLS, sizeof *p->calls);
    p->results = json_object();
    p->tables = json_object();
    p->warnings = json_array();
    p->facts = json_array();
    if (asprintf(&p->data_directory, "%s/tutti-%s", engine->config->run->dir,
                 tt_directory_id(p->directory)) < 0)
        p->data_directory = NULL;
    if (!p->calls || !p->results || !p->tables || !p->warnings || !p->facts || !p->data_directory)
        rc = tt_fail_nomem(e, "the engine");
    p->data = (struct tt_made){.kind = TT_MADE_DIRECTORY, .path = p->data_directory};
    if (engine->rank != 0 && p->data_directory) /* rank 0 will know more of it */
        p->owner.data = &p->data;
    if (rc == TT_OK && engine->rank == 0 && p->how.new_dir)
        rc = tt__data_adopt_dir(engine, e);
    if (rc == TT_OK && engine->rank == 0)
        rc = tt_stack_caps(&p->stack) & TT_CAP_STORES ? tt__data_make_directory(engine, e) : TT_OK;
    if (rc == TT_OK && p->node_rank == 0)
        rc = tt__data_make_caches(engine, e);
    if (rc == TT_OK && engine->rank == 0)
        rc = open_progress(engine, e);
    if (rc == TT_OK && engine->config->run->overlap != TT_OVERLAP_NONE)
        rc = tt_pool_start(&p->helper, 1, begin_helper, e);
    return rc;
}

static int claim_probe(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    struct tt_target target;
    int rc = tt_stack_target_at(&engine->p->stack, path, &target, e);

    if (rc == TT_OK)
        rc = tt__data_claim_target(engine, &target, e);
    tt_target_free(&target);
    return rc;
}

/* The probe removes a file, but not a directory. What cannot be removed goes with the others. */
static void leave_probe(struct tt_engine *engine, const char *path)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        tt_data_remove(engine, path, &ignored);
    else if (access(path, F_OK) != 0)
        tt_data_leave(engine, path);
}

/* Both shapes are probed before the measured time; which one a series has is known at its first
 * dump. A sync in the background needs the helper anyway. So does one shape of two if the library
 * lets only one thread in, and data of a device: whoever submits it waits until it has arrived. */
static int probe(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    int sync = engine->config->run->sync;
    char *path;
    int rc = TT_OK;

    if (!p->helper || engine->device || sync == TT_SYNC_BACKGROUND || sync == TT_SYNC_DUMP ||
        sync == TT_SYNC_WRITE || !tt_stack_most_submitted(&p->stack) || p->stack.n > 1)
        return TT_OK;
    for (int contiguous = 0; contiguous < 2 && rc == TT_OK; contiguous++) {
        path = tt_data_path(engine, contiguous ? "probe-contiguous" : "probe-scattered");
        rc = path ? TT_OK : tt_fail_nomem(e, "a path");
        if (rc == TT_OK && engine->rank == 0)
            rc = claim_probe(engine, path, e);
        rc = tt_agree(engine->comm, rc, e);
        if (rc == TT_OK)
            rc = tt_probe_native(&p->stack, engine->comm, path, contiguous, &p->probes[contiguous],
                                 e);
        if (path && engine->rank == 0)
            leave_probe(engine, path);
        p->nfiles = 0;
        free(path);
    }
    if (tt_stack_caps(&p->stack) & TT_CAP_ONE_THREAD &&
        !(p->probes[0].native && p->probes[1].native))
        p->probes[0].native = p->probes[1].native = false;
    p->may_be_native = rc == TT_OK;
    return rc;
}

/* ---- what is left behind ---- */

static int64_t peak_memory(void)
{
    struct rusage self;

    getrusage(RUSAGE_SELF, &self);
    return (int64_t)self.ru_maxrss * 1024;
}

static json_t *overlap_summary(const struct tt_engine_private *p)
{
    json_t *o = json_object();

    json_object_set_new(o, "how",
                        json_string(p->overlap_way ? p->overlap_way : "no dump was made"));
    if (p->overlap_executor)
        json_object_set_new(o, "executor", json_string(p->overlap_executor));
    if (p->choices)
        json_object_set(o, "auto", p->choices);
    if (p->transfers_way[0])
        json_object_set_new(o, "transfers", json_string(p->transfers_way));
    if (p->may_be_native) {
        json_object_set_new(o, "probe_contiguous", json_string(p->probes[1].text));
        json_object_set_new(o, "probe_scattered", json_string(p->probes[0].text));
    }
    return o;
}

static int name_helper(void *unused, struct tt_error *e)
{
    (void)unused;
    (void)e;
    tt_trace_name("helper");
    return TT_OK;
}

static int begin_trace(struct tt_engine_private *p, struct tt_error *e)
{
    int rc = tt_trace_begin(e);

    return rc == TT_OK && p->helper ? tt_pool_call(p->helper, name_helper, NULL, e) : rc;
}

/* All threads are at rest. */
static void record_trace(struct tt_engine *engine, json_t *summary)
{
    struct tt_engine_private *p = engine->p;
    json_t *trace = tt_trace_summary();

    if (!trace)
        return;
    if (tt_number_of(trace, "dropped") > 0)
        tt_warning(engine, "the trace is not whole: a rank had more spans than 8 MiB hold, and the "
                           "later ones were dropped; trace a shorter run");
    json_object_set_new(summary, "trace", trace);
    tt_trace_end(p->start_ns ? p->start_ns : tt_recorder_header(p->recorder)->start_monotonic_ns,
                 tt_recorder_spans, p->recorder);
}

/* Six numbers for each layer, the order of which analysis/result.c knows: its own time and CPU time
 * in nanoseconds, bytes that came to it, and bytes that it passed on, to be written and read. */
static json_t *layer_costs(const struct tt_engine_private *p)
{
    json_t *costs = json_array();

    for (unsigned i = 0; i + 1 < p->stack.n; i++) {
        const struct tt_cost *c = &p->costs[i], *below = c + 1;

        json_array_append_new(costs, json_integer(c->ns + c->beside_ns - below->ns));
        json_array_append_new(costs, json_integer(c->cpu_ns - below->cpu_ns + c->threads_ns));
        for (int d = TT_WRITING; d <= TT_READING; d++) {
            json_array_append_new(costs, json_integer((json_int_t)c->bytes[d]));
            json_array_append_new(costs, json_integer((json_int_t)below->bytes[d]));
        }
    }
    return costs;
}

static void record_summary(struct tt_engine *engine, const struct tt_verify_report *verified,
                           json_t *environment)
{
    struct tt_engine_private *p = engine->p;
    json_t *o = json_pack(
        "{s:O, s:O, s:f, s:I, s:I, s:I, s:[I, I]}", "results", p->results, "warnings", p->warnings,
        "cpu_seconds", p->cpu.own, "peak_memory", (json_int_t)peak_memory(), "runtime_ns",
        (json_int_t)(p->stop_ns - p->start_ns - p->unmeasured_ns), "files", (json_int_t)p->nfiles,
        "library_bytes", (json_int_t)p->library_bytes[0], (json_int_t)p->library_bytes[1]);

    json_object_set_new(o, "span_ns", json_integer(p->stop_ns - p->start_ns));
    if (p->stack.n > 1)
        json_object_set_new(o, "layer_costs", layer_costs(p));
    if (p->passes.iterations > 0)
        json_object_set_new(o, "passes",
                            json_pack("{s:f, s:I}", "seconds", tt_seconds(p->passes.ns),
                                      "iterations", (json_int_t)p->passes.iterations));
    if (isfinite(p->cpu.waiting) && isfinite(p->cpu.node)) {
        json_object_set_new(o, "cpu_waiting_seconds", json_real(p->cpu.waiting));
        json_object_set_new(o, "node_cpu_seconds", json_real(p->cpu.node));
    }
    json_object_set_new(
        o, "clock",
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "offset_ns", (json_int_t)p->clocks[0].offset_ns,
                  "error_ns", (json_int_t)p->clocks[0].error_ns, "end_offset_ns",
                  (json_int_t)p->clocks[1].offset_ns, "end_error_ns",
                  (json_int_t)p->clocks[1].error_ns, "go_seen_ns", (json_int_t)p->go_seen_ns));
    if (verified)
        json_object_set_new(o, "verify",
                            json_pack("{s:I, s:I, s:I}", "blocks", (json_int_t)verified->blocks,
                                      "bytes", (json_int_t)verified->bytes, "wrong_blocks",
                                      (json_int_t)verified->wrong_blocks));
    if (engine->rank == 0) {
        json_object_set(o, "facts", p->facts);
        json_object_set(o, "tables", p->tables);
        json_object_set_new(o, "overlap", overlap_summary(p));
        json_object_set_new(o, "apart", json_boolean(p->apart));
        if (environment)
            json_object_set(o, "environment", environment);
    }
    json_object_set_new(o, "requests", tt__requests_json(p));
    record_trace(engine, o);
    if (p->striping)
        json_object_set(o, "striping", p->striping);
    tt_recorder_calls(p->recorder, p->calls);
    tt_recorder_timelines(p->recorder, p->timelines);
    tt_recorder_json(p->recorder, o);
    json_decref(o);
}

static bool has_layer(const struct tt_stack *stack, const char *name)
{
    for (unsigned i = 0; i + 1 < stack->n; i++)
        if (!strcmp(stack->elements[i]->name, name))
            return true;
    return false;
}

/* Read back outside the measured time: everything that the layer verify has seen, or the spot
 * checks; also of a run that a limit has ended. rc is how it went so far. */
static int verify(struct tt_engine *engine, int rc, struct tt_verify_report *report, bool *verified,
                  struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt_error why = TT_ERROR_CLEAR;
    int found = TT_OK;

    *verified = rc == TT_OK && p->verifies && (tt_stack_caps(&p->stack) & TT_CAP_STORES);
    if (*verified)
        found = tt_verify_directory(engine->comm, &p->stack, p->directory, NULL, report, &why);
    else if (rc == TT_OK || rc == TT_LIMIT)
        found = tt__spot_checks_verify(engine, &why);
    if (found == TT_OK)
        return rc;
    *e = why;
    return found;
}

int tt_outcome_write(const char *directory, int rc, const struct tt_error *why, struct tt_error *e)
{
    static const char *const names[] = {[-TT_LIMIT] = "stopped", [-TT_INTERRUPTED] = "interrupted"};
    char text[1024] = "";
    const char *known = -rc < (int)(sizeof names / sizeof *names) ? names[-rc] : NULL;
    const char *status = rc == TT_OK ? "done" : known ? known : "failed";
    json_t *o;

    if (rc != TT_OK)
        tt_error_format(why, text, sizeof text);
    o = json_pack("{s:s, s:s?, s:i}", "status", status, "error", rc == TT_OK ? NULL : text, "code",
                  rc);
    rc = tt_directory_write_json(directory, "outcome.json", o, e);
    json_decref(o);
    return rc;
}

/* What is left alone is told besides why the run failed. */
static void say_also(struct tt_error *e, const struct tt_error *also)
{
    size_t n = strlen(e->text);
    char text[sizeof e->text];

    tt_error_format(also, text, sizeof text);
    snprintf(e->text + n, sizeof e->text - n, "%s%s", n ? "; " : "", text);
}

static void free_private(struct tt_engine_private *p)
{
    tt_pool_stop(p->helper);
    if (p->watch_comm != MPI_COMM_NULL)
        MPI_Comm_free(&p->watch_comm);
    if (p->progress_fd >= 0)
        close(p->progress_fd);
    for (struct tt_made_file *f = p->made, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    tt__shared_forget(p);
    tt_trace_end(0, NULL, NULL); /* of a run that wrote no records */
    free(p->calls);
    tt__requests_free(p);
    json_decref(p->striping);
    free(p->data_directory);
    free(p->filler);
    json_decref(p->results);
    json_decref(p->tables);
    json_decref(p->warnings);
    json_decref(p->facts);
    json_decref(p->choices);
}

/* Once, or again and again until told to stop, which is no failure. Every pass replaces the files
 * of the one before. */
static int play_workload(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    int rc;

    do {
        rc = tt_agree(engine->comm, engine->config->workload->run(engine, e), e);
        p->played += p->last_iteration;
    } while (rc == TT_OK && p->how.loop);
    if (rc != TT_STOPPED)
        return rc;
    tt_error_clear(e);
    return TT_OK;
}

/* Prepare, run, verify: the part during which a signal saves the records. */
static int play(struct tt_engine *engine, int thread_level, json_t *environment, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt_verify_report report = {0};
    bool verified = false;
    int rc = tt_agree(engine->comm, prepare_here(engine, thread_level, e), e);

    if (p->recorder)
        tt__signals_install(engine);
    if (rc == TT_OK)
        rc = tt__device_prepare(engine, e);
    if (rc == TT_OK)
        rc = tt__shared_check_own(engine, e);
    if (rc == TT_OK)
        rc = tt_stripe_apply(engine, environment, e);
    if (rc == TT_OK)
        rc = probe(engine, e);
    if (rc == TT_OK && engine->config->run->trace)
        rc = tt_agree(engine->comm, begin_trace(p, e), e);
    if (rc == TT_OK)
        rc = play_workload(engine, e);
    tt__engine_stop_clock(engine);
    if (p->stop_ns != 0)
        tt_iteration_end(engine); /* what came after the end, such as closing files */
    tt_counters_stop(p->counters);
    p->counters = NULL;
    if (rc == TT_OK && p->start_ns != 0)
        p->clocks[1] = tt__clock_measure(engine);
    tt_stripe_look(engine, environment);
    rc = verify(engine, rc, &report, &verified, e);
    if (p->recorder && p->calls && p->results)
        record_summary(engine, verified ? &report : NULL, environment);
    tt__signals_restore();
    return rc;
}

/* Removes what is not kept and writes the outcome, which ranks agree on. rc is how it went. */
static int leave(struct tt_engine *engine, MPI_Comm comm, int rc, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    bool keep = engine->config->run->keep;
    struct tt_error later = TT_ERROR_CLEAR;
    char why[512];
    int now;

    tt_note_begin(TT_DOING_REMOVE,
                  tt_note_file(p->data_directory ? p->data_directory : p->directory));
    now = tt__data_remove_caches(engine, keep, &later);
    if (rc == TT_OK && now != TT_OK)
        *e = later;
    rc = rc == TT_OK ? now : rc;
    tt_error_clear(&later);
    if (!keep)
        tt__data_remove_own(engine);
    /* The outcome is that of all ranks, and directories are empty only when all have removed. */
    rc = tt_agree(comm, rc, e);
    if (engine->rank == 0 && !keep) {
        now = tt_manifest_remove(p->directory, &later);
        if (now != TT_OK)
            later.rank = 0;
        if (rc != TT_OK && now != TT_OK)
            say_also(e, &later);
        rc = rc == TT_OK ? now : rc;
    }
    /* This rank may have been stopped for so long that the others have given it up meanwhile. */
    if (engine->rank == 0 && rc == TT_OK && tt_directory_has(p->directory, "failure"))
        rc = tt_directory_read_failure(p->directory, why, sizeof why)
                 ? tt_fail(&later, TT_FAILED, "%s", why)
                 : tt_fail(&later, TT_FAILED, "the other ranks gave up on rank 0");
    if (engine->rank == 0) {
        now = tt_outcome_write(p->directory, rc, e->code != TT_OK ? e : &later, &later);
        rc = rc == TT_OK ? now : rc;
    }
    if (rc != TT_OK && e->code == TT_OK)
        *e = later;
    rc = tt_agree(comm, rc, e);
    if (engine->rank == 0 && p->owner.data)
        tt_remove_made(&p->owner, p->owner.data); /* only if it is empty: kept files stay */
    return rc;
}

/* rc is how it went so far. */
static int close_records(struct tt_engine_private *p, enum tt_rank_state state, int rc,
                         struct tt_error *e)
{
    struct tt_error later = TT_ERROR_CLEAR;
    int closed = tt_recorder_close(p->recorder, state, &later);

    if (rc != TT_OK || closed == TT_OK)
        return rc;
    *e = later;
    return closed;
}

int tt_perform(MPI_Comm comm, int thread_level, const char *directory,
               const struct tt_config *config, struct tt_perform_how how, json_t *environment,
               struct tt_error *e)
{
    struct tt_engine_private p = {
        .directory = directory,
        .how = how,
        .stack = config->stack,
        .owner = {.id = tt_directory_id(directory), .place = tt_place_here(), .config = config},
        .progress_fd = -1,
        .watch_comm = MPI_COMM_NULL};
    struct tt_engine engine = {.config = config, .p = &p};
    enum tt_rank_state state;
    uint64_t before;
    int rc;

    p.stack.seed = config->run->seed;
    p.stack.directory = directory;
    p.verifies = has_layer(&p.stack, "verify");
    MPI_Comm_dup(comm, &engine.comm);
    MPI_Comm_rank(comm, &engine.rank);
    MPI_Comm_size(comm, &engine.size);
    tt__node_meet(&engine);
    tt_guard_directory(directory, engine.rank, engine.size);
    tt_manifest_write_as(p.node_first);
    tt_guard_limits(config->run->patience, config->run->max_time);
    tt_guard_enter(TT_GUARD_OUTSIDE);
    before = tt_note_begin(TT_DOING_WORK, 0);
    rc = play(&engine, thread_level, environment, e);
    state = rc == TT_OK ? TT_RANK_DONE : TT_RANK_FAILED;
    if (p.node_rank > 0)
        rc = close_records(&p, state, rc, e);
    rc = tt_agree(comm, rc, e);
    if (p.node_rank == 0) /* last, since it writes what all have left */
        rc = close_records(&p, state, rc, e);
    rc = tt_agree(comm, rc, e);
    tt_guard_agreed();
    rc = leave(&engine, comm, rc, e);
    tt__spot_checks_free(&engine);
    tt__stream_forget(&p);
    tt_device_close(engine.device);
    free_private(&p);
    MPI_Comm_free(&p.node);
    MPI_Comm_free(&engine.comm);
    if (rc == TT_OK && engine.rank == 0)
        tt_guard_forget();
    tt_note_end(before);
    return rc;
}
