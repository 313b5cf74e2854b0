/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single transfers, several in flight. The caller makes them if one is in flight at a time, else
 * the backend's nonblocking calls, threads where calls may go on side by side, or the helper
 * thread, in which they queue: its depth then is that of the queue, not of the storage. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/flight.h"
#include "plan/limits.h"

/* How many bytes a rank writes until it looks at the free space again. */
#define LOOK_BYTES (UINT64_C(256) << 20)

enum way { DIRECT, NATIVE, THREADS, HELPER };
static const char *const way_names[] = {
    "one at a time, by the caller", "in flight at a time, by nonblocking calls of the backend",
    "in flight at a time, by a thread for each",
    "queued at a time for the helper thread, which makes one after the other"};

struct slot {
    struct tt_stream_slot shown; /* first, so that one is the other */
    struct tt_stream *stream;
    struct tt_ticket ticket;
    struct tt_task job;         /* for the helper or a thread */
    struct slot *next, *before; /* in flight, the oldest first; or free, by next only */
    bool seen;                  /* the finished transfer, by the caller */
    struct tt__spoilt spoilt;   /* if it reads */
    uint64_t bytes;
    int64_t started_ns, ended_ns, sync_ns;
};

struct tt_stream {
    struct tt_series *series;
    struct tt_stream_spec spec;
    enum way way;
    bool begun;  /* the file knows the buffers */
    bool failed; /* a transfer of this rank has */
    unsigned in_flight;
    struct slot *slots, *oldest, *newest, *free;
    char *buffers, *ticket_states;
    struct tt_pool *threads;
    struct tt_tasks ended;
    int64_t preparing_ns;
    int64_t busy_since; /* something has been in flight since then */
    uint64_t look_at;   /* bytes written by this rank at which free space is looked at */
};

/* Ranks make their calls together, so who has failed makes them, too. */
static bool is_in_step(const struct tt_stream *stream)
{
    return !stream->series->spec.per_process &&
           tt_stack_is_collective(&stream->series->engine->p->stack);
}

/* ---- one transfer, in whatever thread makes it ---- */

static int end_transfer(struct slot *slot, int rc, struct tt_error *e)
{
    struct tt_stream *stream = slot->stream;
    int sync = stream->series->engine->config->run->sync;

    slot->ended_ns = tt_now_ns();
    slot->sync_ns = 0;
    if (stream->spec.direction == TT_WRITING && sync == TT_SYNC_WRITE &&
        (rc == TT_OK || is_in_step(stream))) {
        int synced = tt_file_sync(stream->series->file, e);

        rc = rc == TT_OK ? synced : rc;
        slot->sync_ns = tt_now_ns() - slot->ended_ns;
    }
    return rc;
}

static int make_transfer(void *argument, struct tt_error *e)
{
    struct slot *slot = argument;
    struct tt_stream *stream = slot->stream;
    struct tt_file *file = stream->series->file;
    bool writing = stream->spec.direction == TT_WRITING;
    const struct tt_block *b = &slot->shown.block;
    int rc = writing ? tt_file_write(file, stream->spec.step, b, e)
                     : tt_file_read(file, stream->spec.step, b, e);

    return end_transfer(slot, rc, e);
}

/* ---- accounts, in the main thread ---- */

/* What has failed has not landed. */
static int count(struct tt_stream *stream, struct slot *slot, int rc, struct tt_error *e)
{
    struct tt_engine_private *p = stream->series->engine->p;
    bool writing = stream->spec.direction == TT_WRITING;

    if (rc == TT_OK && !writing)
        rc = tt__judge_read(stream->series->file, stream->spec.step, &slot->shown.block,
                            &slot->spoilt, e);
    if (rc != TT_OK) {
        stream->failed = true;
        return tt__noted(stream->series, rc, e);
    }
    slot->shown.landed = true;
    slot->shown.took_ns = slot->ended_ns - slot->started_ns + slot->sync_ns;
    slot->seen = false;
    if (slot->bytes == 0)
        return TT_OK;
    tt_histogram_add(&p->calls[writing ? TT_CALL_WRITE : TT_CALL_READ],
                     slot->ended_ns - slot->started_ns);
    if (slot->sync_ns > 0)
        tt_histogram_add(&p->calls[TT_CALL_SYNC], slot->sync_ns);
    if (writing) {
        p->bytes_written += slot->bytes;
        p->now.bytes_written += slot->bytes;
    } else {
        p->now.bytes_read += slot->bytes;
    }
    return TT_OK;
}

