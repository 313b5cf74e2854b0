/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overlap and sync, written once for all workloads and backends. A dump becomes a flight: its
 * blocks padded so that every rank makes the same calls, copied to a staging buffer if it overlaps,
 * then run by the caller, by the helper thread, or by the backend's own nonblocking calls. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/agree.h"
#include "engine/flight.h"

static const char *const way_names[] = {"none: the caller writes", "helper thread",
                                        "native nonblocking calls"};

static struct tt_pool *helper_of(const struct tt_series *s)
{
    return s->way == TT__NATIVE ? NULL : s->engine->p->helper;
}

/* Once, at the first dump: is this shape of selection one for which nonblocking calls overlap? */
static void choose_way(struct tt_series *s, const struct tt__flight *f)
{
    struct tt_engine_private *p = s->engine->p;
    int contiguous = 1, all;
    struct tt_run run;

    s->way_chosen = true;
    s->way = p->helper ? TT__HELPER : TT__DIRECT;
    if (p->may_be_native) {
        for (unsigned i = 0; i < f->nblocks; i++)
            contiguous = contiguous && tt_selection_is_contiguous(&f->blocks[i].file, &run);
        MPI_Allreduce(&contiguous, &all, 1, MPI_INT, MPI_LAND, s->comm);
        if (p->probes[all].native)
            s->way = TT__NATIVE;
    }
    s->file_spec.in_helper = s->way == TT__HELPER;
    p->overlap_way = way_names[s->way];
}

/* ---- the workload's calls ---- */

static void free_series(struct tt_series *s)
{
    for (unsigned i = 0; s->flights && i < s->depth; i++)
        tt__flight_free(&s->flights[i]);
    tt__flight_free(&s->prefetch);
    free(s->flights);
    free(s->path);
    if (s->comm != MPI_COMM_NULL)
        MPI_Comm_free(&s->comm);
    if (s->file_comm != MPI_COMM_NULL)
        MPI_Comm_free(&s->file_comm);
    free(s);
}

static int check_variables(const struct tt_series_spec *spec, struct tt_error *e)
{
    for (unsigned v = 0; v < spec->nvariables; v++) {
        const struct tt_variable *x = &spec->variables[v];
        uint64_t bytes = x->element->size;

        for (int d = 0; d < x->ndims; d++)
            if (__builtin_mul_overflow(bytes, x->dims[d], &bytes) ||
                bytes > (uint64_t)INT64_MAX / 2)
                return tt_fail(e, TT_USAGE, "variable '%s' is larger than any file can be",
                               x->path);
    }
    return TT_OK;
}

static char *series_path(const struct tt_series_spec *spec, int rank)
{
    const char *suffix = spec->suffix ? spec->suffix : "";
    char *path;
    bool numbered = spec->per_process && !spec->own_path;
    int n = numbered ? asprintf(&path, "%s_l%d%s", spec->path, rank, suffix)
                     : asprintf(&path, "%s%s", spec->path, suffix);

    return n < 0 ? NULL : path;
}

static int allocate_series(struct tt_engine *engine, const struct tt_series_spec *spec,
                           struct tt_series **out, struct tt_error *e)
{
    struct tt_series *s = calloc(1, sizeof *s);

    *out = s;
    if (!s)
        return tt_fail_nomem(e, "a series");
    s->comm = s->file_comm = MPI_COMM_NULL;
    s->engine = engine;
    s->spec = *spec;
    s->depth = tt_dumps_in_flight(engine);
    for (unsigned v = 0; v < spec->nvariables; v++)
        s->slots += tt__variable_slots(&spec->variables[v]);
    s->flights = calloc(s->depth, sizeof *s->flights);
    s->path = series_path(spec, engine->rank);
    if (!s->flights || !s->path)
        return tt_fail_nomem(e, "a series");
    for (unsigned i = 0; i < s->depth; i++)
        if (tt__flight_allocate(s, &s->flights[i]) != TT_OK)
            return tt_fail_nomem(e, "dumps in flight");
    if (tt__flight_allocate(s, &s->prefetch) != TT_OK)
        return tt_fail_nomem(e, "a prefetch");
    return check_variables(spec, e);
}

