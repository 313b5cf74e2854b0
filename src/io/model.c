/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const struct {
    const char *name;
    size_t size;
} kinds[] = {
    [TT_U8] = {"u8", 1},   [TT_I32] = {"i32", 4},   [TT_U32] = {"u32", 4},
    [TT_I64] = {"i64", 8}, [TT_U64] = {"u64", 8},   [TT_F32] = {"f32", 4},
    [TT_F64] = {"f64", 8}, [TT_CHAR] = {"char", 1}, [TT_RECORD] = {"record", 0},
};

const struct tt_element tt_element_u8 = {TT_U8, 1, 0, NULL};
const struct tt_element tt_element_i32 = {TT_I32, 4, 0, NULL};
const struct tt_element tt_element_i64 = {TT_I64, 8, 0, NULL};
const struct tt_element tt_element_u64 = {TT_U64, 8, 0, NULL};
const struct tt_element tt_element_f32 = {TT_F32, 4, 0, NULL};
const struct tt_element tt_element_f64 = {TT_F64, 8, 0, NULL};

size_t tt_kind_size(enum tt_kind kind)
{
    return kinds[kind].size;
}

const char *tt_kind_name(enum tt_kind kind)
{
    return kinds[kind].name;
}

bool tt_kind_from_name(const char *name, enum tt_kind *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(name, kinds[i].name)) {
            *kind = (enum tt_kind)i;
            return true;
        }
    return false;
}

static uint64_t product(int n, const uint64_t *values)
{
    uint64_t p = 1;

    for (int d = 0; d < n; d++)
        p *= values[d];
    return p;
}

const struct tt_field *tt_find_field(const struct tt_element *record, const char *name)
{
    for (unsigned i = 0; i < record->nfields; i++)
        if (!strcmp(record->fields[i].name, name))
            return &record->fields[i];
    return NULL;
}

uint64_t tt_variable_elements(const struct tt_variable *v)
{
    return product(v->ndims, v->dims);
}

uint64_t tt_variable_bytes(const struct tt_variable *v)
{
    return tt_variable_elements(v) * v->element->size;
}

bool tt_is_near(const struct tt_element *element, const void *value, const void *right, double loss)
{
    double here, there;
    float f[2];

    if (element->kind == TT_F64) {
        memcpy(&here, value, sizeof here);
        memcpy(&there, right, sizeof there);
    } else if (element->kind == TT_F32) {
        memcpy(&f[0], value, sizeof *f);
        memcpy(&f[1], right, sizeof *f);
        here = f[0];
        there = f[1];
    } else {
        return false;
    }
    return loss > 0 && fabs(here - there) <= loss;
}

/* ---- selections ---- */

static void start_selection(struct tt_selection *s, enum tt_selection_kind kind, int ndims,
                            const uint64_t *dims)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->ndims = ndims;
    for (int d = 0; d < ndims; d++)
        s->dims[d] = dims[d];
}

void tt_select_none(struct tt_selection *s, int ndims, const uint64_t *dims)
{
    start_selection(s, TT_SELECT_NONE, ndims, dims);
}

void tt_select_all(struct tt_selection *s, int ndims, const uint64_t *dims)
{
    start_selection(s, TT_SELECT_ALL, ndims, dims);
}

void tt_select_slab(struct tt_selection *s, int ndims, const uint64_t *dims, const uint64_t *start,
                    const uint64_t *stride, const uint64_t *count, const uint64_t *block)
{
    start_selection(s, TT_SELECT_SLAB, ndims, dims);
    for (int d = 0; d < ndims; d++) {
        s->start[d] = start[d];
        s->count[d] = count[d];
        s->block[d] = block ? block[d] : 1;
        s->stride[d] = stride ? stride[d] : s->block[d];
    }
}

