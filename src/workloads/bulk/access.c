/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/bulk/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/agree.h"

/* In step, ranks agree so often whether to go on. */
#define STEPS_BETWEEN_AGREEMENTS 16

static bool is_comparing(const struct tt_bulk_access_state *a)
{
    return a->kind == TT_BULK_CHECK || (a->kind == TT_BULK_READ && a->options->check_read);
}

/* IOR's words carry the rank; random content belongs to a place in its file. */
static uint64_t owner(const struct tt_bulk_access_state *a)
{
    return a->content.kind != TT_CONTENT_RANDOM || !a->walk.shared ? a->walk.rank : 0;
}

/* ---- what was touched ---- */

#define MOST_PLACES (UINT64_C(1) << 26) /* so many bits are 8 MiB */

static size_t words_of(const struct tt_bulk_access_state *a)
{
    return (a->walk.slots + 63) / 64;
}

double tt_bulk_coverage(const struct tt_bulk_access_state *a)
{
    int looked = a->touched != NULL;
    double mine[2] = {0, (double)a->walk.slots};

    MPI_Allreduce(MPI_IN_PLACE, &looked, 1, MPI_INT, MPI_LAND, a->engine->comm);
    if (!looked)
        return 1;
    if (a->walk.shared)
        MPI_Allreduce(MPI_IN_PLACE, a->touched, (int)words_of(a), MPI_UINT64_T, MPI_BOR,
                      a->engine->comm);
    for (size_t i = 0; i < words_of(a); i++)
        mine[0] += __builtin_popcountll(a->touched[i]);
    MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_DOUBLE, MPI_SUM, a->engine->comm);
    return mine[0] / mine[1];
}

/* ---- how they went on ---- */

#define FIRST_APART_NS 20000000
#define LEAST_INSTANTS 10

/* Keeps every other instant. */
static void thin_out(struct tt_bulk_pace *p)
{
    for (size_t i = 0; i < TT_BULK_INSTANTS / 2; i++) {
        p->at_ns[i] = p->at_ns[2 * i + 1];
        p->done[i] = p->done[2 * i + 1];
    }
    p->n = TT_BULK_INSTANTS / 2;
    p->apart_ns *= 2;
}

static void note_pace(struct tt_bulk_pace *p, int64_t at_ns, uint64_t done)
{
    if (p->apart_ns == 0)
        p->apart_ns = FIRST_APART_NS;
    if (at_ns - (p->n ? p->at_ns[p->n - 1] : 0) < p->apart_ns)
        return;
    if (p->n == TT_BULK_INSTANTS)
        thin_out(p);
    p->at_ns[p->n] = at_ns;
    p->done[p->n++] = done;
}

double tt_bulk_pace_start(const struct tt_bulk_pace *p)
{
    size_t tenth = p->n / 10;
    double early, late;

    if (p->n < LEAST_INSTANTS)
        return 1;
    early = (double)p->done[tenth] / (double)p->at_ns[tenth];
    late = (double)(p->done[p->n - 1] - p->done[tenth]) /
           (double)(p->at_ns[p->n - 1] - p->at_ns[tenth]);
    return late > 0 ? early / late : 1;
}

/* ---- single transfers ---- */

static int prepare(struct tt_bulk_access_state *a, struct tt_error *e)
{
    if (a->walk.order == TT_BULK_REPEATED && a->walk.slots <= MOST_PLACES &&
        !(a->touched = calloc(words_of(a), sizeof *a->touched)))
        return tt_fail_nomem(e, "what was touched");
    if (a->engine->device || !is_comparing(a) || a->content.kind == TT_CONTENT_RANDOM)
        return TT_OK;
    a->expected = malloc(a->walk.transfer);
    if (!a->expected)
        return tt_fail_nomem(e, "what a transfer is compared with");
    tt_content_fill(&a->content, owner(a), 0, a->expected, a->walk.transfer);
    return TT_OK;
}

