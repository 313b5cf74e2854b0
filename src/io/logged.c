/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every write, read and sync makes the same calls below on every rank, whatever the rank has to
 * move, since these calls may be collective. */
#include "io/logged.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/pool.h"

enum { LEAST_SEGMENT = 64 << 10, MOST_SEGMENT = 64 << 20 };

static void *room(struct tt_logged_buffer *b, size_t size)
{
    if (b->size < size || !b->data) {
        free(b->data);
        b->data = malloc(size + 1);
        b->size = b->data ? size : 0;
    }
    return b->data;
}

/* ---- calls below ---- */

static struct tt_block bytes_below(struct tt_file *file, size_t nfile, const struct tt_run *in_file,
                                   size_t nmemory, const struct tt_run *in_memory, const void *data)
{
    const struct tt_logged *s = file->state;
    struct tt_block b = {.data = (void *)data};
    uint64_t end = 0;

    if (nfile == 0) {
        tt_select_none(&b.file, 1, s->container.dims);
        tt_select_none(&b.memory, 1, s->container.dims);
        return b;
    }
    for (size_t i = 0; i < nmemory; i++)
        if (in_memory[i].start + in_memory[i].length > end)
            end = in_memory[i].start + in_memory[i].length;
    tt_select_runs(&b.file, 1, s->container.dims, nfile, in_file);
    tt_select_runs(&b.memory, 1, &end, nmemory, in_memory);
    return b;
}

/* A container whose format knows its length is extended by all ranks together. */
static int extend(struct tt_file *file, uint64_t end, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    int wanted = (int)((end + s->log.segment - 1) / s->log.segment);

    if (!s->grows)
        return TT_OK;
    tt_file_max(file, 1, &wanted);
    if ((uint64_t)wanted <= s->segments)
        return TT_OK;
    s->segments = (uint64_t)wanted;
    s->container.dims[0] = s->log.base + s->segments * s->log.ranks * s->log.segment;
    return tt_file_define(file->below, 0, e);
}

/* With rc other than TT_OK, or if the container cannot be extended to end, nothing is moved, but
 * the call is made. */
static int write_runs(struct tt_file *file, int rc, uint64_t end, size_t nfile,
                      const struct tt_run *in_file, size_t nmemory, const struct tt_run *in_memory,
                      const void *data, struct tt_error *e)
{
    int extended = extend(file, end, e), moved;
    struct tt_block b;

    rc = rc != TT_OK ? rc : extended;
    b = bytes_below(file, rc == TT_OK ? nfile : 0, in_file, nmemory, in_memory, data);
    moved = tt_file_write(file->below, 0, &b, e);
    return rc != TT_OK ? rc : moved;
}

static int fetch(void *context, int rc, size_t n, const struct tt_run *runs, void *to,
                 struct tt_error *e)
{
    struct tt_file *file = context;
    struct tt_logged *s = file->state;
    struct tt_run all = {0};
    struct tt_block b;
    int below;

    if (rc != TT_OK)
        n = 0;
    for (size_t i = 0; i < n; i++)
        all.length += runs[i].length;
    b = bytes_below(file, n, runs, 1, &all, to);
    below = tt_file_read(file->below, 0, &b, e);
    if (file->spec->access != TT_CREATE)
        s->container.dims[0] = TT_LOG_ENDLESS; /* its length was not known, but it is there */
    return tt_file_agree(file, rc != TT_OK ? rc : below, e);
}

/* ---- opening ---- */

static uint64_t choose_segment(const struct tt_file *file, uint64_t given)
{
    uint64_t share = tt_raw_size(file->spec, 1, 1) / (uint64_t)file->size;

    share = share < LEAST_SEGMENT ? LEAST_SEGMENT : share > MOST_SEGMENT ? MOST_SEGMENT : share;
    return ((given ? given : share) + TT_LOG_UNIT - 1) / TT_LOG_UNIT * TT_LOG_UNIT;
}

static const struct tt_backend *bottom_of(const struct tt_file *file)
{
    while (file->below)
        file = file->below;
    return file->backend;
}

