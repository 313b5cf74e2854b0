/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overlap and sync, written once for all workloads and backends. A dump becomes a batch of the
 * transfer queue: its blocks padded so that every rank makes the same calls, copied if it overlaps,
 * then executed by the caller, by the helper thread, or by the backend's own nonblocking calls. */
#include "engine/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/agree.h"

#define STEP_DIGITS 24 /* "." and a 64-bit number */

static const char *const way_names[] = {[TT_BY_CALLER] = "none: the caller writes",
                                        [TT_BY_BACKEND] = "native nonblocking calls",
                                        [TT_BY_POOL] = "helper thread"};
/* For analysis. */
static const char *const executor_keys[] = {
    [TT_BY_CALLER] = "caller", [TT_BY_BACKEND] = "native", [TT_BY_POOL] = "helper"};

const struct tt_stack *tt_engine_stack(const struct tt_engine *engine)
{
    return &engine->p->stack;
}

struct tt_cost *tt_engine_costs(const struct tt_engine *engine)
{
    return engine->p->stack.n > 1 ? engine->p->costs : NULL; /* only layers tell theirs */
}

/* ---- opening ---- */

static void free_series(struct tt_series *s)
{
    for (unsigned i = 0; s->dumps && i <= s->writes.spec.depth; i++)
        free(s->dumps[i].path);
    tt_queue_close(&s->writes);
    tt_queue_close(&s->reads);
    free(s->dumps);
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

/* Room for the path of a step's own file, and the path. */
static size_t step_path_size(const struct tt_series *s)
{
    return strlen(s->path) + STEP_DIGITS + (s->spec.step_ending ? strlen(s->spec.step_ending) : 0);
}

static void step_path(const struct tt_series *s, uint64_t step, char *path)
{
    const char *ending = s->spec.step_ending;

    snprintf(path, step_path_size(s), "%s%s%0*llu%s", s->path, ending ? "" : ".",
             s->spec.step_digits ? (int)s->spec.step_digits : 6, (unsigned long long)step,
             ending ? ending : "");
}

/* Blocks of a variable in every dump, empty ones included. */
static unsigned slots_of(const struct tt_variable *v)
{
    return v->idle ? 0 : v->max_blocks ? v->max_blocks : 1;
}

static int open_queues(struct tt_series *s, struct tt_error *e)
{
    const struct tt_run_options *run = s->engine->config->run;
    struct tt_pool *helper = s->engine->p->helper;
    struct tt_queue_spec spec = {
        .calls = &tt__dump_calls,
        .executor = helper ? TT_BY_POOL : TT_BY_CALLER,
        .pool = helper,
        .memory = &s->engine->p->memory,
        .limit = run->staging_limit,
        .depth = tt__dumps_in_flight(s->engine),
        .sync_each = run->sync == TT_SYNC_WRITE,
        .sync_failed = true,
        .ticket_size = tt_stack_ticket_size(&s->engine->p->stack),
    };
    int rc;

    for (unsigned v = 0; v < s->spec.nvariables; v++)
        spec.requests += slots_of(&s->spec.variables[v]);
    rc = tt_queue_open(&s->writes, &spec, e);
    spec.depth = 1;
    spec.sync_each = false;
    return rc == TT_OK ? tt_queue_open(&s->reads, &spec, e) : rc;
}

static int allocate_series(struct tt_engine *engine, const struct tt_series_spec *spec,
                           struct tt_series **out, struct tt_error *e)
{
    struct tt_series *s = calloc(1, sizeof *s);
    unsigned depth;
    int rc;

    *out = s;
    if (!s)
        return tt_fail_nomem(e, "a series");
    s->comm = s->file_comm = MPI_COMM_NULL;
    s->engine = engine;
    s->spec = *spec;
    rc = open_queues(s, e);
    if (rc != TT_OK)
        return rc;
    depth = s->writes.spec.depth;
    s->dumps = calloc(depth + 1, sizeof *s->dumps);
    s->path = series_path(spec, engine->rank);
    if (!s->dumps || !s->path)
        return tt_fail_nomem(e, "a series");
    s->requests = tt__requests_of(engine->p, s->path);
    for (unsigned i = 0; i <= depth; i++) {
        struct tt__dump *d = &s->dumps[i];

        d->series = s;
        d->path = malloc(step_path_size(s));
        if (!d->path)
            return tt_fail_nomem(e, "dumps in flight");
        (i < depth ? &s->writes.batches[i] : &s->reads.batches[0])->owner = d;
    }
    return check_variables(spec, e);
}

/* A file that will not be there when the new one is made is the room of its own successor; a shared
 * one counts in parts. */
static uint64_t bytes_replaced(const struct tt_series *s, uint64_t step)
{
    uint64_t ranks = s->spec.per_process ? 1 : (uint64_t)s->engine->size;
    char *path = malloc(step_path_size(s));
    uint64_t bytes = 0;

    if (path) {
        step_path(s, step, path);
        bytes = tt_data_size(s->engine, path) / ranks;
    }
    free(path);
    return bytes;
}

int tt_series_open(struct tt_engine *engine, const struct tt_series_spec *spec,
                   struct tt_series **out, struct tt_error *e)
{
    struct tt_series *s = NULL;
    struct stat st;
    MPI_Comm comm = spec->alone ? MPI_COMM_SELF : engine->comm;
    int64_t t = tt_now_ns();
    int rc = tt_agree(comm, allocate_series(engine, spec, &s, e), e);

    *out = NULL;
    if (rc != TT_OK) {
        if (s)
            free_series(s);
        return rc;
    }
    if (engine->size > 1 && !spec->per_process && spec->access == TT_CREATE &&
        (tt_stack_caps(&engine->p->stack) & TT_CAP_STORES))
        rc = tt__shared_check(engine, s->path, e);
    if (rc != TT_OK) {
        free_series(s);
        return rc;
    }
    MPI_Comm_dup(comm, &s->comm);
    MPI_Comm_dup(spec->per_process ? MPI_COMM_SELF : engine->comm, &s->file_comm);
    s->file_spec = (struct tt_file_spec){
        .path = s->path,
        .comm = s->file_comm,
        .access = spec->access,
        .policy = spec->policy != TT_FILE_PER_STEP ? spec->policy
                  : spec->step_group               ? TT_GROUP
                                                   : TT_OVERWRITE,
        .steps = spec->policy == TT_FILE_PER_STEP ? 1 : spec->steps,
        .step_group = spec->step_group,
        .ngroups = spec->ngroups,
        .groups = spec->groups,
        .in_helper = engine->p->helper && (spec->by_helper || !engine->p->may_be_native),
        .native = engine->p->may_be_native && !spec->by_helper &&
                  (engine->p->probes[0].native || engine->p->probes[1].native),
        .independent = spec->independent,
        .plain = spec->plain,
        .nvariables = spec->nvariables,
        .variables = spec->variables,
    };
    if (spec->access == TT_UPDATE && stat(s->path, &st) == 0)
        s->there = (uint64_t)st.st_size;
    s->replaces =
        spec->policy == TT_FILE_PER_STEP && spec->access == TT_CREATE && bytes_replaced(s, 0) > 0;
    if (spec->policy != TT_FILE_PER_STEP) {
        s->spot_check = tt__spot_check_begin(engine, &s->file_spec);
        rc = tt_pool_call(engine->p->helper, tt__open_series_file, s, e);
    }
    tt_phase_add(engine, TT_OPEN, t);
    if (rc != TT_OK) {
        tt__spot_check_settle(s->spot_check);
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
    if (s->spec.policy == TT_OVERWRITE && !(tt_stack_caps(&s->engine->p->stack) & TT_CAP_KEEPS))
        return step == 0 ? bytes : 0;
    if (s->replaces)
        before = bytes_replaced(s, step);
    return bytes > before ? bytes - before : 0;
}

/* ---- making a batch ---- */

static void add_block(struct tt_batch *b, const struct tt_series *s, unsigned variable,
                      const struct tt_block *given)
{
    const struct tt_variable *v = &s->spec.variables[variable];
    struct tt_block *block = tt_batch_add(b);

    if (given) {
        *block = *given;
        return;
    }
    *block = (struct tt_block){.variable = variable};
    tt_select_none(&block->file, v->ndims, v->dims);
    tt_select_none(&block->memory, v->ndims, v->dims);
}

/* The same list of blocks on every rank: per variable those given, then nothing up to its
 * max_blocks. A list that does not fit is an error, but the batch can still take part. */
static int pad_blocks(struct tt_batch *b, const struct tt_series *s, bool with_fixed,
                      unsigned nblocks, const struct tt_block *blocks, struct tt_error *e)
{
    unsigned used = 0;

    for (unsigned v = 0; v < s->spec.nvariables; v++) {
        unsigned slots = slots_of(&s->spec.variables[v]), filled = 0;

        if (!s->spec.variables[v].per_step && !with_fixed)
            continue;
        for (unsigned i = 0; i < nblocks && filled < slots; i++)
            if (blocks[i].variable == v) {
                add_block(b, s, v, &blocks[i]);
                filled++;
            }
        used += filled;
        while (filled++ < slots)
            add_block(b, s, v, NULL);
    }
    if (used != nblocks)
        return tt_fail(e, TT_FAILED,
                       "a dump has %u blocks of which only %u fit their variables' max_blocks, or "
                       "writes a fixed variable after the first dump",
                       nblocks, used);
    return TT_OK;
}

static struct tt_batch *make_batch(struct tt_series *s, enum tt_direction direction, uint64_t step,
                                   unsigned nblocks, const struct tt_block *blocks)
{
    struct tt_batch *b = tt_queue_take(direction == TT_WRITING ? &s->writes : &s->reads);
    struct tt__dump *d = b->owner;

    d->step = step;
    d->file = NULL;
    d->open_ns = d->met_ns = d->define_ns = d->write_ns = d->sync_ns = d->read_ns = 0;
    step_path(s, step, d->path);
    b->file = NULL;
    b->direction = direction;
    b->step = s->spec.policy == TT_FILE_PER_STEP ? 0 : step;
    b->rc =
        pad_blocks(b, s, direction == TT_READING || !s->fixed_written, nblocks, blocks, &b->error);
    if (b->rc == TT_OK)
        b->rc = tt_batch_check_memory(b, &b->error);
    return b;
}

static uint64_t bytes_of_block(const struct tt_series *s, const struct tt_block *block)
{
    return tt_selection_count(&block->file) *
           tt_block_moved_size(block, &s->spec.variables[block->variable]);
}

static uint64_t bytes_of(const struct tt_series *s, const struct tt_batch *b)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < b->n; i++)
        bytes += bytes_of_block(s, &b->blocks[i]);
    return bytes;
}

