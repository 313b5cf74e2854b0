/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: a step, computation, the next step; written, read, or first the one and then
 * the other. Checking comes after the measured time. With a device all particles are in its memory,
 * and whoever looks at them or changes them is a kernel there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/content.h"
#include "engine/device_move.h"
#include "engine/device_work.h"
#include "engine/engine.h"
#include "workloads/particles/particles.h"

#define POISON 0xa5

struct cloud {
    struct tt_engine *engine;
    const struct tt_particles_options *options;
    uint64_t *rows; /* of every rank */
    struct tt_particles_content content;
    struct tt_particles_shape written, read;
    unsigned nvariables;
    struct tt_variable variables[TT_PARTICLE_FIELDS];
    struct tt_block blocks[TT_PARTICLE_FIELDS];
    struct tt_write_options rules;
    /* What is computed on, here or on the device; neither: nothing is. */
    struct tt_particles_work *work;
    struct tt_device_work push;
    char *path;
    /* What transfers go from or to; the second while a step is read ahead. */
    void *buffers[2];
    int buffer_layout;
    void *own; /* the application's data where it has another layout than the buffers; else NULL */
    void *found; /* on a device: what a check has found */
    struct tt_output *output;
    struct tt_series *series;
    uint64_t iteration, iterations;
    struct tt_tally writing, reading; /* as h5bench defines its times */
};

/* ---- preparation ---- */

static bool writes(const struct cloud *c)
{
    return c->options->phase != TT_PARTICLES_READ;
}

static bool reads(const struct cloud *c)
{
    int phase = c->options->phase;

    return (phase == TT_PARTICLES_READ || phase == TT_PARTICLES_BOTH) &&
           (tt_stack_caps(&c->engine->config->stack) & TT_CAP_STORES);
}

static void describe_variables(struct cloud *c)
{
    const struct tt_particles_options *o = c->options;
    bool records = o->file == TT_PARTICLES_RECORDS;
    struct tt_variable v = {.path = "particles",
                            .element = &tt_particle_element,
                            .ndims = c->written.ndims,
                            .per_step = true,
                            .unlimited =
                                o->unlimited || o->appended > 0 || o->phase == TT_PARTICLES_APPEND,
                            .max_blocks = 1};

    memcpy(v.dims, c->written.dims, sizeof v.dims);
    if (records && c->buffer_layout == TT_PARTICLES_ARRAYS)
        v.max_blocks = TT_PARTICLE_FIELDS; /* a property at a time, by the library */
    c->nvariables = records ? 1 : TT_PARTICLE_FIELDS;
    for (unsigned i = 0; i < c->nvariables; i++) {
        c->variables[i] = v;
        if (!records) {
            c->variables[i].path = tt_particle_properties[i].name;
            c->variables[i].element = tt_particle_properties[i].plain;
        }
    }
}

/* Rank 0's numbers hold: logarithms may differ from one machine to another. */
static int share_rows(struct cloud *c, struct tt_error *e)
{
    int size = c->engine->size, rc;

    c->rows = calloc((size_t)size, sizeof *c->rows);
    rc = tt_agree(c->engine->comm, c->rows ? TT_OK : tt_fail_nomem(e, "the rows of ranks"), e);
    if (rc != TT_OK)
        return rc;
    for (int r = 0; r < size; r++)
        c->rows[r] = tt_particles_rows(c->options, c->engine->config->run->seed, (uint64_t)r);
    MPI_Bcast(c->rows, size, MPI_UINT64_T, 0, c->engine->comm);
    return TT_OK;
}

/* A rank's own file has h5bench's name for it, in the directory of the shared one. */
static char *file_path(const struct cloud *c)
{
    char *shared = tt_data_path_of(c->engine, c->options->path, "particles"), *own = NULL;
    const char *slash = shared ? strrchr(shared, '/') : NULL, *name = slash ? slash + 1 : shared;

    if (c->options->files == 0 || !shared)
        return shared;
    if (asprintf(&own, "%.*srank_%d_%s", (int)(name - shared), shared, c->engine->rank, name) < 0)
        own = NULL;
    free(shared);
    return own;
}

/* Of the device, if there is one. */
static int take_memory(struct cloud *c, uint64_t bytes, void **out, struct tt_error *e)
{
    struct tt_device *d = c->engine->device;

    if (d)
        return tt_device_allocate_zeros(d, bytes, out, e);
    *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *out ? TT_OK : tt_fail_nomem(e, "the particles");
}

