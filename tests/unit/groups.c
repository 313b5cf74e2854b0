/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups: textbook examples, blocks of every shape, corrections, and how often tests err. What GNU
 * R has, too, is compared with it by tests/program/statistics.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>

#include "analysis/groups.h"

#define SAMPLE(array) ((struct tt_sample){sizeof(array) / sizeof *(array), array})

static struct tt_error e = TT_ERROR_CLEAR;

/* Mucociliary efficiency, Hollander and Wolfe (1973), page 116: H = 0.7714, p = 0.68. */
static void kruskal_of_the_textbook(void **unused)
{
    static const double values[] = {2.9, 3.0, 2.5, 2.6, 3.2, 3.8, 2.7,
                                    4.0, 2.4, 2.8, 3.4, 3.7, 2.2, 2.0};
    static const size_t group[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2};
    struct tt_grouped g = {14, 3, 1, values, group, NULL};
    struct tt_group_test t;

    (void)unused;
    assert_int_equal(tt_rank_test(&g, &t, &e), TT_OK);
    assert_true(t.known);
    assert_float_equal(t.h, 0.7714286, 1e-6);
    assert_float_equal(t.p, 0.6799648, 1e-6);
    assert_float_equal(t.epsilon, 0.7714286 / 13, 1e-6);
    assert_int_equal(t.df, 2);
}

/* Blocks of different levels hide a difference from Kruskal and Wallis; blocks that have not all of
 * the groups, or one of them only, do not disturb. */
static void blocks_are_compared_within(void **unused)
{
    double values[62];
    size_t group[62], block[62];
    struct tt_grouped g = {60, 2, 12, values, group, block};
    gsl_rng *rng = tt_make_rng(1);
    struct tt_group_test t, more;

    (void)unused;
    for (size_t i = 0; i < 60; i++) {
        block[i] = i / 6;
        group[i] = i % 6 < 2 + i / 30; /* two or three of six */
        values[i] = 100 * (double)block[i] + 2 * (double)group[i] + gsl_ran_gaussian(rng, 1);
    }
    assert_int_equal(tt_rank_test(&g, &t, &e), TT_OK);
    assert_true(t.known && t.p < 1e-4);
    assert_int_equal(t.blocks, 10);
    g.n = 62;
    group[60] = group[61] = 1;
    block[60] = block[61] = 11;
    values[60] = 7;
    values[61] = 8;
    assert_int_equal(tt_rank_test(&g, &more, &e), TT_OK);
    assert_float_equal(more.h, t.h, 1e-9);
    assert_int_equal(more.n, 60);
    g.n = 60;
    g.block = NULL;
    g.nblocks = 1;
    assert_int_equal(tt_rank_test(&g, &t, &e), TT_OK);
    assert_true(t.p > 1000 * more.p);
    gsl_rng_free(rng);
}

/* The same blocks, once with sums of squares and once by the covariance: an extra block of one
 * group makes the design uneven, and says nothing. */
static void both_ways_to_solve_agree(void **unused)
{
    double values[33];
    size_t group[33], block[33];
    struct tt_grouped g = {30, 3, 11, values, group, block};
    gsl_rng *rng = tt_make_rng(2);
    struct tt_group_test even, uneven;

    (void)unused;
    for (size_t i = 0; i < 33; i++) {
        block[i] = i < 30 ? i / 3 : 10;
        group[i] = i % 3;
        values[i] = i < 30 ? gsl_ran_gaussian(rng, 1) : 1;
    }
    assert_int_equal(tt_rank_test(&g, &even, &e), TT_OK);
    group[29] = group[28]; /* the last block has 0, 1, 1 */
    values[29] = values[28] = values[27];
    assert_int_equal(tt_rank_test(&g, &uneven, &e), TT_OK); /* all equal: it adds nothing */
    assert_int_equal(uneven.df, 2);
    g.n = 27;
    assert_int_equal(tt_rank_test(&g, &even, &e), TT_OK);
    assert_float_equal(uneven.h, even.h, 1e-9);
    g.n = 30;
    values[29] = 9;
    assert_int_equal(tt_rank_test(&g, &uneven, &e), TT_OK);
    assert_int_equal(uneven.df, 2);
    assert_true(fabs(uneven.h - even.h) < 2 && uneven.h != even.h);
    gsl_rng_free(rng);
}