/* ---- writing ---- */

/* Once, at the first dump: is this shape of selection one for which nonblocking calls overlap? */
static void choose_way(struct tt_series *s, const struct tt_batch *b)
{
    struct tt_engine_private *p = s->engine->p;
    enum tt_executor *way = &s->writes.spec.executor;
    int contiguous = 1, all;
    struct tt_run run;

    s->way_chosen = true;
    if (p->may_be_native && !s->spec.by_helper) {
        for (unsigned i = 0; i < b->n; i++)
            contiguous = contiguous && tt_selection_is_contiguous(&b->blocks[i].file, &run);
        MPI_Allreduce(&contiguous, &all, 1, MPI_INT, MPI_LAND, s->comm);
        if (p->probes[all].native)
            *way = TT_BY_BACKEND;
    }
    if (!tt__helper_of(s))
        s->reads.spec.executor = TT_BY_CALLER;
    s->file_spec.in_helper = *way == TT_BY_POOL;
    p->overlap_way = way_names[*way];
    p->overlap_executor = executor_keys[*way];
}

/* For the copy of this dump, on all ranks: completing another is collective. */
static int wait_for_room(struct tt_series *s, const struct tt_batch *b, struct tt_error *e)
{
    uint64_t bytes = tt_batch_copy_size(b, s->spec.variables);
    int lacking = 1, rc = TT_OK;

    if (s->writes.spec.limit == 0 || s->writes.spec.executor == TT_BY_CALLER || s->waits)
        return TT_OK;
    while (rc == TT_OK) {
        int mine = !tt_queue_has_room(&s->writes, bytes);

        MPI_Allreduce(&mine, &lacking, 1, MPI_INT, MPI_MAX, s->engine->comm);
        if (!lacking)
            break;
        rc = tt_series_complete(s, s->writes.in_flight - 1, e);
    }
    return rc;
}

