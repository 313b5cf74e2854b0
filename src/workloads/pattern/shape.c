/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who selects what. Ranks have weights; what they select never overlaps, and follows from rank,
 * size and options alone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "workloads/pattern/pattern.h"

/* A rank's part of a whole of `of` parts: [first, first + width). */
struct lane {
    uint64_t first, width, of;
};

/* Where some are empty, rank 0 is: it is the one that others tend to rely on. */
static uint64_t weight(const struct tt_pattern_options *o, int rank, int size)
{
    if (o->balance == TT_PATTERN_UNEVEN)
        return 1 + (uint64_t)rank % 3;
    if (o->balance == TT_PATTERN_SOME_EMPTY && size > 1)
        return (uint64_t)rank % 2;
    return 1;
}

static struct lane lane_of(const struct tt_pattern_options *o, int rank, int size)
{
    struct lane l = {0, weight(o, rank, size), 0};

    for (int r = 0; r < size; r++) {
        l.of += weight(o, r, size);
        l.first += r < rank ? weight(o, r, size) : 0;
    }
    return l;
}

static uint64_t part(uint64_t whole, uint64_t numerator, uint64_t denominator)
{
    return (uint64_t)((unsigned __int128)whole * numerator / denominator);
}

/* Dimensions of the file that a rank writes to, and its lane in it. Files of processes cut the
 * first dimension, so that all of them together have the same size as the shared file. */
static struct lane place(const struct tt_pattern_options *o, int rank, int size, uint64_t *dims)
{
    struct lane l = lane_of(o, rank, size);
    uint64_t rows;

    for (size_t d = 0; d < o->dims.n; d++)
        dims[d] = o->dims.values[d];
    if (!o->files)
        return l;
    rows = part(dims[0], l.first + l.width, l.of) - part(dims[0], l.first, l.of);
    dims[0] = rows ? rows : 1; /* the file exists, also where nothing is written to it */
    return (struct lane){0, rows ? 1 : 0, 1};
}

static uint64_t product(const struct tt_pattern_options *o, const uint64_t *dims)
{
    uint64_t n = 1;

    for (size_t d = 0; d < o->dims.n; d++)
        n *= dims[d];
    return n;
}

/* ---- runs: every lane has a slot per run, and somewhere in it lies the run ---- */

static uint64_t slot_length(const struct tt_pattern_options *o, const struct lane *l,
                            const uint64_t *dims)
{
    return product(o, dims) / (o->runs * l->of);
}

static struct tt_run run_at(const struct tt_pattern_options *o, const struct lane *l,
                            const uint64_t *dims, uint64_t j)
{
    uint64_t slot = j / l->width * l->of + l->first + j % l->width;
    uint64_t room = slot_length(o, l, dims), h = tt_mix(slot);
    struct tt_run run;

    run.length = o->run_min + h % (o->run_max - o->run_min + 1);
    run.start = slot * room + (h >> 32) % (room - run.length + 1);
    return run;
}

static void shuffle(struct tt_run *runs, uint64_t n)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = tt_mix(i) % i;
        struct tt_run r = runs[j];

        runs[j] = runs[i - 1];
        runs[i - 1] = r;
    }
}

/* ---- pieces in the file ---- */

/* The k-th of n parts of [0, whole). */
static uint64_t cut(uint64_t whole, uint64_t k, uint64_t n, uint64_t *length)
{
    uint64_t first = part(whole, k, n);

    *length = part(whole, k + 1, n) - first;
    return first;
}

/* Blocks cut the first dimension; where ranks cut it, too, each block cuts its rank's part. */
static void slab_piece(const struct tt_pattern_options *o, const struct lane *l,
                       const uint64_t *dims, uint64_t block, struct tt_selection *s)
{
    uint64_t start[TT_MAX_DIMS] = {0}, stride[TT_MAX_DIMS], count[TT_MAX_DIMS], width[TT_MAX_DIMS];
    int ndims = (int)o->dims.n, d = o->selection == TT_PATTERN_SLAB ? 0 : ndims - 1;
    uint64_t first, length, of = l->of;

    for (int i = 0; i < ndims; i++) {
        stride[i] = width[i] = 1;
        count[i] = dims[i];
    }
    if (o->selection == TT_PATTERN_STRIDED) {
        of += o->files; /* alone in a file, leave gaps */
        start[d] = l->first;
        stride[d] = of;
        width[d] = l->width;
        count[d] = l->width ? dims[d] / of : 0;
    } else {
        start[d] = part(dims[d], l->first, of);
        count[d] = part(dims[d], l->first + l->width, of) - start[d];
    }
    first = cut(count[0], block, o->blocks, &length);
    start[0] += first * stride[0];
    count[0] = length;
    tt_select_slab(s, ndims, dims, start, stride, count, width);
}

static void file_piece(struct tt_pattern_shape *s, const struct tt_pattern_options *o,
                       const struct lane *l, uint64_t block, struct tt_selection *out)
{
    uint64_t first, length;

    if (o->selection != TT_PATTERN_RUNS) {
        slab_piece(o, l, s->dims, block, out);
        return;
    }
    first = cut(o->runs * l->width, block, o->blocks, &length);
    tt_select_runs(out, s->ndims, s->dims, length, s->runs + first);
}

