/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transfer queue. A request moves one block. Requests are started and completed as a batch: a
 * dump or a load is a batch of all its blocks with one agreement of the ranks at its end, a stream
 * has batches of one request and no agreement. Batches are executed by the caller, by the
 * backend's nonblocking calls, or by a pool of threads; with one thread, in their order.
 *
 * There is no MPI in here: calls into files and the agreement come from the owner's table, so the
 * thread sanitizer runs on the whole queue. All functions belong to the thread that opened it. */
#ifndef TT_ENGINE_QUEUE_H
#define TT_ENGINE_QUEUE_H

#include "base/pool.h"
#include "devices/device.h"
#include "engine/spot_check.h"
#include "io/model.h"

struct tt_file;
struct tt_queue;
struct tt_batch;

struct tt_request {
    uint64_t id; /* counts through all requests of a queue, from 1 */
    struct tt_batch *batch;
    struct tt_block *block;
    struct tt_ticket ticket; /* by the backend's nonblocking calls */
    struct tt_spoilt spoilt;
    int64_t started_ns, ended_ns; /* the call; by the backend, until it was waited for */
    int64_t sync_ns;              /* its own sync, after that */
};

struct tt_batch {
    struct tt_queue *queue;
    void *owner; /* what the owner keeps beside it */
    struct tt_file *file;
    uint64_t step;
    enum tt_direction direction;
    unsigned n; /* of requests and blocks */
    struct tt_request *requests;
    struct tt_block *blocks;
    char *buffer; /* of its own: a copy of the blocks' data, or the blocks' memory itself */
    size_t buffer_size, staged;
    struct tt_staging *staging; /* where blocks were in a device's memory; NULL: none ever was */
    int64_t staging_ns;         /* moving the staged bytes, by the device's own clock */
    bool waited;                /* by the caller, before its memory may change */
    size_t moved;               /* bytes then */
    int64_t looked_ns;          /* spot checks of them, which are no part of the transfer */
    int64_t submitted_ns, begun_ns, moved_ns; /* moved: after the last request, with its sync */
    int64_t cpu_ns;                           /* of the thread of the pool that executed it */
    struct tt_batch *next, *before; /* in flight, the oldest first; or free, by next only */
    bool ended;                     /* when it was started: there is nothing to wait for */
    /* The first failure. One from before the start is told to the others when ranks agree: a rank
     * that has failed still makes every call, with nothing. */
    int rc;
    uint64_t failed; /* id of the first request that has; 0: none */
    struct tt_error error;
    struct tt_task task;
};

/* What the owner of a queue does for it, in whatever thread executes a batch. All fill *e. */
struct tt_queue_calls {
    /* Opens or defines what the requests need, and sets batch->file. If there is no file after
     * that, which all ranks know then, nothing else is called. NULL: the file is there. */
    int (*begin)(struct tt_batch *b, struct tt_error *e);
    int (*transfer)(struct tt_request *r, struct tt_error *e);
    int (*submit)(struct tt_request *r, struct tt_error *e);
    /* For this request, or where batches complete in any order, for another one. */
    int (*wait)(struct tt_request *r, struct tt_request **done, struct tt_error *e);
    int (*sync)(struct tt_request *r, struct tt_error *e);
    /* After the last request: ranks agree, and all get what is returned. NULL: they do not. */
    int (*end)(struct tt_batch *b, int rc, struct tt_error *e);
    /* Whether a read has read; not part of its time. NULL: it is believed. */
    int (*judge)(struct tt_request *r, struct tt_error *e);
    /* Data that is written has come from a device: it can be looked at. NULL: nobody does. */
    void (*arrived)(struct tt_batch *b);
};

/* Where buffers come from: aligned to pages, and of a device's choice if there is one. */
struct tt_memory {
    void *(*allocate)(const struct tt_memory *memory, size_t bytes, struct tt_error *e);
    void (*release)(const struct tt_memory *memory, void *data);
    struct tt_device *device; /* NULL: all blocks are in the host's memory */
    bool pinned;              /* the device copies to it by itself; else who asks waits for it */
    bool snapshot;            /* copy on the device first, so that its memory may change at once */
};
extern const struct tt_memory tt_host_memory;
/* Of a device: its copies are fastest to and from pinned memory. */
struct tt_memory tt_memory_of(struct tt_device *device, bool pinned, bool snapshot);

enum tt_executor { TT_BY_CALLER, TT_BY_BACKEND, TT_BY_POOL };

