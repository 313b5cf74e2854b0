/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/backends/mpiio/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/agree.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool is_list(const struct tt_selection *s, const struct tt_run *run)
{
    return s->kind == TT_SELECT_RUNS && run->length == 0;
}

/* *type becomes n times itself, a stride apart; the type it was is freed. */
static int repeat(MPI_Datatype *type, uint64_t n, uint64_t stride)
{
    MPI_Datatype inner = *type;
    int rc = MPI_Type_create_hvector((int)n, 1, (MPI_Aint)stride, inner, type);

    if (inner != MPI_BYTE)
        MPI_Type_free(&inner);
    return rc;
}

/* Vectors inside each other, the fastest dimension innermost: a few words for any size. */
static int slab_type(const struct tt_selection *s, size_t element_size, uint64_t *offset,
                     MPI_Datatype *type)
{
    uint64_t row = element_size;
    int rc;

    *offset = 0;
    rc = MPI_Type_contiguous((int)element_size, MPI_BYTE, type);
    for (int d = s->ndims - 1; d >= 0 && rc == MPI_SUCCESS; d--) {
        bool dense = s->count[d] == 1 || s->stride[d] == s->block[d];

        rc = repeat(type, dense ? s->count[d] * s->block[d] : s->block[d], row);
        if (rc == MPI_SUCCESS && !dense)
            rc = repeat(type, s->count[d], s->stride[d] * row);
        *offset += s->start[d] * row;
        row *= s->dims[d];
    }
    return rc == MPI_SUCCESS ? MPI_Type_commit(type) : rc;
}

/* run is the whole selection if it is contiguous, else empty. */
static int regular_type(const struct tt_selection *s, const struct tt_run *run, size_t element_size,
                        uint64_t *offset, MPI_Datatype *type)
{
    *type = MPI_DATATYPE_NULL;
    *offset = run->start * element_size;
    return run->length > 0 ? MPI_SUCCESS : slab_type(s, element_size, offset, type);
}

/* ---- lists of runs ---- */

/* Lengths and places of one side of a piece, neighbours merged. */
struct places {
    int n;
    int *lengths;
    MPI_Aint *at;
};

static int places_make(struct places *p, size_t n)
{
    p->n = 0;
    p->lengths = malloc(n * sizeof *p->lengths);
    p->at = malloc(n * sizeof *p->at);
    return p->lengths && p->at ? TT_OK : TT_NOMEM;
}

static void places_free(struct places *p)
{
    free(p->lengths);
    free(p->at);
}

static void places_add(struct places *p, uint64_t at, uint64_t length)
{
    int last = p->n - 1;

    if (last >= 0 && p->at[last] + p->lengths[last] == (MPI_Aint)at) {
        p->lengths[last] += (int)length;
        return;
    }
    p->at[p->n] = (MPI_Aint)at;
    p->lengths[p->n++] = (int)length;
}

static int places_type(const struct places *p, uint64_t *offset, MPI_Datatype *type)
{
    int rc;

    *type = MPI_DATATYPE_NULL;
    *offset = p->n == 1 ? (uint64_t)p->at[0] : 0;
    if (p->n == 1)
        return MPI_SUCCESS;
    rc = MPI_Type_create_hindexed(p->n, p->lengths, p->at, MPI_BYTE, type);
    return rc == MPI_SUCCESS ? MPI_Type_commit(type) : rc;
}

/* Takes up to TT_SHAPE_PIECE_BYTES from the front of the list, which shrinks. */
static int cut_piece(struct tt_extent *x, size_t n, size_t *taken, struct tt_shape_piece *piece,
                     struct tt_error *e)
{
    struct places in_file = {0}, in_memory = {0};
    size_t i = 0;
    int mpi = MPI_SUCCESS, rc;

    rc = places_make(&in_file, n) || places_make(&in_memory, n) ? TT_NOMEM : TT_OK;
    if (rc != TT_OK)
        tt_fail_nomem(e, "a list of runs");
    piece->bytes = 0;
    while (rc == TT_OK && i < n && piece->bytes < TT_SHAPE_PIECE_BYTES) {
        uint64_t length = smaller(x[i].length, TT_SHAPE_PIECE_BYTES - piece->bytes);

        places_add(&in_file, x[i].file_offset, length);
        places_add(&in_memory, x[i].memory_offset, length);
        piece->bytes += length;
        x[i].file_offset += length;
        x[i].memory_offset += length;
        x[i].length -= length;
        i += x[i].length == 0;
    }
    *taken = i;
    if (rc == TT_OK)
        mpi = places_type(&in_file, &piece->file_offset, &piece->file);
    if (rc == TT_OK && mpi == MPI_SUCCESS)
        mpi = places_type(&in_memory, &piece->memory_offset, &piece->memory);
    places_free(&in_file);
    places_free(&in_memory);
    return rc == TT_OK ? tt_fail_mpi(e, mpi, "MPI_Type_create_hindexed", NULL) : rc;
}

static int listed_pieces(struct tt_shape *shape, struct tt_extent_list *list,
                         const struct tt_block *b, size_t element_size, struct tt_error *e)
{
    size_t at = 0, taken;
    int rc = TT_OK;

    if (tt_extents_collect(list, b, element_size) != TT_OK)
        return tt_fail_nomem(e, "a list of runs");
    for (size_t i = 0; i < shape->npieces && rc == TT_OK; i++, at += taken)
        rc = cut_piece(list->extents + at, list->n - at, &taken, &shape->pieces[i], e);
    if (list->n > 0)
        shape->end = list->extents[list->n - 1].file_offset; /* advanced behind its data */
    return rc;
}

