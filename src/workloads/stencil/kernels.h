/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencils and their innermost loops, compiled once per instruction set; all give the same
 * bits. */
#ifndef TT_STENCIL_KERNELS_H
#define TT_STENCIL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The four stencils and what is known of them. Dimensions are always three, slowest first: plane,
 * row, column; a 2D grid has one plane. */

enum tt_stencil_shape { TT_STAR2D, TT_BOX2D, TT_STAR3D, TT_BOX3D, TT_NSHAPES };
enum tt_stencil_perturbation { TT_PERTURBATION_NONE, TT_PERTURBATION_SINE };

/* new = weighted sum of the neighbours + source * f, f = d pi^2 prod sin(pi x_i) for "sine".
 *
 *   shape   weighted sum                                       source       additions and
 *                                                                           multiplications
 *   star2d  (n + w + e + s) / 4                                h^2 / 4      4
 *   box2d   (4 (n + w + e + s) + corners) / 20                 3 h^2 / 10   9
 *   star3d  (below + n + w + e + s + above) / 6                h^2 / 6      6
 *   box3d   (14 faces + 3 edges + corners) / 128               30 h^2 / 128 28
 *
 * "sine" adds 21: 18 for the sine at the point, 1 for its argument, 2 to scale and add it. */
struct tt_stencil_facts {
    int ndims;
    bool diagonals; /* needs the halo's edges and corners, too */
    unsigned flops;
    double source; /* in units of h^2 */
};
#define TT_STENCIL_SINE_FLOPS 21

extern const struct tt_stencil_facts tt_stencil_facts[TT_NSHAPES];

/* ---- rows ---- */

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
/* sin(pi x) = cos(pi t), t = x - 1/2, by a polynomial in t^2 (Chebyshev fit on [0, 1/4], truncation
 * error 4e-18). A macro, so that scalars and vectors run the very same operations. */

#define TT_SINE(x, type) \
    ({ \
        type t_ = (x)-0.5, u_ = t_ * t_; \
        type p_ = u_ * 0x1.1678f9078a9b3p-18 - 0x1.b6957b54dd389p-14; \
        p_ = p_ * u_ + 0x1.f9d254582ac30p-10; \
        p_ = p_ * u_ - 0x1.a6d1efc8c38bep-6; \
        p_ = p_ * u_ + 0x1.e1f506813a321p-3; \
        p_ = p_ * u_ - 0x1.55d3c7e3bfbf5p+0; \
        p_ = p_ * u_ + 0x1.03c1f081b5992p+2; \
        p_ = p_ * u_ - 0x1.3bd3cc9be45dbp+2; \
        p_ *u_ + 1.0; \
    })

#endif
