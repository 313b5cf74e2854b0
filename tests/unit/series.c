/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drift against enumeration and worked numbers, changes against series that were made with them;
 * simulations show how often a quiet series raises an alarm. All of it deterministic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>

#include "analysis/series.h"
#include "analysis/statistics.h"

static struct tt_error e = TT_ERROR_CLEAR;

/* ---- changes ---- */

/* Noise around 1, and from each place on a level that is higher by so much. */
static void make_series(double *values, size_t n, double noise, size_t changes, const size_t *at,
                        const double *by, gsl_rng *rng)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = 1 + gsl_ran_gaussian(rng, noise);
        for (size_t k = 0; k < changes; k++)
            values[i] += i >= at[k] ? by[k] : 0;
    }
}

static void changes_are_found_where_they_are(void **unused)
{
    static const size_t at[] = {40, 90, 120};
    static const double by[] = {0.3, -0.5, 0.2};
    gsl_rng *rng = tt_make_rng(1);
    struct tt_changes found;
    double values[160];

    (void)unused;
    make_series(values, 160, 0.03, 3, at, by, rng);
    values[20] = 9; /* an outlier is no change */
    assert_int_equal(tt_change_points(values, 160, 0.01, 1, &found, &e), TT_OK);
    assert_int_equal(found.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(found.items[i].at, at[i]);
        assert_float_equal(found.items[i].after - found.items[i].before, by[i], 0.02);
        assert_true(found.items[i].p <= 0.01);
    }
    free(found.items);
    gsl_rng_free(rng);
}

/* Three values of 33 that are 10 % slower, at a spread of 3 %. */
static void a_new_level_at_the_end_is_found(void **unused)
{
    gsl_rng *rng = tt_make_rng(3);
    size_t hits = 0;

    (void)unused;
    for (int i = 0; i < 100; i++) {
        struct tt_changes found;
        double values[33];

        make_series(values, 33, 0.03, 1, (size_t[]){30}, (double[]){0.1}, rng);
        assert_int_equal(tt_change_points(values, 33, 0.05, 1, &found, &e), TT_OK);
        hits += found.n == 1 && found.items[0].at >= 29 && found.items[0].at <= 30;
        free(found.items);
    }
    print_message("a change before the last three of 33 values is found %zu times in 100\n", hits);
    assert_true(hits >= 75);
    gsl_rng_free(rng);
}

static void quiet_series_raise_few_alarms(void **unused)
{
    static const size_t lengths[] = {6, 20, 100};
    gsl_rng *rng = tt_make_rng(5);

    (void)unused;
    for (size_t l = 0; l < 3; l++) {
        size_t alarms = 0;

        for (int i = 0; i < 600; i++) {
            struct tt_changes found;
            double values[100];

            for (size_t k = 0; k < lengths[l]; k++) /* heavy tails, and ties */
                values[k] = i % 2 ? gsl_ran_cauchy(rng, 1) : floor(10 * gsl_rng_uniform(rng));
            assert_int_equal(tt_change_points(values, lengths[l], 0.05, 1, &found, &e), TT_OK);
            alarms += found.n > 0;
            free(found.items);
        }
        print_message("%zu quiet values: %.3f alarms\n", lengths[l], (double)alarms / 600);
        assert_true(alarms <= 0.05 * 600 + 2 * sqrt(0.05 * 0.95 * 600));
    }
    gsl_rng_free(rng);
}

static void too_little_and_constant_have_no_change(void **unused)
{
    static const double few[] = {1, 1, 1, 9, 9}, same[] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
    struct tt_changes found;

    (void)unused;
    for (size_t n = 0; n <= 5; n++) {
        assert_int_equal(tt_change_points(few, n, 0.05, 1, &found, &e), TT_OK);
        assert_int_equal(found.n, 0);
        free(found.items);
    }
    assert_int_equal(tt_change_points(same, 9, 0.05, 1, &found, &e), TT_OK);
    assert_int_equal(found.n, 0);
    free(found.items);
}

/* ---- drift ---- */

static double rises_less_falls(const double *values, size_t n)
{
    double s = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            s += (values[k] > values[i]) - (values[k] < values[i]);
    return s;
}

static void exchange(double *a, double *b)
{
    double kept = *a;

    *a = *b;
    *b = kept;
}

/* The next order by size; false after the last. */
static bool next_order(double *values, size_t n)
{
    size_t i = n - 1, k = n - 1;

    while (i > 0 && values[i - 1] >= values[i])
        i--;
    if (i == 0)
        return false;
    while (values[k] <= values[i - 1])
        k--;
    exchange(&values[i - 1], &values[k]);
    for (k = n - 1; i < k; i++, k--)
        exchange(&values[i], &values[k]);
    return true;
}

