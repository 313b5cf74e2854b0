/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the mpiio backend share. */
#ifndef TT_IO_BACKENDS_MPIIO_PARTS_H
#define TT_IO_BACKENDS_MPIIO_PARTS_H

#include <mpi.h>
#include <xxhash.h>

#include "io/file.h"
#include "io/mpi_hints.h"

/* ---- blocks as MPI datatypes ---- */

/* A block becomes a list of pieces of at most so many bytes, since counts in MPI are ints; all but
 * huge blocks are one piece. Shapes are cached by the content of their selections: a dump repeats
 * those of the dump before. */
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

/* ---- the backend ---- */

enum mpiio_method { INDEPENDENT, COLLECTIVE, SPLIT, NONBLOCKING };

struct mpiio_opts {
    int method;
    struct tt_mpi_hints hints;
};

/* The view of a handle: a piece of a shape, at a place in the file; serial 0 is the plain file. */
struct mpiio_view {
    uint64_t serial, piece, place;
};

struct mpiio_ticket {
    struct mpiio_request *requests; /* one per piece */
    int rc;
    struct tt_error error;
};

struct mpiio_state {
    MPI_File shared, own; /* own: on MPI_COMM_SELF, opened when first needed */
    MPI_Info info;
    struct mpiio_view shared_view, own_view;
    struct mpiio_request *flying; /* started and not completed, oldest first */
    struct tt_shape_cache shapes;
    struct tt_mpi_proof proof;
    uint64_t end;  /* behind everything this rank has written */
    uint64_t size; /* the file was seen to have so many bytes, at least */
    bool failed;   /* a write of this rank: its library may not be in step with the others' */
};

enum mpiio_method tt_mpiio_method(const struct tt_file *file);
bool tt_mpiio_is_collective(const struct tt_file *file);
/* On the file's communicator, or on MPI_COMM_SELF. */
int tt_mpiio_open_handle(struct tt_file *file, MPI_Comm comm, MPI_File *handle, struct tt_error *e);

/* ---- failure.c ---- */
/* A failed call; left: errno after it. */
int tt_mpiio_fail(const struct tt_file *file, int mpi_code, int left, const char *call,
                  long long offset, struct tt_error *e);
/* What became of a transfer; sets failed. */
int tt_mpiio_check_result(struct tt_file *file, enum tt_direction direction, int mpi_code, int left,
                          const MPI_Status *status, uint64_t bytes, uint64_t offset,
                          struct tt_error *e);
/* Is there anything up to this offset? */
int tt_mpiio_check_end(const struct tt_file *file, uint64_t end, struct tt_error *e);

/* ---- transfer.c ---- */
/* Complete everything submitted; the tickets keep what became of it. */
void tt_mpiio_land_all(struct tt_file *file);
int tt_mpiio_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                   struct tt_error *e);
int tt_mpiio_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                  struct tt_error *e);
int tt_mpiio_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_ticket *t, struct tt_error *e);
int tt_mpiio_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e);

#endif
