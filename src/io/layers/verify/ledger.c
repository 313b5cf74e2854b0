/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/layers/verify/ledger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* its states on the stack */
#include <xxhash.h>

/* ---- from keys to indices: open addressing, never more than half full ---- */

struct tt_ledger_slot {
    uint64_t key;
    size_t index_plus_one; /* 0: free */
};

static struct tt_ledger_slot *find_slot(const struct tt_ledger_map *m, uint64_t key)
{
    size_t i = key & (m->capacity - 1);

    while (m->slots[i].index_plus_one && m->slots[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return &m->slots[i];
}

static bool map_get(const struct tt_ledger_map *m, uint64_t key, size_t *index)
{
    const struct tt_ledger_slot *slot = m->capacity ? find_slot(m, key) : NULL;

    if (!slot || !slot->index_plus_one)
        return false;
    *index = slot->index_plus_one - 1;
    return true;
}

static int map_put(struct tt_ledger_map *m, uint64_t key, size_t index)
{
    if (2 * (m->n + 1) > m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 64;
        struct tt_ledger_map grown = {m->n, capacity, calloc(capacity, sizeof *grown.slots)};

        if (!grown.slots)
            return TT_NOMEM;
        for (size_t i = 0; i < m->capacity; i++)
            if (m->slots[i].index_plus_one)
                *find_slot(&grown, m->slots[i].key) = m->slots[i];
        free(m->slots);
        *m = grown;
    }
    *find_slot(m, key) = (struct tt_ledger_slot){key, index + 1};
    m->n++;
    return TT_OK;
}

/* ---- hashes ---- */

uint64_t tt_block_hash(const struct tt_block *b, size_t element_size)
{
    XXH3_state_t state;
    struct tt_extent_iter it;
    struct tt_extent x;

    XXH3_64bits_reset(&state);
    tt_extents_begin(&it, b, element_size);
    while (tt_extents_next(&it, &x))
        XXH3_64bits_update(&state, (const char *)b->data + x.memory_offset, x.length);
    return XXH3_64bits_digest(&state);
}

static bool is_real(const struct tt_ledger *l, uint64_t variable)
{
    enum tt_kind kind = l->spec.variables[variable].element->kind;

    return kind == TT_F32 || kind == TT_F64;
}

/* Values of a block of reals, evenly spread; all of them, the last one repeated, if they are few.
 */
static void sample(const struct tt_block *b, size_t size, double samples[TT_LEDGER_SAMPLES])
{
    uint64_t count = tt_selection_count(&b->file), before = 0;
    struct tt_extent_iter it;
    struct tt_extent x;
    unsigned n = 0;

    tt_extents_begin(&it, b, size);
    for (; tt_extents_next(&it, &x); before += x.length / size)
        for (; n < TT_LEDGER_SAMPLES; n++) {
            uint64_t at = count > TT_LEDGER_SAMPLES ? n * (count - 1) / (TT_LEDGER_SAMPLES - 1)
                          : n < count               ? n
                                                    : count - 1;
            const char *from = (const char *)b->data + x.memory_offset + (at - before) * size;
            float single;

            if (at >= before + x.length / size)
                break;
            if (size == sizeof single) {
                memcpy(&single, from, sizeof single);
                samples[n] = (double)single;
            } else {
                memcpy(&samples[n], from, sizeof samples[n]);
            }
        }
}

/* Two selections with equal hashes are taken for the same. */
static uint64_t selection_hash(const struct tt_selection *s)
{
    uint64_t words[2 + 5 * TT_MAX_DIMS] = {s->kind, (uint64_t)s->ndims};
    size_t n = 2;

    if (s->kind == TT_SELECT_RUNS)
        words[0] ^= XXH3_64bits(s->runs, s->nruns * sizeof *s->runs);
    for (int d = 0; d < s->ndims; d++) {
        words[n++] = s->dims[d];
        if (s->kind == TT_SELECT_SLAB) {
            words[n++] = s->start[d];
            words[n++] = s->stride[d];
            words[n++] = s->count[d];
            words[n++] = s->block[d];
        }
    }
    return XXH3_64bits(words, n * sizeof *words);
}

static bool overwrites(const struct tt_ledger *l, uint64_t variable)
{
    return l->spec.policy == TT_OVERWRITE && l->spec.variables[variable].per_step;
}

static uint64_t entry_key(const struct tt_ledger *l, uint64_t variable, uint64_t step,
                          uint64_t selection)
{
    bool by_step = l->spec.variables[variable].per_step && !overwrites(l, variable);
    uint64_t words[3] = {variable, by_step ? step : 0, selection};

    return XXH3_64bits(words, sizeof words);
}

/* ---- the ledger ---- */

int tt_ledger_start(struct tt_ledger *l, int rank, int size, const struct tt_file_spec *spec)
{
    memset(l, 0, sizeof *l);
    l->rank = rank;
    l->size = size;
    l->spec = *spec;
    l->latest = calloc(spec->nvariables + 1, sizeof *l->latest);
    return l->latest ? TT_OK : TT_NOMEM;
}

void tt_ledger_free(struct tt_ledger *l)
{
    if (l->image) {
        for (unsigned i = 0; l->spec.variables && i < l->spec.nvariables; i++)
            if (l->spec.variables[i].element)
                free((void *)l->spec.variables[i].element->fields);
        if (l->spec.variables)
            free((void *)l->spec.variables[0].element);
        free((void *)l->spec.variables);
    } else {
        for (size_t i = 0; i < l->nselections; i++)
            free((void *)l->selections[i].runs);
    }
    free(l->selections);
    free(l->entries);
    free(l->samples);
    free(l->latest);
    free(l->by_selection.slots);
    free(l->by_entry.slots);
    free(l->image);
    memset(l, 0, sizeof *l);
}

/* Room for one more. */
static int reserve(void *list, size_t *capacity, size_t n, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void **p = list, *grown;

    if (n < *capacity)
        return TT_OK;
    grown = realloc(*p, wanted * size);
    if (!grown)
        return TT_NOMEM;
    *p = grown;
    *capacity = wanted;
    return TT_OK;
}

static int keep_selection(struct tt_ledger *l, const struct tt_selection *s, size_t *index)
{
    uint64_t key = selection_hash(s);
    struct tt_run *runs = NULL;

    if (map_get(&l->by_selection, key, index))
        return TT_OK;
    if (reserve(&l->selections, &l->selections_capacity, l->nselections, sizeof *s) != TT_OK)
        return TT_NOMEM;
    if (s->kind == TT_SELECT_RUNS && s->nruns > 0) {
        runs = malloc(s->nruns * sizeof *runs);
        if (!runs)
            return TT_NOMEM;
        memcpy(runs, s->runs, s->nruns * sizeof *runs);
    }
    if (map_put(&l->by_selection, key, l->nselections) != TT_OK) {
        free(runs);
        return TT_NOMEM;
    }
    *index = l->nselections++;
    l->selections[*index] = *s;
    l->selections[*index].runs = runs;
    return TT_OK;
}

int tt_ledger_note(struct tt_ledger *l, uint64_t step, const struct tt_block *b, uint64_t hash)
{
    size_t selection, index;
    uint64_t key;

    l->latest[b->variable] = step;
    if (tt_selection_count(&b->file) == 0)
        return TT_OK;
    if (keep_selection(l, &b->file, &selection) != TT_OK)
        return TT_NOMEM;
    key = entry_key(l, b->variable, step, selection);
    if (!map_get(&l->by_entry, key, &index)) {
        if (reserve(&l->entries, &l->entries_capacity, l->nentries, sizeof *l->entries) != TT_OK ||
            (l->loss > 0 && reserve(&l->samples, &l->samples_capacity, l->nentries,
                                    TT_LEDGER_SAMPLES * sizeof *l->samples) != TT_OK) ||
            map_put(&l->by_entry, key, l->nentries) != TT_OK)
            return TT_NOMEM;
        index = l->nentries++;
    }
    l->entries[index] = (struct tt_ledger_entry){b->variable, selection, step, hash};
    if (l->loss > 0) {
        double *samples = l->samples + index * TT_LEDGER_SAMPLES;

        memset(samples, 0, TT_LEDGER_SAMPLES * sizeof *samples); /* all of them are saved */
        if (is_real(l, b->variable))
            sample(b, l->spec.variables[b->variable].element->size, samples);
    }
    return TT_OK;
}

bool tt_ledger_is_current(const struct tt_ledger *l, const struct tt_ledger_entry *entry)
{
    return !overwrites(l, entry->variable) || entry->step == l->latest[entry->variable];
}

bool tt_ledger_agrees(const struct tt_ledger *l, const struct tt_ledger_entry *entry,
                      const struct tt_block *b)
{
    size_t size = l->spec.variables[entry->variable].element->size;
    double found[TT_LEDGER_SAMPLES];
    const double *want;

    if (!(l->loss > 0) || !is_real(l, entry->variable))
        return tt_block_hash(b, size) == entry->hash;
    want = l->samples + (size_t)(entry - l->entries) * TT_LEDGER_SAMPLES;
    sample(b, size, found);
    for (size_t i = 0; i < TT_LEDGER_SAMPLES; i++)
        if (isfinite(want[i]) ? !(fabs(found[i] - want[i]) <= l->loss)
                              : !(found[i] == want[i] || (isnan(found[i]) && isnan(want[i]))))
            return false;
    return true;
}

const struct tt_ledger_entry *tt_ledger_find(const struct tt_ledger *l, uint64_t step,
                                             const struct tt_block *b)
{
    size_t selection, index;

    if (!map_get(&l->by_selection, selection_hash(&b->file), &selection) ||
        !map_get(&l->by_entry, entry_key(l, b->variable, step, selection), &index) ||
        !tt_ledger_is_current(l, &l->entries[index]))
        return NULL;
    return &l->entries[index];
}

int tt_ledger_index(struct tt_ledger *l)
{
    for (size_t i = 0; i < l->nselections; i++)
        if (map_put(&l->by_selection, selection_hash(&l->selections[i]), i) != TT_OK)
            return TT_NOMEM;
    for (size_t i = 0; i < l->nentries; i++) {
        const struct tt_ledger_entry *x = &l->entries[i];

        if (map_put(&l->by_entry, entry_key(l, x->variable, x->step, x->selection), i) != TT_OK)
            return TT_NOMEM;
    }
    return TT_OK;
}

char *tt_ledger_path(const char *directory, int rank, const char *path)
{
    char *out = NULL;

    if (asprintf(&out, "%s/verify/%05d-%016llx.ttv", directory, rank,
                 (unsigned long long)XXH3_64bits(path, strlen(path))) < 0)
        return NULL;
    return out;
}
