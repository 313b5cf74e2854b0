/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batches whose blocks are in a device's memory. A write goes through up to two copies: one on the
 * device, in the order of its computation, after which that may go on; and one to the host's
 * memory, on a stream of its own and beside the computation. Who executes the batch waits for the
 * second. Without the first (no snapshot), the caller waits for the second, unless it leaves the
 * data alone meanwhile. A read comes to the host's memory, and goes to the device from there. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/device_move.h"
#include "engine/queue.h"
#include "record/trace.h"

struct tt_staging {
    struct tt_block *origins; /* of every request: as the caller gave it */
    size_t *elements;         /* bytes of one element of each */
    void *snapshot;           /* the dense copy on the device */
    size_t snapshot_size;
    struct tt_device_event *packed, *begun, *ended;
    bool under_way; /* from stage to arrive or return */
    /* An event that had just happened at that time of the host: where spans begin. */
    struct tt_device_event *known;
    int64_t known_ns;
};

static struct tt_device *device_of(const struct tt_batch *b)
{
    return b->queue->spec.memory->device;
}

void tt__staging_free(struct tt_batch *b)
{
    struct tt_staging *s = b->staging;
    struct tt_device *d = device_of(b);

    if (!s)
        return;
    tt_device_settle(d);
    if (s->snapshot)
        d->type->release(d, s->snapshot);
    for (struct tt_device_event **event = &s->packed; event <= &s->ended; event++)
        if (*event)
            d->type->free_event(d, *event);
    free(s->origins);
    free(s->elements);
    free(s);
    b->staging = NULL;
}

static int make(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc = TT_OK;

    if (s)
        return TT_OK;
    s = b->staging = calloc(1, sizeof *s);
    if (!s)
        return tt_fail_nomem(e, "a staging buffer");
    s->origins = calloc(b->queue->spec.requests, sizeof *s->origins);
    s->elements = calloc(b->queue->spec.requests, sizeof *s->elements);
    if (!s->origins || !s->elements)
        rc = tt_fail_nomem(e, "a staging buffer");
    for (struct tt_device_event **event = &s->packed; rc == TT_OK && event <= &s->ended; event++)
        rc = d->type->make_event(d, event, e);
    if (rc != TT_OK)
        tt__staging_free(b);
    return rc;
}

/* Whether a copy on the device comes first: asked for, or since a kernel has to pack. */
static bool packs_first(const struct tt_batch *b)
{
    const struct tt_staging *s = b->staging;

    if (b->queue->spec.memory->snapshot && !b->queue->spec.untouched &&
        b->queue->spec.executor == TT_BY_POOL && b->direction == TT_WRITING)
        return true;
    for (unsigned i = 0; i < b->n; i++)
        if (s->origins[i].space == TT_IN_DEVICE &&
            !tt_device_copies_well(&s->origins[i], s->elements[i]))
            return true;
    return false;
}

static int reserve(struct tt_batch *b, size_t bytes, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc = tt__batch_reserve(b, bytes, e);

    if (rc != TT_OK || !packs_first(b) || s->snapshot_size >= bytes)
        return rc;
    if (s->snapshot)
        d->type->release(d, s->snapshot);
    s->snapshot = NULL;
    rc = d->type->allocate(d, bytes, &s->snapshot, e);
    s->snapshot_size = rc == TT_OK ? bytes : 0;
    return rc;
}

/* The caller's blocks are remembered, and those of the batch are of its own buffer from now on. */
static void redirect(struct tt_batch *b)
{
    struct tt_staging *s = b->staging;
    const struct tt_block *before = NULL;
    char *data = b->buffer;
    size_t at = 0;

    for (unsigned i = 0; i < b->n; i++) {
        struct tt_block *block = &b->blocks[i];
        uint64_t n = tt_selection_count(&block->file);

        if (n == 0)
            continue;
        if (!tt__shares_memory(&s->origins[i], before)) {
            before = &s->origins[i];
            data = b->buffer + at;
            at += n * s->elements[i];
        }
        block->data = data;
        block->space = TT_IN_HOST;
        tt_select_all(&block->memory, 1, &n);
    }
}

/* Every block's data once, between its place and `dense`, which has the layout of the buffer. */
static int move_all(struct tt_batch *b, enum tt_device_stream stream,
                    enum tt_device_direction direction, char *dense, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    const struct tt_staging *s = b->staging;
    bool out = b->direction == TT_WRITING;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < b->n; i++) {
        const struct tt_block *origin = &s->origins[i];
        char *to = dense + ((char *)b->blocks[i].data - b->buffer);

        if (origin->file.kind == TT_SELECT_NONE ||
            (i > 0 && tt__shares_memory(origin, &s->origins[i - 1])))
            continue;
        if (origin->space == TT_IN_HOST && out)
            tt_block_pack(origin, s->elements[i], b->blocks[i].data);
        else if (origin->space == TT_IN_HOST)
            tt_block_unpack(origin, s->elements[i], b->blocks[i].data);
        else if (out)
            rc = tt_device_gather(d, stream, origin, s->elements[i], direction, to, e);
        else
            rc = tt_device_scatter(d, stream, origin, s->elements[i], direction, to, e);
    }
    return rc;
}

