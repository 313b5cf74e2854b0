/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of each stencil in the compiler's own vectors. Compiled once per instruction set with
 * TT_ISA and its flags; the ends of a row go through the same vector code with part of the result
 * thrown away, so that all widths give the same bits. */
#include "workloads/stencil/kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

#define LINE (TT_ROW_ALIGN / LANES) /* vectors in a cache line */
#define MAX_GROUP 8                 /* vectors computed together */

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

/* Only lanes first <= i < last. */
INLINE void store_part(double *p, vector v, ptrdiff_t first, ptrdiff_t last)
{
    double all[LANES];

    memcpy(all, &v, sizeof all);
    for (ptrdiff_t i = first < 0 ? 0 : first; i < last && i < LANES; i++)
        p[i] = all[i];
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

/* What follows has p[0], p[1] and p[2] point to a column in the row above, in the row itself and in
 * the row below. */

/* north + west + east + south: the order is numio's. */
INLINE vector cross(const double *const p[3])
{
    return load(p[0]) + load(p[1] - 1) + load(p[1] + 1) + load(p[2]);
}

/* The four rows next to a row, in the column that lies so far aside. */
INLINE vector next_to(const double *const p[3], ptrdiff_t aside, ptrdiff_t plane)
{
    return load(p[1] + aside - plane) + load(p[0] + aside) + load(p[2] + aside) +
           load(p[1] + aside + plane);
}

/* The four rows diagonal to a row. */
INLINE vector diagonal_to(const double *const p[3], ptrdiff_t aside, ptrdiff_t plane)
{
    return load(p[0] + aside - plane) + load(p[2] + aside - plane) + load(p[0] + aside + plane) +
           load(p[2] + aside + plane);
}

INLINE vector box3d(const double *const p[3], ptrdiff_t plane)
{
    vector faces = next_to(p, 0, plane) + load(p[1] - 1) + load(p[1] + 1);
    vector edges = diagonal_to(p, 0, plane) + next_to(p, -1, plane) + next_to(p, 1, plane);
    vector corners = diagonal_to(p, -1, plane) + diagonal_to(p, 1, plane);

    return (14.0 * faces + 3.0 * edges + corners) * (1.0 / 128);
}

INLINE vector weighted_sum(enum tt_stencil_shape shape, const double *const p[3], ptrdiff_t plane)
{
    switch (shape) {
    case TT_STAR2D:
        return 0.25 * cross(p);
    case TT_BOX2D:
        return (4.0 * cross(p) +
                (load(p[0] - 1) + load(p[0] + 1) + load(p[2] - 1) + load(p[2] + 1))) *
               (1.0 / 20);
    case TT_STAR3D:
        return (load(p[1] - plane) + load(p[0]) + load(p[1] - 1) + load(p[1] + 1) + load(p[2]) +
                load(p[1] + plane)) *
               (1.0 / 6);
    default:
        return box3d(p, plane);
    }
}

/* Any number of multiply-adds that the compiler cannot know to be useless: t stays finite, and
 * v + t * 0 is v. */
INLINE void extra_work(vector *v, unsigned n, uint64_t work)
{
    vector t[MAX_GROUP];

    for (unsigned k = 0; k < n; k++)
        t[k] = v[k];
    for (uint64_t w = 0; w < work; w++)
        for (unsigned k = 0; k < n; k++)
            t[k] = t[k] * 0.5 + 0.25;
    for (unsigned k = 0; k < n; k++)
        v[k] += t[k] * 0.0;
}

/* One vector, at column j, of each of n rows; line[0] is the row above them. Together they load a
 * row once from the cache where one after the other they would three times, and that, not memory,
 * would be the limit. */
INLINE void below_each_other(const struct tt_stencil_rows *r, enum tt_stencil_shape shape,
                             const double *const *line, ptrdiff_t j, unsigned n, vector *v)
{
    for (unsigned k = 0; k < n; k++) {
        const double *const p[3] = {line[k] + j, line[k + 1] + j, line[k + 2] + j};

        v[k] = weighted_sum(shape, p, r->plane);
    }
    if (r->work)
        extra_work(v, n, r->work);
}

/* A cache line of every row: streamed stores want whole lines. New values lie at the same distance
 * from the old ones in all rows, which saves the registers of as many pointers. */
INLINE void lines(const struct tt_stencil_rows *r, enum tt_stencil_shape shape, bool stream,
                  const double *const *line, unsigned n, ptrdiff_t j, bool whole)
{
    ptrdiff_t distance = r->new - r->old;
    vector v[LINE][MAX_GROUP];

    for (int i = 0; i < LINE; i++)
        below_each_other(r, shape, line, j + i * LANES, n, v[i]);
#pragma GCC unroll 8
    for (unsigned k = 0; k < n; k++) {
#pragma GCC unroll 4
        for (ptrdiff_t i = 0, at = j; i < LINE; i++, at += LANES) {
            double *new = (double *)line[k + 1] + (at + distance);

            if (whole)
                store(new, v[i][k], stream);
            else
                store_part(new, v[i][k], r->first - at, r->last - at);
        }
    }
}

INLINE void rows_together(const struct tt_stencil_rows *r, enum tt_stencil_shape shape, bool stream,
                          ptrdiff_t start, unsigned n)
{
    ptrdiff_t j = r->first & -(ptrdiff_t)TT_ROW_ALIGN;
    const double *line[MAX_GROUP + 2];

    for (unsigned k = 0; k < n + 2; k++)
        line[k] = r->old + start + ((ptrdiff_t)k - 1) * r->row;
    if (j < r->first) {
        lines(r, shape, stream, line, n, j, false);
        j += TT_ROW_ALIGN;
    }
    for (; j + TT_ROW_ALIGN <= r->last; j += TT_ROW_ALIGN)
        lines(r, shape, stream, line, n, j, true);
    if (j < r->last)
        lines(r, shape, stream, line, n, j, false);
}

/* n neighbouring vectors of one row, the first at column j. */
INLINE void beside_each_other(const struct tt_stencil_rows *r, enum tt_stencil_shape shape,
                              bool sine, const double *old, double factor, ptrdiff_t j, unsigned n,
                              vector *v)
{
    for (unsigned k = 0; k < n; k++) {
        ptrdiff_t at = j + (ptrdiff_t)k * LANES;
        const double *const p[3] = {old + at - r->row, old + at, old + at + r->row};

        v[k] = weighted_sum(shape, p, r->plane);
        if (sine) {
            vector x = ((double)(r->column + at) + lane_numbers()) * r->h;

            v[k] += factor * TT_SINE(x, vector);
        }
    }
    if (r->work)
        extra_work(v, n, r->work);
}

INLINE void one_row(const struct tt_stencil_rows *r, enum tt_stencil_shape shape, bool sine,
                    bool stream, ptrdiff_t start, double factor)
{
    const double *old = r->old + start;
    double *new = r->new + start;
    ptrdiff_t j = r->first & -(ptrdiff_t)LANES;
    vector v[4];

    if (j < r->first) {
        beside_each_other(r, shape, sine, old, factor, j, 1, v);
        store_part(new + j, v[0], r->first - j, r->last - j);
        j += LANES;
    }
    for (; j + 4 * LANES <= r->last; j += 4 * LANES) {
        beside_each_other(r, shape, sine, old, factor, j, 4, v);
        for (unsigned k = 0; k < 4; k++)
            store(new + j + k *LANES, v[k], stream);
    }
    for (; j < r->last; j += LANES) {
        beside_each_other(r, shape, sine, old, factor, j, 1, v);
        store_part(new + j, v[0], 0, r->last - j);
    }
}

/* With the sine, every row on its own: together they would evaluate it once for all of them. */
INLINE void all_rows(const struct tt_stencil_rows *r, enum tt_stencil_shape shape, bool sine,
                     bool stream, unsigned together)
{
    ptrdiff_t i = 0;

    for (; !sine && i + (ptrdiff_t)together <= r->rows; i += together)
        rows_together(r, shape, stream, i * r->row, together);
    for (; i < r->rows; i++)
        one_row(r, shape, sine, stream, i * r->row, sine ? r->factor * r->sines[i] : 0.0);
}

/* The copy tells the compiler that no store changes it. */
#define ROWS(shape, sine, stream, together) \
    static void rows_##shape##_##sine##_##stream(const struct tt_stencil_rows *r) \
    { \
        const struct tt_stencil_rows copy = *r; \
\
        all_rows(&copy, shape, sine, stream, together); \
    }
#define SHAPE(shape, together) \
    ROWS(shape, 0, 0, together) \
    ROWS(shape, 0, 1, together) \
    ROWS(shape, 1, 0, together) \
    ROWS(shape, 1, 1, together)
/* Rows together: as many as the registers hold. */
SHAPE(TT_STAR2D, 8)
SHAPE(TT_BOX2D, 4)
SHAPE(TT_STAR3D, 4)
SHAPE(TT_BOX3D, 2)

#define ENTRY(shape) \
    { \
        {rows_##shape##_0_0, rows_##shape##_0_1}, \
        { \
            rows_##shape##_1_0, rows_##shape##_1_1 \
        } \
    }
#define PASTE(a, b) a##b
#define NAME(isa) PASTE(tt_stencil_kernels_, isa)
#define TEXT(isa) #isa
#define ISA_TEXT(isa) TEXT(isa)

extern const struct tt_stencil_kernels NAME(TT_ISA);
const struct tt_stencil_kernels NAME(TT_ISA) = {
    .name = ISA_TEXT(TT_ISA),
    .rows = {ENTRY(TT_STAR2D), ENTRY(TT_BOX2D), ENTRY(TT_STAR3D), ENTRY(TT_BOX3D)},
    .fence = fence,
};
