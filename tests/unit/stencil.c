/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels, sweeps and decomposition of the stencil against a naive scalar implementation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "workloads/stencil/stencil.h"

static const struct tt_caches caches = {.second = 64 << 10, .last = 1 << 20};
static const char *const shape_names[] = {"star2d", "box2d", "star3d", "box3d"};

/* ---- the naive implementation: a dense array, global indices, libm ---- */

struct naive {
    struct tt_problem problem;
    int64_t n[3];
    double *old, *new;
};

static double get(const struct naive *s, int64_t k, int64_t i, int64_t j)
{
    return s->old[(k * s->n[1] + i) * s->n[2] + j];
}

/* Points around (k, i) in column j: the four next to it, and the four diagonal to it. */
static double next_to(const struct naive *s, int64_t k, int64_t i, int64_t j)
{
    return get(s, k - 1, i, j) + get(s, k, i - 1, j) + get(s, k, i + 1, j) + get(s, k + 1, i, j);
}

static double diagonal_to(const struct naive *s, int64_t k, int64_t i, int64_t j)
{
    return get(s, k - 1, i - 1, j) + get(s, k - 1, i + 1, j) + get(s, k + 1, i - 1, j) +
           get(s, k + 1, i + 1, j);
}

static double naive_sum(const struct naive *s, int64_t k, int64_t i, int64_t j)
{
    double cross =
        get(s, k, i - 1, j) + get(s, k, i, j - 1) + get(s, k, i, j + 1) + get(s, k, i + 1, j);
    double faces, edges, corners;

    switch (s->problem.shape) {
    case TT_STAR2D:
        return 0.25 * cross;
    case TT_BOX2D:
        corners = get(s, k, i - 1, j - 1) + get(s, k, i - 1, j + 1) + get(s, k, i + 1, j - 1) +
                  get(s, k, i + 1, j + 1);
        return (4 * cross + corners) * (1.0 / 20);
    case TT_STAR3D:
        return (get(s, k - 1, i, j) + get(s, k, i - 1, j) + get(s, k, i, j - 1) +
                get(s, k, i, j + 1) + get(s, k, i + 1, j) + get(s, k + 1, i, j)) *
               (1.0 / 6);
    default:
        faces = next_to(s, k, i, j) + get(s, k, i, j - 1) + get(s, k, i, j + 1);
        edges = diagonal_to(s, k, i, j) + next_to(s, k, i, j - 1) + next_to(s, k, i, j + 1);
        corners = diagonal_to(s, k, i, j - 1) + diagonal_to(s, k, i, j + 1);
        return (14 * faces + 3 * edges + corners) / 128;
    }
}

static double naive_source(const struct naive *s, int64_t k, int64_t i, int64_t j)
{
    static const double weights[] = {1.0 / 4, 0.3, 1.0 / 6, 30.0 / 128};
    double hy = 1.0 / (double)(s->n[1] - 1), hx = 1.0 / (double)(s->n[2] - 1);
    double squares = hy * hy + hx * hx, f = sin(M_PI * hy * (double)i) * sin(M_PI * hx * (double)j);

    if (s->problem.shape >= TT_STAR3D) {
        double hz = 1.0 / (double)(s->n[0] - 1);

        squares += hz * hz;
        f *= sin(M_PI * hz * (double)k);
    }
    return s->problem.perturbation == TT_PERTURBATION_SINE
               ? weights[s->problem.shape] * (double)(s->problem.field + 1) * M_PI * M_PI *
                     squares * f
               : 0.0;
}

static double naive_boundary(const struct naive *s, int64_t k, int64_t i, int64_t j)
{
    int64_t rows = s->n[1], columns = s->n[2];
    double x = 1.0 / (double)(columns - 1) * (double)j, y = 1.0 / (double)(rows - 1) * (double)i;
    double z = k ? 1.0 / (double)(s->n[0] - 1) * (double)k : 0,
           scale = (double)s->problem.field + 1;

    if (s->problem.perturbation == TT_PERTURBATION_SINE)
        return 0.0;
    if (s->problem.shape >= TT_STAR3D)
        return scale * ((1 - x) * (1 - y) * (1 - z) + x * y * z);
    if ((i == 0 || i == rows - 1) && (j == 0 || j == columns - 1))
        return scale * ((i == 0) == (j == 0));
    if (j == 0 || j == columns - 1)
        return scale * (j == 0 ? 1 - y : y);
    return scale * (i == 0 ? 1 - x : x);
}