static int fill(struct cloud *c, uint64_t step, bool stamps_only, struct tt_error *e)
{
    void *data = c->own ? c->own : c->buffers[0];

    if (c->engine->device)
        return tt_particles_fill_on(c->engine->device, &c->content, &c->written, c->options->memory,
                                    data, step, stamps_only, e);
    tt_particles_fill(&c->content, &c->written, c->options->memory, data, step, stamps_only);
    return TT_OK;
}

static int make_shapes(struct cloud *c, struct tt_error *e)
{
    int rank = c->engine->rank, size = c->engine->size;
    int rc = tt_particles_shape_make(&c->written, c->options, c->rows, rank, size, false, e);

    if (rc == TT_OK)
        rc = tt_particles_shape_make(&c->read, c->options, c->rows, rank, size, true, e);
    if (rc == TT_OK && c->engine->device && reads(c)) {
        rc = tt_particles_shape_to_device(&c->read, c->engine->device, e);
        if (rc == TT_OK)
            rc = take_memory(c, sizeof(uint64_t), &c->found, e);
    }
    return rc;
}

static int allocate(struct cloud *c, struct tt_error *e)
{
    const struct tt_particles_options *o = c->options;
    bool repacks = o->memory != o->file && o->conversion == TT_PARTICLES_ENGINE;
    uint64_t most;
    int rc = make_shapes(c, e);

    if (rc == TT_OK && c->engine->device)
        rc = tt_particles_prepare_on(c->engine->device, e);
    if (rc != TT_OK)
        return rc;
    most = c->written.count > c->read.count || !reads(c) ? c->written.count : c->read.count;
    most = (most + 1) * sizeof(struct tt_particle);
    c->buffer_layout = repacks ? o->file : o->memory;
    c->path = file_path(c);
    rc = c->path ? take_memory(c, most, &c->buffers[0], e) : tt_fail_nomem(e, "a path");
    if (rc == TT_OK && o->prefetch)
        rc = take_memory(c, most, &c->buffers[1], e);
    if (rc == TT_OK && repacks)
        rc = take_memory(c, most, &c->own, e);
    if (rc != TT_OK)
        return rc;
    if (!c->engine->device)
        memset(c->buffers[0], POISON, most); /* the first step is not to pay for new pages */
    c->rules = (struct tt_write_options){.every = 1};
    c->content = (struct tt_particles_content){.seed = c->engine->config->run->seed,
                                               .rows = c->written.rows,
                                               .row = c->written.row,
                                               .loss = tt_stack_loss(&c->engine->config->stack)};
    describe_variables(c);
    if (writes(c))
        rc = fill(c, 0, false, e);
    if (rc != TT_OK || o->compute.count == 0)
        return rc;
    if (c->engine->device)
        return tt_particles_push_make(c->engine->device, c->content.seed, &c->push, e);
    c->work = tt_particles_work_make(c->content.seed);
    return c->work ? TT_OK : tt_fail_nomem(e, "the particles to compute on");
}

static struct tt_series_spec spec_of(const struct cloud *c, enum tt_access access)
{
    return (struct tt_series_spec){.path = c->path,
                                   .access = access,
                                   .policy = TT_GROUP,
                                   .per_process = c->options->files == 1,
                                   .own_path = c->options->files == 1,
                                   .steps = c->options->steps,
                                   .nvariables = c->nvariables,
                                   .variables = c->variables,
                                   .step_group = "Timestep_"};
}

/* The blocks of one step: as many as variables or, where the library converts, as properties. */
static unsigned list_blocks(struct cloud *c, const struct tt_particles_shape *s, void *buffer)
{
    bool records = c->options->file == TT_PARTICLES_RECORDS;
    bool packed = c->buffer_layout == TT_PARTICLES_RECORDS;
    unsigned n = records && packed ? 1 : TT_PARTICLE_FIELDS;

    for (unsigned i = 0; i < n; i++) {
        struct tt_block *b = &c->blocks[i];

        *b = (struct tt_block){.variable = records ? 0 : i,
                               .file = s->file,
                               .data = buffer,
                               .space = c->engine->device ? TT_IN_DEVICE : TT_IN_HOST};
        tt_select_all(&b->memory, 1, &s->count);
        if (!packed)
            b->data = (char *)buffer + i * s->count * sizeof(float);
        if (packed && !records)
            b->memory_element = &tt_particle_element;
        else if (!packed && records)
            b->memory_element = &tt_particle_properties[i].record;
    }
    return n;
}

