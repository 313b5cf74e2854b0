/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/stencil/device.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device_move.h"

extern const char tt_stencil_source[]; /* device.cu */

/* ---- the kernels, by the host ---- */

static void difference(const void *arguments)
{
    const struct tt_sweep *a = arguments;

    for (int64_t plane = a->first[0]; plane < a->last[0]; plane++)
        for (int64_t row = a->first[1]; row < a->last[1]; row++)
            for (int64_t j = a->first[2]; j < a->last[2]; j++) {
                ptrdiff_t at = plane * a->plane + row * a->row + j;

                *a->residual = fmax(*a->residual, fabs(a->new_values[at] - a->old_values[at]));
            }
}

static void sweep_by_host(const struct tt_sweep *a, enum tt_stencil_shape shape, bool sine)
{
    const struct tt_stencil_kernels *kernels = tt_stencil_kernels(0);

    for (int64_t plane = a->first[0]; plane < a->last[0]; plane++) {
        ptrdiff_t start = plane * a->plane + a->first[1] * a->row;
        const struct tt_stencil_rows r = {
            .old = a->old_values + start,
            .new = a->new_values + start,
            .rows = a->last[1] - a->first[1],
            .row = a->row,
            .plane = a->plane,
            .first = a->first[2],
            .last = a->last[2],
            .column = a->column,
            .h = a->h,
            .factor = sine ? a->coefficient * a->sines[0][plane] : 0.0,
            .sines = sine ? a->sines[1] + a->first[1] : NULL,
            .work = a->work,
        };

        kernels->rows[shape][sine][0](&r);
    }
    if (a->residual)
        difference(a);
}

#define BY_HOST(name, shape, sine) \
    static void name(const void *arguments) \
    { \
        sweep_by_host(arguments, shape, sine); \
    }
BY_HOST(sweep_star2d, TT_STAR2D, false)
BY_HOST(sweep_box2d, TT_BOX2D, false)
BY_HOST(sweep_star3d, TT_STAR3D, false)
BY_HOST(sweep_box3d, TT_BOX3D, false)
BY_HOST(sweep_star2d_sine, TT_STAR2D, true)
BY_HOST(sweep_box2d_sine, TT_BOX2D, true)
BY_HOST(sweep_star3d_sine, TT_STAR3D, true)
BY_HOST(sweep_box3d_sine, TT_BOX3D, true)

/* Addresses stand at the beginning of the struct. */
#define KERNEL(function) \
    { \
        .name = #function, .source = tt_stencil_source, .arguments_size = sizeof(struct tt_sweep), \
        .naddresses = 5, .addresses = {0, 8, 16, 24, 32}, .by_host = function \
    }
static const struct tt_kernel sweeps[TT_NSHAPES][2] = {
    [TT_STAR2D] = {KERNEL(sweep_star2d), KERNEL(sweep_star2d_sine)},
    [TT_BOX2D] = {KERNEL(sweep_box2d), KERNEL(sweep_box2d_sine)},
    [TT_STAR3D] = {KERNEL(sweep_star3d), KERNEL(sweep_star3d_sine)},
    [TT_BOX3D] = {KERNEL(sweep_box3d), KERNEL(sweep_box3d_sine)},
};
static const struct tt_kernel differences = KERNEL(difference);

/* ---- how many threads ---- */

/* Any shape gives the right result, since threads stride through the box; these are the fast ones.
 */
enum {
    THIN = 16,   /* columns up to which a thread has a point, and not two columns */
    ROWS_2D = 8, /* of a thread, as in device.cu */
    ROWS_2D_SINE = 4,
    ROWS_STAR3D = 6,
    ROWS_BOX3D = 3,
    THREADS = 128, /* of a block */
    PLANES = 32,   /* of a layer, if there are enough layers then */
    MOST = 65535,  /* blocks in all directions but the first */
};

static unsigned blocks_for(int64_t n, int64_t each)
{
    int64_t blocks = (n + each - 1) / each;

    return blocks < 1 ? 1 : blocks < MOST ? (unsigned)blocks : MOST;
}

/* The smallest power of two that is not less, within limits. */
static unsigned power_for(int64_t n, unsigned least, unsigned most)
{
    unsigned p = least;

    while (p < n && p < most)
        p *= 2;
    return p;
}

/* Enough layers to fill the device several times, but none thinner than 8 planes: each reads two
 * planes more than it computes. */
