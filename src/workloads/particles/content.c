/* SPDX-License-Identifier: GPL-3.0-or-later */
/* h5bench's particles: positions and momenta at random or by number, and two numbers. Its row
 * number counts within a rank and its seed is the time; here it counts through all ranks, so that
 * any number of ranks can read and check what others wrote. */
#include <string.h>

#include "base/mix.h"
#include "workloads/particles/particles.h"

/* Each has four bytes, in the order in which they lie in a record. */
#define PROPERTIES(X) \
    X(x, F32, f32) \
    X(y, F32, f32) \
    X(z, F32, f32) \
    X(px, F32, f32) \
    X(py, F32, f32) \
    X(pz, F32, f32) \
    X(id_1, I32, i32) \
    X(id_2, F32, f32)

#define FIELD(name, kind, element) {#name, TT_##kind, 1, offsetof(struct tt_particle, name)},
static const struct tt_field fields[TT_PARTICLE_FIELDS] = {PROPERTIES(FIELD)};

const struct tt_element tt_particle_element = {TT_RECORD, sizeof(struct tt_particle),
                                               TT_PARTICLE_FIELDS, fields};

/* The same fields, each at the start of a record of its own. */
#define ALONE(name, kind, element) \
    static const struct tt_field alone_##name = {#name, TT_##kind, 1, 0};
PROPERTIES(ALONE)

#define PROPERTY(name, kind, element) \
    {#name, &tt_element_##element, {TT_RECORD, 4, 1, &alone_##name}},
const struct tt_particle_property tt_particle_properties[TT_PARTICLE_FIELDS] = {
    PROPERTIES(PROPERTY)};

/* 24 random bits as a number in [0, 1). */
static float uniform(uint64_t bits)
{
    return (float)(bits >> 40) * 0x1p-24f;
}

struct tt_particle tt_particle_at(const struct tt_particles_content *c, uint64_t step,
                                  uint64_t index)
{
    uint64_t row = index / c->row;
    uint64_t key = tt_mix(c->seed + (index % TT_PARTICLES_STAMP == 0 ? step : 0));
    uint64_t a = tt_mix(key + 2 * index), b = tt_mix(key + 2 * index + 1);
    int32_t number = (int32_t)(row & INT32_MAX);
    float n = (float)c->rows, twice = 2.0f * (float)number;

    return (struct tt_particle){.x = uniform(a) * 191.0f,
                                .y = uniform(b) * 1009.0f,
                                .z = (float)number / n * 3701.0f,
                                .px = uniform(a << 24) * 191.0f,
                                .py = uniform(b << 24) * 1009.0f,
                                .pz = twice / n * 3701.0f,
                                .id_1 = number,
                                .id_2 = twice};
}

/* Properties are four bytes each, in the order of the arrays. */
static void put(int layout, char *data, uint64_t n, uint64_t at, const struct tt_particle *p)
{
    if (layout == TT_PARTICLES_RECORDS) {
        memcpy(data + at * sizeof *p, p, sizeof *p);
        return;
    }
    for (uint64_t f = 0; f < TT_PARTICLE_FIELDS; f++)
        memcpy(data + (f * n + at) * 4, (const char *)p + f * 4, 4);
}

/* Runs that are contiguous in the file; an element of one byte makes offsets indices. */
static void begin(struct tt_extent_iter *it, struct tt_block *b, const struct tt_particles_shape *s)
{
    b->file = s->file;
    tt_select_all(&b->memory, 1, &s->count);
    tt_extents_begin(it, b, 1);
}

void tt_particles_fill(const struct tt_particles_content *c, const struct tt_particles_shape *s,
                       int layout, void *data, uint64_t step, bool stamps_only)
{
    struct tt_extent_iter it;
    struct tt_block b;
    struct tt_extent x;

    begin(&it, &b, s);
    while (tt_extents_next(&it, &x)) {
        uint64_t first = s->origin + x.file_offset, stride = stamps_only ? TT_PARTICLES_STAMP : 1;
        uint64_t i = stamps_only ? -first % TT_PARTICLES_STAMP : 0;

        for (; i < x.length; i += stride) {
            struct tt_particle p = tt_particle_at(c, step, first + i);

            put(layout, data, s->count, x.memory_offset + i, &p);
        }
    }
}

static bool is_right(int layout, const char *data, uint64_t n, uint64_t at,
                     const struct tt_particle *p, double loss, unsigned *property)
{
    const char *record = data + at * sizeof *p;

    if (layout == TT_PARTICLES_RECORDS && !memcmp(record, p, sizeof *p))
        return true;
    for (uint64_t f = 0; f < TT_PARTICLE_FIELDS; f++) {
        const char *value =
            layout == TT_PARTICLES_RECORDS ? record + f * 4 : data + (f * n + at) * 4;

        const char *right = (const char *)p + f * 4;

        if (memcmp(value, right, 4) != 0 &&
            !tt_is_near(tt_particle_properties[f].plain, value, right, loss)) {
            *property = (unsigned)f;
            return false;
        }
    }
    return true;
}

bool tt_particles_check(const struct tt_particles_content *c, const struct tt_particles_shape *s,
                        int layout, const void *data, uint64_t step, uint64_t *index,
                        unsigned *property)
{
    struct tt_extent_iter it;
    struct tt_block b;
    struct tt_extent x;

    begin(&it, &b, s);
    while (tt_extents_next(&it, &x))
        for (uint64_t i = 0; i < x.length; i++) {
            struct tt_particle p = tt_particle_at(c, step, s->origin + x.file_offset + i);

            if (!is_right(layout, data, s->count, x.memory_offset + i, &p, c->loss, property)) {
                *index = s->origin + x.file_offset + i;
                return false;
            }
        }
    return true;
}
