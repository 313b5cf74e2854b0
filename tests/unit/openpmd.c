/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The openpmd workload's mesh: shares of ranks, what is read, numbers, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/openpmd/openpmd.h"

static struct tt_counts counts(size_t n, uint64_t *values)
{
    return (struct tt_counts){.n = n, .values = values};
}

/* How often every cell is in a box. */
static void mark(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *b,
                 unsigned char *seen)
{
    struct tt_openpmd_box box = *b;

    for (int d = s->ndims; d < TT_OPENPMD_DIMS; d++) {
        box.start[d] = 0;
        box.count[d] = 1;
    }
    for (uint64_t x = 0; x < box.count[0]; x++)
        for (uint64_t y = 0; y < box.count[1]; y++)
            for (uint64_t z = 0; z < box.count[2]; z++) {
                uint64_t at[] = {box.start[0] + x, box.start[1] + y, box.start[2] + z}, flat = 0;

                for (int d = 0; d < s->ndims; d++) {
                    assert_true(at[d] < s->dims[d]);
                    flat = flat * s->dims[d] + at[d];
                }
                seen[flat]++;
            }
}

static void each_once(const struct tt_openpmd_shape *s, unsigned char *seen)
{
    for (uint64_t i = 0; i < s->blocks * s->cells; i++)
        assert_int_equal(seen[i], 1);
    memset(seen, 0, s->blocks * s->cells);
}

/* Balanced or not, whole or in mini-blocks: every cell is written by one rank. */
static void shares_are_the_mesh(void **state)
{
    static uint64_t block[] = {2, 3, 2};
    static uint64_t grids[][3] = {{4, 2, 2}, {3, 4, 1}, {3, 5, 4}, {1, 1, 60}};
    static const struct {
        int ndims, grid, split;
        uint64_t ranks;
    } cases[] = {{3, 0, 0, 4}, {3, 1, 1, 4},  {3, 2, 1, 5}, {3, 2, -1, 6}, {3, 3, -1, 5},
                 {2, 1, 0, 3}, {2, 1, -1, 6}, {1, 0, 0, 2}, {1, 1, 0, 1},  {3, 3, -1, 12}};
    unsigned char *seen = calloc(1, 10000);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct tt_openpmd_options o = {.ratio = 2, .steps = 3};
        struct tt_openpmd_shape s;
        struct tt_error e = TT_ERROR_CLEAR;
        size_t n = (size_t)cases[c].ndims;

        o.min_block = counts(n, block);
        o.grid = counts(n, grids[cases[c].grid]);
        assert_int_equal(tt_openpmd_shape_make(&s, &o, cases[c].ranks, &e), TT_OK);
        assert_int_equal(s.split, cases[c].split);
        assert_int_equal(s.particles, 2 * s.cells);
        for (int variant = 0; variant < 4; variant++)
            for (uint64_t step = 0; step < 3; step++) {
                for (uint64_t r = 0; r < s.ranks; r++) {
                    uint64_t first, boxes = tt_openpmd_nboxes(&s, variant & 1);
                    unsigned shares = tt_openpmd_shares(&s, variant & 2, step, r, &first);

                    for (uint64_t i = 0; i < shares * boxes; i++) {
                        struct tt_openpmd_box box =
                            tt_openpmd_box(&s, variant & 1, first + i / boxes, i % boxes);

                        mark(&s, &box, seen);
                    }
                }
                each_once(&s, seen);
            }
    }
    free(seen);
}

static void idle_ranks_have_neighbours(void **state)
{
    struct tt_openpmd_shape s = {.ndims = 3, .ranks = 9}, line = {.ndims = 1, .ranks = 21};
    uint64_t first;

    (void)state;
    assert_int_equal(tt_openpmd_shares(&s, false, 0, 4, &first), 1);
    assert_int_equal(tt_openpmd_shares(&s, false, 1, 4, &first), 0);
    assert_int_equal(tt_openpmd_shares(&s, false, 4, 5, &first), 2);
    assert_int_equal(first, 4);
    assert_int_equal(tt_openpmd_shares(&s, false, 1, 8, &first), 1); /* nobody follows */
    assert_int_equal(tt_openpmd_shares(&s, true, 1, 4, &first), 1);
    assert_int_equal(tt_openpmd_shares(&line, false, 1, 4, &first), 1);
    assert_int_equal(tt_openpmd_shares(&line, false, 1, 10, &first), 0);
    assert_int_equal(tt_openpmd_shares(&line, false, 1, 11, &first), 2);
}

