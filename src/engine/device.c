/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which device a rank computes on, and opening it. */
#include <math.h>
#include <stdlib.h>

#include "base/agree.h"
#include "engine/private.h"

enum { STAGING_PINNED, STAGING_PAGEABLE, STAGING_DIRECT };
struct tt_device_options {
    struct tt_counts map;
    int staging;
    bool snapshot;
};
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
     "ranks "
     "of a node share its devices evenly, neighbours the same one"},
    {"staging", TT_PARAM_CHOICE, AT(staging), "pinned", NULL,
     "memory of the host that data comes to from a device: pinned, which is fast, or pageable; gds "
     "(past the host) is not there yet",
     .choices = stagings},
    {"snapshot", TT_PARAM_BOOL, AT(snapshot), "yes", NULL,
     "with overlap, copy a dump on the device first, which takes its memory once more per dump in "
     "flight; else the caller waits until the data has left the device"},
    {0},
};
#undef AT
const struct tt_component tt_device_component = {
    .name = "device",
    .summary = "which device a rank uses, and how data leaves it",
    .params = params,
    .opts_size = sizeof(struct tt_device_options),
    .check = check_options,
};

/* The ranks of a node in turn, or in blocks of neighbours. */
static int choose(const struct tt_device_options *o, unsigned n, int rank, int size, unsigned *out,
                  struct tt_error *e)
{
    uint64_t number = o->map.n ? o->map.values[(size_t)rank % o->map.n]
                               : (uint64_t)rank * n / (uint64_t)(size > (int)n ? size : (int)n);

    if (number >= n)
        return tt_fail(e, TT_USAGE, "device.map names device %llu, but this node has %u of them",
                       (unsigned long long)number, n);
    *out = (unsigned)number;
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
    int rank, size, rc;
    unsigned n = 0;

    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    d->type = config->device;
    d->opts = config->device_opts;
    rc = d->type->count(d->opts, &n, e);
    if (rc == TT_OK)
        rc = choose(tt_config_opts(config, "device"), n, rank, size, &d->number, e);
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
    MPI_Reduce(&d->sharing, &most, 1, MPI_UNSIGNED, MPI_MAX, 0, engine->comm);
    if (engine->rank != 0)
        return rc;
    if (d->type->query(d, &facts, &ignored) == TT_OK)
        tt__facts_keep(engine, &facts);
    tt_facts_free(&facts);
    if (most > 1 && d->caution[0])
        tt_warning(engine, "%u ranks share a device: %s", most, d->caution);
    return rc;
}

void tt__device_report(struct tt_engine *engine)
{
    struct tt_device *d = engine->device;
    struct tt_device_usage usage = {.utilisation = NAN};

    if (!d)
        return;
    tt_result(engine, "staged", TT_RESULT_SUM, (double)engine->p->staged);
    tt_result(engine, "staging_time", TT_RESULT_SUM, tt_seconds(engine->p->staging_ns));
    if (d->type->usage)
        d->type->usage(d, &usage);
    if (isfinite(usage.utilisation))
        tt_result(engine, "device_utilisation", TT_RESULT_SAME, usage.utilisation);
    if (usage.memory_used > 0)
        tt_result(engine, "device_memory", TT_RESULT_SAME, (double)usage.memory_used);
}
