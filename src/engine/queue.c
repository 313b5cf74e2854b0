/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/trace.h"

#define PAGE 4096

/* ---- memory ---- */

static void *allocate_pages(const struct tt_memory *memory, size_t bytes, struct tt_error *e)
{
    void *data = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);

    (void)memory;
    if (!data)
        tt_fail_nomem(e, "the buffers of transfers");
    return data;
}

static void free_pages(const struct tt_memory *memory, void *data)
{
    (void)memory;
    free(data);
}

static void *allocate_pinned(const struct tt_memory *memory, size_t bytes, struct tt_error *e)
{
    void *data = NULL;

    return memory->device->type->pin(memory->device, bytes, &data, e) == TT_OK ? data : NULL;
}

static void free_pinned(const struct tt_memory *memory, void *data)
{
    memory->device->type->unpin(memory->device, data);
}

const struct tt_memory tt_host_memory = {allocate_pages, free_pages, NULL, false, false};

struct tt_memory tt_memory_of(struct tt_device *device, bool pinned, bool snapshot)
{
    return (struct tt_memory){pinned ? allocate_pinned : allocate_pages,
                              pinned ? free_pinned : free_pages, device, pinned, snapshot};
}

int tt_queue_reserve(struct tt_queue *q, size_t bytes, size_t *each, struct tt_error *e)
{
    size_t all;

    *each = (bytes + PAGE - 1) / PAGE * PAGE;
    if (__builtin_mul_overflow(*each, q->spec.depth, &all))
        return tt_fail_nomem(e, "the buffers of transfers");
    q->slab = q->spec.memory->allocate(q->spec.memory, all, e);
    if (!q->slab)
        return e->code;
    memset(q->slab, 0, all); /* the kernel gives memory here, and not during the transfers */
    for (unsigned i = 0; i < q->spec.depth; i++) {
        q->batches[i].buffer = q->slab + i * *each;
        q->batches[i].buffer_size = *each;
    }
    return TT_OK;
}

static void release_buffer(struct tt_queue *q, struct tt_batch *b)
{
    if (!q->slab && b->buffer)
        q->spec.memory->release(q->spec.memory, b->buffer);
    b->buffer = NULL;
    b->buffer_size = 0;
}

/* ---- making a batch ---- */

struct tt_batch *tt_queue_take(struct tt_queue *q)
{
    struct tt_batch *b = q->free;

    if (!b)
        return NULL;
    q->free = b->next;
    b->n = 0;
    b->staging_ns = b->looked_ns = 0;
    b->waited = false;
    b->moved = 0;
    if (b->rc != TT_OK) {
        b->rc = TT_OK;
        b->failed = 0;
        tt_error_clear(&b->error);
    }
    return b;
}

void tt_batch_take_buffers(struct tt_batch *b)
{
    struct tt_batch *best = b, was = *b;

    if (b->queue->slab)
        return;
    for (struct tt_batch *other = b->queue->free; other; other = other->next)
        if (other->buffer_size > best->buffer_size)
            best = other;
    if (best == b)
        return;
    b->buffer = best->buffer;
    b->buffer_size = best->buffer_size;
    b->staging = best->staging;
    best->buffer = was.buffer;
    best->buffer_size = was.buffer_size;
    best->staging = was.staging;
}

void tt_queue_give_back(struct tt_queue *q, struct tt_batch *b)
{
    b->next = q->free;
    q->free = b;
}

struct tt_block *tt_batch_add(struct tt_batch *b)
{
    struct tt_request *r = &b->requests[b->n++];

    r->id = ++b->queue->last_id;
    r->sync_ns = 0;
    return r->block;
}

bool tt_queue_has_room(const struct tt_queue *q, size_t bytes)
{
    return q->spec.limit == 0 || q->in_flight == 0 || q->staged + bytes <= q->spec.limit;
}

bool tt__shares_memory(const struct tt_block *b, const struct tt_block *before)
{
    return before && b->memory_element && b->memory_element == before->memory_element &&
           b->data == before->data && b->memory.kind == TT_SELECT_ALL &&
           before->memory.kind == TT_SELECT_ALL &&
           tt_selection_count(&b->memory) == tt_selection_count(&before->memory);
}

static uint64_t bytes_of(const struct tt_block *b, const struct tt_variable *variables)
{
    return tt_selection_count(&b->file) * tt_block_element_size(b, &variables[b->variable]);
}

