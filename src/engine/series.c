/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overlap and sync, written once for all workloads and backends. A dump becomes a flight: its
 * blocks padded so that every rank makes the same calls, copied to a staging buffer if it overlaps,
 * then run by the caller, by the helper thread, or by the backend's own nonblocking calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/private.h"

#define STEP_SUFFIX 24 /* "." and a 64-bit number */

enum way { DIRECT, HELPER, NATIVE };

static const char *const way_names[] = {"none: the caller writes", "helper thread",
                                        "native nonblocking calls"};

struct flight {
    struct tt_series *series;
    struct tt_job job;
    struct tt_file *file;
    char *path; /* of a file of this step only */
    uint64_t step;
    unsigned nblocks;
    struct tt_block *blocks; /* as many as the series ever needs */
    char *staging;
    size_t staging_size;
    char *ticket_states;
    struct tt_ticket *tickets;
    int64_t submitted_ns, write_ns, sync_ns;
    int rc; /* a failure before or while submitting, told to the others when they agree */
    struct tt_error error;
};

struct tt_series {
    struct tt_engine *engine;
    struct tt_series_spec spec;
    char *path;
    MPI_Comm comm;      /* of all ranks, for agreement */
    MPI_Comm file_comm; /* of the file: all ranks, or this one alone */
    struct tt_file_spec file_spec;
    struct tt_file *file; /* NULL with a file per step */
    enum way way;
    bool way_chosen, fixed_written;
    uint64_t defined;             /* the last step defined, plus one */
    unsigned slots;               /* blocks of a padded dump, fixed variables included */
    unsigned depth, first, count; /* flights: a ring */
    struct flight *flights;
    struct tt_job prefetch_job;
    struct flight prefetch;
    bool prefetching;
    bool synced; /* the one sync of sync=close has been made */
};

static unsigned slots_of(const struct tt_variable *v)
{
    return v->max_blocks ? v->max_blocks : 1;
}

static struct tt_helper *helper_of(const struct tt_series *s)
{
    return s->way == NATIVE ? NULL : s->engine->p->helper;
}

static void latency(struct tt_series *s, enum tt_call call, int64_t since_ns)
{
    tt_histogram_add(&s->engine->p->calls[call], tt_now_ns() - since_ns);
}

/* ---- opening and closing files; run by whoever makes the library calls ---- */

static int open_file(struct tt_series *s, const char *path, enum tt_access access,
                     struct tt_file **file, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    bool claims = access == TT_CREATE && (s->spec.per_process || s->engine->rank == 0);
    int rc = claims ? tt_data_claim(s->engine, path, e) : TT_OK;

    *file = NULL;
    rc = tt_agree(s->comm, rc, e);
    if (rc != TT_OK)
        return rc;
    s->file_spec.path = path;
    s->file_spec.access = access;
    rc = tt_file_open(&s->engine->p->stack, &s->file_spec, file, e);
    rc = tt_agree(s->comm, rc, e);
    latency(s, TT_CALL_OPEN, t);
    if (rc != TT_OK && *file) { /* another rank's own file could not be opened */
        struct tt_error ignored = TT_ERROR_CLEAR;

        tt_file_close(*file, &ignored);
        *file = NULL;
    }
    return rc;
}

/* Facts are asked once per run: all files are opened with the same settings. */
static void keep_facts(struct tt_series *s, struct tt_file *file)
{
    static const char *const proofs[] = {"unconfirmed", "in effect", "no effect"};
    struct tt_engine_private *p = s->engine->p;
    struct tt_facts facts = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (json_array_size(p->facts) == 0 && tt_file_query(file, &facts, &ignored) == TT_OK)
        for (size_t i = 0; i < facts.n; i++) {
            const struct tt_fact *f = &facts.list[i];

            json_array_append_new(p->facts, json_pack("{s:s, s:s, s:s, s:s, s:s}", "key", f->key,
                                                      "given", f->given, "read_back", f->read_back,
                                                      "proof", proofs[f->proof], "how", f->how));
        }
    tt_facts_free(&facts);
    for (; file; file = file->below) {
        p->library_bytes[0] += file->library_bytes[0];
        p->library_bytes[1] += file->library_bytes[1];
    }
}

