/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a mesh, dump by dump, as MACSio writes them: into independent files, each of a group of
 * ranks that write in turn, or into one file that all ranks share.
 *
 * Unlike there, the first rank of a group makes the variables of all its ranks, since a container
 * that is updated has no new ones. Not here: reading, ragged meshes, and variables of other types
 * than double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "plan/workload.h"
#include "workloads/particles/particles.h"

#define NAME 40 /* "domain_" and "/var_" with numbers of 32 bits */
#define BATON 1 /* the tag of its message */

struct parts_options {
    uint64_t groups, size, variables, dims, dumps;
    double parts, growth, pause;
    struct tt_passes compute;
    char *path;
};

#define AT(member) offsetof(struct parts_options, member)
static const struct tt_param params[] = {
    {"groups", TT_PARAM_COUNT, AT(groups), "0", NULL,
     "files of a dump: the ranks of a group write one after the other to the group's file; 0: all "
     "ranks together to one file",
     0, 1 << 20},
    {"size", TT_PARAM_BYTES, AT(size), "80000", "B",
     "of one variable of a part; as much of it as whole rows take", 8, INT64_C(1) << 40},
    {"parts", TT_PARAM_REAL, AT(parts), "1", NULL,
     "of a rank; with 2.5, the first half of the ranks has 3, and the others have 2", 1, 100000},
    {"variables", TT_PARAM_COUNT, AT(variables), "20", NULL, "of doubles in a part", 1, 10000},
    {"dims", TT_PARAM_COUNT, AT(dims), "2", "dimensions", "of a part", 1, 3},
    {"dumps", TT_PARAM_COUNT, AT(dumps), "10", NULL, "times that all parts are written", 1, 999999},
    {"growth", TT_PARAM_REAL, AT(growth), "1", NULL, "a dump is as many times the one before", 1,
     1000},
    {"compute", TT_PARAM_PASSES, AT(compute), "0", "passes",
     "computation between two dumps, each over 65536 particles in memory; or for how long, which "
     "is calibrated once",
     0, INT64_C(1) << 40},
    {"pause", TT_PARAM_DURATION, AT(pause), "0", "s", "sleep between two dumps", 0, 1000000},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the files, relative to --dir: x.h5 becomes x_GROUP_DUMP.h5, or x_DUMP.h5; default: new ones "
     "there",
     .placeholder = "FILE"},
    {NULL},
};

/* ---- shapes ---- */

/* The shape of a part in a dump, in whole rows of as many elements as there are rows. Returns its
 * elements. */
static uint64_t part_shape(const struct parts_options *o, uint64_t dump, uint64_t dims[3])
{
    double elements = floor((double)o->size / sizeof(double) * pow(o->growth, (double)dump) + 1e-6);
    uint64_t side = (uint64_t)(pow(elements, 1.0 / (double)o->dims) + 1e-6), n = 1;

    for (uint64_t d = 1; d < o->dims; d++)
        n *= dims[d] = side;
    dims[0] = (uint64_t)(elements / (double)n);
    return n * dims[0];
}

/* The first part of a rank, which is also how many the ranks before it have. */
static uint64_t first_part(const struct parts_options *o, uint64_t rank, uint64_t ranks)
{
    uint64_t each = (uint64_t)o->parts;
    uint64_t more = (uint64_t)((o->parts - (double)each) * (double)ranks + 0.5);

    return rank * each + (rank < more ? rank : more);
}

static uint64_t first_rank(uint64_t group, uint64_t groups, uint64_t ranks)
{
    return group * (ranks / groups) + (group < ranks % groups ? group : ranks % groups);
}

static uint64_t most_parts(const struct parts_options *o)
{
    return (uint64_t)ceil(o->parts);
}

static int parts_check(const struct tt_config *config, struct tt_error *e)
{
    const struct parts_options *o = tt_config_opts(config, "parts");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1, dims[3];
    double file = o->parts * (double)ranks * (double)o->variables;

    if (o->groups > ranks)
        return tt_fail(e, TT_USAGE, "parts.groups: %llu groups are more than the %llu ranks",
                       (unsigned long long)o->groups, (unsigned long long)ranks);
    if (config->run->overlap != TT_OVERLAP_NONE)
        return tt_fail(e, TT_USAGE, "parts needs overlap=none: a dump ends with closing its file");
    if (o->groups > 0 && o->groups < ranks && !(tt_stack_caps(&config->stack) & TT_CAP_UPDATES))
        return tt_fail(e, TT_USAGE,
                       "parts.groups: %s cannot add to a file that another rank has closed; use as "
                       "many groups as ranks, or 0",
                       config->run->backend);
    if (o->groups > 0 && file / (double)o->groups > 1e6)
        return tt_fail(e, TT_USAGE,
                       "parts.variables times parts.parts: a file would have more than a million "
                       "variables");
    if ((double)o->size * pow(o->growth, (double)o->dumps) * file * (double)o->dumps > 0x1p60 ||
        part_shape(o, 0, dims) == 0)
        return tt_fail(e, TT_USAGE, "parts.size: a part is empty, or all dumps are too large");
    return TT_OK;
}

