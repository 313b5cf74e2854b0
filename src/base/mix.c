/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mix.h"

struct tt_permutation tt_permutation_make(uint64_t n, uint64_t seed)
{
    struct tt_permutation p = {.n = n, .half = 1};

    while (p.half < 31 && UINT64_C(1) << 2 * p.half < n)
        p.half++;
    for (unsigned i = 0; i < 4; i++)
        p.keys[i] = seed = tt_mix(seed + i);
    return p;
}

static uint64_t shuffle_once(const struct tt_permutation *p, uint64_t i)
{
    uint64_t mask = (UINT64_C(1) << p->half) - 1, left = i >> p->half, right = i & mask;

    for (unsigned k = 0; k < 4; k++) {
        uint64_t next = left ^ (tt_mix(right ^ p->keys[k]) & mask);

        left = right;
        right = next;
    }
    return left << p->half | right;
}

/* The network permutes all numbers of its width, so the walk from a number below n comes back below
 * n, and no two walks meet. */
uint64_t tt_permute(const struct tt_permutation *p, uint64_t i)
{
    do
        i = shuffle_once(p, i);
    while (i >= p->n);
    return i;
}