static int close_file(struct tt_series *s, struct tt_file *file, const char *path,
                      struct tt_error *e)
{
    int64_t t;
    int rc;

    keep_facts(s, file);
    t = tt_now_ns();
    rc = tt_agree(s->comm, tt_file_close(file, e), e);
    latency(s, TT_CALL_CLOSE, t);
    if (rc == TT_OK && s->spec.access == TT_CREATE && (s->spec.per_process || s->engine->rank == 0))
        tt_data_mark(s->engine, path);
    return rc;
}

static int sync_file(struct tt_series *s, struct tt_file *file, int64_t *ns, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = tt_file_sync(file, e);

    *ns += tt_now_ns() - t;
    latency(s, TT_CALL_SYNC, t);
    return rc;
}

/* ---- running a flight ---- */

/* A rank that has failed still makes every call, with nothing. */
static void make_empty(struct tt_block *b)
{
    b->file.kind = TT_SELECT_NONE;
    b->memory.kind = TT_SELECT_NONE;
}

static int prepare_step(struct flight *f, struct tt_error *e)
{
    struct tt_series *s = f->series;

    f->file = s->file;
    if (s->spec.policy == TT_FILE_PER_STEP) {
        int rc = open_file(s, f->path, TT_CREATE, &f->file, e);

        return rc == TT_OK ? tt_file_define(f->file, 0, e) : rc;
    }
    if (f->step < s->defined)
        return TT_OK;
    s->defined = f->step + 1;
    return tt_file_define(f->file, f->step, e);
}

static uint64_t file_step(const struct flight *f)
{
    return f->series->spec.policy == TT_FILE_PER_STEP ? 0 : f->step;
}