/* Of a file of its own a dump has a spot check of its own. */
static void begin_look(struct tt_batch *b)
{
    struct tt__dump *d = b->owner;
    struct tt_series *s = d->series;
    struct tt_file_spec own = s->file_spec;

    if (b->rc != TT_OK || s->spec.policy != TT_FILE_PER_STEP)
        return;
    own.path = d->path;
    own.first_step = d->step;
    d->spot_check = tt__spot_check_begin(s->engine, &own);
}

/* What may be changed as soon as the caller has its buffer back is looked at now; what is on its
 * way from a device, when it has arrived, in the thread that executes the batch. */
void tt__look_at_dump(struct tt_batch *b)
{
    const struct tt__dump *d = b->owner;
    bool own_file = d->series->spec.policy == TT_FILE_PER_STEP;

    if (b->rc == TT_OK)
        tt__spot_check_dump(own_file ? d->spot_check : d->series->spot_check, b->step, b->n,
                            b->blocks);
}

static void start_dump(struct tt_series *s, struct tt_batch *b)
{
    struct tt_engine *engine = s->engine;
    const struct tt__dump *d = b->owner;
    bool in_device = tt_batch_is_in_device(b);
    int64_t t = tt_now_ns();

    if (in_device)
        begin_look(b);
    t = tt_now_ns();
    if (b->rc == TT_OK && in_device)
        b->rc = tt_batch_stage(b, s->spec.variables, &b->error);
    if (s->writes.spec.executor == TT_BY_CALLER) {
        if (in_device)
            tt_phase_add(engine, TT_COPY, t);
        else {
            begin_look(b);
            tt__look_at_dump(b);
        }
        t = tt_now_ns();
        tt_queue_start(&s->writes, b, tt_now_ns());
        tt__phase_add_ns(engine, TT_SUBMIT, tt_now_ns() - t - d->open_ns - d->sync_ns);
        tt__phase_add_ns(engine, TT_OPEN, d->open_ns);
        tt__phase_add_ns(engine, TT_SYNC, d->sync_ns);
        return;
    }
    if (b->rc == TT_OK && !s->waits && !in_device)
        b->rc = tt_batch_copy(b, s->spec.variables, &b->error);
    tt_phase_add(engine, TT_COPY, t);
    if (!in_device) {
        begin_look(b);
        tt__look_at_dump(b);
    }
    t = tt_now_ns();
    tt_queue_start(&s->writes, b, tt_now_ns());
    if (s->writes.spec.executor == TT_BY_BACKEND) {
        tt__phase_add_ns(engine, TT_OPEN, d->open_ns);
        t += d->open_ns;
    }
    tt_call_add(engine, TT_SUBMIT, TT_CALL_SUBMIT, t);
}

