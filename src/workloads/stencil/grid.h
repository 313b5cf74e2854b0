/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank's block of the grid in memory, and sweeps over boxes of it. */
#ifndef TT_STENCIL_GRID_H
#define TT_STENCIL_GRID_H

#include <stddef.h>

#include "workloads/stencil/decomposition.h"
#include "workloads/stencil/kernels.h"

/* Where the points of a block lie: rows aligned, one halo point all around, also at the edge of the
 * grid, where it stays unused. */
struct tt_layout {
    uint64_t dims[3];     /* of the padded array; dims[2] is the pitch of a row */
    uint64_t owned[3];    /* place of the first owned point in it */
    ptrdiff_t row, plane; /* doubles from one row, and one plane, to the next */
    size_t origin;        /* index of the first owned point */
    size_t total;         /* doubles in the array, with what kernels may read beyond the end */
};
void tt_layout_make(struct tt_layout *l, int ndims, const struct tt_owned *o);

/* Points first <= index < last of the block, counted from its first owned point. */
struct tt_box {
    int64_t first[3], last[3];
};
bool tt_box_is_empty(const struct tt_box *b);
/* The points to be computed: all but those on the grid's boundary. */
struct tt_box tt_box_computed(const struct tt_partition *p, const struct tt_owned *o);
/* Take from *inner what needs the halo; returns how many boxes that gave, at most 6. */
int tt_box_shell(const struct tt_partition *p, const struct tt_owned *o, struct tt_box *inner,
                 struct tt_box shell[6]);

struct tt_problem {
    enum tt_stencil_shape shape;
    enum tt_stencil_perturbation perturbation;
    uint64_t size;
    uint64_t work;
};
/* Value on the grid's boundary at global plane, row and column. */
double tt_problem_boundary(const struct tt_problem *p, const uint64_t at[3]);
/* Floating-point operations per point. */
double tt_problem_flops(const struct tt_problem *p);

struct tt_grid {
    struct tt_layout layout;
    struct tt_owned owned;
    struct tt_problem problem;
    const struct tt_stencil_kernels *kernels;
    double *memory;     /* what both arrays are part of */
    double *values[2];  /* values[0] is the newest; swapped by tt_grid_swap */
    double *sines[2];   /* sin(pi x) of the owned planes and rows; NULL without perturbation */
    double coefficient; /* of their product in the source */
    int threads;
    bool stream;      /* write past the caches */
    uint64_t tile[2]; /* rows and columns that are swept together, to stay in cache */
};
/* Bytes of the second-level and of the last-level cache. */
struct tt_caches {
    uint64_t second, last;
};
struct tt_caches tt_caches_find(void);

/* neighbours: ranks that share the last-level cache, this one included. */
int tt_grid_make(struct tt_grid *g, const struct tt_problem *problem, const struct tt_partition *p,
                 int rank, int threads, const struct tt_caches *caches, int neighbours,
                 struct tt_error *e);
void tt_grid_free(struct tt_grid *g);
/* Bytes of both arrays. */
uint64_t tt_grid_bytes(int ndims, const struct tt_owned *o);

/* Compute the box of values[1] from values[0]. */
void tt_grid_sweep(const struct tt_grid *g, const struct tt_box *box);
void tt_grid_swap(struct tt_grid *g);
/* Largest |values[0] - values[1]| over the box. */
double tt_grid_difference(const struct tt_grid *g, const struct tt_box *box);
#endif
