/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits of rates over size and ranks: known coefficients, figures that GNU R gives for the same
 * rows, and rows that tell less than they seem to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/rate_fit.h"

#define MIB 1048576.0

static struct tt_error e;

static void near(double got, double expected)
{
    assert_float_equal(got / expected, 1, 1e-6);
}

static const struct tt_rate_row measured[] = {
    {{8 * MIB, 1}, 110 * MIB},  {{16 * MIB, 2}, 190 * MIB},  {{64 * MIB, 2}, 260 * MIB},
    {{32 * MIB, 4}, 330 * MIB}, {{128 * MIB, 4}, 420 * MIB}, {{64 * MIB, 8}, 640 * MIB},
    {{256 * MIB, 8}, 810 * MIB}};
#define NMEASURED (sizeof measured / sizeof *measured)

/* lm(rate ~ 0 + size + ranks) and its kin, with predict(..., interval = "prediction"). */
static void agrees_with_r(void **unused)
{
    struct tt_rate_fit f;
    struct tt_rate_guess g;

    (void)unused;
    assert_int_equal(tt_rate_fit(measured, NMEASURED, TT_RATE_LINEAR, &f, &e), TT_OK);
    near(f.slope[TT_OF_SIZE], 0.908496732);
    near(f.slope[TT_OF_RANKS], 77868761.52);
    near(f.r2, 0.9966813177);
    near(f.sigma, 32717732.6);
    g = tt_rate_predict(&f, 100 * MIB, 6, 0.95);
    near(g.value, 562475356);
    near(g.low, 469246891.9);
    near(g.high, 655703820.2);
    assert_false(g.outside);
    assert_int_equal(tt_rate_fit(measured, NMEASURED, TT_RATE_LOG_INTERCEPT, &f, &e), TT_OK);
    near(f.intercept, -926741455.2);
    near(f.slope[TT_OF_SIZE], 59070277.34);
    near(f.slope[TT_OF_RANKS], 246726463.3);
    near(f.r2, 0.900918239);
    g = tt_rate_predict(&f, 1024 * MIB, 64, 0.95);
    near(g.value, 1327696945);
    near(g.low, 783492217.6);
    near(g.high, 1871901672);
    assert_true(g.outside);
    assert_true(g.widened > 1.2);
}

/* Size in proportion to ranks, as in weak scaling: one of them is enough, and nobody can say which
 * of them it was. */
static void sees_what_grew_together(void **unused)
{
    struct tt_rate_row rows[6];
    struct tt_rate_fit f;
    struct tt_rate_guess on, beside;

    (void)unused;
    for (int i = 0; i < 6; i++)
        rows[i] = (struct tt_rate_row){{32 * MIB * (i + 1), i + 1}, 100 * MIB * (i + 1)};
    for (int form = 0; form <= TT_RATE_LINEAR_INTERCEPT; form++) {
        assert_int_equal(tt_rate_fit(rows, 6, form, &f, &e), TT_OK);
        assert_int_equal(f.kept, 1);
        assert_true(!f.dropped[TT_OF_SIZE] != !f.dropped[TT_OF_RANKS]);
        on = tt_rate_predict(&f, 96 * MIB, 3, 0.95);
        beside = tt_rate_predict(&f, 32 * MIB, 3, 0.95);
        near(on.value, 300 * MIB);
        assert_false(on.outside);
        assert_true(beside.outside);
    }
}

static void sees_what_does_not_vary(void **unused)
{
    struct tt_rate_row rows[5];
    struct tt_rate_fit f;

    (void)unused;
    for (int i = 0; i < 5; i++)
        rows[i] = (struct tt_rate_row){{MIB, 1}, 100 * MIB};
    assert_int_equal(tt_rate_fit(rows, 5, TT_RATE_LOG_INTERCEPT, &f, &e), TT_OK);
    assert_non_null(f.dropped[TT_OF_SIZE]);
    assert_non_null(f.dropped[TT_OF_RANKS]);
    near(f.intercept, 100 * MIB);
    assert_false(f.r2_known);
    assert_true(tt_rate_predict(&f, MIB, 1, 0.95).known);
    assert_true(tt_rate_predict(&f, 2 * MIB, 1, 0.95).untold[TT_OF_SIZE]);
    assert_false(tt_rate_predict(&f, 2 * MIB, 1, 0.95).untold[TT_OF_RANKS]);
    assert_int_equal(tt_rate_fit(rows, 5, TT_RATE_LINEAR, &f, &e), TT_FAILED);
    tt_error_clear(&e);
}