/* The staging stream begins after what the computation has queued so far. */
static int follow_computation(struct tt_device *d, struct tt_device_event *event,
                              struct tt_error *e)
{
    int rc = d->type->record(d, event, TT_STREAM_COMPUTE, e);

    return rc == TT_OK ? d->type->follow(d, TT_STREAM_STAGING, event, e) : rc;
}

static int send(struct tt_batch *b, size_t bytes, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    bool packed = packs_first(b);
    int rc = TT_OK;

    if (packed)
        rc = move_all(b, TT_STREAM_COMPUTE, TT_WITHIN_DEVICE, s->snapshot, e);
    if (rc == TT_OK)
        rc = follow_computation(d, s->packed, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->begun, TT_STREAM_STAGING, e);
    if (rc == TT_OK && packed)
        rc = tt_device_copy_bytes(d, TT_STREAM_STAGING, TT_FROM_DEVICE, b->buffer, s->snapshot,
                                  bytes, e);
    else if (rc == TT_OK)
        rc = move_all(b, TT_STREAM_STAGING, TT_FROM_DEVICE, b->buffer, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->ended, TT_STREAM_STAGING, e);
    if (rc != TT_OK || b->queue->spec.untouched)
        return rc;
    /* Only then may the caller change it; what it waits for here is the price of going on. */
    rc = packed ? d->type->drain(d, TT_STREAM_COMPUTE, e) : d->type->await(d, s->ended, e);
    s->known = packed ? s->packed : s->ended;
    s->known_ns = tt_now_ns();
    return rc;
}

int tt_batch_stage(struct tt_batch *b, const struct tt_variable *variables, struct tt_error *e)
{
    uint64_t bytes = tt_batch_copy_size(b, variables);
    struct tt_staging *s;
    int rc = make(b, e);

    if (rc != TT_OK)
        return rc;
    s = b->staging;
    memcpy(s->origins, b->blocks, b->n * sizeof *b->blocks);
    for (unsigned i = 0; i < b->n; i++)
        s->elements[i] = tt_block_element_size(&b->blocks[i], &variables[b->blocks[i].variable]);
    rc = reserve(b, bytes, e);
    if (rc != TT_OK)
        return rc;
    redirect(b);
    b->staged = bytes;
    s->under_way = bytes > 0;
    return s->under_way && b->direction == TT_WRITING ? send(b, bytes, e) : TT_OK;
}

static int take_times(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    double moved = 0, after = 0;
    int rc = d->type->elapsed(d, s->begun, s->ended, &moved, e);
    int64_t ended_ns;

    b->moved = b->staged;
    b->staging_ns = (int64_t)(1e9 * moved);
    if (rc != TT_OK || !tt_trace_wants(TT_TRACE_ALL))
        return rc;
    rc = d->type->elapsed(d, s->known, s->ended, &after, e);
    ended_ns = s->known_ns + (int64_t)(1e9 * after);
    tt_trace_device(TT_TRACK_STAGING, TT_IO_STAGE, ended_ns - b->staging_ns, ended_ns);
    return rc;
}

int tt__batch_arrive(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc;

    if (!s->under_way || b->direction != TT_WRITING || b->rc != TT_OK)
        return TT_OK;
    s->under_way = false;
    rc = d->type->await(d, s->ended, e);
    if (rc == TT_OK)
        rc = take_times(b, e);
    if (rc == TT_OK && b->queue->spec.calls->arrived)
        b->queue->spec.calls->arrived(b);
    b->begun_ns = tt_now_ns(); /* what follows is storage's */
    return rc;
}

int tt__batch_settle(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);

    b->staging->under_way = false;
    return d->type->drain(d, TT_STREAM_STAGING, e);
}

int tt__batch_return(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    bool packed;
    int rc;

    if (!s->under_way)
        return TT_OK;
    s->under_way = false;
    packed = packs_first(b);
    rc = d->type->record(d, s->begun, TT_STREAM_STAGING, e);
    if (rc == TT_OK && packed)
        rc = tt_device_copy_bytes(d, TT_STREAM_STAGING, TT_TO_DEVICE, s->snapshot, b->buffer,
                                  b->staged, e);
    if (rc == TT_OK)
        rc = move_all(b, TT_STREAM_STAGING, packed ? TT_WITHIN_DEVICE : TT_TO_DEVICE,
                      packed ? s->snapshot : b->buffer, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->ended, TT_STREAM_STAGING, e);
    if (rc == TT_OK)
        rc = d->type->await(d, s->ended, e);
    s->known = s->ended;
    s->known_ns = tt_now_ns();
    return rc == TT_OK ? take_times(b, e) : rc;
}
