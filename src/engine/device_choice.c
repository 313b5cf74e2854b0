/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/device_choice.h"

#include <string.h>

/* The CPUs near a place; false: it is not one of this machine. */
static bool cpus_near(hwloc_topology_t machine, const char *place, hwloc_cpuset_t out)
{
    hwloc_obj_t device;

    if (!strchr(place, ':'))
        return hwloc_bitmap_list_sscanf(out, place) == 0 && !hwloc_bitmap_iszero(out);
    device = hwloc_get_pcidev_by_busidstring(machine, place);
    if (!device)
        return false;
    return hwloc_bitmap_copy(out, hwloc_get_non_io_ancestor_obj(machine, device)->cpuset) == 0;
}

unsigned char tt_device_distance(hwloc_topology_t machine, hwloc_const_cpuset_t cpus,
                                 const char *place)
{
    hwloc_cpuset_t both = hwloc_bitmap_alloc();
    hwloc_obj_t common = NULL;

    if (both && cpus_near(machine, place, both) && hwloc_bitmap_or(both, both, cpus) == 0)
        common = hwloc_get_obj_covering_cpuset(machine, both);
    hwloc_bitmap_free(both);
    return common ? (unsigned char)(hwloc_topology_get_depth(machine) - 1 - common->depth)
                  : TT_DISTANCE_UNKNOWN;
}

bool tt_device_distances_tell(const unsigned char *distances, int ranks, unsigned n)
{
    bool differ = false;

    for (int rank = 0; rank < ranks; rank++)
        for (unsigned i = 0; i < n; i++) {
            const unsigned char *row = distances + (size_t)rank * n;

            if (row[i] == TT_DISTANCE_UNKNOWN)
                return false;
            differ = differ || row[i] != row[0];
        }
    return differ;
}

unsigned tt_device_nearest(const unsigned char *distances, int ranks, unsigned n, int rank)
{
    int used[TT_MOST_DEVICES] = {0}, each = ranks / (int)n, more = ranks % (int)n;
    unsigned best = 0;

    for (int r = 0; r <= rank; r++) {
        const unsigned char *row = distances + (size_t)r * n;
        bool any = false;

        for (unsigned i = 0; i < n; i++)
            if (used[i] < each + (more > 0) && (!any || row[i] < row[best])) {
                best = i;
                any = true;
            }
        more -= used[best]++ == each;
    }
    return best;
}

unsigned tt_device_evenly(int ranks, unsigned n, int rank)
{
    return (unsigned)((uint64_t)rank * n / (uint64_t)(ranks > (int)n ? ranks : (int)n));
}