static void nothing_to_compare(void **unused)
{
    static const double same[] = {5, 5, 5, 5};
    static const size_t group[] = {0, 0, 1, 1}, apart[] = {0, 0, 1, 1};
    struct tt_grouped g = {4, 2, 1, same, group, NULL};
    struct tt_group_test t;

    (void)unused;
    assert_int_equal(tt_rank_test(&g, &t, &e), TT_OK);
    assert_false(t.known);
    g.block = apart;
    g.nblocks = 2;
    assert_int_equal(tt_rank_test(&g, &t, &e), TT_OK);
    assert_false(t.known);
    g.n = 0;
    assert_int_equal(tt_rank_test(&g, &t, &e), TT_OK);
    assert_false(t.known);
}

static void corrections(void **unused)
{
    double holm[] = {0.01, 0.04, 0.03, 0.005}, bh[] = {0.01, 0.04, 0.03, 0.005};
    static const double of_holm[] = {0.03, 0.06, 0.06, 0.02}, of_bh[] = {0.02, 0.04, 0.04, 0.02};

    (void)unused;
    assert_int_equal(tt_adjust_holm(holm, 4, &e), TT_OK);
    assert_int_equal(tt_adjust_bh(bh, 4, &e), TT_OK);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(holm[i], of_holm[i], 1e-12);
        assert_float_equal(bh[i], of_bh[i], 1e-12);
    }
}

static void deltas(void **unused)
{
    static const double a[] = {1, 2, 3}, b[] = {2, 3, 4}, far[] = {7, 8};
    struct tt_sample x = SAMPLE(a), y = SAMPLE(b), z = SAMPLE(far);

    (void)unused;
    assert_float_equal(tt_cliffs_delta(&x, &y), 5 / 9.0, 1e-12);
    assert_float_equal(tt_cliffs_delta(&y, &x), -5 / 9.0, 1e-12);
    assert_float_equal(tt_cliffs_delta(&x, &z), 1, 0);
    assert_float_equal(tt_cliffs_delta(&x, &x), 0, 0);
}

/* The runs that are asked for do see the change about four times in five. */
static void power_is_what_was_promised(void **unused)
{
    gsl_rng *rng = tt_make_rng(3);
    double pilot[400], few[] = {1, 1, 1};
    struct tt_sample s = SAMPLE(pilot), same = SAMPLE(few);
    size_t runs, seen = 0;

    (void)unused;
    for (size_t i = 0; i < 400; i++)
        pilot[i] = gsl_ran_lognormal(rng, 0, 0.06);
    tt_median(pilot, 400);
    runs = (size_t)tt_runs_to_see(&s, 1.05, 0.8);
    print_message("%zu runs each to see 5 %% at a spread of 6 %%\n", runs);
    assert_true(runs > 20 && runs < 35);
    for (int i = 0; i < 500; i++) {
        double x[40], y[40];
        struct tt_sample a = {runs, x}, b = {runs, y};
        struct tt_test test;

        for (size_t k = 0; k < runs; k++) {
            x[k] = gsl_ran_lognormal(rng, 0, 0.06);
            y[k] = 1.05 * gsl_ran_lognormal(rng, 0, 0.06);
        }
        tt_median(x, runs);
        tt_median(y, runs);
        assert_int_equal(tt_mann_whitney(&a, &b, &test, &e), TT_OK);
        seen += test.p <= 0.05;
    }
    print_message("seen %.3f\n", (double)seen / 500);
    assert_true(seen > 0.74 * 500 && seen < 0.88 * 500);
    assert_float_equal(tt_runs_to_see(&same, 1.05, 0.8), 6, 0); /* no spread: the least number */
    assert_float_equal(tt_runs_to_see(&(struct tt_sample){1, few}, 1.05, 0.8), 0, 0);
    gsl_rng_free(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kruskal_of_the_textbook),
        cmocka_unit_test(blocks_are_compared_within),
        cmocka_unit_test(both_ways_to_solve_agree),
        cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(corrections),
        cmocka_unit_test(deltas),
        cmocka_unit_test(power_is_what_was_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
