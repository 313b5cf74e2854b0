/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a node's devices each of its ranks uses, by how near they are. Pure functions: every
 * rank of the node chooses for all of them, and comes to the same. */
#ifndef TT_ENGINE_DEVICE_CHOICE_H
#define TT_ENGINE_DEVICE_CHOICE_H

#include <hwloc.h>
#include <stdbool.h>

#define TT_MOST_DEVICES 64 /* of a node whose places are looked at */
#define TT_DISTANCE_UNKNOWN 255

/* Levels of the machine's tree that lie between these CPUs and a device, up to what has both; its
 * place is as devices tell it. */
unsigned char tt_device_distance(hwloc_topology_t machine, hwloc_const_cpuset_t cpus,
                                 const char *place);
/* Whether distances say anything: all are known, and some rank has one device nearer than another.
 * distances[rank * n + device]. */
bool tt_device_distances_tell(const unsigned char *distances, int ranks, unsigned n);
/* Devices get as many ranks as each other, or one more. In that, ranks have the nearest one that is
 * left, in their order; of equals the first. */
unsigned tt_device_nearest(const unsigned char *distances, int ranks, unsigned n, int rank);
/* The same where nothing is known: neighbours share one. */
unsigned tt_device_evenly(int ranks, unsigned n, int rank);

#endif