static unsigned layers_for(int64_t planes, int64_t tiles, unsigned multiprocessors)
{
    int64_t thickness = PLANES;

    while (thickness > 8 && tiles * ((planes + thickness - 1) / thickness) < 16 * multiprocessors)
        thickness /= 2;
    return blocks_for(planes, thickness);
}

static int rows_of_thread(enum tt_stencil_shape shape, bool sine)
{
    if (tt_stencil_facts[shape].ndims == 2)
        return sine ? ROWS_2D_SINE : ROWS_2D;
    return shape == TT_STAR3D ? ROWS_STAR3D : ROWS_BOX3D;
}

static struct tt_kernel_grid shape_of(const struct tt_sweep *a, enum tt_stencil_shape shape,
                                      bool sine, unsigned multiprocessors)
{
    int64_t planes = a->last[0] - a->first[0], rows = a->last[1] - a->first[1];
    int64_t columns = a->last[2] - a->first[2];
    int64_t pairs = (a->last[2] - (a->first[2] & -INT64_C(8)) + 1) / 2;
    int each = rows_of_thread(shape, sine);
    bool in_3d = tt_stencil_facts[shape].ndims == 3;
    struct tt_kernel_grid g = {.block = {0, 0, 1}};

    if (in_3d && rows < each)
        each = 1;
    if (columns <= THIN) {
        g.block[0] = power_for(columns, 1, THIN);
        g.block[1] = THREADS / g.block[0];
        g.grid[0] = 1;
        g.grid[1] = blocks_for(rows, g.block[1]);
        g.grid[2] = blocks_for(planes, 1);
        return g;
    }
    g.block[0] = power_for(pairs, 32, 64);
    g.block[1] = power_for((rows + each - 1) / each, 1, THREADS / g.block[0]);
    g.grid[0] = (unsigned)((pairs + g.block[0] - 1) / g.block[0]);
    g.grid[1] = blocks_for(rows, (int64_t)each * g.block[1]);
    g.grid[2] = in_3d ? layers_for(planes, (int64_t)g.grid[0] * g.grid[1], multiprocessors)
                      : blocks_for(planes, 1);
    return g;
}

/* ---- the arrays ---- */

static int upload(struct tt_device *d, const void *from, size_t bytes, double **out,
                  struct tt_error *e)
{
    void *there = NULL;
    int rc = d->type->allocate(d, bytes, &there, e);

    *out = there;
    return rc == TT_OK ? tt_device_copy_now(d, TT_TO_DEVICE, there, from, bytes, e) : rc;
}

/* A sweep over nothing: its kernel is prepared then. */
static int compile(struct tt_grid *g, struct tt_error *e)
{
    static const struct tt_box nothing;
    double none;

    tt_grid_sweep_device(g, &nothing);
    none = tt_grid_difference_device(g, &nothing);
    (void)none;
    return tt_grid_finish(g, e);
}

/* A few rows of the first values at a time: the host may have less memory than the device. */
static int upload_fields(struct tt_grid *g, struct tt_error *e)
{
    struct tt_device *d = g->device;
    uint64_t pitch = g->layout.dims[2], rows = g->layout.dims[0] * g->layout.dims[1];
    uint64_t most = 1 + (TT_GRID_PIECE - 1) / (pitch * sizeof(double)), n;
    double *piece = malloc((most < rows ? most : rows) * pitch * sizeof(double));
    int rc = piece ? TT_OK : tt_fail_nomem(e, "the fields");

    for (uint64_t first = 0; rc == TT_OK && first < rows; first += n) {
        n = rows - first < most ? rows - first : most;
        tt_grid_first_rows(g, first, n, piece);
        for (int i = 0; rc == TT_OK && i < 2; i++)
            rc = tt_device_copy_bytes(d, TT_STREAM_COMPUTE, TT_TO_DEVICE,
                                      g->values[i] + first * pitch, piece,
                                      n * pitch * sizeof(double), e);
        if (rc == TT_OK)
            rc = d->type->drain(d, TT_STREAM_COMPUTE, e);
    }
    free(piece);
    return rc;
}

static int allocate_fields(struct tt_grid *g, struct tt_error *e)
{
    struct tt_device *d = g->device;
    size_t bytes = g->layout.total * sizeof(double);
    int rc = TT_OK;

    for (int i = 0; rc == TT_OK && i < 2; i++) {
        void *values = NULL;

        rc = tt_device_allocate_zeros(d, bytes, &values, e); /* also behind the last row */
        g->values[i] = values;
    }
    return rc;
}

