/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The amr workload's levels and boxes, shares of ranks, and numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/amr/amr.h"

static uint64_t ratios[] = {2, 4};
static const struct tt_amr_options usual = {.cells = 16,
                                            .max_grid = 4,
                                            .levels = 3,
                                            .components = 2,
                                            .particles = 1,
                                            .ratios = {.n = 2, .values = ratios}};

/* 16 cells; then their middle 8, as 16 of 32; then the middle 8 of these, as 32 of 128. */
static void levels_are_nested(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_amr_shape s;
    struct tt_amr_box last;

    (void)state;
    assert_int_equal(tt_amr_shape_make(&s, &usual, &e), TT_OK);
    assert_int_equal(s.levels[0].boxes, 64);
    assert_int_equal(s.levels[1].boxes, 64);
    assert_int_equal(s.levels[2].boxes, 512);
    assert_int_equal(s.levels[1].lo, 8);
    assert_int_equal(s.levels[2].lo, 48);
    assert_int_equal(s.levels[2].domain, 128);
    assert_int_equal(s.levels[2].ratio, 1);
    last = tt_amr_box(&s, 2, 511);
    for (int d = 0; d < 3; d++)
        assert_int_equal(last.hi[d], 79);
    assert_int_equal(tt_amr_box(&s, 1, 1).lo[0], 12); /* x first */
    assert_int_equal(tt_amr_box(&s, 1, 1).lo[2], 8);
}

static void shares_are_all_boxes(void **state)
{
    (void)state;
    for (uint64_t boxes = 1; boxes < 70; boxes += 17)
        for (uint64_t ranks = 1; ranks < 9; ranks++) {
            uint64_t next = 0, first;

            for (uint64_t r = 0; r < ranks; r++) {
                uint64_t n = tt_amr_share(boxes, ranks, r, &first);

                assert_int_equal(first, next);
                assert_true(n <= (boxes + ranks - 1) / ranks);
                next += n;
            }
            assert_int_equal(next, boxes);
        }
}

static void numbers(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_amr_shape s;
    double values[128], more[128], reals[64 * TT_AMR_REALS];
    int32_t ints[64 * TT_AMR_INTS];

    (void)state;
    assert_int_equal(tt_amr_shape_make(&s, &usual, &e), TT_OK);
    assert_int_equal(s.values, 128);
    tt_amr_fill(&s, TT_AMR_LEVEL, 2, 9, 0, values);
    assert_true(values[0] == 2 && values[127] == 2);
    tt_amr_fill(&s, TT_AMR_NUMBERED, 2, 511, 0, values);
    tt_amr_fill(&s, TT_AMR_NUMBERED, 2, 511, 1, more);
    assert_true(values[0] > 2 && values[1] > values[0] && values[1] == more[0]);
    tt_amr_fill_particles(&s, 3, 5, ints, reals);
    assert_int_equal(ints[TT_AMR_INTS], (3 * 64 + 1) * 8 + 5);
    assert_true(reals[1] == 3 * 64 + 81 / 1024.0);
}

static void what_does_not_fit(void **state)
{
    static uint64_t one[] = {1, 1}, three[] = {3, 3};
    struct tt_amr_options bad[6] = {usual, usual, usual, usual, usual, usual};
    struct tt_amr_shape s;

    (void)state;
    bad[0].max_grid = 5;
    bad[1].ratios.values = three; /* 24 of the middle 8 cells are boxes, but not 36 of 12 */
    bad[1].max_grid = 8;
    bad[2].ratios.values = one;
    bad[3].cells = 1 << 30;
    bad[4].cells = bad[4].max_grid = 1 << 11; /* 2^33 particles in a box */
    bad[5].cells = 1 << 11;                   /* 2^33 boxes */
    bad[5].max_grid = 1;
    bad[4].levels = bad[5].levels = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        assert_int_equal(tt_amr_shape_make(&s, &bad[i], &e), TT_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_nested),
        cmocka_unit_test(shares_are_all_boxes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
