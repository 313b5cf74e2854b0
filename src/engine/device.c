/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which device a rank computes on, and opening it. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/device_choice.h"
#include "engine/device_move.h"
#include "engine/private.h"

enum { STAGING_PINNED, STAGING_PAGEABLE, STAGING_DIRECT };
enum { HALO_AUTO, HALO_DIRECT, HALO_STAGED };
struct tt_device_options {
    struct tt_counts map;
    int staging, halo;
    bool snapshot;
};
static const char *const halos[] = {"auto", "direct", "staged", NULL};
static const char *const stagings[] = {"pinned", "pageable", "gds", NULL};

static int check_options(const void *opts, struct tt_error *e)
{
    const struct tt_device_options *o = opts;

    if (o->staging == STAGING_DIRECT)
        return tt_fail(
            e, TT_UNSUPPORTED,
            "device.staging=gds: GPUDirect Storage has not been tested with tutti yet, so "
            "it is refused: use pinned or pageable");
    return TT_OK;
}

#define AT(member) offsetof(struct tt_device_options, member)
static const struct tt_param params[] = {
    {"map", TT_PARAM_COUNTS, AT(map), NULL, NULL,
     "numbers of the devices that the ranks of a node use, in turn, such as 0:1; default: the "
     "ranks of a node share its devices evenly, each one near its CPUs, or else neighbours the "
     "same one"},
    {"staging", TT_PARAM_CHOICE, AT(staging), "pinned", NULL,
     "memory of the host that data comes to from a device: pinned, which is fast, or pageable; gds "
     "(past the host) is not there yet",
     .choices = stagings},
    {"halo", TT_PARAM_CHOICE, AT(halo), "auto", NULL,
     "of stencil: direct, MPI takes halos from the device's memory; staged, from pinned memory of "
     "the host; auto: direct if MPI says that it can and has proved it",
     .choices = halos},
    {"snapshot", TT_PARAM_BOOL, AT(snapshot), "yes", NULL,
     "with overlap, copy a dump on the device first, which takes its memory once more per dump in "
     "flight; else the caller waits until the data has left the device"},
    {0},
};
#undef AT

uint64_t tt_dumps_at_once(const struct tt_config *config, uint64_t bytes)
{
    const struct tt_run_options *run = config->run;
    uint64_t n = run->overlap == TT_OVERLAP_NONE ? 1 : run->inflight;

    if (run->staging_limit > 0 && bytes > 0 && run->staging_limit / bytes < n)
        n = run->staging_limit / bytes;
    return n > 0 ? n : 1;
}

uint64_t tt_device_snapshots(const struct tt_config *config, uint64_t bytes, bool packs)
{
    const struct tt_device_options *o = config->device ? tt_config_opts(config, "device") : NULL;

    return o && (packs || (o->snapshot && config->run->overlap != TT_OVERLAP_NONE))
               ? tt_dumps_at_once(config, bytes)
               : 0;
}

const struct tt_component tt_device_component = {
    .name = "device",
    .summary = "which device a rank uses, and how data leaves it",
    .params = params,
    .opts_size = sizeof(struct tt_device_options),
    .check = check_options,
};

/* How far each of n devices is from the CPUs that this rank may use. */
static void measure_distances(const struct tt_device *d, unsigned n, unsigned char *out)
{
    hwloc_cpuset_t cpus = hwloc_bitmap_alloc();
    hwloc_topology_t machine = NULL;
    bool loaded = cpus && hwloc_topology_init(&machine) == 0 &&
                  hwloc_topology_set_type_filter(machine, HWLOC_OBJ_PCI_DEVICE,
                                                 HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
                  hwloc_topology_load(machine) == 0 &&
                  hwloc_get_cpubind(machine, cpus, HWLOC_CPUBIND_THREAD) == 0;

    memset(out, TT_DISTANCE_UNKNOWN, n);
    for (unsigned i = 0; loaded && i < n; i++) {
        char place[TT_DEVICE_PLACE] = "";

        d->type->place(d->opts, i, place);
        if (*place)
            out[i] = tt_device_distance(machine, cpus, place);
    }
    if (machine)
        hwloc_topology_destroy(machine);
    hwloc_bitmap_free(cpus);
}

/* The nearest one, if all ranks of the node see the same devices and places tell them apart. n: 0
 * on a rank that has failed. Collective. */
static bool choose_nearest(struct tt_device *d, MPI_Comm node, unsigned n, int rank, int size,
                           unsigned *out)
{
    unsigned char *all = malloc((size_t)size * TT_MOST_DEVICES);
    unsigned range[2] = {all ? n : 0, all ? UINT32_MAX - n : 0};
    bool tells = false;

    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_UNSIGNED, MPI_MIN, node);
    if (range[0] > 1 && range[0] == UINT32_MAX - range[1] && n <= TT_MOST_DEVICES &&
        d->type->place) {
        measure_distances(d, n, all + (size_t)rank * n);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)n, MPI_UNSIGNED_CHAR, node);
        tells = tt_device_distances_tell(all, size, n);
        *out = tt_device_nearest(all, size, n, rank);
    }
    free(all);
    return tells;
}

