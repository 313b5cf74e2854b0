/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of records: from the areas of all ranks to the file of their node, whole or reduced,
 * by whoever has the lock. Only async-signal-safe calls, and no memory is taken. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "plan/directory.h"
#include "record/memory.h"
#include "record/reduce.h"

/* ---- the file of the node ---- */

static int open_file(struct tt_memory *m, const char *name, int flags)
{
    char path[PATH_MAX], *end = path;

    if (strlen(m->records) + strlen(name) + 2 > sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    end = stpcpy(end, m->records);
    *end++ = '/';
    stpcpy(end, name);
    return open(path, O_WRONLY | TT_DIRECTORY_OPEN | flags, 0666);
}

static int make_file(struct tt_memory *m)
{
    const struct tt_records_start start = {TT_RECORDS_MAGIC, TT_NPHASES};
    struct tt_node_head *h = m->head;
    struct stat st;

    for (int i = 0; i < 2 && m->file < 0; i++) {
        stpcpy(h->name, m->names[i]);
        m->file = open_file(m, h->name, O_CREAT | O_EXCL);
        if (m->file < 0 && errno != EEXIST)
            break;
    }
    if (m->file < 0 || fstat(m->file, &st) != 0)
        return errno;
    errno = 0;
    if (pwrite(m->file, &start, sizeof start, 0) != (ssize_t)sizeof start)
        return errno ? errno : ENOSPC;
    h->end = sizeof start;
    h->inode = st.st_ino;
    return 0;
}

static int reopen_file(struct tt_memory *m)
{
    struct stat st;

    if (strchr(m->head->name, '/') || !memchr(m->head->name, '\0', sizeof m->head->name))
        return EINVAL;
    m->file = open_file(m, m->head->name, 0);
    if (m->file < 0 || fstat(m->file, &st) != 0)
        return errno;
    if (st.st_ino != m->head->inode || !S_ISREG(st.st_mode)) {
        close(m->file);
        m->file = -1;
        return ESTALE;
    }
    return 0;
}

/* ---- writing ---- */

struct out {
    struct tt_memory *m;
    uint64_t offset;   /* of the buffer in the file */
    size_t used, last; /* last: where the header of the last chunk is in the buffer */
    struct tt_chunk_header chunk;
};

static void write_out(struct out *o, const void *data, size_t n)
{
    struct tt_node_head *h = o->m->head;

    if (!h->failed)
        h->failed = tt_sys_write_at(o->m->file, data, n, (off_t)o->offset);
    o->offset += n;
}

static void flush(struct out *o)
{
    write_out(o, o->m->buffer, o->used);
    o->used = 0;
    o->chunk.type = 0;
}

/* Of these several are one chunk if they follow each other. */
static bool are_joined(uint32_t type)
{
    return type == TT_CHUNK_ITERATIONS || type == TT_CHUNK_EPOCHS || type == TT_CHUNK_REDUCED ||
           type == TT_CHUNK_REDUCED_EPOCHS || type == TT_CHUNK_SAMPLES;
}

static void put_chunk(struct out *o, const struct tt_chunk_header *chunk, const void *data)
{
    bool joins = o->chunk.type == chunk->type && are_joined(chunk->type) &&
                 o->chunk.slot == chunk->slot && o->used + chunk->length <= TT_MEMORY_BUFFER;

    if (!joins) {
        if (o->used + sizeof *chunk + chunk->length > TT_MEMORY_BUFFER)
            flush(o);
        o->chunk = *chunk;
        o->last = o->used;
        o->used += sizeof *chunk;
    } else {
        o->chunk.length += chunk->length;
    }
    memcpy(o->m->buffer + o->last, &o->chunk, sizeof o->chunk);
    if (o->used + chunk->length > TT_MEMORY_BUFFER) {
        flush(o);
        write_out(o, data, chunk->length);
        return;
    }
    memcpy(o->m->buffer + o->used, data, chunk->length);
    o->used += chunk->length;
}

static void put(struct out *o, enum tt_chunk_type type, uint32_t slot, const void *data,
                size_t item, size_t n)
{
    const struct tt_chunk_header chunk = {
        .type = type,
        .item = (uint32_t)item,
        .slot = slot,
        .rank = slot == TT_NODE_SLOT ? 0 : tt_memory_area(o->m, slot)->header.rank,
        .length = item * n};

    put_chunk(o, &chunk, data);
}

/* ---- one rank ---- */

static void say_rank(struct out *o, uint32_t i)
{
    struct tt_area *a = tt_memory_area(o->m, i);
    struct tt_records_header h = a->header;

    h.state = a->state;
    if (a->next.said == h.state + 1)
        return;
    put(o, TT_CHUNK_RANK, i, &h, sizeof h, 1);
    a->next.said = h.state + 1;
}

/* Whole chunks, as the rank has put them. */
static void move_chunks(struct out *o, uint32_t i)
{
    struct tt_area *a = tt_memory_area(o->m, i);
    uint64_t to = a->seen[TT_RING_CHUNKS], from = a->next.taken[TT_RING_CHUNKS];

    if (from == to)
        return;
    flush(o);
    while (from < to) {
        size_t at = from % TT_AREA_CHUNKS,
               n = to - from < TT_AREA_CHUNKS - at ? to - from : TT_AREA_CHUNKS - at;

        write_out(o, a->chunks + at, n);
        from += n;
    }
    a->next.taken[TT_RING_CHUNKS] = to;
}

/* ---- rings of records ---- */

/* Two kinds, each of which begins with a number: that of the iteration, or of the epoch. */
struct kind {
    enum tt_ring ring;
    enum tt_chunk_type type;
    size_t size, capacity;
    void (*reduce)(struct out *o, uint64_t key);
};

static const void *record_at(const struct tt_area *a, enum tt_ring ring, uint64_t n)
{
    return ring == TT_RING_ITERATIONS ? (const void *)&a->iterations[n % TT_AREA_ITERATIONS]
                                      : &a->epochs[n % TT_AREA_EPOCHS];
}

static uint64_t key_at(const struct tt_area *a, enum tt_ring ring, uint64_t n)
{
    uint64_t key;

    memcpy(&key, record_at(a, ring, n), sizeof key);
    return key;
}

static uint64_t number_at(const struct tt_area *a, enum tt_ring ring, uint64_t n)
{
    return key_at(a, ring, n) & ~TT_ITERATION_EXCLUDED;
}

/* Outside of iterations it is never reduced: its number is 0. Records that follow each other in the
 * ring are put at once. */
static void move_whole(struct out *o, uint32_t i, const struct kind *k)
{
    struct tt_area *a = tt_memory_area(o->m, i);
    uint64_t to = a->seen[k->ring], *at = &a->next.taken[k->ring];
    uint64_t after = tt_reduce_after(a->header.size, o->m->head->above);

    while (*at < to) {
        uint64_t most = to - *at, n = 0;

        if (most > k->capacity - *at % k->capacity)
            most = k->capacity - *at % k->capacity;
        if (most > TT_MEMORY_BUFFER / 2 / k->size)
            most = TT_MEMORY_BUFFER / 2 / k->size;
        while (n < most && number_at(a, k->ring, *at + n) <= after)
            n++;
        if (n == 0)
            return;
        put(o, k->type, i, record_at(a, k->ring, *at), k->size, n);
        *at += n;
    }
}

/* The front record of an area, if it has this number; else NULL. */
static const void *front(const struct tt_area *a, enum tt_ring ring, uint64_t key)
{
    uint64_t at = a->next.taken[ring];

    return at < a->seen[ring] && key_at(a, ring, at) == key ? record_at(a, ring, at) : NULL;
}

static void set_medians(struct out *o, struct tt_reduced *r)
{
    for (int p = 0; p < TT_NPHASES; p++) {
        size_t n = 0;

        for (uint32_t i = 0; r->max_ns[p] > 0 && i < o->m->head->nareas; i++) {
            const struct tt_iteration_record *it =
                front(tt_memory_area(o->m, i), TT_RING_ITERATIONS, r->iteration);

            if (it && n < TT_MEMORY_AREAS)
                o->m->values[n++] = (float)it->phase_ns[p];
        }
        r->median_ns[p] = tt_select_median(o->m->values, n);
    }
}

static void reduce_iteration(struct out *o, uint64_t key)
{
    unsigned char bytes[TT_REDUCED_MOST];
    struct tt_reduced r = {0};

    for (uint32_t i = 0; i < o->m->head->nareas; i++) {
        struct tt_area *a = tt_memory_area(o->m, i);
        const struct tt_iteration_record *it = front(a, TT_RING_ITERATIONS, key);

        if (!it)
            continue;
        if (r.ranks == 0)
            tt_reduced_begin(&r, it, a->header.rank);
        else
            tt_reduced_add(&r, it, a->header.rank);
        tt_totals_add(&a->next.totals, it);
    }
    set_medians(o, &r);
    put(o, TT_CHUNK_REDUCED, TT_NODE_SLOT, bytes, tt_reduced_pack(&r, bytes), 1);
}

static void reduce_epoch(struct out *o, uint64_t key)
{
    struct tt_reduced_epoch r = {0};

    for (uint32_t i = 0; i < o->m->head->nareas; i++) {
        const struct tt_epoch_record *e = front(tt_memory_area(o->m, i), TT_RING_EPOCHS, key);

        if (e)
            tt_reduced_epoch_add(&r, e);
    }
    put(o, TT_CHUNK_REDUCED_EPOCHS, TT_NODE_SLOT, &r, sizeof r, 1);
}

static const struct kind kinds[] = {
    {TT_RING_ITERATIONS, TT_CHUNK_ITERATIONS, sizeof(struct tt_iteration_record),
     TT_AREA_ITERATIONS, reduce_iteration},
    {TT_RING_EPOCHS, TT_CHUNK_EPOCHS, sizeof(struct tt_epoch_record), TT_AREA_EPOCHS, reduce_epoch},
};

/* The lowest number that is in front anywhere and may be reduced now: when every rank that runs has
 * come so far, or one of them cannot wait. What comes later is reduced apart, and merged when it is
 * loaded. */
static bool next_key(struct out *o, const struct kind *k, bool last, uint64_t *key)
{
    bool found = false, waits = false, crowded = last;

    for (uint32_t i = 0; i < o->m->head->nareas; i++) {
        struct tt_area *a = tt_memory_area(o->m, i);
        uint64_t at, now;

        move_whole(o, i, k);
        at = a->next.taken[k->ring];
        if (at == a->seen[k->ring]) {
            waits = waits || (a->attached && a->state == TT_RANK_RUNNING);
            continue;
        }
        crowded = crowded || a->seen[k->ring] - at > 3 * k->capacity / 4;
        now = key_at(a, k->ring, at);
        if (!found || (now & ~TT_ITERATION_EXCLUDED) < (*key & ~TT_ITERATION_EXCLUDED))
            *key = now;
        found = true;
    }
    return found && (crowded || !waits);
}

/* Of some ranks reduced iterations are kept, too. */
static void put_samples(struct out *o)
{
    for (uint32_t i = 0; i < o->m->head->nareas; i++) {
        struct tt_area *a = tt_memory_area(o->m, i);
        uint64_t after = tt_reduce_after(a->header.size, o->m->head->above);

        if (!tt_reduce_samples(a->header.rank, a->header.size))
            continue;
        for (uint64_t at = a->taken[TT_RING_ITERATIONS]; at < a->next.taken[TT_RING_ITERATIONS];
             at++)
            if (number_at(a, TT_RING_ITERATIONS, at) > after)
                put(o, TT_CHUNK_SAMPLES, i, record_at(a, TT_RING_ITERATIONS, at),
                    sizeof(struct tt_iteration_record), 1);
    }
}

static void move_records(struct out *o, bool last)
{
    for (size_t k = 0; k < 2; k++) {
        uint64_t key = 0;

        while (next_key(o, &kinds[k], last, &key)) {
            kinds[k].reduce(o, key);
            for (uint32_t i = 0; i < o->m->head->nareas; i++)
                if (front(tt_memory_area(o->m, i), kinds[k].ring, key))
                    tt_memory_area(o->m, i)->next.taken[kinds[k].ring]++;
        }
    }
    put_samples(o);
}

/* Seldom, and at the end: a node that is lost takes little along, and the file stays small. */
static void put_totals(struct out *o, bool last)
{
    for (uint32_t i = 0; i < o->m->head->nareas; i++) {
        struct tt_area_moved *next = &tt_memory_area(o->m, i)->next;

        if (next->totals.iterations < (last ? next->said_totals + 1 : 2 * next->said_totals + 1))
            continue;
        put(o, TT_CHUNK_TOTALS, i, &next->totals, sizeof next->totals, 1);
        next->said_totals = next->totals.iterations;
    }
}

/* ---- moving ---- */

static void take_effect(struct tt_memory *m)
{
    for (uint32_t i = 0; i < m->head->nareas; i++) {
        struct tt_area *a = tt_memory_area(m, i);

        a->moved = a->next;
        for (int k = 0; k < TT_NRINGS; k++)
            a->taken[k] = a->next.taken[k];
    }
    m->head->end = m->head->next_end;
    m->head->moving = 0;
    m->head->committed = 0;
}

/* Memory of our own user, but it may be damaged. */
static bool is_sound(const struct tt_memory *m)
{
    static const uint64_t capacity[] = {TT_AREA_ITERATIONS, TT_AREA_EPOCHS, TT_AREA_CHUNKS};

    for (uint32_t i = 0; i < m->head->nareas; i++)
        for (int k = 0; k < TT_NRINGS; k++)
            if (tt_memory_area(m, i)->put[k] - tt_memory_area(m, i)->taken[k] > capacity[k])
                return false;
    return true;
}

static void put_of_node(struct out *o)
{
    struct tt_node_head *h = o->m->head;
    uint64_t *words = o->m->words;

    if (h->merging)
        return;
    if (h->has_calls)
        put(o, TT_CHUNK_CALLS, TT_NODE_SLOT, words, sizeof *words,
            tt_histograms_pack(h->calls, TT_NCALLS, words));
    if (h->has_timelines)
        put(o, TT_CHUNK_TIMELINES, TT_NODE_SLOT, h->timelines, sizeof *h->timelines, 2);
}

/* What was written by somebody who was killed before it held is cut off. False: somebody who only
 * looks at the run cannot write to its file, and leaves all as it is; where there is no such file
 * any more, nobody needs the memory. */
static bool have_file(struct tt_memory *m, bool last)
{
    struct tt_node_head *h = m->head;
    int why = 0;

    if (h->failed)
        return true;
    if (m->file < 0 || !h->inode) /* a handler may interrupt who makes it */
        why = h->inode ? reopen_file(m) : make_file(m);
    if (why == 0 && h->moving && ftruncate(m->file, (off_t)h->end) != 0)
        why = errno;
    if (why == 0)
        return true;
    if (m->slot == TT_NODE_SLOT) {
        if (last && (why == ENOENT || why == ESTALE))
            unlink(m->path);
        return false;
    }
    h->failed = why;
    return true;
}

void tt_memory_move(struct tt_memory *m, const struct tt_chunk_header *chunk, const void *data)
{
    struct out o = {.m = m};
    bool last;

    if (m->head->removed || !tt_memory_look(m))
        return;
    if (m->head->committed)
        take_effect(m);
    last = tt_memory_is_last(m);
    if (!is_sound(m) || !have_file(m, last))
        return;
    m->head->moving = 1;
    o.offset = m->head->end;
    for (uint32_t i = 0; i < m->head->nareas; i++) {
        struct tt_area *a = tt_memory_area(m, i);

        a->next = a->moved;
        for (int k = 0; k < TT_NRINGS; k++)
            a->seen[k] = a->put[k];
        say_rank(&o, i);
        move_chunks(&o, i);
    }
    move_records(&o, last);
    put_totals(&o, last);
    if (chunk)
        put_chunk(&o, chunk, data);
    if (last)
        put_of_node(&o);
    flush(&o);
    m->head->next_end = m->head->failed ? m->head->end : o.offset;
    m->head->committed = 1;
    take_effect(m);
    m->head->removed = last;
    if (last)
        unlink(m->path);
}

void tt_memory_send(struct tt_memory *m)
{
    if (m->file >= 0)
        sync_file_range(m->file, 0, 0, SYNC_FILE_RANGE_WRITE);
}
