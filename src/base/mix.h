/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that look random and are a function of what they stand for, so that ranks, threads and
 * later runs agree on them without talking. */
#ifndef TT_BASE_MIX_H
#define TT_BASE_MIX_H

#include <stdint.h>

#include "base/both.h" /* tt_mix */

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
