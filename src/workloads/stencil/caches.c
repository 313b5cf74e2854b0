/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of the caches. sysconf() is no help: on virtual machines it reports the whole host's. */
#include "workloads/stencil/grid.h"

#include <hwloc.h>

static uint64_t size_of(hwloc_topology_t topology, hwloc_obj_type_t type, uint64_t fallback)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);

    return cache && cache->attr->cache.size ? cache->attr->cache.size : fallback;
}

struct tt_caches tt_caches_find(void)
{
    struct tt_caches c = {.second = 512 << 10, .last = 32 << 20};
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0)
        return c;
    if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
        hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
        hwloc_topology_load(topology) == 0) {
        c.second = size_of(topology, HWLOC_OBJ_L2CACHE, c.second);
        c.last = size_of(topology, HWLOC_OBJ_L3CACHE, c.second);
    }
    hwloc_topology_destroy(topology);
    return c;
}
