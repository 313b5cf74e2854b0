/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/device_move.h"

#include <string.h>

extern const char tt_device_move_source[]; /* device_move.cu */

/* As device_move.cu declares it. */
struct move {
    char *scattered;
    char *dense;
    uint64_t n, element; /* elements, and bytes of one */
    struct tt_device_selection memory;
};

/* ---- selections for kernels ---- */

_Static_assert(sizeof((struct tt_device_selection *)0)->dims == TT_MAX_DIMS * sizeof(tt_u64),
               "dimensions");

size_t tt_device_list_length(const struct tt_selection *s)
{
    struct tt_run run;

    return s->kind == TT_SELECT_RUNS && !tt_selection_is_contiguous(s, &run) ? s->nruns : 0;
}

void tt_device_list_make(const struct tt_selection *s, struct tt_device_place *list)
{
    uint64_t first = 0;

    for (size_t i = 0; i < s->nruns; i++) {
        list[i] = (struct tt_device_place){s->runs[i].start, first};
        first += s->runs[i].length;
    }
}

struct tt_device_selection tt_device_select(const struct tt_selection *s,
                                            const struct tt_device_place *list)
{
    struct tt_device_selection out = {.ndims = (uint64_t)s->ndims};
    struct tt_run run = {0};

    if (tt_device_list_length(s) > 0) {
        out.list = list;
        out.nruns = s->nruns;
    } else if (s->kind == TT_SELECT_SLAB) {
        memcpy(out.dims, s->dims, sizeof out.dims);
        memcpy(out.start, s->start, sizeof out.start);
        memcpy(out.stride, s->stride, sizeof out.stride);
        memcpy(out.count, s->count, sizeof out.count);
        memcpy(out.block, s->block, sizeof out.block);
    } else { /* one run */
        tt_selection_is_contiguous(s, &run);
        out.ndims = out.stride[0] = out.count[0] = 1;
        out.start[0] = run.start;
        out.block[0] = run.length;
    }
    return out;
}

struct tt_kernel_grid tt_device_threads(uint64_t n)
{
    uint64_t groups = (n + 255) / 256;

    return (struct tt_kernel_grid){{groups == 0      ? 1
                                    : groups < 65536 ? (unsigned)groups
                                                     : 65536,
                                    1, 1},
                                   {256, 1, 1}};
}

int tt_device_prepare(struct tt_device *d, unsigned n, const struct tt_kernel *const *kernels,
                      struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < n; i++)
        rc = d->type->prepare(d, kernels[i], e);
    return rc;
}

int tt_device_launch(struct tt_device *d, const struct tt_kernel *kernel, uint64_t threads,
                     const void *arguments, struct tt_error *e)
{
    struct tt_kernel_grid how = tt_device_threads(threads);

    return threads > 0 ? d->type->launch(d, TT_STREAM_COMPUTE, kernel, &how, arguments, e) : TT_OK;
}

int tt_device_find(struct tt_device *d, const struct tt_kernel *kernel, uint64_t threads,
                   const void *arguments, uint64_t *found, uint64_t *out, struct tt_error *e)
{
    int rc = d->type->clear(d, TT_STREAM_COMPUTE, found, sizeof *found, e);

    *out = 0;
    if (rc == TT_OK)
        rc = tt_device_launch(d, kernel, threads, arguments, e);
    return rc == TT_OK ? tt_device_copy_now(d, TT_FROM_DEVICE, out, found, sizeof *out, e) : rc;
}

/* ---- the kernels, by the host ---- */

static void gather(const void *arguments)
{
    const struct move *m = arguments;

    for (uint64_t i = 0; i < m->n; i++)
        memcpy(m->dense + i * m->element,
               m->scattered + tt_device_place_of(&m->memory, i) * m->element, m->element);
}

static void scatter(const void *arguments)
{
    const struct move *m = arguments;

    for (uint64_t i = 0; i < m->n; i++)
        memcpy(m->scattered + tt_device_place_of(&m->memory, i) * m->element,
               m->dense + i * m->element, m->element);
}

#define KERNEL(function) \
    { \
        .name = #function, .source = tt_device_move_source, .arguments_size = sizeof(struct move), \
        .naddresses = 3, \
        .addresses = {offsetof(struct move, scattered), offsetof(struct move, dense), \
                      offsetof(struct move, memory.list)}, \
        .by_host = function \
    }
static const struct tt_kernel kernels[] = {KERNEL(gather), KERNEL(scatter)};

int tt_device_prepare_moves(struct tt_device *d, struct tt_error *e)
{
    return tt_device_prepare(d, 2, (const struct tt_kernel *const[]){&kernels[0], &kernels[1]}, e);
}

/* ---- moving ---- */

/* A box without gaps inside its array, as copies know it. */
static bool find_box(const struct tt_selection *s, struct tt_strided *box)
{
    if (!tt_selection_is_strided(s, box))
        return false;
    for (int d = 0; d < s->ndims; d++)
        if (box->stride[d] != 1)
            return false;
    return true;
}

bool tt_device_copies_well(const struct tt_device *device, const struct tt_block *b,
                           size_t element_size)
{
    const struct tt_selection *s = &b->memory;
    struct tt_strided box;
    struct tt_run run;

    return tt_selection_is_contiguous(s, &run) ||
           (find_box(s, &box) && box.count[s->ndims - 1] * element_size >= TT_DEVICE_SHORTEST_ROW &&
            (!device || device->longest_row == 0 ||
             s->dims[s->ndims - 1] * element_size <= device->longest_row));
}

