/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batches whose blocks are in a device's memory, or some of them. A write goes through up to two
 * copies: one on the device, in the order of its computation, after which that may go on; and one
 * to the host's memory, on a stream of its own and beside the computation. Who executes the batch
 * waits for the second. Without the first (no snapshot), the caller waits for the second, unless it
 * leaves the data alone meanwhile. A read comes to the host's memory, and goes to the device from
 * there.
 *
 * Copies to pageable memory block whoever asks for them: threads that execute the batch make the
 * second copy themselves, so that the caller goes on. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/device_move.h"
#include "engine/queue.h"
#include "record/trace.h"

struct piece {
    struct tt_block origin; /* as the caller gave it */
    size_t element;         /* bytes of one */
    size_t at;              /* in the batch's buffer: what is in the device's memory comes first */
    size_t list;            /* of runs: entries of the lists before its own */
    bool moves;             /* from or to the device, and no block before has done that already */
};

struct tt_staging {
    struct piece *pieces; /* of every request */
    size_t in_device;     /* bytes of them */
    void *snapshot;       /* the dense copy on the device */
    size_t snapshot_size;
    struct tt_device_place *lists, *lists_there; /* of runs, on this side and on the device */
    size_t nlists, most_lists;
    struct tt_device_event *packed, *begun, *ended;
    bool under_way; /* from stage to arrive or return */
    bool fetching;  /* the second copy is left to who executes the batch */
    /* An event that had just happened at that time of the host: where spans begin. */
    struct tt_device_event *known;
    int64_t known_ns;
};

static struct tt_device *device_of(const struct tt_batch *b)
{
    return b->queue->spec.memory->device;
}

static void free_lists(struct tt_batch *b)
{
    const struct tt_memory *memory = b->queue->spec.memory;
    struct tt_staging *s = b->staging;

    if (s->lists)
        memory->release(memory, s->lists);
    if (s->lists_there)
        memory->device->type->release(memory->device, s->lists_there);
    s->lists = s->lists_there = NULL;
    s->most_lists = 0;
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
    free_lists(b);
    for (struct tt_device_event **event = &s->packed; event <= &s->ended; event++)
        if (*event)
            d->type->free_event(d, *event);
    free(s->pieces);
    free(s);
    b->staging = NULL;
}

int tt__staging_make(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc = TT_OK;

    if (s)
        return TT_OK;
    s = b->staging = calloc(1, sizeof *s);
    if (!s)
        return tt_fail_nomem(e, "a staging buffer");
    s->pieces = calloc(b->queue->spec.requests, sizeof *s->pieces);
    if (!s->pieces)
        rc = tt_fail_nomem(e, "a staging buffer");
    for (struct tt_device_event **event = &s->packed; rc == TT_OK && event <= &s->ended; event++)
        rc = d->type->make_event(d, event, e);
    if (rc != TT_OK)
        tt__staging_free(b);
    return rc;
}

/* ---- what goes where ---- */

/* Blocks of one memory after each other in the buffer, from a place on; returns the place behind.
 */
static size_t lay_out(struct tt_batch *b, enum tt_memory_space space, size_t at)
{
    struct tt_staging *s = b->staging;
    const struct piece *before = NULL;

    for (unsigned i = 0; i < b->n; i++) {
        struct piece *p = &s->pieces[i];
        uint64_t n = tt_selection_count(&p->origin.file);

        if (p->origin.space != space || n == 0)
            continue;
        if (before && tt__shares_memory(&p->origin, &before->origin)) {
            p->at = before->at;
            continue;
        }
        before = p;
        p->moves = true;
        p->at = at;
        at += n * p->element;
        p->list = s->nlists;
        if (space == TT_IN_DEVICE)
            s->nlists += tt_device_list_length(&p->origin.memory);
    }
    return at;
}

/* The caller's blocks are remembered. */
static size_t remember(struct tt_batch *b, const struct tt_variable *variables)
{
    struct tt_staging *s = b->staging;

    s->nlists = 0;
    for (unsigned i = 0; i < b->n; i++)
        s->pieces[i] = (struct piece){
            .origin = b->blocks[i],
            .element = tt_block_element_size(&b->blocks[i], &variables[b->blocks[i].variable])};
    s->in_device = lay_out(b, TT_IN_DEVICE, 0);
    return lay_out(b, TT_IN_HOST, s->in_device);
}

/* Those of the batch are of its own buffer from now on. */
static void redirect(struct tt_batch *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        struct tt_block *block = &b->blocks[i];
        uint64_t n = tt_selection_count(&block->file);

        if (n == 0)
            continue;
        block->data = b->buffer + b->staging->pieces[i].at;
        block->space = TT_IN_HOST;
        tt_select_all(&block->memory, 1, &n);
    }
}

