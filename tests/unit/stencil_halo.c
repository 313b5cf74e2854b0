/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 6 */
/* After an exchange every halo point holds its owner's value, and nothing else has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "workloads/stencil/stencil.h"

static const struct tt_caches caches = {.second = 64 << 10, .last = 1 << 20};

/* A value that names the point. */
static double name_of(const struct tt_grid *g, int64_t k, int64_t i, int64_t j)
{
    return (double)((int64_t)g->owned.start[0] + k) * 1e6 +
           (double)((int64_t)g->owned.start[1] + i) * 1e3 +
           (double)((int64_t)g->owned.start[2] + j);
}

static double *at(const struct tt_grid *g, int64_t k, int64_t i, int64_t j)
{
    return g->values[0] + g->layout.origin + k * g->layout.plane + i * g->layout.row + j;
}

static bool beyond(const struct tt_grid *g, int d, int64_t index)
{
    return index < 0 || index >= (int64_t)g->owned.count[d];
}

/* Halo points that somebody owns and this stencil needs. */
static bool is_filled(const struct tt_grid *g, const struct tt_partition *p, const int64_t index[3])
{
    int outside = 0;

    for (int d = 0; d < 3; d++) {
        int64_t global = (int64_t)g->owned.start[d] + index[d];
        int64_t size = (int64_t)p->size[d];

        outside += beyond(g, d, index[d]);
        if (global < 0 || global >= size)
            return false;
    }
    return outside <= 1 || tt_stencil_facts[g->problem.shape].diagonals;
}

/* Calls visit for the block and everything around it. */
static void each_point(struct tt_grid *g, const struct tt_partition *p,
                       void (*visit)(struct tt_grid *, const struct tt_partition *,
                                     const int64_t index[3]))
{
    int64_t deep = p->ndims == 3;

    for (int64_t k = -deep; k < (int64_t)g->owned.count[0] + deep; k++)
        for (int64_t i = -1; i <= (int64_t)g->owned.count[1]; i++)
            for (int64_t j = -1; j <= (int64_t)g->owned.count[2]; j++)
                visit(g, p, (const int64_t[3]){k, i, j});
}

static void set(struct tt_grid *g, const struct tt_partition *p, const int64_t x[3])
{
    bool halo = beyond(g, 0, x[0]) || beyond(g, 1, x[1]) || beyond(g, 2, x[2]);

    (void)p;
    *at(g, x[0], x[1], x[2]) = halo ? -1 : name_of(g, x[0], x[1], x[2]);
}

static void check(struct tt_grid *g, const struct tt_partition *p, const int64_t x[3])
{
    double expected = is_filled(g, p, x) ? name_of(g, x[0], x[1], x[2]) : -1;

    if (*at(g, x[0], x[1], x[2]) != expected)
        fail_msg("shape %d, point %lld %lld %lld: %g instead of %g", (int)g->problem.shape,
                 (long long)x[0], (long long)x[1], (long long)x[2], *at(g, x[0], x[1], x[2]),
                 expected);
}

static void exchange(enum tt_stencil_shape shape, enum tt_decomposition how, uint64_t size)
{
    const struct tt_stencil_facts *facts = &tt_stencil_facts[shape];
    const struct tt_problem problem = {.shape = shape,
                                       .size = {facts->ndims == 3 ? size : 1, size + 2, size + 5}};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_partition p;
    struct tt_grid g;
    struct tt_halo h;
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    assert_int_equal(TT_OK, tt_partition_make(&p, facts->ndims, problem.size, how, ranks, &e));
    assert_int_equal(TT_OK, tt_grid_make(&g, &problem, &p, rank, 1, &caches, ranks, &e));
    assert_int_equal(
        TT_OK, tt_halo_make(&h, MPI_COMM_WORLD, &p, &g.owned, &g.layout, facts->diagonals, &e));
    each_point(&g, &p, set);
    assert_int_equal(TT_OK, tt_halo_post(&h, g.values[0], &e));
    assert_int_equal(TT_OK, tt_halo_wait(&h, &e));
    assert_true(tt_halo_test(&h));
    each_point(&g, &p, check);
    assert_true((h.bytes > 0) == (ranks > 1));
    tt_halo_free(&h);
    tt_grid_free(&g);
}

static void test_exchange(void **state)
{
    (void)state;
    for (int shape = 0; shape < TT_NSHAPES; shape++)
        for (int how = TT_ROWS; how <= TT_BLOCKS; how++)
            for (uint64_t size = 6; size <= 13; size += 7)
                exchange((enum tt_stencil_shape)shape, (enum tt_decomposition)how, size);
}

/* Sides of more than 2 GiB are counted, whatever fits into an int. */
static void test_large_sides(void **state)
{
    const uint64_t columns = 300000000, size[3] = {1, 12, columns};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_partition p;
    struct tt_layout l;
    struct tt_owned o;
    struct tt_halo h;
    int rank, ranks;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    assert_int_equal(TT_OK, tt_partition_make(&p, 2, size, TT_ROWS, ranks, &e));
    tt_partition_owned(&p, rank, &o);
    tt_layout_make(&l, 2, &o);
    assert_int_equal(TT_OK, tt_halo_make(&h, MPI_COMM_WORLD, &p, &o, &l, false, &e));
    assert_int_equal((uint64_t)h.n * columns * sizeof(double), h.bytes);
    for (int i = 0; i < h.n; i++)
        assert_int_equal(columns, h.neighbours[i].points);
    tt_halo_free(&h);
}

/* Rank 0 posts its halos, the others have failed before: what comes after it has given up goes
 * nowhere near its memory. */
static void test_failure(void **state)
{
    const struct tt_problem problem = {.size = {1, 40, 9}};
    struct tt_error e = TT_ERROR_CLEAR;
    int rank, ranks, tag, is_left = 1;
    struct tt_partition p;
    struct tt_grid g;
    struct tt_halo h;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    assert_int_equal(TT_OK, tt_partition_make(&p, 2, problem.size, TT_ROWS, ranks, &e));
    assert_int_equal(TT_OK, tt_grid_make(&g, &problem, &p, rank, 1, &caches, ranks, &e));
    assert_int_equal(TT_OK, tt_halo_make(&h, MPI_COMM_WORLD, &p, &g.owned, &g.layout, false, &e));
    tag = rank == 0 ? h.neighbours[0].receive_tag : h.neighbours[0].send_tag;
    if (rank == 0)
        assert_int_equal(TT_OK, tt_halo_post(&h, g.values[0], &e));
    tt_halo_free(&h);
    tt_grid_free(&g);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(&is_left, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        MPI_Send(&is_left, 1, MPI_INT, 0, 100, MPI_COMM_WORLD);
    }
    if (rank == 0 && ranks > 1) {
        MPI_Recv(&is_left, 1, MPI_INT, 1, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(1, tag, MPI_COMM_WORLD, &is_left, MPI_STATUS_IGNORE);
    }
    assert_true(is_left);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exchange),
                                       cmocka_unit_test(test_large_sides),
                                       cmocka_unit_test(test_failure)};
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