static int start_states(struct tt_logged *s, struct tt_error *e)
{
    for (int unpacks = 0; s->log.codec && unpacks < 2; unpacks++) {
        s->states[unpacks] = calloc(s->opts.threads, sizeof *s->states[unpacks]);
        for (unsigned i = 0; s->states[unpacks] && i < s->opts.threads; i++) {
            s->states[unpacks][i] = s->log.codec->start(unpacks);
            if (!s->states[unpacks][i])
                return tt_fail_nomem(e, "a codec");
        }
        if (!s->states[unpacks])
            return tt_fail_nomem(e, "a codec");
    }
    return TT_OK;
}

static void free_all(struct tt_logged *s)
{
    struct tt_logged_buffer *const buffers[] = {
        &s->gathered,    &s->stored, &s->blocks, &s->file_runs,
        &s->memory_runs, &s->copies, &s->items,  &s->unpacked,
    };

    for (int unpacks = 0; unpacks < 2; unpacks++) {
        for (unsigned i = 0; s->states[unpacks] && i < s->opts.threads; i++)
            if (s->states[unpacks][i])
                s->log.codec->end(s->states[unpacks][i], unpacks);
        free(s->states[unpacks]);
        s->states[unpacks] = NULL;
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        free(buffers[i]->data);
    free(s->index.all.data);
    free(s->record.data);
    tt_log_free(&s->log);
}

static int create(struct tt_file *file, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    const struct tt_run front = {0, s->log.base};
    unsigned char *image = file->rank == 0 ? tt_log_front(&s->log) : NULL;
    struct tt_block b = bytes_below(file, image != NULL, &front, 1, &front, image);
    int rc = file->rank == 0 && !image ? tt_fail_nomem(e, "the head of a log") : TT_OK;

    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_file_define(file->below, 0, e), e);
    if (rc == TT_OK)
        rc = tt_file_write(file->below, 0, &b, e);
    free(image);
    return rc;
}

static int load(struct tt_file *file, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    int rc;

    rc = tt_log_load(&s->log, UINT64_MAX, false, fetch, file, e);
    return rc == TT_OK ? tt_log_check(&s->log, file->spec, e) : rc;
}

int tt_logged_open(struct tt_file *file, const struct tt_logged_opts *opts, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    const struct tt_file_spec *spec = file->spec;
    bool creates = spec->access == TT_CREATE;
    int rc = TT_OK;

    s->opts = *opts;
    s->log.path = spec->path;
    s->grows = !(bottom_of(file)->caps & TT_CAP_RAW);
    if (creates && s->grows && spec->independent && file->size > 1)
        rc = tt_fail(e, TT_UNSUPPORTED,
                     "layer %s on %s needs transfers that ranks make together: only then can the "
                     "container of '%s' grow",
                     file->backend->name, bottom_of(file)->name, spec->path);
    if (rc == TT_OK && creates)
        rc = tt_log_begin(&s->log, spec, (unsigned)file->size, choose_segment(file, opts->segment),
                          opts->block, opts->codec, e);
    s->container = (struct tt_variable){
        .path = "container",
        .element = &tt_element_u8,
        .ndims = 1,
        .dims = {!creates   ? TT_LOG_START
                 : s->grows ? s->log.base
                            : TT_LOG_ENDLESS},
        .unlimited = true,
    };
    file->own_spec = *spec;
    file->own_spec.policy = TT_OVERWRITE;
    file->own_spec.steps = 0; /* nor is it known how long the file becomes */
    file->own_spec.nvariables = 1;
    file->own_spec.plain = false;
    file->own_spec.variables = &s->container;
    file->own_spec.ngroups = 0; /* they are of variables, which end here */
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_below_open(file, &file->own_spec, e), e);
    if (rc == TT_OK)
        rc = creates ? create(file, e) : load(file, e);
    if (rc == TT_OK)
        rc = start_states(s, e);
    rc = tt_file_agree(file, rc, e); /* close makes calls that all ranks must make */
    if (rc != TT_OK)
        free_all(s);
    return rc;
}

/* Nothing is made for a step, here or below. */
int tt_logged_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    (void)file;
    (void)step;
    (void)e;
    return TT_OK;
}

/* ---- blocks, by one thread or several ---- */

struct job {
    struct tt_logged *s;
    const unsigned char *raw; /* of a write: the request's bytes */
    uint64_t bytes;
    struct tt_packing how;
    size_t bound;             /* room for each packed block, or for what each thread unpacks */
    const struct item *items; /* of a read, */
    const unsigned char *stored;
    unsigned char *data; /* and the caller's memory */
    int64_t cpu_ns;
};

