/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of a hyperslab of the device's memory to a dense array, and back; the struct is that of
 * device_move.c. Compiled at run time. */
typedef unsigned long long u64;
typedef unsigned u32;

struct slab {
    char *scattered;
    char *dense;
    u64 n;
    u32 ndims, element;
    u64 dims[5], start[5], stride[5], count[5], block[5];
};

static __device__ u64 place_of(const slab &s, u64 i)
{
    u64 place = 0, step = 1;

    for (int d = (int)s.ndims - 1; d >= 0; d--) {
        u64 extent = s.count[d] * s.block[d], k = i % extent;

        place += step * (s.start[d] + k / s.block[d] * s.stride[d] + k % s.block[d]);
        step *= s.dims[d];
        i /= extent;
    }
    return place;
}

template <typename T> static __device__ void gather_as(const slab &s)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < s.n; i += gridDim.x * (u64)blockDim.x)
        ((T *)s.dense)[i] = ((const T *)s.scattered)[place_of(s, i)];
}

template <typename T> static __device__ void scatter_as(const slab &s)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < s.n; i += gridDim.x * (u64)blockDim.x)
        ((T *)s.scattered)[place_of(s, i)] = ((const T *)s.dense)[i];
}

/* Elements of any other size byte by byte. */
static __device__ void move_bytes(const slab &s, bool out)
{
    u64 all = s.n * s.element;

    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < all; i += gridDim.x * (u64)blockDim.x) {
        char *there = s.scattered + place_of(s, i / s.element) * s.element + i % s.element;

        if (out)
            s.dense[i] = *there;
        else
            *there = s.dense[i];
    }
}

extern "C" __global__ void gather(slab s)
{
    if (s.element == 8 && ((u64)s.dense | (u64)s.scattered) % 8 == 0)
        gather_as<double>(s);
    else if (s.element == 4 && ((u64)s.dense | (u64)s.scattered) % 4 == 0)
        gather_as<float>(s);
    else
        move_bytes(s, true);
}

extern "C" __global__ void scatter(slab s)
{
    if (s.element == 8 && ((u64)s.dense | (u64)s.scattered) % 8 == 0)
        scatter_as<double>(s);
    else if (s.element == 4 && ((u64)s.dense | (u64)s.scattered) % 4 == 0)
        scatter_as<float>(s);
    else
        move_bytes(s, false);
}