static void naive_make(struct naive *s, const struct tt_problem *problem)
{
    const uint64_t *n = problem->size;
    int64_t planes = (int64_t)n[0], rows = (int64_t)n[1], columns = (int64_t)n[2];
    bool deep = problem->shape >= TT_STAR3D;

    *s = (struct naive){.problem = *problem, .n = {planes, rows, columns}};
    s->old = calloc((size_t)(planes * rows * columns), sizeof(double));
    s->new = calloc((size_t)(planes * rows * columns), sizeof(double));
    assert_true(s->old && s->new);
    for (int64_t k = 0; k < planes; k++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                if (i == 0 || i == rows - 1 || j == 0 || j == columns - 1 ||
                    (deep && (k == 0 || k == planes - 1)))
                    s->old[(k * rows + i) * columns + j] = s->new[(k * rows + i) * columns + j] =
                        naive_boundary(s, k, i, j);
}

static void naive_iterate(struct naive *s)
{
    int64_t flat = s->n[0] == 1, rows = s->n[1], columns = s->n[2];
    double *swap = s->old;

    for (int64_t k = !flat; k < s->n[0] - !flat; k++)
        for (int64_t i = 1; i < rows - 1; i++)
            for (int64_t j = 1; j < columns - 1; j++)
                s->new[(k * rows + i) * columns + j] =
                    naive_sum(s, k, i, j) + naive_source(s, k, i, j);
    s->old = s->new;
    s->new = swap;
}

static void naive_free(struct naive *s)
{
    free(s->old);
    free(s->new);
}

/* ---- blocks of one process, their halos filled from the naive field ---- */

static double *padded(const struct tt_grid *g, int64_t k, int64_t i, int64_t j)
{
    return g->values[0] + g->layout.origin + k * g->layout.plane + i * g->layout.row + j;
}

/* Everything around the block, as an exchange with all neighbours would bring it. */
static void fill_halo(struct tt_grid *g, const struct naive *s)
{
    int64_t deep = s->n[0] > 1;
    const uint64_t *start = g->owned.start, *count = g->owned.count;

    for (int64_t k = -deep; k < (int64_t)count[0] + deep; k++)
        for (int64_t i = -1; i <= (int64_t)count[1]; i++)
            for (int64_t j = -1; j <= (int64_t)count[2]; j++) {
                int64_t at[3] = {(int64_t)start[0] + k, (int64_t)start[1] + i,
                                 (int64_t)start[2] + j};
                bool own = k >= 0 && k < (int64_t)count[0] && i >= 0 && i < (int64_t)count[1] &&
                           j >= 0 && j < (int64_t)count[2];
                bool inside = at[0] >= 0 && at[0] < s->n[0] && at[1] >= 0 && at[1] < s->n[1] &&
                              at[2] >= 0 && at[2] < s->n[2];

                if (!own)
                    *padded(g, k, i, j) = inside ? get(s, at[0], at[1], at[2]) : NAN;
            }
}

static void compare(const struct tt_grid *g, const struct naive *s, const char *what)
{
    double allowed = s->problem.perturbation == TT_PERTURBATION_SINE ? 1e-12 : 0.0;

    for (uint64_t k = 0; k < g->owned.count[0]; k++)
        for (uint64_t i = 0; i < g->owned.count[1]; i++)
            for (uint64_t j = 0; j < g->owned.count[2]; j++) {
                double is = *padded(g, (int64_t)k, (int64_t)i, (int64_t)j);
                double should =
                    get(s, (int64_t)(g->owned.start[0] + k), (int64_t)(g->owned.start[1] + i),
                        (int64_t)(g->owned.start[2] + j));

                if (allowed == 0.0 ? memcmp(&is, &should, sizeof is) != 0
                                   : !(fabs(is - should) <= allowed))
                    fail_msg("%s %s size %lldx%lldx%lld at %llu %llu %llu: %.17g instead of %.17g",
                             g->kernels->name, what, (long long)s->n[0], (long long)s->n[1],
                             (long long)s->n[2], (unsigned long long)k, (unsigned long long)i,
                             (unsigned long long)j, is, should);
            }
}

static void sweep_parts(struct tt_grid *g, const struct tt_partition *p, bool overlap)
{
    struct tt_box all = tt_box_computed(p, &g->owned), inner = all, shell[6];
    int n = tt_box_shell(p, &g->owned, &inner, shell);

    if (!overlap) {
        tt_grid_sweep(g, &all);
    } else {
        tt_grid_sweep(g, &inner);
        for (int i = 0; i < n; i++)
            tt_grid_sweep(g, &shell[i]);
    }
    tt_grid_swap(g);
}

struct variant {
    int ranks, threads;
    enum tt_decomposition how;
    bool overlap, stream;
    const struct tt_stencil_kernels *kernels;
};

static void check_variant(const struct tt_problem *problem, const struct variant *v)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_partition p;
    struct tt_grid grids[12];
    struct naive s;

    assert_int_equal(TT_OK, tt_partition_make(&p, tt_stencil_facts[problem->shape].ndims,
                                              problem->size, v->how, v->ranks, &e));
    naive_make(&s, problem);
    for (int r = 0; r < v->ranks; r++) {
        assert_int_equal(TT_OK,
                         tt_grid_make(&grids[r], problem, &p, r, v->threads, &caches, 1, &e));
        grids[r].kernels = v->kernels;
        grids[r].stream = v->stream;
        grids[r].tile[0] = 11; /* small, so that a small grid has many */
        grids[r].tile[1] = 24;
    }
    for (int it = 0; it < 3; it++) {
        for (int r = 0; r < v->ranks; r++)
            fill_halo(&grids[r], &s);
        naive_iterate(&s);
        for (int r = 0; r < v->ranks; r++) {
            sweep_parts(&grids[r], &p, v->overlap);
            compare(&grids[r], &s, shape_names[problem->shape]);
        }
    }
    for (int r = 0; r < v->ranks; r++)
        tt_grid_free(&grids[r]);
    naive_free(&s);
}

