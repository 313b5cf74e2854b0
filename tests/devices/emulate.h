/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA C++ by a compiler for the host, as much as kernels without shared memory need: all threads
 * one after the other. The build includes the text of kernels behind this, for the tests' own
 * device. */
#include <cstddef>
#include <cstring>

#define __global__
#define __device__
#define __launch_bounds__(...)

static struct {
    unsigned x, y, z;
} gridDim, blockDim, blockIdx, threadIdx;

struct uint4 {
    unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

template <class To, class From> static inline To bits_as(From from)
{
    To to;

    static_assert(sizeof to == sizeof from, "bits");
    std::memcpy(&to, &from, sizeof to);
    return to;
}
#define __float_as_uint bits_as<unsigned, float>
#define __uint_as_float bits_as<float, unsigned>
#define __double_as_longlong bits_as<long long, double>
#define __ffsll __builtin_ffsll

static inline void atomicMax(unsigned long long *most, unsigned long long value)
{
    if (value > *most)
        *most = value;
}

/* False: the host believes that the arguments have another size. */
template <class T>
static bool run(void (*kernel)(T), const void *arguments, std::size_t size, const unsigned *grid,
                const unsigned *block)
{
    T own;

    if (size != sizeof own)
        return false;
    std::memcpy(&own, arguments, size);
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < block[0]; threadIdx.x++)
            kernel(own);
    return true;
}
#define RUN(name) \
    extern "C" __attribute__((visibility("default"))) bool run_##name( \
        const void *arguments, std::size_t size, const unsigned *grid, const unsigned *block) \
    { \
        return run(name, arguments, size, grid, block); \
    }
