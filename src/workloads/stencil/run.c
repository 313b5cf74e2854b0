/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does. Order inside an iteration: collective filler, read, halo, computation, write.
 * So the halo is exchanged after a computation and before the next one needs it, also after a
 * restart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "workloads/stencil/stencil.h"

/* Points computed between two looks at MPI: a fraction of a millisecond. */
#define POINTS_PER_TEST 131072

struct solver {
    struct tt_engine *engine;
    const struct tt_stencil_options *options;
    const struct tt_read_options *reading;
    struct tt_partition partition;
    struct tt_grid grid;
    struct tt_halo halo;
    struct tt_box computed, inner, shell[6];
    int nshell;

    struct tt_attribute attributes[2];
    struct tt_variable variable;
    struct tt_output *output;
    struct tt_series *input; /* a file to read that this run did not write */
    double *read_buffer;     /* where reads go that are no restart */
    uint64_t done;           /* iterations */
};

/* ---- preparation ---- */

static int ranks_on_node(MPI_Comm comm)
{
    MPI_Comm node;
    int n = 1;

    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS) {
        MPI_Comm_size(node, &n);
        MPI_Comm_free(&node);
    }
    return n;
}

static void describe_variable(struct solver *s)
{
    const struct tt_write_options *w = tt_config_opts(s->engine->config, "write");
    int ndims = s->partition.ndims;

    s->attributes[0] =
        (struct tt_attribute){.name = "size", .kind = TT_I64, .integer = (int64_t)s->options->size};
    s->attributes[1] =
        (struct tt_attribute){.name = "written_by", .kind = TT_CHAR, .text = "tutti"};
    s->variable = (struct tt_variable){.path = s->options->variable,
                                       .element = &tt_element_f64,
                                       .ndims = ndims,
                                       .per_step = true,
                                       .nattributes = 2,
                                       .attributes = s->attributes};
    for (int d = 0; d < ndims; d++)
        s->variable.dims[d] = w->files ? s->grid.owned.count[3 - ndims + d] : s->options->size;
}

static int allocate(struct solver *s, struct tt_error *e)
{
    struct tt_problem problem = tt_stencil_problem(s->options);
    struct tt_caches caches = tt_caches_find();
    struct tt_engine *engine = s->engine;
    int neighbours = ranks_on_node(engine->comm), rc;

    rc = tt_stencil_partition(s->options, engine->size, &s->partition, e);
    if (rc == TT_OK)
        rc = tt_grid_make(&s->grid, &problem, &s->partition, engine->rank, (int)s->options->threads,
                          &caches, neighbours, e);
    if (rc != TT_OK)
        return rc;
    s->computed = s->inner = tt_box_computed(&s->partition, &s->grid.owned);
    s->nshell = tt_box_shell(&s->partition, &s->grid.owned, &s->inner, s->shell);
    rc = tt_halo_make(&s->halo, engine->comm, &s->partition, &s->grid.owned, &s->grid.layout,
                      tt_stencil_facts[problem.shape].diagonals, e);
    if (rc == TT_OK && s->reading->every && !s->reading->restart) {
        const uint64_t *count = s->grid.owned.count;

        s->read_buffer = malloc(count[0] * count[1] * count[2] * sizeof(double));
        if (!s->read_buffer)
            rc = tt_fail_nomem(e, "the read buffer");
    }
    return rc;
}

/* A file that another run has written. */
static int open_input(struct solver *s, struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(s->engine->config, "write");
    struct tt_series_spec spec = {.access = TT_READ_ONLY,
                                  .policy = TT_OVERWRITE,
                                  .per_process = w->files == 1,
                                  .steps = 1,
                                  .nvariables = 1,
                                  .variables = &s->variable};
    char *path = tt_config_path(s->engine->config, s->reading->path);
    int rc;

    if (!path)
        return tt_fail_nomem(e, "a path");
    spec.path = path;
    rc = tt_series_open(s->engine, &spec, &s->input, e);
    free(path);
    return rc;
}

/* ---- an iteration ---- */

