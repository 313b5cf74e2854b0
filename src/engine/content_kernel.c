/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Eight xorshift128+ generators side by side; compiled once per instruction set. */
#include "engine/content_kernel.h"

#define LANES 8
#define JOIN(a, b) a##_##b
#define NAME(a, b) JOIN(a, b)

void NAME(tt_content_kernel, TT_ISA)(uint64_t *words, const uint64_t states[16])
{
    uint64_t a[LANES], b[LANES];

    for (int i = 0; i < LANES; i++) {
        a[i] = states[i];
        b[i] = states[LANES + i];
    }
    for (int step = 0; step < 512 / LANES; step++)
        for (int i = 0; i < LANES; i++) {
            uint64_t x = a[i], y = b[i];

            a[i] = y;
            x ^= x << 23;
            x ^= x >> 18 ^ y ^ y >> 5;
            b[i] = x;
            words[step * LANES + i] = x + y;
        }
}
