/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/stencil/decomposition.h"

#include <stdbool.h>

/* The grid is a cube, so the surface between blocks grows with the sum of the parts; among equals
 * the slowest dimension is cut more often, since its halos are contiguous. */
static bool choose_blocks(struct tt_partition *p, int ranks)
{
    int best = 0;

    for (int a = p->ndims == 3 ? ranks : 1; a >= 1; a--) {
        if (ranks % a || (uint64_t)a > p->size)
            continue;
        for (int b = ranks / a; b >= 1; b--) {
            int c = ranks / a / b;

            if (ranks / a % b || (uint64_t)b > p->size || (uint64_t)c > p->size)
                continue;
            if (best && a + b + c >= best)
                continue;
            best = a + b + c;
            p->parts[0] = a;
            p->parts[1] = b;
            p->parts[2] = c;
        }
    }
    return best > 0;
}

static int too_many(const struct tt_partition *p, enum tt_decomposition how, int ranks,
                    struct tt_error *e)
{
    struct tt_partition blocks = *p;
    const char *unit = p->ndims == 3 ? "planes" : "rows";

    if (how == TT_BLOCKS)
        return tt_fail(
            e, TT_USAGE,
            "%d ranks cannot share a grid of --size %llu: no product of %d factors of at "
            "most %llu is %d; use another number of ranks",
            ranks, (unsigned long long)p->size, p->ndims, (unsigned long long)p->size, ranks);
    return tt_fail(e, TT_USAGE, "--size %llu with rows has %llu %s for %d ranks; use fewer ranks%s",
                   (unsigned long long)p->size, (unsigned long long)p->size, unit, ranks,
                   choose_blocks(&blocks, ranks) ? " or --decomposition blocks" : "");
}

int tt_partition_make(struct tt_partition *p, int ndims, uint64_t size, enum tt_decomposition how,
                      int ranks, struct tt_error *e)
{
    *p = (struct tt_partition){.ndims = ndims, .size = size, .parts = {1, 1, 1}};
    if (how == TT_BLOCKS)
        return choose_blocks(p, ranks) ? TT_OK : too_many(p, how, ranks, e);
    if ((uint64_t)ranks > size)
        return too_many(p, how, ranks, e);
    p->parts[3 - ndims] = ranks;
    return TT_OK;
}

void tt_partition_owned(const struct tt_partition *p, int rank, struct tt_owned *out)
{
    for (int d = 2; d >= 0; d--) {
        uint64_t size = d < 3 - p->ndims ? 1 : p->size;
        uint64_t parts = (uint64_t)p->parts[d], c = (uint64_t)rank % parts;
        uint64_t more = size % parts;

        rank /= p->parts[d];
        out->coords[d] = (int)c;
        out->start[d] = c * (size / parts) + (c < more ? c : more);
        out->count[d] = size / parts + (c < more);
    }
}

int tt_partition_neighbour(const struct tt_partition *p, const struct tt_owned *o,
                           const int offset[3])
{
    int rank = 0;

    for (int d = 0; d < 3; d++) {
        int c = o->coords[d] + offset[d];

        if (c < 0 || c >= p->parts[d])
            return -1;
        rank = rank * p->parts[d] + c;
    }
    return rank;
}
