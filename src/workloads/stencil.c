/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencil: Jacobi iterations on a regular grid, with halo exchange, and the field written and
 * read now and then. Its parts are in stencil/; run.c holds the loop. */
#include <unistd.h>

#include "engine/device_move.h"
#include "engine/engine.h"
#include "plan/config.h"
#include "plan/workload.h"
#include "spec/units.h"
#include "workloads/stencil/device.h"
#include "workloads/stencil/stencil.h"

static const char *const dims_choices[] = {"auto", "2", "3", NULL};
static const char *const shape_choices[] = {"star", "box", NULL};
static const char *const perturbation_choices[] = {"none", "sine", NULL};
static const char *const decomposition_choices[] = {"rows", "blocks", NULL};
static const char *const halo_choices[] = {"after", "overlap", NULL};
static const char *const uses[] = {"write", "read", "collective", NULL};

#define AT(member) offsetof(struct tt_stencil_options, member)
static const struct tt_param params[] = {
    {"size", TT_PARAM_COUNTS, AT(size), "1024", "points",
     "points of the grid, boundary included: in every direction, or along each side, slowest first "
     "(64x128x32)",
     3, 1 << 30},
    {"iterations", TT_PARAM_COUNT, AT(iterations), "10000", NULL, "number of iterations", 1,
     INT64_MAX},
    {"dims", TT_PARAM_CHOICE, AT(dims), "auto", NULL,
     "dimensions of the grid; auto: as many as size has sides, and 2 if it has one",
     .choices = dims_choices},
    {"fields", TT_PARAM_COUNT, AT(fields), "1", NULL,
     "fields on the grid: each is computed, exchanged and written as a variable of its own", 1,
     TT_STENCIL_FIELDS},
    {"shape", TT_PARAM_CHOICE, AT(shape), "star", NULL,
     "neighbours of a point: star (4, in 3D 6) or box (8, in 3D 26)", .choices = shape_choices},
    {"perturbation", TT_PARAM_CHOICE, AT(perturbation), "none", NULL,
     "source term: none, or a sine evaluated at every point, to load the CPU",
     .choices = perturbation_choices},
    {"work", TT_PARAM_COUNT, AT(work), "0", NULL,
     "extra work per point: so many multiplications and additions; same result", 0, 1000000},
    {"compute", TT_PARAM_PASSES, AT(compute), "1", "passes",
     "how often an iteration computes its result, which stays the same; or for how long, which is "
     "calibrated once",
     1, 1000000000},
    {"residual", TT_PARAM_COUNT, AT(residual), "0", "iterations",
     "find the largest change over all ranks every so many iterations, as a solver does to check "
     "whether it has converged; 0: only in the last one"},
    {"threads", TT_PARAM_COUNT, AT(threads), "1", NULL, "OpenMP threads per rank", 1, 4096},
    {"decomposition", TT_PARAM_CHOICE, AT(decomposition), "rows", NULL,
     "how ranks share the grid: rows (3D: planes), or blocks cut in all directions",
     .choices = decomposition_choices},
    {"halo", TT_PARAM_CHOICE, AT(halo), "after", NULL,
     "exchange with neighbours after the computation, or overlapped with its interior",
     .choices = halo_choices},
    {"variable", TT_PARAM_TEXT, AT(variable), "field", NULL,
     "name of the variable in the file; of several fields with _1, _2, ... behind it"},
    {NULL},
};

/* ---- what follows from them, without MPI and before anything runs ---- */

int tt_stencil_ndims(const struct tt_stencil_options *o)
{
    if (o->dims == 0)
        return o->size.n == 3 ? 3 : 2;
    return o->dims + 1;
}

/* Slowest first, as every array here; a 2D grid has one plane. */
static void sides(const struct tt_stencil_options *o, uint64_t size[3])
{
    int ndims = tt_stencil_ndims(o);

    size[0] = 1;
    for (int d = 0; d < ndims; d++)
        size[3 - ndims + d] = o->size.values[o->size.n == 1 ? 0 : d];
}

struct tt_problem tt_stencil_problem(const struct tt_stencil_options *o, uint64_t field)
{
    static const enum tt_stencil_shape shapes[2][2] = {{TT_STAR2D, TT_BOX2D},
                                                       {TT_STAR3D, TT_BOX3D}};
    struct tt_problem p = {.shape = shapes[tt_stencil_ndims(o) - 2][o->shape],
                           .perturbation = (enum tt_stencil_perturbation)o->perturbation,
                           .work = o->work,
                           .field = field};

    sides(o, p.size);
    return p;
}

int tt_stencil_partition(const struct tt_stencil_options *o, int ranks, struct tt_partition *p,
                         struct tt_error *e)
{
    uint64_t size[3];