/* The owned points in the file; in memory the inside of the padded array, or a dense buffer. */
static struct tt_block owned_block(struct solver *s, double *dense)
{
    const struct tt_layout *l = &s->grid.layout;
    const struct tt_owned *o = &s->grid.owned;
    int ndims = s->partition.ndims, skip = 3 - ndims;
    bool whole = s->variable.dims[0] == o->count[skip] &&
                 s->variable.dims[1] == o->count[skip + 1] &&
                 (ndims == 2 || s->variable.dims[2] == o->count[2]);
    struct tt_block b = {.variable = 0, .data = dense ? dense : s->grid.values[0]};

    if (whole)
        tt_select_all(&b.file, ndims, s->variable.dims);
    else
        tt_select_slab(&b.file, ndims, s->variable.dims, o->start + skip, NULL, o->count + skip,
                       NULL);
    if (dense)
        tt_select_all(&b.memory, ndims, o->count + skip);
    else
        tt_select_slab(&b.memory, ndims, l->dims + skip, l->owned + skip, NULL, o->count + skip,
                       NULL);
    return b;
}

static int read_field(struct solver *s, uint64_t iteration, struct tt_error *e)
{
    uint64_t step = 1;
    struct tt_series *from;
    struct tt_block block;
    int rc;

    if (s->reading->every == 0 || iteration % s->reading->every)
        return TT_OK;
    from = s->input ? s->input : tt_output_last(s->output, &step);
    if (!from)
        return tt_fail(e, TT_FAILED, "nothing has been written yet that could be read");
    block = owned_block(s, s->read_buffer);
    rc = tt_series_load(from, step, 1, &block, e);
    /* The other array takes it, too, or the boundary would alternate between two fields'. */
    if (rc == TT_OK && s->reading->restart)
        memcpy(s->grid.values[1], s->grid.values[0], s->grid.layout.total * sizeof(double));
    return rc;
}

static void sweep(struct solver *s, const struct tt_box *box)
{
    int64_t t = tt_now_ns();

    tt_grid_sweep(&s->grid, box);
    tt_phase_add(s->engine, TT_COMPUTE, t);
}

/* The interior in slices of its slowest dimension; between them MPI may work. */
static void sweep_interior(struct solver *s)
{
    int d = 3 - s->partition.ndims;
    int64_t across = d == 0 ? s->inner.last[1] - s->inner.first[1] : 1;
    int64_t width = s->inner.last[2] - s->inner.first[2];
    int64_t last = s->inner.last[d], step;
    struct tt_box slice = s->inner;
    bool arrived = false;

    if (tt_box_is_empty(&s->inner))
        return;
    step = 1 + POINTS_PER_TEST * (int64_t)s->options->threads / (across * width);
    for (; slice.first[d] < last; slice.first[d] += step) {
        int64_t t;

        slice.last[d] = slice.first[d] + step < last && !arrived ? slice.first[d] + step : last;
        sweep(s, &slice);
        if (slice.last[d] == last)
            return;
        t = tt_now_ns();
        arrived = tt_halo_test(&s->halo);
        tt_phase_add(s->engine, TT_HALO, t);
    }
}

static int exchange_and_compute(struct solver *s, struct tt_error *e)
{
    bool overlap = s->options->halo == TT_HALO_OVERLAP;
    int64_t t = tt_now_ns();
    int rc = tt_halo_post(&s->halo, s->grid.values[0], e);

    tt_count_communicated(s->engine, s->halo.bytes);
    if (overlap) {
        tt_phase_add(s->engine, TT_HALO, t);
        sweep_interior(s);
        t = tt_now_ns();
    }
    if (rc == TT_OK)
        rc = tt_halo_wait(&s->halo, e);
    tt_call_add(s->engine, TT_HALO, TT_CALL_HALO, t);
    if (rc != TT_OK)
        return rc;
    if (!overlap)
        sweep(s, &s->computed);
    for (int i = 0; overlap && i < s->nshell; i++)
        sweep(s, &s->shell[i]);
    tt_grid_swap(&s->grid);
    return TT_OK;
}

static int iterate(struct solver *s, struct tt_error *e)
{
    for (uint64_t it = 1; it <= s->options->iterations; it++) {
        struct tt_block block;
        int rc = tt_iteration_begin(s->engine, it, s->options->iterations, e);

        if (rc == TT_OK)
            rc = tt_collective_filler(s->engine, it, e);
        if (rc == TT_OK)
            rc = read_field(s, it, e);
        if (rc == TT_OK)
            rc = exchange_and_compute(s, e);
        if (rc == TT_OK) {
            s->done = it;
            block = owned_block(s, NULL);
            rc = tt_output_write(s->output, it, 1, &block, e);
        }
        tt_iteration_end(s->engine);
        if (rc != TT_OK)
            return rc;
    }
    return TT_OK;
}

