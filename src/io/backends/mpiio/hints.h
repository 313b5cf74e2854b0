/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints to MPI-IO: given, read back, and proven by the system calls that ranks really made. */
#ifndef TT_MPIIO_HINTS_H
#define TT_MPIIO_HINTS_H

#include <mpi.h>

#include "io/file.h"
#include "io/backends/mpiio/counts.h"

/* 0 everywhere: not given. */
struct tt_mpi_hints {
    uint64_t cb_nodes, cb_buffer_size, striping_factor, striping_unit;
    int romio_cb_write, romio_cb_read, romio_ds_write; /* index into tt_mpi_switches */
    struct tt_words others;                            /* key=value */
};
extern const char *const tt_mpi_switches[]; /* "default", "enable", "disable", "automatic" */

/* Without MPI: is every word of others key=value? */
int tt_mpi_hints_check(const struct tt_mpi_hints *h, struct tt_error *e);
/* Returns an MPI error code; *info stays MPI_INFO_NULL if nothing is given. */
int tt_mpi_hints_info(const struct tt_mpi_hints *h, MPI_Info *info);

/* Counts of the first blocking writes: enough to see who writes, and cheap. */
struct tt_mpi_proof {
    bool process; /* the library writes by threads of its own */
    bool started; /* inside a counted write */
    uint64_t writes, counted, payload;
    struct tt_io_count before, sum;
};
void tt_mpi_proof_before(struct tt_mpi_proof *p);
void tt_mpi_proof_after(struct tt_mpi_proof *p, uint64_t payload);

/* Collective: facts on the implementation and on every hint given. If every write was counted,
 * rank 0's file->library_bytes becomes what all ranks wrote beyond the payload. */
int tt_mpi_hints_query(struct tt_file *file, MPI_File handle, const struct tt_mpi_hints *h,
                       const struct tt_mpi_proof *p, bool collective, struct tt_facts *facts,
                       struct tt_error *e);

#endif