/* Sides of the same length, and of three different ones in a field that is not the first. */
static void every_shape(const struct variant *v, const uint64_t *sizes)
{
    for (int shape = 0; shape < TT_NSHAPES; shape++)
        for (int perturbation = 0; perturbation < 2; perturbation++)
            for (int i = 0; sizes[i]; i++) {
                uint64_t n = sizes[i], deep = shape >= TT_STAR3D;
                struct tt_problem problem = {.shape = (enum tt_stencil_shape)shape,
                                             .perturbation =
                                                 (enum tt_stencil_perturbation)perturbation,
                                             .size = {deep ? n : 1, n, n},
                                             .work = n % 3};

                check_variant(&problem, v);
                problem.size[1] = n + 4;
                problem.size[2] = n / 2 + 9;
                problem.field = 2;
                check_variant(&problem, v);
            }
}

static void test_kernels(void **state)
{
    const uint64_t sizes[] = {3, 4, 9, 16, 17, 35, 51, 0};

    (void)state;
    for (unsigned k = 0; tt_stencil_kernels(k); k++)
        for (int stream = 0; stream < 2; stream++) {
            struct variant v = {
                .ranks = 1, .threads = 1, .stream = stream == 1, .kernels = tt_stencil_kernels(k)};

            every_shape(&v, sizes);
        }
}

static void test_threads(void **state)
{
    const uint64_t sizes[] = {3, 14, 35, 0};

    (void)state;
    for (int threads = 2; threads <= 5; threads++) {
        struct variant v = {.ranks = 1, .threads = threads, .kernels = tt_stencil_kernels(0)};

        every_shape(&v, sizes);
    }
}

static void test_blocks(void **state)
{
    const uint64_t sizes[] = {13, 26, 0};

    (void)state;
    for (int ranks = 2; ranks <= 12; ranks += 2)
        for (int how = TT_ROWS; how <= TT_BLOCKS; how++)
            for (int overlap = 0; overlap < 2; overlap++) {
                struct variant v = {.ranks = ranks,
                                    .threads = 1,
                                    .how = (enum tt_decomposition)how,
                                    .overlap = overlap == 1,
                                    .kernels = tt_stencil_kernels(0)};

                every_shape(&v, sizes);
            }
}