int tt_grid_to_device(struct tt_grid *g, struct tt_device *d, struct tt_error *e)
{
    double *sines[2] = {g->sines[0], g->sines[1]};
    static const double zero;
    int rc;

    g->device = d;
    g->sines[0] = g->sines[1] = NULL;
    tt_error_clear(&g->failure);
    rc = allocate_fields(g, e);
    if (rc == TT_OK)
        rc = upload_fields(g, e);
    for (int i = 0; i < 2; i++) {
        if (rc == TT_OK && sines[i])
            rc = upload(d, sines[i], g->owned.count[i] * sizeof(double), &g->sines[i], e);
        free(sines[i]);
    }
    if (rc == TT_OK)
        rc = upload(d, &zero, sizeof zero, &g->residual, e);
    return rc == TT_OK ? compile(g, e) : rc;
}

void tt_grid_free_device(struct tt_grid *g)
{
    struct tt_device *d = g->device;
    double *all[] = {g->values[0], g->values[1], g->sines[0], g->sines[1], g->residual};

    tt_device_settle(d);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            d->type->release(d, all[i]);
}

static struct tt_sweep arguments_of(const struct tt_grid *g, const struct tt_box *box)
{
    struct tt_sweep a = {.old_values = g->values[0] + g->layout.origin,
                         .new_values = g->values[1] + g->layout.origin,
                         .sines = {g->sines[0], g->sines[1]},
                         .row = g->layout.row,
                         .plane = g->layout.plane,
                         .column = (int64_t)g->owned.start[2],
                         .h = tt_problem_step(&g->problem, 2),
                         .coefficient = g->coefficient,
                         .work = g->problem.work};

    memcpy(a.first, box->first, sizeof a.first);
    memcpy(a.last, box->last, sizeof a.last);
    return a;
}

static void launch(struct tt_grid *g, const struct tt_kernel *kernel, const struct tt_sweep *a)
{
    struct tt_device *d = g->device;
    bool sine = g->problem.perturbation == TT_PERTURBATION_SINE;
    struct tt_kernel_grid how = shape_of(a, g->problem.shape, sine, d->multiprocessors);

    if (kernel == &differences) { /* it goes through the rows of all planes, four at a time */
        how.grid[1] = blocks_for((a->last[0] - a->first[0]) * (a->last[1] - a->first[1]),
                                 4 * (int64_t)how.block[1]);
        how.grid[2] = 1;
    }
    if (g->failure.code == TT_OK)
        d->type->launch(d, TT_STREAM_COMPUTE, kernel, &how, a, &g->failure);
}

void tt_grid_sweep_device(struct tt_grid *g, const struct tt_box *box)
{
    bool sine = g->problem.perturbation == TT_PERTURBATION_SINE;
    struct tt_sweep a = arguments_of(g, box);

    if (g->finds_residual)
        a.residual = g->residual;
    launch(g, &sweeps[g->problem.shape][sine], &a);
}

void tt_grid_begin_residual(struct tt_grid *g)
{
    struct tt_device *d = g->device;

    g->finds_residual = true;
    if (g->failure.code == TT_OK)
        d->type->clear(d, TT_STREAM_COMPUTE, g->residual, sizeof *g->residual, &g->failure);
}

double tt_grid_take_residual(struct tt_grid *g)
{
    double worst = 0.0;

    g->finds_residual = false;
    if (g->failure.code == TT_OK)
        tt_device_copy_now(g->device, TT_FROM_DEVICE, &worst, g->residual, sizeof worst,
                           &g->failure);
    return worst;
}

double tt_grid_difference_device(struct tt_grid *g, const struct tt_box *box)
{
    struct tt_sweep a = arguments_of(g, box);

    tt_grid_begin_residual(g);
    a.residual = g->residual;
    launch(g, &differences, &a);
    return tt_grid_take_residual(g);
}

/* ---- halos ---- */

struct tt_halo_staging {
    struct tt_device *device;
    struct tt_block sides[2][TT_MAX_NEIGHBOURS]; /* owned points next to a neighbour; its own */
    size_t at[TT_MAX_NEIGHBOURS];                /* points of the neighbours before it */
    size_t points;
    double *dense, *pinned; /* twice as many: sent, received; no pinned ones: direct */
    struct tt_device_event *delivered;
};

/* As make_type() of halo.c has it. */
static void select_side(struct tt_block *b, const struct tt_owned *o, const struct tt_layout *l,
                        const int direction[3], bool halo)
{
    uint64_t start[3], count[3];

    for (int d = 0; d < 3; d++) {
        count[d] = direction[d] ? 1 : o->count[d];
        start[d] = l->owned[d];
        if (direction[d] > 0)
            start[d] += o->count[d] - 1 + halo;
        else if (direction[d] < 0)
            start[d] -= halo;
    }
    *b = (struct tt_block){.space = TT_IN_DEVICE};
    tt_select_slab(&b->memory, 3, l->dims, start, NULL, count, NULL);
}