    sides(o, size);
    return tt_partition_make(p, tt_stencil_ndims(o), size, (enum tt_decomposition)o->decomposition,
                             ranks, e);
}

/* The first iteration that writes something; 0 if none does. */
static uint64_t first_write(const struct tt_write_options *w, uint64_t iterations)
{
    for (uint64_t i = w->every; w->every > 0 && i <= iterations; i += w->every)
        if (tt_output_copies(w, i, iterations) > 0)
            return i;
    return 0;
}

static int check_reads(const struct tt_config *config, uint64_t iterations, struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(config, "write");
    const struct tt_read_options *r = tt_config_opts(config, "read");
    uint64_t first = first_write(w, iterations);

    if (r->every == 0 || r->every > iterations || r->path)
        return TT_OK;
    if (first == 0)
        return tt_fail(
            e, TT_USAGE,
            "read.every is %llu, but nothing is ever written to be read; give write.every "
            "or read.path",
            (unsigned long long)r->every);
    if (first >= r->every)
        return tt_fail(
            e, TT_USAGE,
            "the first read, in iteration %llu, comes before the first write, at the end "
            "of iteration %llu; read later or give read.path",
            (unsigned long long)r->every, (unsigned long long)first);
    return TT_OK;
}

/* All bytes of a rank, twice and with what is around its points, can be counted. */
#define MOST_POINTS (UINT64_C(1) << 58)

static int check_size(const struct tt_stencil_options *o, struct tt_error *e)
{
    const struct tt_counts *size = &o->size;
    uint64_t points = o->fields;

    if (size->n < 1 || size->n > 3)
        return tt_fail(e, TT_USAGE, "stencil.size has %zu sides; give 1, 2 or 3, as in 64x128",
                       size->n);
    if (size->n > 1 && (size_t)tt_stencil_ndims(o) != size->n)
        return tt_fail(e, TT_USAGE,
                       "stencil.size has %zu sides, but stencil.dims is %d; leave it out", size->n,
                       tt_stencil_ndims(o));
    for (size_t i = 0; tt_stencil_ndims(o) == 3 && i < size->n; i++)
        if (size->values[i] > 1 << 20)
            return tt_fail(e, TT_USAGE, "--size %llu is too large for 3 dimensions; at most %d",
                           (unsigned long long)size->values[i], 1 << 20);
    for (int i = 0; i < tt_stencil_ndims(o); i++)
        points = tt_times(points, size->values[size->n == 1 ? 0 : i]);
    if (points > MOST_POINTS)
        return tt_fail(e, TT_USAGE,
                       "stencil.size and stencil.fields make too many points: at most 2^58");
    return TT_OK;
}

static int stencil_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_stencil_options *o = tt_config_opts(config, "stencil");
    struct tt_partition p;
    int rc = check_size(o, e);

    if (rc != TT_OK)
        return rc;
    if (!o->variable)
        return tt_fail(e, TT_USAGE, "stencil.variable must not be empty");
#ifndef _OPENMP
    if (o->threads > 1)
        return tt_fail(e, TT_USAGE, "this build has no OpenMP: only --threads 1 works");
#endif
    if (config->device && o->threads > 1)
        return tt_fail(
            e, TT_USAGE,
            "stencil.threads: device %s computes, and not the host's threads; leave it out",
            config->device->name);
    rc = tt_stencil_partition(o, (int)config->run->ranks, &p, e);
    return rc == TT_OK ? check_reads(config, o->iterations, e) : rc;
}

/* Seconds per point of one thread, from about 0.1 s of sweeps, and not more than the run's, over a
 * grid of the real width but at most 64 MiB; 0 if there is no memory. It is time on a CPU: others
 * may be running, too. */
static double measure_point(const struct tt_stencil_options *o, const struct tt_owned *owned,
                            int ranks)
{
    struct tt_problem problem = tt_stencil_problem(o, 0);
    struct tt_partition p = {.ndims = tt_stencil_ndims(o), .parts = {1, 1, 1}};
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t bytes = tt_grid_bytes(p.ndims, owned), limit = 64 << 20;
    int slow = 3 - p.ndims;
    struct tt_caches caches = tt_caches_find();
    struct tt_grid f;
    struct tt_box box;
    int64_t start, points = 0;
    uint64_t sweeps = 0;

    sides(o, p.size);
    if (bytes > limit)
        p.parts[slow] = (int)(p.size[slow] / (1 + owned->count[slow] * limit / bytes));
    if (tt_grid_make(&f, &problem, &p, p.parts[slow] / 2, 1, &caches,
                     (bytes > limit ? ranks + 1 : ranks) * (int)o->fields, &ignored) != TT_OK)
        return 0;
    box = tt_box_computed(&p, &f.owned);
    start = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    do {
        tt_grid_sweep(&f, &box);
        tt_grid_swap(&f);
        points += (box.last[0] - box.first[0]) * (box.last[1] - box.first[1]) *
                  (box.last[2] - box.first[2]);
    } while (++sweeps < o->iterations && tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start < 100000000);
    start = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    tt_grid_free(&f);
    return points > 0 ? tt_seconds(start) / (double)points : 0;
}

