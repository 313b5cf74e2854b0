/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames in a device's memory, value by value those of content.c: every operation is the host's. The
 * structs are those of device.c. Compiled at run time. */
struct shape {
    u64 parts[3], block[3], dims[3], start[3];
    u64 width, values; /* floats of an element, and of this rank */
};
struct visit {
    void *data;
    u64 *found; /* check: where the first wrong value is, counted from the end */
    shape s;
    u64 seed, frame;
    double loss; /* check: how far a value may be from the right one */
    u32 doubles;
};

/* The number of the rank's i-th value in the whole frame. */
static __device__ u64 place_of(const shape &s, u64 i)
{
    u64 length = s.block[2] * s.width, row = i / length;
    u64 z = s.start[0] + row / s.block[1], y = s.start[1] + row % s.block[1];

    return ((z * s.dims[1] + y) * s.dims[2] + s.start[2]) * s.width + i % length;
}

static __device__ double value_at(const visit &v, u64 i)
{
    u64 seed = tt_mix(tt_mix(v.seed) ^ v.frame);

    return (double)(tt_mix(seed + place_of(v.s, i)) >> 11) * 0x1p-53;
}

extern "C" __global__ void fill(visit v)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < v.s.values; i += gridDim.x * (u64)blockDim.x)
        if (v.doubles)
            ((double *)v.data)[i] = value_at(v, i);
        else
            ((float *)v.data)[i] = (float)value_at(v, i);
}

extern "C" __global__ void check(visit v)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < v.s.values; i += gridDim.x * (u64)blockDim.x) {
        float right = (float)value_at(v, i);
        double apart = (double)((const float *)v.data)[i] - (double)right;

        if (((const u32 *)v.data)[i] != __float_as_uint(right) &&
            !(v.loss > 0 && apart <= v.loss && -apart <= v.loss)) /* NaN is wrong, too */
            atomicMax(v.found, v.s.values - i);
    }
}

struct conversion {
    const double *from;
    float *to;
    u64 n;
};

extern "C" __global__ void convert(conversion c)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < c.n; i += gridDim.x * (u64)blockDim.x)
        c.to[i] = (float)c.from[i];
}

/* ---- what stands for the simulation ---- */

struct field {
    double *now, *next;
    u64 n;
};

extern "C" __global__ void begin(field f)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < f.n; i += gridDim.x * (u64)blockDim.x)
        f.now[i] = f.next[i] = (double)(i % 97);
}

extern "C" __global__ void step(field f)
{
    u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x + 1;

    for (u64 i = first; i + 1 < f.n; i += gridDim.x * (u64)blockDim.x)
        f.next[i] = 0.25 * f.now[i - 1] + 0.5 * f.now[i] + 0.25 * f.now[i + 1];
}
