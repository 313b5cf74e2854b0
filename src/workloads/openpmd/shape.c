/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank has which mini-blocks, and what of the mesh it reads. */
#include "workloads/openpmd/openpmd.h"

#define MOST_CELLS (UINT64_C(1) << 48)

/* ---- what fits together ---- */

static int take_sizes(struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                      struct tt_error *e)
{
    uint64_t cells = 1;

    if (o->min_block.n < 1 || o->min_block.n > TT_OPENPMD_DIMS)
        return tt_fail(e, TT_USAGE, "openpmd.min_block: 1 to %d dimensions, not %zu",
                       TT_OPENPMD_DIMS, o->min_block.n);
    if (o->grid.n > 0 && o->grid.n != o->min_block.n)
        return tt_fail(e, TT_USAGE, "openpmd.grid has %zu dimensions, but openpmd.min_block %zu",
                       o->grid.n, o->min_block.n);
    s->ndims = (int)o->min_block.n;
    s->cells = s->blocks = 1;
    for (int d = 0; d < s->ndims; d++) {
        s->block[d] = o->min_block.values[d];
        s->grid[d] = o->grid.n > 0 ? o->grid.values[d] : d == 0 ? s->ranks : 8;
        if (s->block[d] == 0 || s->grid[d] == 0 ||
            __builtin_mul_overflow(s->block[d], s->grid[d], &s->dims[d]) ||
            __builtin_mul_overflow(cells, s->dims[d], &cells) || cells > MOST_CELLS)
            return tt_fail(e, TT_USAGE,
                           "openpmd.min_block or openpmd.grid: a dimension is 0, or the mesh is "
                           "too large");
        s->cells *= s->block[d];
        s->blocks *= s->grid[d];
    }
    if (o->ratio > 0 && cells > MOST_CELLS / o->ratio)
        return tt_fail(e, TT_USAGE,
                       "openpmd.ratio: too many particles; give a smaller ratio or mesh");
    s->particles = s->cells * o->ratio;
    return TT_OK;
}

static int check_reading(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                         struct tt_error *e)
{
    uint64_t ranks = 1;
    int plane =
        o->reading >= TT_OPENPMD_FX ? o->reading - TT_OPENPMD_FX : o->reading - TT_OPENPMD_SX;

    if (o->reading >= TT_OPENPMD_SX && o->reading < TT_OPENPMD_BLOCK && plane >= s->ndims)
        return tt_fail(e, TT_USAGE, "openpmd.read: a mesh of %d dimensions has no plane across %c",
                       s->ndims, "xyz"[plane]);
    if (o->reading == TT_OPENPMD_IDS && s->particles == 0)
        return tt_fail(e, TT_USAGE,
                       "openpmd.read=ids: there are no particles with openpmd.ratio=0");
    for (int d = 0; o->reading == TT_OPENPMD_BLOCK && d < s->ndims; d++)
        if (s->dims[d] < o->block_divide)
            return tt_fail(
                e, TT_USAGE,
                "openpmd.block_divide: %llu parts of %llu cells; at most as many as cells",
                (unsigned long long)o->block_divide, (unsigned long long)s->dims[d]);
    if (o->reading == TT_OPENPMD_BLOCK && o->block_along < TT_OPENPMD_DIAGONAL &&
        o->block_along >= s->ndims)
        return tt_fail(e, TT_USAGE, "openpmd.block_along: a mesh of %d dimensions has no %c",
                       s->ndims, "xyz"[o->block_along]);
    if (o->reading == TT_OPENPMD_BLOCK && o->block_along != TT_OPENPMD_ONE && o->block_place)
        return tt_fail(e, TT_USAGE, "openpmd.block_place needs openpmd.block_along=one");
    if (o->reading != TT_OPENPMD_FULL || o->read_grid.n == 0)
        return TT_OK;
    for (size_t d = 0; d < o->read_grid.n; d++)
        if (__builtin_mul_overflow(ranks, o->read_grid.values[d], &ranks))
            ranks = 0;
    if (o->read_grid.n != (size_t)s->ndims || ranks != s->ranks)
        return tt_fail(e, TT_USAGE,
                       "openpmd.read_grid has %d dimensions, and their product is the number of "
                       "ranks, %llu",
                       s->ndims, (unsigned long long)s->ranks);
    return TT_OK;
}

int tt_openpmd_shape_make(struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                          uint64_t ranks, struct tt_error *e)
{
    int rc;

    *s = (struct tt_openpmd_shape){.ranks = ranks, .split = -1};
    rc = take_sizes(s, o, e);
    if (rc != TT_OK)
        return rc;
    if (s->blocks % ranks != 0)
        return tt_fail(
            e, TT_USAGE,
            "openpmd.grid: %llu mini-blocks cannot be shared equally by %llu ranks; change "
            "the grid or the ranks, so that the ranks divide the mini-blocks",
            (unsigned long long)s->blocks, (unsigned long long)ranks);
    s->own = s->blocks / ranks;
    for (int d = s->ndims > 1 ? 1 : 0; d >= 0; d--)
        if (s->grid[d] % ranks == 0)
            s->split = d;
    return o->phase == TT_OPENPMD_WRITE ? TT_OK : check_reading(s, o, e);
}