int tt_series_dump(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e)
{
    struct tt_engine_private *p = s->engine->p;
    struct tt__dump *d;
    struct tt_batch *b;
    uint64_t bytes;
    int rc = tt_series_complete(s, s->writes.spec.depth - 1, e);

    if (rc != TT_OK)
        return rc;
    b = make_batch(s, TT_WRITING, step, nblocks, blocks);
    s->fixed_written = true;
    if (!s->way_chosen)
        choose_way(s, b);
    rc = wait_for_room(s, b, e);
    if (rc != TT_OK) {
        tt_queue_give_back(&s->writes, b);
        return rc;
    }
    tt_batch_take_buffers(b);
    bytes = bytes_of(s, b);
    p->bytes_written += bytes;
    p->now.bytes_written += bytes;
    d = b->owner;
    d->waited_for = s->waits;
    d->closing = (struct tt__closing){.bytes = bytes};
    memcpy(d->closing.told, s->told, sizeof s->told);
    start_dump(s, b);
    if (s->waits || (s->writes.spec.executor == TT_BY_CALLER &&
                     s->engine->config->run->sync != TT_SYNC_DEFERRED))
        rc = tt_series_complete(s, 0, e);
    return rc;
}

static int rehearse(struct tt_series *s, enum tt_direction direction, unsigned nblocks,
                    const struct tt_block *blocks, struct tt_error *e)
{
    struct tt_queue *q = direction == TT_READING ? &s->reads : &s->writes;
    unsigned n = q->spec.depth;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < n; i++) {
        struct tt_batch *b = &q->batches[i];
        uint64_t most;

        b->n = 0;
        b->direction = direction;
        rc = pad_blocks(b, s, true, nblocks, blocks, e);
        if (rc == TT_OK)
            rc = tt_batch_stage(b, s->spec.variables, e);
        if (rc == TT_OK)
            rc = tt__batch_settle(b, e);
        most = direction == TT_READING || b->staged == 0 ? n : q->spec.limit / b->staged;
        if (q->spec.limit > 0 && most < n) /* so many fit */
            n = most > 0 ? (unsigned)most : 1;
        b->staged = 0;
    }
    q->last_id = 0;
    return rc;
}