/* The caller's own CPU time is known; that of other threads is added to it. */
static int each(struct tt_file *file, struct job *j, uint64_t n, tt_work_item *act,
                struct tt_error *e)
{
    unsigned threads = j->s->opts.threads;
    struct tt_work *work;
    int rc = TT_OK;

    if (threads > 1 && n > 1) {
        rc = tt_work_start(&work, threads < n ? threads : (unsigned)n, n, act, j, e);
        if (rc == TT_OK)
            rc = tt_work_end(work, false, e);
        file->cost.threads_ns += j->cpu_ns;
        return rc;
    }
    for (uint64_t i = 0; rc == TT_OK && i < n; i++)
        rc = act(j, NULL, 0, i, e);
    return rc;
}

static int pack_block(void *context, struct tt_work *work, unsigned worker, uint64_t k,
                      struct tt_error *e)
{
    struct job *j = context;
    struct tt_logged *s = j->s;
    const struct tt_codec *codec = s->log.codec;
    int64_t start = work ? tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    const unsigned char *from = j->raw + k * s->log.block;
    uint64_t left = j->bytes - k * s->log.block, n = left < s->log.block ? left : s->log.block;
    unsigned char *to = (unsigned char *)s->stored.data + k * j->bound;
    struct tt_log_block *out = (struct tt_log_block *)s->blocks.data + k;
    size_t size = codec->pack(s->states[0][worker], &j->how, from, n, to, j->bound);

    (void)e;
    if (size == 0 || size >= n) {
        memcpy(to, from, n);
        size = n;
    }
    *out = (struct tt_log_block){(uint32_t)size, XXH3_64bits(to, size)};
    if (work)
        __atomic_fetch_add(&j->cpu_ns, tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start,
                           __ATOMIC_RELAXED);
    return TT_OK;
}

/* ---- writing ---- */

/* The bytes of the request in one piece: in memory as they are, or gathered. */
static const unsigned char *gather(struct tt_logged *s, const struct tt_block *b,
                                   size_t element_size, uint64_t bytes)
{
    struct tt_run run;

    if (tt_selection_is_contiguous(&b->memory, &run))
        return (const unsigned char *)b->data + run.start * element_size;
    if (!room(&s->gathered, bytes))
        return NULL;
    tt_block_pack(b, element_size, s->gathered.data);
    return s->gathered.data;
}

/* What goes to the stream: blocks, and where they lie in memory at *data. */
static int make_blocks(struct tt_file *file, enum tt_kind kind, const unsigned char *raw,
                       uint64_t bytes, const unsigned char **data, size_t *nmemory,
                       struct tt_error *e)
{
    struct tt_logged *s = file->state;
    const struct tt_codec *codec = s->log.codec;
    uint64_t n = (bytes + s->log.block - 1) / s->log.block;
    struct tt_log_block *blocks = room(&s->blocks, n * sizeof *blocks);
    struct tt_run *runs = room(&s->memory_runs, n * sizeof *runs);
    struct job j = {
        .s = s, .raw = raw, .bytes = bytes, .how = {s->opts.level, s->opts.bound, kind}};
    int rc;

    j.bound = codec ? codec->bound(bytes < s->log.block ? bytes : s->log.block) : 0;
    if (!blocks || !runs || (codec && !room(&s->stored, n * j.bound)))
        return tt_fail_nomem(e, "the blocks of a request");
    *data = codec ? s->stored.data : raw;
    *nmemory = codec ? n : 1;
    runs[0] = (struct tt_run){0, bytes};
    if (codec) {
        rc = each(file, &j, n, pack_block, e);
        for (uint64_t k = 0; k < n; k++)
            runs[k] = (struct tt_run){k * j.bound, blocks[k].stored};
        return rc;
    }
    for (uint64_t k = 0; k < n; k++) {
        uint64_t left = bytes - k * s->log.block;

        blocks[k].stored = (uint32_t)(left < s->log.block ? left : s->log.block);
        blocks[k].hash = XXH3_64bits(raw + k * s->log.block, blocks[k].stored);
    }
    return TT_OK;
}

