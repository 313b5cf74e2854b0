/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of distributions: published values, samples whose shape is known, and limits. What GNU R
 * has, too, is compared with it by tests/program/statistics.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>

#include "analysis/distribution.h"

#define SAMPLE(array) ((struct tt_sample){sizeof(array) / sizeof *(array), array})

static struct tt_error e = TT_ERROR_CLEAR;

static void quantiles_and_spread(void **unused)
{
    static const double values[] = {1, 2, 4, 8, 16};
    struct tt_sample s = SAMPLE(values);
    struct tt_summary m;

    (void)unused;
    assert_float_equal(tt_quantile(&s, 0), 1, 0);
    assert_float_equal(tt_quantile(&s, 0.1), 1.4, 1e-12);
    assert_float_equal(tt_quantile(&s, 1), 16, 0);
    assert_int_equal(tt_summarize(&s, &m, &e), TT_OK);
    assert_float_equal(m.median, 4, 0);
    assert_float_equal(m.iqr, 6, 1e-12);
    assert_float_equal(m.mad, 1.4826 * 3, 1e-12);
    assert_float_equal(tt_ecdf(&s, 0.5), 0, 0);
    assert_float_equal(tt_ecdf(&s, 4), 0.6, 1e-12);
    assert_float_equal(tt_ecdf(&s, 99), 1, 0);
}

/* Weights of 11 men, Shapiro and Wilk (1965): W = 0.79. */
static void shapiro_of_the_paper(void **unused)
{
    static const double weights[] = {148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236};
    static const double same[] = {3, 3, 3, 3};
    struct tt_sample few = {2, weights}, equal = SAMPLE(same), s = SAMPLE(weights);
    struct tt_shape_test t;

    (void)unused;
    assert_int_equal(tt_shapiro_wilk(&s, &t, &e), TT_OK);
    assert_true(t.known);
    assert_float_equal(t.statistic, 0.79, 0.005);
    assert_true(t.p < 0.01);
    assert_int_equal(tt_shapiro_wilk(&few, &t, &e), TT_OK);
    assert_false(t.known);
    assert_int_equal(tt_shapiro_wilk(&equal, &t, &e), TT_OK);
    assert_false(t.known);
}

static void dips_that_can_be_told(void **unused)
{
    double even[40], halves[40];
    struct tt_sample s = SAMPLE(even), h = SAMPLE(halves);
    struct tt_shape_test t;

    (void)unused;
    for (int i = 0; i < 40; i++) {
        even[i] = i;
        halves[i] = (i >= 20) + 1e-9 * i;
    }
    assert_int_equal(tt_dip(&s, 1, &t, &e), TT_OK); /* no dip is less than half a step */
    assert_float_equal(t.statistic, 1 / 80.0, 1e-12);
    assert_true(t.p > 0.9);
    assert_int_equal(tt_dip(&h, 1, &t, &e),
                     TT_OK); /* two points, and no other is as far from one */
    assert_float_equal(t.statistic, 0.25, 0.01);
    assert_true(t.p < 0.002);
    s.n = 3;
    assert_int_equal(tt_dip(&s, 1, &t, &e), TT_OK);
    assert_false(t.known);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of uniform values the dip exceeds 0.0702 (50 values) and 0.0508 (100) once in twenty: Hartigan
 * and Hartigan's table. */
static void dip_is_that_of_the_table(void **unused)
{
    static const struct {
        size_t n;
        double limit;
    } rows[] = {{50, 0.0702}, {100, 0.0508}};
    gsl_rng *rng = tt_make_rng(1);

    (void)unused;
    for (size_t r = 0; r < 2; r++) {
        size_t above = 0, called = 0;

        for (int i = 0; i < 200; i++) {
            double values[100];
            struct tt_sample s = {rows[r].n, values};
            struct tt_shape_test t;

            for (size_t k = 0; k < s.n; k++)
                values[k] = gsl_rng_uniform(rng);
            qsort(values, s.n, sizeof *values, by_value);
            assert_int_equal(tt_dip(&s, 1, &t, &e), TT_OK);
            above += t.statistic > rows[r].limit;
            called += t.p <= 0.05;
        }
        print_message("%zu uniform values: dip above the table's %.3f, called %.3f\n", rows[r].n,
                      (double)above / 200, (double)called / 200);
        assert_true(above >= 4 && above <= 17 && called >= 4 && called <= 17);
    }
    gsl_rng_free(rng);
}

static void modes_are_told_apart(void **unused)
{
    gsl_rng *rng = tt_make_rng(1);
    double values[300], peaks[4];
    struct tt_sample s = SAMPLE(values);
    struct tt_shape_test t;
    struct tt_density d;

    (void)unused;
    for (size_t i = 0; i < s.n; i++)
        values[i] = (i % 3 ? 1 : 2) + gsl_ran_gaussian(rng, 0.1);
    qsort(values, s.n, sizeof *values, by_value);
    assert_int_equal(tt_dip(&s, 1, &t, &e), TT_OK);
    assert_true(t.p < 0.01);
    assert_int_equal(tt_density(&s, 256, &d, &e), TT_OK);
    assert_int_equal(tt_density_peaks(&d, 0.1, peaks, 4), 2);
    assert_float_equal(peaks[0], 1, 0.05);
    assert_float_equal(peaks[1], 2, 0.05);
    free(d.at);
    /* A long tail is one mode. */
    for (size_t i = 0; i < s.n; i++)
        values[i] = gsl_ran_lognormal(rng, 0, 1);
    qsort(values, s.n, sizeof *values, by_value);
    assert_int_equal(tt_dip(&s, 1, &t, &e), TT_OK);
    assert_true(t.p > 0.2);
    gsl_rng_free(rng);
}

/* Whatever is drawn, the area is 1; also of equal values, and of very many. */
static void densities_have_area_one(void **unused)
{
    double *values = malloc(20000 * sizeof *values);
    size_t sizes[] = {1, 7, 500, 20000, 20000};

    (void)unused;
    assert_non_null(values);
    for (size_t i = 0; i < 5; i++) {
        struct tt_sample s = {sizes[i], values};
        struct tt_density d;
        double area = 0;

        for (size_t k = 0; k < s.n; k++)
            values[k] = i == 1 || i == 4 ? 5 : sqrt((double)k + 1);
        assert_int_equal(tt_density(&s, 512, &d, &e), TT_OK);
        for (size_t k = 0; k + 1 < d.n; k++)
            area += (d.density[k] + d.density[k + 1]) / 2 * (d.at[k + 1] - d.at[k]);
        assert_true(fabs(area - 1) < 0.003); /* three bandwidths leave 0.27 % of a peak outside */
        free(d.at);
    }
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_and_spread),  cmocka_unit_test(shapiro_of_the_paper),
        cmocka_unit_test(dips_that_can_be_told), cmocka_unit_test(dip_is_that_of_the_table),
        cmocka_unit_test(modes_are_told_apart),  cmocka_unit_test(densities_have_area_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