static uint64_t block[] = {2, 3, 2}, grid[] = {4, 2, 3}, two_two_one[] = {2, 2, 1};

static struct tt_openpmd_shape make(struct tt_openpmd_options *o, uint64_t ranks)
{
    struct tt_openpmd_shape s;
    struct tt_error e = TT_ERROR_CLEAR;

    o->min_block = counts(3, block);
    o->grid = counts(3, grid);
    o->phase = TT_OPENPMD_BOTH;
    assert_int_equal(tt_openpmd_shape_make(&s, o, ranks, &e), TT_OK);
    return s;
}

static void scans_are_the_mesh(void **state)
{
    struct tt_openpmd_options o = {.reading = TT_OPENPMD_FULL, .ratio = 1};
    unsigned char seen[8 * 6 * 6] = {0};
    struct tt_openpmd_box box;
    struct tt_openpmd_shape s;
    uint64_t first, next = 0;

    (void)state;
    for (int by_grid = 0; by_grid < 2; by_grid++) {
        if (by_grid)
            o.read_grid = counts(3, two_two_one);
        s = make(&o, 4);
        for (uint64_t r = 0; r < 4; r++)
            if (tt_openpmd_read_box(&s, &o, r, &box))
                mark(&s, &box, seen);
        each_once(&s, seen);
    }
    for (uint64_t r = 0; r < 4; r++) {
        uint64_t n = tt_openpmd_read_ids(&s, r, &first);

        assert_int_equal(first, next);
        next += n;
    }
    assert_int_equal(next, 8 * 6 * 6);
}

static void planes(void **state)
{
    struct tt_openpmd_options o = {.reading = TT_OPENPMD_SX + 1, .ratio = 1};
    struct tt_openpmd_box box;
    struct tt_openpmd_shape s = make(&o, 8);

    (void)state;
    assert_true(tt_openpmd_read_box(&s, &o, 7, &box)); /* 7 mod 6 */
    assert_int_equal(box.start[1], 1);
    assert_int_equal(tt_openpmd_cells(&s, &box), 8 * 6);
    o.reading = TT_OPENPMD_FX + 2;
    assert_true(tt_openpmd_read_box(&s, &o, 5, &box));
    assert_int_equal(box.start[2], 5);
}