static int write_blocks(struct flight *f, int rc, struct tt_error *e)
{
    struct tt_series *s = f->series;
    bool sync_each = s->engine->config->run->sync == TT_SYNC_WRITE;

    for (unsigned i = 0; i < f->nblocks; i++) {
        struct tt_block *b = &f->blocks[i];
        int64_t t = tt_now_ns();
        int now;

        if (rc != TT_OK)
            make_empty(b);
        now = tt_file_write(f->file, file_step(f), b, e);
        if (b->file.kind != TT_SELECT_NONE)
            latency(s, TT_CALL_WRITE, t);
        if (sync_each && now == TT_OK)
            now = sync_file(s, f->file, &f->sync_ns, e);
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

static int run_dump(void *argument, struct tt_error *e)
{
    struct flight *f = argument;
    struct tt_series *s = f->series;
    int sync = s->engine->config->run->sync;
    int64_t t = tt_now_ns();
    int rc = prepare_step(f, e);

    if (!f->file) /* all ranks know */
        return rc;
    if (f->rc != TT_OK && rc == TT_OK) {
        *e = f->error;
        rc = f->rc;
    }
    rc = write_blocks(f, rc, e);
    f->write_ns = tt_now_ns() - t - f->sync_ns;
    if (sync == TT_SYNC_DUMP || sync == TT_SYNC_BACKGROUND) {
        int now = sync_file(s, f->file, &f->sync_ns, e);

        rc = rc == TT_OK ? now : rc;
    }
    return s->way == HELPER ? tt_agree_patiently(s->comm, rc, e) : tt_agree(s->comm, rc, e);
}

static void submit_natively(struct flight *f)
{
    int rc = prepare_step(f, &f->error);

    f->rc = f->rc == TT_OK ? rc : f->rc;
    if (!f->file)
        return;
    for (unsigned i = 0; i < f->nblocks; i++) {
        int now;

        if (f->rc != TT_OK)
            make_empty(&f->blocks[i]);
        now = tt_file_submit(f->file, TT_WRITING, file_step(f), &f->blocks[i], &f->tickets[i],
                             &f->error);
        f->rc = f->rc == TT_OK ? now : f->rc;
    }
}

static int wait_natively(struct flight *f, struct tt_error *e)
{
    for (unsigned i = 0; f->file && i < f->nblocks; i++) {
        int now = tt_file_wait(f->file, &f->tickets[i], &f->error);

        f->rc = f->rc == TT_OK ? now : f->rc;
    }
    /* From outside only the whole span is known: an upper bound of the write's own duration. */
    f->write_ns = tt_now_ns() - f->submitted_ns;
    if (f->rc != TT_OK && e->code == TT_OK)
        *e = f->error;
    return f->file ? tt_agree(f->series->comm, f->rc, e) : f->rc;
}

/* ---- making a flight ---- */

static void add_block(struct flight *f, const struct tt_series *s, unsigned variable,
                      const struct tt_block *given)
{
    const struct tt_variable *v = &s->spec.variables[variable];
    struct tt_block *b = &f->blocks[f->nblocks++];

    if (given) {
        *b = *given;
        return;
    }
    b->variable = variable;
    b->data = NULL;
    tt_select_none(&b->file, v->ndims, v->dims);
    tt_select_none(&b->memory, v->ndims, v->dims);
}

/* The same list of slots on every rank: per variable its blocks, then nothing up to max_blocks. */
static int pad_blocks(struct flight *f, bool with_fixed, unsigned nblocks,
                      const struct tt_block *blocks, struct tt_error *e)
{
    struct tt_series *s = f->series;
    unsigned used = 0;

    f->nblocks = 0;
    for (unsigned v = 0; v < s->spec.nvariables; v++) {
        unsigned slots = slots_of(&s->spec.variables[v]), filled = 0;

        if (!s->spec.variables[v].per_step && !with_fixed)
            continue;
        for (unsigned i = 0; i < nblocks && filled < slots; i++)
            if (blocks[i].variable == v) {
                add_block(f, s, v, &blocks[i]);
                filled++;
            }
        used += filled;
        while (filled++ < slots)
            add_block(f, s, v, NULL);
    }
    if (used != nblocks)
        return tt_fail(e, TT_FAILED,
                       "a dump has %u blocks of which only %u fit their variables' max_blocks, or "
                       "writes a fixed variable after the first dump",
                       nblocks, used);
    return TT_OK;
}

static uint64_t block_bytes(const struct tt_series *s, const struct tt_block *b)
{
    return tt_selection_count(&b->file) * s->spec.variables[b->variable].element->size;
}

static uint64_t flight_bytes(const struct flight *f)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < f->nblocks; i++)
        bytes += block_bytes(f->series, &f->blocks[i]);
    return bytes;
}

/* Copy, so that the caller may go on computing in its own buffer. */
static int stage(struct flight *f, struct tt_error *e)
{
    uint64_t bytes = flight_bytes(f), at = 0;

    if (bytes > f->staging_size) {
        free(f->staging);
        f->staging = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        f->staging_size = f->staging ? bytes : 0;
        if (!f->staging)
            return tt_fail_nomem(e, "a staging buffer");
    }
    for (unsigned i = 0; i < f->nblocks; i++) {
        struct tt_block *b = &f->blocks[i];
        uint64_t n = tt_selection_count(&b->file);

        if (n == 0)
            continue;
        tt_block_pack(b, f->series->spec.variables[b->variable].element->size, f->staging + at);
        b->data = f->staging + at;
        tt_select_all(&b->memory, 1, &n);
        at += block_bytes(f->series, b);
    }
    return TT_OK;
}

/* Once, at the first dump: is this shape of selection one for which nonblocking calls overlap? */
static void choose_way(struct tt_series *s, const struct flight *f)
{
    struct tt_engine_private *p = s->engine->p;
    int contiguous = 1, all;
    struct tt_run run;

    s->way_chosen = true;
    s->way = p->helper ? HELPER : DIRECT;
    if (p->may_be_native) {
        for (unsigned i = 0; i < f->nblocks; i++)
            contiguous = contiguous && tt_selection_is_contiguous(&f->blocks[i].file, &run);
        MPI_Allreduce(&contiguous, &all, 1, MPI_INT, MPI_LAND, s->comm);
        if (p->probes[all].native)
            s->way = NATIVE;
    }
    p->overlap_way = way_names[s->way];
}