static uint64_t most_copies(const struct tt_write_options *w)
{
    uint64_t copies = w->pattern.n ? 0 : 1;

    for (size_t i = 0; i < w->pattern.n; i++)
        copies = w->pattern.values[i] > copies ? w->pattern.values[i] : copies;
    return copies;
}

static void estimate_files(const struct tt_write_options *w, uint64_t iterations, int ranks,
                           uint64_t field, struct tt_estimate *out)
{
    uint64_t copies = most_copies(w), written;

    tt_output_plan(w, iterations, &out->dumps, &written);
    out->bytes_written = tt_times(written, field);
    if (out->dumps == 0)
        return;
    out->bytes_on_disk = w->series == TT_OVERWRITE ? tt_times(copies, field) : out->bytes_written;
    out->files = w->series == TT_FILE_PER_STEP ? written : copies;
    out->files *= w->files ? (uint64_t)ranks : 1;
}

/* Of every file that is written at once, and of what is read into the fields. */
static uint64_t device_copies(const struct tt_config *config, const struct tt_owned *owned,
                              uint64_t bytes, bool writes)
{
    const struct tt_write_options *w = tt_config_opts(config, "write");
    const struct tt_read_options *r = tt_config_opts(config, "read");
    bool packs = owned->count[2] * sizeof(double) < TT_DEVICE_SHORTEST_ROW;
    uint64_t copies = writes ? most_copies(w) : 0;

    return (copies * tt_device_snapshots(config, bytes, packs) +
            (packs && r->every && r->restart)) *
           bytes;
}

static int stencil_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    const struct tt_stencil_options *o = tt_config_opts(config, "stencil");
    const struct tt_read_options *r = tt_config_opts(config, "read");
    const struct tt_run_options *run = config->run;
    uint64_t points = o->fields, reads = r->every ? o->iterations / r->every : 0, mine;
    uint64_t buffers = 0; /* between the fields and storage */
    uint64_t cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), parallel = run->ranks * o->threads;
    struct tt_partition p;
    struct tt_owned owned;
    int rc = tt_stencil_partition(o, (int)run->ranks, &p, e);

    if (rc != TT_OK)
        return rc;
    for (int d = 0; d < 3; d++)
        points *= p.size[d];
    tt_partition_owned(&p, 0, &owned);
    mine = owned.count[0] * owned.count[1] * owned.count[2] * o->fields * sizeof(double);
    *out = (struct tt_estimate){.bytes_read = tt_times(reads, points * sizeof(double)),
                                .memory_per_rank = o->fields * tt_grid_bytes(p.ndims, &owned)};
    if (reads && !r->restart)
        out->memory_per_rank += mine;
    estimate_files(tt_config_opts(config, "write"), o->iterations, (int)run->ranks,
                   points * sizeof(double), out);
    if (out->dumps + reads > 0)
        buffers = tt_times(run->overlap == TT_OVERLAP_NONE ? 1 : run->inflight, mine);
    if (config->device) { /* the host has the staging buffers, after it has made the first values */
        out->device_memory =
            out->memory_per_rank + device_copies(config, &owned, mine, out->dumps > 0);
        out->memory_per_rank = mine < TT_GRID_PIECE ? mine : TT_GRID_PIECE;
        if (out->memory_per_rank < buffers)
            out->memory_per_rank = buffers;
    } else if (run->overlap != TT_OVERLAP_NONE) {
        out->memory_per_rank += buffers;
    }
    out->compute_seconds = tt_passes_seconds(&o->compute) * (double)o->iterations;
    if (config->device) /* nobody has opened it: how long it takes is not known */
        return TT_OK;
    if (!(o->compute.seconds > 0))
        out->compute_seconds = measure_point(o, &owned, (int)run->ranks) * (double)points *
                               (double)(o->compute.count * o->iterations) /
                               (double)(parallel < cores ? parallel : cores);
    return TT_OK;
}

static const char *const shown[] = {"size", "iterations", NULL};

extern const struct tt_workload tt_workload_stencil;
const struct tt_workload tt_workload_stencil = {
    .name = "stencil",
    .summary = "Jacobi iterations on a 2D or 3D grid with halo exchange",
    .uses = uses,
    .on_device = true,
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_stencil_options),
    .check = stencil_check,
    .estimate = stencil_estimate,
    .computation = &tt_stencil_computation,
    .shown = shown,
    .run = tt_stencil_run,
};