int tt_logged_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e)
{
    struct tt_logged *s = file->state;
    const struct tt_element *element = file->spec->variables[b->variable].element;
    size_t element_size = element->size, nfile = 0, nmemory = 0;
    struct tt_log_entry x = {b->variable, (uint32_t)file->rank, step, s->calls++, s->position};
    const unsigned char *raw, *data = NULL;
    uint64_t stored = 0, nblocks;
    struct tt_run *runs = NULL;
    int rc = TT_OK;

    x.bytes = tt_selection_count(&b->file) * element_size;
    nblocks = tt_log_nblocks(&s->log, &x);
    if (x.bytes > 0) {
        raw = gather(s, b, element_size, x.bytes);
        rc = raw ? make_blocks(file, element->kind, raw, x.bytes, &data, &nmemory, e)
                 : tt_fail_nomem(e, "a request");
        for (uint64_t k = 0; rc == TT_OK && k < nblocks; k++)
            stored += ((const struct tt_log_block *)s->blocks.data)[k].stored;
        runs =
            rc == TT_OK ? room(&s->file_runs, tt_log_nruns(&s->log, stored) * sizeof *runs) : NULL;
        if (rc == TT_OK && !runs)
            rc = tt_fail_nomem(e, "the runs of a request");
        if (rc == TT_OK)
            nfile = tt_log_runs(&s->log, x.rank, s->position, stored, runs);
    }
    rc = write_runs(file, rc, s->position + stored, nfile, runs, nmemory, s->memory_runs.data, data,
                    e);
    s->position += stored;
    if (rc == TT_OK && x.bytes > 0 &&
        tt_log_index_add(&s->index, &x, b, element_size, s->blocks.data, nblocks) != TT_OK)
        rc = tt_fail_nomem(e, "the index of a log");
    s->failed |= rc != TT_OK;
    return rc;
}

/* The index of what is new, and the slot that tells where it is, in one call: if a crash leaves
 * only one of them, the other slot still tells of the record before. */
static int write_index(struct tt_file *file, bool last, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    bool has_news = last || s->index.all.n > s->index.recorded;
    uint64_t rank = (uint64_t)file->rank;
    size_t record = 0, n = 0;
    struct tt_run *runs = NULL, all = {0};
    int rc = TT_OK;

    if (has_news &&
        (tt_log_index_record(&s->index, rank, s->position, last, &s->record, &record) != TT_OK ||
         !(runs = room(&s->file_runs, (tt_log_nruns(&s->log, record) + 1) * sizeof *runs))))
        rc = tt_fail_nomem(e, "the index of a log");
    if (rc == TT_OK && has_news) {
        all.length = record + TT_LOG_SLOT;
        n = tt_log_runs(&s->log, rank, s->position, record, runs);
        runs[n++] = (struct tt_run){tt_log_slot(&s->log, rank, s->slot), TT_LOG_SLOT};
        s->unsynced = true;
    }
    rc = write_runs(file, rc, s->position + record, n, runs, 1, &all, s->record.data, e);
    if (rc == TT_OK && n > 0)
        tt_log_index_recorded(&s->index, s->position, record);
    s->position += record;
    s->failed |= rc != TT_OK;
    return rc;
}

int tt_logged_sync(struct tt_file *file, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    int rc = file->spec->access == TT_CREATE ? write_index(file, false, e) : TT_OK;
    int below = tt_file_sync(file->below, e);

    rc = rc != TT_OK ? rc : below;
    if (rc == TT_OK && s->unsynced) {
        s->slot ^= 1;
        s->unsynced = false;
    }
    return rc;
}

/* A log of which something is missing is not marked as closed, so whoever reads it is told. */
int tt_logged_close(struct tt_file *file, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    int rc = file->spec->access == TT_CREATE ? write_index(file, !s->failed, e) : TT_OK;
    int below = tt_below_close(file, e);

    free_all(s);
    return rc != TT_OK ? rc : below;
}

/* ---- reading ---- */

/* A part of a block, and where it goes in memory. */
struct copy {
    size_t entry;
    uint64_t within, length, memory;
};
/* A block, and its copies. */
struct item {
    struct tt_log_entry *entry;
    uint64_t number, at; /* at: in what was read */
    const struct copy *copies;
    size_t n;
};

static int compare_copies(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;

    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return x->within < y->within ? -1 : x->within > y->within;
}