/* ---- the workload's calls ---- */

static int allocate_flight(struct tt_series *s, struct flight *f)
{
    size_t ticket = tt_stack_ticket_size(&s->engine->p->stack);

    f->series = s;
    f->path = malloc(strlen(s->path) + STEP_SUFFIX);
    f->blocks = calloc(s->slots, sizeof *f->blocks);
    f->tickets = calloc(s->slots, sizeof *f->tickets);
    f->ticket_states = calloc(s->slots, ticket);
    if (!f->path || !f->blocks || !f->tickets || !f->ticket_states)
        return TT_NOMEM;
    for (unsigned i = 0; i < s->slots; i++)
        f->tickets[i].state = f->ticket_states + i * ticket;
    return TT_OK;
}

static void free_flight(struct flight *f)
{
    free(f->blocks);
    free(f->tickets);
    free(f->ticket_states);
    free(f->staging);
    free(f->path);
}

static void free_series(struct tt_series *s)
{
    for (unsigned i = 0; s->flights && i < s->depth; i++)
        free_flight(&s->flights[i]);
    free_flight(&s->prefetch);
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
    s->depth = (unsigned)engine->config->run->inflight;
    for (unsigned v = 0; v < spec->nvariables; v++)
        s->slots += slots_of(&spec->variables[v]);
    s->flights = calloc(s->depth, sizeof *s->flights);
    if (!s->flights ||
        asprintf(&s->path, spec->per_process ? "%s_l%d" : "%s", spec->path, engine->rank) < 0)
        return tt_fail_nomem(e, "a series");
    for (unsigned i = 0; i < s->depth; i++)
        if (allocate_flight(s, &s->flights[i]) != TT_OK)
            return tt_fail_nomem(e, "dumps in flight");
    if (allocate_flight(s, &s->prefetch) != TT_OK)
        return tt_fail_nomem(e, "a prefetch");
    return check_variables(spec, e);
}

static int run_open(void *argument, struct tt_error *e)
{
    struct tt_series *s = argument;

    return open_file(s, s->path, s->spec.access, &s->file, e);
}

int tt_series_open(struct tt_engine *engine, const struct tt_series_spec *spec,
                   struct tt_series **out, struct tt_error *e)
{
    struct tt_series *s = NULL;
    int64_t t = tt_now_ns();
    int rc = tt_agree(engine->comm, allocate_series(engine, spec, &s, e), e);

    *out = NULL;
    if (rc != TT_OK) {
        if (s)
            free_series(s);
        return rc;
    }
    MPI_Comm_dup(engine->comm, &s->comm);
    MPI_Comm_dup(spec->per_process ? MPI_COMM_SELF : engine->comm, &s->file_comm);
    s->file_spec = (struct tt_file_spec){
        .comm = s->file_comm,
        .policy = spec->policy == TT_FILE_PER_STEP ? TT_OVERWRITE : spec->policy,
        .steps = spec->policy == TT_FILE_PER_STEP ? 1 : spec->steps,
        .nvariables = spec->nvariables,
        .variables = spec->variables,
    };
    if (spec->policy != TT_FILE_PER_STEP)
        rc = tt_helper_call(engine->p->helper, run_open, s, e);
    tt_phase_add(engine, TT_OPEN, t);
    if (rc != TT_OK)
        free_series(s);
    else
        *out = s;
    return rc;
}

