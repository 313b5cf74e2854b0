/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The innermost loops, compiled once per instruction set; all give the same bits. */
#ifndef TT_STENCIL_KERNELS_H
#define TT_STENCIL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "workloads/stencil/shape.h"

/* Rows start at a multiple of this many doubles, and kernels may read (never write) as many
 * doubles before and after a row. */
#define TT_ROW_ALIGN 8

/* Rows of points, one below the other. Pointers are to column 0 of the first of them, aligned to
 * TT_ROW_ALIGN doubles; old and new are parts of one allocation. */
struct tt_stencil_rows {
    const double *old;
    double *new;
    ptrdiff_t rows;
    ptrdiff_t row, plane;  /* doubles from one row, and one plane, to the next */
    ptrdiff_t first, last; /* columns to compute: first <= j < last */
    int64_t column;        /* global number of column 0 */
    double h;              /* distance of the points */
    /* The source is factor * sines[row] * sin(pi x); used with the perturbation only. */
    double factor;
    const double *sines;
    uint64_t work; /* extra multiply-adds per point; they do not change the result */
};
typedef void tt_stencil_rows_fn(const struct tt_stencil_rows *r);

struct tt_stencil_kernels {
    const char *name; /* of the instruction set */
    /* [perturbation][stream]: stream writes past the caches, see fence. */
    tt_stencil_rows_fn *rows[TT_NSHAPES][2][2];
    /* Before others look at what was streamed. */
    void (*fence)(void);
};

/* The i-th instruction set this CPU can run, best first; NULL behind the last. */
const struct tt_stencil_kernels *tt_stencil_kernels(unsigned i);

/* sin(pi x) for 0 <= x <= 1 as the kernels compute it: error below 1e-15. */
double tt_stencil_sine(double x);

#endif
