/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks as MPI datatypes. A block becomes a list of pieces of at most TT_SHAPE_PIECE_BYTES, since
 * counts in MPI are ints; all but huge blocks are one piece. Shapes are cached by the content of
 * their selections: a dump repeats those of the dump before. */
#ifndef TT_MPIIO_SHAPE_H
#define TT_MPIIO_SHAPE_H

#include <mpi.h>
#include <xxhash.h>

#include "base/error.h"
#include "io/model.h"

#define TT_SHAPE_PIECE_BYTES (UINT64_C(1) << 30)

struct tt_shape_piece {
    uint64_t bytes;
    uint64_t file_offset;      /* from the start of the variable's instance */
    uint64_t memory_offset;    /* from block->data */
    MPI_Datatype file, memory; /* relative to the offsets; MPI_DATATYPE_NULL: contiguous */
};

struct tt_shape {
    uint64_t serial; /* of all shapes of a cache; 0: empty slot */
    XXH128_hash_t key;
    uint64_t end; /* first byte behind the shape, from the start of the variable's instance */
    size_t npieces;
    struct tt_shape_piece *pieces;
};

#define TT_SHAPES 16
struct tt_shape_cache {
    uint64_t serial;
    struct tt_shape slots[TT_SHAPES];
    struct tt_extent_list extents; /* reused */
};

/* The shape of a block, valid until the next call with this cache. *out is NULL on failure. */
int tt_shape_get(struct tt_shape_cache *cache, const struct tt_block *b, size_t element_size,
                 const struct tt_shape **out, struct tt_error *e);
/* Types in use by a pending transfer live until it has ended: MPI sees to that. */
void tt_shape_cache_free(struct tt_shape_cache *cache);

#endif
