/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does. Order inside an iteration: collective filler, read, halo, computation, write.
 * So the halo is exchanged after a computation and before the next one needs it, also after a
 * restart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "base/note.h"
#include "engine/device_move.h"
#include "engine/device_work.h"
#include "engine/engine.h"
#include "plan/workload.h"
#include "record/trace.h"
#include "workloads/stencil/device.h"

/* Points computed between two looks at MPI: a fraction of a millisecond. */
#define POINTS_PER_TEST 131072

/* What is computed; all fields have the same layout. */
struct fields {
    struct tt_partition partition;
    uint64_t n;
    struct tt_grid grids[TT_STENCIL_FIELDS];
    struct tt_box computed;
};

struct solver {
    struct tt_engine *engine;
    const struct tt_stencil_options *options;
    const struct tt_read_options *reading;
    struct fields fields;
    struct tt_halo halos[TT_STENCIL_FIELDS];
    bool direct; /* MPI takes them from a device's memory */
    struct tt_box inner, shell[6];
    int nshell;

    char size[TT_SIZE_TEXT];
    struct tt_attribute attributes[2];
    char *names[TT_STENCIL_FIELDS];
    struct tt_variable variables[TT_STENCIL_FIELDS];
    struct tt_block blocks[TT_STENCIL_FIELDS];
    struct tt_output *output;
    struct tt_series *input; /* a file to read that this run did not write */
    double *read_buffer;     /* where reads go that are no restart */
    uint64_t done;           /* iterations */
    /* On a device: around the sweeps that need no halo and those that do, and their time. */
    struct tt_device_event *clock[4];
    double kernel_seconds;
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

/* Sides that differ are said as text, as --size takes them. */
static void describe_size(struct solver *s)
{
    const struct tt_partition *p = &s->fields.partition;
    const char *text = tt_partition_text(p, s->size);

    if (strchr(text, 'x'))
        s->attributes[0] = (struct tt_attribute){.name = "size", .kind = TT_CHAR, .text = text};
    else
        s->attributes[0] =
            (struct tt_attribute){.name = "size", .kind = TT_I64, .integer = (int64_t)p->size[2]};
}

static int describe_variables(struct solver *s, struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(s->engine->config, "write");
    const struct tt_partition *p = &s->fields.partition;
    int skip = 3 - p->ndims;

    describe_size(s);
    s->attributes[1] =
        (struct tt_attribute){.name = "written_by", .kind = TT_CHAR, .text = "tutti"};
    for (uint64_t f = 0; f < s->fields.n; f++) {
        struct tt_variable *v = &s->variables[f];
        int n = s->fields.n == 1 ? asprintf(&s->names[f], "%s", s->options->variable)
                                 : asprintf(&s->names[f], "%s_%llu", s->options->variable,
                                            (unsigned long long)f + 1);

        if (n < 0) {
            s->names[f] = NULL;
            return tt_fail_nomem(e, "a name");
        }
        *v = (struct tt_variable){.path = s->names[f],
                                  .element = &tt_element_f64,
                                  .ndims = p->ndims,
                                  .per_step = true,
                                  .nattributes = 2,
                                  .attributes = s->attributes};
        for (int d = 0; d < p->ndims; d++)
            v->dims[d] = w->files ? s->fields.grids[0].owned.count[skip + d] : p->size[skip + d];
    }
    return TT_OK;
}

static void free_fields(struct fields *f)
{
    while (f->n > 0)
        tt_grid_free(&f->grids[--f->n]);
}

/* Collective. */
static int make_fields(const struct tt_engine *engine, struct fields *f, struct tt_error *e)
{
    const struct tt_stencil_options *o = tt_config_opts(engine->config, "stencil");
    struct tt_caches caches = tt_caches_find();
    int neighbours = ranks_on_node(engine->comm) * (int)o->fields, rc;

    f->n = 0;
    rc = tt_stencil_partition(o, engine->size, &f->partition, e);
    while (rc == TT_OK && f->n < o->fields) {
        struct tt_problem problem = tt_stencil_problem(o, f->n);

        rc = engine->device ? tt_grid_make_on_device(&f->grids[f->n], &problem, &f->partition,
                                                     engine->rank, engine->device, e)
                            : tt_grid_make(&f->grids[f->n], &problem, &f->partition, engine->rank,
                                           (int)o->threads, &caches, neighbours, e);
        f->n += rc == TT_OK;
    }
    if (rc == TT_OK)
        f->computed = tt_box_computed(&f->partition, &f->grids[0].owned);
    else
        free_fields(f);
    return rc;
}

/* Once, from the same values to the same values until they are swapped. */
static void sweep_fields(struct fields *f, const struct tt_box *box, uint64_t passes)
{
    for (uint64_t i = 0; i < passes; i++)
        for (uint64_t k = 0; k < f->n; k++)
            tt_grid_sweep(&f->grids[k], box);
}

static int make_read_buffer(struct solver *s, struct tt_error *e)
{
    const uint64_t *count = s->fields.grids[0].owned.count;
    size_t bytes = s->fields.n * count[0] * count[1] * count[2] * sizeof(double);
    struct tt_device *d = s->engine->device;
    void *data = NULL;
    int rc = TT_OK;

    if (d)
        rc = d->type->allocate(d, bytes, &data, e);
    else if (!(data = malloc(bytes)))
        rc = tt_fail_nomem(e, "the read buffer");
    s->read_buffer = data;
    return rc;
}

static int allocate(struct solver *s, struct tt_error *e)
{
    struct fields *f = &s->fields;
    const struct tt_grid *g = &f->grids[0];
    int rc = make_fields(s->engine, f, e);

    if (rc != TT_OK)
        return rc;
    s->inner = f->computed;
    s->nshell = tt_box_shell(&f->partition, &g->owned, &s->inner, s->shell);
    for (uint64_t k = 0; k < f->n && rc == TT_OK; k++) {
        rc = tt_halo_make(&s->halos[k], s->engine->comm, &f->partition, &g->owned, &g->layout,
                          tt_stencil_facts[g->problem.shape].diagonals, e);
        if (rc == TT_OK && s->engine->device)
            rc = tt_halo_to_device(&s->halos[k], s->engine->device, s->direct, &g->owned,
                                   &g->layout, e);
    }
    for (int i = 0; rc == TT_OK && s->engine->device && i < 4; i++)
        rc = s->engine->device->type->make_event(s->engine->device, &s->clock[i], e);
    if (rc == TT_OK && s->reading->every && !s->reading->restart)
        rc = make_read_buffer(s, e);
    return rc == TT_OK ? describe_variables(s, e) : rc;
}

/* A file that another run has written. */
static int open_input(struct solver *s, struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(s->engine->config, "write");
    struct tt_series_spec spec = {.access = TT_READ_ONLY,
                                  .policy = TT_OVERWRITE,
                                  .per_process = w->files == 1,
                                  .steps = 1,
                                  .nvariables = (unsigned)s->fields.n,
                                  .variables = s->variables};
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

/* The owned points of all fields in the file; in memory the inside of the padded array, or a dense
 * buffer. */
static void list_blocks(struct solver *s, double *dense)
{
    const struct tt_layout *l = &s->fields.grids[0].layout;
    const struct tt_owned *o = &s->fields.grids[0].owned;
    const uint64_t *dims = s->variables[0].dims;
    int ndims = s->fields.partition.ndims, skip = 3 - ndims;
    bool whole = dims[0] == o->count[skip] && dims[1] == o->count[skip + 1] &&
                 (ndims == 2 || dims[2] == o->count[2]);

    for (uint64_t f = 0; f < s->fields.n; f++) {
        struct tt_block *b = &s->blocks[f];

        *b = (struct tt_block){.variable = (unsigned)f,
                               .data = s->fields.grids[f].values[0],
                               .space = s->engine->device ? TT_IN_DEVICE : TT_IN_HOST};
        if (dense)
            b->data = dense + f * o->count[0] * o->count[1] * o->count[2];
        if (whole)
            tt_select_all(&b->file, ndims, dims);
        else
            tt_select_slab(&b->file, ndims, dims, o->start + skip, NULL, o->count + skip, NULL);
        if (dense)
            tt_select_all(&b->memory, ndims, o->count + skip);
        else
            tt_select_slab(&b->memory, ndims, l->dims + skip, l->owned + skip, NULL,
                           o->count + skip, NULL);
    }
}

static int read_field(struct solver *s, uint64_t iteration, struct tt_error *e)
{
    uint64_t step = 1;
    struct tt_series *from;
    int rc;

    if (s->reading->every == 0 || iteration % s->reading->every)
        return TT_OK;
    from = s->input ? s->input : tt_output_last(s->output, &step);
    if (!from)
        return tt_fail(e, TT_FAILED, "nothing has been written yet that could be read");
    list_blocks(s, s->read_buffer);
    rc = tt_series_load(from, step, (unsigned)s->fields.n, s->blocks, e);
    /* The other array takes it, too, or the boundary would alternate between two fields'. */
    for (uint64_t f = 0; rc == TT_OK && s->reading->restart && f < s->fields.n; f++) {
        struct tt_grid *g = &s->fields.grids[f];

        if (g->device)
            rc = tt_device_copy_bytes(g->device, TT_STREAM_COMPUTE, TT_WITHIN_DEVICE, g->values[1],
                                      g->values[0], g->layout.total * sizeof(double), e);
        else
            memcpy(g->values[1], g->values[0], g->layout.total * sizeof(double));
    }
    return rc;
}

/* The buffers of dumps and loads on a device. */
static int rehearse(struct solver *s, struct tt_error *e)
{
    unsigned n = (unsigned)s->fields.n;
    int rc;

    list_blocks(s, NULL);
    rc = tt_output_rehearse(s->output, TT_WRITING, n, s->blocks, e);
    if (rc != TT_OK || !s->reading->every)
        return rc;
    list_blocks(s, s->read_buffer);
    return s->input ? tt_series_rehearse(s->input, TT_READING, n, s->blocks, e)
                    : tt_output_rehearse(s->output, TT_READING, n, s->blocks, e);
}

/* Returns the clock at its end. */
static int64_t sweep(struct solver *s, const struct tt_box *box, uint64_t passes, int64_t since_ns)
{
    sweep_fields(&s->fields, box, passes);
    return tt_passes_add(s->engine, since_ns);
}

static bool test_halos(struct solver *s)
{
    bool all = true;

    for (uint64_t f = 0; f < s->fields.n; f++)
        all &= tt_halo_test(&s->halos[f]);
    return all;
}

/* The interior in slices of its slowest dimension; between them MPI may work. Only the first pass
 * is sliced: others would find their slice in the cache. Returns the clock at its end. */
static int64_t sweep_interior(struct solver *s, int64_t since_ns)
{
    int d = 3 - s->fields.partition.ndims;
    int64_t across = d == 0 ? s->inner.last[1] - s->inner.first[1] : 1;
    int64_t width = (s->inner.last[2] - s->inner.first[2]) * (int64_t)s->fields.n;
    int64_t last = s->inner.last[d], step;
    struct tt_box slice = s->inner;
    bool arrived = false;

    if (tt_box_is_empty(&s->inner))
        return since_ns;
    step = 1 + POINTS_PER_TEST * (int64_t)s->options->threads / (across * width);
    for (; slice.first[d] < last; slice.first[d] = slice.last[d]) {
        slice.last[d] = slice.first[d] + step < last && !arrived ? slice.first[d] + step : last;
        since_ns = sweep(s, &slice, 1, since_ns);
        if (slice.last[d] == last)
            break;
        arrived = test_halos(s);
        since_ns = tt_phase_add(s->engine, TT_HALO, since_ns);
    }
    if (s->options->compute.count > 1)
        since_ns = sweep(s, &s->inner, s->options->compute.count - 1, since_ns);
    return since_ns;
}

static int post_halos(struct solver *s, struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t f = 0; f < s->fields.n; f++) { /* all of them: neighbours wait */
        int now = tt_halo_post(&s->halos[f], s->fields.grids[f].values[0], e);

        rc = rc == TT_OK ? now : rc;
        tt_count_communicated(s->engine, s->halos[f].bytes);
    }
    return rc;
}

static int wait_for_halos(struct solver *s, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_MESSAGE, 0);
    int rc = TT_OK;

