/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The four stencils and what is known of them. Dimensions are always three, slowest first: plane,
 * row, column; a 2D grid has one plane. */
#ifndef TT_STENCIL_SHAPE_H
#define TT_STENCIL_SHAPE_H

#include <stdbool.h>

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

#endif