static int parts_estimate(const struct tt_config *config, struct tt_estimate *out,
                          struct tt_error *e)
{
    const struct parts_options *o = tt_config_opts(config, "parts");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1, dims[3], last = 0;

    (void)e;
    for (uint64_t dump = 0; dump < o->dumps; dump++) {
        last = part_shape(o, dump, dims) * sizeof(double) * o->variables;
        out->bytes_written += last * first_part(o, ranks, ranks);
    }
    out->bytes_on_disk = out->bytes_written;
    out->dumps = o->dumps;
    out->files = o->dumps * (o->groups ? o->groups : 1);
    out->memory_per_rank = last * most_parts(o);
    out->sleep_seconds = o->pause * (double)(o->dumps - 1);
    out->compute_seconds =
        out->sleep_seconds + tt_passes_seconds(&o->compute) * (double)(o->dumps - 1);
    return TT_OK;
}

/* ---- a rank ---- */

struct job {
    struct tt_engine *engine;
    const struct parts_options *options;
    uint64_t group, first_of_group, end_of_group; /* ranks */
    uint64_t first, nparts;                       /* of this rank */
    uint64_t first_of_file;                       /* part */
    unsigned nvariables, nblocks;
    struct tt_variable *variables;
    char (*names)[NAME];
    struct tt_block *blocks;
    double *data;
    char *path; /* as given */
    struct tt_particles_work *work;
    double spent; /* seconds in dumps */
};

static bool in_groups(const struct job *j)
{
    return j->options->groups > 0;
}

static void place_rank(struct job *j)
{
    const struct parts_options *o = j->options;
    uint64_t rank = (uint64_t)j->engine->rank, ranks = (uint64_t)j->engine->size;
    uint64_t groups = in_groups(j) ? o->groups : 1;

    while (first_rank(j->group + 1, groups, ranks) <= rank)
        j->group++;
    j->first_of_group = first_rank(j->group, groups, ranks);
    j->end_of_group = first_rank(j->group + 1, groups, ranks);
    j->first = first_part(o, rank, ranks);
    j->nparts = first_part(o, rank + 1, ranks) - j->first;
    j->first_of_file = first_part(o, j->first_of_group, ranks);
    j->nvariables = (unsigned)o->variables;
    if (in_groups(j))
        j->nvariables *= (unsigned)(first_part(o, j->end_of_group, ranks) - j->first_of_file);
    j->nblocks = (unsigned)(j->nparts * o->variables);
}

static int prepare(struct job *j, struct tt_error *e)
{
    const struct parts_options *o = j->options;

    place_rank(j);
    j->variables = calloc(j->nvariables, sizeof *j->variables);
    j->names = calloc(j->nvariables, sizeof *j->names);
    j->blocks = calloc(j->nblocks, sizeof *j->blocks);
    j->path = tt_data_path_of(j->engine, o->path, "parts");
    if (o->compute.count > 0)
        j->work = tt_particles_work_make(j->engine->config->run->seed);
    if (!j->variables || !j->names || !j->blocks || !j->path || (o->compute.count > 0 && !j->work))
        return tt_fail_nomem(e, "the parts");
    for (unsigned i = 0; i < j->nvariables; i++) {
        unsigned long long part = j->first_of_file + i / o->variables;

        if (in_groups(j))
            snprintf(j->names[i], NAME, "domain_%07llu/var_%02llu", part,
                     (unsigned long long)(i % o->variables));
        else
            snprintf(j->names[i], NAME, "var_%02u", i);
        j->variables[i] = (struct tt_variable){
            .path = j->names[i],
            .element = &tt_element_f64,
            .ndims = (int)o->dims,
            .per_step = true,
            .max_blocks = in_groups(j) ? 1 : (unsigned)most_parts(o),
        };
    }
    return TT_OK;
}