/* The I/O's own duration is the time in which anything was in flight. */
static void count_busy(struct tt_stream *stream, int64_t until)
{
    enum tt_phase own = stream->spec.direction == TT_WRITING ? TT_IO_WRITE : TT_IO_READ;

    tt_phase_add_ns(stream->series->engine, own, until - stream->busy_since);
    stream->busy_since = until;
}

/* ---- slots ---- */

static void put_in_flight(struct tt_stream *stream, struct slot *slot)
{
    slot->next = NULL;
    slot->before = stream->newest;
    *(stream->newest ? &stream->newest->next : &stream->oldest) = slot;
    stream->newest = slot;
    if (stream->in_flight++ == 0)
        stream->busy_since = slot->started_ns;
}

static void take_from_flight(struct tt_stream *stream, struct slot *slot)
{
    *(slot->before ? &slot->before->next : &stream->oldest) = slot->next;
    *(slot->next ? &slot->next->before : &stream->newest) = slot->before;
    stream->in_flight--;
}

static void set_free(struct tt_stream *stream, struct slot *slot)
{
    slot->next = stream->free;
    stream->free = slot;
}

static struct slot *slot_of_ticket(struct tt_ticket *ticket)
{
    return (struct slot *)((char *)ticket - offsetof(struct slot, ticket));
}

/* ---- the caller's loop ---- */

/* No rank asks another: each may write its part of --max-bytes. */
static int check_own_limits(struct tt_stream *stream, struct tt_error *e)
{
    struct tt_engine *engine = stream->series->engine;
    const struct tt_run_options *run = engine->config->run;
    uint64_t written = engine->p->bytes_written, part = run->max_bytes / (uint64_t)engine->size;
    uint64_t under_way = (stream->in_flight + UINT64_C(1)) * stream->spec.buffer_size;

    if (run->max_bytes > 0 && written + under_way > part)
        return tt_fail(e, TT_LIMIT,
                       "stopped by --max-bytes %llu: a rank has written its part, %llu",
                       (unsigned long long)run->max_bytes, (unsigned long long)written);
    if (written < stream->look_at)
        return TT_OK;
    stream->look_at = written + LOOK_BYTES;
    if (!(tt_stack_caps(&engine->p->stack) & TT_CAP_STORES))
        return TT_OK;
    return tt_limits_check_room(
        engine->config, stream->series->spec.access == TT_UPDATE ? 0 : stream->spec.buffer_size, e);
}

/* Where calls are collective, either all ranks make the next one or none does. */
static int check_limits(struct tt_stream *stream, struct tt_error *e)
{
    int rc = check_own_limits(stream, e);

    return is_in_step(stream) ? tt_agree(stream->series->comm, rc, e) : rc;
}

static int start_native(struct slot *slot, struct tt_error *e)
{
    struct tt_stream *stream = slot->stream;

    return tt_file_submit(stream->series->file, stream->spec.direction, stream->spec.step,
                          &slot->shown.block, &slot->ticket, e);
}

static int start_directly(struct tt_stream *stream, struct slot *slot, struct tt_error *e)
{
    bool writing = stream->spec.direction == TT_WRITING;
    struct tt_engine *engine = stream->series->engine;
    int rc = make_transfer(slot, e);
    int64_t ns = slot->ended_ns - slot->started_ns;

    tt_phase_add_ns(engine, writing ? TT_SUBMIT : TT_LOAD, ns);
    tt_phase_add_ns(engine, writing ? TT_IO_WRITE : TT_IO_READ, ns);
    tt_phase_add_ns(engine, TT_SYNC, slot->sync_ns);
    tt_phase_add_ns(engine, TT_IO_SYNC, slot->sync_ns);
    set_free(stream, slot);
    return count(stream, slot, rc, e);
}