static void start_flight(struct flight *f)
{
    struct tt_series *s = f->series;
    struct tt_engine *engine = s->engine;
    int64_t t = tt_now_ns();

    f->job = (struct tt_job){.run = run_dump, .argument = f};
    if (s->way == DIRECT) {
        tt_error_clear(&f->job.error);
        f->job.rc = run_dump(f, &f->job.error);
        tt_phase_add_ns(engine, TT_SUBMIT, tt_now_ns() - t - f->sync_ns);
        tt_phase_add_ns(engine, TT_SYNC, f->sync_ns);
        return;
    }
    if (f->rc == TT_OK)
        f->rc = stage(f, &f->error);
    tt_phase_add(engine, TT_COPY, t);
    t = f->submitted_ns = tt_now_ns();
    if (s->way == NATIVE)
        submit_natively(f);
    else
        tt_helper_submit(engine->p->helper, &f->job);
    tt_call_add(engine, TT_SUBMIT, TT_CALL_SUBMIT, t);
}

int tt_series_dump(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e)
{
    struct tt_engine_private *p = s->engine->p;
    struct flight *f;
    int rc = tt_series_complete(s, s->depth - 1, e);

    if (rc != TT_OK)
        return rc;
    f = &s->flights[(s->first + s->count++) % s->depth];
    f->step = step;
    f->write_ns = f->sync_ns = 0;
    f->file = NULL;
    tt_error_clear(&f->error);
    snprintf(f->path, strlen(s->path) + STEP_SUFFIX, "%s.%06llu", s->path,
             (unsigned long long)step);
    f->rc = pad_blocks(f, !s->fixed_written, nblocks, blocks, &f->error);
    s->fixed_written = true;
    if (!s->way_chosen)
        choose_way(s, f);
    p->bytes_written += flight_bytes(f);
    p->now.bytes_written += flight_bytes(f);
    start_flight(f);
    if (s->way == DIRECT && s->engine->config->run->sync != TT_SYNC_DEFERRED)
        rc = tt_series_complete(s, 0, e);
    return rc;
}

/* ---- completion ---- */

static int run_sync(void *argument, struct tt_error *e)
{
    struct flight *f = argument;

    return tt_agree(f->series->comm, sync_file(f->series, f->file, &f->sync_ns, e), e);
}

static int run_close(void *argument, struct tt_error *e)
{
    struct flight *f = argument;
    struct tt_series *s = f->series;
    int rc = TT_OK, closed;

    if (s->engine->config->run->sync == TT_SYNC_CLOSE && s->spec.access == TT_CREATE && !s->synced)
        rc = run_sync(f, e);
    closed = close_file(s, f->file, f->path, e);
    return rc == TT_OK ? closed : rc;
}

static int finish_writing(struct flight *f, struct tt_error *e)
{
    struct tt_series *s = f->series;
    int64_t t = tt_now_ns();
    int rc;

    if (s->way == DIRECT) {
        if (f->job.rc != TT_OK && e->code == TT_OK)
            *e = f->job.error;
        return f->job.rc;
    }
    rc = s->way == NATIVE ? wait_natively(f, e) : tt_helper_wait(s->engine->p->helper, &f->job, e);
    tt_call_add(s->engine, TT_WAIT, TT_CALL_WAIT, t);
    return rc;
}

/* The oldest flight: wait, sync if that was put off until now, close a file of its own. */
static int land(struct flight *f, struct tt_error *e)
{
    struct tt_series *s = f->series;
    struct tt_engine *engine = s->engine;
    int rc = finish_writing(f, e), now;
    int64_t t = tt_now_ns();

    if (f->file && rc == TT_OK && engine->config->run->sync == TT_SYNC_DEFERRED) {
        rc = tt_helper_call(helper_of(s), run_sync, f, e);
        tt_phase_add(engine, TT_SYNC, t);
    }
    if (f->file && s->spec.policy == TT_FILE_PER_STEP) {
        int64_t before = f->sync_ns;

        t = tt_now_ns();
        now = tt_helper_call(helper_of(s), run_close, f, e);
        tt_phase_add_ns(engine, TT_SYNC, f->sync_ns - before);
        tt_phase_add_ns(engine, TT_CLOSE, tt_now_ns() - t - (f->sync_ns - before));
        rc = rc == TT_OK ? now : rc;
    }
    tt_phase_add_ns(engine, TT_IO_WRITE, f->write_ns);
    tt_phase_add_ns(engine, TT_IO_SYNC, f->sync_ns);
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
    struct flight last = {.series = s, .file = s->file};
    int rc = tt_series_complete(s, 0, e);
    int64_t t = tt_now_ns();

    if (rc != TT_OK || !s->file || s->engine->config->run->sync != TT_SYNC_CLOSE)
        return rc;
    s->synced = true;
    rc = tt_helper_call(helper_of(s), run_sync, &last, e);
    tt_phase_add(s->engine, TT_SYNC, t);
    tt_phase_add_ns(s->engine, TT_IO_SYNC, last.sync_ns);
    return rc;
}