/* All instruction sets give the very same bits with the sine, too. */
static void test_same_bits(void **state)
{
    const struct tt_problem problem = {
        .shape = TT_STAR2D, .perturbation = TT_PERTURBATION_SINE, .size = {1, 77, 50}};
    const struct tt_partition p = {.ndims = 2, .size = {1, 77, 50}, .parts = {1, 1, 1}};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_grid first;
    struct tt_box box;

    (void)state;
    assert_int_equal(TT_OK, tt_grid_make(&first, &problem, &p, 0, 1, &caches, 1, &e));
    box = tt_box_computed(&p, &first.owned);
    for (int it = 0; it < 4; it++) {
        tt_grid_sweep(&first, &box);
        tt_grid_swap(&first);
    }
    for (unsigned k = 1; tt_stencil_kernels(k); k++) {
        struct tt_grid other;

        assert_int_equal(TT_OK, tt_grid_make(&other, &problem, &p, 0, 2, &caches, 1, &e));
        other.kernels = tt_stencil_kernels(k);
        for (int it = 0; it < 4; it++) {
            tt_grid_sweep(&other, &box);
            tt_grid_swap(&other);
        }
        assert_memory_equal(first.values[0], other.values[0], first.layout.total * sizeof(double));
        assert_true(tt_grid_difference(&first, &box) == tt_grid_difference(&other, &box));
        assert_true(tt_grid_difference(&first, &box) > 0);
        tt_grid_free(&other);
    }
    tt_grid_free(&first);
}

static void test_sine(void **state)
{
    double worst = 0;

    (void)state;
    for (int i = 0; i <= 100000; i++) {
        double x = i / 100000.0;

        worst =
            fmax(worst, (double)fabsl(tt_stencil_sine(x) - sinl(3.14159265358979323846264L * x)));
    }
    assert_true(worst < 1e-15);
}

/* Every point of the grid has exactly one owner, and neighbours know each other. */
static void check_cover(const struct tt_partition *p, int ranks)
{
    const uint64_t *n = p->size;
    uint64_t total = n[0] * n[1] * n[2];
    unsigned char *owners = calloc(total, 1);

    assert_non_null(owners);
    for (int r = 0; r < ranks; r++) {
        struct tt_owned o;

        tt_partition_owned(p, r, &o);
        for (uint64_t k = 0; k < o.count[0]; k++)
            for (uint64_t i = 0; i < o.count[1]; i++)
                for (uint64_t j = 0; j < o.count[2]; j++)
                    owners[((o.start[0] + k) * n[1] + o.start[1] + i) * n[2] + o.start[2] + j]++;
        for (int c = 0; c < 27; c++) {
            const int there[3] = {c / 9 - 1, c / 3 % 3 - 1, c % 3 - 1};
            const int back[3] = {-there[0], -there[1], -there[2]};
            int neighbour = tt_partition_neighbour(p, &o, there);
            struct tt_owned other;

            if (neighbour < 0)
                continue;
            tt_partition_owned(p, neighbour, &other);
            assert_int_equal(r, tt_partition_neighbour(p, &other, back));
        }
    }
    for (uint64_t i = 0; i < total; i++)
        assert_int_equal(1, owners[i]);
    free(owners);
}

#define SQUARE(n) ((const uint64_t[3]){1, n, n})
#define CUBE(n) ((const uint64_t[3]){n, n, n})

static void test_decomposition(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_partition p;

    (void)state;
    for (int ndims = 2; ndims <= 3; ndims++)
        for (uint64_t n = 3; n < 20; n += 2)
            for (int ranks = 1; ranks <= 40; ranks++)
                for (int how = TT_ROWS; how <= TT_BLOCKS; how++) {
                    const uint64_t size[] = {ndims == 3 ? n : 1, n + n % 3, n + n % 5};

                    tt_error_clear(&e);
                    if (tt_partition_make(&p, ndims, size, (enum tt_decomposition)how, ranks, &e) ==
                        TT_OK)
                        check_cover(&p, ranks);
                    else
                        assert_true((uint64_t)ranks > n);
                }
    tt_error_clear(&e);
    assert_int_equal(TT_OK, tt_partition_make(&p, 2, SQUARE(100), TT_BLOCKS, 12, &e));
    assert_int_equal(4, p.parts[1]);
    assert_int_equal(3, p.parts[2]);
    assert_int_equal(TT_OK, tt_partition_make(&p, 3, CUBE(100), TT_BLOCKS, 12, &e));
    assert_int_equal(3 + 2 + 2, p.parts[0] + p.parts[1] + p.parts[2]);
}

