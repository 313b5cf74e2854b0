/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencil: Jacobi iterations on a regular grid, with halo exchange, and the field written and
 * read now and then. Its parts are in stencil/; run.c holds the loop. */
#include <unistd.h>

#include "engine/engine.h"
#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/stencil/stencil.h"

static const char *const dims_choices[] = {"2", "3", NULL};
static const char *const shape_choices[] = {"star", "box", NULL};
static const char *const perturbation_choices[] = {"none", "sine", NULL};
static const char *const decomposition_choices[] = {"rows", "blocks", NULL};
static const char *const halo_choices[] = {"after", "overlap", NULL};
static const char *const uses[] = {"write", "read", "collective", NULL};

#define AT(member) offsetof(struct tt_stencil_options, member)
static const struct tt_param params[] = {
    {"size", TT_PARAM_COUNT, AT(size), "1024", "points",
     "points of the grid in every direction, boundary included", 3, 1 << 30},
    {"iterations", TT_PARAM_COUNT, AT(iterations), "100", NULL, "number of iterations", 1,
     INT64_MAX},
    {"dims", TT_PARAM_CHOICE, AT(dims), "2", NULL, "dimensions of the grid",
     .choices = dims_choices},
    {"shape", TT_PARAM_CHOICE, AT(shape), "star", NULL,
     "neighbours of a point: star (4, in 3D 6) or box (8, in 3D 26)", .choices = shape_choices},
    {"perturbation", TT_PARAM_CHOICE, AT(perturbation), "none", NULL,
     "source term: none, or a sine evaluated at every point, to load the CPU",
     .choices = perturbation_choices},
    {"work", TT_PARAM_COUNT, AT(work), "0", NULL,
     "extra work per point: so many multiplications and additions; same result", 0, 1000000},
    {"threads", TT_PARAM_COUNT, AT(threads), "1", NULL, "OpenMP threads per rank", 1, 4096},
    {"decomposition", TT_PARAM_CHOICE, AT(decomposition), "rows", NULL,
     "how ranks share the grid: rows (3D: planes), or blocks cut in all directions",
     .choices = decomposition_choices},
    {"halo", TT_PARAM_CHOICE, AT(halo), "after", NULL,
     "exchange with neighbours after the computation, or overlapped with its interior",
     .choices = halo_choices},
    {"variable", TT_PARAM_TEXT, AT(variable), "field", NULL, "name of the variable in the file"},
    {NULL},
};

/* ---- what follows from them, without MPI and before anything runs ---- */

struct tt_problem tt_stencil_problem(const struct tt_stencil_options *o)
{
    static const enum tt_stencil_shape shapes[2][2] = {{TT_STAR2D, TT_BOX2D},
                                                       {TT_STAR3D, TT_BOX3D}};

    return (struct tt_problem){.shape = shapes[o->dims][o->shape],
                               .perturbation = (enum tt_stencil_perturbation)o->perturbation,
                               .size = o->size,
                               .work = o->work};
}

int tt_stencil_partition(const struct tt_stencil_options *o, int ranks, struct tt_partition *p,
                         struct tt_error *e)
{
    int ndims = o->dims + 2;

    return tt_partition_make(p, ndims, o->size, (enum tt_decomposition)o->decomposition, ranks, e);
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

static int stencil_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_stencil_options *o = tt_config_opts(config, "stencil");
    struct tt_partition p;
    int rc;

    if (o->dims == 1 && o->size > 1 << 20)
        return tt_fail(e, TT_USAGE, "--size %llu is too large for 3 dimensions; at most %d",
                       (unsigned long long)o->size, 1 << 20);
    if (!o->variable)
        return tt_fail(e, TT_USAGE, "stencil.variable must not be empty");
#ifndef _OPENMP
    if (o->threads > 1)
        return tt_fail(e, TT_USAGE, "this build has no OpenMP: only --threads 1 works");
#endif
    rc = tt_stencil_partition(o, (int)config->run->ranks, &p, e);
    return rc == TT_OK ? check_reads(config, o->iterations, e) : rc;
}

/* Seconds per point of one thread, from about 0.1 s of sweeps, and not more than the run's, over a
 * grid of the real width but at most 64 MiB; 0 if there is no memory. */