/* Whether all of a slot is what it should be, and else the first byte that is not. */
static int judge(struct tt_bulk_access_state *a, const struct tt_stream_slot *slot, bool *is_right,
                 size_t *wrong, struct tt_error *e)
{
    size_t size = a->walk.transfer;
    bool same = false;

    if (a->engine->device) {
        int rc = tt_content_compare_on(a->engine->device, &a->content, owner(a), slot->tag,
                                       slot->buffer, size, a->found, wrong, e);

        *is_right = *wrong == size;
        return rc;
    }
    if (a->expected) { /* most of IOR's content is the same in every transfer, and made only once */
        tt_content_refresh(&a->content, owner(a), slot->tag, a->expected, size);
        same = memcmp(a->expected, slot->buffer, size) == 0;
    }
    *is_right =
        same || tt_content_matches(&a->content, owner(a), slot->tag, slot->buffer, size, wrong);
    return TT_OK;
}

static int compare(struct tt_bulk_access_state *a, const struct tt_stream_slot *slot,
                   struct tt_error *e)
{
    int64_t t = tt_now_ns();
    size_t wrong = 0;
    bool is_right = false;
    int rc = judge(a, slot, &is_right, &wrong, e);

    tt_phase_add(a->engine, TT_COMPUTE, t);
    if (a->options->depth == 1) /* else transfers go on meanwhile */
        a->checking_ns += tt_now_ns() - t;
    if (rc != TT_OK || is_right)
        return rc;
    if (a->options->keep_wrong)
        tt_data_leave(a->engine, a->path);
    return tt_fail(e, TT_CORRUPT, "'%s' at offset %llu: what was read is not what was written",
                   a->path, (unsigned long long)(slot->tag + wrong));
}

static int look_at(struct tt_bulk_access_state *a, const struct tt_stream_slot *slot,
                   struct tt_error *e)
{
    if (slot->bytes == 0)
        return TT_OK;
    a->latency_ns += slot->took_ns;
    a->bytes += slot->bytes;
    return is_comparing(a) ? compare(a, slot, e) : TT_OK;
}

/* Most of IOR's content is there already, and nothing is done. */
static int fill(struct tt_bulk_access_state *a, struct tt_stream_slot *slot, int64_t since_ns,
                struct tt_error *e)
{
    int rc = TT_OK;

    if (slot->prepared && a->content.kind == TT_CONTENT_TIMESTAMP)
        return TT_OK;
    if (a->engine->device)
        rc = tt_content_fill_on(a->engine->device, &a->content, owner(a), slot->tag, slot->buffer,
                                a->walk.transfer, e);
    else if (slot->prepared)
        tt_content_refresh(&a->content, owner(a), slot->tag, slot->buffer, a->walk.transfer);
    else
        tt_content_fill(&a->content, owner(a), slot->tag, slot->buffer, a->walk.transfer);
    slot->prepared = true;
    slot->ready_ns = tt_phase_add(a->engine, TT_COMPUTE, since_ns);
    return rc;
}

/* The block of a slot, all of its buffer. A slot that had such a block before only moves on. */
static void aim(const struct tt_bulk_access_state *a, struct tt_stream_slot *slot, uint64_t offset)
{
    uint64_t dims = a->walk.slots * a->walk.transfer, bytes = a->walk.transfer;

    slot->tag = offset;
    if (slot->block.file.kind == TT_SELECT_SLAB) {
        slot->block.file.start[0] = offset;
        return;
    }
    slot->block = (struct tt_block){.variable = 0};
    tt_select_slab(&slot->block.file, 1, &dims, &offset, NULL, &bytes, NULL);
    tt_select_all(&slot->block.memory, 1, &bytes);
}

static void aim_at_nothing(const struct tt_bulk_access_state *a, struct tt_stream_slot *slot)
{
    uint64_t dims = a->walk.slots * a->walk.transfer, bytes = a->walk.transfer;

    slot->block = (struct tt_block){.variable = 0};
    tt_select_none(&slot->block.file, 1, &dims);
    tt_select_none(&slot->block.memory, 1, &bytes);
}

static void touch(struct tt_bulk_access_state *a, uint64_t offset)
{
    uint64_t place = offset / a->walk.transfer;

    a->touched[place / 64] |= UINT64_C(1) << place % 64;
}