int tt_series_rehearse(struct tt_series *s, enum tt_direction direction, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e)
{
    const struct tt_engine_private *p = s->engine->p;
    bool late = p->start_ns != 0 && p->stop_ns == 0 && !p->unmeasured;
    int rc = late ? tt_unmeasured_begin(s->engine, e) : TT_OK;

    if (rc == TT_OK)
        rc = rehearse(s, direction, nblocks, blocks, e);
    if (late)
        tt_unmeasured_end(s->engine);
    return rc;
}

/* ---- completion ---- */

static void tell_times(const struct tt__dump *d)
{
    const struct tt_series_spec *spec = &d->series->spec;

    if (spec->times && d->step < spec->steps)
        spec->times[d->step] =
            (struct tt_step_times){d->open_ns, d->write_ns, d->sync_ns, d->read_ns,
                                   d->series->engine->p->unmeasured != NULL};
}

/* Of nonblocking calls it is not known when they ended. */
static void count_calls(struct tt_series *s, const struct tt_batch *b, enum tt_call call)
{
    struct tt_histogram *calls = s->engine->p->calls;

    for (unsigned i = 0; b->file && i < b->n; i++) {
        const struct tt_request *r = &b->requests[i];

        if (r->block->file.kind != TT_SELECT_NONE && b->queue->spec.executor != TT_BY_BACKEND) {
            tt_histogram_add(&calls[call], r->ended_ns - r->started_ns);
            tt__count_transfer(s, b->direction, r->started_ns, r->ended_ns,
                               bytes_of_block(s, r->block));
        }
        if (b->queue->spec.sync_each)
            tt_histogram_add(&calls[TT_CALL_SYNC], r->sync_ns);
    }
}

void tt__count_staging(struct tt_engine *engine, const struct tt_batch *b)
{
    if (b->moved > 0)
        tt_count_staged(engine, b->moved, b->staging_ns);
    if (b->direction == TT_WRITING) {
        engine->p->staged_out_ns += b->staging_ns;
        engine->p->waited_ns += b->waited ? b->staging_ns : 0;
    }
}