/* Blocks of 2 x 2 x 2 cells of a mesh of 8 x 6 x 6. */
static void blocks(void **state)
{
    static const struct {
        int along, place;
        uint64_t rank, start[3];
        bool none;
    } cases[] = {
        {1, 0, 0, {2, 0, 2}, false},
        {1, 0, 2, {2, 4, 2}, false},
        {1, 0, 3, {0}, true},
        {TT_OPENPMD_DIAGONAL, 0, 2, {4, 4, 4}, false},
        {TT_OPENPMD_ONE, TT_OPENPMD_MIDDLE, 0, {2, 2, 2}, false},
        {TT_OPENPMD_ONE, TT_OPENPMD_FIRST, 0, {0, 0, 0}, false},
        {TT_OPENPMD_ONE, TT_OPENPMD_LAST, 0, {6, 4, 4}, false},
        {TT_OPENPMD_ONE, TT_OPENPMD_MIDDLE, 1, {0}, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_openpmd_options o = {.reading = TT_OPENPMD_BLOCK, .block_divide = 3};
        struct tt_openpmd_shape s = make(&o, 4);
        struct tt_openpmd_box box;

        o.block_along = cases[i].along;
        o.block_place = cases[i].place;
        assert_int_equal(tt_openpmd_read_box(&s, &o, cases[i].rank, &box), !cases[i].none);
        for (int d = 0; d < 3 && !cases[i].none; d++) {
            assert_int_equal(box.start[d], cases[i].start[d]);
            assert_int_equal(box.count[d], 2);
        }
    }
}

/* Cell (3, 4, 5) of mini-blocks 2 x 3 x 2 is cell (1, 1, 1) of block (1, 1, 2). */
static void numbers(void **state)
{
    struct tt_openpmd_options o = {.ratio = 2};
    struct tt_openpmd_shape s = make(&o, 2);
    struct tt_openpmd_box all = {{0, 0, 0}, {8, 6, 6}}, part = {{3, 3, 1}, {2, 2, 5}};
    double cells[8 * 6 * 6], values[3], some[2 * 2 * 5];
    uint64_t ids[3];

    (void)state;
    tt_openpmd_fill(&s, &all, 7, cells);
    assert_true(cells[3 * 36 + 4 * 6 + 5] == (((1 * 2 + 1) * 3 + 2) * 10000 + 700 + 9) / 10000.0);
    tt_openpmd_fill(&s, &part, 7, some);
    assert_true(some[1 * 5 + 4] == cells[3 * 36 + 4 * 6 + 5]);
    assert_true(tt_openpmd_check(&s, &part, 7, some, 0));
    assert_false(tt_openpmd_check(&s, &part, 8, some, 0));
    some[19] = -some[19];
    assert_false(tt_openpmd_check(&s, &part, 7, some, 0));
    tt_openpmd_fill_particles(&s, 23, 3, 1, values, ids);
    assert_true(values[0] == (100 + 23) / 10000.0 && values[1] == (10000 + 100) / 10000.0);
    assert_int_equal(ids[2], 25);
}

static void what_does_not_fit(void **state)
{
    static uint64_t zero[] = {2, 0, 2}, huge[] = {1 << 30, 1 << 30, 1 << 30};
    struct tt_openpmd_options bad[] = {
        {.min_block = counts(3, zero)},
        {.min_block = counts(3, huge)},
        {.min_block = counts(0, NULL)},
        {.min_block = counts(3, block), .grid = counts(2, grid)},
        {.min_block = counts(3, block), .grid = counts(3, block)}, /* 12 blocks, 5 ranks */
        {.min_block = counts(1, block), .phase = TT_OPENPMD_READ, .reading = TT_OPENPMD_SX + 1},
        {.min_block = counts(3, block), .phase = TT_OPENPMD_READ, .reading = TT_OPENPMD_IDS},
        {.min_block = counts(3, block),
         .phase = TT_OPENPMD_READ,
         .reading = TT_OPENPMD_FULL,
         .read_grid = counts(3, two_two_one)},
        {.min_block = counts(3, block),
         .phase = TT_OPENPMD_READ,
         .reading = TT_OPENPMD_BLOCK,
         .block_divide = 2,
         .block_place = TT_OPENPMD_LAST},
    };
    struct tt_openpmd_shape s;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        assert_int_equal(tt_openpmd_shape_make(&s, &bad[i], 5, &e), TT_USAGE);
    }
}

static void names(void **state)
{
    static const struct {
        const char *path, *prefix, *ending;
    } good[] = {{"d.x/s.h5", "d.x/s_", ".h5"},
                {"d.x/s", "d.x/s_", ""},
                {"/a/data%06T.h5", "/a/data", ".h5"},
                {".hidden", ".hidden_", ""}};
    static const char *const bad[] = {"data%T.h5", "a%06T%06T", "50%"};
    struct tt_error e = TT_ERROR_CLEAR;
    char *prefix, *ending;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(tt_openpmd_split(good[i].path, &prefix, &ending, &e), TT_OK);
        assert_string_equal(prefix, good[i].prefix);
        assert_string_equal(ending, good[i].ending);
        free(prefix);
        free(ending);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_error_clear(&e);
        assert_int_equal(tt_openpmd_split(bad[i], &prefix, &ending, &e), TT_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_the_mesh),
        cmocka_unit_test(idle_ranks_have_neighbours),
        cmocka_unit_test(scans_are_the_mesh),
        cmocka_unit_test(planes),
        cmocka_unit_test(blocks),
        cmocka_unit_test(numbers),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
