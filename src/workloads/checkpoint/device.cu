/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the state in a device's memory: what differs from checkpoint to checkpoint, and comparing. The
 * structs are those of device.c. Compiled at run time. */
struct stamping {
    char *data;
    u64 first, n, word; /* bytes before the first stamp; stamps */
};

extern "C" __global__ void stamp(stamping s)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < s.n; i += gridDim.x * (u64)blockDim.x)
        *(u64 *)(s.data + s.first + i * 4096) = s.word;
}

struct comparison {
    const char *data, *right;
    u64 *found; /* where the first wrong byte is, counted from the end */
    u64 n;
};

extern "C" __global__ void differ(comparison c)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < c.n; i += gridDim.x * (u64)blockDim.x)
        if (c.data[i] != c.right[i])
            atomicMax(c.found, c.n - i);
}
