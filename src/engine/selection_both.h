/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the elements of a selection lie, for kernels and for what the host does in their place. */
#ifndef TT_ENGINE_SELECTION_BOTH_H
#define TT_ENGINE_SELECTION_BOTH_H

#ifndef TT_BOTH
#include "base/both.h"
#endif

/* A selection as kernels take it. Runs are a list, which somebody has to copy to the device. */
struct tt_device_place {
    tt_u64 at, first; /* of a run: where it begins, and the number of its first element */
};
struct tt_device_selection {
    const struct tt_device_place *list; /* 0: a slab */
    tt_u64 nruns;
    tt_u64 ndims, dims[5], start[5], stride[5], count[5], block[5];
};

/* Of the i-th element. */
TT_BOTH tt_u64 tt_device_place_of(const struct tt_device_selection *s, tt_u64 i)
{
    tt_u64 place = 0, step = 1, low = 0, high = s->nruns;

    if (s->list) {
        while (high - low > 1) {
            tt_u64 middle = (low + high) / 2;

            if (s->list[middle].first <= i)
                low = middle;
            else
                high = middle;
        }
        return s->list[low].at + (i - s->list[low].first);
    }
    for (int d = (int)s->ndims - 1; d >= 0; d--) {
        tt_u64 extent = s->count[d] * s->block[d], k = d == 0 ? i : i % extent;

        place += step * (s->start[d] + k / s->block[d] * s->stride[d] + k % s->block[d]);
        step *= s->dims[d];
        i /= extent;
    }
    return place;
}

#endif
