/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row of each stencil in the compiler's own vectors. Compiled once per instruction set with
 * TT_ISA and its flags; the ends of a row go through the same vector code with part of the result
 * thrown away, so that all widths give the same bits. */
#include "workloads/stencil/kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "workloads/stencil/sine.h"

#ifndef TT_ISA
#define TT_ISA baseline
#endif
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef double unaligned
    __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const double *p)
{
    return *(const unaligned *)p;
}

INLINE void store(double *p, vector v, bool stream)
{
#if defined(__x86_64__)
    if (stream) {
#if LANES == 8
        _mm512_stream_pd(p, v);
#elif LANES == 4
        _mm256_stream_pd(p, v);
#else
        _mm_stream_pd(p, v);
#endif
        return;
    }
#else
    (void)stream;
#endif
    *(vector *)p = v;
}

static void fence(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* Numbers 0, 1, 2, ... of the lanes. */
INLINE vector lane_numbers(void)
{
    vector v;

    for (int i = 0; i < LANES; i++)
        v[i] = i;
    return v;
}

/* north + west + east + south: the order is numio's. */
INLINE vector cross(const double *p, ptrdiff_t row)
{
    return load(p - row) + load(p - 1) + load(p + 1) + load(p + row);
}

/* The four rows beside a row: at a distance of one row and one plane, or of both. */
INLINE vector beside(const double *p, ptrdiff_t row, ptrdiff_t plane)
{
    return load(p - plane) + load(p - row) + load(p + row) + load(p + plane);
}

INLINE vector diagonal(const double *p, ptrdiff_t row, ptrdiff_t plane)
{
    return load(p - plane - row) + load(p - plane + row) + load(p + plane - row) +
           load(p + plane + row);
}

INLINE vector box3d(const double *p, ptrdiff_t row, ptrdiff_t plane)
{
    vector faces = beside(p, row, plane) + load(p - 1) + load(p + 1);
    vector edges = diagonal(p, row, plane) + beside(p - 1, row, plane) + beside(p + 1, row, plane);
    vector corners = diagonal(p - 1, row, plane) + diagonal(p + 1, row, plane);

    return (14.0 * faces + 3.0 * edges + corners) * (1.0 / 128);
}

INLINE vector weighted_sum(enum tt_stencil_shape shape, const double *p, ptrdiff_t row,
                           ptrdiff_t plane)
{
    switch (shape) {
    case TT_STAR2D:
        return 0.25 * cross(p, row);
    case TT_BOX2D:
        return (4.0 * cross(p, row) +
                (load(p - row - 1) + load(p - row + 1) + load(p + row - 1) + load(p + row + 1))) *
               (1.0 / 20);
    case TT_STAR3D:
        return (load(p - plane) + load(p - row) + load(p - 1) + load(p + 1) + load(p + row) +
                load(p + plane)) *
               (1.0 / 6);
    default:
        return box3d(p, row, plane);
    }
}

/* Any number of multiply-adds that the compiler cannot know to be useless: t stays finite, and
 * v + t * 0 is v. */
INLINE void extra_work(vector *v, unsigned n, uint64_t work)
{
    vector t[4];

    for (unsigned k = 0; k < n; k++)
        t[k] = v[k];
    for (uint64_t w = 0; w < work; w++)
        for (unsigned k = 0; k < n; k++)
            t[k] = t[k] * 0.5 + 0.25;
    for (unsigned k = 0; k < n; k++)
        v[k] += t[k] * 0.0;
}

/* n neighbouring vectors of new values, the first at column j. */
INLINE void points(const struct tt_stencil_row *r, enum tt_stencil_shape shape, bool sine,
                   ptrdiff_t j, unsigned n, vector *v)
{
    for (unsigned k = 0; k < n; k++) {
        ptrdiff_t at = j + (ptrdiff_t)k * LANES;

        v[k] = weighted_sum(shape, r->old + at, r->row, r->plane);
        if (sine) {
            vector x = ((double)(r->column + at) + lane_numbers()) * r->h;

            v[k] += r->factor * TT_SINE(x, vector);
        }
    }
    if (r->work)
        extra_work(v, n, r->work);
}

INLINE void part(const struct tt_stencil_row *r, enum tt_stencil_shape shape, bool sine,
                 ptrdiff_t j, ptrdiff_t first, ptrdiff_t last)
{
    double all[LANES];
    vector v;

    points(r, shape, sine, j, 1, &v);
    memcpy(all, &v, sizeof all);
    for (ptrdiff_t k = first; k < last; k++)
        r->new[k] = all[k - j];
}

INLINE void whole_row(const struct tt_stencil_row *r, enum tt_stencil_shape shape, bool sine,
                      bool stream)
{
    ptrdiff_t j = r->first & -(ptrdiff_t)LANES;

    if (j < r->first) {
        part(r, shape, sine, j, r->first, j + LANES < r->last ? j + LANES : r->last);
        j += LANES;
    }
    for (; j + 4 * LANES <= r->last; j += 4 * LANES) {
        vector v[4];

        points(r, shape, sine, j, 4, v);
        for (unsigned k = 0; k < 4; k++)
            store(r->new + j + k *LANES, v[k], stream);
    }
    for (; j + LANES <= r->last; j += LANES) {
        vector v;

        points(r, shape, sine, j, 1, &v);
        store(r->new + j, v, stream);
    }
    if (j < r->last)
        part(r, shape, sine, j, j, r->last);
}

#define ROW(shape, sine, stream) \
    static void row_##shape##_##sine##_##stream(const struct tt_stencil_row *r) \
    { \
        whole_row(r, shape, sine, stream); \
    }
#define ROWS(shape) ROW(shape, 0, 0) ROW(shape, 0, 1) ROW(shape, 1, 0) ROW(shape, 1, 1)
ROWS(TT_STAR2D)
ROWS(TT_BOX2D)
ROWS(TT_STAR3D)
ROWS(TT_BOX3D)

#define ENTRY(shape) \
    { \
        {row_##shape##_0_0, row_##shape##_0_1}, \
        { \
            row_##shape##_1_0, row_##shape##_1_1 \
        } \
    }
#define PASTE(a, b) a##b
#define NAME(isa) PASTE(tt_stencil_kernels_, isa)
#define TEXT(isa) #isa
#define ISA_TEXT(isa) TEXT(isa)

extern const struct tt_stencil_kernels NAME(TT_ISA);
const struct tt_stencil_kernels NAME(TT_ISA) = {
    .name = ISA_TEXT(TT_ISA),
    .row = {ENTRY(TT_STAR2D), ENTRY(TT_BOX2D), ENTRY(TT_STAR3D), ENTRY(TT_BOX3D)},
    .fence = fence,
};
