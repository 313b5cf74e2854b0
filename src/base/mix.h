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

/* A random order of 0 .. n-1 that needs no memory: a Feistel network over the next even number of
 * bits, walked until it falls below n. */
struct tt_permutation {
    uint64_t n;
    unsigned half; /* bits of half a number */
    uint64_t keys[4];
};

/* 1 <= n <= 2^62. The same seed and n give the same order everywhere. */
struct tt_permutation tt_permutation_make(uint64_t n, uint64_t seed);
/* Where i (below n) goes. */
uint64_t tt_permute(const struct tt_permutation *p, uint64_t i);

#endif
