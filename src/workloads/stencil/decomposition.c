/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank owns which block, where that lies in memory, and which of its points are computed
 * when.
 */
#include "workloads/stencil/stencil.h"

#include <stdio.h>

/* Points in the cuts through the grid, of which a side that is cut in n has n: one too many, for
 * all ways to cut. */
static double surface(const struct tt_partition *p, int a, int b, int c)
{
    const uint64_t *n = p->size;

    return (double)a * (double)n[1] * (double)n[2] + (double)b * (double)n[0] * (double)n[2] +
           (double)c * (double)n[0] * (double)n[1];
}

/* Among equals the slowest dimension is cut more often, since its halos are contiguous. */
static bool choose_blocks(struct tt_partition *p, int ranks)
{
    double best = 0;

    for (int a = p->ndims == 3 ? ranks : 1; a >= 1; a--) {
        if (ranks % a || (uint64_t)a > p->size[0])
            continue;
        for (int b = ranks / a; b >= 1; b--) {
            int c = ranks / a / b;

            if (ranks / a % b || (uint64_t)b > p->size[1] || (uint64_t)c > p->size[2])
                continue;
            if (best > 0 && surface(p, a, b, c) >= best)
                continue;
            best = surface(p, a, b, c);
            p->parts[0] = a;
            p->parts[1] = b;
            p->parts[2] = c;
        }
    }
    return best > 0;
}

const char *tt_partition_text(const struct tt_partition *p, char text[TT_SIZE_TEXT])
{
    const unsigned long long n[] = {p->size[0], p->size[1], p->size[2]};

    if (n[1] == n[2] && (p->ndims == 2 || n[0] == n[1]))
        snprintf(text, TT_SIZE_TEXT, "%llu", n[1]);
    else if (p->ndims == 2)
        snprintf(text, TT_SIZE_TEXT, "%llux%llu", n[1], n[2]);
    else
        snprintf(text, TT_SIZE_TEXT, "%llux%llux%llu", n[0], n[1], n[2]);
    return text;
}

static int too_many(const struct tt_partition *p, enum tt_decomposition how, int ranks,
                    struct tt_error *e)
{
    struct tt_partition blocks = *p;
    const char *unit = p->ndims == 3 ? "planes" : "rows";
    char size[TT_SIZE_TEXT];

    tt_partition_text(p, size);
    if (how == TT_BLOCKS)
        return tt_fail(
            e, TT_USAGE,
            "%d ranks cannot share a grid of --size %s: no product of %d factors of at most its "
            "sides is %d; use another number of ranks",
            ranks, size, p->ndims, ranks);
    return tt_fail(e, TT_USAGE, "--size %s with rows has %llu %s for %d ranks; use fewer ranks%s",
                   size, (unsigned long long)p->size[3 - p->ndims], unit, ranks,
                   choose_blocks(&blocks, ranks) ? " or --decomposition blocks" : "");
}

int tt_partition_make(struct tt_partition *p, int ndims, const uint64_t size[3],
                      enum tt_decomposition how, int ranks, struct tt_error *e)
{
    *p = (struct tt_partition){
        .ndims = ndims, .size = {size[0], size[1], size[2]}, .parts = {1, 1, 1}};
    if (how == TT_BLOCKS)
        return choose_blocks(p, ranks) ? TT_OK : too_many(p, how, ranks, e);
    if ((uint64_t)ranks > size[3 - ndims])
        return too_many(p, how, ranks, e);
    p->parts[3 - ndims] = ranks;
    return TT_OK;
}

void tt_partition_owned(const struct tt_partition *p, int rank, struct tt_owned *out)
{
    for (int d = 2; d >= 0; d--) {
        uint64_t size = p->size[d], parts = (uint64_t)p->parts[d];
        uint64_t c = (uint64_t)rank % parts, more = size % parts;

        rank /= p->parts[d];
        out->coords[d] = (int)c;
        out->start[d] = c * (size / parts) + (c < more ? c : more);
        out->count[d] = size / parts + (c < more);
    }
}

int tt_partition_neighbour(const struct tt_partition *p, const struct tt_owned *o,
                           const int offset[3])
{
    int rank = 0;

    for (int d = 0; d < 3; d++) {
        int c = o->coords[d] + offset[d];

        if (c < 0 || c >= p->parts[d])
            return -1;
        rank = rank * p->parts[d] + c;
    }
    return rank;
}

/* ---- a block ---- */

#define PAGE_DOUBLES 512

void tt_layout_make(struct tt_layout *l, int ndims, const struct tt_owned *o)
{
    uint64_t pitch = TT_ROW_ALIGN + (o->count[2] + TT_ROW_ALIGN) / TT_ROW_ALIGN * TT_ROW_ALIGN;

    /* Rows a multiple of a page apart would fight for the same sets of the cache. */
    if (pitch % PAGE_DOUBLES == 0)
        pitch += TT_ROW_ALIGN;
    l->dims[0] = ndims == 3 ? o->count[0] + 2 : 1;
    l->dims[1] = o->count[1] + 2;
    l->dims[2] = pitch;
    l->owned[0] = ndims == 3 ? 1 : 0;
    l->owned[1] = 1;
    l->owned[2] = TT_ROW_ALIGN;
    l->row = (ptrdiff_t)pitch;
    l->plane = (ptrdiff_t)(l->dims[1] * pitch);
    l->origin = (l->owned[0] * l->dims[1] + l->owned[1]) * pitch + l->owned[2];
    l->total = l->dims[0] * l->dims[1] * pitch + TT_ROW_ALIGN;
}

uint64_t tt_grid_bytes(int ndims, const struct tt_owned *o)
{
    struct tt_layout l;

    tt_layout_make(&l, ndims, o);
    return 2 * l.total * sizeof(double);
}

bool tt_box_is_empty(const struct tt_box *b)
{
    for (int d = 0; d < 3; d++)
        if (b->first[d] >= b->last[d])
            return true;
    return false;
}

struct tt_box tt_box_computed(const struct tt_partition *p, const struct tt_owned *o)
{
    struct tt_box b = {.last = {1, 1, 1}};

    for (int d = 3 - p->ndims; d < 3; d++) {
        b.first[d] = o->start[d] == 0;
        b.last[d] = (int64_t)o->count[d] - (o->start[d] + o->count[d] == p->size[d]);
    }
    return b;
}

int tt_box_shell(const struct tt_partition *p, const struct tt_owned *o, struct tt_box *inner,
                 struct tt_box shell[6])
{
    int n = 0;

    for (int d = 3 - p->ndims; d < 3; d++) {
        if (o->start[d] > 0 && !tt_box_is_empty(inner)) {
            shell[n] = *inner;
            shell[n++].last[d] = ++inner->first[d];
        }
        if (o->start[d] + o->count[d] < p->size[d] && !tt_box_is_empty(inner)) {
            shell[n] = *inner;
            shell[n++].first[d] = --inner->last[d];
        }
    }
    return n;
}