/* Where requests end and blocks end copies end, too. Counts them only if copies is NULL. */
static size_t copy_piece(const struct tt_log *log, const struct tt_log_piece *p, uint64_t start,
                         uint64_t length, uint64_t memory, struct copy *copies)
{
    uint64_t within = p->within + (start - p->start);
    size_t n = 0;

    for (uint64_t part; length > 0; length -= part, within += part, memory += part, n++) {
        part = log->block - within % log->block;
        part = part < length ? part : length;
        if (copies)
            copies[n] = (struct copy){p->entry, within, part, memory};
    }
    return n;
}

/* What nobody has written is zero, as in every other file. */
static size_t list_copies(const struct tt_log *log, const struct tt_block *b, size_t element_size,
                          struct copy *copies, bool *gaps)
{
    struct tt_extent_iter it;
    struct tt_extent x;
    size_t n = 0, i = 0;

    tt_extents_begin(&it, b, element_size);
    while (tt_extents_next(&it, &x)) {
        uint64_t at = x.file_offset, end = at + x.length;

        if (i >= log->nmap || log->map[i].start > at) /* not where the last one ended */
            i = 0;
        if (i == 0 || log->map[i].start + log->map[i].length <= at) {
            size_t low = i, high = log->nmap;

            while (low < high) {
                size_t middle = (low + high) / 2;

                if (log->map[middle].start + log->map[middle].length <= at)
                    low = middle + 1;
                else
                    high = middle;
            }
            i = low;
        }
        for (; at < end; i += at < end) {
            const struct tt_log_piece *p = i < log->nmap ? &log->map[i] : NULL;
            uint64_t start = p && p->start < end ? p->start : end, until;
            char *memory = (char *)b->data + x.memory_offset;

            if (start > at) {
                *gaps = true;
                if (copies)
                    memset(memory + (at - x.file_offset), 0, start - at);
                at = start;
            }
            if (at == end)
                break;
            until = p->start + p->length < end ? p->start + p->length : end;
            n += copy_piece(log, p, at, until - at, x.memory_offset + (at - x.file_offset),
                            copies ? copies + n : NULL);
            at = until;
        }
    }
    return n;
}

static int unpack_block(void *context, struct tt_work *work, unsigned worker, uint64_t i,
                        struct tt_error *e)
{
    struct job *j = context;
    struct tt_logged *s = j->s;
    const struct item *item = &j->items[i];
    int64_t start = work ? tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    uint64_t size = tt_log_block_bytes(&s->log, item->entry, item->number);
    bool whole = item->n == 1 && item->copies[0].length == size;
    unsigned char *to = whole ? j->data + item->copies[0].memory
                              : (unsigned char *)s->unpacked.data + worker * j->bound;
    void *state = s->states[1] ? s->states[1][worker] : NULL;
    const void *out;
    int rc =
        tt_log_unpack(&s->log, item->entry, item->number, j->stored + item->at, to, state, &out, e);

    for (size_t c = 0; rc == TT_OK && c < item->n; c++) {
        const struct copy *copy = &item->copies[c];

        if (out != j->data + copy->memory)
            memcpy(j->data + copy->memory, (const char *)out + copy->within % s->log.block,
                   copy->length);
    }
    if (work)
        __atomic_fetch_add(&j->cpu_ns, tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start,
                           __ATOMIC_RELAXED);
    return rc;
}

/* The blocks that have the copies, each once, and all that is stored of them. */
static int list_items(struct tt_logged *s, const struct copy *copies, size_t n, size_t *nitems,
                      size_t *nruns, uint64_t *stored, struct tt_error *e)
{
    struct item *items = room(&s->items, n * sizeof *items), *last = NULL;
    struct tt_run *runs;
    size_t most = 0;

    *nitems = *nruns = *stored = 0;
    if (!items)
        return tt_fail_nomem(e, "the blocks of a request");
    for (size_t i = 0; i < n; i++) {
        struct tt_log_entry *x = &s->log.entries[copies[i].entry];
        uint64_t number = copies[i].within / s->log.block;

        if (last && last->entry == x && last->number == number) {
            last->n++;
            continue;
        }
        if (tt_log_starts(&s->log, x, e) != TT_OK)
            return e->code;
        last = &items[(*nitems)++];
        *last = (struct item){x, number, *stored, &copies[i], 1};
        *stored += x->starts[number + 1] - x->starts[number];
        most += tt_log_nruns(&s->log, x->starts[number + 1] - x->starts[number]);
    }
    runs = room(&s->file_runs, most * sizeof *runs);
    if (!runs)
        return tt_fail_nomem(e, "the runs of a request");
    for (size_t i = 0; i < *nitems; i++) {
        const struct tt_log_entry *x = items[i].entry;
        uint64_t start = x->starts[items[i].number], end = x->starts[items[i].number + 1];

        *nruns += tt_log_runs(&s->log, x->rank, x->position + start, end - start, runs + *nruns);
    }
    return TT_OK;
}