/* Buffers between the device and storage are made before they are needed. */
static int open_to_write(struct cloud *c, struct tt_error *e)
{
    bool update =
        c->options->phase == TT_PARTICLES_OVERWRITE || c->options->phase == TT_PARTICLES_APPEND;
    struct tt_series_spec spec = spec_of(c, update ? TT_UPDATE : TT_CREATE);
    unsigned n = list_blocks(c, &c->written, c->buffers[0]);
    int rc = tt_output_open_as(c->engine, &c->rules, &spec, c->options->steps, &c->output, e);

    if (rc == TT_OK && c->engine->device)
        rc = tt_agree(c->engine->comm, tt_output_rehearse(c->output, TT_WRITING, n, c->blocks, e),
                      e);
    return rc;
}

static int open_to_read(struct cloud *c, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(c, TT_READ_ONLY);
    unsigned n = list_blocks(c, &c->read, c->buffers[0]);
    int rc = tt_series_open(c->engine, &spec, &c->series, e);

    if (rc == TT_OK && c->engine->device)
        rc = tt_agree(c->engine->comm, tt_series_rehearse(c->series, TT_READING, n, c->blocks, e),
                      e);
    return rc;
}

/* ---- steps ---- */

static int compute(struct cloud *c, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = TT_OK;

    if (!c->work && !c->push.device && !(c->options->pause > 0))
        return TT_OK;
    if (c->work || c->push.device) {
        if (c->push.device)
            rc = tt_particles_push_do(&c->push, c->options->compute.count, e);
        else
            tt_particles_work_do(c->work, c->options->compute.count);
        tt_passes_add(c->engine, t);
        t = tt_now_ns();
    }
    if (c->options->pause > 0)
        tt_sleep_until(t + (int64_t)(c->options->pause * 1e9));
    tt_phase_add(c->engine, TT_COMPUTE, t);
    return rc;
}

/* Between the application's layout and the file's, if that is ours to do. */
static int repack(struct cloud *c, const struct tt_particles_shape *s, void *buffer, bool back,
                  struct tt_error *e)
{
    bool to_arrays = (c->options->memory == TT_PARTICLES_RECORDS) != back;
    void *from = back ? buffer : c->own, *to = back ? c->own : buffer;

    if (!c->own)
        return TT_OK;
    if (c->engine->device)
        return tt_particles_repack_on(c->engine->device, to_arrays, to_arrays ? from : to,
                                      to_arrays ? to : from, s->count, e);
    if (to_arrays)
        tt_particles_to_arrays(from, s->count, to);
    else
        tt_particles_to_records(from, s->count, to);
    return TT_OK;
}

/* Dumps in flight before the next one may come: the memory limit counts it, too. */
static int respect_memory_limit(struct cloud *c, struct tt_error *e)
{
    uint64_t fit = c->options->memory_limit / (c->written.most * sizeof(struct tt_particle)), step;
    struct tt_series *series = tt_output_last(c->output, &step);

    if (!series || c->options->memory_limit == 0 || fit > UINT32_MAX)
        return TT_OK;
    return tt_series_complete(series, fit > 1 ? (unsigned)fit - 1 : 0, e);
}

static int write_step(struct cloud *c, uint64_t step, struct tt_error *e)
{
    int64_t t;
    unsigned n;
    int rc = step > 0 ? compute(c, e) : TT_OK;

    t = tt_now_ns();
    if (rc == TT_OK)
        rc = fill(c, step, true, e);
    t = tt_phase_add(c->engine, TT_COMPUTE, t);
    if (rc == TT_OK)
        rc = repack(c, &c->written, c->buffers[0], false, e);
    tt_phase_add(c->engine, TT_COPY, t);
    rc = tt_device_agree(c->engine, rc, e);
    if (rc == TT_OK)
        rc = respect_memory_limit(c, e);
    n = list_blocks(c, &c->written, c->buffers[0]);
    return rc == TT_OK ? tt_output_write(c->output, step + 1, n, c->blocks, e) : rc;
}

