/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints to MPI-IO: given, read back, and proven by the system calls that ranks really made. */
#ifndef TT_IO_MPI_HINTS_H
#define TT_IO_MPI_HINTS_H

#include <mpi.h>

#include "io/file.h"

/* 0 everywhere: not given. */
struct tt_mpi_hints {
    uint64_t cb_nodes, cb_buffer_size, striping_factor, striping_unit;
    uint64_t multiplier;                               /* aggregators for each of striping_factor */
    int romio_cb_write, romio_cb_read, romio_ds_write; /* index into tt_mpi_switches */
    struct tt_words others;                            /* key=value */
};
extern const char *const tt_mpi_switches[]; /* "default", "enable", "disable", "automatic" */

/* The keys of a backend whose options, of the given type, have a member hints. MPI libraries read
 * the numbers of these hints as int, and some crash on others. A row here is a key of mpiio, netcdf
 * and pnetcdf: a hint of one library alone is given in `hints`, or is a row of that backend. */
/* clang-format off */
#define TT_MPI_HINT_PARAMS(type) \
    {"cb_nodes", TT_PARAM_COUNT, offsetof(type, hints.cb_nodes), "0", "ranks", \
     "hint: ranks that write for the others in collective calls; 0: not given", 0, INT32_MAX}, \
    {"cb_buffer_size", TT_PARAM_BYTES, offsetof(type, hints.cb_buffer_size), "0", "B", \
     "hint: buffer of such a rank; 0: not given", 0, INT32_MAX}, \
    {"striping_factor", TT_PARAM_COUNT, offsetof(type, hints.striping_factor), "0", "servers", \
     "hint: storage servers a new file is spread over; 0: not given", 0, INT32_MAX}, \
    {"striping_unit", TT_PARAM_BYTES, offsetof(type, hints.striping_unit), "0", "B", \
     "hint: bytes on one server before the next; 0: not given", 0, INT32_MAX}, \
    {"multiplier", TT_PARAM_COUNT, offsetof(type, hints.multiplier), "0", NULL, \
     "hint: ranks that write to each server: cb_nodes is so many times striping_factor, and " \
     "Cray's hints for lock-ahead if it is above 1; 0: not given", 0, 1024}, \
    {"romio_cb_write", TT_PARAM_CHOICE, offsetof(type, hints.romio_cb_write), "default", NULL, \
     "hint for romio: collective buffering of writes", .choices = tt_mpi_switches}, \
    {"romio_cb_read", TT_PARAM_CHOICE, offsetof(type, hints.romio_cb_read), "default", NULL, \
     "hint for romio: collective buffering of reads", .choices = tt_mpi_switches}, \
    {"romio_ds_write", TT_PARAM_CHOICE, offsetof(type, hints.romio_ds_write), "default", NULL, \
     "hint for romio: data sieving of writes", .choices = tt_mpi_switches}, \
    {"hints", TT_PARAM_WORDS, offsetof(type, hints.others), NULL, NULL, \
     "other hints, each key=value"}
/* clang-format on */

/* Without MPI: is every word of others key=value? backend: whose keys they are. */
int tt_mpi_hints_check(const struct tt_mpi_hints *h, const char *backend, struct tt_error *e);
/* Returns an MPI error code; *info stays MPI_INFO_NULL if nothing is given. */
int tt_mpi_hints_info(const struct tt_mpi_hints *h, MPI_Info *info);

/* What the kernel counted, the only witness of settings that libraries echo: of the calling thread,
 * or of the whole process where a library writes by threads of its own. */
struct tt_io_count {
    uint64_t bytes, calls; /* by write calls of all kinds, also those to pipes and sockets */
};

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
 * rank 0's file->library_bytes becomes what all ranks wrote beyond the payload. info: read
 * back from the library, or MPI_INFO_NULL. */
int tt_mpi_hints_query(struct tt_file *file, MPI_Info info, const struct tt_mpi_hints *h,
                       const struct tt_mpi_proof *p, bool collective, struct tt_facts *facts,
                       struct tt_error *e);

#endif
