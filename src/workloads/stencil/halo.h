/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange of the points around a block, with all neighbours at once. */
#ifndef TT_STENCIL_HALO_H
#define TT_STENCIL_HALO_H

#include <mpi.h>

#include "workloads/stencil/grid.h"

#define TT_MAX_NEIGHBOURS 26

struct tt_halo {
    MPI_Comm comm;
    int n;
    struct {
        int rank, send_tag, receive_tag;
        MPI_Datatype send, receive;
    } neighbours[TT_MAX_NEIGHBOURS];
    MPI_Request requests[2 * TT_MAX_NEIGHBOURS];
    uint64_t bytes; /* sent in one exchange */
};
int tt_halo_make(struct tt_halo *h, MPI_Comm comm, const struct tt_partition *p,
                 const struct tt_owned *o, const struct tt_layout *l, bool diagonals,
                 struct tt_error *e);
void tt_halo_free(struct tt_halo *h);

/* values: the padded array. Its halo and its outermost owned points must not change until done. */
int tt_halo_post(struct tt_halo *h, double *values, struct tt_error *e);
/* Let MPI make progress; true when all is done. */
bool tt_halo_test(struct tt_halo *h);
int tt_halo_wait(struct tt_halo *h, struct tt_error *e);

#endif