/* ---- writing ---- */

uint64_t tt_openpmd_cells(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box)
{
    uint64_t n = 1;

    for (int d = 0; d < s->ndims; d++)
        n *= box->count[d];
    return n;
}

uint64_t tt_openpmd_nboxes(const struct tt_openpmd_shape *s, bool whole)
{
    return whole && s->split >= 0 ? 1 : s->own;
}

struct tt_openpmd_box tt_openpmd_box(const struct tt_openpmd_shape *s, bool whole, uint64_t rank,
                                     uint64_t i)
{
    struct tt_openpmd_box box;

    if (s->split < 0)
        i += rank * s->own;
    for (int d = s->ndims - 1; d >= 0; d--) {
        uint64_t blocks = d == s->split ? s->grid[d] / s->ranks : s->grid[d];
        uint64_t first = d == s->split ? rank * blocks : 0;
        bool all = whole && s->split >= 0;

        box.start[d] = (first + (all ? 0 : i % blocks)) * s->block[d];
        box.count[d] = (all ? blocks : 1) * s->block[d];
        i /= blocks;
    }
    return box;
}

/* An idle rank has a neighbour that takes its share; the last rank may have none. */
unsigned tt_openpmd_shares(const struct tt_openpmd_shape *s, bool balanced, uint64_t step,
                           uint64_t rank, uint64_t *first)
{
    uint64_t cycle = s->ndims == 1 ? 10 : 4;

    *first = rank;
    if (balanced || step % 3 != 1)
        return 1;
    if (rank % cycle == 0)
        return rank + 1 == s->ranks;
    *first -= rank % cycle == 1;
    return 1 + (rank % cycle == 1);
}

/* ---- reading ---- */

/* The part of n that falls to one of so many. */
static void divide(uint64_t n, uint64_t parts, uint64_t part, uint64_t *start, uint64_t *count)
{
    *start = (uint64_t)((__uint128_t)n * part / parts);
    *count = (uint64_t)((__uint128_t)n * (part + 1) / parts) - *start;
}

/* All ranks together read the whole mesh. */
static void share_mesh(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                       uint64_t rank, struct tt_openpmd_box *box)
{
    for (int d = s->ndims - 1; d >= 0; d--) {
        uint64_t parts = o->read_grid.n > 0 ? o->read_grid.values[d] : d ? 1 : s->ranks;

        divide(s->dims[d], parts, rank % parts, &box->start[d], &box->count[d]);
        rank /= parts;
    }
}

/* As the numeric patterns of openPMD-api's benchmark have it. */
static bool choose_block(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                         uint64_t rank, struct tt_openpmd_box *box)
{
    bool one = o->block_along == TT_OPENPMD_ONE;

    for (int d = 0; d < s->ndims; d++) {
        uint64_t count = s->dims[d] / o->block_divide;

        box->count[d] = count;
        box->start[d] = o->block_divide / 2 * count;
        if (o->block_along == d || o->block_along == TT_OPENPMD_DIAGONAL)
            box->start[d] = rank * count;
        else if (one && (o->block_place == TT_OPENPMD_FIRST || o->block_divide == 1))
            box->start[d] = 0;
        else if (one && o->block_place == TT_OPENPMD_LAST)
            box->start[d] = s->dims[d] - count;
        else if (one && o->block_place == TT_OPENPMD_NEAR)
            box->start[d] -= count / 3;
    }
    return rank < (one ? 1 : o->block_divide);
}

bool tt_openpmd_read_box(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                         uint64_t rank, struct tt_openpmd_box *box)
{
    if (o->reading == TT_OPENPMD_METADATA || o->reading == TT_OPENPMD_IDS)
        return false;
    if (o->reading == TT_OPENPMD_BLOCK)
        return choose_block(s, o, rank, box);
    if (o->reading == TT_OPENPMD_FULL) {
        share_mesh(s, o, rank, box);
    } else {
        int plane = (o->reading - TT_OPENPMD_SX) % 3;

        for (int d = 0; d < s->ndims; d++) {
            box->start[d] = d == plane ? rank % s->dims[d] : 0;
            box->count[d] = d == plane ? 1 : s->dims[d];
        }
    }
    return tt_openpmd_cells(s, box) > 0;
}

uint64_t tt_openpmd_read_ids(const struct tt_openpmd_shape *s, uint64_t rank, uint64_t *first)
{
    uint64_t n;

    divide(s->blocks * s->particles, s->ranks, rank, first, &n);
    return n;
}
