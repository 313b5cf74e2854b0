/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formulas of the paper on MPI-IO and Lustre. */
#include <math.h>

#include "study/search/search.h"

#define USUAL_TARGETS 54 /* the paper's file system had so many */
#define NODES_OF_THE_LINE 8
#define STRIPE_UNIT (UINT64_C(64) << 10) /* Lustre's stripes are multiples of this */
#define BLOCK_FOR_LOCK_AHEAD UINT64_C(4096000)
#define RANKS_FOR_LOCK_AHEAD 3072

uint64_t tt_stripe_count_for(uint64_t nodes, uint64_t targets)
{
    uint64_t all = targets ? targets : USUAL_TARGETS;
    uint64_t count = nodes > NODES_OF_THE_LINE ? all : (uint64_t)lround(5.6 * (double)nodes + 4.9);

    return count < all ? count : all;
}

size_t tt_stripe_sizes_for(uint64_t block, uint64_t out[3])
{
    size_t n = 0;

    for (uint64_t part = 1; part <= 4; part *= 2) {
        uint64_t units = (block / part + STRIPE_UNIT / 2) / STRIPE_UNIT;
        uint64_t size = (units ? units : 1) * STRIPE_UNIT;

        if (n == 0 || size != out[n - 1])
            out[n++] = size;
    }
    return n;
}

uint64_t tt_multiplier_for(uint64_t block, uint64_t ranks)
{
    return block >= BLOCK_FOR_LOCK_AHEAD && ranks > RANKS_FOR_LOCK_AHEAD ? 32 : 1;
}

uint64_t tt_aggregators_for(uint64_t stripes, uint64_t multiplier, uint64_t ranks)
{
    uint64_t wanted = stripes * multiplier;

    return wanted < 1 ? 1 : wanted < ranks ? wanted : ranks;
}
