/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who has which rows, and what of them is written or read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "workloads/particles/particles.h"

#define MAX_PARTICLES (UINT64_C(1) << 40) /* of a rank */

/* ---- rows ---- */

static double open_uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

uint64_t tt_particles_rows(const struct tt_particles_options *o, uint64_t seed, uint64_t rank)
{
    uint64_t key = tt_mix(seed ^ UINT64_C(0x726f7773)), bits = tt_mix(key + 2 * rank);
    double normal, rows;

    if (!(o->deviation > 0))
        return o->dims.values[0];
    /* Box and Muller's */
    normal = sqrt(-2.0 * log(open_uniform(bits))) *
             cos(2.0 * M_PI * open_uniform(tt_mix(key + 2 * rank + 1)));
    rows = round((double)o->dims.values[0] + o->deviation * normal);
    return rows < 1.0 ? 1 : (uint64_t)rows;
}

/* ---- what fits together ---- */

static bool is_block_list(const struct tt_particles_options *o)
{
    return o->reading >= TT_PARTICLES_READ_LDC;
}

static bool reads(const struct tt_particles_options *o)
{
    return o->phase == TT_PARTICLES_READ || o->phase == TT_PARTICLES_BOTH;
}

static int check_dims(const struct tt_particles_options *o, struct tt_error *e)
{
    uint64_t n = 1;

    if (o->dims.n < 1 || o->dims.n > TT_PARTICLE_DIMS)
        return tt_fail(e, TT_USAGE, "particles.dims: 1 to %d dimensions, not %zu", TT_PARTICLE_DIMS,
                       o->dims.n);
    for (size_t d = 0; d < o->dims.n; d++)
        if (o->dims.values[d] == 0 || __builtin_mul_overflow(n, o->dims.values[d], &n) ||
            n > MAX_PARTICLES)
            return tt_fail(e, TT_USAGE, "particles.dims: a dimension is 0, or all are too large");
    if (!(o->deviation >= 0) || o->deviation > (double)o->dims.values[0])
        return tt_fail(e, TT_USAGE, "particles.deviation is from 0 to particles.dims");
    if (o->deviation > 0 && o->dims.n != 1)
        return tt_fail(e, TT_USAGE, "particles.deviation needs one dimension");
    return TT_OK;
}

static int check_strided(const struct tt_particles_options *o, struct tt_error *e)
{
    uint64_t rows = o->dims.values[0], block, stride;

    if (o->dims.n != 1 || o->deviation > 0)
        return tt_fail(e, TT_USAGE,
                       "strided needs particles.dims of one dimension, without deviation");
    if (o->block.n != 1 || o->stride.n != 1 || o->count == 0)
        return tt_fail(e, TT_USAGE,
                       "strided needs one particles.block, one particles.stride and a "
                       "particles.count");
    block = o->block.values[0];
    stride = o->stride.values[0];
    if (block == 0 || stride < block)
        return tt_fail(e, TT_USAGE,
                       "particles.stride is from start to start, so it cannot be less "
                       "than particles.block, nor that 0");
    if (block > rows || o->count - 1 > (rows - block) / stride)
        return tt_fail(e, TT_USAGE, "particles.count: %llu blocks do not fit a rank's %llu rows",
                       (unsigned long long)o->count, (unsigned long long)rows);
    return TT_OK;
}

