/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state in a device's memory: made and checked there, and restored through buffers of the
 * host's. */
#include <stdlib.h>
#include <string.h>

#include "engine/content.h"
#include "engine/device_move.h"
#include "engine/engine.h"
#include "record/trace.h"
#include "workloads/checkpoint/checkpoint.h"

extern const char tt_checkpoint_source[]; /* device.cu */

/* As device.cu declares them. */
struct stamping {
    char *data;
    uint64_t first, n, word; /* bytes before the first stamp; stamps */
};
struct comparison {
    const char *data, *right;
    uint64_t *found; /* where the first wrong byte is, counted from the end */
    uint64_t n;
};

/* ---- the kernels, by the host ---- */

static void stamp(const void *arguments)
{
    const struct stamping *s = arguments;

    for (uint64_t i = 0; i < s->n; i++)
        memcpy(s->data + s->first + i * TT_CHECKPOINT_STAMPS, &s->word, sizeof s->word);
}

static void differ(const void *arguments)
{
    const struct comparison *c = arguments;
    uint64_t i = 0;

    while (i < c->n && c->data[i] == c->right[i])
        i++;
    *c->found = c->n - i;
}

#define KERNEL(function, type, n) \
    { \
        .name = #function, .source = tt_checkpoint_source, .arguments_size = sizeof(struct type), \
        .naddresses = (n), .addresses = {0, 8, 16}, .by_host = function \
    }
static const struct tt_kernel stamps = KERNEL(stamp, stamping, 1),
                              comparing = KERNEL(differ, comparison, 3);

int tt_checkpoint_prepare_on(struct tt_device *d, struct tt_error *e)
{
    int rc = tt_content_prepare_on(d, e);

    return rc == TT_OK
               ? tt_device_prepare(d, 2, (const struct tt_kernel *const[]){&stamps, &comparing}, e)
               : rc;
}

/* ---- content ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Whole words: behind the end of a piece there is room. */
static int fill_part(struct tt_device *d, const struct tt_checkpoint_state *s, unsigned piece,
                     uint64_t seed, uint64_t offset, uint64_t n, void *to, struct tt_error *e)
{
    const struct tt_content content = {.signature = seed};

    return tt_content_fill_on(d, &content, tt_checkpoint_owner(s, piece), offset, to,
                              (n + 7) / 8 * 8, e);
}

/* Of n bytes that stand at an offset of a tensor. */
static int stamp_part(struct tt_device *d, uint64_t number, uint64_t offset, uint64_t n, void *data,
                      struct tt_error *e)
{
    struct stamping a = {.data = data,
                         .first = tt_checkpoint_next_stamp(offset) - offset,
                         .word = tt_checkpoint_stamp_of(number)};

    if (a.first + sizeof a.word > n)
        return TT_OK;
    a.n = (n - a.first - sizeof a.word) / TT_CHECKPOINT_STAMPS + 1;
    return tt_device_launch(d, &stamps, a.n, &a, e);
}

int tt_checkpoint_fill_on(struct tt_device *d, const struct tt_checkpoint_state *s, uint64_t seed,
                          unsigned char *memory, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < s->n; i++)
        rc = fill_part(d, s, i, seed, tt_checkpoint_offset(s, i), tt_checkpoint_piece_bytes(s, i),
                       memory + s->pieces[i].at, e);
    return rc;
}

int tt_checkpoint_stamp_on(struct tt_device *d, const struct tt_checkpoint_state *s,
                           uint64_t number, unsigned char *memory, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < s->n; i++)
        rc = stamp_part(d, number, tt_checkpoint_offset(s, i), tt_checkpoint_piece_bytes(s, i),
                        memory + s->pieces[i].at, e);
    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

/* Bytes from the first wrong one to the end of n. */
static int compare(struct tt_device *d, const void *data, const void *right, uint64_t *found,
                   uint64_t n, uint64_t *rest, struct tt_error *e)
{
    const struct comparison c = {data, right, found, n};

    return tt_device_find(d, &comparing, n, &c, found, rest, e);
}

/* What is right is made beside the state, part by part. */
static int check_piece(struct tt_device *d, const struct tt_checkpoint_state *s, unsigned piece,
                       uint64_t seed, uint64_t number, const unsigned char *memory, void *right,
                       uint64_t *found, bool *is_right, uint64_t *offset, struct tt_error *e)
{
    uint64_t bytes = tt_checkpoint_piece_bytes(s, piece), at = 0, n, rest = 0;
    int rc = TT_OK;

    for (; rc == TT_OK && rest == 0 && at < bytes; at += n) {
        *offset = tt_checkpoint_offset(s, piece) + at;
        n = least(TT_CHECKPOINT_PART, bytes - at);
        rc = fill_part(d, s, piece, seed, *offset, n, right, e);
        if (rc == TT_OK)
            rc = stamp_part(d, number, *offset, n, right, e);
        if (rc == TT_OK)
            rc = compare(d, memory + s->pieces[piece].at + at, right, found, n, &rest, e);
        *offset += n - rest;
    }
    *is_right = rest == 0;
    return rc;
}

