/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/topology.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <hwloc.h>
#include <hwloc/glibc-sched.h>

/* From near to far. */
static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_PACKAGE,
                                          HWLOC_OBJ_MACHINE};
#define NLEVELS (sizeof levels / sizeof *levels)

struct tt_topology {
    size_t ncores;
    cpu_set_t *cores; /* in the order of the machine; without the CPUs we may not use */
    size_t ndomains[NLEVELS];
    cpu_set_t *domains[NLEVELS];
    unsigned *numbers[NLEVELS]; /* as the system counts them */
};

/* ---- loading ---- */

static cpu_set_t cpus_of(hwloc_topology_t machine, hwloc_obj_t object, const cpu_set_t *allowed)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (object->cpuset)
        hwloc_cpuset_to_glibc_sched_affinity(machine, object->cpuset, &set, sizeof set);
    CPU_AND(&set, &set, allowed);
    return set;
}

/* The sets of all objects of a type that have a CPU for us; false: no memory. */
static bool collect(hwloc_topology_t machine, hwloc_obj_type_t type, const cpu_set_t *allowed,
                    size_t *n, cpu_set_t **sets, unsigned **numbers)
{
    int count = hwloc_get_nbobjs_by_type(machine, type);

    *n = 0;
    *sets = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof **sets);
    *numbers = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof **numbers);
    if (!*sets || !*numbers)
        return false;
    for (int i = 0; i < count; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(machine, type, (unsigned)i);
        cpu_set_t set = cpus_of(machine, object, allowed);

        if (CPU_COUNT(&set) == 0)
            continue;
        (*numbers)[*n] = object->os_index == UINT_MAX ? (unsigned)i : object->os_index;
        (*sets)[(*n)++] = set;
    }
    return true;
}

static bool collect_all(struct tt_topology *t, hwloc_topology_t machine, const cpu_set_t *allowed)
{
    unsigned *unused = NULL;
    bool good = collect(machine, HWLOC_OBJ_CORE, allowed, &t->ncores, &t->cores, &unused);

    if (good && t->ncores == 0) { /* some virtual machines do not tell */
        free(t->cores);
        free(unused);
        good = collect(machine, HWLOC_OBJ_PU, allowed, &t->ncores, &t->cores, &unused);
    }
    free(unused);
    for (size_t i = 0; i < NLEVELS && good; i++)
        good =
            collect(machine, levels[i], allowed, &t->ndomains[i], &t->domains[i], &t->numbers[i]);
    return good;
}

int tt_topology_load(const char *description, const cpu_set_t *allowed, struct tt_topology **out,
                     struct tt_error *e)
{
    struct tt_topology *t = calloc(1, sizeof *t);
    hwloc_topology_t machine;
    int rc = TT_OK;

    *out = t;
    if (!t || hwloc_topology_init(&machine) != 0)
        return tt_fail_nomem(e, "the topology");
    if ((description && hwloc_topology_set_synthetic(machine, description) != 0) ||
        hwloc_topology_load(machine) != 0)
        rc = tt_fail(e, TT_FAILED,
                     "hwloc cannot tell the cores of this machine; give every job its "
                     "CPUs by cpu_set");
    else if (!collect_all(t, machine, allowed))
        rc = tt_fail_nomem(e, "the topology");
    hwloc_topology_destroy(machine);
    return rc;
}

void tt_topology_free(struct tt_topology *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < NLEVELS; i++) {
        free(t->domains[i]);
        free(t->numbers[i]);
    }
    free(t->cores);
    free(t);
}

int tt_topology_cores(const struct tt_topology *t)
{
    return (int)t->ncores;
}

/* ---- giving ---- */

static bool meet(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_COUNT(&both) > 0;
}

enum tt_placing tt_topology_placing(const struct tt_topology *t, const int *wanted, size_t n)
{
    int threads = t->ncores ? CPU_COUNT(&t->cores[0]) : 1;
    size_t each = 0, whole = 0;

    for (size_t i = 1; i < t->ncores; i++)
        if (CPU_COUNT(&t->cores[i]) < threads)
            threads = CPU_COUNT(&t->cores[i]);
    for (size_t i = 0; i < n; i++) {
        each += (size_t)wanted[i];
        whole += (size_t)((wanted[i] + threads - 1) / threads);
    }
    if (each <= t->ncores)
        return TT_CORE_EACH;
    return whole <= t->ncores ? TT_WHOLE_CORES : TT_SHARED_CORES;
}

