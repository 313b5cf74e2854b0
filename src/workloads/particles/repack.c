/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Eight particles of eight properties are a matrix of 8 x 8 words, and repacking them is to
 * transpose it. Three rounds of exchanges do that: of words, of pairs and of halves. */
#include <string.h>

#include "workloads/particles/particles.h"

#define SIDE 8

typedef uint32_t row __attribute__((vector_size(SIDE * 4)));

_Static_assert(sizeof(struct tt_particle) == sizeof(row), "a particle is a row");

#define INLINE static inline __attribute__((always_inline))

INLINE void transpose(row m[SIDE])
{
    row a[SIDE];

    for (int i = 0; i < SIDE; i += 2) {
        a[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < SIDE; i += 4)
        for (int k = i; k < i + 2; k++) {
            m[k] = __builtin_shufflevector(a[k], a[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            m[k + 2] = __builtin_shufflevector(a[k], a[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < SIDE / 2; i++) {
        a[i] = __builtin_shufflevector(m[i], m[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        a[i + 4] = __builtin_shufflevector(m[i], m[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < SIDE; i++)
        m[i] = a[i];
}

INLINE void to_arrays(const char *from, uint64_t n, char *to)
{
    uint64_t i = 0;

    for (; i + SIDE <= n; i += SIDE) {
        row m[SIDE];

        memcpy(m, from + i * sizeof(row), sizeof m);
        transpose(m);
        for (uint64_t k = 0; k < SIDE; k++)
            memcpy(to + (k * n + i) * 4, &m[k], sizeof m[k]);
    }
    for (; i < n; i++)
        for (uint64_t k = 0; k < SIDE; k++)
            memcpy(to + (k * n + i) * 4, from + (i * SIDE + k) * 4, 4);
}

INLINE void to_records(const char *from, uint64_t n, char *to)
{
    uint64_t i = 0;

    for (; i + SIDE <= n; i += SIDE) {
        row m[SIDE];

        for (uint64_t k = 0; k < SIDE; k++)
            memcpy(&m[k], from + (k * n + i) * 4, sizeof m[k]);
        transpose(m);
        memcpy(to + i * sizeof(row), m, sizeof m);
    }
    for (; i < n; i++)
        for (uint64_t k = 0; k < SIDE; k++)
            memcpy(to + (i * SIDE + k) * 4, from + (k * n + i) * 4, 4);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static void to_arrays_avx2(const char *from, uint64_t n, char *to)
{
    to_arrays(from, n, to);
}

__attribute__((target("avx2"))) static void to_records_avx2(const char *from, uint64_t n, char *to)
{
    to_records(from, n, to);
}

#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define to_arrays_avx2 to_arrays
#define to_records_avx2 to_records
#define HAS_AVX2 false
#endif

void tt_particles_to_arrays(const struct tt_particle *records, uint64_t n, void *arrays)
{
    if (HAS_AVX2)
        to_arrays_avx2((const char *)records, n, arrays);
    else
        to_arrays((const char *)records, n, arrays);
}

void tt_particles_to_records(const void *arrays, uint64_t n, struct tt_particle *records)
{
    if (HAS_AVX2)
        to_records_avx2(arrays, n, (char *)records);
    else
        to_records(arrays, n, (char *)records);
}