/* One variable of one part: from a number that no other has to the next one. */
static void fill(double *data, uint64_t n, uint64_t number)
{
    for (uint64_t i = 0; i < n; i++)
        data[i] = (double)number + (double)i / (double)n;
}

/* Shapes, data and blocks of one dump. */
static int make_dump(struct job *j, uint64_t dump, struct tt_error *e)
{
    const struct parts_options *o = j->options;
    uint64_t all = first_part(o, (uint64_t)j->engine->size, (uint64_t)j->engine->size);
    uint64_t part_dims[3], dims[3], n = part_shape(o, dump, part_dims);
    double *data =
        dump == 0 || o->growth > 1 ? realloc(j->data, n * j->nblocks * sizeof *data) : j->data;

    if (!data)
        return tt_fail_nomem(e, "the data of a dump");
    j->data = data;
    memcpy(dims, part_dims, sizeof dims);
    if (!in_groups(j))
        dims[0] *= all;
    for (unsigned i = 0; i < j->nvariables; i++)
        memcpy(j->variables[i].dims, dims, sizeof dims);
    for (unsigned i = 0; i < j->nblocks; i++) {
        uint64_t part = j->first + i / o->variables, v = i % o->variables;
        uint64_t start[3] = {part * part_dims[0]};
        struct tt_block *b = &j->blocks[i];

        *b = (struct tt_block){.data = data + n * i};
        b->variable = (unsigned)(in_groups(j) ? (part - j->first_of_file) * o->variables + v : v);
        if (in_groups(j))
            tt_select_all(&b->file, (int)o->dims, dims);
        else
            tt_select_slab(&b->file, (int)o->dims, dims, start, NULL, part_dims, NULL);
        tt_select_all(&b->memory, (int)o->dims, part_dims);
        fill(b->data, n, (dump * all + part) * o->variables + v);
    }
    return TT_OK;
}

/* x.h5 as x_00002_007.h5, or x_007.h5 */
static char *path_of(const struct job *j, uint64_t dump)
{
    const char *slash = strrchr(j->path, '/'), *name = slash ? slash + 1 : j->path;
    const char *dot = strrchr(name, '.'), *ending = dot ? dot : "";
    int stem = (int)(dot ? dot - j->path : (long)strlen(j->path)), n;
    char *path;

    if (in_groups(j))
        n = asprintf(&path, "%.*s_%05llu_%03llu%s", stem, j->path, (unsigned long long)j->group,
                     (unsigned long long)dump, ending);
    else
        n = asprintf(&path, "%.*s_%03llu%s", stem, j->path, (unsigned long long)dump, ending);
    return n < 0 ? NULL : path;
}

static int write_file(struct job *j, uint64_t dump, bool create, struct tt_error *e)
{
    struct tt_series_spec spec = {.access = create ? TT_CREATE : TT_UPDATE,
                                  .policy = TT_OVERWRITE,
                                  .per_process = in_groups(j),
                                  .own_path = in_groups(j),
                                  .alone = in_groups(j),
                                  .steps = 1,
                                  .nvariables = j->nvariables,
                                  .variables = j->variables};
    struct tt_series *series = NULL;
    char *path = path_of(j, dump);
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path"), closed;

    if (!in_groups(j))
        rc = tt_agree(j->engine->comm, rc, e);
    spec.path = path;
    if (rc == TT_OK)
        rc = tt_series_open(j->engine, &spec, &series, e);
    if (rc == TT_OK) {
        rc = tt_series_dump(series, 0, j->nblocks, j->blocks, e);
        closed = tt_series_close(series, e);
        rc = rc == TT_OK ? closed : rc;
    }
    free(path);
    return rc;
}

/* To wait for a turn is to write and to sync, as those before do: else the rate would be that of
 * one rank. */
static void add_waiting(struct job *j, int64_t since, int64_t synced_ns)
{
    int64_t now = tt_now_ns(), waited = now - since;

    synced_ns = synced_ns < waited ? synced_ns : waited;
    tt_phase_add(j->engine, TT_COLLECTIVE, since);
    tt_phase_add(j->engine, TT_IO_WRITE, since + synced_ns);
    tt_phase_add(j->engine, TT_IO_SYNC, tt_now_ns() - synced_ns);
}

/* The next rank of the group waits for the baton, also if this one has failed: then there is
 * nothing for it to add to. */