/* Whether a copy on the device comes first: asked for, or since a kernel has to pack. */
static bool packs_first(const struct tt_batch *b)
{
    const struct tt_staging *s = b->staging;

    if (b->queue->spec.memory->snapshot && !b->queue->spec.untouched &&
        b->queue->spec.executor == TT_BY_POOL && b->direction == TT_WRITING)
        return true;
    for (unsigned i = 0; i < b->n; i++)
        if (s->pieces[i].moves && s->pieces[i].origin.space == TT_IN_DEVICE &&
            !tt_device_copies_well(device_of(b), &s->pieces[i].origin, s->pieces[i].element))
            return true;
    return false;
}

static int reserve_lists(struct tt_batch *b, struct tt_error *e)
{
    const struct tt_memory *memory = b->queue->spec.memory;
    struct tt_staging *s = b->staging;
    size_t bytes = s->nlists * sizeof *s->lists;
    void *there = NULL;
    int rc;

    if (s->nlists <= s->most_lists)
        return TT_OK;
    free_lists(b);
    s->lists = memory->allocate(memory, bytes, e);
    if (!s->lists)
        return e->code;
    rc = memory->device->type->allocate(memory->device, bytes, &there, e);
    s->lists_there = there;
    s->most_lists = rc == TT_OK ? s->nlists : 0;
    return rc;
}

static int reserve(struct tt_batch *b, size_t bytes, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc = tt__batch_reserve(b, bytes, e);

    if (rc == TT_OK)
        rc = reserve_lists(b, e);
    if (rc != TT_OK || !packs_first(b) || s->snapshot_size >= s->in_device)
        return rc;
    if (s->snapshot)
        d->type->release(d, s->snapshot);
    s->snapshot = NULL;
    rc = d->type->allocate(d, s->in_device, &s->snapshot, e);
    s->snapshot_size = rc == TT_OK ? s->in_device : 0;
    return rc;
}

/* ---- moving it ---- */

static int send_lists(struct tt_batch *b, enum tt_device_stream stream, struct tt_error *e)
{
    struct tt_staging *s = b->staging;

    if (s->nlists == 0)
        return TT_OK;
    for (unsigned i = 0; i < b->n; i++) {
        const struct piece *p = &s->pieces[i];

        if (p->moves && p->origin.space == TT_IN_DEVICE &&
            tt_device_list_length(&p->origin.memory) > 0)
            tt_device_list_make(&p->origin.memory, s->lists + p->list);
    }
    return tt_device_copy_bytes(device_of(b), stream, TT_TO_DEVICE, s->lists_there, s->lists,
                                s->nlists * sizeof *s->lists, e);
}

/* Every block's data once, between its place on the device and `dense`, which has the layout of the
 * buffer. */
static int move_all(struct tt_batch *b, enum tt_device_stream stream,
                    enum tt_device_direction direction, char *dense, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    const struct tt_staging *s = b->staging;
    int rc = send_lists(b, stream, e);

    for (unsigned i = 0; rc == TT_OK && i < b->n; i++) {
        const struct piece *p = &s->pieces[i];
        const struct tt_device_place *list = s->lists_there + p->list;

        if (!p->moves || p->origin.space != TT_IN_DEVICE)
            continue;
        if (b->direction == TT_WRITING)
            rc = tt_device_gather(d, stream, &p->origin, p->element, direction, dense + p->at, list,
                                  e);
        else
            rc = tt_device_scatter(d, stream, &p->origin, p->element, direction, dense + p->at,
                                   list, e);
    }
    return rc;
}

/* The same of the blocks that are in the host's memory. */
static void move_all_here(struct tt_batch *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        const struct piece *p = &b->staging->pieces[i];

        if (!p->moves || p->origin.space != TT_IN_HOST)
            continue;
        if (b->direction == TT_WRITING)
            tt_block_pack(&p->origin, p->element, b->buffer + p->at);
        else
            tt_block_unpack(&p->origin, p->element, b->buffer + p->at);
    }
}

/* All of a batch's copies follow each other on the stream, or its time would be that of others,
 * too. */
static pthread_mutex_t one_batch = PTHREAD_MUTEX_INITIALIZER;

/* The second copy, after what the computation had queued. */
static int fetch(struct tt_batch *b, bool packed, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc;

    pthread_mutex_lock(&one_batch);
    rc = d->type->follow(d, TT_STREAM_STAGING, s->packed, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->begun, TT_STREAM_STAGING, e);
    if (rc == TT_OK && packed)
        rc = tt_device_copy_bytes(d, TT_STREAM_STAGING, TT_FROM_DEVICE, b->buffer, s->snapshot,
                                  s->in_device, e);
    else if (rc == TT_OK)
        rc = move_all(b, TT_STREAM_STAGING, TT_FROM_DEVICE, b->buffer, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->ended, TT_STREAM_STAGING, e);
    pthread_mutex_unlock(&one_batch);
    if (rc != TT_OK) /* copies to the buffer may be under way */
        tt_device_settle(d);
    return rc;
}

