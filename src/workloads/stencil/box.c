/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a block lies in memory, and which of its points are computed when. */
#include "workloads/stencil/grid.h"

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
        b.last[d] = (int64_t)o->count[d] - (o->start[d] + o->count[d] == p->size);
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
        if (o->start[d] + o->count[d] < p->size && !tt_box_is_empty(inner)) {
            shell[n] = *inner;
            shell[n++].first[d] = --inner->last[d];
        }
    }
    return n;
}
