/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two arrays of a block and the sweeps over them. Threads divide the rows of a box among them;
 * inside a thread, tiles are chosen so that what the next row (or plane) needs is still in cache.
 */
#include "workloads/stencil/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <hwloc.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* sysconf() is no help: on virtual machines it reports the whole host's. */
static uint64_t size_of(hwloc_topology_t topology, hwloc_obj_type_t type, uint64_t otherwise)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);

    return cache && cache->attr->cache.size ? cache->attr->cache.size : otherwise;
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

/* Both arrays in one piece; the second is skewed by half a page, or stores to it would be taken for
 * stores to what is loaded next. */
static int allocate(struct tt_grid *g, struct tt_error *e)
{
    size_t skew = (g->layout.total + 511) / 512 * 512 + 256;
    size_t bytes = (skew + g->layout.total) * sizeof(double);
    bool huge = bytes >= 4 * HUGE_PAGE;
    void *memory;

    if (posix_memalign(&memory, huge ? HUGE_PAGE : 4096, bytes))
        return tt_fail_nomem(e, "the fields");
    if (huge)
        madvise(memory, bytes,
                MADV_HUGEPAGE); /* only a hint: any page size gives the same result */
    g->memory = memory;
    g->values[0] = g->memory;
    g->values[1] = g->memory + skew;
    return TT_OK;
}

/* Points are equally far apart in all directions, so a sine over a longer side bends less: what
 * counts is the mean of the squares. For a cube it is the step itself, to the last bit. */
static double mean_step(const struct tt_problem *p)
{
    int ndims = tt_stencil_facts[p->shape].ndims;
    double first = tt_problem_step(p, 2), squares = 0;
    bool cube = true;

    for (int d = 3 - ndims; d < 3; d++) {
        double step = tt_problem_step(p, d);

        cube = cube && p->size[d] == p->size[2];
        squares += step * step;
    }
    return cube ? first : sqrt(squares / ndims);
}

static int tabulate_sines(struct tt_grid *g, struct tt_error *e)
{
    const struct tt_stencil_facts *facts = &tt_stencil_facts[g->problem.shape];
    double h = mean_step(&g->problem);

    if (g->problem.perturbation == TT_PERTURBATION_NONE)
        return TT_OK;
    g->coefficient =
        (double)(g->problem.field + 1) * facts->source * facts->ndims * M_PI * M_PI * h * h;
    for (int d = 0; d < 2; d++) {
        g->sines[d] = malloc(g->owned.count[d] * sizeof(double));
        if (!g->sines[d])
            return tt_fail_nomem(e, "the sines");
        for (uint64_t i = 0; i < g->owned.count[d]; i++)
            g->sines[d][i] = d < 3 - facts->ndims
                                 ? 1.0
                                 : tt_stencil_sine(tt_problem_step(&g->problem, d) *
                                                   (double)(g->owned.start[d] + i));
    }
    return TT_OK;
}

/* Three rows (2D) or the like of three planes (3D), and what is written, in half the cache. */
static void choose_tiles(struct tt_grid *g, const struct tt_caches *caches, int neighbours)
{
    uint64_t fields = 2 * g->layout.total * sizeof(double) * (uint64_t)neighbours;
    uint64_t points = caches->second / 2 / sizeof(double) / 4;
    uint64_t columns = g->owned.count[2];

    if (tt_stencil_facts[g->problem.shape].ndims == 2) {
        g->tile[0] = g->owned.count[1];
        g->tile[1] = points / 64 * 64;
    } else {
        g->tile[1] = points / 8 / 64 * 64;
        g->tile[0] = 8 + points / (columns < g->tile[1] ? columns : g->tile[1]) / 8 * 8;
    }
    g->stream = fields > caches->last;
}