/* A file that will not be there when the new one is made is the room of its own successor; a shared
 * one counts in parts. */
static uint64_t bytes_replaced(const struct tt_series *s, uint64_t step)
{
    uint64_t ranks = s->spec.per_process ? 1 : (uint64_t)s->engine->size;
    char path[4096];
    struct stat st;

    snprintf(path, sizeof path, TT__STEP_PATH, s->path, (unsigned long long)step);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size / ranks : 0;
}

int tt_series_open(struct tt_engine *engine, const struct tt_series_spec *spec,
                   struct tt_series **out, struct tt_error *e)
{
    struct tt_series *s = NULL;
    struct stat st;
    int64_t t = tt_now_ns();
    int rc = tt_agree(engine->comm, allocate_series(engine, spec, &s, e), e);

    *out = NULL;
    if (rc != TT_OK) {
        if (s)
            free_series(s);
        return rc;
    }
    if (engine->size > 1 && !spec->per_process && spec->access == TT_CREATE &&
        (tt_stack_caps(&engine->p->stack) & TT_CAP_STORES))
        rc = tt_shared_check(engine, s->path, e);
    if (rc != TT_OK) {
        free_series(s);
        return rc;
    }
    MPI_Comm_dup(engine->comm, &s->comm);
    MPI_Comm_dup(spec->per_process ? MPI_COMM_SELF : engine->comm, &s->file_comm);
    s->file_spec = (struct tt_file_spec){
        .path = s->path,
        .comm = s->file_comm,
        .access = spec->access,
        .policy = spec->policy == TT_FILE_PER_STEP ? TT_OVERWRITE : spec->policy,
        .steps = spec->policy == TT_FILE_PER_STEP ? 1 : spec->steps,
        .step_group = spec->step_group,
        .in_helper = engine->p->helper && !engine->p->may_be_native,
        .independent = spec->independent,
        .nvariables = spec->nvariables,
        .variables = spec->variables,
    };
    if (spec->access == TT_UPDATE && stat(s->path, &st) == 0)
        s->there = (uint64_t)st.st_size;
    s->replaces =
        spec->policy == TT_FILE_PER_STEP && spec->access == TT_CREATE && bytes_replaced(s, 0) > 0;
    if (spec->policy != TT_FILE_PER_STEP) {
        s->sample = tt__sample_begin(engine, &s->file_spec);
        rc = tt_pool_call(engine->p->helper, tt__run_open, s, e);
    }
    tt_phase_add(engine, TT_OPEN, t);
    if (rc != TT_OK) {
        tt__sample_settle(s->sample);
        free_series(s);
    } else {
        *out = s;
    }
    return rc;
}

uint64_t tt_series_growth(const struct tt_series *s, uint64_t step, uint64_t bytes)
{
    uint64_t before = 0;

    if (s->spec.access == TT_UPDATE)
        return tt_raw_size(&s->file_spec, s->spec.steps, 1) > s->there ? bytes : 0;
    if (s->spec.policy == TT_OVERWRITE)
        return step == 0 ? bytes : 0;
    if (s->replaces)
        before = bytes_replaced(s, step);
    return bytes > before ? bytes - before : 0;
}

/* What may be changed as soon as the caller has its buffer back is looked at now. */
static void look_at_flight(struct tt__flight *f)
{
    struct tt_series *s = f->series;
    struct tt_file_spec own = s->file_spec;
    bool own_file = s->spec.policy == TT_FILE_PER_STEP;

    if (f->rc != TT_OK)
        return;
    own.path = f->path;
    if (own_file)
        f->sample = tt__sample_begin(s->engine, &own);
    tt__sample_dump(own_file ? f->sample : s->sample, own_file ? 0 : f->step, f->nblocks,
                    f->blocks);
}