static int take_turn(struct job *j, uint64_t dump, struct tt_error *e)
{
    uint64_t rank = (uint64_t)j->engine->rank;
    int64_t t = tt_now_ns(), baton[2] = {1, 0}; /* all is well; for how long ranks have synced */
    double synced = tt_phase_seconds(j->engine, TT_SYNC);
    int rc = TT_OK;

    if (rank > j->first_of_group) {
        MPI_Recv(baton, 2, MPI_INT64_T, (int)rank - 1, BATON, j->engine->comm, MPI_STATUS_IGNORE);
        add_waiting(j, t, baton[1]);
    }
    if (baton[0])
        rc = write_file(j, dump, rank == j->first_of_group, e);
    baton[0] = baton[0] && rc == TT_OK;
    baton[1] += (int64_t)((tt_phase_seconds(j->engine, TT_SYNC) - synced) * 1e9);
    if (rank + 1 < j->end_of_group)
        MPI_Send(baton, 2, MPI_INT64_T, (int)rank + 1, BATON, j->engine->comm);
    return rc;
}

static void compute(struct job *j)
{
    int64_t t = tt_now_ns();

    if (j->work) {
        tt_particles_work_do(j->work, j->options->compute.count);
        t = tt_passes_add(j->engine, t);
    }
    if (j->options->pause > 0) {
        tt_sleep_until(t + (int64_t)(j->options->pause * 1e9));
        tt_phase_add(j->engine, TT_COMPUTE, t);
    }
}

/* All ranks of the group have closed the file. Without memory it stays unfinished, which only keeps
 * a later run from replacing it. */
static void mark_file(struct job *j, uint64_t dump)
{
    char *path;

    if ((uint64_t)j->engine->rank != j->first_of_group)
        return;
    path = path_of(j, dump);
    if (path)
        tt_data_mark(j->engine, path);
    free(path);
}

static int dump_all(struct job *j, uint64_t dump, struct tt_error *e)
{
    uint64_t dims[3], bytes = part_shape(j->options, dump, dims) * sizeof(double) * j->nblocks;
    int64_t t = tt_now_ns();
    int rc = tt_agree(j->engine->comm, make_dump(j, dump, e), e);

    tt_phase_add(j->engine, TT_COMPUTE, t);
    if (rc == TT_OK)
        rc = tt_limits_check_dump(j->engine, 1, bytes, bytes, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    rc = in_groups(j) ? tt_agree(j->engine->comm, take_turn(j, dump, e), e)
                      : write_file(j, dump, true, e);
    j->spent += tt_seconds(tt_now_ns() - t);
    if (rc == TT_OK && in_groups(j))
        mark_file(j, dump);
    return rc;
}

static int measured(struct job *j, struct tt_error *e)
{
    uint64_t dumps = j->options->dumps;
    int rc = tt_engine_start(j->engine, e);

    for (uint64_t dump = 0; rc == TT_OK && dump < dumps; dump++) {
        rc = tt_iteration_begin(j->engine, dump + 1, dumps, e);
        if (rc == TT_OK && dump > 0)
            compute(j);
        if (rc == TT_OK)
            rc = dump_all(j, dump, e);
        tt_iteration_end(j->engine);
    }
    return rc == TT_OK ? tt_engine_stop(j->engine, e) : rc;
}

static void report(struct job *j)
{
    double bytes = 0, slowest;

    for (uint64_t dump = 0; dump < j->options->dumps; dump++) {
        uint64_t dims[3];

        bytes += (double)(part_shape(j->options, dump, dims) * sizeof(double) * j->nblocks);
    }
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, j->engine->comm);
    MPI_Allreduce(&j->spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, j->engine->comm);
    tt_result(j->engine, "open_to_close_rate", TT_RESULT_SAME, bytes / slowest);
}

static int parts_run(struct tt_engine *engine, struct tt_error *e)
{
    struct job j = {.engine = engine, .options = tt_config_opts(engine->config, "parts")};
    int rc = tt_agree(engine->comm, prepare(&j, e), e);

    if (rc == TT_OK)
        rc = measured(&j, e);
    if (rc == TT_OK && !tt_engine_is_endless(engine))
        report(&j);
    free(j.variables);
    free(j.names);
    free(j.blocks);
    free(j.data);
    free(j.path);
    free(j.work);
    return rc;
}

static const char *const shown[] = {"groups", "size", "dumps", NULL};

const struct tt_workload tt_workload_parts = {
    .name = "parts",
    .summary = "parts of a mesh in independent files of groups of ranks, or in one: MACSio",
    .params = params,
    .opts_size = sizeof(struct parts_options),
    .shown = shown,
    .computation = &tt_particles_computation,
    .check = parts_check,
    .estimate = parts_estimate,
    .run = parts_run,
};
