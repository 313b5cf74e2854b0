/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run of tonight among those before: what is found how soon, and how often without a cause. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "analysis/canary.h"

#define CV 0.03
#define HISTORY 60
#define NIGHTS 3

static const struct tt_canary_options usual = {.alarm = 0.01, .margin = 0.03, .seed = 1};

static struct tt_canary judge(const double *values, size_t n, enum tt_better better)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_canary c;

    assert_int_equal(tt_canary_judge(values, n, better, &usual, &c, &e), TT_OK);
    return c;
}

/* Shapes of noise with a standard deviation of 1: as it is in books, with a tail to the slow side,
 * with outliers, of two kinds of nights. */
static double noise(gsl_rng *rng, int shape)
{
    switch (shape) {
    case 0:
        return gsl_ran_ugaussian(rng);
    case 1:
        return gsl_ran_exponential(rng, 1) - 1;
    case 2:
        return gsl_ran_tdist(rng, 3) / sqrt(3);
    default:
        return (gsl_rng_uniform(rng) < 0.5 ? -0.9 : 0.9) + 0.436 * gsl_ran_ugaussian(rng);
    }
}

static void fill(gsl_rng *rng, int shape, double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = 100 * (1 + CV * noise(rng, shape));
}

/* A tenth slower from night HISTORY on: in how many of the trials the alarm comes by the third
 * night. Rates go down by a tenth, times up by a ninth. */
static void regressions_are_found(void **unused)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    const int trials = 400;
    int found = 0, too_early = 0;

    (void)unused;
    for (int t = 0; t < trials; t++) {
        double values[HISTORY + NIGHTS];
        bool seen = false, rate = t % 2;

        fill(rng, 0, values, HISTORY + NIGHTS);
        for (size_t i = HISTORY; i < HISTORY + NIGHTS; i++)
            values[i] *= rate ? 0.9 : 1 / 0.9;
        for (size_t night = 1; night <= NIGHTS && !seen; night++) {
            struct tt_canary c =
                judge(values, HISTORY + night, rate ? TT_BETTER_HIGHER : TT_BETTER_LOWER);

            seen = c.kind == TT_FAIL;
            too_early += seen && c.since + 2 < HISTORY;
        }
        found += seen;
    }
    gsl_rng_free(rng);
    print_message("a tenth found within three nights: %d of %d\n", found, trials);
    assert_in_range(found, trials * 97 / 100, trials);
    assert_in_range(too_early, 0, trials / 20);
}

/* A hundred nights on end, again and again: alarms in quiet nights, whatever the noise. */
static void quiet_nights_are_quiet(void **unused)
{
    static const size_t histories[] = {12, 30, HISTORY};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    (void)unused;
    for (int k = 0; k < 12; k++) {
        size_t history = histories[k / 4];
        int shape = k % 4;
        const int series = 30, nights = 100;
        int alarms = 0;

        for (int t = 0; t < series; t++) {
            double values[HISTORY + 100];

            fill(rng, shape, values, HISTORY + (size_t)nights);
            for (int night = 0; night < nights; night++)
                alarms += judge(values + night, history + 1, TT_BETTER_LOWER).kind == TT_FAIL;
        }
        print_message("history of %zu, shape %d: %d false alarms in %d nights\n", history, shape,
                      alarms, series * nights);
        assert_in_range(alarms, 0, series * nights / 100);
    }
    gsl_rng_free(rng);
}

/* Two kinds of nights that lie far apart, while those of one kind are nearly the same. */
static void two_kinds_of_nights_are_quiet(void **unused)
{
    static const struct {
        double share, jitter;
    } kinds[] = {{0.4, 0.002}, {0.3, 0.002}, {0.2, 0.005}, {0.1, 0.005}};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    (void)unused;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const int nights = 2000;
        int alarms = 0;

        for (int t = 0; t < nights; t++) {
            double values[HISTORY + 1];

            for (size_t i = 0; i <= HISTORY; i++)
                values[i] = (gsl_rng_uniform(rng) < kinds[k].share ? 11 : 10) *
                            (1 + kinds[k].jitter * gsl_ran_ugaussian(rng));
            alarms += judge(values, HISTORY + 1, TT_BETTER_LOWER).kind == TT_FAIL;
        }
        print_message("%g %% of the nights slower: %d false alarms in %d nights\n",
                      100 * kinds[k].share, alarms, nights);
        assert_in_range(alarms, 0, nights / 100);
    }
    gsl_rng_free(rng);
}

static void short_histories_tell_nothing(void **unused)
{
    double values[HISTORY];
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    (void)unused;
    fill(rng, 0, values, HISTORY);
    gsl_rng_free(rng);
    for (size_t n = 1; n < 13; n++) {
        struct tt_canary c = judge(values, n, TT_BETTER_LOWER);

        assert_int_equal(c.kind, TT_UNDECIDED);
        assert_int_equal(c.more, 13 - n);
    }
    assert_int_equal(judge(values, 13, TT_BETTER_LOWER).kind, TT_PASS);
}

/* Half the rate is seen in the first night, is not forgotten, and is over when it is over. */
static void large_changes(void **unused)
{
    double values[60];
    struct tt_canary c;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    (void)unused;
    fill(rng, 0, values, 60);
    gsl_rng_free(rng);
    for (size_t i = 20; i < 35; i++)
        values[i] /= 2;
    for (size_t n = 21; n <= 35; n++) {
        c = judge(values, n, TT_BETTER_HIGHER);
        assert_int_equal(c.kind, TT_FAIL);
        assert_int_equal(c.since, 20);
        assert_float_equal(c.median, 100, 3);
    }
    assert_int_equal(judge(values, 21, TT_BETTER_HIGHER).rule, TT_CANARY_FAR);
    assert_int_equal(judge(values, 30, TT_BETTER_HIGHER).rule, TT_CANARY_LEVEL);
    assert_true(isnan(judge(values, 30, TT_BETTER_HIGHER).limit_of_one)); /* another rule had one */
    assert_int_equal(judge(values, 40, TT_BETTER_HIGHER).kind, TT_PASS);
    c = judge(values, 60, TT_BETTER_HIGHER);
    assert_int_equal(c.kind, TT_PASS);
    assert_int_equal(c.from, 35); /* the history begins with the last change */
    /* Better is no alarm. */
    assert_int_equal(judge(values, 30, TT_BETTER_LOWER).kind, TT_PASS);
}

/* Runs that are nearly the same differ by less than anybody cares about. */
static void small_changes(void **unused)
{
    double values[30];

    (void)unused;
    for (size_t i = 0; i < 30; i++)
        values[i] = i < 25 ? 100 : 102;
    assert_int_equal(judge(values, 30, TT_BETTER_LOWER).kind, TT_PASS);
    for (size_t i = 25; i < 30; i++)
        values[i] = 104;
    assert_int_equal(judge(values, 30, TT_BETTER_LOWER).kind, TT_FAIL);
    for (size_t i = 0; i < 30; i++)
        values[i] = 7;
    assert_int_equal(judge(values, 30, TT_BETTER_LOWER).kind, TT_PASS);
    for (size_t i = 0; i < 30; i++)
        values[i] = 0;
    assert_int_equal(judge(values, 30, TT_BETTER_LOWER).kind, TT_PASS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regressions_are_found),
        cmocka_unit_test(quiet_nights_are_quiet),
        cmocka_unit_test(two_kinds_of_nights_are_quiet),
        cmocka_unit_test(short_histories_tell_nothing),
        cmocka_unit_test(large_changes),
        cmocka_unit_test(small_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