void tt_select_runs(struct tt_selection *s, int ndims, const uint64_t *dims, size_t nruns,
                    const struct tt_run *runs)
{
    start_selection(s, TT_SELECT_RUNS, ndims, dims);
    s->nruns = nruns;
    s->runs = runs;
    s->ascending = true;
    for (size_t i = 0; i < nruns; i++) {
        s->nelements += runs[i].length;
        if (i > 0 && runs[i].start < runs[i - 1].start + runs[i - 1].length)
            s->ascending = false;
    }
}

uint64_t tt_selection_count(const struct tt_selection *s)
{
    switch (s->kind) {
    case TT_SELECT_NONE:
        return 0;
    case TT_SELECT_ALL:
        return product(s->ndims, s->dims);
    case TT_SELECT_SLAB:
        return product(s->ndims, s->count) * product(s->ndims, s->block);
    case TT_SELECT_RUNS:
        return s->nelements;
    }
    return 0;
}

uint64_t tt_selection_end(const struct tt_selection *s)
{
    uint64_t n = tt_selection_count(s), end = 0;

    if (n == 0 || s->kind == TT_SELECT_ALL)
        return n;
    for (size_t i = 0; s->kind == TT_SELECT_RUNS && i < s->nruns; i++)
        if (s->runs[i].length > 0 && s->runs[i].start + s->runs[i].length > end)
            end = s->runs[i].start + s->runs[i].length;
    if (s->kind == TT_SELECT_RUNS)
        return end;
    for (int d = 0; d < s->ndims; d++) /* the last element */
        end = end * s->dims[d] + s->start[d] + (s->count[d] - 1) * s->stride[d] + s->block[d] - 1;
    return end + 1;
}

static bool slab_is_valid(const struct tt_selection *s)
{
    for (int d = 0; d < s->ndims; d++) {
        uint64_t last;

        if (s->count[d] == 0 || s->block[d] == 0)
            return true; /* nothing selected */
        if (s->count[d] > 1 && s->stride[d] < s->block[d])
            return false;
        if (s->start[d] >= s->dims[d] || s->block[d] > s->dims[d])
            return false;
        if (s->count[d] > 1 && s->count[d] - 1 > (s->dims[d] - s->start[d]) / s->stride[d])
            return false;
        last = s->start[d] + (s->count[d] - 1) * s->stride[d] + s->block[d];
        if (last > s->dims[d])
            return false;
    }
    return true;
}

bool tt_selection_is_valid(const struct tt_selection *s)
{
    uint64_t size;

    if (s->ndims < 1 || s->ndims > TT_MAX_DIMS)
        return false;
    if (s->kind == TT_SELECT_SLAB)
        return slab_is_valid(s);
    if (s->kind != TT_SELECT_RUNS)
        return true;
    size = product(s->ndims, s->dims);
    for (size_t i = 0; i < s->nruns; i++)
        if (s->runs[i].start > size || s->runs[i].length > size - s->runs[i].start)
            return false;
    return true;
}

/* ---- runs of any selection ---- */

/* In the fastest dimension a slab is one run, or one per block if there are gaps between them. */
static bool is_dense(const struct tt_selection *s, int d)
{
    return s->count[d] == 1 || s->stride[d] == s->block[d];
}

/* The index-th run of a slab in row-major order; false past the end. */
static bool slab_run(const struct tt_selection *s, uint64_t index, struct tt_run *run)
{
    int last = s->ndims - 1;
    bool dense = is_dense(s, last);
    uint64_t pieces = dense ? 1 : s->count[last];
    uint64_t scale = s->dims[last], place;

    run->length = dense ? s->count[last] * s->block[last] : s->block[last];
    place = s->start[last] + (dense ? 0 : index % pieces * s->stride[last]);
    index /= pieces;
    for (int d = last - 1; d >= 0; d--) {
        uint64_t extent = s->count[d] * s->block[d];
        uint64_t i = index % extent;

        place += (s->start[d] + i / s->block[d] * s->stride[d] + i % s->block[d]) * scale;
        scale *= s->dims[d];
        index /= extent;
    }
    run->start = place;
    return index == 0;
}