static int read_step(struct cloud *c, uint64_t step, struct tt_error *e)
{
    bool ahead = c->options->prefetch, last = step + 1 == c->options->steps;
    void *buffer = c->buffers[ahead ? step % 2 : 0];
    unsigned n = list_blocks(c, &c->read, buffer);
    int rc = tt_series_load(c->series, step, n, c->blocks, e);
    int64_t t;

    if (rc == TT_OK && ahead && !last) {
        n = list_blocks(c, &c->read, c->buffers[(step + 1) % 2]);
        rc = tt_series_prefetch(c->series, step + 1, n, c->blocks, e);
    }
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    rc = repack(c, &c->read, buffer, true, e);
    tt_phase_add(c->engine, TT_COPY, t);
    if (rc == TT_OK && !last)
        rc = compute(c, e);
    return tt_device_agree(c->engine, rc, e);
}

static int each_step(struct cloud *c, int (*act)(struct cloud *, uint64_t, struct tt_error *),
                     struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t step = 0; rc == TT_OK && step < c->options->steps; step++) {
        rc = tt_iteration_begin(c->engine, ++c->iteration, c->iterations, e);
        if (rc == TT_OK)
            rc = act(c, step, e);
        tt_iteration_end(c->engine);
    }
    return rc;
}

/* ---- checking ---- */

/* What an earlier step left in the buffer would look right. */
static int spoil(struct cloud *c, struct tt_error *e)
{
    const struct tt_content nonsense = {.signature = ~c->content.seed};
    uint64_t bytes = c->read.count * sizeof(struct tt_particle);

    if (!c->engine->device)
        memset(c->buffers[0], POISON, bytes);
    else if (bytes > 0)
        return tt_content_fill_on(c->engine->device, &nonsense, 0, 0, c->buffers[0], bytes, e);
    return TT_OK;
}

static int check(struct cloud *c, uint64_t step, struct tt_error *e)
{
    const void *data = c->own ? c->own : c->buffers[0];
    bool right = true;
    unsigned property;
    uint64_t index;
    int rc = TT_OK;

    if (c->engine->device)
        rc = tt_particles_check_on(c->engine->device, &c->content, &c->read, c->options->memory,
                                   data, step, c->found, &right, &index, &property, e);
    else
        right = tt_particles_check(&c->content, &c->read, c->options->memory, data, step, &index,
                                   &property);
    if (rc != TT_OK || right)
        return rc;
    return tt_fail(
        e, TT_CORRUPT, "step %llu, particle %llu: %s is not what was written with this seed",
        (unsigned long long)step, (unsigned long long)index, tt_particle_properties[property].name);
}

static int check_step(struct cloud *c, uint64_t step, struct tt_error *e)
{
    unsigned n = list_blocks(c, &c->read, c->buffers[0]);
    int rc = tt_agree(c->engine->comm, spoil(c, e), e);

    if (rc == TT_OK)
        rc = tt_series_load(c->series, step, n, c->blocks, e);
    if (rc != TT_OK)
        return rc;
    rc = repack(c, &c->read, c->buffers[0], true, e);
    if (rc == TT_OK)
        rc = check(c, step, e);
    return tt_agree(c->engine->comm, rc, e);
}

/* ---- phases ---- */

static int close_output(struct cloud *c, struct tt_error *e)
{
    int rc = tt_output_close(c->output, e);

    c->output = NULL;
    return rc;
}

static int close_series(struct cloud *c, struct tt_error *e)
{
    return tt_series_close(c->series, e);
}

static int write_all(struct cloud *c, struct tt_error *e)
{
    int rc = each_step(c, write_step, e);

    return rc == TT_OK ? tt_output_drain(c->output, e) : rc;
}

static int read_all(struct cloud *c, struct tt_error *e)
{
    return each_step(c, read_step, e);
}

static int tallied(struct cloud *c, struct tt_tally *t,
                   int (*act)(struct cloud *, struct tt_error *), struct tt_error *e)
{
    int rc;

    tt_tally_begin(c->engine, t);
    rc = act(c, e);
    tt_tally_end(c->engine, t);
    return rc;
}

static int measured(struct cloud *c, struct tt_error *e)
{
    int rc = tt_engine_start(c->engine, e);

    c->iterations = c->options->steps * ((uint64_t)writes(c) + reads(c));
    if (rc == TT_OK && writes(c))
        rc = tallied(c, &c->writing, write_all, e);
    if (rc == TT_OK && writes(c) && reads(c)) {
        rc = tallied(c, &c->writing, close_output, e);
        if (rc == TT_OK)
            rc = open_to_read(c, e);
    }
    if (rc == TT_OK && reads(c))
        rc = tallied(c, &c->reading, read_all, e);
    return rc == TT_OK ? tt_engine_stop(c->engine, e) : rc;
}