static double measure_point(const struct tt_stencil_options *o, const struct tt_owned *owned,
                            int ranks)
{
    struct tt_problem problem = tt_stencil_problem(o);
    struct tt_partition p = {.ndims = o->dims + 2, .size = o->size, .parts = {1, 1, 1}};
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t bytes = tt_grid_bytes(p.ndims, owned), limit = 64 << 20;
    int slow = 3 - p.ndims;
    struct tt_caches caches = tt_caches_find();
    struct tt_grid f;
    struct tt_box box;
    int64_t start, points = 0;
    uint64_t sweeps = 0;

    if (bytes > limit)
        p.parts[slow] = (int)(o->size / (1 + owned->count[slow] * limit / bytes));
    if (tt_grid_make(&f, &problem, &p, p.parts[slow] / 2, 1, &caches,
                     bytes > limit ? ranks + 1 : ranks, &ignored) != TT_OK)
        return 0;
    box = tt_box_computed(&p, &f.owned);
    start = tt_now_ns();
    do {
        tt_grid_sweep(&f, &box);
        tt_grid_swap(&f);
        points += (box.last[0] - box.first[0]) * (box.last[1] - box.first[1]) *
                  (box.last[2] - box.first[2]);
    } while (++sweeps < o->iterations && tt_now_ns() - start < 100000000);
    tt_grid_free(&f);
    return points > 0 ? tt_seconds(tt_now_ns() - start) / (double)points : 0;
}

static void estimate_files(const struct tt_write_options *w, uint64_t iterations, int ranks,
                           uint64_t field, struct tt_estimate *out)
{
    uint64_t copies = w->pattern.n ? 0 : 1, written;

    for (size_t i = 0; i < w->pattern.n; i++)
        copies = w->pattern.values[i] > copies ? w->pattern.values[i] : copies;
    tt_output_plan(w, iterations, &out->dumps, &written);
    out->bytes_written = written * field;
    if (out->dumps == 0)
        return;
    out->bytes_on_disk = w->series == TT_OVERWRITE ? copies * field : out->bytes_written;
    out->files = w->series == TT_FILE_PER_STEP ? written : copies;
    out->files *= w->files ? (uint64_t)ranks : 1;
}

static int stencil_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    const struct tt_stencil_options *o = tt_config_opts(config, "stencil");
    const struct tt_read_options *r = tt_config_opts(config, "read");
    const struct tt_run_options *run = config->run;
    uint64_t points = 1, reads = r->every ? o->iterations / r->every : 0, mine;
    uint64_t cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), parallel = run->ranks * o->threads;
    struct tt_partition p;
    struct tt_owned owned;
    int rc = tt_stencil_partition(o, (int)run->ranks, &p, e);

    if (rc != TT_OK)
        return rc;
    for (int d = 0; d < p.ndims; d++)
        points *= o->size;
    tt_partition_owned(&p, 0, &owned);
    mine = owned.count[0] * owned.count[1] * owned.count[2] * sizeof(double);
    *out = (struct tt_estimate){.bytes_read = reads * points * sizeof(double),
                                .memory_per_rank = tt_grid_bytes(p.ndims, &owned)};
    if (reads && !r->restart)
        out->memory_per_rank += mine;
    if (run->overlap == TT_OVERLAP_ASYNC)
        out->memory_per_rank += run->inflight * mine;
    estimate_files(tt_config_opts(config, "write"), o->iterations, (int)run->ranks,
                   points * sizeof(double), out);
    out->compute_seconds = measure_point(o, &owned, (int)run->ranks) * (double)points *
                           (double)o->iterations / (double)(parallel < cores ? parallel : cores);
    return TT_OK;
}

static const char *const shown[] = {"size", "iterations", NULL};

extern const struct tt_workload tt_workload_stencil;
const struct tt_workload tt_workload_stencil = {
    .name = "stencil",
    .summary = "Jacobi iterations on a 2D or 3D grid with halo exchange",
    .uses = uses,
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_stencil_options),
    .check = stencil_check,
    .estimate = stencil_estimate,
    .shown = shown,
    .run = tt_stencil_run,
};