/* One size is no effect of the size: without an intercept it would stand for one, and eight times
 * the size would give eight times the rate. */
static void takes_one_value_for_no_effect(void **unused)
{
    struct tt_rate_fit all[TT_NRATE_FORMS];
    struct tt_rate_row rows[8];
    struct tt_rate_guess g;
    int best;

    (void)unused;
    for (int i = 0; i < 8; i++)
        rows[i] = (struct tt_rate_row){{1.5 * MIB, 1 + i % 2}, (80 + 3 * (i % 2) + i / 4) * MIB};
    best = tt_rate_fit_all(rows, 8, all, &e);
    assert_int_equal(best, TT_RATE_LINEAR_INTERCEPT);
    for (int form = 0; form < TT_NRATE_FORMS; form++)
        if (all[form].n > 0)
            assert_non_null(all[form].dropped[TT_OF_SIZE]);
    g = tt_rate_predict(&all[best], 12 * MIB, 2, 0.95);
    assert_true(g.untold[TT_OF_SIZE] && !g.untold[TT_OF_RANKS] && !g.outside);
    near(g.value, 83.5 * MIB);
}

/* A line that falls does not end below 0. */
static void never_predicts_a_rate_below_zero(void **unused)
{
    struct tt_rate_row rows[6];
    struct tt_rate_fit f;
    struct tt_rate_guess g;

    (void)unused;
    for (int i = 0; i < 6; i++)
        rows[i] = (struct tt_rate_row){{MIB, i + 1}, (70 - 10 * i + i % 2) * MIB};
    assert_int_equal(tt_rate_fit(rows, 6, TT_RATE_LINEAR_INTERCEPT, &f, &e), TT_OK);
    assert_true(tt_rate_predict(&f, MIB, 3, 0.95).known);
    g = tt_rate_predict(&f, MIB, 64, 0.95);
    assert_false(g.known);
    g = tt_rate_predict(&f, MIB, 7.5, 0.95);
    assert_true(g.known);
    assert_true(g.low >= 0);
}

static void refuses_what_is_no_data(void **unused)
{
    struct tt_rate_row bad[4] = {measured[0], measured[2], measured[1], measured[3]};
    struct tt_rate_fit f, all[TT_NRATE_FORMS];

    (void)unused;
    assert_int_equal(tt_rate_fit(bad, 2, TT_RATE_LINEAR, &f, &e), TT_FAILED);
    assert_string_equal(e.text, "a fit of 2 coefficients needs 3 runs, and has 2");
    bad[1].rate = NAN;
    e = (struct tt_error)TT_ERROR_CLEAR;
    assert_int_equal(tt_rate_fit(bad, 4, TT_RATE_LINEAR, &f, &e), TT_FAILED);
    bad[1].rate = 1;
    bad[2].of[TT_OF_SIZE] = 0;
    e = (struct tt_error)TT_ERROR_CLEAR;
    assert_int_equal(tt_rate_fit(bad, 4, TT_RATE_LINEAR, &f, &e), TT_FAILED);
    e = (struct tt_error)TT_ERROR_CLEAR;
    assert_int_equal(tt_rate_fit_all(measured, 0, all, &e), TT_FAILED);
    e = (struct tt_error)TT_ERROR_CLEAR;
}

/* Three rows are too few for a line with an intercept, and two enough where regressors are dropped.
 * A saturating rate is the logarithm's. */
static void chooses_a_form(void **unused)
{
    struct tt_rate_fit all[TT_NRATE_FORMS];
    struct tt_rate_row rows[12];

    (void)unused;
    assert_true(tt_rate_fit_all(measured, 3, all, &e) >= 0);
    assert_int_equal(all[TT_RATE_LINEAR].n, 3);
    assert_int_equal(all[TT_RATE_LINEAR_INTERCEPT].n, 0);
    assert_int_equal(tt_rate_fit_all(measured, 2, all, &e), TT_RATE_LINEAR); /* on one line */
    for (int i = 0; i < 12; i++)
        rows[i] = (struct tt_rate_row){{MIB * (1 << i), 2 + i % 3}, (100 + 50 * log(1 << i)) * MIB};
    assert_int_equal(tt_rate_fit_all(rows, 12, all, &e), TT_RATE_LOG_INTERCEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_r),
        cmocka_unit_test(sees_what_grew_together),
        cmocka_unit_test(sees_what_does_not_vary),
        cmocka_unit_test(takes_one_value_for_no_effect),
        cmocka_unit_test(never_predicts_a_rate_below_zero),
        cmocka_unit_test(refuses_what_is_no_data),
        cmocka_unit_test(chooses_a_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