static int close_step_file(struct tt__dump *d, struct tt_error *e)
{
    struct tt_engine *engine = d->series->engine;
    int64_t t = tt_now_ns(), before = d->sync_ns, close_ns;
    int rc = tt_pool_call(tt__helper_of(d->series), tt__close_file, d, e);

    close_ns = tt_now_ns() - t - (d->sync_ns - before);
    tt__phase_add_ns(engine, TT_SYNC, d->sync_ns - before);
    tt__phase_add_ns(engine, TT_CLOSE, close_ns);
    engine->p->step_files_ns += d->open_ns + close_ns;
    return rc;
}

/* The oldest dump: wait, sync if that was put off until now, close a file of its own. */
static int complete_dump(struct tt_series *s, struct tt_error *e)
{
    struct tt_engine *engine = s->engine;
    int64_t t = tt_now_ns();
    const struct tt_batch *b = tt_queue_complete(&s->writes);
    struct tt__dump *d = b->owner;
    int rc = tt_batch_result(b, e), now;

    if (s->writes.spec.executor != TT_BY_CALLER)
        tt_call_add(engine, TT_WAIT, TT_CALL_WAIT, t);
    if (s->writes.spec.executor == TT_BY_POOL)
        engine->p->helper_cpu_ns += b->cpu_ns;
    count_calls(s, b, TT_CALL_WRITE);
    if (d->file && rc == TT_OK && engine->config->run->sync == TT_SYNC_DEFERRED) {
        t = tt_now_ns();
        rc = tt_pool_call(tt__helper_of(s), tt__sync_file, d, e);
        tt_phase_add(engine, TT_SYNC, t);
    }
    if (!s->spec.alone) { /* else no other rank has told anything */
        engine->p->closed.bytes += d->closing.bytes;
        engine->p->closed.room = d->closing.room;
    }
    memcpy(s->agreed, d->closing.told, sizeof s->agreed);
    s->failed = s->failed || rc != TT_OK;
    if (d->file && s->spec.policy == TT_FILE_PER_STEP) {
        now = close_step_file(d, e);
        rc = rc == TT_OK ? now : rc;
    }
    tt__spot_check_settle(d->spot_check);
    d->spot_check = NULL;
    tt__phase_add_ns(engine, TT_IO_WRITE, d->write_ns);
    tt__phase_add_ns(engine, TT_IO_DEFINE, d->define_ns);
    tt__phase_add_ns(engine, TT_IO_SYNC, d->sync_ns);
    tt__count_staging(engine, b);
    tell_times(d);
    return rc;
}