/* The i-th transfer, or none of it. */
static int transfer(struct tt_bulk_access_state *a, struct tt_stream *stream, uint64_t i,
                    bool nothing, struct tt_error *e)
{
    struct tt_stream_slot *slot;
    int rc = tt_stream_take(stream, &slot, e), now;

    if (rc == TT_OK && slot->complete)
        rc = look_at(a, slot, e);
    if (rc != TT_OK && !a->lockstep)
        return rc;
    if (nothing || rc != TT_OK) {
        aim_at_nothing(a, slot);
    } else {
        aim(a, slot, tt_bulk_offset(&a->walk, i));
        if (a->touched)
            touch(a, slot->tag);
        if (a->kind == TT_BULK_WRITE)
            rc = fill(a, slot, a->in_a_row ? tt_stream_clock(stream) : tt_now_ns(), e);
        if (rc != TT_OK)
            aim_at_nothing(a, slot);
    }
    now = tt_stream_start(stream, slot, e);
    return rc == TT_OK ? now : rc;
}

static int finish(struct tt_bulk_access_state *a, struct tt_stream *stream, int rc,
                  struct tt_error *e)
{
    struct tt_stream_slot *slot;

    do {
        int now = tt_stream_complete(stream, &slot, e);

        if (now == TT_OK && slot)
            now = look_at(a, slot, e);
        rc = rc == TT_OK ? now : rc;
    } while (slot);
    return rc;
}

/* ---- all of them ---- */

static bool is_late(const struct tt_bulk_access_state *a, int64_t now_ns)
{
    return a->options->deadline > 0 && a->kind != TT_BULK_CHECK &&
           tt_seconds(now_ns - a->first) > a->options->deadline;
}

static int watch(struct tt_bulk_access_state *a, int64_t now_ns, struct tt_error *e)
{
    if (a->pace)
        note_pace(a->pace, now_ns - a->first, a->done);
    return tt_watch_at(a->engine, now_ns, a->progress + a->done, a->progress_total, e);
}

static int transfer_on_its_own(struct tt_bulk_access_state *a, struct tt_stream *stream,
                               uint64_t until, bool is_overtime, struct tt_error *e)
{
    int rc = TT_OK;

    a->in_a_row = false;
    while (rc == TT_OK && a->done < until) {
        rc = transfer(a, stream, a->done, false, e);
        a->in_a_row = true;
        a->done += rc == TT_OK;
        if (rc == TT_OK)
            rc = watch(a, tt_stream_clock(stream), e);
        if (!is_overtime && is_late(a, tt_stream_clock(stream))) {
            a->cut = true;
            break;
        }
    }
    return rc;
}

/* All ranks make as many calls as the one with the most; who has failed, makes them with nothing.
 */
static int transfer_in_step(struct tt_bulk_access_state *a, struct tt_stream *stream,
                            struct tt_error *e)
{
    uint64_t most;
    int rc = TT_OK, told = TT_OK;

    MPI_Allreduce(&a->walk.count, &most, 1, MPI_UINT64_T, MPI_MAX, a->engine->comm);
    for (uint64_t i = 0; i < most && told == TT_OK; i++) {
        bool nothing = rc != TT_OK || i >= a->walk.count;
        int now = transfer(a, stream, i, nothing, e);

        rc = rc == TT_OK ? now : rc;
        a->done += !nothing && rc == TT_OK;
        if ((i + 1) % STEPS_BETWEEN_AGREEMENTS == 0) {
            if (rc == TT_OK && a->engine->rank == 0)
                rc = watch(a, tt_now_ns(), e);
            told = tt_agree(a->engine->comm, rc, e);
        }
    }
    return rc == TT_OK ? told : rc;
}

/* After the deadline, up to what the fastest rank has done. */
static int wear_out(struct tt_bulk_access_state *a, struct tt_stream *stream, int rc,
                    struct tt_error *e)
{
    uint64_t most;

    MPI_Allreduce(&a->done, &most, 1, MPI_UINT64_T, MPI_MAX, a->engine->comm);
    if (rc == TT_OK)
        rc = transfer_on_its_own(a, stream, most < a->walk.count ? most : a->walk.count, true, e);
    return rc;
}

