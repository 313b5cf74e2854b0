/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA C++ by a compiler for the host, as much as kernels need. The build includes their text
 * behind this, for the tests' own device. Threads run one after the other; those of a block that
 * wait for each other have stacks of their own, and take turns. One block at a time. */
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
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

struct alignas(16) double2 {
    double x, y;
};
static inline double2 make_double2(double x, double y)
{
    return {x, y};
}
template <class T> static inline T __ldg(const T *from)
{
    return *from;
}
template <class T> static inline void __stcg(T *to, T value)
{
    *to = value;
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
#define __longlong_as_double bits_as<double, long long>
#define __ffsll __builtin_ffsll

static inline void atomicMax(unsigned long long *most, unsigned long long value)
{
    if (value > *most)
        *most = value;
}

/* ---- threads of a block ---- */

#ifdef __clang__
#define noipa noinline, optnone
#endif
#define MOST_THREADS 256
#define STACK (64 << 10)
typedef void *place[5]; /* of a stack, to go on from */
struct thread {
    ucontext_t context;
    place where;
    bool begun, ended;
    unsigned syncs, shuffles; /* that it has come to */
};
static thread threads[MOST_THREADS];
static unsigned nthreads, me;
static unsigned long shuffles[MOST_THREADS / 32]; /* of all lanes of a warp */
static double shuffled[2][MOST_THREADS];          /* by turns: some lanes are one ahead */
static place scheduler;
static void (*work)();

__attribute__((noipa, noreturn)) static void jump(void **to)
{
    __builtin_longjmp(to, 1);
}

/* Others go on first, and may change memory. */
__attribute__((noipa)) static void wait_for_others()
{
    asm volatile("" ::: "memory");
    if (!__builtin_setjmp(threads[me].where))
        jump(scheduler);
    asm volatile("" ::: "memory");
}

static void live()
{
    for (;;) {
        work();
        threads[me].ended = true;
        wait_for_others();
    }
}

__attribute__((noipa)) static void go_on(unsigned i)
{
    thread &t = threads[i];

    me = i;
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    if (__builtin_setjmp(scheduler))
        return;
    if (t.begun)
        jump(t.where);
    t.begun = true;
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = std::malloc(STACK); /* for as long as the process lives */
    t.context.uc_stack.ss_size = STACK;
    makecontext(&t.context, live, 0);
    setcontext(&t.context);
    std::abort();
}

/* Threads that have ended are not waited for. */
static inline void __syncthreads()
{
    unsigned mine = ++threads[me].syncs;

    for (unsigned i = 0; i < nthreads;)
        if (threads[i].ended || threads[i].syncs >= mine)
            i++;
        else
            wait_for_others();
}

/* All lanes of the warp have to come: one that has ended is a bug, and ends in a hang. */
template <class T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    unsigned warp = me / 32, turn = threads[me].shuffles++;
    T got;

    static_assert(sizeof value <= sizeof(double), "a slot");
    std::memcpy(&shuffled[turn % 2][me], &value, sizeof value);
    for (shuffles[warp]++; shuffles[warp] < 32ul * (turn + 1);)
        wait_for_others();
    std::memcpy(&got, &shuffled[turn % 2][warp * 32 + lane % 32], sizeof got);
    return got;
}

static void do_block()
{
    bool left = true;

    for (unsigned i = 0; i < nthreads; i++) {
        threads[i].ended = false;
        threads[i].syncs = threads[i].shuffles = 0;
    }
    std::memset(shuffles, 0, sizeof shuffles);
    while (left) {
        left = false;
        for (unsigned i = 0; i < nthreads; i++)
            if (!threads[i].ended) {
                go_on(i);
                left |= !threads[i].ended;
            }
    }
}

/* ---- a kernel ---- */

template <class T> struct launched {
    static inline void (*kernel)(T);
    static inline T arguments;
    static void call()
    {
        kernel(arguments);
    }
};

/* False: the host believes that the arguments have another size. */
template <class T>
static bool run(void (*kernel)(T), const void *arguments, std::size_t size, const unsigned *grid,
                const unsigned *block)
{
    nthreads = block[0] * block[1] * block[2];
    if (size != sizeof(T) || nthreads > MOST_THREADS)
        return false;
    launched<T>::kernel = kernel;
    std::memcpy(&launched<T>::arguments, arguments, size);
    work = launched<T>::call;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
                do_block();
    return true;
}
#define RUN(name) \
    extern "C" __attribute__((visibility("default"))) bool run_##name( \
        const void *arguments, std::size_t size, const unsigned *grid, const unsigned *block) \
    { \
        return run(name, arguments, size, grid, block); \
    }