int tt_series_complete(struct tt_series *s, unsigned left, struct tt_error *e)
{
    int rc = TT_OK;

    while (s->writes.in_flight > left) {
        int now = complete_dump(s, e);

        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

bool tt_series_has_ended(const struct tt_series *s)
{
    for (const struct tt_batch *b = s->writes.oldest; b; b = b->next)
        if (!b->ended && (s->writes.spec.executor != TT_BY_POOL ||
                          !tt_pool_has_ended(s->writes.spec.pool, &b->task)))
            return false;
    return true;
}

int tt_series_drain(struct tt_series *s, struct tt_error *e)
{
    struct tt__dump all = {.series = s, .file = s->file};
    int rc = tt_series_complete(s, 0, e);
    int64_t t = tt_now_ns();

    if (rc != TT_OK || !s->file || s->engine->config->run->sync != TT_SYNC_CLOSE)
        return rc;
    s->synced = true;
    rc = tt_pool_call(tt__helper_of(s), tt__sync_file, &all, e);
    tt_phase_add(s->engine, TT_SYNC, t);
    tt__phase_add_ns(s->engine, TT_IO_SYNC, all.sync_ns);
    return rc;
}

/* ---- reading ---- */

static void start_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                       const struct tt_block *blocks)
{
    struct tt_batch *b = make_batch(s, TT_READING, step, nblocks, blocks);

    if (!tt__engine_is_over(s->engine))
        s->engine->p->now.bytes_read += bytes_of(s, b);
    if (b->rc == TT_OK && tt_batch_is_in_device(b))
        b->rc = tt_batch_stage(b, s->spec.variables, &b->error);
    tt_queue_start(&s->reads, b, tt_now_ns());
}

/* Of a prefetch only the waiting since then falls into the main thread. */
static int complete_load(struct tt_series *s, int64_t since_ns, struct tt_error *e)
{
    const struct tt_batch *b = tt_queue_complete(&s->reads);
    const struct tt__dump *d = b->owner;
    int rc = tt_batch_result(b, e);

    s->failed = s->failed || rc != TT_OK;
    s->prefetching = false;
    if (!tt__engine_is_over(s->engine)) {
        count_calls(s, b, TT_CALL_READ);
        tt_phase_add(s->engine, TT_LOAD, since_ns);
        tt__phase_add_ns(s->engine, TT_IO_READ, d->read_ns);
        tt__count_staging(s->engine, b);
    }
    tell_times(d);
    return rc;
}

int tt_series_prefetch(struct tt_series *s, uint64_t step, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e)
{
    int rc;

    if (!tt__helper_of(s) || s->prefetching)
        return TT_OK;
    rc = tt_series_complete(s, 0, e);
    if (rc != TT_OK)
        return rc;
    s->prefetching = true;
    start_load(s, step, nblocks, blocks);
    return TT_OK;
}

int tt_series_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e)
{
    const struct tt__dump *d = s->reads.batches[0].owner;
    int64_t t;
    int rc = TT_OK;

    if (s->prefetching) {
        rc = complete_load(s, tt_now_ns(), e);
        if (rc != TT_OK || d->step == step)
            return rc;
    }
    rc = tt_series_complete(s, 0, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    start_load(s, step, nblocks, blocks);
    return complete_load(s, t, e);
}

/* ---- the end ---- */

int tt_series_close(struct tt_series *s, struct tt_error *e)
{
    int64_t unused;

    return tt_series_close_timed(s, &unused, e);
}

static int settle_stack(void *engine, struct tt_error *e)
{
    struct tt_engine_private *p = ((struct tt_engine *)engine)->p;

    return tt_stack_settle(&p->stack, p->costs, e);
}

/* What layers close in the background uses the variables of this series. The helper adds to the
 * costs when it closes files. */
static int settle(struct tt_series *s, struct tt_error *e)
{
    struct tt_engine *engine = s->engine;
    int64_t t = tt_now_ns();
    int rc = tt_pool_call(tt__helper_of(s), settle_stack, engine, e);

    rc = tt_agree(s->comm, tt__noted(s, rc, e), e);
    if (rc == TT_OK)
        tt__data_mark_settled(engine);
    tt_phase_add(engine, TT_CLOSE, t);
    return rc;
}

int tt_series_close_timed(struct tt_series *s, int64_t *own_ns, struct tt_error *e)
{
    struct tt_engine *engine;
    int rc, now;

    *own_ns = 0;
    if (!s)
        return TT_OK;
    engine = s->engine;
    rc = tt_series_complete(s, 0, e);
    if (s->prefetching) {
        now = complete_load(s, tt_now_ns(), e);
        rc = rc == TT_OK ? now : rc;
    }
    if (s->file) {
        struct tt__dump all = {.series = s, .file = s->file, .path = s->path};
        int64_t t = tt_now_ns();

        now = tt_pool_call(tt__helper_of(s), tt__close_file, &all, e);
        tt__phase_add_ns(engine, TT_CLOSE, tt_now_ns() - t - all.sync_ns);
        tt__phase_add_ns(engine, TT_SYNC, all.sync_ns);
        tt__phase_add_ns(engine, TT_IO_SYNC, all.sync_ns);
        *own_ns = all.close_ns;
        rc = rc == TT_OK ? now : rc;
    }
    if (tt_stack_has_thread(&engine->p->stack)) {
        now = settle(s, e);
        rc = rc == TT_OK ? now : rc;
    }
    tt__spot_check_settle(s->spot_check);
    free_series(s);
    return rc;
}