    for (uint64_t f = 0; f < s->fields.n && rc == TT_OK; f++)
        rc = tt_halo_wait(&s->halos[f], e);
    tt_note_end(before);
    return rc;
}

static int exchange_and_compute(struct solver *s, struct tt_error *e)
{
    bool overlap = s->options->halo == TT_HALO_OVERLAP;
    uint64_t passes = s->options->compute.count;
    int64_t t = tt_now_ns();
    int rc = post_halos(s, e);

    if (overlap) {
        t = tt_phase_add(s->engine, TT_HALO, t);
        t = sweep_interior(s, t);
    }
    if (rc == TT_OK)
        rc = wait_for_halos(s, e);
    t = tt_call_add(s->engine, TT_HALO, TT_CALL_HALO, t);
    if (rc != TT_OK)
        return rc;
    if (!overlap)
        sweep(s, &s->fields.computed, passes, t);
    for (int i = 0; overlap && i < s->nshell; i++)
        t = sweep(s, &s->shell[i], passes, t);
    for (uint64_t f = 0; f < s->fields.n; f++)
        tt_grid_swap(&s->fields.grids[f]);
    return TT_OK;
}

static int finish_fields(struct fields *f, struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t k = 0; k < f->n && rc == TT_OK; k++)
        rc = tt_grid_finish(&f->grids[k], e);
    return rc;
}