/* ---- pieces in memory ---- */

/* Runs of 1 to 7 elements from the end of the array to its start, with a gap after each. */
static int scatter(struct tt_pattern_piece *p)
{
    uint64_t n = 0, left = p->count, at;

    for (uint64_t done = 0; done < p->count; n++)
        done += 1 + n % 7;
    p->memory_runs = malloc((n + 1) * sizeof *p->memory_runs);
    if (!p->memory_runs)
        return TT_NOMEM;
    at = p->memory_elements = p->count + n + 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = left < 1 + i % 7 ? left : 1 + i % 7;

        at -= length + 1;
        left -= length;
        p->memory_runs[i] = (struct tt_run){at, length};
    }
    tt_select_runs(&p->memory, 1, &p->memory_elements, n, p->memory_runs);
    return TT_OK;
}

static int memory_piece(struct tt_pattern_piece *p, int layout)
{
    const uint64_t one = 1, two = 2;

    if (layout == TT_PATTERN_SCATTERED)
        return scatter(p);
    p->memory_elements = layout == TT_PATTERN_GAPS ? 2 * p->count + 1 : p->count;
    if (layout == TT_PATTERN_GAPS)
        tt_select_slab(&p->memory, 1, &p->memory_elements, &one, &two, &p->count, NULL);
    else
        tt_select_all(&p->memory, 1, &p->memory_elements);
    return TT_OK;
}

/* ---- the whole ---- */

int tt_pattern_shape_check(const struct tt_pattern_options *o, int size, struct tt_error *e)
{
    bool any = false;

    for (int rank = 0; rank < size; rank++) {
        uint64_t dims[TT_MAX_DIMS];
        struct lane l = place(o, rank, size, dims);

        if (l.width && o->selection == TT_PATTERN_RUNS && slot_length(o, &l, dims) < o->run_max)
            return tt_fail(e, TT_USAGE,
                           "pattern.dims: %" PRIu64 " elements have no room for %" PRIu64
                           " runs of up to %" PRIu64 " for each rank",
                           product(o, dims), o->runs, o->run_max);
        any = any || tt_pattern_shape_count(o, rank, size) > 0;
    }
    return any ? TT_OK
               : tt_fail(e, TT_USAGE, "pattern.dims: too small, no rank of %d has anything", size);
}

uint64_t tt_pattern_shape_count(const struct tt_pattern_options *o, int rank, int size)
{
    uint64_t dims[TT_MAX_DIMS], n = 0;
    struct lane l = place(o, rank, size, dims);
    struct tt_selection s;

    for (uint64_t j = 0; o->selection == TT_PATTERN_RUNS && j < o->runs * l.width; j++)
        n += run_at(o, &l, dims, j).length;
    for (uint64_t k = 0; o->selection != TT_PATTERN_RUNS && k < o->blocks; k++) {
        slab_piece(o, &l, dims, k, &s);
        n += tt_selection_count(&s);
    }
    return n;
}

static int make_pieces(struct tt_pattern_shape *s, const struct tt_pattern_options *o,
                       const struct lane *l)
{
    uint64_t nruns = o->selection == TT_PATTERN_RUNS ? o->runs * l->width : 0;

    s->runs = malloc((nruns + 1) * sizeof *s->runs);
    s->pieces = calloc(o->blocks, sizeof *s->pieces);
    if (!s->runs || !s->pieces)
        return TT_NOMEM;
    for (uint64_t j = 0; j < nruns; j++)
        s->runs[j] = run_at(o, l, s->dims, j);
    if (o->order == TT_PATTERN_SHUFFLED)
        shuffle(s->runs, nruns);
    for (uint64_t k = 0; k < o->blocks; k++) {
        struct tt_pattern_piece *p = &s->pieces[s->npieces];

        file_piece(s, o, l, k, &p->file);
        p->count = tt_selection_count(&p->file);
        if (p->count == 0)
            continue;
        p->memory_start = s->memory_elements;
        s->npieces++;
        if (memory_piece(p, o->memory) != TT_OK)
            return TT_NOMEM;
        s->memory_elements += p->memory_elements;
    }
    return TT_OK;
}

int tt_pattern_shape_make(struct tt_pattern_shape *s, const struct tt_pattern_options *o, int rank,
                          int size, struct tt_error *e)
{
    struct lane l;

    memset(s, 0, sizeof *s);
    s->ndims = (int)o->dims.n;
    l = place(o, rank, size, s->dims);
    if (make_pieces(s, o, &l) == TT_OK)
        return TT_OK;
    tt_pattern_shape_free(s);
    return tt_fail_nomem(e, "selections");
}

void tt_pattern_shape_free(struct tt_pattern_shape *s)
{
    for (unsigned k = 0; s->pieces && k < s->npieces; k++)
        free(s->pieces[k].memory_runs);
    free(s->pieces);
    free(s->runs);
    memset(s, 0, sizeof *s);
}