int tt_batch_check_memory(const struct tt_batch *b, struct tt_error *e)
{
    for (unsigned i = 0; !b->queue->spec.memory->device && i < b->n; i++)
        if (b->blocks[i].space != TT_IN_HOST)
            return tt_fail(e, TT_UNSUPPORTED,
                           "block %u is in a device's memory, but this run has no device", i);
    return TT_OK;
}

bool tt_batch_is_in_device(const struct tt_batch *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->blocks[i].space == TT_IN_DEVICE)
            return true;
    return false;
}

/* Of batches that are free, so that all together hold no more than the limit: where dumps grow,
 * buffers that are too small are left over. */
static void drop_spare_buffers(struct tt_queue *q, size_t bytes)
{
    size_t all = bytes;

    for (unsigned i = 0; i < q->spec.depth; i++)
        all += q->batches[i].buffer_size;
    for (struct tt_batch *b = q->free; b && q->spec.limit > 0 && all > q->spec.limit; b = b->next) {
        all -= b->buffer_size;
        if (b->staging)
            tt__staging_free(b); /* first: it waits for copies to the buffer */
        release_buffer(q, b);
    }
}

int tt__batch_reserve(struct tt_batch *b, size_t bytes, struct tt_error *e)
{
    const struct tt_memory *memory = b->queue->spec.memory;

    if (bytes <= b->buffer_size)
        return TT_OK;
    release_buffer(b->queue, b);
    drop_spare_buffers(b->queue, bytes);
    b->buffer = memory->allocate(memory, bytes, e);
    if (!b->buffer)
        return e->code;
    b->buffer_size = bytes;
    return TT_OK;
}

uint64_t tt_batch_copy_size(const struct tt_batch *b, const struct tt_variable *variables)
{
    const struct tt_block *before = NULL;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < b->n; i++)
        if (!tt__shares_memory(&b->blocks[i], before)) {
            before = &b->blocks[i];
            bytes += bytes_of(before, variables);
        }
    return bytes;
}

int tt_batch_copy(struct tt_batch *b, const struct tt_variable *variables, struct tt_error *e)
{
    uint64_t bytes = tt_batch_copy_size(b, variables), at = 0;
    struct tt_block before;
    char *copy = NULL;
    int rc = tt__batch_reserve(b, bytes, e);

    if (rc != TT_OK)
        return rc;
    b->staged = bytes;
    for (unsigned i = 0; i < b->n; i++) {
        struct tt_block *block = &b->blocks[i];
        uint64_t n = tt_selection_count(&block->file);

        if (n == 0)
            continue;
        if (!tt__shares_memory(block, copy ? &before : NULL)) {
            before = *block;
            copy = b->buffer + at;
            tt_block_pack(block, tt_block_element_size(block, &variables[block->variable]), copy);
            at += bytes_of(block, variables);
        }
        block->data = copy;
        tt_select_all(&block->memory, 1, &n);
    }
    return TT_OK;
}

/* ---- executing it, in whatever thread ---- */

/* As it is counted: a call that moves nothing is none. */
static void trace_request(const struct tt_request *r)
{
    const struct tt_batch *b = r->batch;
    bool by_backend = b->queue->spec.executor == TT_BY_BACKEND;

    if (r->block->file.kind != TT_SELECT_NONE)
        tt_trace_add(&(struct tt_span){
            .start_ns = r->started_ns,
            .end_ns = r->ended_ns,
            .id = r->id,
            .kind = TT_SPAN_CALL + (b->direction == TT_WRITING ? TT_CALL_WRITE : TT_CALL_READ),
            .flags = by_backend ? TT_SPAN_IN_FLIGHT : 0});
}

/* The sync that belongs to a request, and the first failure. */
static void end_request(struct tt_request *r, int rc)
{
    struct tt_batch *b = r->batch;
    const struct tt_queue_spec *spec = &b->queue->spec;

    if (tt_trace_wants(TT_TRACE_ALL))
        trace_request(r);
    if (rc == TT_OK && b->direction == TT_READING && spec->calls->judge)
        rc = spec->calls->judge(r, &b->error);
    if (spec->sync_each && (rc == TT_OK || spec->sync_failed)) {
        int synced = spec->calls->sync(r, &b->error);

        rc = rc == TT_OK ? synced : rc;
        r->sync_ns = tt_now_ns() - r->ended_ns;
        tt_trace_call(TT_TRACE_ALL, TT_CALL_SYNC, r->id, r->ended_ns, r->ended_ns + r->sync_ns);
    }
    if (rc != TT_OK && b->rc == TT_OK) {
        b->rc = rc;
        b->failed = r->id;
    }
    b->moved_ns = r->ended_ns + r->sync_ns;
}