/* The requests of other ranks are known from the container; a rank that is alone knows its own.
 */
static int learn(struct tt_file *file, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    int rc = TT_OK;

    if (file->spec->access != TT_CREATE)
        return TT_OK;
    if (file->size == 1 || file->spec->independent) {
        rc = tt_log_take(&s->log, (uint64_t)file->rank, &s->index, s->taken, e);
        if (rc == TT_OK)
            s->taken = s->index.all.n;
        return rc;
    }
    if (s->seen == s->calls)
        return TT_OK;
    rc = tt_file_agree(file, write_index(file, false, e), e);
    if (rc != TT_OK)
        return rc;
    rc = tt_file_agree(file, tt_log_refresh(&s->log, fetch, file, e), e);
    if (rc == TT_OK)
        s->seen = s->calls;
    else
        tt_log_forget(&s->log);
    return rc;
}

/* Which copies are to be made, of what is stored where. */
static int plan_read(struct tt_file *file, uint64_t step, const struct tt_block *b, size_t *nitems,
                     size_t *nruns, uint64_t *stored, struct tt_error *e)
{
    struct tt_logged *s = file->state;
    const struct tt_variable *v = &file->spec->variables[b->variable];
    bool gaps = false, sorted = true;
    struct copy *copies;
    size_t n;

    *nitems = *nruns = *stored = 0;
    if (tt_selection_count(&b->file) == 0)
        return TT_OK;
    if (tt_log_look_up(&s->log, b->variable, step, e) != TT_OK)
        return e->code;
    n = list_copies(&s->log, b, v->element->size, NULL, &gaps);
    copies = room(&s->copies, n * sizeof *copies);
    if (!copies)
        return tt_fail_nomem(e, "the pieces of a request");
    if (gaps && (s->log.nmap == 0 ||
                 (file->spec->independent && file->size > 1 && file->spec->access == TT_CREATE)))
        return tt_fail(e, TT_FAILED,
                       "'%s', variable '%s', step %llu: nobody has written what is read%s",
                       file->spec->path, v->path, (unsigned long long)step,
                       file->spec->access == TT_CREATE
                           ? "; what other ranks wrote is found once the file is opened again"
                           : "");
    list_copies(&s->log, b, v->element->size, copies, &gaps);
    for (size_t i = 1; i < n; i++)
        sorted &= compare_copies(&copies[i - 1], &copies[i]) <= 0;
    if (!sorted)
        qsort(copies, n, sizeof *copies, compare_copies);
    return list_items(s, copies, n, nitems, nruns, stored, e);
}

int tt_logged_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                   struct tt_error *e)
{
    struct tt_logged *s = file->state;
    size_t nitems = 0, nruns = 0;
    uint64_t stored = 0, threads;
    int rc = learn(file, e), below;
    struct tt_run all = {0};
    struct tt_block bytes;
    struct job j = {.s = s, .data = b->data};

    if (rc == TT_OK)
        rc = plan_read(file, step, b, &nitems, &nruns, &stored, e);
    j.items = s->items.data;
    for (size_t i = 0; rc == TT_OK && i < nitems; i++) {
        uint64_t size = tt_log_block_bytes(&s->log, j.items[i].entry, j.items[i].number);

        j.bound = size > j.bound ? size : j.bound;
    }
    threads = s->opts.threads < nitems ? s->opts.threads : nitems;
    if (rc == TT_OK && (!room(&s->stored, stored) || !room(&s->unpacked, threads * j.bound)))
        rc = tt_fail_nomem(e, "the blocks of a request");
    all.length = stored;
    bytes = bytes_below(file, rc == TT_OK ? nruns : 0, s->file_runs.data, 1, &all, s->stored.data);
    below = tt_file_read(file->below, 0, &bytes, e);
    if (rc == TT_OK)
        rc = below;
    j.stored = s->stored.data;
    return rc == TT_OK ? each(file, &j, nitems, unpack_block, e) : rc;
}
