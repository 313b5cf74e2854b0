/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks agree on success before they diverge, and all keep the first failing rank's message. */
#ifndef TT_BASE_AGREE_H
#define TT_BASE_AGREE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Collective. Returns TT_OK only if rc was TT_OK on every rank; otherwise everybody returns the
 * code of the lowest failing rank, and *e holds that rank's error, with e->rank set to its rank in
 * comm. On MPI_COMM_SELF it makes no MPI call, so that any thread may. */
int tt_agree(MPI_Comm comm, int rc, struct tt_error *e);

/* The same for a helper thread: sleeps instead of spinning while others are late, because the core
 * it would spin on is somebody's computation. */
int tt_agree_patiently(MPI_Comm comm, int rc, struct tt_error *e);

/* Either of them, which also brings numbers to all ranks: the sums of theirs, and the greatest of
 * theirs. How many there are is the same on all ranks. */
struct tt_told {
    int nsums;
    uint64_t *sums;
    int nmost;
    uint64_t *most;
};
int tt_agree_and_tell(MPI_Comm comm, int rc, bool patiently, const struct tt_told *told,
                      struct tt_error *e);

/* The greatest of all ranks' values, by a helper thread. Collective. */
void tt_max_patiently(MPI_Comm comm, int n, int *values);

/* MPI_Waitany; patiently, by a helper thread. MPI_UNDEFINED: no request is active. */
int tt_wait_any(int n, MPI_Request *requests, bool patiently, MPI_Status *status);

/* A library that failed on one rank may leave the others inside a collective call for ever. So a
 * rank that failed waits for their agreement only so long; then it calls this, which must not
 * return. NULL (the default): wait for ever. */
struct tt_last_resort {
    double seconds;
    void (*give_up)(const struct tt_error *e);
};
void tt_agree_last_resort(const struct tt_last_resort *resort);

/* A failed MPI call: class and text from the library. Returns TT_FAILED; TT_OK for MPI_SUCCESS. */
int tt_fail_mpi(struct tt_error *e, int mpi_code, const char *call, const char *file);

#endif
