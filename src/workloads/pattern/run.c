/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: write all steps, then read every step that is still there and check every byte,
 * also those between the ones that were read into. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "workloads/pattern/pattern.h"

struct pattern {
    struct tt_engine *engine;
    const struct tt_pattern_options *options;
    struct tt_field fields[TT_PATTERN_MAX_FIELDS];
    struct tt_element element;
    char *field_names;
    struct tt_attribute attribute;
    struct tt_variable *variables;
    char (*names)[32];
    struct tt_pattern_shape written, read;
    uint64_t written_origin, read_origin; /* tells the files of processes apart */
    struct tt_block *blocks;
    uint64_t *seeds; /* of their content */
    unsigned nblocks;
    unsigned char *data;
    size_t data_size;
    struct tt_pattern_device memory; /* on a device: data is there */
    struct tt_series *series;
    char *path;
    uint64_t iteration, iterations;
};

/* ---- preparation ---- */

static void describe_variables(struct pattern *p)
{
    const struct tt_pattern_options *o = p->options;

    p->attribute = (struct tt_attribute){
        .name = "seed", .kind = TT_I64, .integer = (int64_t)p->engine->config->run->seed};
    for (unsigned v = 0; v < o->variables; v++) {
        snprintf(p->names[v], sizeof *p->names, v % 2 ? "group/v%u" : "v%u", v);
        p->variables[v] = (struct tt_variable){.path = p->names[v],
                                               .element = &p->element,
                                               .ndims = p->written.ndims,
                                               .per_step = v >= o->fixed,
                                               .unlimited = o->unlimited,
                                               .max_blocks = (unsigned)o->blocks,
                                               .nattributes = 1,
                                               .attributes = &p->attribute};
        memcpy(p->variables[v].dims, p->written.dims, sizeof p->written.dims);
    }
}

/* All of the memory, so that what nobody wrote to is seen. */
static int spoil(struct pattern *p, struct tt_error *e)
{
    if (p->engine->device)
        return tt_pattern_device_spoil(&p->memory, e);
    memset(p->data, TT_PATTERN_POISON, p->data_size);
    return TT_OK;
}

static int allocate(struct pattern *p, struct tt_error *e)
{
    const struct tt_pattern_options *o = p->options;
    int rank = p->engine->rank, size = p->engine->size;
    int reader = o->shift ? (rank + 1) % size : rank;
    uint64_t elements;
    int rc = tt_pattern_element(o->element, &p->element, p->fields, &p->field_names, e);

    if (rc == TT_OK)
        rc = tt_pattern_shape_make(&p->written, o, rank, size, e);
    if (rc == TT_OK)
        rc = tt_pattern_shape_make(&p->read, o, reader, size, e);
    if (rc != TT_OK)
        return rc;
    if (o->files)
        p->written_origin = p->read_origin = (uint64_t)rank + 1;
    elements = p->written.memory_elements > p->read.memory_elements ? p->written.memory_elements
                                                                    : p->read.memory_elements;
    p->data_size = o->variables * elements * p->element.size;
    if (p->engine->device)
        rc = tt_pattern_device_make(&p->memory, p->engine->device, p->data_size + 1, &p->written,
                                    &p->read, e);
    p->data = p->engine->device ? p->memory.data : malloc(p->data_size + 1);
    p->variables = calloc(o->variables, sizeof *p->variables);
    p->names = calloc(o->variables, sizeof *p->names);
    p->blocks = calloc(o->variables * o->blocks, sizeof *p->blocks);
    p->seeds = calloc(o->variables * o->blocks, sizeof *p->seeds);
    p->path = tt_data_path_of(p->engine, o->path, "pattern");
    if (rc == TT_OK &&
        (!p->data || !p->variables || !p->names || !p->blocks || !p->seeds || !p->path))
        rc = tt_fail_nomem(e, "the data");
    if (rc == TT_OK)
        rc = spoil(p, e);
    if (rc == TT_OK)
        describe_variables(p);
    return rc;
}

/* ---- steps ---- */

/* Fixed variables belong to the first step, and are there in every other of the same file. */
static void list_blocks(struct pattern *p, enum tt_direction direction, uint64_t step,
                        bool with_fixed)
{
    const struct tt_pattern_shape *shape = direction == TT_WRITING ? &p->written : &p->read;
    uint64_t origin = direction == TT_WRITING ? p->written_origin : p->read_origin;
    unsigned char *data = p->data;

    p->nblocks = 0;
    for (unsigned v = with_fixed ? 0 : (unsigned)p->options->fixed; v < p->options->variables; v++)
        for (unsigned k = 0; k < shape->npieces; k++) {
            const struct tt_pattern_piece *piece = &shape->pieces[k];

            p->seeds[p->nblocks] = tt_pattern_seed(p->engine->config->run->seed, origin, v,
                                                   p->variables[v].per_step ? step : 0);
            p->blocks[p->nblocks++] =
                (struct tt_block){.variable = v,
                                  .file = piece->file,
                                  .memory = piece->memory,
                                  .data = data,
                                  .space = p->engine->device ? TT_IN_DEVICE : TT_IN_HOST};
            data += piece->memory_elements * p->element.size;
        }
}