/* n: devices that there are. */
static int check_number(uint64_t number, unsigned n, struct tt_error *e)
{
    return number < n ? TT_OK
                      : tt_fail(e, TT_USAGE,
                                "device.map names device %llu, but the last one of this node is %u",
                                (unsigned long long)number, n - 1);
}

int tt_device_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_device_options *o = tt_config_opts(config, "device");
    unsigned n = 0;
    int rc = config->device->count(config->device_opts, &n, e);

    for (size_t i = 0; rc == TT_OK && i < o->map.n; i++)
        rc = check_number(o->map.values[i], n, e);
    return rc;
}

/* By the map, the ranks of a node in turn; else by what is near. Collective; n is 0 on a rank that
 * has failed. */
static int choose(struct tt_device *d, MPI_Comm node, const struct tt_device_options *o, unsigned n,
                  struct tt_error *e)
{
    int rank, size;
    uint64_t number;

    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    d->present = n;
    if (o->map.n) {
        number = o->map.values[(size_t)rank % o->map.n];
        d->number = (unsigned)number;
        d->choice = "device.map";
        return n == 0 ? TT_OK : check_number(number, n, e);
    }
    if (choose_nearest(d, node, n, rank, size, &d->number)) {
        d->choice = "near the CPUs that the rank may use";
    } else {
        d->number = tt_device_evenly(size, n, rank);
        d->choice = "ranks share devices evenly: nothing tells which one is near";
    }
    return TT_OK;
}

/* Ranks of the node whose device is the same one, also if each sees only its own as number 0. */
static unsigned count_sharing(MPI_Comm node, const struct tt_device *d, bool is_open)
{
    MPI_Comm same;
    int n = 1;

    MPI_Comm_split(node, is_open ? (int)(d->id & 0x7fffffff) : MPI_UNDEFINED, 0, &same);
    if (same != MPI_COMM_NULL) {
        MPI_Comm_size(same, &n);
        MPI_Comm_free(&same);
    }
    return (unsigned)n;
}

static int open_here(struct tt_device *d, MPI_Comm node, const struct tt_config *config,
                     struct tt_error *e)
{
    unsigned n = 0;
    int rc, chosen;

    d->type = config->device;
    d->opts = config->device_opts;
    rc = d->type->count(d->opts, &n, e);
    chosen = choose(d, node, tt_config_opts(config, "device"), rc == TT_OK ? n : 0, e);
    rc = rc == TT_OK ? chosen : rc;
    if (rc == TT_OK && !(d->state = calloc(1, d->type->state_size)))
        rc = tt_fail_nomem(e, "a device");
    if (rc == TT_OK)
        rc = d->type->open(d, e);
    if (rc != TT_OK) {
        free(d->state);
        d->state = NULL;
    }
    d->sharing = count_sharing(node, d, rc == TT_OK);
    return rc;
}

int tt_device_open(MPI_Comm comm, const struct tt_config *config, struct tt_device **out,
                   struct tt_error *e)
{
    struct tt_device *d = NULL;
    MPI_Comm node;
    int rc;

    *out = NULL;
    if (!config->device)
        return TT_OK;
    d = calloc(1, sizeof *d);
    rc = tt_agree(comm, d ? TT_OK : tt_fail_nomem(e, "a device"), e);
    if (rc == TT_OK) {
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        rc = tt_agree(comm, open_here(d, node, config, e), e);
        MPI_Comm_free(&node);
    }
    if (rc == TT_OK)
        *out = d;
    else
        tt_device_close(d);
    return rc;
}

void tt_device_close(struct tt_device *d)
{
    if (d && d->state)
        d->type->close(d);
    if (d)
        free(d->state);
    free(d);
}

/* Of rank 0. */
static int describe(struct tt_device *d, struct tt_facts *facts, struct tt_error *e)
{
    char text[64];
    int rc = d->type->query(d, facts, e);

    snprintf(text, sizeof text, "device %u of %u", d->number, d->present);
    if (rc == TT_OK && d->present > 1 &&
        tt_facts_add(facts, "device", NULL, text, TT_IN_EFFECT, d->choice) != TT_OK)
        rc = tt_fail_nomem(e, "facts");
    return rc;
}

int tt__device_prepare(struct tt_engine *engine, struct tt_error *e)
{
    const struct tt_device_options *o = tt_config_opts(engine->config, "device");
    int rc = tt_device_open(engine->comm, engine->config, &engine->device, e);
    struct tt_device *d = engine->device;
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_facts facts = {0};
    unsigned most;

    engine->p->memory =
        d ? tt_memory_of(d, o->staging == STAGING_PINNED, o->snapshot) : tt_host_memory;
    if (!d)
        return rc;
    rc = tt_agree(engine->comm, tt_device_prepare_moves(d, e), e);
    if (rc != TT_OK)
        return rc;
    MPI_Reduce(&d->sharing, &most, 1, MPI_UNSIGNED, MPI_MAX, 0, engine->comm);
    if (engine->rank != 0)
        return rc;
    if (describe(d, &facts, &ignored) == TT_OK)
        tt_facts_keep(engine, &facts);
    tt_facts_free(&facts);
    if (most > 1 && d->caution[0])
        tt_warning(engine, "%u ranks share a device: %s", most, d->caution);
    return rc;
}

