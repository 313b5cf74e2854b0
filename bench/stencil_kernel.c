/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How near the stencil comes to what the machine can do, with all ranks at once; printed as JSON.
 *   stream_ratio: updates/s of the 2D 5-point stencil, halo exchange included, on a grid of four
 * times the last-level cache / the best streaming copy's bytes/s (read + written) / 16 bytes per
 * update sine_ratio: updates/s with the perturbation, on a grid that stays in cache / those of a
 * scalar loop that calls sin() once per point mpirun -n 2 bench_stencil_kernel [ROUNDS] */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/clock.h"
#include "workloads/stencil/stencil.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* ---- streaming copies ---- */

typedef void copy_fn(double *to, const double *from, size_t n);

static void copy_plain(double *to, const double *from, size_t n)
{
    memcpy(to, from, n * sizeof *to);
}

#if defined(__x86_64__)
static void copy_sse2(double *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i += 8)
        for (size_t k = 0; k < 8; k += 2)
            _mm_stream_pd(to + i + k, _mm_load_pd(from + i + k));
    _mm_sfence();
}

__attribute__((target("avx"))) static void copy_avx(double *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        for (size_t k = 0; k < 16; k += 4)
            _mm256_stream_pd(to + i + k, _mm256_load_pd(from + i + k));
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void copy_avx512(double *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i += 32)
        for (size_t k = 0; k < 32; k += 8)
            _mm512_stream_pd(to + i + k, _mm512_load_pd(from + i + k));
    _mm_sfence();
}
#endif

static int available_copies(copy_fn *copies[4])
{
    int n = 0;

    copies[n++] = copy_plain;
#if defined(__x86_64__)
    copies[n++] = copy_sse2;
    if (__builtin_cpu_supports("avx"))
        copies[n++] = copy_avx;
    if (__builtin_cpu_supports("avx512f"))
        copies[n++] = copy_avx512;
#endif
    return n;
}