/* On a device with the buffers that its dumps take, and its loads if there are any. */
static int open_series(struct pattern *p, enum tt_access access, bool loads, struct tt_error *e)
{
    const struct tt_pattern_options *o = p->options;
    const struct tt_series_spec spec = {.path = p->path,
                                        .access = access,
                                        .policy = (enum tt_policy)o->series,
                                        .per_process = o->files == 1,
                                        .steps = o->steps,
                                        .nvariables = (unsigned)o->variables,
                                        .variables = p->variables};

    int rc = tt_series_open(p->engine, &spec, &p->series, e), rehearsed = rc;

    if (rc != TT_OK || !p->engine->device)
        return rc;
    if (access != TT_READ_ONLY) {
        list_blocks(p, TT_WRITING, 0, true);
        rehearsed = tt_series_rehearse(p->series, TT_WRITING, p->nblocks, p->blocks, e);
    }
    if (rehearsed == TT_OK && loads) {
        list_blocks(p, TT_READING, 0, true);
        rehearsed = tt_series_rehearse(p->series, TT_READING, p->nblocks, p->blocks, e);
    }
    return tt_agree(p->engine->comm, rehearsed, e);
}

static struct tt_pattern_blocks blocks_of(const struct pattern *p,
                                          const struct tt_pattern_shape *shape)
{
    return (struct tt_pattern_blocks){p->nblocks, shape->npieces, p->blocks, p->seeds, &p->element};
}

static int fill(struct pattern *p, struct tt_error *e)
{
    struct tt_pattern_blocks blocks = blocks_of(p, &p->written);

    if (p->engine->device)
        return tt_pattern_device_fill(&p->memory, &blocks, e);
    for (unsigned i = 0; i < p->nblocks; i++)
        tt_pattern_fill(&p->blocks[i], &p->element, p->seeds[i]);
    return TT_OK;
}

static int write_step(struct pattern *p, uint64_t step, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    uint64_t bytes = 0;
    int rc;

    list_blocks(p, TT_WRITING, step, step == 0);
    rc = fill(p, e);
    tt_phase_add(p->engine, TT_COMPUTE, t);
    if (p->engine->device) /* what fails there, fails on one rank */
        rc = tt_agree(p->engine->comm, rc, e);
    for (unsigned i = 0; i < p->nblocks; i++)
        bytes += tt_selection_count(&p->blocks[i].file) *
                 p->variables[p->blocks[i].variable].element->size;
    if (rc == TT_OK)
        rc = tt_limits_check_dump(p->engine, 1, bytes, tt_series_growth(p->series, step, bytes), e);
    return rc == TT_OK ? tt_series_dump(p->series, step, p->nblocks, p->blocks, e) : rc;
}

static int fail_beside(uint64_t step, struct tt_error *e)
{
    return tt_fail(e, TT_CORRUPT, "reading step %llu changed memory beside what was asked for",
                   (unsigned long long)step);
}

static int check_step(struct pattern *p, uint64_t step, struct tt_error *e)
{
    for (unsigned i = 0; i < p->nblocks; i++) {
        const struct tt_block *b = &p->blocks[i];
        char expected[TT_PATTERN_TEXT], found[TT_PATTERN_TEXT];
        uint64_t index;

        if (!tt_pattern_check(b, &p->element, p->seeds[i], &index, expected, found))
            return tt_fail(e, TT_CORRUPT,
                           "variable '%s', step %llu, element %llu: expected %s, found %s",
                           p->variables[b->variable].path, (unsigned long long)step,
                           (unsigned long long)index, expected, found);
    }
    for (size_t i = 0; i < p->data_size; i++)
        if (p->data[i] != TT_PATTERN_POISON)
            return fail_beside(step, e);
    return TT_OK;
}

