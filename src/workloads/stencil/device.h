/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencil on a device: its two arrays, sweeps over them and halos, as grid.c and halo.c have
 * them on the host. */
#ifndef TT_STENCIL_DEVICE_H
#define TT_STENCIL_DEVICE_H

#include "devices/device.h"
#include "workloads/stencil/stencil.h"

/* What a sweep computes, as device.cu declares it. */
struct tt_sweep {
    const double *old_values; /* at the first owned point */
    double *new_values;
    const double *sines[2]; /* of the owned planes and rows */
    double *residual;       /* NULL: not asked for; else the largest change goes there */
    int64_t row, plane;
    int64_t first[3], last[3];
    int64_t column;
    double h, coefficient;
    uint64_t work;
};

#define TT_GRID_PIECE ((size_t)64 << 20) /* bytes that the host makes at a time */
/* Makes both arrays there, moves the sines, and compiles the kernels. If it fails, tt_grid_free. */
int tt_grid_to_device(struct tt_grid *g, struct tt_device *device, struct tt_error *e);
void tt_grid_free_device(struct tt_grid *g);
/* A failure is kept for tt_grid_finish. */
void tt_grid_sweep_device(struct tt_grid *g, const struct tt_box *box);
double tt_grid_difference_device(struct tt_grid *g, const struct tt_box *box);
/* Sweeps from now on find the largest change, which tt_grid_take_residual returns: that costs no
 * pass of its own. */
void tt_grid_begin_residual(struct tt_grid *g);
double tt_grid_take_residual(struct tt_grid *g);

/* Halos go through one dense buffer on the device for all neighbours: what is sent, then what is
 * received. MPI gets its addresses (direct), or those of one of the host's, pinned, beside it. */
int tt_halo_to_device(struct tt_halo *h, struct tt_device *device, bool direct,
                      const struct tt_owned *o, const struct tt_layout *l, struct tt_error *e);
void tt_halo_free_device(struct tt_halo *h);
/* What the neighbours need is where MPI takes it from when it returns. */
int tt_halo_fetch(struct tt_halo *h, double *values, struct tt_error *e);
/* What they have sent is there before what is queued for computation next. */
int tt_halo_deliver(struct tt_halo *h, struct tt_error *e);
double *tt_halo_buffer(const struct tt_halo *h, int neighbour, bool received);

#endif