/* False if there is no file. What all ranks know comes before what this one has found. */
static bool begin(struct tt_batch *b)
{
    struct tt_error why = TT_ERROR_CLEAR;
    int rc = b->queue->spec.calls->begin(b, &why);

    if (rc != TT_OK && (b->rc == TT_OK || !b->file)) {
        b->rc = rc;
        b->error = why;
    }
    b->moved_ns = tt_now_ns();
    return b->file != NULL;
}

static void leave_out_if_failed(struct tt_request *r)
{
    if (r->batch->rc == TT_OK)
        return;
    r->block->file.kind = TT_SELECT_NONE;
    r->block->memory.kind = TT_SELECT_NONE;
    r->spoilt.n = 0;
}

static void end(struct tt_batch *b)
{
    if (b->queue->spec.calls->end)
        b->rc = b->queue->spec.calls->end(b, b->rc, &b->error);
}

/* Data of a device's memory comes before the first transfer, or goes there after the last. */
static void arrive(struct tt_batch *b)
{
    struct tt_error why = TT_ERROR_CLEAR;
    int rc = b->staging ? tt__batch_arrive(b, &why) : TT_OK;

    if (rc != TT_OK && b->rc == TT_OK) {
        b->rc = rc;
        b->error = why;
    }
}

static void give_to_device(struct tt_batch *b)
{
    if (!b->staging || b->rc != TT_OK || b->direction != TT_READING)
        return;
    b->rc = tt__batch_return(b, &b->error);
    if (b->queue->spec.untouched) /* its one request has ended when the data is at hand */
        b->moved_ns = b->requests->ended_ns = tt_now_ns();
}

static void transfer_all(struct tt_batch *b)
{
    const struct tt_queue_calls *calls = b->queue->spec.calls;

    arrive(b);
    b->moved_ns = b->begun_ns;
    if (calls->begin && !begin(b))
        return;
    for (unsigned i = 0; i < b->n; i++) {
        struct tt_request *r = &b->requests[i];
        int rc;

        leave_out_if_failed(r);
        r->started_ns = b->moved_ns;
        rc = calls->transfer(r, &b->error);
        r->ended_ns = tt_now_ns();
        end_request(r, rc);
    }
    give_to_device(b);
    end(b);
}

static int run_task(void *batch, struct tt_error *unused)
{
    struct tt_batch *b = batch;
    int64_t cpu_ns = b->queue->spec.in_any_order ? 0 : tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    (void)unused; /* a batch has an error of its own, from before it was started */
    b->begun_ns = tt_now_ns();
    transfer_all(b);
    /* Not of a stream's transfers: the system call would weigh more than they do. */
    b->cpu_ns = b->queue->spec.in_any_order ? 0 : tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    return TT_OK;
}

/* ---- the backend's nonblocking calls ---- */

/* False if there is nothing to wait for. Where ranks agree, also what was not taken is waited for.
 */
static bool submit_all(struct tt_batch *b)
{
    const struct tt_queue_calls *calls = b->queue->spec.calls;

    arrive(b);
    if (calls->begin && !begin(b))
        return false;
    if (b->rc != TT_OK && !calls->end)
        return false;
    for (unsigned i = 0; i < b->n; i++) {
        struct tt_request *r = &b->requests[i];
        int rc;

        leave_out_if_failed(r);
        r->started_ns = b->submitted_ns;
        rc = calls->submit(r, &b->error);
        if (rc != TT_OK && b->rc == TT_OK) {
            b->rc = rc;
            b->failed = r->id;
        }
    }
    return b->rc == TT_OK || calls->end;
}

static struct tt_batch *wait_for_backend(struct tt_queue *q)
{
    struct tt_batch *b = q->oldest;

    for (unsigned i = 0; i < b->n; i++) {
        struct tt_request *done = &b->requests[i];
        int rc = q->spec.calls->wait(&b->requests[i], &done, &b->error);

        if (done->batch != b) { /* in any order, and then it is all of that batch */
            if (rc != TT_OK) {
                done->batch->error = b->error;
                tt_error_clear(&b->error);
            }
            b = done->batch;
        }
        done->ended_ns = tt_now_ns();
        end_request(done, rc);
    }
    give_to_device(b);
    end(b);
    return b;
}

