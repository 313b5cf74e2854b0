/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is solved: weights, boundary values and cost; and which of the compiled instruction sets
 * this CPU has. */
#include "workloads/stencil/stencil.h"

const struct tt_stencil_facts tt_stencil_facts[TT_NSHAPES] = {
    [TT_STAR2D] = {.ndims = 2, .diagonals = false, .flops = 4, .source = 1.0 / 4},
    [TT_BOX2D] = {.ndims = 2, .diagonals = true, .flops = 9, .source = 0.3},
    [TT_STAR3D] = {.ndims = 3, .diagonals = false, .flops = 6, .source = 1.0 / 6},
    [TT_BOX3D] = {.ndims = 3, .diagonals = true, .flops = 28, .source = 30.0 / 128},
};

/* numio's: left 1 - h i, right h i, top 1 - h j, bottom h j, with exact corners. */
static double boundary_2d(const struct tt_problem *p, uint64_t i, uint64_t j)
{
    bool top = i == 0, bottom = i == p->size[1] - 1, left = j == 0, right = j == p->size[2] - 1;
    double y = tt_problem_step(p, 1) * (double)i, x = tt_problem_step(p, 2) * (double)j;

    if ((top || bottom) && (left || right))
        return top == left ? 1.0 : 0.0;
    if (left)
        return 1.0 - y;
    if (right)
        return y;
    return top ? 1.0 - x : x;
}

double tt_problem_boundary(const struct tt_problem *p, const uint64_t at[3])
{
    double x, y, z, scale = (double)(p->field + 1);

    if (p->perturbation != TT_PERTURBATION_NONE)
        return 0.0;
    if (tt_stencil_facts[p->shape].ndims == 2)
        return scale * boundary_2d(p, at[1], at[2]);
    z = tt_problem_step(p, 0) * (double)at[0];
    y = tt_problem_step(p, 1) * (double)at[1];
    x = tt_problem_step(p, 2) * (double)at[2];
    return scale * ((1.0 - x) * (1.0 - y) * (1.0 - z) + x * y * z);
}

double tt_problem_flops(const struct tt_problem *p)
{
    return tt_stencil_facts[p->shape].flops + 2.0 * (double)p->work +
           (p->perturbation == TT_PERTURBATION_SINE ? TT_STENCIL_SINE_FLOPS : 0.0);
}

/* ---- instruction sets ---- */

extern const struct tt_stencil_kernels tt_stencil_kernels_baseline;

double tt_stencil_sine(double x)
{
    return TT_SINE(x, double);
}

#if defined(__x86_64__)

extern const struct tt_stencil_kernels tt_stencil_kernels_avx2, tt_stencil_kernels_avx512;

const struct tt_stencil_kernels *tt_stencil_kernels(unsigned i)
{
    const struct tt_stencil_kernels *found[4] = {NULL};
    unsigned n = 0;

    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        found[n++] = &tt_stencil_kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        found[n++] = &tt_stencil_kernels_avx2;
    found[n] = &tt_stencil_kernels_baseline;
    return i <= n ? found[i] : NULL;
}

#else

const struct tt_stencil_kernels *tt_stencil_kernels(unsigned i)
{
    return i == 0 ? &tt_stencil_kernels_baseline : NULL;
}

#endif