/* Sweeps between two events of the clock. A launch that failed says why better than what is asked
 * of the device next, which fails, too. */
static int sweep_on_device(struct solver *s, int n, const struct tt_box *boxes,
                           struct tt_device_event **clock, struct tt_error *e)
{
    struct tt_device *d = s->engine->device;
    int rc = d->type->record(d, clock[0], TT_STREAM_COMPUTE, e);

    for (int i = 0; i < n; i++)
        sweep_fields(&s->fields, &boxes[i], s->options->compute.count);
    for (uint64_t k = 0; rc == TT_OK && k < s->fields.n; k++)
        if (s->fields.grids[k].failure.code != TT_OK)
            return tt_grid_finish(&s->fields.grids[k], e);
    return rc == TT_OK ? d->type->record(d, clock[1], TT_STREAM_COMPUTE, e) : rc;
}

/* The last event of the clock happened just before now_ns. */
static int add_kernel_time(struct solver *s, struct tt_device_event **clock, int64_t now_ns,
                           struct tt_error *e)
{
    struct tt_device *d = s->engine->device;
    double seconds = 0, ago = 0;
    int rc = d->type->elapsed(d, clock[0], clock[1], &seconds, e);

    s->kernel_seconds += seconds;
    if (rc != TT_OK || !tt_trace_wants(TT_TRACE_ALL))
        return rc;
    rc = d->type->elapsed(d, clock[1], s->clock[3], &ago, e);
    now_ns -= (int64_t)(1e9 * ago);
    tt_trace_device(TT_TRACK_KERNELS, TT_COMPUTE, now_ns - (int64_t)(1e9 * seconds), now_ns);
    return rc;
}