/* ---- the end ---- */

/* The largest change in the last iteration: both arrays are still there. */
static void find_residual(struct solver *s)
{
    int64_t t = tt_now_ns();
    double mine = tt_grid_difference(&s->grid, &s->computed), all = 0.0;

    tt_phase_add(s->engine, TT_COMPUTE, t);
    t = tt_now_ns();
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, s->engine->comm);
    tt_phase_add(s->engine, TT_COLLECTIVE, t);
    tt_result(s->engine, "residual", TT_RESULT_SAME, all);
}

#define SAMPLES 9

/* numio's sample of the matrix: every ninth of it, and the last row and column. */
static uint64_t sample_place(const struct solver *s, int k)
{
    uint64_t n = s->options->size;

    return k == SAMPLES - 1 ? n - 1 : (2 * (uint64_t)k * n + SAMPLES) / (2 * SAMPLES);
}

static void sample_field(struct solver *s)
{
    const struct tt_owned *o = &s->grid.owned;
    double mine[SAMPLES * SAMPLES] = {0}, all[SAMPLES * SAMPLES];

    if (s->partition.ndims != 2)
        return;
    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        uint64_t row = sample_place(s, k / SAMPLES) - o->start[1];
        uint64_t column = sample_place(s, k % SAMPLES) - o->start[2];

        if (row < o->count[1] && column < o->count[2]) /* what lies before wraps around */
            mine[k] =
                s->grid
                    .values[0][s->grid.layout.origin + row * (uint64_t)s->grid.layout.row + column];
    }
    MPI_Allreduce(mine, all, SAMPLES * SAMPLES, MPI_DOUBLE, MPI_SUM, s->engine->comm);
    tt_result_table(s->engine, "sample", SAMPLES, SAMPLES, all);
}

static void report_work(struct solver *s)
{
    const struct tt_box *b = &s->computed;
    double points = 0.0;

    if (!tt_box_is_empty(b))
        points = (double)(b->last[0] - b->first[0]) * (double)(b->last[1] - b->first[1]) *
                 (double)(b->last[2] - b->first[2]);
    tt_result(s->engine, "updates", TT_RESULT_SUM, points * (double)s->done);
    tt_result(s->engine, "flops", TT_RESULT_SUM,
              points * (double)s->done * tt_problem_flops(&s->grid.problem));
}

static int measured(struct solver *s, struct tt_error *e)
{
    int rc = tt_engine_start(s->engine, e);

    if (rc != TT_OK)
        return rc;
    rc = iterate(s, e);
    if (rc == TT_OK)
        rc = tt_output_drain(s->output, e);
    if (rc == TT_OK)
        find_residual(s);
    report_work(s);
    if (rc == TT_OK)
        rc = tt_engine_stop(s->engine, e);
    if (rc == TT_OK)
        sample_field(s);
    return rc;
}

int tt_stencil_run(struct tt_engine *engine, struct tt_error *e)
{
    struct solver s = {.engine = engine,
                       .options = tt_config_opts(engine->config, "stencil"),
                       .reading = tt_config_opts(engine->config, "read")};
    int rc = tt_agree(engine->comm, allocate(&s, e), e), closed;

    if (rc == TT_OK) {
        describe_variable(&s);
        rc = tt_output_open(engine, "stencil", s.options->iterations, 1, &s.variable, &s.output, e);
    }
    if (rc == TT_OK && s.reading->every && s.reading->path)
        rc = open_input(&s, e);
    if (rc == TT_OK)
        rc = measured(&s, e);
    closed = s.input ? tt_series_close(s.input, e) : TT_OK;
    rc = rc == TT_OK ? closed : rc;
    closed = tt_output_close(s.output, e);
    rc = rc == TT_OK ? closed : rc;
    tt_halo_free(&s.halo);
    tt_grid_free(&s.grid);
    free(s.read_buffer);
    return rc;
}