/* Making it durable is a part of writing it, unless nobody asked for it; a rank does not wait for
 * the others with it, unless its library does. */
static int sync_all(struct tt_bulk_access_state *a, struct tt_stream *stream, int rc,
                    struct tt_error *e)
{
    int sync = a->engine->config->run->sync, synced;
    int64_t own = 0;

    if (a->kind != TT_BULK_WRITE || sync == TT_SYNC_NEVER || sync == TT_SYNC_WRITE)
        return rc;
    synced = tt_stream_sync(stream, &own, e);
    a->last += own;
    return rc == TT_OK ? synced : rc;
}

static int transfer_all(struct tt_bulk_access_state *a, struct tt_stream *stream,
                        struct tt_error *e)
{
    int rc, reason;

    tt_watch_begin(a->engine);
    a->first = tt_now_ns();
    if (a->lockstep)
        rc = transfer_in_step(a, stream, e);
    else
        rc = transfer_on_its_own(a, stream, a->walk.count, false, e);
    a->at_deadline = a->done;
    a->deadline_ns = a->cut ? tt_now_ns() - a->first : INT64_MAX;
    if (a->options->wear_out && a->kind != TT_BULK_CHECK)
        rc = wear_out(a, stream, rc, e);
    rc = finish(a, stream, rc, e);
    a->last = tt_now_ns();
    rc = sync_all(a, stream, rc, e);
    reason = tt_watch_end(a->engine, e);
    return tt_agree(a->engine->comm, rc == TT_OK ? reason : rc, e);
}

static int use_file(struct tt_bulk_access_state *a, struct tt_series *series, struct tt_error *e)
{
    const struct tt_stream_spec spec = {
        .direction = a->kind == TT_BULK_WRITE ? TT_WRITING : TT_READING,
        .depth = (unsigned)a->options->depth,
        .overlapping = a->walk.order == TT_BULK_REPEATED && a->walk.shared &&
                       a->content.kind != TT_CONTENT_RANDOM, /* each rank has its own */
        .buffer_size = a->walk.transfer,
    };
    struct tt_stream *stream;
    int rc = tt_stream_open(series, &spec, &stream, e), closed;

    if (rc != TT_OK)
        return rc;
    a->open_ns = tt_stream_open_ns(stream);
    if (a->options->barriers)
        MPI_Barrier(a->engine->comm);
    rc = transfer_all(a, stream, e);
    closed = tt_stream_close(stream, e);
    return rc == TT_OK ? closed : rc;
}

int tt_bulk_access_run(struct tt_bulk_access_state *a, struct tt_error *e)
{
    const struct tt_variable variable = {
        .path = "data",
        .element = &tt_element_u8,
        .ndims = 1,
        .dims = {a->walk.slots * a->walk.transfer},
        .per_step = true,
    };
    const struct tt_series_spec spec = {
        .path = a->path,
        .access = a->kind == TT_BULK_WRITE ? TT_CREATE : TT_READ_ONLY,
        .policy = TT_OVERWRITE,
        .per_process = !a->walk.shared,
        .own_path = true,
        .independent = !a->lockstep,
        .plain = a->walk.transfer <= (uint64_t)1 << 30,
        .steps = 1,
        .nvariables = 1,
        .variables = &variable,
    };
    struct tt_series *series;
    int rc = tt_agree(a->engine->comm, prepare(a, e), e), closed;

    if (rc != TT_OK)
        return rc;
    MPI_Barrier(a->engine->comm);
    a->began = tt_now_ns();
    rc = tt_series_open(a->engine, &spec, &series, e);
    if (rc != TT_OK)
        return rc;
    rc = use_file(a, series, e);
    if (a->options->barriers)
        MPI_Barrier(a->engine->comm);
    closed = tt_series_close_timed(series, &a->close_ns, e);
    if (!a->options->timed_check) /* comparing is no part of it */
        a->last -= a->checking_ns;
    return tt_agree(a->engine->comm, rc == TT_OK ? closed : rc, e);
}