/* out: the owned row's first point, of which only what lies on the boundary is set. */
static void set_boundary_row(const struct tt_grid *g, uint64_t plane, uint64_t row, double *out)
{
    const struct tt_owned *o = &g->owned;
    const uint64_t *n = g->problem.size;
    uint64_t at[3] = {o->start[0] + plane, o->start[1] + row, 0};
    bool whole =
        at[1] == 0 || at[1] == n[1] - 1 ||
        (tt_stencil_facts[g->problem.shape].ndims == 3 && (at[0] == 0 || at[0] == n[0] - 1));

    for (uint64_t j = 0; j < o->count[2]; j++) {
        at[2] = o->start[2] + j;
        if (whole || at[2] == 0 || at[2] == n[2] - 1)
            out[j] = tt_problem_boundary(&g->problem, at);
    }
}

void tt_grid_first_rows(const struct tt_grid *g, uint64_t first, uint64_t n, double *out)
{
    const struct tt_layout *l = &g->layout;

    memset(out, 0, n * l->dims[2] * sizeof(double));
    for (uint64_t r = first; r < first + n; r++, out += l->dims[2]) {
        uint64_t plane = r / l->dims[1] - l->owned[0], row = r % l->dims[1] - l->owned[1];

        if (plane < g->owned.count[0] &&
            row < g->owned.count[1]) /* what lies before wraps around */
            set_boundary_row(g, plane, row, out + l->owned[2]);
    }
}

/* Zeros and the boundary; every thread touches first what it will compute later. */
static void initialise(struct tt_grid *g)
{
    int64_t rows = (int64_t)(g->layout.dims[0] * g->layout.dims[1]);
    size_t pitch = g->layout.dims[2];

#ifdef _OPENMP
#pragma omp parallel for num_threads(g->threads) schedule(static)
#endif
    for (int64_t r = 0; r < rows; r++) {
        size_t length = pitch + (r == rows - 1 ? TT_ROW_ALIGN : 0);

        memset(g->values[0] + (size_t)r * pitch, 0, length * sizeof(double));
        memset(g->values[1] + (size_t)r * pitch, 0, length * sizeof(double));
    }
    for (uint64_t plane = 0; plane < g->owned.count[0]; plane++)
        for (uint64_t row = 0; row < g->owned.count[1]; row++) {
            size_t start =
                g->layout.origin + plane * (size_t)g->layout.plane + row * (size_t)g->layout.row;

            set_boundary_row(g, plane, row, g->values[0] + start);
            set_boundary_row(g, plane, row, g->values[1] + start);
        }
}

static void describe(struct tt_grid *g, const struct tt_problem *problem,
                     const struct tt_partition *p, int rank)
{
    *g = (struct tt_grid){.problem = *problem, .kernels = tt_stencil_kernels(0)};
    tt_partition_owned(p, rank, &g->owned);
    tt_layout_make(&g->layout, p->ndims, &g->owned);
}

int tt_grid_make_on_device(struct tt_grid *g, const struct tt_problem *problem,
                           const struct tt_partition *p, int rank, struct tt_device *device,
                           struct tt_error *e)
{
    int rc;

    describe(g, problem, p, rank);
    rc = tabulate_sines(g, e);
    if (rc == TT_OK)
        rc = tt_grid_to_device(g, device, e);
    if (rc != TT_OK)
        tt_grid_free(g);
    return rc;
}

int tt_grid_make(struct tt_grid *g, const struct tt_problem *problem, const struct tt_partition *p,
                 int rank, int threads, const struct tt_caches *caches, int neighbours,
                 struct tt_error *e)
{
    int rc;

    describe(g, problem, p, rank);
    g->threads = threads;
    choose_tiles(g, caches, neighbours);
    rc = allocate(g, e);
    if (rc == TT_OK)
        rc = tabulate_sines(g, e);
    if (rc == TT_OK)
        initialise(g);
    else
        tt_grid_free(g);
    return rc;
}

void tt_grid_free(struct tt_grid *g)
{
    if (g->device) {
        tt_grid_free_device(g);
    } else {
        free(g->memory);
        free(g->sines[0]);
        free(g->sines[1]);
    }
    *g = (struct tt_grid){0};
}