/* The same on a device, which computes while the host does something else. The interior is queued
 * first, if it does not wait for the halo. All of it has ended when this returns: what computes is
 * measured by the iteration. */
static int exchange_and_compute_on_device(struct solver *s, struct tt_error *e)
{
    bool overlap = s->options->halo == TT_HALO_OVERLAP;
    int64_t t = tt_now_ns(), ended_ns;
    int rc = TT_OK;

    if (overlap)
        rc = sweep_on_device(s, 1, &s->inner, s->clock, e);
    t = tt_passes_add(s->engine, t);
    if (rc == TT_OK)
        rc = post_halos(s, e);
    if (rc == TT_OK)
        rc = wait_for_halos(s, e);
    t = tt_call_add(s->engine, TT_HALO, TT_CALL_HALO, t);
    if (rc == TT_OK)
        rc = overlap ? sweep_on_device(s, s->nshell, s->shell, s->clock + 2, e)
                     : sweep_on_device(s, 1, &s->fields.computed, s->clock + 2, e);
    if (rc == TT_OK)
        rc = finish_fields(&s->fields, e);
    ended_ns = tt_now_ns();
    if (rc == TT_OK)
        rc = add_kernel_time(s, s->clock + 2, ended_ns, e);
    if (rc == TT_OK && overlap)
        rc = add_kernel_time(s, s->clock, ended_ns, e);
    tt_passes_add(s->engine, t);
    for (uint64_t f = 0; f < s->fields.n; f++)
        tt_grid_swap(&s->fields.grids[f]);
    return rc;
}