/* From the buffer to the device, through the snapshot if a kernel has to unpack. */
static int put_back(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    bool packed = packs_first(b);
    int rc;

    pthread_mutex_lock(&one_batch);
    rc = d->type->record(d, s->begun, TT_STREAM_STAGING, e);
    if (rc == TT_OK && packed)
        rc = tt_device_copy_bytes(d, TT_STREAM_STAGING, TT_TO_DEVICE, s->snapshot, b->buffer,
                                  s->in_device, e);
    if (rc == TT_OK)
        rc = move_all(b, TT_STREAM_STAGING, packed ? TT_WITHIN_DEVICE : TT_TO_DEVICE,
                      packed ? s->snapshot : b->buffer, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->ended, TT_STREAM_STAGING, e);
    pthread_mutex_unlock(&one_batch);
    if (rc != TT_OK)
        tt_device_settle(d);
    return rc;
}

static int send(struct tt_batch *b, struct tt_error *e)
{
    const struct tt_queue_spec *spec = &b->queue->spec;
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    bool packed = packs_first(b);
    int rc = TT_OK;

    s->known = NULL;
    s->fetching =
        !spec->memory->pinned && spec->executor == TT_BY_POOL && (packed || spec->untouched);
    if (packed)
        rc = move_all(b, TT_STREAM_COMPUTE, TT_WITHIN_DEVICE, s->snapshot, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->packed, TT_STREAM_COMPUTE, e);
    if (rc == TT_OK && !s->fetching)
        rc = fetch(b, packed, e);
    if (rc != TT_OK || spec->untouched)
        return rc;
    /* Only then may the caller change it; what it waits for here is the price of going on. */
    rc = packed ? d->type->drain(d, TT_STREAM_COMPUTE, e) : d->type->await(d, s->ended, e);
    b->waited = !packed;
    s->known = packed ? s->packed : s->ended;
    s->known_ns = tt_now_ns();
    return rc;
}

int tt_batch_stage(struct tt_batch *b, const struct tt_variable *variables, struct tt_error *e)
{
    size_t bytes;
    int rc = tt__staging_make(b, e);

    if (rc != TT_OK)
        return rc;
    bytes = remember(b, variables);
    rc = reserve(b, bytes, e);
    if (rc != TT_OK)
        return rc;
    redirect(b);
    b->staged = bytes + b->staging->nlists * sizeof *b->staging->lists;
    b->staging->under_way = bytes > 0;
    if (b->direction != TT_WRITING || bytes == 0)
        return TT_OK;
    move_all_here(b);
    b->staging->under_way = b->staging->in_device > 0;
    return b->staging->under_way ? send(b, e) : TT_OK;
}

static int take_times(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    double moved = 0, after = 0;
    int rc = d->type->elapsed(d, s->begun, s->ended, &moved, e);
    int64_t ended_ns;

    b->moved = s->in_device;
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
    rc = s->fetching ? fetch(b, packs_first(b), e) : TT_OK;
    if (rc == TT_OK)
        rc = d->type->await(d, s->ended, e);
    if (!s->known) {
        s->known = s->ended;
        s->known_ns = tt_now_ns();
    }
    if (rc == TT_OK)
        rc = take_times(b, e);
    b->begun_ns = tt_now_ns();
    if (rc == TT_OK && b->queue->spec.calls->arrived) {
        b->queue->spec.calls->arrived(b);
        b->looked_ns = tt_now_ns() - b->begun_ns;
        b->begun_ns += b->looked_ns; /* what follows is storage's */
    }
    return rc;
}

int tt__batch_settle(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);

    b->staging->under_way = false;
    if (b->buffer && (b->staging->fetching || b->direction == TT_READING)) /* not touched yet */
        memset(b->buffer, 0, b->buffer_size);
    return d->type->drain(d, TT_STREAM_STAGING, e);
}

int tt__batch_return(struct tt_batch *b, struct tt_error *e)
{
    struct tt_device *d = device_of(b);
    struct tt_staging *s = b->staging;
    int rc;

    if (!s->under_way)
        return TT_OK;
    s->under_way = false;
    move_all_here(b);
    if (s->in_device == 0)
        return TT_OK;
    rc = put_back(b, e);
    if (rc == TT_OK)
        rc = d->type->await(d, s->ended, e);
    s->known = s->ended;
    s->known_ns = tt_now_ns();
    return rc == TT_OK ? take_times(b, e) : rc;
}
