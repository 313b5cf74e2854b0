/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading back what the verify layer saw written, after the run or in a later one. The layer leaves
 * a ledger per rank and file in DIRECTORY/verify: the file's spec, and per block its selection and
 * hash. */
#ifndef TT_IO_LAYERS_VERIFY_CHECK_H
#define TT_IO_LAYERS_VERIFY_CHECK_H

#include <mpi.h>

#include "io/layers/verify/ledger.h"

struct tt_verify_report {
    uint64_t blocks, bytes; /* checked by this rank */
    uint64_t wrong_blocks;  /* did not have the content that was written */
};

/* Where the ledgers may be anybody's, they do not say which files are read: TT_OK if this one is of
 * the run with that id. */
struct tt_verify_owner {
    const char *id;
    int (*check)(const char *id, const char *path, struct tt_error *e);
};

/* Collective over comm, which must have as many ranks as the run had: open every file of the
 * ledgers through the stack (its verify, fault and throttle layers are skipped), read every block
 * again and compare. TT_CORRUPT names rank, file, variable and step of the first wrong block. owner
 * is NULL where the ledgers are our own. */
int tt_verify_directory(MPI_Comm comm, const struct tt_stack *stack, const char *directory,
                        const struct tt_verify_owner *owner, struct tt_verify_report *report,
                        struct tt_error *e);

/* The same for one ledger that is still in memory; collective over comm, the ranks of its file. */
int tt_verify_ledger(MPI_Comm comm, const struct tt_stack *stack, struct tt_ledger *l,
                     struct tt_verify_report *report, struct tt_error *e);

#endif