/* The largest change of any field in this iteration: both arrays are still there. *all is that of
 * all ranks. */
static int find_change(struct solver *s, double *all, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    double mine = 0.0;
    uint64_t before;

    for (uint64_t f = 0; f < s->fields.n; f++) {
        struct tt_grid *g = &s->fields.grids[f];

        mine = fmax(mine, g->finds_residual ? tt_grid_take_residual(g)
                                            : tt_grid_difference(g, &s->fields.computed));
    }
    t = tt_phase_add(s->engine, TT_COMPUTE, t);
    before = tt_note_begin(TT_DOING_MESSAGE, 0);
    MPI_Allreduce(&mine, all, 1, MPI_DOUBLE, MPI_MAX, s->engine->comm);
    tt_note_end(before);
    tt_phase_add(s->engine, TT_COLLECTIVE, t);
    return tt_device_agree(s->engine, finish_fields(&s->fields, e), e);
}

static bool residual_is_due(const struct solver *s, uint64_t iteration)
{
    return s->options->residual > 0 && iteration % s->options->residual == 0;
}

static int iterate(struct solver *s, struct tt_error *e)
{
    double change;

    for (uint64_t it = 1; it <= s->options->iterations; it++) {
        int rc = tt_iteration_begin(s->engine, it, s->options->iterations, e);

        if (rc == TT_OK)
            rc = tt_collective_filler(s->engine, it, e);
        if (rc == TT_OK)
            rc = read_field(s, it, e);
        for (uint64_t f = 0; s->engine->device && residual_is_due(s, it) && f < s->fields.n; f++)
            tt_grid_begin_residual(&s->fields.grids[f]);
        if (rc == TT_OK)
            rc = s->engine->device ? exchange_and_compute_on_device(s, e)
                                   : exchange_and_compute(s, e);
        if (rc == TT_OK && residual_is_due(s, it))
            rc = find_change(s, &change, e);
        if (rc != TT_OK &&
            s->engine->device) /* others wait for this rank's halo, but not for ever */
            rc = tt_agree(s->engine->comm, rc, e);
        if (rc == TT_OK) {
            s->done = it;
            if (tt_output_is_due(s->output, it))
                list_blocks(s, NULL);
            rc = tt_output_write(s->output, it, (unsigned)s->fields.n, s->blocks, e);
        }
        tt_iteration_end(s->engine);
        if (rc != TT_OK)
            return rc;
    }
    return TT_OK;
}

/* ---- the end ---- */

/* That of the last iteration, and how long the kernels of a device took. */
static int report_residual(struct solver *s, struct tt_error *e)
{
    double mine = s->kernel_seconds / (double)(s->done ? s->done : 1), change, slowest;
    int rc = find_change(s, &change, e);

    tt_result(s->engine, "residual", TT_RESULT_SAME, change);
    if (s->engine->device) {
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, s->engine->comm);
        tt_result(s->engine, "kernel_time", TT_RESULT_SAME, slowest);
    }
    return tt_agree(s->engine->comm, rc, e);
}

#define SAMPLES 9

/* numio's sample of the matrix: every ninth of it, and the last row and column. */
static uint64_t sample_place(const struct solver *s, int d, int k)
{
    uint64_t n = s->fields.partition.size[d];

    return k == SAMPLES - 1 ? n - 1 : (2 * (uint64_t)k * n + SAMPLES) / (2 * SAMPLES);
}

static double value_at(const struct tt_grid *g, size_t i)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    double value = NAN;

    if (!g->device)
        return g->values[0][i];
    tt_device_copy_now(g->device, TT_FROM_DEVICE, &value, g->values[0] + i, sizeof value, &ignored);
    return value;
}