/* ---- starting and completing ---- */

void tt_queue_execute(struct tt_queue *q, struct tt_batch *b, int64_t now_ns)
{
    struct tt_request *r = b->requests;
    int rc;

    b->submitted_ns = b->begun_ns = now_ns;
    arrive(b);
    leave_out_if_failed(r);
    r->started_ns = b->begun_ns;
    rc = q->spec.calls->transfer(r, &b->error);
    r->ended_ns = tt_now_ns();
    end_request(r, rc);
    give_to_device(b);
    tt_queue_give_back(q, b);
}

bool tt_queue_start(struct tt_queue *q, struct tt_batch *b, int64_t now_ns)
{
    b->next = NULL;
    b->before = q->newest;
    *(q->newest ? &q->newest->next : &q->oldest) = b;
    q->newest = b;
    q->in_flight++;
    q->staged += b->staged;
    b->ended = false;
    b->submitted_ns = b->begun_ns = now_ns;
    if (q->spec.executor == TT_BY_POOL) {
        b->task.ended = q->spec.in_any_order ? &q->ended : NULL;
        tt_pool_submit(q->spec.pool, &b->task);
        return true;
    }
    if (q->spec.executor == TT_BY_BACKEND && submit_all(b))
        return true;
    if (q->spec.executor == TT_BY_CALLER)
        transfer_all(b);
    b->ended = true;
    return false;
}

static struct tt_batch *wait_for_one(struct tt_queue *q)
{
    struct tt_batch *b = q->spec.in_any_order ? q->newest : q->oldest;

    if (b->ended)
        return b;
    if (q->spec.executor == TT_BY_BACKEND)
        return wait_for_backend(q);
    if (q->spec.in_any_order)
        return tt_pool_wait_any(q->spec.pool, &q->ended)->argument;
    tt_pool_wait(q->spec.pool, &b->task, &b->error);
    return b;
}

struct tt_batch *tt_queue_complete(struct tt_queue *q)
{
    struct tt_batch *b = wait_for_one(q);

    *(b->before ? &b->before->next : &q->oldest) = b->next;
    *(b->next ? &b->next->before : &q->newest) = b->before;
    q->in_flight--;
    q->staged -= b->staged;
    b->staged = 0;
    tt_queue_give_back(q, b);
    return b;
}

int tt_batch_result(const struct tt_batch *b, struct tt_error *e)
{
    if (b->rc != TT_OK && e->code == TT_OK)
        *e = b->error;
    return b->rc;
}

/* ---- the queue itself ---- */

int tt_queue_open(struct tt_queue *q, const struct tt_queue_spec *spec, struct tt_error *e)
{
    size_t all = (size_t)spec->depth * spec->requests;

    *q = (struct tt_queue){.spec = *spec};
    q->batches = calloc(spec->depth, sizeof *q->batches);
    q->requests = calloc(all, sizeof *q->requests);
    q->blocks = calloc(all, sizeof *q->blocks);
    q->ticket_states = calloc(all, spec->ticket_size);
    if (!q->batches || !q->requests || !q->blocks || !q->ticket_states)
        return tt_fail_nomem(e, "transfers in flight");
    for (size_t i = 0; i < all; i++) {
        struct tt_request *r = &q->requests[i];

        r->batch = &q->batches[i / spec->requests];
        r->block = &q->blocks[i];
        r->ticket.state = q->ticket_states + i * spec->ticket_size;
    }
    for (unsigned i = spec->depth; i-- > 0;) {
        struct tt_batch *b = &q->batches[i];

        b->queue = q;
        tt_error_clear(&b->error);
        b->task = (struct tt_task){.run = run_task, .argument = b};
        b->requests = q->requests + (size_t)i * spec->requests;
        b->blocks = q->blocks + (size_t)i * spec->requests;
        tt_queue_give_back(q, b);
    }
    return TT_OK;
}

void tt_queue_close(struct tt_queue *q)
{
    for (unsigned i = 0; q->batches && i < q->spec.depth; i++) {
        tt__staging_free(&q->batches[i]); /* first: it waits for copies to the buffer */
        release_buffer(q, &q->batches[i]);
    }
    if (q->slab)
        q->spec.memory->release(q->spec.memory, q->slab);
    free(q->batches);
    free(q->requests);
    free(q->blocks);
    free(q->ticket_states);
}