/* The device only says whether all is right; what is wrong, the host finds in a copy. */
static int check_step_on_device(struct pattern *p, uint64_t step, struct tt_error *e)
{
    struct tt_pattern_blocks blocks = blocks_of(p, &p->read);
    unsigned char *there = p->data, *copy;
    bool is_right, is_clean;
    int rc = tt_pattern_device_check(&p->memory, &blocks, &is_right, &is_clean, e);

    if (rc != TT_OK || (is_right && is_clean))
        return rc;
    if (is_right)
        return fail_beside(step, e);
    copy = malloc(p->memory.size);
    rc = copy ? tt_pattern_device_copy(&p->memory, copy, e) : tt_fail_nomem(e, "a copy");
    for (unsigned i = 0; rc == TT_OK && i < p->nblocks; i++)
        p->blocks[i].data = copy + ((unsigned char *)p->blocks[i].data - there);
    p->data = copy;
    if (rc == TT_OK)
        rc = check_step(p, step, e);
    p->data = there;
    free(copy);
    return rc == TT_OK
               ? tt_fail(e, TT_FAILED, "step %llu: device and host do not agree on what was read",
                         (unsigned long long)step)
               : rc;
}

static int read_step(struct pattern *p, uint64_t step, struct tt_error *e)
{
    const struct tt_pattern_options *o = p->options;
    int rc = spoil(p, e);
    int64_t t;

    if (p->engine->device)
        rc = tt_agree(p->engine->comm, rc, e);
    list_blocks(p, TT_READING, step, step == 0 || o->series == TT_OVERWRITE);
    if (rc == TT_OK && o->prefetch)
        rc = tt_series_prefetch(p->series, step, p->nblocks, p->blocks, e);
    if (rc == TT_OK)
        rc = tt_series_load(p->series, step, p->nblocks, p->blocks, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    rc = p->engine->device ? check_step_on_device(p, step, e) : check_step(p, step, e);
    tt_phase_add(p->engine, TT_COMPUTE, t);
    return tt_agree(p->engine->comm, rc, e);
}

static int each_step(struct pattern *p, int (*act)(struct pattern *, uint64_t, struct tt_error *),
                     uint64_t first, struct tt_error *e)
{
    for (uint64_t step = first; step < p->options->steps; step++) {
        int rc = tt_iteration_begin(p->engine, ++p->iteration, p->iterations, e);

        if (rc == TT_OK)
            rc = act(p, step, e);
        tt_iteration_end(p->engine);
        if (rc != TT_OK)
            return rc;
    }
    return TT_OK;
}

/* ---- phases ---- */

static int close_series(struct pattern *p, int rc, struct tt_error *e)
{
    int closed = p->series ? tt_series_close(p->series, e) : TT_OK;

    p->series = NULL;
    return rc == TT_OK ? closed : rc;
}

static int reopen(struct pattern *p, struct tt_error *e)
{
    int rc = close_series(p, TT_OK, e);

    return rc == TT_OK ? open_series(p, TT_READ_ONLY, true, e) : rc;
}

static int measured(struct pattern *p, bool writes, bool reads, struct tt_error *e)
{
    const struct tt_pattern_options *o = p->options;
    /* Steps that can be read: where steps overwrite each other, the last one. */
    uint64_t n = o->series == TT_OVERWRITE ? 1 : o->steps;
    int rc = tt_engine_start(p->engine, e);

    p->iterations = (writes ? o->steps : 0) + (reads ? n : 0);
    if (rc == TT_OK && writes)
        rc = each_step(p, write_step, 0, e);
    if (rc == TT_OK && writes)
        rc = tt_series_drain(p->series, e);
    if (rc == TT_OK && writes && reads && o->reopen)
        rc = reopen(p, e);
    if (rc == TT_OK && reads)
        rc = each_step(p, read_step, o->steps - n, e);
    return rc == TT_OK ? tt_engine_stop(p->engine, e) : rc;
}

int tt_pattern_run(struct tt_engine *engine, struct tt_error *e)
{
    struct pattern p = {.engine = engine, .options = tt_config_opts(engine->config, "pattern")};
    bool writes = p.options->phase != TT_PATTERN_READ;
    bool reads = p.options->phase != TT_PATTERN_WRITE &&
                 (tt_stack_caps(&engine->config->stack) & TT_CAP_STORES);
    int rc = tt_agree(engine->comm, allocate(&p, e), e);

    if (rc == TT_OK)
        rc = open_series(&p, writes ? TT_CREATE : TT_READ_ONLY,
                         reads && !(writes && p.options->reopen), e);
    if (rc == TT_OK)
        rc = measured(&p, writes, reads, e);
    rc = close_series(&p, rc, e);
    if (rc == TT_OK && !reads && p.options->phase == TT_PATTERN_BOTH)
        tt_warning(engine, "the backend keeps nothing: written only, not read back");
    tt_pattern_shape_free(&p.written);
    tt_pattern_shape_free(&p.read);
    free(p.field_names);
    free(p.variables);
    free(p.names);
    free(p.blocks);
    free(p.seeds);
    if (engine->device)
        tt_pattern_device_free(&p.memory);
    else
        free(p.data);
    free(p.path);
    return rc;
}
