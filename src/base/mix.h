/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that look random and are a function of what they stand for, so that ranks, threads and
 * later runs agree on them without talking. */
#ifndef TT_BASE_MIX_H
#define TT_BASE_MIX_H

#include <stdint.h>

/* A well mixed function of its argument: the finaliser of splitmix64. */
static inline uint64_t tt_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
