/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who sends how much to whom: what the traffic workload plans without MPI. */
#ifndef TT_WORKLOADS_TRAFFIC_H
#define TT_WORKLOADS_TRAFFIC_H

#include <stdint.h>

enum tt_traffic_pattern {
    TT_TRAFFIC_INCAST,      /* everybody to rank 0 */
    TT_TRAFFIC_BROADCAST,   /* rank 0 to everybody */
    TT_TRAFFIC_ALLTOALL,    /* everybody to everybody */
    TT_TRAFFIC_MANY_TO_MANY /* everybody to one other, whom a random permutation chooses */
};

/* Bytes that a rank sends to others in one iteration; what it would send to itself does not count.
 * A broadcast counts once for every receiver. */
uint64_t tt_traffic_sent(enum tt_traffic_pattern pattern, uint64_t size, uint64_t outstanding,
                         int rank, int ranks);

/* A random permutation of one cycle, so that nobody sends to itself: rank i sends to to[i]. The
 * same on all ranks, another in every iteration. ranks >= 2. */
void tt_traffic_partners(uint64_t seed, uint64_t iteration, int ranks, int *to);

/* What the first and the last word of a message hold. */
uint64_t tt_traffic_stamp(uint64_t iteration, int from, int to, uint64_t message);

#endif