static void start_flight(struct tt__flight *f)
{
    struct tt_series *s = f->series;
    struct tt_engine *engine = s->engine;
    int64_t t = tt_now_ns();

    f->job = (struct tt_task){.run = tt__run_dump, .argument = f};
    if (s->way == TT__DIRECT) {
        look_at_flight(f);
        t = tt_now_ns();
        tt_error_clear(&f->job.error);
        f->job.rc = tt__run_dump(f, &f->job.error);
        tt_phase_add_ns(engine, TT_SUBMIT, tt_now_ns() - t - f->open_ns - f->sync_ns);
        tt_phase_add_ns(engine, TT_OPEN, f->open_ns);
        tt_phase_add_ns(engine, TT_SYNC, f->sync_ns);
        return;
    }
    if (f->rc == TT_OK)
        f->rc = tt__flight_stage(f, &f->error);
    tt_phase_add(engine, TT_COPY, t);
    look_at_flight(f);
    t = f->submitted_ns = tt_now_ns();
    if (s->way == TT__HELPER) {
        tt_pool_submit(engine->p->helper, &f->job);
    } else {
        tt__flight_submit(f);
        tt_phase_add_ns(engine, TT_OPEN, f->open_ns);
        t += f->open_ns;
    }
    tt_call_add(engine, TT_SUBMIT, TT_CALL_SUBMIT, t);
}

int tt_series_dump(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e)
{
    struct tt_engine_private *p = s->engine->p;
    struct tt__flight *f;
    int rc = tt_series_complete(s, s->depth - 1, e);

    if (rc != TT_OK)
        return rc;
    f = &s->flights[(s->first + s->count++) % s->depth];
    tt__flight_fill(f, step, !s->fixed_written, nblocks, blocks);
    s->fixed_written = true;
    if (!s->way_chosen)
        choose_way(s, f);
    p->bytes_written += tt__flight_bytes(f);
    p->now.bytes_written += tt__flight_bytes(f);
    start_flight(f);
    if (s->way == TT__DIRECT && s->engine->config->run->sync != TT_SYNC_DEFERRED)
        rc = tt_series_complete(s, 0, e);
    return rc;
}

/* ---- completion ---- */

static int finish_writing(struct tt__flight *f, struct tt_error *e)
{
    struct tt_series *s = f->series;
    int64_t t = tt_now_ns();
    int rc;

    if (s->way == TT__DIRECT) {
        if (f->job.rc != TT_OK && e->code == TT_OK)
            *e = f->job.error;
        return f->job.rc;
    }
    rc = s->way == TT__NATIVE ? tt__flight_wait(f, e)
                              : tt_pool_wait(s->engine->p->helper, &f->job, e);
    tt_call_add(s->engine, TT_WAIT, TT_CALL_WAIT, t);
    return rc;
}

static void tell_times(const struct tt__flight *f)
{
    const struct tt_series_spec *spec = &f->series->spec;

    if (spec->times && f->step < spec->steps)
        spec->times[f->step] =
            (struct tt_step_times){f->open_ns, f->write_ns, f->sync_ns, f->read_ns};
}

/* The oldest flight: wait, sync if that was put off until now, close a file of its own. */
static int land(struct tt__flight *f, struct tt_error *e)
{
    struct tt_series *s = f->series;
    struct tt_engine *engine = s->engine;
    int rc = finish_writing(f, e), now;
    int64_t t = tt_now_ns();

    if (f->file && rc == TT_OK && engine->config->run->sync == TT_SYNC_DEFERRED) {
        rc = tt_pool_call(helper_of(s), tt__run_sync, f, e);
        tt_phase_add(engine, TT_SYNC, t);
    }
    s->failed = s->failed || rc != TT_OK;
    if (f->file && s->spec.policy == TT_FILE_PER_STEP) {
        int64_t before = f->sync_ns, close_ns;

        t = tt_now_ns();
        now = tt_pool_call(helper_of(s), tt__run_close, f, e);
        close_ns = tt_now_ns() - t - (f->sync_ns - before);
        tt_phase_add_ns(engine, TT_SYNC, f->sync_ns - before);
        tt_phase_add_ns(engine, TT_CLOSE, close_ns);
        engine->p->step_files_ns += f->open_ns + close_ns;
        rc = rc == TT_OK ? now : rc;
    }
    tt__sample_settle(f->sample);
    f->sample = NULL;
    tt_phase_add_ns(engine, TT_IO_WRITE, f->write_ns);
    tt_phase_add_ns(engine, TT_IO_DEFINE, f->define_ns);
    tt_phase_add_ns(engine, TT_IO_SYNC, f->sync_ns);
    tell_times(f);
    return rc;
}