static int check_blocks(const struct tt_particles_options *o, struct tt_error *e)
{
    const uint64_t *dims = o->dims.values, *block = o->block.values;

    if (o->dims.n != 2 || o->block.n != 2)
        return tt_fail(e, TT_USAGE,
                       "particles.read of blocks needs two dimensions, and particles.block with "
                       "its rows and columns");
    if (o->reading == TT_PARTICLES_READ_CS) {
        if (o->stride.n != 2 || block[0] == 0 || block[1] == 0 || o->stride.values[0] < block[0])
            return tt_fail(
                e, TT_USAGE,
                "particles.read=cs needs blocks that are not empty, and particles.stride "
                "of two dimensions, not less than a block's rows in the first");
        if (block[0] >= dims[0] || block[1] >= dims[1] || o->stride.values[0] > dims[0] ||
            o->stride.values[1] > dims[1])
            return tt_fail(e, TT_USAGE,
                           "particles.block or particles.stride has no room in particles.dims");
        return TT_OK;
    }
    for (int d = 0; d < 2; d++)
        if (block[d] == 0 || block[d] > dims[d] / 5 || block[d] * 10 < dims[d])
            return tt_fail(
                e, TT_USAGE,
                "particles.block: %llu of %llu; ldc, rdc and prl need a tenth to a fifth "
                "in each dimension",
                (unsigned long long)block[d], (unsigned long long)dims[d]);
    return TT_OK;
}

static int check_reading(const struct tt_particles_options *o, struct tt_error *e)
{
    uint64_t d = o->plane_dimension;

    if (is_block_list(o))
        return check_blocks(o, e);
    if (o->reading == TT_PARTICLES_READ_STRIDED)
        return check_strided(o, e);
    if (o->reading == TT_PARTICLES_READ_PARTIAL &&
        (o->dims.n != 1 || o->read_count == 0 || o->read_count > o->dims.values[0]))
        return tt_fail(e, TT_USAGE,
                       "particles.read=partial needs one dimension, and particles.read_count from "
                       "1 to particles.dims");
    if (o->reading == TT_PARTICLES_READ_PLANE &&
        (o->dims.n < 2 || d > o->dims.n || o->plane_index >= o->dims.values[d - 1]))
        return tt_fail(e, TT_USAGE,
                       "particles.read=plane needs two or three dimensions, with "
                       "particles.plane_dimension and plane_index inside them");
    return TT_OK;
}

int tt_particles_shape_check(const struct tt_particles_options *o, struct tt_error *e)
{
    int rc = check_dims(o, e);

    if (rc == TT_OK && o->pattern == TT_PARTICLES_STRIDED)
        rc = check_strided(o, e);
    if (rc == TT_OK && reads(o))
        rc = check_reading(o, e);
    if (rc == TT_OK && o->pattern == TT_PARTICLES_STRIDED && reads(o) &&
        o->reading != TT_PARTICLES_READ_STRIDED)
        rc = tt_fail(e, TT_USAGE,
                     "particles.pattern=strided leaves gaps, so only particles.read=strided finds "
                     "what was written");
    return rc;
}

/* ---- selections ---- */

/* A piece of a rank's rows, as a slab. */
static void select_part(struct tt_particles_shape *s, const struct tt_particles_options *o,
                        uint64_t first_row, uint64_t rows, bool strided, bool reading)
{
    uint64_t start[TT_PARTICLE_DIMS] = {first_row}, count[TT_PARTICLE_DIMS] = {rows};
    uint64_t stride[TT_PARTICLE_DIMS] = {1, 1, 1}, block[TT_PARTICLE_DIMS] = {1, 1, 1};

    for (int d = 1; d < s->ndims; d++)
        count[d] = s->dims[d];
    if (strided) {
        stride[0] = o->stride.values[0];
        block[0] = o->block.values[0];
        count[0] = o->count;
    } else if (reading && o->reading == TT_PARTICLES_READ_PARTIAL) {
        count[0] = o->read_count < rows ? o->read_count : rows;
    } else if (reading && o->reading == TT_PARTICLES_READ_PLANE) {
        start[o->plane_dimension - 1] += o->plane_index;
        count[o->plane_dimension - 1] = 1;
    }
    tt_select_slab(&s->file, s->ndims, s->dims, start, stride, count, block);
}

static void add_run(struct tt_particles_shape *s, size_t *n, uint64_t row, uint64_t column,
                    uint64_t length)
{
    s->runs[(*n)++] = (struct tt_run){row * s->row + column, length};
}

