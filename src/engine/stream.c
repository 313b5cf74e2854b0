/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single transfers, several in flight: a transfer queue whose batches have one request and no
 * agreement. The caller makes them if one is in flight at a time, else the backend's nonblocking
 * calls, threads where calls may go on side by side, or the helper thread, in which they queue: the
 * depth then is that of the queue, not of the storage.
 *
 * On a device the buffers that the caller fills or looks at are in its memory. Each has one of the
 * host's beside it, from and to which storage's transfers are made; copying between the two is part
 * of a transfer. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/series.h"
#include "io/layers/verify/ledger.h"
#include "plan/limits.h"

/* How many bytes a rank writes until it looks at the free space again. */
#define LOOK_BYTES (UINT64_C(256) << 20)

struct slot {
    struct tt_stream_slot shown; /* first, so that one is the other */
    struct tt_stream *stream;
    struct tt_batch *batch;
    bool seen; /* the finished transfer, by the caller */
};

struct tt_stream {
    struct tt_engine *engine;
    struct tt_series *series;
    struct tt_stream_spec spec;
    struct tt_queue queue;
    struct tt_pool *threads; /* of its own, if transfers go on side by side */
    pthread_mutex_t looking; /* at data that arrives from a device, in whatever thread that is */
    size_t buffer_stride;
    void *in_device; /* the callers' buffers, all of them; NULL: they are the queue's */
    bool in_step;    /* ranks make their calls together, so who has failed makes them, too */
    bool begun;      /* the file knows the buffers */
    bool prepared;   /* before it was needed, for all streams of the run */
    bool used;
    bool failed; /* a transfer of this rank has */
    struct slot *slots;
    int64_t open_ns;    /* of this rank's own calls */
    int64_t clock_ns;   /* as read last */
    int64_t busy_since; /* something has been in flight since then */
    uint64_t look_at;   /* bytes written by this rank at which free space is looked at */
};

static bool is_writing(const struct tt_stream *stream)
{
    return stream->spec.direction == TT_WRITING;
}

/* ---- accounts ---- */

/* What has failed is not complete. */
static int count(struct tt_stream *stream, const struct tt_batch *b, struct tt_error *e)
{
    struct tt_engine_private *p = stream->engine->p;
    const struct tt_request *r = b->requests;
    struct slot *slot = b->owner;
    int rc = tt_batch_result(b, e);

    if (rc != TT_OK) {
        stream->failed = true;
        return tt__noted(stream->series, rc, e);
    }
    tt__count_staging(stream->engine, b);
    slot->shown.complete = true;
    slot->shown.took_ns = r->ended_ns - b->submitted_ns - b->looked_ns + r->sync_ns;
    slot->seen = false;
    if (slot->shown.bytes == 0)
        return TT_OK;
    tt_histogram_add(&p->calls[is_writing(stream) ? TT_CALL_WRITE : TT_CALL_READ],
                     r->ended_ns - b->submitted_ns - b->looked_ns);
    tt__count_transfer(stream->series, stream->spec.direction, b->submitted_ns, r->ended_ns,
                       slot->shown.bytes);
    if (r->sync_ns > 0)
        tt_histogram_add(&p->calls[TT_CALL_SYNC], r->sync_ns);
    if (is_writing(stream)) {
        p->bytes_written += slot->shown.bytes;
        p->now.bytes_written += slot->shown.bytes;
    } else {
        p->now.bytes_read += slot->shown.bytes;
    }
    return TT_OK;
}

static enum tt_phase own_phase(const struct tt_stream *stream)
{
    return is_writing(stream) ? TT_IO_WRITE : TT_IO_READ;
}

/* By the caller: the main thread's time is the transfer's own. */
static int transfer_directly(struct tt_stream *stream, struct tt_batch *b, int64_t now_ns,
                             struct tt_error *e)
{
    struct tt_engine *engine = stream->engine;
    int64_t ns, sync_ns;