/* ---- shapes ---- */

static int regular_piece(struct tt_shape *shape, const struct tt_block *b,
                         const struct tt_run *file, const struct tt_run *memory,
                         size_t element_size, uint64_t bytes, struct tt_error *e)
{
    struct tt_shape_piece *p = shape->pieces;
    int rc = regular_type(&b->file, file, element_size, &p->file_offset, &p->file);

    if (rc == MPI_SUCCESS)
        rc = regular_type(&b->memory, memory, element_size, &p->memory_offset, &p->memory);
    p->bytes = bytes;
    shape->end = tt_selection_end(&b->file) * element_size;
    return tt_fail_mpi(e, rc, "MPI_Type_create_hvector", NULL);
}

static void contiguous_pieces(struct tt_shape *shape, uint64_t file, uint64_t memory,
                              uint64_t bytes)
{
    for (size_t i = 0; i < shape->npieces; i++) {
        struct tt_shape_piece *p = &shape->pieces[i];
        uint64_t done = i * TT_SHAPE_PIECE_BYTES;

        p->bytes = smaller(bytes - done, TT_SHAPE_PIECE_BYTES);
        p->file_offset = file + done;
        p->memory_offset = memory + done;
    }
    shape->end = file + bytes;
}

static void find_run(const struct tt_selection *s, struct tt_run *run)
{
    if (!tt_selection_is_contiguous(s, run))
        run->start = run->length = 0;
}

static int shape_build(struct tt_shape *shape, struct tt_extent_list *list,
                       const struct tt_block *b, size_t element_size, struct tt_error *e)
{
    uint64_t bytes = tt_selection_count(&b->file) * element_size;
    struct tt_run file, memory;

    if (bytes == 0)
        return TT_OK;
    shape->npieces = (size_t)((bytes - 1) / TT_SHAPE_PIECE_BYTES + 1);
    shape->pieces = calloc(shape->npieces, sizeof *shape->pieces);
    if (!shape->pieces) {
        shape->npieces = 0;
        return tt_fail_nomem(e, "a list of runs");
    }
    for (size_t i = 0; i < shape->npieces; i++)
        shape->pieces[i].file = shape->pieces[i].memory = MPI_DATATYPE_NULL;
    find_run(&b->file, &file);
    find_run(&b->memory, &memory);
    if (file.length > 0 && memory.length > 0) {
        contiguous_pieces(shape, file.start * element_size, memory.start * element_size, bytes);
        return TT_OK;
    }
    if (shape->npieces > 1 || is_list(&b->file, &file) || is_list(&b->memory, &memory))
        return listed_pieces(shape, list, b, element_size, e);
    return regular_piece(shape, b, &file, &memory, element_size, bytes, e);
}

static void shape_free(struct tt_shape *shape)
{
    for (size_t i = 0; i < shape->npieces; i++) {
        if (shape->pieces[i].file != MPI_DATATYPE_NULL)
            MPI_Type_free(&shape->pieces[i].file);
        if (shape->pieces[i].memory != MPI_DATATYPE_NULL)
            MPI_Type_free(&shape->pieces[i].memory);
    }
    free(shape->pieces);
    memset(shape, 0, sizeof *shape);
}

/* By content, not by pointer: a caller may fill the same list anew. */
static size_t describe(const struct tt_selection *s, uint64_t *words)
{
    XXH128_hash_t runs = {0};
    size_t n = 0;

    if (s->kind == TT_SELECT_RUNS && s->nruns > 0)
        runs = XXH3_128bits(s->runs, s->nruns * sizeof *s->runs);
    words[n++] = s->kind;
    words[n++] = runs.low64;
    words[n++] = runs.high64;
    for (int d = 0; d < s->ndims; d++) {
        words[n++] = s->dims[d];
        words[n++] = s->start[d];
        words[n++] = s->stride[d];
        words[n++] = s->count[d];
        words[n++] = s->block[d];
    }
    return n;
}

static XXH128_hash_t block_key(const struct tt_block *b, size_t element_size)
{
    uint64_t words[1 + 2 * (3 + 5 * TT_MAX_DIMS)];
    size_t n = 0;

    words[n++] = element_size;
    n += describe(&b->file, words + n);
    n += describe(&b->memory, words + n);
    return XXH3_128bits(words, n * sizeof *words);
}

int tt_shape_get(struct tt_shape_cache *cache, const struct tt_block *b, size_t element_size,
                 const struct tt_shape **out, struct tt_error *e)
{
    XXH128_hash_t key = block_key(b, element_size);
    struct tt_shape *shape = &cache->slots[key.low64 % TT_SHAPES];
    int rc;

    *out = shape;
    if (shape->serial && XXH128_isEqual(shape->key, key))
        return TT_OK;
    shape_free(shape);
    rc = shape_build(shape, &cache->extents, b, element_size, e);
    if (rc != TT_OK) {
        shape_free(shape);
        *out = NULL;
        return rc;
    }
    shape->serial = ++cache->serial;
    shape->key = key;
    return TT_OK;
}

void tt_shape_cache_free(struct tt_shape_cache *cache)
{
    for (unsigned i = 0; i < TT_SHAPES; i++)
        shape_free(&cache->slots[i]);
    free(cache->extents.extents);
    memset(cache, 0, sizeof *cache);
}
