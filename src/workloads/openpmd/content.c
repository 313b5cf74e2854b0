/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cells and particles hold. */
#include <math.h>
#include <string.h>

#include "workloads/openpmd/openpmd.h"

/* One division of whole numbers: the same bits on every machine. */
static double value(uint64_t block, uint64_t step, uint64_t i)
{
    return (double)(block * 10000 + step * 100 + i) / 10000.0;
}

/* Cells that follow each other in the last dimension and belong to one mini-block. */
struct run {
    uint64_t block, i, length;
};

static struct run run_at(const struct tt_openpmd_shape *s, const uint64_t *at, uint64_t left)
{
    struct run r = {0, 0, s->block[s->ndims - 1] - at[s->ndims - 1] % s->block[s->ndims - 1]};

    for (int d = 0; d < s->ndims; d++) {
        r.block = r.block * s->grid[d] + at[d] / s->block[d];
        r.i = r.i * s->block[d] + at[d] % s->block[d];
    }
    r.length = r.length < left ? r.length : left;
    return r;
}

/* To the first cell of the next row of the box; false behind its last row. */
static bool next_row(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box,
                     uint64_t *at)
{
    at[s->ndims - 1] = box->start[s->ndims - 1];
    for (int d = s->ndims - 2; d >= 0; d--) {
        if (++at[d] < box->start[d] + box->count[d])
            return true;
        at[d] = box->start[d];
    }
    return false;
}

static bool visit(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box, uint64_t step,
                  double *fill, const double *check, double loss)
{
    uint64_t at[TT_OPENPMD_DIMS], end = box->start[s->ndims - 1] + box->count[s->ndims - 1];

    memcpy(at, box->start, sizeof at);
    do {
        while (at[s->ndims - 1] < end) {
            struct run r = run_at(s, at, end - at[s->ndims - 1]);

            for (uint64_t k = 0; fill && k < r.length; k++)
                fill[k] = value(r.block, step, r.i + k);
            for (uint64_t k = 0; check && k < r.length; k++)
                if (!(fabs(check[k] - value(r.block, step, r.i + k)) <= loss))
                    return false;
            fill += fill ? r.length : 0;
            check += check ? r.length : 0;
            at[s->ndims - 1] += r.length;
        }
    } while (next_row(s, box, at));
    return true;
}

void tt_openpmd_fill(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box,
                     uint64_t step, double *cells)
{
    visit(s, box, step, cells, NULL, 0);
}

bool tt_openpmd_check(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box,
                      uint64_t step, const double *cells, double loss)
{
    return visit(s, box, step, NULL, cells, loss);
}

void tt_openpmd_fill_particles(const struct tt_openpmd_shape *s, uint64_t first, uint64_t n,
                               uint64_t step, double *values, uint64_t *ids)
{
    for (uint64_t k = first; k < first + n; k++) {
        *values++ = value(k / s->particles, step, k % s->particles);
        *ids++ = k;
    }
}