int tt_device_allocate_zeros(struct tt_device *d, size_t bytes, void **out, struct tt_error *e)
{
    int rc = d->type->allocate(d, bytes, out, e);

    if (rc != TT_OK)
        return rc;
    if (bytes > 0)
        rc = d->type->clear(d, TT_STREAM_COMPUTE, *out, bytes, e);
    if (rc == TT_OK)
        rc = d->type->drain(d, TT_STREAM_COMPUTE, e);
    if (rc != TT_OK) {
        d->type->release(d, *out);
        *out = NULL;
    }
    return rc;
}

int tt_device_copy_bytes(struct tt_device *device, enum tt_device_stream stream,
                         enum tt_device_direction direction, void *to, const void *from,
                         size_t bytes, struct tt_error *e)
{
    return device->type->copy(device, stream,
                              &(struct tt_device_copy){.direction = direction,
                                                       .to = to,
                                                       .from = from,
                                                       .width = bytes,
                                                       .height = 1,
                                                       .depth = 1},
                              e);
}

int tt_device_copy_now(struct tt_device *d, enum tt_device_direction direction, void *to,
                       const void *from, size_t bytes, struct tt_error *e)
{
    int rc = tt_device_copy_bytes(d, TT_STREAM_COMPUTE, direction, to, from, bytes, e);

    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

void tt_device_settle(struct tt_device *device)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    for (int i = 0; i < TT_NSTREAMS; i++)
        device->type->drain(device, (enum tt_device_stream)i, &ignored);
}

/* The selection's side of a copy is `scattered`; out: it is read. */
static void set_sides(struct tt_device_copy *c, bool out, char *scattered, size_t row, size_t slice,
                      char *dense, size_t dense_row, size_t dense_slice)
{
    c->from = out ? scattered : dense;
    c->to = out ? dense : scattered;
    c->from_row = out ? row : dense_row;
    c->from_slice = out ? slice : dense_slice;
    c->to_row = out ? dense_row : row;
    c->to_slice = out ? dense_slice : slice;
}

/* The last three dimensions at once, and the others one after the other. */
static int copy_box(struct tt_device *device, enum tt_device_stream stream,
                    const struct tt_block *b, size_t element, const struct tt_strided *box,
                    struct tt_device_copy copy, bool out, char *dense, struct tt_error *e)
{
    const struct tt_selection *s = &b->memory;
    uint64_t dims[TT_MAX_DIMS], start[TT_MAX_DIMS], count[TT_MAX_DIMS], copies, place, row, bytes;
    int rc = TT_OK, missing = TT_MAX_DIMS - s->ndims;

    for (int d = 0; d < TT_MAX_DIMS; d++) {
        dims[d] = d < missing ? 1 : s->dims[d - missing];
        start[d] = d < missing ? 0 : box->start[d - missing];
        count[d] = d < missing ? 1 : box->count[d - missing];
    }
    row = dims[4] * element;
    bytes = count[4] * element;
    copy.width = bytes;
    copy.height = count[3];
    copy.depth = count[2];
    copies = count[0] * count[1];
    for (uint64_t i = 0; rc == TT_OK && i < copies; i++) {
        place =
            ((start[0] + i / count[1]) * dims[1] + start[1] + i % count[1]) * dims[2] + start[2];
        place = (place * dims[3] + start[3]) * dims[4] + start[4];
        set_sides(&copy, out, (char *)b->data + place * element, row, row * dims[3],
                  dense + i * bytes * count[3] * count[2], bytes, bytes * count[3]);
        rc = device->type->copy(device, stream, &copy, e);
    }
    return rc;
}

static int by_kernel(struct tt_device *device, enum tt_device_stream stream,
                     const struct tt_block *b, size_t element, bool out, char *dense,
                     const struct tt_device_place *list, struct tt_error *e)
{
    const struct move m = {.scattered = b->data,
                           .dense = dense,
                           .n = tt_selection_count(&b->memory),
                           .element = element,
                           .memory = tt_device_select(&b->memory, list)};
    struct tt_kernel_grid how = tt_device_threads(m.n);

    return device->type->launch(device, stream, &kernels[!out], &how, &m, e);
}

static int move(struct tt_device *device, enum tt_device_stream stream, const struct tt_block *b,
                size_t element, enum tt_device_direction direction, bool out, char *dense,
                const struct tt_device_place *list, struct tt_error *e)
{
    struct tt_device_copy copy = {.direction = direction};
    struct tt_strided box;
    struct tt_run run;

    if (tt_selection_count(&b->memory) == 0)
        return TT_OK;
    if (tt_selection_is_contiguous(&b->memory, &run)) {
        char *there = (char *)b->data + run.start * element;

        return tt_device_copy_bytes(device, stream, direction, out ? dense : there,
                                    out ? there : dense, run.length * element, e);
    }
    if (find_box(&b->memory, &box) &&
        (direction != TT_WITHIN_DEVICE || tt_device_copies_well(device, b, element)))
        return copy_box(device, stream, b, element, &box, copy, out, dense, e);
    return by_kernel(device, stream, b, element, out, dense, list, e);
}

int tt_device_gather(struct tt_device *device, enum tt_device_stream stream,
                     const struct tt_block *b, size_t element_size,
                     enum tt_device_direction direction, void *dense,
                     const struct tt_device_place *list, struct tt_error *e)
{
    return move(device, stream, b, element_size, direction, true, dense, list, e);
}

int tt_device_scatter(struct tt_device *device, enum tt_device_stream stream,
                      const struct tt_block *b, size_t element_size,
                      enum tt_device_direction direction, const void *dense,
                      const struct tt_device_place *list, struct tt_error *e)
{
    return move(device, stream, b, element_size, direction, false, (char *)dense, list, e);
}