/* Rows from <= row < to of a plane, columns first <= column < last. */
static void sweep_rows(const struct tt_grid *g, int64_t plane, int64_t from, int64_t to,
                       int64_t first, int64_t last)
{
    ptrdiff_t start = (ptrdiff_t)g->layout.origin + plane * g->layout.plane + from * g->layout.row;
    bool sine = g->problem.perturbation == TT_PERTURBATION_SINE;
    const struct tt_stencil_rows r = {
        .old = g->values[0] + start,
        .new = g->values[1] + start,
        .rows = to - from,
        .row = g->layout.row,
        .plane = g->layout.plane,
        .first = first,
        .last = last,
        .column = (int64_t)g->owned.start[2],
        .h = tt_problem_step(&g->problem, 2),
        .factor = sine ? g->coefficient * g->sines[0][plane] : 0.0,
        .sines = sine ? g->sines[1] + from : NULL,
        .work = g->problem.work,
    };

    g->kernels->rows[g->problem.shape][sine][g->stream](&r);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One thread's share: rows a <= n < b of the box, counted over its planes. */
static void sweep_share(const struct tt_grid *g, const struct tt_box *box, int64_t a, int64_t b)
{
    int64_t rows = box->last[1] - box->first[1];
    int64_t height = (int64_t)g->tile[0], width = (int64_t)g->tile[1];

    for (int64_t c = box->first[2]; c < box->last[2]; c += width)
        for (int64_t r = 0; r < rows; r += height)
            for (int64_t plane = a / rows; plane * rows < b; plane++) {
                int64_t from = r > a - plane * rows ? r : a - plane * rows;
                int64_t to = smaller(smaller(r + height, rows), b - plane * rows);

                sweep_rows(g, box->first[0] + plane, box->first[1] + from, box->first[1] + to, c,
                           smaller(c + width, box->last[2]));
            }
    if (g->stream)
        g->kernels->fence();
}

void tt_grid_sweep(struct tt_grid *g, const struct tt_box *box)
{
    int64_t all = (box->last[0] - box->first[0]) * (box->last[1] - box->first[1]);

    if (tt_box_is_empty(box))
        return;
    if (g->device) {
        tt_grid_sweep_device(g, box);
        return;
    }
#ifdef _OPENMP
    if (g->threads > 1) {
#pragma omp parallel num_threads(g->threads)
        {
            int64_t me = omp_get_thread_num(), n = omp_get_num_threads();

            sweep_share(g, box, all * me / n, all * (me + 1) / n);
        }
        return;
    }
#endif
    sweep_share(g, box, 0, all);
}

void tt_grid_swap(struct tt_grid *g)
{
    double *newest = g->values[1];

    g->values[1] = g->values[0];
    g->values[0] = newest;
}

int tt_grid_finish(struct tt_grid *g, struct tt_error *e)
{
    if (g->device && g->failure.code == TT_OK)
        g->device->type->drain(g->device, TT_STREAM_COMPUTE, &g->failure);
    if (g->failure.code != TT_OK && e->code == TT_OK)
        *e = g->failure;
    return g->failure.code;
}

double tt_grid_difference(struct tt_grid *g, const struct tt_box *box)
{
    const double *a = g->values[0] + g->layout.origin, *b = g->values[1] + g->layout.origin;
    double worst = 0.0;

    if (tt_box_is_empty(box))
        return 0.0;
    if (g->device)
        return tt_grid_difference_device(g, box);
#ifdef _OPENMP
#pragma omp parallel for collapse(2) num_threads(g->threads) reduction(max : worst)
#endif
    for (int64_t plane = box->first[0]; plane < box->last[0]; plane++)
        for (int64_t row = box->first[1]; row < box->last[1]; row++) {
            ptrdiff_t start = plane * g->layout.plane + row * g->layout.row;

            for (int64_t j = box->first[2]; j < box->last[2]; j++)
                worst = fmax(worst, fabs(a[start + j] - b[start + j]));
        }
    return worst;
}
