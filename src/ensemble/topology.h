/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which CPUs are given to which job: near each other, and no two jobs on one core as long as there
 * is another way. */
#ifndef TT_ENSEMBLE_TOPOLOGY_H
#define TT_ENSEMBLE_TOPOLOGY_H

#include <sched.h>
#include <stdbool.h>

#include "base/error.h"

/* How the cores are given out, which is the same in all steps of an ensemble. */
enum tt_placing {
    TT_CORE_EACH,   /* every CPU of a share is on a core of its own */
    TT_WHOLE_CORES, /* all CPUs of a core are one job's */
    TT_SHARED_CORES /* there are too few cores for that */
};

struct tt_topology;
/* Of the CPUs in *allowed. description: as hwloc_topology_set_synthetic takes it, for tests; NULL:
 * this machine. */
int tt_topology_load(const char *description, const cpu_set_t *allowed, struct tt_topology **out,
                     struct tt_error *e);
void tt_topology_free(struct tt_topology *t);

int tt_topology_cores(const struct tt_topology *t);
/* For jobs at once that want so many CPUs each. */
enum tt_placing tt_topology_placing(const struct tt_topology *t, const int *wanted, size_t n);
/* n CPUs that are not in *taken: of one cache if it has as many, else of one NUMA node, one
 * package, the machine; of several that would do the one that has the fewest left. Adds to *taken
 * all that nobody else is to have. False: there are not that many, and nothing is given. *shared is
 * whether another job has part of these cores. */
bool tt_topology_take(const struct tt_topology *t, enum tt_placing placing, int n, cpu_set_t *taken,
                      cpu_set_t *out, bool *shared);
/* "4 cores of NUMA node 0"; empty of a machine that has no cores to tell of. */
void tt_topology_describe(const struct tt_topology *t, const cpu_set_t *set, char *out,
                          size_t size);

#endif