static int prepare(struct cloud *c, struct tt_error *e)
{
    int rc = share_rows(c, e);

    if (rc == TT_OK)
        rc = tt_agree(c->engine->comm, allocate(c, e), e);
    if (rc == TT_OK)
        rc = writes(c) ? tallied(c, &c->writing, open_to_write, e) : open_to_read(c, e);
    return rc;
}

/* ---- the end ---- */

/* Without overlap the write that the caller makes has the making of groups and variables in it. */
static void add_row(double *row, const struct tt_tally *t, bool overlaps)
{
    double calls = t->spent[TT_COPY] + t->spent[TT_SUBMIT] + t->spent[TT_WAIT] + t->spent[TT_LOAD];

    row[TT_PARTICLES_RAW] = overlaps ? calls : calls - t->spent[TT_IO_DEFINE];
    row[TT_PARTICLES_METADATA] = t->spent[TT_IO_DEFINE];
    row[TT_PARTICLES_OBSERVED] = t->observed;
    row[TT_PARTICLES_COMPUTATION] = t->spent[TT_COMPUTE];
    row[TT_PARTICLES_OPENING] = t->spent[TT_OPEN];
    row[TT_PARTICLES_SYNCING] = t->spent[TT_SYNC];
    row[TT_PARTICLES_CLOSING] = t->spent[TT_CLOSE];
}

static void report_times(const struct tt_tally *written, const struct tt_tally *read,
                         struct tt_engine *engine)
{
    bool overlaps = engine->config->run->overlap != TT_OVERLAP_NONE;
    double table[2 * TT_PARTICLES_NTIMES];

    add_row(table, written, overlaps);
    add_row(table + TT_PARTICLES_NTIMES, read, overlaps);
    tt_result_table(engine, "h5bench", 2, TT_PARTICLES_NTIMES, table);
}

static void report_ranks(const uint64_t *rows, uint64_t row, struct tt_engine *engine)
{
    double table[TT_PARTICLES_NNUMBERS] = {0}, squares = 0, mean;

    for (int r = 0; r < engine->size; r++)
        table[TT_PARTICLES_TOTAL] += (double)rows[r] * (double)row;
    mean = table[TT_PARTICLES_TOTAL] / engine->size;
    for (int r = 0; r < engine->size; r++)
        squares += pow((double)rows[r] * (double)row - mean, 2);
    table[TT_PARTICLES_MEAN] = mean;
    table[TT_PARTICLES_DEVIATION] = sqrt(squares / engine->size);
    tt_result_table(engine, "ranks", 1, TT_PARTICLES_NNUMBERS, table);
}

static void release(struct cloud *c)
{
    struct tt_device *d = c->engine->device;
    void *taken[] = {c->buffers[0], c->buffers[1], c->own, c->found, c->read.runs_there};

    if (d)
        tt_device_settle(d);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (d && taken[i])
            d->type->release(d, taken[i]);
        else
            free(taken[i]);
    tt_device_work_free(&c->push);
    tt_particles_shape_free(&c->written);
    tt_particles_shape_free(&c->read);
    free(c->rows);
    free(c->path);
    free(c->work);
}

int tt_particles_run(struct tt_engine *engine, struct tt_error *e)
{
    struct cloud c = {.engine = engine, .options = tt_config_opts(engine->config, "particles")};
    int rc = prepare(&c, e), closed;

    if (rc == TT_OK)
        rc = measured(&c, e);
    if (reads(&c) && c.options->verify && !tt_engine_is_endless(engine))
        for (uint64_t step = 0; rc == TT_OK && step < c.options->steps; step++)
            rc = check_step(&c, step, e);
    if (rc == TT_OK && c.options->phase == TT_PARTICLES_BOTH && !reads(&c))
        tt_warning(engine, "the backend keeps nothing: written only, not read back");
    closed = tallied(&c, &c.writing, close_output, e);
    rc = rc == TT_OK ? closed : rc;
    closed = tallied(&c, &c.reading, close_series, e);
    rc = rc == TT_OK ? closed : rc;
    if (rc == TT_OK && !tt_engine_is_endless(engine)) {
        report_times(&c.writing, &c.reading, engine);
        if (c.push.device)
            tt_device_work_report(&c.push, engine, c.iterations);
        if (c.options->deviation > 0)
            report_ranks(c.rows, c.written.row, engine);
    }
    release(&c);
    return rc;
}
