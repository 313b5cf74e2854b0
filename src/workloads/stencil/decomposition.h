/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank owns which block of the grid. Every point, boundary included, has one owner. */
#ifndef TT_STENCIL_DECOMPOSITION_H
#define TT_STENCIL_DECOMPOSITION_H

#include <stdint.h>

#include "base/error.h"

enum tt_decomposition { TT_ROWS, TT_BLOCKS };

/* Plane, row, column; a 2D grid is not cut in the first and has one plane. */
struct tt_partition {
    int ndims;
    uint64_t size; /* points in every direction */
    int parts[3];
};
struct tt_owned {
    int coords[3];
    uint64_t start[3], count[3];
};

/* rows cuts the slowest dimension only; blocks cuts so that the surface is smallest. TT_USAGE if
 * the ranks do not fit. */
int tt_partition_make(struct tt_partition *p, int ndims, uint64_t size, enum tt_decomposition how,
                      int ranks, struct tt_error *e);
/* The first (size mod parts) blocks in a direction have one point more. */
void tt_partition_owned(const struct tt_partition *p, int rank, struct tt_owned *out);
/* The rank that many blocks away in every direction, or -1 outside the grid. */
int tt_partition_neighbour(const struct tt_partition *p, const struct tt_owned *o,
                           const int offset[3]);

#endif