struct tt_queue_spec {
    const struct tt_queue_calls *calls;
    enum tt_executor executor; /* may be changed while nothing is in flight */
    struct tt_pool *pool;
    const struct tt_memory *memory;
    size_t limit;      /* bytes of copies in flight; 0: none */
    unsigned depth;    /* batches in flight at most */
    unsigned requests; /* of a batch at most */
    bool in_any_order; /* batches complete so, and have one request each */
    bool untouched;    /* the caller leaves data as it is until its batch is complete */
    bool sync_each;    /* requests, also those of a rank that has failed: */
    bool sync_failed;  /* its calls are awaited by the others */
    size_t ticket_size;
};

struct tt_queue {
    struct tt_queue_spec spec;
    unsigned in_flight;
    uint64_t last_id;
    size_t staged; /* bytes of copies in flight */
    struct tt_batch *batches, *oldest, *newest, *free;
    struct tt_tasks ended; /* in any order */
    struct tt_request *requests;
    struct tt_block *blocks;
    char *ticket_states, *slab;
};

int tt_queue_open(struct tt_queue *q, const struct tt_queue_spec *spec, struct tt_error *e);
/* One buffer a batch, all of this size rounded up to pages and one after the other, as libraries
 * register them. *each is the rounded size. */
int tt_queue_reserve(struct tt_queue *q, size_t bytes, size_t *each, struct tt_error *e);
/* Nothing is in flight. Also of a queue that could not be opened, or is all zeros. */
void tt_queue_close(struct tt_queue *q);

/* A batch that is not in flight, with no requests; NULL: complete one first. */
struct tt_batch *tt_queue_take(struct tt_queue *q);
/* The buffers of another one that is free, if they are larger: with a limit few are in flight, and
 * no more should have any. */
void tt_batch_take_buffers(struct tt_batch *b);
/* It will not be started after all. */
void tt_queue_give_back(struct tt_queue *q, struct tt_batch *b);
/* Whether the copy of so many bytes fits into what is left of the limit; always if nothing is in
 * flight. */
bool tt_queue_has_room(const struct tt_queue *q, size_t bytes);
/* Adds a request; its block is filled by the caller. */
struct tt_block *tt_batch_add(struct tt_batch *b);
/* Blocks in a device's memory without a device: one clear error, before anybody looks at their
 * data. A batch with that error is started all the same, and moves nothing. */
int tt_batch_check_memory(const struct tt_batch *b, struct tt_error *e);
/* Whether any of its data is in a device's memory. */
bool tt_batch_is_in_device(const struct tt_batch *b);
/* Bytes of a copy, and making it, so that the caller may change its memory as soon as the batch has
 * been started. Without it the caller keeps its buffers as they are until the batch is complete. */
uint64_t tt_batch_copy_size(const struct tt_batch *b, const struct tt_variable *variables);
int tt_batch_copy(struct tt_batch *b, const struct tt_variable *variables, struct tt_error *e);

/* ---- staging.c: batches in a device's memory ---- */
/* Before a batch is started. Of writes: what was queued on the device's streams before belongs to
 * the data, and after it returns the caller may queue what changes it; the data itself arrives
 * later. Of reads: the data will come to the batch's buffer first. */
int tt_batch_stage(struct tt_batch *b, const struct tt_variable *variables, struct tt_error *e);
/* By who executes it: before the first transfer of a write, and after the last one of a read. */
int tt__batch_arrive(struct tt_batch *b, struct tt_error *e);
int tt__batch_return(struct tt_batch *b, struct tt_error *e);
/* Instead of executing it: waits until its data has arrived, which nobody needs. */
int tt__batch_settle(struct tt_batch *b, struct tt_error *e);
/* What staging a batch takes but for its memory; the first staging makes it, too. */
int tt__staging_make(struct tt_batch *b, struct tt_error *e);
void tt__staging_free(struct tt_batch *b);
/* A buffer of that size at least. */
int tt__batch_reserve(struct tt_batch *b, size_t bytes, struct tt_error *e);
/* Several fields of the same records in memory, one block each: if all of it is taken, it is moved
 * once. */
bool tt__shares_memory(const struct tt_block *b, const struct tt_block *before);

/* now_ns is the clock, read just before. False if it has ended already: by the caller, or since the
 * backend did not take it. */
bool tt_queue_start(struct tt_queue *q, struct tt_batch *b, int64_t now_ns);
/* Starts and completes a batch of one request that needs no begin and no end, where the caller is
 * the executor and nothing is in flight. */
void tt_queue_execute(struct tt_queue *q, struct tt_batch *b, int64_t now_ns);
/* Waits for the oldest batch, or in any order for one that has ended; there must be one in flight.
 * In any order, one that has ended already is completed before the next is started. How it went is
 * in the batch, which is as it was until it is taken again. */
struct tt_batch *tt_queue_complete(struct tt_queue *q);
/* The batch's rc, with its error in *e. */
int tt_batch_result(const struct tt_batch *b, struct tt_error *e);

#endif