    tt_queue_execute(&stream->queue, b, now_ns);
    ns = b->requests->ended_ns - now_ns - b->looked_ns;
    sync_ns = b->requests->sync_ns;
    stream->clock_ns = b->moved_ns;
    tt__phase_add_ns(engine, is_writing(stream) ? TT_SUBMIT : TT_LOAD, ns);
    tt__phase_add_ns(engine, own_phase(stream), ns);
    if (sync_ns > 0) {
        tt__phase_add_ns(engine, TT_SYNC, sync_ns);
        tt__phase_add_ns(engine, TT_IO_SYNC, sync_ns);
    }
    return count(stream, b, e);
}

/* ---- the caller's loop ---- */

/* No rank asks another: each may write its part of --max-bytes. */
static int check_own_limits(struct tt_stream *stream, struct tt_stream_slot *slot,
                            struct tt_error *e)
{
    struct tt_engine *engine = stream->engine;
    const struct tt_run_options *run = engine->config->run;
    uint64_t written = engine->p->bytes_written, part = run->max_bytes / (uint64_t)engine->size;
    uint64_t under_way = (stream->queue.in_flight + UINT64_C(1)) * stream->spec.buffer_size;

    if (run->max_bytes > 0 && written + under_way > part)
        return tt_fail(e, TT_LIMIT,
                       "stopped by --max-bytes %llu: a rank has written its part, %llu",
                       (unsigned long long)run->max_bytes, (unsigned long long)written);
    if (written < stream->look_at)
        return TT_OK;
    stream->look_at = written + LOOK_BYTES;
    slot->ready_ns = 0; /* that was before the look */
    if (!(tt_stack_caps(&engine->p->stack) & TT_CAP_STORES))
        return TT_OK;
    return tt_limits_check_room(
        engine->config, stream->series->spec.access == TT_UPDATE ? 0 : stream->spec.buffer_size, e);
}

/* Before a write: where calls are collective, either all ranks make the next one or none does. What
 * takes time here is no part of the transfer. */
static int check_write(struct tt_stream *stream, struct tt_stream_slot *slot, struct tt_error *e)
{
    int rc = check_own_limits(stream, slot, e);

    if (stream->in_step) {
        rc = tt_agree(stream->series->comm, rc, e);
        slot->ready_ns = 0;
    }
    slot->block.hash = 0;
    if (rc != TT_OK || stream->in_device) /* it is looked at when it has arrived */
        return rc;
    if (!stream->spec.overlapping &&
        tt__spot_check_transfer(stream->series->spot_check, stream->spec.step, &slot->block))
        slot->ready_ns = 0;
    if (stream->engine->p->verifies &&
        stream->queue.spec.executor != TT_BY_CALLER) { /* nothing is copied */
        const struct tt_variable *v = &stream->series->spec.variables[slot->block.variable];

        slot->block.hash = tt_block_hash(&slot->block, v->element->size);
        slot->ready_ns = 0;
    }
    return rc;
}

void tt__look_at_transfer(struct tt_batch *b)
{
    const struct slot *slot = b->owner;
    struct tt_stream *stream = slot->stream;

    if (stream->spec.overlapping)
        return;
    pthread_mutex_lock(&stream->looking);
    tt__spot_check_transfer(stream->series->spot_check, b->step, b->blocks);
    pthread_mutex_unlock(&stream->looking);
}

/* The block of the caller's buffer becomes one of the queue's, on this side of the device. */
static void stage(struct tt_stream *stream, struct tt_batch *b, const struct tt_block *block)
{
    b->blocks[0] = *block;
    b->rc = tt_batch_stage(b, stream->series->spec.variables, &b->error);
}