/* The corners and the frame have the same rows: some at the top, some between, some at the bottom.
 */
static size_t list_corners(struct tt_particles_shape *s, const struct tt_particles_options *o,
                           uint64_t first_row)
{
    uint64_t rows = o->dims.values[0], columns = o->dims.values[1], high = o->block.values[0],
             wide = o->block.values[1];
    size_t n = 0;

    for (uint64_t r = 0; r < rows; r++) {
        bool top = r < high, edge = top || r >= rows - high;
        bool left = o->reading == TT_PARTICLES_READ_LDC ? top : !top;

        if (o->reading == TT_PARTICLES_READ_PRL && edge) {
            add_run(s, &n, first_row + r, 0, columns);
        } else if (o->reading == TT_PARTICLES_READ_PRL) {
            add_run(s, &n, first_row + r, 0, wide);
            add_run(s, &n, first_row + r, columns - wide, wide);
        } else if (edge) {
            add_run(s, &n, first_row + r, left ? 0 : columns - wide, wide);
        }
    }
    return n;
}

/* Blocks down the diagonal. */
static size_t list_steps(struct tt_particles_shape *s, const struct tt_particles_options *o,
                         uint64_t first_row)
{
    const uint64_t *dims = o->dims.values, *block = o->block.values, *stride = o->stride.values;
    uint64_t row = 0, column = 0;
    size_t n = 0;

    for (; row + block[0] < dims[0] && column + block[1] < dims[1];
         row += stride[0], column += stride[1])
        for (uint64_t r = 0; r < block[0]; r++)
            add_run(s, &n, first_row + row + r, column, block[1]);
    return n;
}

static int select_blocks(struct tt_particles_shape *s, const struct tt_particles_options *o,
                         uint64_t first_row, struct tt_error *e)
{
    size_t n;

    s->runs = calloc(2 * o->dims.values[0], sizeof *s->runs);
    if (!s->runs)
        return tt_fail_nomem(e, "the blocks to read");
    n = o->reading == TT_PARTICLES_READ_CS ? list_steps(s, o, first_row)
                                           : list_corners(s, o, first_row);
    tt_select_runs(&s->file, s->ndims, s->dims, n, s->runs);
    return TT_OK;
}

int tt_particles_shape_make(struct tt_particles_shape *s, const struct tt_particles_options *o,
                            const uint64_t *rows, int rank, int size, bool reading,
                            struct tt_error *e)
{
    uint64_t part = o->appended + (o->phase == TT_PARTICLES_APPEND), before = 0, extent, first;
    bool strided =
        reading ? o->reading == TT_PARTICLES_READ_STRIDED : o->pattern == TT_PARTICLES_STRIDED;
    int rc = TT_OK;

    *s = (struct tt_particles_shape){.ndims = (int)o->dims.n, .row = 1};
    for (int d = 1; d < s->ndims; d++)
        s->row *= s->dims[d] = o->dims.values[d];
    for (int r = 0; r < size; r++) {
        before += r < rank ? rows[r] : 0;
        s->rows += rows[r];
        s->most = rows[r] * s->row > s->most ? rows[r] * s->row : s->most;
    }
    extent = o->files ? rows[rank] : s->rows;
    first = part * extent + (o->files ? 0 : before);
    s->dims[0] = (part + 1) * extent;
    s->origin = (part * s->rows + before - first) * s->row;
    if (reading && is_block_list(o) && rank > 0)
        tt_select_none(&s->file, s->ndims, s->dims);
    else if (reading && is_block_list(o))
        rc = select_blocks(s, o, first, e);
    else
        select_part(s, o, first, rows[rank], strided, reading);
    s->count = rc == TT_OK ? tt_selection_count(&s->file) : 0;
    return rc;
}

void tt_particles_shape_free(struct tt_particles_shape *s)
{
    free(s->runs);
}