int tt_halo_to_device(struct tt_halo *h, struct tt_device *d, bool direct, const struct tt_owned *o,
                      const struct tt_layout *l, struct tt_error *e)
{
    struct tt_halo_staging *s = h->staging = calloc(1, sizeof *s);
    void *dense = NULL, *pinned = NULL;
    size_t bytes;
    int rc;

    if (!s)
        return tt_fail_nomem(e, "the halos");
    s->device = d;
    for (int i = 0; i < h->n; i++) {
        int tag = h->neighbours[i].send_tag;
        const int direction[3] = {tag / 9 - 1, tag / 3 % 3 - 1, tag % 3 - 1};

        if (h->neighbours[i].points > INT_MAX)
            return tt_fail(
                e, TT_UNSUPPORTED,
                "a halo of %llu points: MPI takes at most %d at once: use more ranks, or "
                "decomposition=blocks",
                (unsigned long long)h->neighbours[i].points, INT_MAX);
        select_side(&s->sides[0][i], o, l, direction, false);
        select_side(&s->sides[1][i], o, l, direction, true);
        s->at[i] = s->points;
        s->points += h->neighbours[i].points;
    }
    bytes = 2 * s->points * sizeof(double);
    rc = d->type->allocate(d, bytes, &dense, e);
    if (rc == TT_OK && !direct)
        rc = d->type->pin(d, bytes, &pinned, e);
    if (rc == TT_OK)
        rc = d->type->make_event(d, &s->delivered, e);
    s->dense = dense;
    s->pinned = pinned;
    return rc;
}

void tt_halo_free_device(struct tt_halo *h)
{
    struct tt_halo_staging *s = h->staging;

    if (!s)
        return;
    tt_device_settle(s->device);
    if (s->dense)
        s->device->type->release(s->device, s->dense);
    if (s->pinned)
        s->device->type->unpin(s->device, s->pinned);
    if (s->delivered)
        s->device->type->free_event(s->device, s->delivered);
    free(s);
    h->staging = NULL;
}

double *tt_halo_buffer(const struct tt_halo *h, int neighbour, bool received)
{
    const struct tt_halo_staging *s = h->staging;

    return (s->pinned ? s->pinned : s->dense) + (received ? s->points : 0) + s->at[neighbour];
}

int tt_halo_fetch(struct tt_halo *h, double *values, struct tt_error *e)
{
    struct tt_halo_staging *s = h->staging;
    struct tt_device *d = s->device;
    int rc = TT_OK;

    for (int i = 0; rc == TT_OK && i < h->n; i++) {
        s->sides[0][i].data = s->sides[1][i].data = values;
        rc = tt_device_gather(d, TT_STREAM_HALO, &s->sides[0][i], sizeof(double), TT_WITHIN_DEVICE,
                              s->dense + s->at[i], NULL, e);
    }
    if (rc == TT_OK && s->pinned && s->points > 0)
        rc = tt_device_copy_bytes(d, TT_STREAM_HALO, TT_FROM_DEVICE, s->pinned, s->dense,
                                  s->points * sizeof(double), e);
    return rc == TT_OK ? d->type->drain(d, TT_STREAM_HALO, e) : rc;
}

int tt_halo_deliver(struct tt_halo *h, struct tt_error *e)
{
    struct tt_halo_staging *s = h->staging;
    struct tt_device *d = s->device;
    double *dense = s->dense + s->points;
    int rc = TT_OK;

    if (s->points == 0)
        return TT_OK;
    if (s->pinned)
        rc = tt_device_copy_bytes(d, TT_STREAM_HALO, TT_TO_DEVICE, dense, s->pinned + s->points,
                                  s->points * sizeof(double), e);
    for (int i = 0; rc == TT_OK && i < h->n; i++)
        rc = tt_device_scatter(d, TT_STREAM_HALO, &s->sides[1][i], sizeof(double), TT_WITHIN_DEVICE,
                               dense + s->at[i], NULL, e);
    if (rc == TT_OK)
        rc = d->type->record(d, s->delivered, TT_STREAM_HALO, e);
    return rc == TT_OK ? d->type->follow(d, TT_STREAM_COMPUTE, s->delivered, e) : rc;
}