static void sample_field(struct solver *s)
{
    const struct tt_grid *g = &s->fields.grids[0];
    const struct tt_owned *o = &g->owned;
    double mine[SAMPLES * SAMPLES] = {0}, all[SAMPLES * SAMPLES];

    if (s->fields.partition.ndims != 2)
        return;
    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        uint64_t row = sample_place(s, 1, k / SAMPLES) - o->start[1];
        uint64_t column = sample_place(s, 2, k % SAMPLES) - o->start[2];

        if (row < o->count[1] && column < o->count[2]) /* what lies before wraps around */
            mine[k] = value_at(g, g->layout.origin + row * (uint64_t)g->layout.row + column);
    }
    MPI_Allreduce(mine, all, SAMPLES * SAMPLES, MPI_DOUBLE, MPI_SUM, s->engine->comm);
    tt_result_table(s->engine, "sample", SAMPLES, SAMPLES, all);
}

static void report_work(struct solver *s)
{
    const struct tt_box *b = &s->fields.computed;
    double passes = (double)(s->done * s->options->compute.count), points = 0.0;

    if (!tt_box_is_empty(b))
        points = (double)(b->last[0] - b->first[0]) * (double)(b->last[1] - b->first[1]) *
                 (double)(b->last[2] - b->first[2]) * (double)s->fields.n;
    tt_result(s->engine, "updates", TT_RESULT_SUM, points * passes);
    tt_result(s->engine, "flops", TT_RESULT_SUM,
              points * passes * tt_problem_flops(&s->fields.grids[0].problem));
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
        rc = report_residual(s, e);
    report_work(s);
    if (rc == TT_OK)
        rc = tt_engine_stop(s->engine, e);
    if (rc == TT_OK)
        sample_field(s);
    return rc;
}

static void release(struct solver *s)
{
    if (s->engine->device)
        tt_device_settle(s->engine->device);
    for (uint64_t f = 0; f < TT_STENCIL_FIELDS; f++) {
        tt_halo_free(&s->halos[f]);
        free(s->names[f]);
    }
    for (int i = 0; i < 4; i++)
        if (s->clock[i])
            s->engine->device->type->free_event(s->engine->device, s->clock[i]);
    if (s->engine->device && s->read_buffer)
        s->engine->device->type->release(s->engine->device, s->read_buffer);
    else
        free(s->read_buffer);
    free_fields(&s->fields);
    free(s);
}

int tt_stencil_run(struct tt_engine *engine, struct tt_error *e)
{
    struct solver *s = calloc(1, sizeof *s);
    int rc = tt_agree(engine->comm, s ? TT_OK : tt_fail_nomem(e, "the solver"), e), closed;

    if (rc != TT_OK) {
        free(s);
        return rc;
    }
    s->engine = engine;
    s->options = tt_config_opts(engine->config, "stencil");
    s->reading = tt_config_opts(engine->config, "read");
    rc = tt_device_gives_halos(engine, &s->direct, e);
    if (rc == TT_OK)
        rc = tt_agree(engine->comm, allocate(s, e), e);
    if (rc == TT_OK)
        rc = tt_output_open(engine, "stencil", s->options->iterations, (unsigned)s->fields.n,
                            s->variables, &s->output, e);
    if (rc == TT_OK && s->reading->every && s->reading->path)
        rc = open_input(s, e);
    if (rc == TT_OK && engine->device)
        rc = tt_agree(engine->comm, rehearse(s, e), e);
    if (rc == TT_OK)
        rc = measured(s, e);
    closed = s->input ? tt_series_close(s->input, e) : TT_OK;
    rc = rc == TT_OK ? closed : rc;
    closed = tt_output_close(s->output, e);
    rc = rc == TT_OK ? closed : rc;
    release(s);
    return rc;
}

/* ---- computation alone ---- */

static int make_computation(const struct tt_engine *engine, void **state, struct tt_error *e)
{
    struct fields *f = *state = calloc(1, sizeof *f);
    int rc = tt_agree(engine->comm, f ? TT_OK : tt_fail_nomem(e, "the fields"), e);

    return rc == TT_OK ? make_fields(engine, f, e) : rc;
}

static void do_passes(void *state, uint64_t n)
{
    struct tt_error ignored = TT_ERROR_CLEAR; /* the run itself would fail, too */
    struct fields *f = state;

    sweep_fields(f, &f->computed, n);
    finish_fields(f, &ignored);
}

static void free_computation(void *state)
{
    if (state)
        free_fields(state);
    free(state);
}

const struct tt_computation tt_stencil_computation = {make_computation, do_passes,
                                                      free_computation};