/* Every order of six values against all orders. */
static void drift_counts_every_order(void **unused)
{
    double values[] = {1, 2, 3, 4, 5, 7}, all[720];
    struct tt_drift d;
    size_t orders = 0;

    (void)unused;
    do
        all[orders++] = fabs(rises_less_falls(values, 6));
    while (next_order(values, 6));
    assert_int_equal(orders, 720);
    for (size_t i = 0; i < 6; i++)
        values[i] = (double)(i * i);
    do {
        size_t far = 0;

        assert_int_equal(tt_drift(values, 6, &d, &e), TT_OK);
        assert_true(d.known && d.exact);
        assert_float_equal(d.s, rises_less_falls(values, 6), 0);
        assert_float_equal(d.tau, d.s / 15, 1e-12);
        for (size_t k = 0; k < 720; k++)
            far += all[k] >= fabs(d.s);
        assert_float_equal(d.p, (double)far / 720, 1e-12);
    } while (next_order(values, 6));
}

/* Long, with ties; S by all pairs, p by the formula that every text on Mann-Kendall has. */
static void drift_of_many_with_ties(void **unused)
{
    gsl_rng *rng = tt_make_rng(2);
    double values[301], variance = 301 * 300 * 607.0 / 18, s;
    size_t count[40] = {0};
    struct tt_drift d;

    (void)unused;
    for (size_t i = 0; i < 301; i++) {
        values[i] = floor(10 * gsl_rng_uniform(rng) + (double)i / 20);
        count[(size_t)values[i]]++;
    }
    for (size_t k = 0; k < 40; k++)
        variance -= (double)count[k] * ((double)count[k] - 1) * (2 * (double)count[k] + 5) / 18;
    s = rises_less_falls(values, 301);
    assert_int_equal(tt_drift(values, 301, &d, &e), TT_OK);
    assert_true(d.known && !d.exact);
    assert_float_equal(d.s, s, 0);
    assert_float_equal(d.variance, variance, 1e-6);
    assert_float_equal(d.p, erfc((s - 1) / sqrt(2 * variance)), 1e-12);
    assert_float_equal(d.slope, 0.05, 0.01);
    gsl_rng_free(rng);
}

static void slope_is_the_median_of_all(void **unused)
{
    double line[] = {0, 2, 4, 6, 100, 10, 12}, same[] = {3, 3, 3, 3, 3};
    struct tt_drift d;

    (void)unused;
    assert_int_equal(tt_drift(line, 7, &d, &e), TT_OK);
    assert_float_equal(d.slope, 2, 0);
    assert_int_equal(tt_drift(line, 3, &d, &e), TT_OK);
    assert_false(d.known);
    assert_int_equal(tt_drift(same, 5, &d, &e), TT_OK);
    assert_false(d.known);
    assert_int_equal(tt_drift(same, 0, &d, &e), TT_OK);
    assert_false(d.known);
}

/* Each run drifts by less than its noise; together they show it. */
static void runs_drift_together(void **unused)
{
    gsl_rng *rng = tt_make_rng(4);
    struct tt_drift parts[31], d;
    size_t alone = 0;

    (void)unused;
    for (size_t r = 0; r < 30; r++) {
        double values[20];

        for (size_t i = 0; i < 20; i++)
            values[i] = (double)r + 0.005 * (double)i + gsl_ran_gaussian(rng, 0.1);
        assert_int_equal(tt_drift(values, 20, &parts[r], &e), TT_OK);
        alone += parts[r].p <= 0.05;
    }
    parts[30] = (struct tt_drift){.known = false};
    assert_int_equal(tt_drift_together(parts, 31, &d, &e), TT_OK);
    assert_true(d.known && d.p < 1e-4 && alone < 15);
    assert_float_equal(d.slope, 0.005, 0.002);
    assert_int_equal(tt_drift_together(parts + 30, 1, &d, &e), TT_OK);
    assert_false(d.known);
    gsl_rng_free(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_found_where_they_are),
        cmocka_unit_test(a_new_level_at_the_end_is_found),
        cmocka_unit_test(quiet_series_raise_few_alarms),
        cmocka_unit_test(too_little_and_constant_have_no_change),
        cmocka_unit_test(drift_counts_every_order),
        cmocka_unit_test(drift_of_many_with_ties),
        cmocka_unit_test(slope_is_the_median_of_all),
        cmocka_unit_test(runs_drift_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
