/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Levels and boxes, who has them, and what is in them. */
#include "workloads/amr/amr.h"

#define MOST_EDGE (UINT64_C(1) << 30) /* cells of a domain; places are 32 bits wide */

/* Every finer level has the middle half, in each dimension, of what the coarser one has. */
static int refine(const struct tt_amr_level *coarse, const struct tt_amr_shape *s, uint64_t ratio,
                  struct tt_amr_level *fine, struct tt_error *e)
{
    uint64_t extent = coarse->across * s->edge;

    if (ratio < 2 || ratio > 64 || coarse->domain > MOST_EDGE / ratio)
        return tt_fail(
            e, TT_USAGE,
            "amr.ratios: %llu is not a ratio from 2 to 64, or the domain, with %llu cells "
            "in the level before, becomes larger than 2^30",
            (unsigned long long)ratio, (unsigned long long)coarse->domain);
    if (extent % 4 != 0 || extent / 2 * ratio % s->edge != 0)
        return tt_fail(e, TT_USAGE,
                       "amr.max_grid: a finer level of the middle %llu of %llu cells, refined by "
                       "%llu, has no boxes of %llu",
                       (unsigned long long)extent / 2, (unsigned long long)extent,
                       (unsigned long long)ratio, (unsigned long long)s->edge);
    *fine = (struct tt_amr_level){.domain = coarse->domain * ratio,
                                  .lo = (coarse->lo + extent / 4) * ratio,
                                  .across = extent / 2 * ratio / s->edge,
                                  .ratio = 1};
    return TT_OK;
}

int tt_amr_shape_make(struct tt_amr_shape *s, const struct tt_amr_options *o, struct tt_error *e)
{
    int rc = TT_OK;

    *s = (struct tt_amr_shape){.nlevels = (unsigned)o->levels, .edge = o->max_grid};
    if (o->cells % o->max_grid != 0)
        return tt_fail(e, TT_USAGE,
                       "amr.max_grid: %llu cells are no whole number of boxes of %llu; give a "
                       "divisor of amr.cells",
                       (unsigned long long)o->cells, (unsigned long long)o->max_grid);
    s->cells = o->max_grid * o->max_grid * o->max_grid;
    s->values = s->cells * o->components;
    s->particles = s->cells * o->particles;
    if (s->particles > INT32_MAX)
        return tt_fail(
            e, TT_USAGE,
            "amr.particles: %llu in a box are more than its 32 bits can count; give fewer "
            "particles, or a smaller amr.max_grid",
            (unsigned long long)s->particles);
    s->levels[0] =
        (struct tt_amr_level){.domain = o->cells, .across = o->cells / o->max_grid, .ratio = 1};
    for (unsigned l = 1; rc == TT_OK && l < s->nlevels; l++) {
        size_t n = o->ratios.n;

        s->levels[l - 1].ratio = n == 0 ? 2 : o->ratios.values[l - 1 < n ? l - 1 : n - 1];
        rc = refine(&s->levels[l - 1], s, s->levels[l - 1].ratio, &s->levels[l], e);
    }
    for (unsigned l = 0; rc == TT_OK && l < s->nlevels; l++) {
        uint64_t across = s->levels[l].across;

        s->levels[l].boxes = across * across * across;
        if (across > 1 << 16 || s->levels[l].boxes > INT32_MAX ||
            (double)s->levels[l].boxes * (double)s->values > 0x1p40 ||
            (double)s->levels[l].boxes * (double)s->particles > 0x1p40)
            rc = tt_fail(e, TT_USAGE,
                         "amr.cells: level %u is too large; give fewer cells, or larger boxes", l);
    }
    return rc;
}

uint64_t tt_amr_share(uint64_t boxes, uint64_t ranks, uint64_t rank, uint64_t *first)
{
    *first = (uint64_t)((__uint128_t)boxes * rank / ranks);
    return (uint64_t)((__uint128_t)boxes * (rank + 1) / ranks) - *first;
}

struct tt_amr_box tt_amr_box(const struct tt_amr_shape *s, unsigned level, uint64_t i)
{
    const struct tt_amr_level *l = &s->levels[level];
    struct tt_amr_box box;

    for (int d = 0; d < 3; d++) {
        box.lo[d] = (int32_t)(l->lo + i % l->across * s->edge);
        box.hi[d] = box.lo[d] + (int32_t)s->edge - 1;
        i /= l->across;
    }
    return box;
}

/* The original's values are the level, which any compression loves. Numbered ones have as many
 * parts of a power of two, so that they are the same on every machine. */
void tt_amr_fill(const struct tt_amr_shape *s, int content, unsigned level, uint64_t box,
                 uint64_t file, double *values)
{
    for (uint64_t i = 0; i < s->values; i++)
        values[i] = content == TT_AMR_LEVEL
                        ? level
                        : level + (double)(box * s->values + i + file) * 0x1p-44;
}

void tt_amr_fill_particles(const struct tt_amr_shape *s, uint64_t box, uint64_t file, int32_t *ints,
                           double *reals)
{
    for (uint64_t k = box * s->particles; k < (box + 1) * s->particles; k++) {
        for (uint64_t j = 0; j < TT_AMR_INTS; j++)
            *ints++ = (int32_t)((k * 8 + j + file) & 0x7fffffff);
        for (uint64_t j = 0; j < TT_AMR_REALS; j++)
            *reals++ = (double)(k * 1024 + file % 64 * 16 + j) * 0x1p-10;
    }
}
