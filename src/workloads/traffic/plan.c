/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mix.h"
#include "workloads/traffic/traffic.h"

uint64_t tt_traffic_sent(enum tt_traffic_pattern pattern, uint64_t size, uint64_t outstanding,
                         int rank, int ranks)
{
    uint64_t others = (uint64_t)ranks - 1, receivers = 0;

    switch (pattern) {
    case TT_TRAFFIC_INCAST:
        receivers = rank != 0;
        break;
    case TT_TRAFFIC_BROADCAST:
        receivers = rank == 0 ? others : 0;
        break;
    case TT_TRAFFIC_ALLTOALL:
        receivers = others;
        break;
    case TT_TRAFFIC_MANY_TO_MANY:
        receivers = 1;
    }
    return receivers * outstanding * size;
}

/* Sattolo's shuffle: what it makes is one cycle. */
void tt_traffic_partners(uint64_t seed, uint64_t iteration, int ranks, int *to)
{
    uint64_t h = tt_mix(tt_mix(seed) ^ iteration);

    for (int i = 0; i < ranks; i++)
        to[i] = i;
    for (int i = ranks - 1; i > 0; i--) {
        int j = (int)((h = tt_mix(h)) % (uint64_t)i), kept = to[i];

        to[i] = to[j];
        to[j] = kept;
    }
}

uint64_t tt_traffic_stamp(uint64_t iteration, int from, int to, uint64_t message)
{
    return tt_mix(tt_mix(tt_mix(iteration) ^ (uint64_t)from << 32 ^ (uint64_t)to) + message);
}