static bool selection_run(const struct tt_selection *s, uint64_t index, struct tt_run *run)
{
    switch (s->kind) {
    case TT_SELECT_NONE:
        return false;
    case TT_SELECT_ALL:
        run->start = 0;
        run->length = product(s->ndims, s->dims);
        return index == 0;
    case TT_SELECT_SLAB:
        return slab_run(s, index, run);
    case TT_SELECT_RUNS:
        if (index >= s->nruns)
            return false;
        *run = s->runs[index];
        return true;
    }
    return false;
}

/* The next run from *index on, with all runs that follow it without a gap; false at the end. Lists:
 * a walk without a call for every run, since there may be a hundred thousand tiny ones. */
static inline bool next_of_list(const struct tt_selection *s, uint64_t *index, struct tt_run *run)
{
    uint64_t i = *index;

    while (i < s->nruns && s->runs[i].length == 0)
        i++;
    if (i >= s->nruns)
        return false;
    *run = s->runs[i++];
    for (; i < s->nruns && s->runs[i].start == run->start + run->length; i++)
        run->length += s->runs[i].length;
    *index = i;
    return true;
}

/* The next run from *index on, with all runs that follow it without a gap; false at the end. */
static bool next_of_others(const struct tt_selection *s, uint64_t *index, struct tt_run *run)
{
    struct tt_run more;

    do {
        if (!selection_run(s, *index, run))
            return false;
        ++*index;
    } while (run->length == 0);
    while (selection_run(s, *index, &more) && more.start == run->start + run->length) {
        run->length += more.length;
        ++*index;
    }
    return true;
}

static inline bool next_run(const struct tt_selection *s, uint64_t *index, struct tt_run *run)
{
    return s->kind == TT_SELECT_RUNS ? next_of_list(s, index, run) : next_of_others(s, index, run);
}

bool tt_selection_is_contiguous(const struct tt_selection *s, struct tt_run *run)
{
    struct tt_run more;
    uint64_t index = 0;

    if (tt_selection_count(s) == 0) {
        run->start = run->length = 0;
        return true;
    }
    return next_run(s, &index, run) && !next_run(s, &index, &more);
}

bool tt_selection_is_strided(const struct tt_selection *s, struct tt_strided *out)
{
    if (s->kind != TT_SELECT_ALL && s->kind != TT_SELECT_SLAB)
        return false;
    for (int d = 0; d < s->ndims; d++) {
        bool all = s->kind == TT_SELECT_ALL, dense = all || is_dense(s, d);

        if (!dense && s->block[d] != 1)
            return false;
        out->start[d] = all ? 0 : s->start[d];
        out->count[d] = all ? s->dims[d] : s->count[d] * s->block[d];
        out->stride[d] = dense ? 1 : s->stride[d];
    }
    return true;
}

/* ---- blocks ---- */

size_t tt_block_element_size(const struct tt_block *b, const struct tt_variable *v)
{
    return b->memory_element ? b->memory_element->size : v->element->size;
}

size_t tt_block_moved_size(const struct tt_block *b, const struct tt_variable *v)
{
    size_t moved = 0;

    if (!b->memory_element || v->element->kind != TT_RECORD)
        return v->element->size;
    for (unsigned i = 0; i < b->memory_element->nfields; i++)
        moved +=
            b->memory_element->fields[i].count * tt_kind_size(b->memory_element->fields[i].kind);
    return moved;
}

/* ---- extents ---- */

/* A slab with an empty side would otherwise divide by zero below. */
static const struct tt_selection *without_empty(const struct tt_selection *s)
{
    static const struct tt_selection nothing = {.kind = TT_SELECT_NONE, .ndims = 1};

    return s->kind == TT_SELECT_SLAB && tt_selection_count(s) == 0 ? &nothing : s;
}