int tt_stream_start(struct tt_stream *stream, struct tt_stream_slot *slot, struct tt_error *e)
{
    struct tt_batch *b = ((struct slot *)slot)->batch;
    const struct tt_variable *v = &stream->series->spec.variables[slot->block.variable];
    bool in_flight;
    int64_t now_ns;
    int rc = TT_OK;

    slot->block.data = slot->buffer;
    slot->block.space = stream->in_device ? TT_IN_DEVICE : TT_IN_HOST;
    slot->complete = false;
    slot->bytes = tt_selection_count(&slot->block.file) * v->element->size;
    if (is_writing(stream))
        rc = check_write(stream, slot, e);
    if (rc != TT_OK) {
        tt_queue_give_back(&stream->queue, b);
        return rc;
    }
    tt_batch_add(b);
    if (!is_writing(stream)) {
        if (stream->in_device)
            stage(stream, b, &slot->block);
        if (b->rc == TT_OK)
            tt__spoil(&b->requests->spoilt, v, b->requests->block);
    }
    now_ns = slot->ready_ns ? slot->ready_ns : tt_now_ns();
    slot->ready_ns = 0;
    if (stream->in_device && is_writing(stream))
        stage(stream, b, &slot->block);
    if (stream->queue.spec.executor == TT_BY_CALLER)
        return transfer_directly(stream, b, now_ns, e);
    in_flight = tt_queue_start(&stream->queue, b, now_ns);
    if (stream->queue.in_flight == 1)
        stream->busy_since = b->submitted_ns;
    stream->clock_ns = tt_now_ns();
    tt__phase_add_ns(stream->engine, is_writing(stream) ? TT_SUBMIT : TT_LOAD,
                     stream->clock_ns - b->submitted_ns);
    return in_flight ? TT_OK : count(stream, tt_queue_complete(&stream->queue), e);
}

int64_t tt_stream_clock(const struct tt_stream *stream)
{
    return stream->clock_ns;
}

/* The I/O's own duration is the time in which anything was in flight. */
static int complete_one(struct tt_stream *stream, struct slot **completed, struct tt_error *e)
{
    struct tt_engine *engine = stream->engine;
    int64_t t = tt_now_ns(), until;
    const struct tt_batch *b = tt_queue_complete(&stream->queue);

    *completed = b->owner;
    until = stream->queue.spec.executor == TT_BY_BACKEND ? b->moved_ns : tt_now_ns();
    stream->clock_ns = until;
    if (stream->queue.in_flight == 0)
        tt__phase_add_ns(engine, own_phase(stream), until - stream->busy_since);
    tt__phase_add_ns(engine, is_writing(stream) ? TT_WAIT : TT_LOAD, until - t);
    return count(stream, b, e);
}

int tt_stream_take(struct tt_stream *stream, struct tt_stream_slot **shown, struct tt_error *e)
{
    struct slot *slot;
    int rc = stream->queue.free ? TT_OK : complete_one(stream, &slot, e);

    slot = tt_queue_take(&stream->queue)->owner; /* also if the transfer before has failed */
    slot->shown.complete = slot->shown.complete && !slot->seen;
    slot->seen = true;
    *shown = &slot->shown;
    return rc;
}