int tt_checkpoint_check_on(struct tt_device *d, const struct tt_checkpoint_state *s, uint64_t seed,
                           uint64_t number, const unsigned char *memory, bool *is_right,
                           unsigned *piece, uint64_t *offset, struct tt_error *e)
{
    void *right = NULL, *found = NULL;
    int rc = d->type->allocate(d, tt_checkpoint_largest_part(s), &right, e);

    if (rc == TT_OK)
        rc = d->type->allocate(d, sizeof(uint64_t), &found, e);
    *is_right = true;
    for (unsigned i = 0; rc == TT_OK && *is_right && i < s->n; i++) {
        *piece = i;
        rc = check_piece(d, s, i, seed, number, memory, right, found, is_right, offset, e);
    }
    tt_device_settle(d);
    if (right)
        d->type->release(d, right);
    if (found)
        d->type->release(d, found);
    return rc;
}

/* ---- restoring ---- */

/* Two buffers: one is read into while the device copies the other. */
struct tt_checkpoint_feed {
    struct tt_engine *engine;
    unsigned char *buffers[2];
    struct tt_device_event *begun[2], *ended[2];
    uint64_t bytes[2]; /* under way */
    int64_t queued_ns[2], free_ns, waited_ns;
    unsigned turn;
};

int tt_checkpoint_feed_make(struct tt_engine *engine, struct tt_checkpoint_feed **out,
                            struct tt_error *e)
{
    struct tt_device *d = engine->device;
    struct tt_checkpoint_feed *f = *out = calloc(1, sizeof *f);
    int rc = f ? TT_OK : tt_fail_nomem(e, "a staging buffer");

    if (f)
        f->engine = engine;
    for (int i = 0; rc == TT_OK && i < 2; i++) {
        f->buffers[i] = tt_staging_allocate(engine, TT_CHECKPOINT_PART, e);
        rc = f->buffers[i] ? TT_OK : e->code;
        if (rc == TT_OK)
            rc = d->type->make_event(d, &f->begun[i], e);
        if (rc == TT_OK)
            rc = d->type->make_event(d, &f->ended[i], e);
    }
    return rc;
}

void tt_checkpoint_feed_free(struct tt_checkpoint_feed *f)
{
    if (!f)
        return;
    tt_device_settle(f->engine->device);
    for (int i = 0; i < 2; i++) {
        struct tt_device *d = f->engine->device;

        if (f->buffers[i])
            tt_staging_release(f->engine, f->buffers[i]);
        if (f->begun[i])
            d->type->free_event(d, f->begun[i]);
        if (f->ended[i])
            d->type->free_event(d, f->ended[i]);
    }
    free(f);
}

/* A copy has begun when it was asked for, or when the one before had ended. */
static int wait_for(struct tt_checkpoint_feed *f, unsigned i, struct tt_error *e)
{
    struct tt_device *d = f->engine->device;
    int64_t t = tt_now_ns(), from, ns;
    double seconds = 0;
    int rc;

    if (f->bytes[i] == 0)
        return TT_OK;
    rc = d->type->await(d, f->ended[i], e);
    f->waited_ns += tt_now_ns() - t;
    if (rc == TT_OK)
        rc = d->type->elapsed(d, f->begun[i], f->ended[i], &seconds, e);
    ns = (int64_t)(1e9 * seconds);
    from = f->free_ns > f->queued_ns[i] ? f->free_ns : f->queued_ns[i];
    f->free_ns = from + ns;
    tt_trace_device(TT_TRACK_STAGING, TT_IO_STAGE, from, f->free_ns);
    tt_count_staged(f->engine, f->bytes[i], ns);
    f->bytes[i] = 0;
    return rc;
}

int tt_checkpoint_feed_room(struct tt_checkpoint_feed *f, unsigned char **buffer,
                            struct tt_error *e)
{
    *buffer = f->buffers[f->turn];
    return wait_for(f, f->turn, e);
}

int tt_checkpoint_feed_send(struct tt_checkpoint_feed *f, void *to, uint64_t bytes,
                            struct tt_error *e)
{
    struct tt_device *d = f->engine->device;
    unsigned i = f->turn;
    int rc = d->type->record(d, f->begun[i], TT_STREAM_STAGING, e);

    f->queued_ns[i] = tt_now_ns();
    if (rc == TT_OK)
        rc = tt_device_copy_bytes(d, TT_STREAM_STAGING, TT_TO_DEVICE, to, f->buffers[i], bytes, e);
    if (rc == TT_OK)
        rc = d->type->record(d, f->ended[i], TT_STREAM_STAGING, e);
    f->waited_ns += tt_now_ns() - f->queued_ns[i]; /* copies of pageable memory block */
    if (rc == TT_OK)
        f->bytes[i] = bytes;
    f->turn = !i;
    return rc;
}

int tt_checkpoint_feed_end(struct tt_checkpoint_feed *f, int64_t *waited_ns, struct tt_error *e)
{
    int rc = wait_for(f, f->turn, e);

    if (rc == TT_OK)
        rc = wait_for(f, !f->turn, e);
    *waited_ns = f->waited_ns;
    return rc;
}