void tt_extents_begin(struct tt_extent_iter *it, const struct tt_block *b, size_t element_size)
{
    memset(it, 0, sizeof *it);
    it->file = without_empty(&b->file);
    it->memory = without_empty(&b->memory);
    it->element_size = element_size;
}

bool tt_extents_next(struct tt_extent_iter *it, struct tt_extent *out)
{
    uint64_t n;

    if (it->file_run.length == 0 && !next_run(it->file, &it->file_index, &it->file_run))
        return false;
    if (it->memory_run.length == 0 && !next_run(it->memory, &it->memory_index, &it->memory_run))
        return false;
    n = it->file_run.length < it->memory_run.length ? it->file_run.length : it->memory_run.length;
    out->file_offset = it->file_run.start * it->element_size;
    out->memory_offset = it->memory_run.start * it->element_size;
    out->length = n * it->element_size;
    it->file_run.start += n;
    it->file_run.length -= n;
    it->memory_run.start += n;
    it->memory_run.length -= n;
    return true;
}

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

/* One pass of a radix sort: from -> to, stable, by the digit at shift. */
static void sort_by_digit(const struct tt_extent *from, struct tt_extent *to, size_t n,
                          unsigned shift)
{
    size_t place[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        place[from[i].file_offset >> shift & (DIGITS - 1)]++;
    for (unsigned d = 0; d < DIGITS; d++) {
        size_t count = place[d];

        place[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[place[from[i].file_offset >> shift & (DIGITS - 1)]++] = from[i];
}

/* By file offset. A hundred thousand runs are sorted at every dump, beside which qsort shows. */
static int sort_extents(struct tt_extent_list *list)
{
    struct tt_extent *other = malloc(list->capacity * sizeof *other), *t;
    uint64_t largest = 0;

    if (!other)
        return TT_NOMEM;
    for (size_t i = 0; i < list->n; i++)
        if (list->extents[i].file_offset > largest)
            largest = list->extents[i].file_offset;
    for (unsigned shift = 0; shift < 64 && largest >> shift; shift += DIGIT_BITS) {
        sort_by_digit(list->extents, other, list->n, shift);
        t = list->extents;
        list->extents = other;
        other = t;
    }
    free(other);
    return TT_OK;
}

static int append_extent(struct tt_extent_list *list, const struct tt_extent *x)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct tt_extent *grown = realloc(list->extents, capacity * sizeof *grown);

        if (!grown)
            return TT_NOMEM;
        list->extents = grown;
        list->capacity = capacity;
    }
    list->extents[list->n++] = *x;
    return TT_OK;
}

int tt_extents_collect(struct tt_extent_list *list, const struct tt_block *b, size_t element_size)
{
    struct tt_extent_iter it;
    struct tt_extent x;

    list->n = 0;
    tt_extents_begin(&it, b, element_size);
    while (tt_extents_next(&it, &x))
        if (append_extent(list, &x) != TT_OK)
            return TT_NOMEM;
    if (b->file.kind == TT_SELECT_RUNS && !b->file.ascending)
        return sort_extents(list);
    return TT_OK;
}

void tt_block_pack(const struct tt_block *b, size_t element_size, void *packed)
{
    const struct tt_selection *s = without_empty(&b->memory);
    struct tt_run run;
    uint64_t index = 0;
    char *to = packed;

    while (next_run(s, &index, &run)) {
        memcpy(to, (const char *)b->data + run.start * element_size, run.length * element_size);
        to += run.length * element_size;
    }
}

void tt_block_unpack(const struct tt_block *b, size_t element_size, const void *packed)
{
    const struct tt_selection *s = without_empty(&b->memory);
    struct tt_run run;
    uint64_t index = 0;
    const char *from = packed;

    while (next_run(s, &index, &run)) {
        memcpy((char *)b->data + run.start * element_size, from, run.length * element_size);
        from += run.length * element_size;
    }
}