/* Cuts go across long sides: the parts are as near to cubes as the ranks allow. */
static void test_uneven_sides(void **state)
{
    static const struct {
        uint64_t size[3];
        int ranks, parts[3];
    } cases[] = {
        {{1, 100, 400}, 4, {1, 1, 4}},    {{1, 400, 100}, 4, {1, 4, 1}},
        {{1, 100, 400}, 16, {1, 2, 8}},   {{64, 128, 32}, 2, {1, 2, 1}},
        {{64, 128, 32}, 16, {4, 4, 1}},   {{64, 128, 32}, 8, {2, 4, 1}},
        {{1000, 10, 10}, 12, {12, 1, 1}}, {{3, 1000, 1000}, 4, {1, 2, 2}},
    };
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_partition p;
    char text[TT_SIZE_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ndims = cases[i].size[0] > 1 ? 3 : 2;

        assert_int_equal(
            TT_OK, tt_partition_make(&p, ndims, cases[i].size, TT_BLOCKS, cases[i].ranks, &e));
        assert_memory_equal(p.parts, cases[i].parts, sizeof p.parts);
        check_cover(&p, cases[i].ranks);
    }
    assert_string_equal(tt_partition_text(&p, text), "3x1000x1000");
    assert_int_equal(TT_OK, tt_partition_make(&p, 2, cases[0].size, TT_ROWS, 3, &e));
    assert_string_equal(tt_partition_text(&p, text), "100x400");
}

static void test_too_many_ranks(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_partition p;

    (void)state;
    assert_int_equal(TT_USAGE, tt_partition_make(&p, 2, SQUARE(16), TT_ROWS, 17, &e));
    assert_string_equal("--size 16 with rows has 16 rows for 17 ranks; use fewer ranks", e.text);
    tt_error_clear(&e);
    assert_int_equal(TT_USAGE, tt_partition_make(&p, 2, SQUARE(16), TT_ROWS, 18, &e));
    assert_non_null(strstr(e.text, "or --decomposition blocks"));
    tt_error_clear(&e);
    assert_int_equal(TT_USAGE, tt_partition_make(&p, 3, CUBE(16), TT_BLOCKS, 34, &e));
    assert_non_null(strstr(e.text, "34 ranks cannot share"));
}

static void test_flops(void **state)
{
    struct tt_problem p = {.shape = TT_STAR2D, .size = {1, 9, 9}, .work = 10};

    (void)state;
    assert_true(tt_problem_flops(&p) == 24);
    p.perturbation = TT_PERTURBATION_SINE;
    p.shape = TT_BOX3D;
    assert_true(tt_problem_flops(&p) == 28 + 21 + 20);
}

/* Dumps counted at once are those that are made one by one. */
static void test_dumps(void **state)
{
    uint64_t values[] = {3, 0, 1, 2, 0, 5, 1}, events, dumps;

    (void)state;
    for (uint64_t iterations = 1; iterations < 40; iterations++)
        for (uint64_t every = 0; every < 9; every++)
            for (size_t n = 0; n <= 7; n++) {
                struct tt_write_options w = {.every = every, .pattern = {.n = n, .values = values}};
                uint64_t made = 0, at = 0;

                for (uint64_t i = 1; i <= iterations; i++) {
                    made += tt_output_copies(&w, i, iterations);
                    at += tt_output_copies(&w, i, iterations) > 0;
                }
                tt_output_plan(&w, iterations, &events, &dumps);
                assert_int_equal(events, at);
                assert_int_equal(dumps, made);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_blocks),       cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_sine),         cmocka_unit_test(test_decomposition),
        cmocka_unit_test(test_uneven_sides), cmocka_unit_test(test_too_many_ranks),
        cmocka_unit_test(test_flops),        cmocka_unit_test(test_dumps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
