/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles in a device's memory: made, checked, repacked and moved by its kernels (device.cu). */
#include <stdlib.h>
#include <string.h>

#include "engine/content.h"
#include "engine/device_move.h"
#include "engine/device_work.h"
#include "workloads/particles/particles.h"

extern const char tt_particles_source[]; /* device.cu */

/* As device.cu declares it. */
struct cloud {
    uint32_t *data;
    uint64_t *found; /* check: where the first wrong value is, counted from the end */
    struct tt_device_selection file;
    uint64_t n, origin; /* particles; index of the file's first one */
    uint64_t seed, step;
    uint64_t rows, row;      /* of all ranks; particles of a row */
    uint64_t first, between; /* visited: the first particle, and how far apart they are */
    double loss;             /* check: how far a real value may be from the right one */
    uint32_t records, stamps_only;
};
struct repacking {
    struct tt_particle *records;
    void *arrays;
    uint64_t n;
};
struct pushing {
    struct tt_particles_work *work;
    uint64_t passes, n; /* n: particles */
};

/* ---- the kernels, by the host ---- */

static void visit_all(const struct cloud *c, bool checking)
{
    const struct tt_particles_content content = {c->seed, c->rows, c->row};

    for (uint64_t i = c->first; i < c->n; i += c->between) {
        uint64_t index = c->origin + tt_device_place_of(&c->file, i), wrong;
        struct tt_particle p;
        uint32_t words[TT_PARTICLE_FIELDS];

        if (c->stamps_only && index % TT_PARTICLES_STAMP != 0)
            continue;
        p = tt_particle_at(&content, c->step, index);
        memcpy(words, &p, sizeof words);
        for (uint64_t f = 0; f < TT_PARTICLE_FIELDS; f++) {
            uint32_t *value = c->data + (c->records ? i * TT_PARTICLE_FIELDS + f : f * c->n + i);

            wrong = (c->n - i) * TT_PARTICLE_FIELDS - f;
            if (!checking)
                *value = words[f];
            else if (*value != words[f] && wrong > *c->found &&
                     !tt_is_near(tt_particle_properties[f].plain, value, &words[f], c->loss))
                *c->found = wrong;
        }
    }
}

static void fill(const void *arguments)
{
    visit_all(arguments, false);
}

static void check(const void *arguments)
{
    visit_all(arguments, true);
}

static void to_arrays(const void *arguments)
{
    const struct repacking *r = arguments;

    tt_particles_to_arrays(r->records, r->n, r->arrays);
}

static void to_records(const void *arguments)
{
    const struct repacking *r = arguments;

    tt_particles_to_records(r->arrays, r->n, r->records);
}

static void push(const void *arguments)
{
    const struct pushing *p = arguments;

    tt_particles_work_do(p->work, p->passes);
}

/* Addresses stand at the beginning of the structs. */
#define KERNEL(function, type, n) \
    { \
        .name = #function, .source = tt_particles_source, .arguments_size = sizeof(struct type), \
        .naddresses = (n), .addresses = {0, 8, 16}, .by_host = function \
    }
static const struct tt_kernel filling = KERNEL(fill, cloud, 3), checking = KERNEL(check, cloud, 3),
                              repackings[] = {KERNEL(to_records, repacking, 2),
                                              KERNEL(to_arrays, repacking, 2)},
                              pushes = KERNEL(push, pushing, 1);

int tt_particles_prepare_on(struct tt_device *d, struct tt_error *e)
{
    const struct tt_kernel *const all[] = {&filling, &checking, &repackings[0], &repackings[1]};
    int rc = tt_content_prepare_on(d, e);

    return rc == TT_OK ? tt_device_prepare(d, sizeof all / sizeof *all, all, e) : rc;
}

/* ---- content ---- */

static struct cloud arguments_of(const struct tt_particles_content *c,
                                 const struct tt_particles_shape *s, int layout, const void *data,
                                 uint64_t step)
{
    struct cloud a = {.data = (uint32_t *)data,
                      .file = tt_device_select(&s->file, s->runs_there),
                      .n = s->count,
                      .origin = s->origin,
                      .seed = c->seed,
                      .step = step,
                      .rows = c->rows,
                      .row = c->row,
                      .between = 1,
                      .loss = c->loss,
                      .records = layout == TT_PARTICLES_RECORDS};

    return a;
}