/* ---- halos ---- */

/* Of the first rank of the node: another device than its own that ranks of the node use, if there
 * is one and it sees that, too; else its own. Collective on the node. */
static unsigned find_other(const struct tt_device *d, MPI_Comm node)
{
    unsigned first = d->number, mine, other;

    MPI_Bcast(&first, 1, MPI_UNSIGNED, 0, node);
    mine = d->number != first ? d->number : UINT_MAX;
    MPI_Allreduce(&mine, &other, 1, MPI_UNSIGNED, MPI_MIN, node);
    return other < d->present ? other : d->number;
}

/* Whether a rank of the node has a part of a GPU, and another one another device: processes see one
 * part each. Collective on the node. */
static bool has_parts(const struct tt_device *d, MPI_Comm node)
{
    uint64_t all[3] = {d->id, ~d->id, d->is_part ? 0 : 1};

    MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_UINT64_T, MPI_MIN, node);
    return all[0] != ~all[1] && all[2] == 0;
}

/* TT_OK if MPI takes addresses of the device's memory on every rank; else *why, the same on all. It
 * is tried by processes of their own first, on every node: an MPI that cannot do it crashes. */
static int prove(struct tt_engine *engine, struct tt_error *why)
{
    struct tt_device *d = engine->device;
    bool says = d->type->mpi_says && d->type->mpi_says();
    unsigned other = 0;
    bool parts;
    int rc = says ? TT_OK
                  : tt_fail(why, TT_UNSUPPORTED,
                            "MPI does not say that it takes addresses of device %s", d->type->name);

    if (rc == TT_OK && tt_stack_has_thread(&engine->p->stack))
        rc =
            tt_fail(why, TT_UNSUPPORTED,
                    "a layer calls MPI in a thread of its own, beside which nothing proves that it "
                    "takes them");
    parts = has_parts(d, engine->p->node);
    if (rc == TT_OK && parts)
        rc = tt_fail(why, TT_UNSUPPORTED,
                     "ranks of a node have parts of GPUs, between which it cannot be tried");
    rc = tt_agree(engine->comm, rc, why);
    if (rc == TT_OK)
        other = find_other(d, engine->p->node);
    if (rc == TT_OK && engine->p->node_rank == 0)
        rc = tt_device_prove_apart(d, other, engine->config, why);
    rc = tt_agree_patiently(engine->comm, rc, why); /* they need the CPUs */
    return rc == TT_OK ? tt_device_prove(d, engine->comm, why) : rc;
}

int tt_device_gives_halos(struct tt_engine *engine, bool *out, struct tt_error *e)
{
    const struct tt_device_options *o = tt_config_opts(engine->config, "device");
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_facts facts = {0};

    *out = false;
    if (!engine->device || engine->size == 1)
        return TT_OK;
    if (engine->p->halos_asked) { /* by an earlier pass of the same run */
        *out = engine->p->halos_direct;
        return TT_OK;
    }
    *out = o->halo != HALO_STAGED && prove(engine, &why) == TT_OK;
    if (!*out && o->halo == HALO_DIRECT)
        return tt_fail(e, TT_UNSUPPORTED, "device.halo=direct: %s: use auto or staged", why.text);
    engine->p->halos_asked = true;
    engine->p->halos_direct = *out;
    if (engine->rank == 0 &&
        tt_facts_add(&facts, "device.halo", halos[o->halo], *out ? "direct" : "staged",
                     TT_IN_EFFECT,
                     *out ? "MPI says that it takes the device's addresses, and has proved it"
                     : *why.text ? why.text
                                 : "as it was asked for") == TT_OK)
        tt_facts_keep(engine, &facts);
    tt_facts_free(&facts);
    return TT_OK;
}

/* ---- the end ---- */

void tt__device_look(struct tt_engine *engine)
{
    struct tt__device_seen *seen = &engine->p->device_seen;
    struct tt_device *d = engine->device;
    struct tt_device_usage usage = {.utilisation = NAN};

    if (!d || !d->type->usage)
        return;
    d->type->usage(d, &usage);
    if (isfinite(usage.utilisation)) {
        seen->utilisation += usage.utilisation;
        seen->looks++;
    }
    if (usage.memory_used > seen->memory)
        seen->memory = usage.memory_used;
}

void tt__device_report(struct tt_engine *engine)
{
    const struct tt__device_seen *seen = &engine->p->device_seen;

    if (!engine->device)
        return;
    tt_result(engine, "staged", TT_RESULT_SUM, (double)engine->p->staged);
    tt_result(engine, "staging_time", TT_RESULT_SUM, tt_seconds(engine->p->staging_ns));
    if (seen->looks > 0)
        tt_result(engine, "device_utilisation", TT_RESULT_SAME,
                  seen->utilisation / (double)seen->looks);
    if (seen->memory > 0)
        tt_result(engine, "device_memory", TT_RESULT_SAME, (double)seen->memory);
}
