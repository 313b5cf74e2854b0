/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/memory.h"

/* How long a dying rank waits for whoever is writing. */
#define PATIENCE_MS 1000
#define LOOK_NS 50000 /* between two looks whether it has finished */
#define PATIENCE_LOOKS (PATIENCE_MS * (1000000L / LOOK_NS))

struct tt_recorder {
    struct tt_memory *memory;
    struct tt_area *area;
    bool writes;
    atomic_int sys_errno; /* no memory for what was to be recorded */
    atomic_flag writing;  /* the kernel's lock does not keep threads of one process apart */
    pthread_t main;
    volatile sig_atomic_t main_writes; /* a handler in that thread must not wait for it */
};

/* False if others have not finished in time. */
static bool lock(struct tt_recorder *r, long looks)
{
    while (atomic_flag_test_and_set(&r->writing)) {
        if (looks-- == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    if (tt_memory_lock(r->memory, looks))
        return true;
    atomic_flag_clear(&r->writing);
    return false;
}

static void unlock(struct tt_recorder *r)
{
    tt_memory_unlock(r->memory);
    atomic_flag_clear(&r->writing);
}

/* By the main thread, with one more chunk or NULL. */
static void write_as_main(struct tt_recorder *r, const struct tt_chunk_header *chunk,
                          const void *data)
{
    lock(r, -1);
    r->main_writes = 1;
    tt_memory_move(r->memory, chunk, data);
    r->main_writes = 0;
    unlock(r);
}

/* Moving makes room, even where iterations wait for those of other ranks. Where it did not, this
 * process cannot map the memory any more: the rank goes on without these records, and says so when
 * it closes. */
static void make_room(struct tt_recorder *r, enum tt_ring ring, uint64_t capacity)
{
    struct tt_area *a = r->area;

    write_as_main(r, NULL, NULL);
    if (a->put[ring] - a->taken[ring] < capacity)
        return;
    lock(r, -1);
    r->sys_errno = ENOMEM;
    a->moved.taken[ring] = a->put[ring];
    a->taken[ring] = a->put[ring];
    unlock(r);
}

static bool is_crowded(const struct tt_area *a)
{
    return a->put[TT_RING_ITERATIONS] - a->taken[TT_RING_ITERATIONS] > 3 * TT_AREA_ITERATIONS / 4 ||
           a->put[TT_RING_EPOCHS] - a->taken[TT_RING_EPOCHS] > 3 * TT_AREA_EPOCHS / 4;
}

void tt_recorder_flush(struct tt_recorder *r, bool all)
{
    if (!r->writes && !is_crowded(r->area))
        return;
    lock(r, -1);
    if (all || tt_memory_is_filling(r->memory))
        tt_memory_move(r->memory, NULL, NULL);
    if (all)
        tt_memory_send(r->memory);
    unlock(r);
}

int tt_recorder_open(const char *directory, const struct tt_recorder_how *how,
                     struct tt_recorder **out, struct tt_error *e)
{
    struct tt_records_header h = {.rank = (uint32_t)how->rank,
                                  .size = (uint32_t)how->size,
                                  .pid = (uint32_t)getpid(),
                                  .start_monotonic_ns = tt_now_ns(),
                                  .start_wall_ns = tt_wall_ns()};
    struct tt_recorder *r = calloc(1, sizeof *r);
    int rc, why;

    *out = NULL;
    if (!r)
        return tt_fail_nomem(e, "records");
    if (how->host)
        snprintf(h.host, sizeof h.host, "%s", how->host);
    else
        gethostname(h.host, sizeof h.host - 1);
    rc = tt_memory_attach(directory, &h, how->above, &r->memory, e);
    if (rc != TT_OK) {
        free(r);
        return rc;
    }
    r->area = r->memory->own;
    r->writes = how->writes;
    r->main = pthread_self();
    if (how->writes)
        write_as_main(r, NULL, NULL);
    why = tt_memory_failed(r->memory);
    if (why) {
        rc = tt_fail_call(e, why, "open", r->memory->records, -1);
        tt_recorder_close(r, TT_RANK_FAILED, &(struct tt_error){0});
        return rc;
    }
    *out = r;
    return TT_OK;
}

const struct tt_records_header *tt_recorder_header(const struct tt_recorder *r)
{
    return &r->area->header;
}

void tt_recorder_iteration(struct tt_recorder *r, const struct tt_iteration_record *record)
{
    struct tt_area *a = r->area;
    uint64_t at = a->put[TT_RING_ITERATIONS];

    if (at - a->taken[TT_RING_ITERATIONS] >= TT_AREA_ITERATIONS)
        make_room(r, TT_RING_ITERATIONS, TT_AREA_ITERATIONS);
    a->iterations[at % TT_AREA_ITERATIONS] = *record;
    a->put[TT_RING_ITERATIONS] = at + 1;
}

void tt_recorder_epoch(struct tt_recorder *r, const struct tt_epoch_record *record)
{
    struct tt_area *a = r->area;
    uint64_t at = a->put[TT_RING_EPOCHS];

    if (at - a->taken[TT_RING_EPOCHS] >= TT_AREA_EPOCHS)
        make_room(r, TT_RING_EPOCHS, TT_AREA_EPOCHS);
    a->epochs[at % TT_AREA_EPOCHS] = *record;
    a->put[TT_RING_EPOCHS] = at + 1;
}

void tt_recorder_calls(struct tt_recorder *r, const struct tt_histogram *calls)
{
    lock(r, -1);
    tt_memory_merge_calls(r->memory, calls);
    unlock(r);
}

void tt_recorder_timelines(struct tt_recorder *r, const struct tt_timeline lines[2])
{
    lock(r, -1);
    tt_memory_merge_timelines(r->memory, lines);
    unlock(r);
}

static void put_bytes(struct tt_area *a, uint64_t at, const void *data, size_t n)
{
    size_t from = at % TT_AREA_CHUNKS,
           first = n < TT_AREA_CHUNKS - from ? n : TT_AREA_CHUNKS - from;

    memcpy(a->chunks + from, data, first);
    memcpy(a->chunks, (const char *)data + first, n - first);
}

/* What its ring has no room for, or never had, is written by the rank itself. */
static void append(struct tt_recorder *r, enum tt_chunk_type type, const void *data, size_t item,
                   size_t length)
{
    const struct tt_chunk_header chunk = {.type = type,
                                          .item = (uint32_t)item,
                                          .slot = r->memory->slot,
                                          .rank = r->area->header.rank,
                                          .length = length};
    struct tt_area *a = r->area;
    uint64_t at = a->put[TT_RING_CHUNKS];

    if (length == 0)
        return;
    if (sizeof chunk + length > TT_AREA_CHUNKS - (at - a->taken[TT_RING_CHUNKS])) {
        write_as_main(r, &chunk, data);
        return;
    }
    put_bytes(a, at, &chunk, sizeof chunk);
    put_bytes(a, at + sizeof chunk, data, length);
    a->put[TT_RING_CHUNKS] = at + sizeof chunk + length;
}

void tt_recorder_spans(struct tt_recorder *r, const struct tt_span *list, size_t n)
{
    append(r, TT_CHUNK_SPANS, list, sizeof *list, n * sizeof *list);
}

void tt_recorder_json(struct tt_recorder *r, const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);

    if (!text) {
        r->sys_errno = ENOMEM;
        return;
    }
    append(r, TT_CHUNK_JSON, text, 0, strlen(text));
    free(text);
}

/* The rank needs its memory no more. Where others still do, one of them writes for it. */
int tt_recorder_close(struct tt_recorder *r, enum tt_rank_state state, struct tt_error *e)
{
    int why, rc = TT_OK;

    if (!r)
        return TT_OK;
    lock(r, -1);
    if (r->area->attached)
        r->area->state = state;
    r->area->attached = 0;
    if (r->writes || tt_memory_is_last(r->memory))
        tt_memory_move(r->memory, NULL, NULL);
    unlock(r);
    why = r->sys_errno ? r->sys_errno : tt_memory_failed(r->memory);
    if (why)
        rc = tt_fail_call(e, why, "write", r->memory->records, -1);
    tt_memory_close(r->memory);
    free(r);
    return rc;
}

void tt_recorder_terminate(struct tt_recorder *r, const struct tt_iteration_record *last)
{
    bool is_mine = r->main_writes && pthread_equal(pthread_self(), r->main);
    struct tt_area *a = r->area;
    uint64_t at = a->put[TT_RING_ITERATIONS];
    bool has = is_mine || lock(r, PATIENCE_LOOKS);

    /* Without the lock whoever holds it is stuck in the file: so would this thread be. What is in
     * memory others may save. */
    if (has && at - a->taken[TT_RING_ITERATIONS] >= TT_AREA_ITERATIONS)
        tt_memory_move(r->memory, NULL, NULL);
    if (last && at - a->taken[TT_RING_ITERATIONS] < TT_AREA_ITERATIONS) {
        a->iterations[at % TT_AREA_ITERATIONS] = *last;
        a->put[TT_RING_ITERATIONS] = at + 1;
    }
    a->state = TT_RANK_TERMINATED;
    a->attached = 0;
    if (!has)
        return;
    tt_memory_move(r->memory, NULL, NULL);
    if (!is_mine)
        unlock(r);
}
