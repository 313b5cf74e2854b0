/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the elements of a selection lie; the structs are those of device_move.h. The build puts this
 * text before that of kernels that need it. */
typedef unsigned long long u64;
typedef unsigned u32;

struct run_place {
    u64 at, first;
};
struct selection {
    const run_place *list; /* 0: a slab */
    u64 nruns;
    u64 ndims, dims[5], start[5], stride[5], count[5], block[5];
};

static __device__ u64 place_in_list(const selection &s, u64 i)
{
    u64 low = 0, high = s.nruns;

    while (high - low > 1) {
        u64 middle = (low + high) / 2;

        if (s.list[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return s.list[low].at + (i - s.list[low].first);
}

static __device__ u64 place_of(const selection &s, u64 i)
{
    u64 place = 0, step = 1;

    if (s.list)
        return place_in_list(s, i);
    for (int d = (int)s.ndims - 1; d >= 0; d--) {
        u64 extent = s.count[d] * s.block[d], k = i % extent;

        place += step * (s.start[d] + k / s.block[d] * s.stride[d] + k % s.block[d]);
        step *= s.dims[d];
        i /= extent;
    }
    return place;
}