int tt_stream_start(struct tt_stream *stream, struct tt_stream_slot *shown, struct tt_error *e)
{
    struct slot *slot = (struct slot *)shown;
    struct tt_engine *engine = stream->series->engine;
    const struct tt_variable *v = &stream->series->spec.variables[shown->block.variable];
    bool writing = stream->spec.direction == TT_WRITING;
    int rc = writing ? check_limits(stream, e) : TT_OK;

    shown->block.data = shown->buffer;
    shown->landed = false;
    slot->bytes = tt_selection_count(&shown->block.file) * v->element->size;
    if (rc != TT_OK) {
        set_free(stream, slot);
        return rc;
    }
    if (writing && !stream->spec.overlapping)
        tt__sample_transfer(stream->series->sample, stream->spec.step, &shown->block);
    else if (!writing)
        tt__spoil(&slot->spoilt, v, &shown->block);
    slot->started_ns = tt_now_ns();
    if (stream->way == DIRECT)
        return start_directly(stream, slot, e);
    put_in_flight(stream, slot);
    if (stream->way == NATIVE)
        rc = start_native(slot, e);
    else if (stream->way == THREADS)
        tt_pool_submit(stream->threads, &slot->job);
    else
        tt_pool_submit(engine->p->helper, &slot->job);
    tt_phase_add(engine, writing ? TT_SUBMIT : TT_LOAD, slot->started_ns);
    if (rc == TT_OK)
        return TT_OK;
    take_from_flight(stream, slot);
    set_free(stream, slot);
    return count(stream, slot, rc, e);
}

static struct slot *wait_native(struct tt_stream *stream, int *rc, struct tt_error *e)
{
    struct tt_ticket *done = NULL;
    struct slot *slot;

    *rc = tt_file_wait_any(stream->series->file, &stream->oldest->ticket, &done, e);
    slot = done ? slot_of_ticket(done) : stream->oldest;
    *rc = end_transfer(slot, *rc, e);
    return slot;
}

static struct slot *wait_for_one(struct tt_stream *stream, int *rc, struct tt_error *e)
{
    struct slot *slot;

    if (stream->way == NATIVE)
        return wait_native(stream, rc, e);
    if (stream->way == THREADS) {
        struct tt_task *job = tt_pool_wait_any(stream->threads, &stream->ended);

        *rc = job->rc;
        if (job->rc != TT_OK && e->code == TT_OK)
            *e = job->error;
        return job->argument;
    }
    slot = stream->oldest;
    *rc = tt_pool_wait(stream->series->engine->p->helper, &slot->job, e);
    return slot;
}

static int land_one(struct tt_stream *stream, struct slot **landed, struct tt_error *e)
{
    bool writing = stream->spec.direction == TT_WRITING;
    int64_t t = tt_now_ns();
    int64_t until;
    struct slot *slot;
    int rc;

    slot = *landed = wait_for_one(stream, &rc, e);
    until = stream->way == NATIVE ? slot->ended_ns + slot->sync_ns : tt_now_ns();
    take_from_flight(stream, slot);
    set_free(stream, slot);
    if (stream->in_flight == 0)
        count_busy(stream, until);
    tt_phase_add_ns(stream->series->engine, writing ? TT_WAIT : TT_LOAD, until - t);
    return count(stream, slot, rc, e);
}

int tt_stream_take(struct tt_stream *stream, struct tt_stream_slot **shown, struct tt_error *e)
{
    struct slot *slot;
    int rc = stream->free ? TT_OK : land_one(stream, &slot, e);

    slot = stream->free; /* also if the transfer that made it free has failed */
    stream->free = slot->next;
    slot->shown.landed = slot->shown.landed && !slot->seen;
    slot->seen = true;
    *shown = &slot->shown;
    return rc;
}