/* The slowest rank's seconds since start. */
static double slowest(int64_t start)
{
    double mine = tt_seconds(tt_now_ns() - start), all;

    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Bytes/s, read and written, of all ranks together. */
static double copy_rate(copy_fn *copy, double *to, const double *from, size_t n, int ranks)
{
    int64_t start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = tt_now_ns();
    copy(to, from, n);
    return 2.0 * sizeof(double) * (double)n * ranks / slowest(start);
}

static double *allocate(size_t n)
{
    void *memory;

    if (posix_memalign(&memory, HUGE_PAGE, n * sizeof(double)))
        return NULL;
    madvise(memory, n * sizeof(double), MADV_HUGEPAGE);
    memset(memory, 1, n * sizeof(double));
    return memory;
}

/* ---- the stencil ---- */

static double sweep_rate(struct tt_grid *g, struct tt_halo *halo, const struct tt_box *box,
                         uint64_t size, struct tt_error *e)
{
    int64_t start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = tt_now_ns();
    if (tt_halo_post(halo, g->values[0], e) != TT_OK || tt_halo_wait(halo, e) != TT_OK)
        return 0;
    tt_grid_sweep(g, box);
    tt_grid_swap(g);
    return (double)(size - 2) * (double)(size - 2) / slowest(start);
}

static int stream_ratio(int rank, int ranks, int rounds, struct tt_error *e)
{
    struct tt_caches caches = tt_caches_find();
    uint64_t size = (uint64_t)sqrt(4.0 * (double)caches.last / sizeof(double));
    struct tt_problem problem = {.shape = TT_STAR2D, .size = {1, size, size}};
    size_t n = size * size / (size_t)ranks / 512 * 512;
    double *from = allocate(n), *to = allocate(n), best_copy = 0, best_sweep = 0;
    struct tt_partition p;
    struct tt_grid g;
    struct tt_halo halo;
    struct tt_box box;
    copy_fn *copies[4];
    int ncopies = available_copies(copies);

    if (!from || !to)
        return tt_fail_nomem(e, "the copy");
    if (tt_partition_make(&p, 2, problem.size, TT_ROWS, ranks, e) != TT_OK ||
        tt_grid_make(&g, &problem, &p, rank, 1, &caches, ranks, e) != TT_OK ||
        tt_halo_make(&halo, MPI_COMM_WORLD, &p, &g.owned, &g.layout, false, e) != TT_OK)
        return e->code;
    box = tt_box_computed(&p, &g.owned);
    for (int i = 0; i < rounds; i++) {
        for (int c = 0; c < ncopies; c++) {
            best_copy = fmax(best_copy, copy_rate(copies[c], to, from, n, ranks));
            best_sweep = fmax(best_sweep, sweep_rate(&g, &halo, &box, size, e));
        }
    }
    if (rank == 0)
        printf(
            "\"size\": %llu, \"ranks\": %d, \"instructions\": \"%s\", \"streaming_stores\": %s,\n"
            " \"copy_rate\": %.4g, \"update_rate\": %.4g, \"stream_ratio\": %.3f",
            (unsigned long long)size, ranks, g.kernels->name, g.stream ? "true" : "false",
            best_copy, best_sweep, best_sweep / (best_copy / 16));
    tt_halo_free(&halo);
    tt_grid_free(&g);
    free(from);
    free(to);
    return e->code;
}

/* ---- the sine ---- */

static __attribute__((noinline)) void scalar_sweep(struct tt_grid *g, const struct tt_box *box)
{
    double h = 1.0 / (double)(g->problem.size[2] - 1);

    for (int64_t i = box->first[1]; i < box->last[1]; i++) {
        const double *old = g->values[0] + g->layout.origin + i * g->layout.row;
        double *new = g->values[1] + g->layout.origin + i * g->layout.row;
        double factor = g->coefficient * sin(M_PI * h * (double)i);

        for (int64_t j = box->first[2]; j < box->last[2]; j++)
            new[j] =
                0.25 * (old[j - g->layout.row] + old[j - 1] + old[j + 1] + old[j + g->layout.row]) +
                factor *sin(M_PI * h * (double)j);
    }
}

static double seconds_of(void (*sweep)(struct tt_grid *, const struct tt_box *), struct tt_grid *g,
                         const struct tt_box *box)
{
    int64_t start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = tt_now_ns();
    for (int i = 0; i < 4; i++) {
        sweep(g, box);
        tt_grid_swap(g);
    }
    return slowest(start);
}

static int sine_ratio(int rank, int rounds, struct tt_error *e)
{
    const struct tt_problem problem = {
        .shape = TT_STAR2D, .perturbation = TT_PERTURBATION_SINE, .size = {1, 512, 512}};
    struct tt_caches caches = tt_caches_find();
    struct tt_partition p;
    struct tt_grid g;
    struct tt_box box;
    double scalar = INFINITY, vector = INFINITY;

    if (tt_partition_make(&p, 2, problem.size, TT_ROWS, 1, e) != TT_OK ||
        tt_grid_make(&g, &problem, &p, 0, 1, &caches, 1, e) != TT_OK)
        return e->code;
    box = tt_box_computed(&p, &g.owned);
    for (int i = 0; i < rounds; i++) {
        scalar = fmin(scalar, seconds_of(scalar_sweep, &g, &box));
        vector = fmin(vector, seconds_of(tt_grid_sweep, &g, &box));
    }
    if (rank == 0)
        printf(",\n \"sine_ratio\": %.2f", scalar / vector);
    tt_grid_free(&g);
    return TT_OK;
}

int main(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int rank, ranks, rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40;
    char text[512];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        printf("{");
    if (stream_ratio(rank, ranks, rounds, &e) == TT_OK)
        sine_ratio(rank, rounds, &e);
    if (rank == 0)
        printf("}\n");
    if (e.code != TT_OK) {
        tt_error_format(&e, text, sizeof text);
        fprintf(stderr, "bench_stencil_kernel: %s\n", text);
    }
    MPI_Finalize();
    return tt_exit_status(e.code);
}