int tt_particles_shape_to_device(struct tt_particles_shape *s, struct tt_device *d,
                                 struct tt_error *e)
{
    size_t n = tt_device_list_length(&s->file), bytes = n * sizeof(struct tt_device_place);
    struct tt_device_place *list;
    int rc;

    if (n == 0)
        return TT_OK;
    list = malloc(bytes);
    if (!list)
        return tt_fail_nomem(e, "the blocks to read");
    tt_device_list_make(&s->file, list);
    rc = d->type->allocate(d, bytes, &s->runs_there, e);
    if (rc == TT_OK)
        rc = tt_device_copy_now(d, TT_TO_DEVICE, s->runs_there, list, bytes, e);
    free(list);
    return rc;
}

int tt_particles_fill_on(struct tt_device *d, const struct tt_particles_content *c,
                         const struct tt_particles_shape *s, int layout, void *data, uint64_t step,
                         bool stamps_only, struct tt_error *e)
{
    struct cloud a = arguments_of(c, s, layout, data, step);
    struct tt_run run;
    int rc;

    a.stamps_only = stamps_only;
    if (stamps_only && tt_selection_is_contiguous(&s->file, &run)) { /* nobody looks between them */
        a.first = -(s->origin + run.start) % TT_PARTICLES_STAMP;
        a.between = TT_PARTICLES_STAMP;
    }
    rc = tt_device_launch(d, &filling, (a.n + a.between - 1) / a.between, &a, e);
    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

int tt_particles_check_on(struct tt_device *d, const struct tt_particles_content *c,
                          const struct tt_particles_shape *s, int layout, const void *data,
                          uint64_t step, void *found, bool *right, uint64_t *index,
                          unsigned *property, struct tt_error *e)
{
    struct cloud a = arguments_of(c, s, layout, data, step);
    uint64_t wrong = 0, i;
    struct tt_extent_iter it;
    struct tt_block b = {.file = s->file};
    struct tt_extent x;
    int rc;

    a.found = found;
    rc = tt_device_find(d, &checking, a.n, &a, found, &wrong, e);
    *right = wrong == 0;
    if (rc != TT_OK || *right)
        return rc;
    i = a.n - (wrong + TT_PARTICLE_FIELDS - 1) / TT_PARTICLE_FIELDS;
    *property = (unsigned)((a.n - i) * TT_PARTICLE_FIELDS - wrong);
    tt_select_all(&b.memory, 1, &s->count);
    tt_extents_begin(&it, &b, 1);
    while (tt_extents_next(&it, &x))
        if (i - x.memory_offset < x.length)
            *index = s->origin + x.file_offset + (i - x.memory_offset);
    return TT_OK;
}

int tt_particles_repack_on(struct tt_device *d, bool to_arrays_wanted, void *records, void *arrays,
                           uint64_t n, struct tt_error *e)
{
    const struct repacking r = {records, arrays, n};
    int rc = tt_device_launch(d, &repackings[to_arrays_wanted], n, &r, e);

    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

/* ---- computation ---- */

int tt_particles_push_make(struct tt_device *d, uint64_t seed, struct tt_device_work *push,
                           struct tt_error *e)
{
    struct tt_particles_work *w = tt_particles_work_make(seed);
    int rc = w ? TT_OK : tt_fail_nomem(e, "the particles to compute on");

    if (rc == TT_OK)
        rc = tt_device_work_make(push, d, tt_particles_work_size, e);
    if (rc == TT_OK)
        rc = tt_device_copy_now(d, TT_TO_DEVICE, push->data, w, tt_particles_work_size, e);
    if (rc == TT_OK) /* it is compiled then */
        rc = tt_particles_push_do(push, 0, e);
    free(w);
    return rc;
}

int tt_particles_push_do(struct tt_device_work *push, uint64_t passes, struct tt_error *e)
{
    const struct pushing a = {push->data, passes, TT_PARTICLES_COMPUTED};
    int rc = tt_device_work_begin(push, e);

    if (rc == TT_OK)
        rc = tt_device_launch(push->device, &pushes, 3 * a.n, &a, e);
    return rc == TT_OK ? tt_device_work_end(push, e) : rc;
}