int tt_stream_land(struct tt_stream *stream, struct tt_stream_slot **shown, struct tt_error *e)
{
    struct slot *slot = NULL;
    int rc = TT_OK;

    if (stream->in_flight > 0)
        rc = land_one(stream, &slot, e);
    else
        for (slot = stream->free; slot && (slot->seen || !slot->shown.landed);)
            slot = slot->next;
    if (slot)
        slot->seen = true;
    *shown = slot ? &slot->shown : NULL;
    return rc;
}

/* ---- opening and closing ---- */

static int refuse_depth(const struct tt_stack *stack, unsigned depth, struct tt_error *e)
{
    const char *backend = stack->elements[stack->n - 1]->name, *instead = "";

    if (stack->n == 1)
        instead =
            strcmp(backend, "mpiio") ? ", or --backend uring" : ", or --mpiio.method nonblocking";
    return tt_fail(e, TT_USAGE,
                   "%u transfers in flight: %s takes one at a time%s; use a depth of 1, --mode "
                   "async+bg to queue them in a helper thread%s",
                   depth, stack->elements[0]->name, stack->n == 1 ? " as it is set" : "", instead);
}

int tt_stream_check_depth(const struct tt_config *config, unsigned depth, struct tt_error *e)
{
    const struct tt_stack *stack = &config->stack;

    if (depth == 0)
        return tt_fail(e, TT_USAGE, "a stream has at least one transfer in flight, not 0");
    if (depth == 1 || config->run->overlap != TT_OVERLAP_NONE || tt_stack_is_reentrant(stack) ||
        tt_stack_most_submitted(stack) >= depth)
        return TT_OK;
    return refuse_depth(stack, depth, e);
}

static void choose_way(struct tt_stream *stream)
{
    struct tt_engine_private *p = stream->series->engine->p;

    if (p->helper && !tt_stack_is_reentrant(&p->stack))
        stream->way = HELPER;
    else if (stream->spec.depth == 1)
        stream->way = DIRECT;
    else
        stream->way = tt_stack_most_submitted(&p->stack) ? NATIVE : THREADS;
    if (stream->way == DIRECT)
        snprintf(p->transfers_way, sizeof p->transfers_way, "%s", way_names[DIRECT]);
    else
        snprintf(p->transfers_way, sizeof p->transfers_way, "up to %u %s", stream->spec.depth,
                 way_names[stream->way]);
}

static size_t buffer_stride(const struct tt_stream *stream)
{
    return (stream->spec.buffer_size + 4095) / 4096 * 4096;
}

static int allocate(struct tt_stream *stream, struct tt_error *e)
{
    size_t ticket = tt_stack_ticket_size(&stream->series->engine->p->stack);
    size_t each = buffer_stride(stream), all;
    unsigned depth = stream->spec.depth;

    if (__builtin_mul_overflow(each, depth, &all) ||
        posix_memalign((void **)&stream->buffers, 4096, all) != 0)
        return tt_fail_nomem(e, "the buffers of transfers");
    memset(stream->buffers, 0,
           all); /* the kernel gives memory here, and not during the transfers */
    stream->slots = calloc(depth, sizeof *stream->slots);
    stream->ticket_states = calloc(depth, ticket);
    if (!stream->slots || !stream->ticket_states)
        return tt_fail_nomem(e, "transfers in flight");
    for (unsigned i = depth; i-- > 0;) {
        struct slot *slot = &stream->slots[i];

        slot->stream = stream;
        slot->shown.buffer = stream->buffers + i * each;
        slot->ticket.state = stream->ticket_states + i * ticket;
        slot->job = (struct tt_task){.run = make_transfer,
                                     .argument = slot,
                                     .ended = stream->way == THREADS ? &stream->ended : NULL};
        set_free(stream, slot);
    }
    return stream->way == THREADS ? tt_pool_start(&stream->threads, depth, NULL, e) : TT_OK;
}