int tt_stream_complete(struct tt_stream *stream, struct tt_stream_slot **shown, struct tt_error *e)
{
    struct slot *slot = NULL;
    int rc = TT_OK;

    if (stream->queue.in_flight > 0) {
        rc = complete_one(stream, &slot, e);
    } else {
        for (const struct tt_batch *b = stream->queue.free; b && !slot; b = b->next) {
            struct slot *each = b->owner;

            if (each->shown.complete && !each->seen)
                slot = each;
        }
    }
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

/* The executor and the pool of spec; says so in the record. */
static int choose_way(struct tt_stream *stream, struct tt_queue_spec *spec, struct tt_error *e)
{
    struct tt_engine_private *p = stream->engine->p;
    const char *how;

    if (p->helper && !tt_stack_is_reentrant(&p->stack)) {
        spec->executor = TT_BY_POOL;
        spec->pool = p->helper;
        how = "queued at a time for the helper thread, which makes one after the other";
    } else if (spec->depth == 1) {
        snprintf(p->transfers_way, sizeof p->transfers_way, "one at a time, by the caller");
        return TT_OK;
    } else if (tt_stack_most_submitted(&p->stack)) {
        spec->executor = TT_BY_BACKEND;
        spec->in_any_order = true;
        how = "in flight at a time, by nonblocking calls of the backend";
    } else {
        spec->executor = TT_BY_POOL;
        spec->in_any_order = true;
        how = "in flight at a time, by a thread for each";
    }
    snprintf(p->transfers_way, sizeof p->transfers_way, "up to %u %s", spec->depth, how);
    if (spec->executor == TT_BY_BACKEND || spec->pool)
        return TT_OK;
    if (tt_pool_start(&stream->threads, spec->depth, NULL, e) != TT_OK)
        return e->code;
    spec->pool = stream->threads;
    return TT_OK;
}

/* All that transfers need but a file. */
static int allocate(struct tt_stream *stream, unsigned depth, size_t buffer_size,
                    struct tt_error *e)
{
    struct tt_engine *engine = stream->engine;
    struct tt_device *d = engine->device;
    struct tt_queue_spec spec = {
        .calls = &tt__stream_calls,
        .memory = &engine->p->memory,
        .untouched = true,
        .depth = depth,
        .requests = 1,
        .ticket_size = tt_stack_ticket_size(&engine->p->stack),
    };
    int rc = tt_stream_check_depth(engine->config, depth, e);

    if (rc == TT_OK)
        rc = choose_way(stream, &spec, e);
    if (rc == TT_OK)
        rc = tt_queue_open(&stream->queue, &spec, e);
    if (rc == TT_OK)
        rc = tt_queue_reserve(&stream->queue, buffer_size, &stream->buffer_stride, e);
    if (rc == TT_OK && d)
        rc = d->type->allocate(d, depth * stream->buffer_stride, &stream->in_device, e);
    for (unsigned i = 0; rc == TT_OK && d && i < depth; i++)
        rc = tt__staging_make(&stream->queue.batches[i], e);
    if (rc != TT_OK)
        return rc;
    stream->slots = calloc(depth, sizeof *stream->slots);
    return stream->slots ? TT_OK : tt_fail_nomem(e, "transfers in flight");
}

static void free_stream(struct tt_stream *stream)
{
    tt_pool_stop(stream->threads);
    tt_queue_close(&stream->queue); /* waits for copies to and from the device */
    if (stream->in_device)
        stream->engine->device->type->release(stream->engine->device, stream->in_device);
    pthread_mutex_destroy(&stream->looking);
    free(stream->slots);
    free(stream);
}

static int make_stream(struct tt_engine *engine, unsigned depth, size_t buffer_size,
                       struct tt_stream **out, struct tt_error *e)
{
    struct tt_stream *stream = calloc(1, sizeof *stream);
    int rc;

    *out = NULL;
    if (!stream)
        return tt_fail_nomem(e, "a stream");
    pthread_mutex_init(&stream->looking, NULL);
    stream->engine = engine;
    stream->spec.depth = depth;
    stream->spec.buffer_size = buffer_size;
    rc = allocate(stream, depth, buffer_size, e);
    if (rc == TT_OK)
        *out = stream;
    else
        free_stream(stream);
    return rc;
}

int tt_stream_prepare(struct tt_engine *engine, unsigned depth, size_t buffer_size,
                      struct tt_error *e)
{
    return engine->p->prepared ? TT_OK
                               : make_stream(engine, depth, buffer_size, &engine->p->prepared, e);
}

void tt__stream_forget(struct tt_engine_private *p)
{
    if (p->prepared)
        free_stream(p->prepared);
    p->prepared = NULL;
}

/* What was prepared, if it is right for this; else all of it now. */
static int take_stream(struct tt_engine *engine, const struct tt_stream_spec *spec,
                       struct tt_stream **out, struct tt_error *e)
{
    struct tt_stream *prepared = engine->p->prepared;

    if (!prepared || prepared->spec.depth != spec->depth ||
        prepared->spec.buffer_size != spec->buffer_size)
        return make_stream(engine, spec->depth, spec->buffer_size, out, e);
    engine->p->prepared = NULL;
    prepared->prepared = true;
    *out = prepared;
    return TT_OK;
}

/* Buffers that others have used are empty again: what is not read is not taken for what was. */
static void attach(struct tt_stream *stream, struct tt_series *s, const struct tt_stream_spec *spec)
{
    struct tt_queue *q = &stream->queue;

    stream->series = s;
    stream->spec = *spec;
    stream->look_at = s->engine->p->bytes_written;
    stream->in_step = !s->spec.per_process && tt_stack_is_collective(&s->engine->p->stack);
    q->spec.sync_each = is_writing(stream) && s->engine->config->run->sync == TT_SYNC_WRITE;
    q->spec.sync_failed = stream->in_step;
    if (stream->used)
        memset(q->slab, 0, spec->depth * stream->buffer_stride);
    stream->used = true;
    for (unsigned i = 0; i < spec->depth; i++) {
        struct slot *slot = &stream->slots[i];
        struct tt_batch *b = &q->batches[i];

        *slot = (struct slot){.stream = stream, .batch = b};
        slot->shown.buffer =
            stream->in_device ? (char *)stream->in_device + i * stream->buffer_stride : b->buffer;
        b->owner = slot;
        b->file = s->file;
        b->step = spec->step;
        b->direction = spec->direction;
        if (!stream->in_device)
            b->requests->block = &slot->shown.block;
    }
}

/* By the thread that makes the transfers. */
static int begin(void *argument, struct tt_error *e)
{
    struct tt_stream *stream = argument;
    struct tt_series *s = stream->series;
    int64_t t = tt_now_ns();
    int rc = is_writing(stream) ? tt__define_step(s, s->file, stream->spec.step, e) : TT_OK;
    int used = tt_file_use_buffers(s->file, stream->queue.slab, stream->buffer_stride,
                                   stream->spec.depth, e);

    stream->open_ns = s->file->open_ns + tt_now_ns() - t;
    stream->begun = used == TT_OK;
    return rc == TT_OK ? used : rc;
}

static int end(void *argument, struct tt_error *e)
{
    struct tt_stream *stream = argument;

    return tt_file_use_buffers(stream->series->file, NULL, 0, 0, e);
}

/* Returns rc, or what went wrong here. What was prepared, and is still good, is for the next. */
static int leave(struct tt_stream *stream, int rc, struct tt_error *e)
{
    struct tt_engine_private *p = stream->engine->p;

    if (stream->begun) {
        int now = tt_pool_call(p->helper, end, stream, e);

        rc = rc == TT_OK ? now : rc;
    }
    stream->begun = false;
    if (rc == TT_OK && stream->prepared && !p->prepared)
        p->prepared = stream;
    else
        free_stream(stream);
    return rc;
}

int tt_stream_open(struct tt_series *s, const struct tt_stream_spec *spec, struct tt_stream **out,
                   struct tt_error *e)
{
    struct tt_stream *stream;
    int64_t t;
    int rc = tt_agree(s->comm, take_stream(s->engine, spec, &stream, e), e);

    *out = NULL;
    if (stream)
        attach(stream, s, spec);
    t = tt_now_ns(); /* getting buffers from the kernel is no part of opening */
    if (rc == TT_OK)
        rc = tt_agree(s->comm, tt_pool_call(s->engine->p->helper, begin, stream, e), e);
    tt_phase_add(s->engine, TT_OPEN, t);
    if (rc != TT_OK)
        return stream ? leave(stream, rc, e) : rc;
    *out = stream;
    return TT_OK;
}

int64_t tt_stream_open_ns(const struct tt_stream *stream)
{
    return stream->open_ns;
}

int tt_stream_sync(struct tt_stream *stream, int64_t *own_ns, struct tt_error *e)
{
    struct tt_series *s = stream->series;
    struct tt__dump all = {.series = s, .file = s->file};
    int rc = tt_pool_call(s->engine->p->helper, tt__sync_file, &all, e);

    tt__phase_add_ns(s->engine, TT_SYNC, all.sync_ns);
    tt__phase_add_ns(s->engine, TT_IO_SYNC, all.sync_ns);
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
    while (stream->queue.in_flight > 0) {
        int now = complete_one(stream, &slot, e);

        rc = rc == TT_OK ? now : rc;
    }
    if (stream->failed && rc == TT_OK)
        rc = e->code != TT_OK ? e->code : tt_fail(e, TT_FAILED, "a transfer has failed before");
    rc = tt_agree(series->comm, leave(stream, rc, e), e);
    series->failed = series->failed || rc != TT_OK;
    return rc;
}
