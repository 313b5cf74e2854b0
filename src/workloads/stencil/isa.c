/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the compiled instruction sets this CPU has. */
#include "workloads/stencil/kernels.h"

#include "workloads/stencil/sine.h"

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