/* By the thread that makes the transfers. */
static int begin(void *argument, struct tt_error *e)
{
    struct tt_stream *stream = argument;
    struct tt_series *s = stream->series;
    uint64_t step = stream->spec.step;
    int rc = TT_OK, used;

    if (stream->spec.direction == TT_WRITING && step >= s->defined) {
        s->defined = step + 1;
        rc = tt__noted(s, tt_file_define(s->file, step, e), e);
    }
    used =
        tt_file_use_buffers(s->file, stream->buffers, buffer_stride(stream), stream->spec.depth, e);
    stream->begun = used == TT_OK;
    return rc == TT_OK ? used : rc;
}

static int end(void *argument, struct tt_error *e)
{
    struct tt_stream *stream = argument;

    return tt_file_use_buffers(stream->series->file, NULL, 0, 0, e);
}

/* Returns rc, or what went wrong here. */
static int free_stream(struct tt_stream *stream, int rc, struct tt_error *e)
{
    if (stream->begun) {
        int now = tt_pool_call(stream->series->engine->p->helper, end, stream, e);

        rc = rc == TT_OK ? now : rc;
    }
    tt_pool_stop(stream->threads);
    free(stream->slots);
    free(stream->ticket_states);
    free(stream->buffers);
    free(stream);
    return rc;
}

int tt_stream_open(struct tt_series *s, const struct tt_stream_spec *spec, struct tt_stream **out,
                   struct tt_error *e)
{
    struct tt_stream *stream = calloc(1, sizeof *stream);
    int64_t t = tt_now_ns();
    int rc;

    *out = NULL;
    if (!stream)
        return tt_agree(s->comm, tt_fail_nomem(e, "a stream"), e);
    stream->series = s;
    stream->spec = *spec;
    stream->look_at = s->engine->p->bytes_written;
    choose_way(stream);
    rc = tt_stream_check_depth(s->engine->config, spec->depth, e);
    if (rc == TT_OK)
        rc = allocate(stream, e);
    rc = tt_agree(s->comm, rc, e);
    stream->preparing_ns = tt_now_ns() - t;
    t += stream->preparing_ns;
    if (rc == TT_OK)
        rc = tt_agree(s->comm, tt_pool_call(s->engine->p->helper, begin, stream, e), e);
    tt_phase_add(s->engine, TT_OPEN, t);
    if (rc != TT_OK)
        return free_stream(stream, rc, e);
    *out = stream;
    return TT_OK;
}

int64_t tt_stream_preparing_ns(const struct tt_stream *stream)
{
    return stream->preparing_ns;
}

int tt_stream_sync(struct tt_stream *stream, int64_t *own_ns, struct tt_error *e)
{
    struct tt_series *s = stream->series;
    struct tt__flight all = {.series = s, .file = s->file};
    int rc = tt_pool_call(s->engine->p->helper, tt__run_sync, &all, e);

    tt_phase_add_ns(s->engine, TT_SYNC, all.sync_ns);
    tt_phase_add_ns(s->engine, TT_IO_SYNC, all.sync_ns);
    s->synced = true;
    *own_ns = all.sync_ns;
    return rc;
}

int tt_stream_close(struct tt_stream *stream, struct tt_error *e)
{
    struct tt_series *series;
    struct slot *slot;
    int rc = TT_OK;

    if (!stream)
        return TT_OK;
    series = stream->series;
    while (stream->in_flight > 0) {
        int now = land_one(stream, &slot, e);

        rc = rc == TT_OK ? now : rc;
    }
    if (stream->failed && rc == TT_OK)
        rc = e->code != TT_OK ? e->code : tt_fail(e, TT_FAILED, "a transfer has failed before");
    rc = tt_agree(series->comm, free_stream(stream, rc, e), e);
    series->failed = series->failed || rc != TT_OK;
    return rc;
}