/* The CPUs of a core that a job would get. */
static cpu_set_t usable(const cpu_set_t *core, enum tt_placing placing, const cpu_set_t *taken)
{
    cpu_set_t set = *core, theirs;

    CPU_AND(&theirs, core, taken);
    CPU_XOR(&set, &set, &theirs);
    if (placing != TT_SHARED_CORES && CPU_COUNT(&theirs) > 0)
        CPU_ZERO(&set);
    for (int i = CPU_SETSIZE - 1; i > 0 && placing == TT_CORE_EACH && CPU_COUNT(&set) > 1; i--)
        CPU_CLR(i, &set);
    return set;
}

static int room_in(const struct tt_topology *t, const cpu_set_t *domain, enum tt_placing placing,
                   const cpu_set_t *taken)
{
    int room = 0;

    for (size_t i = 0; i < t->ncores; i++)
        if (meet(&t->cores[i], domain)) {
            cpu_set_t set = usable(&t->cores[i], placing, taken);

            room += CPU_COUNT(&set);
        }
    return room;
}

/* The nearest domain with room; NULL: none has. */
static const cpu_set_t *choose(const struct tt_topology *t, enum tt_placing placing, int n,
                               const cpu_set_t *taken)
{
    const cpu_set_t *best = NULL;

    for (size_t level = 0; level < NLEVELS && !best; level++) {
        int least = INT_MAX;

        for (size_t i = 0; i < t->ndomains[level]; i++) {
            int room = room_in(t, &t->domains[level][i], placing, taken);

            if (room >= n && room < least) {
                least = room;
                best = &t->domains[level][i];
            }
        }
    }
    return best;
}

/* Of free cores first, then of those that another job has part of. */
static void fill(const struct tt_topology *t, const cpu_set_t *domain, enum tt_placing placing,
                 int n, const cpu_set_t *taken, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->ncores; i++) {
            cpu_set_t set = usable(&t->cores[i], placing, taken);

            if (!meet(&t->cores[i], domain) || meet(&t->cores[i], taken) != pass)
                continue;
            for (int k = 0; k < CPU_SETSIZE && CPU_COUNT(out) < n; k++)
                if (CPU_ISSET(k, &set))
                    CPU_SET(k, out);
        }
}

bool tt_topology_take(const struct tt_topology *t, enum tt_placing placing, int n, cpu_set_t *taken,
                      cpu_set_t *out, bool *shared)
{
    const cpu_set_t *domain = choose(t, placing, n, taken);

    /* A user's choice may have broken up the cores. */
    while (!domain && placing < TT_SHARED_CORES)
        domain = choose(t, ++placing, n, taken);
    *shared = false;
    if (!domain)
        return false;
    fill(t, domain, placing, n, taken, out);
    for (size_t i = 0; i < t->ncores; i++)
        if (meet(&t->cores[i], out)) {
            *shared |= meet(&t->cores[i], taken);
            if (placing != TT_SHARED_CORES)
                CPU_OR(taken, taken, &t->cores[i]);
        }
    CPU_OR(taken, taken, out);
    return true;
}

/* ---- saying ---- */

void tt_topology_describe(const struct tt_topology *t, const cpu_set_t *set, char *out, size_t size)
{
    size_t cores = 0, nodes = 0, used = 0;

    for (size_t i = 0; i < t->ncores; i++)
        cores += meet(&t->cores[i], set);
    for (size_t i = 0; i < t->ndomains[1]; i++)
        nodes += meet(&t->domains[1][i], set);
    *out = '\0';
    if (cores > 0)
        used = (size_t)snprintf(out, size, "%zu core%s", cores, cores == 1 ? "" : "s");
    if (nodes > 0 && used < size)
        used += (size_t)snprintf(out + used, size - used, " of NUMA node%s", nodes == 1 ? "" : "s");
    for (size_t i = 0, n = 0; i < t->ndomains[1] && used < size; i++)
        if (meet(&t->domains[1][i], set))
            used += (size_t)snprintf(out + used, size - used, "%s %u", n++ ? "," : "",
                                     t->numbers[1][i]);
}
