/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles in a device's memory, each the same as content.c makes it: every operation is the host's,
 * in its order. The structs are those of device.c. Compiled at run time, behind selection_both.h. */
struct cloud {
    u32 *data;
    u64 *found; /* check: where the first wrong value is, counted from the end */
    tt_device_selection file;
    u64 n, origin;      /* particles; index of the file's first one */
    u64 seed, step;
    u64 rows, row;      /* of all ranks; particles of a row */
    u64 first, between; /* visited: the first particle, and how far apart they are */
    double loss;        /* check: how far a real value may be from the right one */
    u32 records, stamps_only;
};
#define STAMP 1024
#define NUMBER 6 /* the property that is no real number */

static __device__ float uniform(u64 bits)
{
    return (float)(bits >> 40) * 5.9604644775390625e-8f;
}

struct particle {
    u32 words[8];
};

static __device__ particle particle_at(const cloud &c, u64 index)
{
    u64 key = tt_mix(c.seed + (index % STAMP == 0 ? c.step : 0));
    u64 a = tt_mix(key + 2 * index), b = tt_mix(key + 2 * index + 1);
    int number = (int)(index / c.row & 0x7fffffff);
    float n = (float)c.rows, twice = 2.0f * (float)number;

    return {{__float_as_uint(uniform(a) * 191.0f), __float_as_uint(uniform(b) * 1009.0f),
             __float_as_uint((float)number / n * 3701.0f), __float_as_uint(uniform(a << 24) * 191.0f),
             __float_as_uint(uniform(b << 24) * 1009.0f), __float_as_uint(twice / n * 3701.0f),
             (u32)number, __float_as_uint(twice)}};
}

static __device__ bool is_right(const cloud &c, int property, u32 value, u32 right)
{
    double apart = (double)__uint_as_float(value) - (double)__uint_as_float(right);

    return value == right ||
           (property != NUMBER && c.loss > 0 && apart <= c.loss && -apart <= c.loss);
}

template <bool checking> static __device__ void visit_all(const cloud &c)
{
    u64 step = c.between * gridDim.x * blockDim.x;

    for (u64 i = c.first + c.between * (blockIdx.x * (u64)blockDim.x + threadIdx.x); i < c.n; i += step) {
        u64 index = c.origin + tt_device_place_of(&c.file, i);
        particle p;

        if (c.stamps_only && index % STAMP != 0)
            continue;
        p = particle_at(c, index);
        for (int f = 0; f < 8; f++) {
            u32 *value = c.data + (c.records ? i * 8 + f : f * c.n + i);

            if (!checking)
                *value = p.words[f];
            else if (!is_right(c, f, *value, p.words[f]))
                atomicMax(c.found, (c.n - i) * 8 - f);
        }
    }
}

extern "C" __global__ void fill(cloud c)
{
    visit_all<false>(c);
}

extern "C" __global__ void check(cloud c)
{
    visit_all<true>(c);
}

/* ---- between records and arrays ---- */

struct repacking {
    uint4 *records;
    u32 *arrays;
    u64 n;
};

extern "C" __global__ void to_arrays(repacking r)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < r.n; i += gridDim.x * (u64)blockDim.x) {
        uint4 a = r.records[2 * i], b = r.records[2 * i + 1];
        u32 words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};

        for (int f = 0; f < 8; f++)
            r.arrays[f * r.n + i] = words[f];
    }
}

extern "C" __global__ void to_records(repacking r)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < r.n; i += gridDim.x * (u64)blockDim.x) {
        u32 words[8];

        for (int f = 0; f < 8; f++)
            words[f] = r.arrays[f * r.n + i];
        r.records[2 * i] = make_uint4(words[0], words[1], words[2], words[3]);
        r.records[2 * i + 1] = make_uint4(words[4], words[5], words[6], words[7]);
    }
}

/* ---- the computation between two steps, as work.c has it ---- */

struct pushing {
    float *places; /* three arrays, and then those of the momenta */
    u64 passes, n; /* n: particles */
};

extern "C" __global__ void push(pushing p)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < 3 * p.n; i += gridDim.x * (u64)blockDim.x) {
        float place = p.places[i], momentum = p.places[3 * p.n + i];

        for (u64 pass = 0; pass < p.passes; pass++) {
            float next = place + momentum * 0.001f;

            place = next >= 1.0f ? next - 1.0f : next;
        }
        p.places[i] = place;
    }
}
