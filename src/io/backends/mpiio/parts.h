/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the mpiio backend share. */
#ifndef TT_IO_BACKENDS_MPIIO_PARTS_H
#define TT_IO_BACKENDS_MPIIO_PARTS_H

#include <mpi.h>

#include "io/file.h"
#include "io/mpi_hints.h"
#include "io/backends/mpiio/shape.h"

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
    uint64_t end; /* behind everything this rank has written */
    bool failed;  /* a write of this rank: its library may not be in step with the others' */
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