/* ---- reading ---- */

static int read_blocks(struct flight *f, int rc, struct tt_error *e)
{
    for (unsigned i = 0; i < f->nblocks; i++) {
        struct tt_block *b = &f->blocks[i];
        int64_t t = tt_now_ns();
        int now;

        if (rc != TT_OK)
            make_empty(b);
        now = tt_file_read(f->file, file_step(f), b, e);
        if (b->file.kind != TT_SELECT_NONE)
            latency(f->series, TT_CALL_READ, t);
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

static int run_load(void *argument, struct tt_error *e)
{
    struct flight *f = argument;
    struct tt_series *s = f->series;
    bool own_file = s->spec.policy == TT_FILE_PER_STEP;
    int rc = TT_OK, now;

    f->file = s->file;
    if (own_file)
        rc = open_file(s, f->path, TT_READ_ONLY, &f->file, e);
    if (!f->file)
        return rc;
    if (f->rc != TT_OK) {
        *e = f->error;
        rc = f->rc;
    }
    rc = tt_agree(s->comm, read_blocks(f, rc, e), e);
    if (own_file) {
        now = tt_agree(s->comm, tt_file_close(f->file, e), e);
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

static void prepare_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                         const struct tt_block *blocks)
{
    struct flight *f = &s->prefetch;

    f->step = step;
    tt_error_clear(&f->error);
    snprintf(f->path, strlen(s->path) + STEP_SUFFIX, "%s.%06llu", s->path,
             (unsigned long long)step);
    f->rc = pad_blocks(f, true, nblocks, blocks, &f->error);
    s->engine->p->now.bytes_read += flight_bytes(f);
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
    s->prefetch_job = (struct tt_job){.run = run_load, .argument = &s->prefetch};
    s->prefetching = true;
    tt_helper_submit(helper_of(s), &s->prefetch_job);
    return TT_OK;
}

int tt_series_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = TT_OK;

    if (s->prefetching) {
        s->prefetching = false;
        rc = tt_helper_wait(helper_of(s), &s->prefetch_job, e);
        tt_phase_add(s->engine, TT_LOAD, t);
        if (rc != TT_OK || s->prefetch.step == step)
            return rc;
    }
    rc = tt_series_complete(s, 0, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    prepare_load(s, step, nblocks, blocks);
    rc = tt_helper_call(helper_of(s), run_load, &s->prefetch, e);
    tt_phase_add(s->engine, TT_LOAD, t);
    return rc;
}

/* ---- the end ---- */

int tt_series_close(struct tt_series *s, struct tt_error *e)
{
    struct flight last = {0};
    struct tt_engine *engine;
    int rc, now;
    int64_t t;

    if (!s)
        return TT_OK;
    engine = s->engine;
    rc = tt_series_complete(s, 0, e);
    if (s->prefetching) {
        now = tt_helper_wait(helper_of(s), &s->prefetch_job, e);
        rc = rc == TT_OK ? now : rc;
    }
    if (s->file) {
        last = (struct flight){.series = s, .file = s->file, .path = s->path};
        t = tt_now_ns();
        now = tt_helper_call(helper_of(s), run_close, &last, e);
        tt_phase_add_ns(engine, TT_CLOSE, tt_now_ns() - t - last.sync_ns);
        tt_phase_add_ns(engine, TT_SYNC, last.sync_ns);
        tt_phase_add_ns(engine, TT_IO_SYNC, last.sync_ns);
        rc = rc == TT_OK ? now : rc;
    }
    free_series(s);
    return rc;
}