int tt_series_complete(struct tt_series *s, unsigned left, struct tt_error *e)
{
    int rc = TT_OK;

    while (s->count > left) {
        int now = land(&s->flights[s->first], e);

        s->first = (s->first + 1) % s->depth;
        s->count--;
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

int tt_series_drain(struct tt_series *s, struct tt_error *e)
{
    struct tt__flight last = {.series = s, .file = s->file};
    int rc = tt_series_complete(s, 0, e);
    int64_t t = tt_now_ns();

    if (rc != TT_OK || !s->file || s->engine->config->run->sync != TT_SYNC_CLOSE)
        return rc;
    s->synced = true;
    rc = tt_pool_call(helper_of(s), tt__run_sync, &last, e);
    tt_phase_add(s->engine, TT_SYNC, t);
    tt_phase_add_ns(s->engine, TT_IO_SYNC, last.sync_ns);
    return rc;
}

/* ---- reading ---- */

static void prepare_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                         const struct tt_block *blocks)
{
    tt__flight_fill(&s->prefetch, step, true, nblocks, blocks);
    if (!tt_engine_is_over(s->engine))
        s->engine->p->now.bytes_read += tt__flight_bytes(&s->prefetch);
}

int tt_series_prefetch(struct tt_series *s, uint64_t step, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e)
{
    int rc;

    if (!helper_of(s) || s->prefetching)
        return TT_OK;
    rc = tt_series_complete(s, 0, e);
    if (rc != TT_OK)
        return rc;
    prepare_load(s, step, nblocks, blocks);
    s->prefetch_job = (struct tt_task){.run = tt__run_load, .argument = &s->prefetch};
    s->prefetching = true;
    tt_pool_submit(helper_of(s), &s->prefetch_job);
    return TT_OK;
}

/* Of a prefetch only the waiting falls into the main thread. */
static int finish_prefetch(struct tt_series *s, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = tt_pool_wait(helper_of(s), &s->prefetch_job, e);

    s->prefetching = false;
    tt_phase_add(s->engine, TT_LOAD, t);
    tt_phase_add_ns(s->engine, TT_IO_READ, s->prefetch.read_ns);
    tell_times(&s->prefetch);
    return rc;
}

int tt_series_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e)
{
    int64_t t;
    int rc = TT_OK;

    if (s->prefetching) {
        rc = finish_prefetch(s, e);
        if (rc != TT_OK || s->prefetch.step == step)
            return rc;
    }
    rc = tt_series_complete(s, 0, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    prepare_load(s, step, nblocks, blocks);
    rc = tt_pool_call(helper_of(s), tt__run_load, &s->prefetch, e);
    s->failed = s->failed || rc != TT_OK;
    if (!tt_engine_is_over(s->engine)) {
        tt_phase_add(s->engine, TT_LOAD, t);
        tt_phase_add_ns(s->engine, TT_IO_READ, s->prefetch.read_ns);
    }
    tell_times(&s->prefetch);
    return rc;
}

/* ---- the end ---- */

int tt_series_close(struct tt_series *s, struct tt_error *e)
{
    struct tt__flight last = {0};
    struct tt_engine *engine;
    int rc, now;
    int64_t t;

    if (!s)
        return TT_OK;
    engine = s->engine;
    rc = tt_series_complete(s, 0, e);
    if (s->prefetching) {
        now = finish_prefetch(s, e);
        rc = rc == TT_OK ? now : rc;
    }
    if (s->file) {
        last = (struct tt__flight){.series = s, .file = s->file, .path = s->path};
        t = tt_now_ns();
        now = tt_pool_call(helper_of(s), tt__run_close, &last, e);
        tt_phase_add_ns(engine, TT_CLOSE, tt_now_ns() - t - last.sync_ns);
        tt_phase_add_ns(engine, TT_SYNC, last.sync_ns);
        tt_phase_add_ns(engine, TT_IO_SYNC, last.sync_ns);
        rc = rc == TT_OK ? now : rc;
    }
    tt__sample_settle(s->sample);
    free_series(s);
    return rc;
}
