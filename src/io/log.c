/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing: head, slots, index records. The order of items in head_of, record_of and
 * tt_log_index_add is the format. */
#include "io/log.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "io/log_format.h"

/* ---- bytes ---- */

static int reserve(struct tt_log_bytes *b, size_t more)
{
    size_t capacity = b->capacity ? b->capacity : 256;
    unsigned char *grown;

    while (capacity - b->n < more)
        capacity *= 2;
    if (capacity == b->capacity)
        return TT_OK;
    grown = realloc(b->data, capacity);
    if (!grown)
        return TT_NOMEM;
    b->data = grown;
    b->capacity = capacity;
    return TT_OK;
}

static void put(struct tt_log_bytes *b, const void *data, size_t n)
{
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_word(struct tt_log_bytes *b, uint64_t value)
{
    value = htole64(value);
    put(b, &value, sizeof value);
}

static void put_number(struct tt_log_bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        b->data[b->n++] = (unsigned char)(value | 0x80);
    b->data[b->n++] = (unsigned char)value;
}

/* ---- the front ---- */

static size_t head_bytes(const struct tt_log *log)
{
    size_t n = TT_LOG_HEAD_WORDS * 8 + 8;

    for (unsigned i = 0; i < log->nvariables; i++)
        n += 24 + (strlen(log->variables[i].name) + 7) / 8 * 8;
    return n;
}

void tt__log_place(struct tt_log *log, uint64_t head)
{
    log->slots = (head + TT_LOG_SLOT - 1) / TT_LOG_SLOT * TT_LOG_SLOT;
    log->base =
        (log->slots + log->ranks * 2 * TT_LOG_SLOT + TT_LOG_UNIT - 1) / TT_LOG_UNIT * TT_LOG_UNIT;
}

int tt_log_begin(struct tt_log *log, const struct tt_file_spec *spec, unsigned ranks,
                 uint64_t segment, uint64_t block, const struct tt_codec *codec, struct tt_error *e)
{
    *log = (struct tt_log){.path = spec->path,
                           .ranks = ranks,
                           .segment = segment,
                           .block = block,
                           .policy = spec->policy,
                           .codec = codec,
                           .file_size = UINT64_MAX};
    log->variables = calloc(spec->nvariables + 1, sizeof *log->variables);
    log->known = calloc(ranks, sizeof *log->known);
    while (log->variables && log->nvariables < spec->nvariables) {
        const struct tt_variable *v = &spec->variables[log->nvariables];
        char *name = strdup(v->path);

        if (!name)
            break;
        log->variables[log->nvariables++] =
            (struct tt_log_variable){tt_variable_bytes(v), v->per_step, name};
    }
    if (!log->known || log->nvariables < spec->nvariables) {
        tt_log_free(log);
        return tt_fail_nomem(e, "the variables of a log");
    }
    tt__log_place(log, head_bytes(log));
    return TT_OK;
}

unsigned char *tt_log_front(const struct tt_log *log)
{
    struct tt_log_bytes b = {.capacity = log->base, .data = calloc(1, log->base)};

    if (!b.data)
        return NULL;
    put(&b, TT_LOG_MAGIC, 8);
    put_word(&b, TT_LOG_VERSION);
    put_word(&b, head_bytes(log));
    put_word(&b, log->ranks);
    put_word(&b, log->segment);
    put_word(&b, log->block);
    put_word(&b, log->policy);
    put_word(&b, log->codec ? log->codec->number : 0);
    put_word(&b, log->nvariables);
    for (unsigned i = 0; i < log->nvariables; i++) {
        const struct tt_log_variable *v = &log->variables[i];
        size_t n = strlen(v->name);

        put_word(&b, v->bytes);
        put_word(&b, v->per_step);
        put_word(&b, n);
        put(&b, v->name, n);
        b.n += (8 - n % 8) % 8;
    }
    put_word(&b, XXH3_64bits(b.data, b.n));
    return b.data;
}

void tt_log_forget(struct tt_log *log)
{
    for (size_t i = 0; i < log->n; i++)
        free(log->entries[i].starts);
    for (size_t i = 0; i < log->nimages; i++)
        free(log->images[i]);
    if (log->known)
        memset(log->known, 0, log->ranks * sizeof *log->known);
    log->n = log->nimages = 0;
    log->mapped = false;
}

void tt_log_free(struct tt_log *log)
{
    tt_log_forget(log);
    for (unsigned i = 0; i < log->nvariables; i++)
        free(log->variables[i].name);
    free(log->variables);
    free(log->entries);
    free(log->images);
    free(log->known);
    free(log->map);
    *log = (struct tt_log){.path = log->path};
}

/* ---- the stream of a rank ---- */

size_t tt_log_nruns(const struct tt_log *log, uint64_t length)
{
    return length / log->segment + 2;
}

size_t tt_log_runs(const struct tt_log *log, uint64_t rank, uint64_t position, uint64_t length,
                   struct tt_run *runs)
{
    size_t n = 0;

    while (length > 0) {
        uint64_t k = position / log->segment, within = position % log->segment;
        uint64_t part = log->segment - within < length ? log->segment - within : length;
        uint64_t start = log->base + (k * log->ranks + rank) * log->segment + within;

        if (n > 0 && runs[n - 1].start + runs[n - 1].length == start)
            runs[n - 1].length += part; /* a rank that is alone */
        else
            runs[n++] = (struct tt_run){start, part};
        position += part;
        length -= part;
    }
    return n;
}

/* ---- the index ---- */

/* Runs that follow each other at the same distance and have the same length are stored as one. */
struct folded {
    uint64_t repeat, length;
    int64_t gap; /* from the end of the run before */
};

static int put_folded(struct tt_log_bytes *b, const struct folded *f)
{
    if (reserve(b, 3 * TT_LOG_NUMBER) != TT_OK)
        return TT_NOMEM;
    put_number(b, f->repeat);
    put_number(b, (uint64_t)f->gap << 1 ^ (uint64_t)(f->gap >> 63));
    put_number(b, f->length);
    return TT_OK;
}

static int fold_runs(struct tt_log_bytes *b, const struct tt_block *block, size_t element_size,
                     uint64_t *nruns)
{
    struct tt_block packed = {.file = block->file};
    const uint64_t count = tt_selection_count(&block->file);
    struct folded last = {0};
    struct tt_extent_iter it;
    struct tt_extent x;
    uint64_t end = 0;

    *nruns = 0;
    tt_select_all(&packed.memory, 1, &count);
    tt_extents_begin(&it, &packed, element_size);
    while (tt_extents_next(&it, &x)) {
        int64_t gap = (int64_t)(x.file_offset - end);

        end = x.file_offset + x.length;
        if (last.repeat > 0 && last.gap == gap && last.length == x.length) {
            last.repeat++;
            continue;
        }
        if (last.repeat > 0 && put_folded(b, &last) != TT_OK)
            return TT_NOMEM;
        *nruns += last.repeat > 0;
        last = (struct folded){1, x.length, gap};
    }
    *nruns += last.repeat > 0;
    return last.repeat > 0 ? put_folded(b, &last) : TT_OK;
}

int tt_log_index_add(struct tt_log_index *index, const struct tt_log_entry *x,
                     const struct tt_block *b, size_t element_size,
                     const struct tt_log_block *blocks, uint64_t nblocks)
{
    struct tt_log_bytes *all = &index->all, runs = {0};
    uint64_t nruns;
    int rc = fold_runs(&runs, b, element_size, &nruns);

    if (rc == TT_OK)
        rc = reserve(all, 7 * TT_LOG_NUMBER + runs.n + nblocks * TT_LOG_BLOCK);
    if (rc == TT_OK) {
        const uint64_t numbers[] = {x->variable, x->step, x->call, x->position,
                                    x->bytes,    nruns,   runs.n};

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            put_number(all, numbers[i]);
        put(all, runs.data, runs.n);
        for (uint64_t k = 0; k < nblocks; k++) {
            uint32_t stored = htole32(blocks[k].stored);

            put(all, &stored, sizeof stored);
            put_word(all, blocks[k].hash);
        }
        index->entries++;
    }
    free(runs.data);
    return rc;
}

/* A slot and the head of a record have eight words, of which the last is their hash. */
static void seal(struct tt_log_bytes *b, size_t from, const void *body, size_t size)
{
    XXH3_state_t hash;

    XXH3_64bits_reset(&hash);
    XXH3_64bits_update(&hash, b->data + from, b->n - from);
    XXH3_64bits_update(&hash, body, size);
    put_word(b, XXH3_64bits_digest(&hash));
}

int tt_log_index_record(const struct tt_log_index *index, uint64_t rank, uint64_t position,
                        bool last, struct tt_log_bytes *out, size_t *record)
{
    bool whole = last && index->recorded > 0 && index->recorded < index->all.n;
    size_t from = whole ? 0 : index->recorded, body = index->all.n - from;
    uint64_t entries = index->entries - (whole ? 0 : index->recorded_entries);
    uint64_t number = index->generation + 1, where = body ? position : index->position;

    out->n = 0;
    if (reserve(out, body + 2 * TT_LOG_SLOT) != TT_OK)
        return TT_NOMEM;
    *record = body ? body + TT_LOG_SLOT : 0;
    if (body > 0) {
        put(out, TT_LOG_RECORD, 8);
        put_word(out, rank);
        put_word(out, number);
        put_word(out, entries);
        put_word(out, body);
        put_word(out, whole ? 0 : index->position);
        put_word(out, whole ? 0 : index->size);
        seal(out, 0, index->all.data + from, body);
        put(out, index->all.data + from, body);
    }
    put_word(out, number);
    put_word(out, where);
    put_word(out, body ? *record : index->size);
    put_word(out, position + *record);
    put_word(out, last);
    put_word(out, rank);
    put_word(out, 0);
    seal(out, *record, NULL, 0);
    return TT_OK;
}

void tt_log_index_recorded(struct tt_log_index *index, uint64_t position, size_t record)
{
    index->generation++;
    if (record > 0) {
        index->position = position;
        index->size = record;
    }
    index->recorded = index->all.n;
    index->recorded_entries = index->entries;
}

uint64_t tt_log_slot(const struct tt_log *log, uint64_t rank, unsigned slot)
{
    return log->slots + (rank * 2 + slot) * TT_LOG_SLOT;
}
