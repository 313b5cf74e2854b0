/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout layer: variables become byte ranges of one container, in which every variable's instance
 * starts at a multiple of align.size. The container is a u8 variable of the file below, so its
 * format no longer knows the variables.
 *
 * All runs of a block go down in one call, since ranks must make equally many of them. The number
 * of steps must be known unless they overwrite each other: the container's size follows from it. */
#include <stdlib.h>

#include "io/file.h"

struct align_opts {
    uint64_t size;
};
struct align_state {
    struct tt_variable container;
    bool defined;
    size_t capacity; /* of both lists of runs, kept for the next block */
    struct tt_run *in_file, *in_memory;
};

static const struct tt_param params[] = {
    {"size", TT_PARAM_BYTES, offsetof(struct align_opts, size), "1m", "B",
     "every variable of every step starts at a multiple of this", 1, INT64_C(1) << 40},
    {NULL},
};

static int align_open(struct tt_file *file, struct tt_error *e)
{
    const struct align_opts *opts = file->opts;
    struct align_state *s = file->state;
    uint64_t steps = file->spec->policy == TT_OVERWRITE ? 1 : file->spec->steps;

    if (steps == 0)
        return tt_fail(e, TT_UNSUPPORTED, "layer align needs to know how many steps '%s' will have",
                       file->spec->path);
    s->container = (struct tt_variable){
        .path = "container",
        .element = &tt_element_u8,
        .ndims = 1,
        .dims = {tt_raw_size(file->spec, steps, opts->size)},
        .unlimited = true,
    };
    file->own_spec = *file->spec;
    file->own_spec.policy = TT_OVERWRITE;
    file->own_spec.steps = 1;
    file->own_spec.nvariables = 1;
    file->own_spec.ngroups = 0;
    file->own_spec.plain = false; /* blocks become lists of runs */
    file->own_spec.variables = &s->container;
    return tt_below_open(file, &file->own_spec, e);
}

static int align_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    struct align_state *s = file->state;

    (void)step;
    if (s->defined)
        return TT_OK;
    s->defined = true;
    return tt_file_define(file->below, 0, e);
}

static int grow(struct align_state *s)
{
    size_t capacity = s->capacity ? 2 * s->capacity : 16;
    struct tt_run *in_file = realloc(s->in_file, capacity * sizeof *in_file), *in_memory;

    if (!in_file)
        return TT_NOMEM;
    s->in_file = in_file;
    in_memory = realloc(s->in_memory, capacity * sizeof *in_memory);
    if (!in_memory)
        return TT_NOMEM;
    s->in_memory = in_memory;
    s->capacity = capacity;
    return TT_OK;
}

static uint64_t elements(const struct tt_selection *s)
{
    uint64_t n = 1;

    for (int d = 0; d < s->ndims; d++)
        n *= s->dims[d];
    return n;
}

/* The same transfer in bytes of the container. */
static int translate(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_block *out)
{
    const struct align_opts *opts = file->opts;
    struct align_state *s = file->state;
    size_t element_size = file->spec->variables[b->variable].element->size;
    uint64_t base = tt_raw_offset(file->spec, b->variable, step, opts->size);
    uint64_t memory_bytes = elements(&b->memory) * element_size;
    struct tt_extent_iter it;
    struct tt_extent x;
    size_t n = 0;

    tt_extents_begin(&it, b, element_size);
    while (tt_extents_next(&it, &x)) {
        if (n == s->capacity && grow(s) != TT_OK)
            return TT_NOMEM;
        s->in_file[n] = (struct tt_run){base + x.file_offset, x.length};
        s->in_memory[n++] = (struct tt_run){x.memory_offset, x.length};
    }
    out->variable = 0;
    out->data = b->data;
    tt_select_runs(&out->file, 1, s->container.dims, n, s->in_file);
    tt_select_runs(&out->memory, 1, &memory_bytes, n, s->in_memory);
    return TT_OK;
}

/* Also when memory has run out others may wait below: take part with nothing. */
static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    struct align_state *s = file->state;
    struct tt_block bytes = {0};
    int rc = translate(file, step, b, &bytes), below;

    if (rc != TT_OK || bytes.file.nruns == 0) {
        tt_select_none(&bytes.file, 1, s->container.dims);
        tt_select_none(&bytes.memory, 1, s->container.dims);
    }
    if (rc != TT_OK)
        tt_fail_nomem(e, "the runs of a block");
    below = direction == TT_WRITING ? tt_file_write(file->below, 0, &bytes, e)
                                    : tt_file_read(file->below, 0, &bytes, e);
    return rc != TT_OK ? rc : below;
}

static int align_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

static int align_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}

static int align_sync(struct tt_file *file, struct tt_error *e)
{
    return tt_file_sync(file->below, e);
}

static int align_close(struct tt_file *file, struct tt_error *e)
{
    struct align_state *s = file->state;

    free(s->in_file);
    free(s->in_memory);
    return tt_below_close(file, e);
}

const struct tt_backend tt_layer_align = {
    .name = "align",
    .summary = "one container in which every variable starts at a multiple of a size",
    .kind = TT_LAYOUT_LAYER,
    .state_size = sizeof(struct align_state),
    .opts_size = sizeof(struct align_opts),
    .params = params,
    .open = align_open,
    .define = align_define,
    .write = align_write,
    .read = align_read,
    .sync = align_sync,
    .close = align_close,
};
