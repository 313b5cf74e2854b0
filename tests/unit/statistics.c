/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics against tables, worked examples, and the enumeration of everything that can happen;
 * and simulations that show how often they err. All of it deterministic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "analysis/statistics.h"

#define SAMPLE(array) ((struct tt_sample){sizeof(array) / sizeof *(array), array})

static struct tt_error e = TT_ERROR_CLEAR;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* ---- median ---- */

static void medians(void **unused)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

    (void)unused;
    assert_float_equal(tt_median(odd, 3), 2, 0);
    assert_float_equal(tt_median(even, 4), 2.5, 0);
    assert_float_equal(even[3], 4, 0);
    assert_float_equal(tt_median(even, 0), 0, 0);
}

/* The ranks of the interval of 95 % are in every textbook's table of the sign test. */
static void median_intervals_follow_the_table(void **unused)
{
    static const struct {
        size_t n, rank;
    } table[] = {{5, 0},  {6, 1},  {7, 1},  {8, 1},  {9, 2},  {10, 2}, {11, 2}, {12, 3}, {13, 3},
                 {14, 3}, {15, 4}, {16, 4}, {17, 5}, {18, 5}, {19, 5}, {20, 6}, {25, 8}, {30, 10}};
    double values[30];

    (void)unused;
    for (size_t i = 0; i < 30; i++)
        values[i] = (double)(i + 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct tt_sample s = {table[i].n, values};
        struct tt_interval found = tt_median_interval(&s, 0.95);

        assert_int_equal(found.known, table[i].rank > 0);
        if (found.known) {
            assert_float_equal(found.low, (double)table[i].rank, 0);
            assert_float_equal(found.high, (double)(table[i].n + 1 - table[i].rank), 0);
        }
    }
    assert_int_equal(tt_runs_for_interval(TT_LEVEL), 6);
    assert_int_equal(tt_runs_for_interval(0.9), 5);
    assert_int_equal(tt_runs_for_interval(0.99), 8);
}

/* Ranks of the pairs whose binomial probability is nearest to 95 %, computed apart.
 * bench/coverage.c shows how often they cover the median of simulated runs. */
static void estimates_follow_the_table(void **unused)
{
    static const struct {
        size_t n, low, high;
    } table[] = {{6, 1, 6},   {7, 1, 7},   {8, 1, 7},   {9, 2, 8},   {10, 2, 9},  {12, 3, 10},
                 {14, 4, 11}, {16, 4, 12}, {20, 6, 15}, {21, 6, 15}, {24, 7, 17}, {30, 10, 21}};
    double values[30];

    (void)unused;
    for (size_t i = 0; i < 30; i++)
        values[i] = (double)(i + 1);
    for (size_t n = 0; n < 6; n++)
        assert_false(tt_median_estimate(&(struct tt_sample){n, values}, 0.95).known);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct tt_sample s = {table[i].n, values};
        struct tt_interval found = tt_median_estimate(&s, 0.95);

        assert_true(found.known);
        assert_float_equal(found.low, (double)table[i].low, 0);
        assert_float_equal(found.high, (double)table[i].high, 0);
    }
}

/* ---- bootstrap against all resamples ---- */

struct atoms {
    size_t n;
    double value[1024], weight[1024];
};

static void add_atom(struct atoms *all, double value, double weight)
{
    size_t i = 0;

    while (i < all->n && all->value[i] != value)
        i++;
    assert_true(i < 1024);
    if (i == all->n) {
        all->value[all->n] = value;
        all->weight[all->n++] = 0;
    }
    all->weight[i] += weight;
}

/* The median of every one of the n^n resamples. */
static void all_medians(const struct tt_sample *s, struct atoms *all)
{
    size_t total = 1;

    all->n = 0;
    for (size_t i = 0; i < s->n; i++)
        total *= s->n;
    for (size_t code = 0; code < total; code++) {
        size_t counts[8] = {0}, seen = 0, low = 0, high;

        for (size_t i = 0, rest = code; i < s->n; i++, rest /= s->n)
            counts[rest % s->n]++;
        while (seen + counts[low] <= (s->n - 1) / 2)
            seen += counts[low++];
        for (high = low; seen + counts[high] <= s->n / 2;)
            seen += counts[high++];
        add_atom(all, (s->values[low] + s->values[high]) / 2, 1 / (double)total);
    }
}

/* q lies where the exact distribution function passes p, but for the noise of 10,000 resamples. */
static void assert_quantile(const struct atoms *all, double q, double p)
{
    double below = 0, upto = 0, noise = 5 * sqrt(p * (1 - p) / TT_RESAMPLES);

    for (size_t i = 0; i < all->n; i++) {
        below += all->value[i] < q - 1e-9 ? all->weight[i] : 0;
        upto += all->value[i] <= q + 1e-9 ? all->weight[i] : 0;
    }
    assert_true(below <= p + noise);
    assert_true(upto >= p - noise);
}

static const double six[] = {9.7, 10.1, 10.4, 11.9, 12, 17}, seven[] = {3, 5, 6, 6, 8, 13, 21};

static void bootstrap_is_that_of_all_resamples(void **unused)
{
    const struct tt_sample samples[] = {SAMPLE(six), SAMPLE(seven)};
    static struct atoms of[2], ratio, difference;
    struct tt_interval found;

    (void)unused;
    for (int i = 0; i < 2; i++) {
        all_medians(&samples[i], &of[i]);
        assert_int_equal(tt_bootstrap_median(&samples[i], 0.95, 7, &found, &e), TT_OK);
        assert_true(found.known);
        assert_quantile(&of[i], found.low, 0.025);
        assert_quantile(&of[i], found.high, 0.975);
    }
    ratio.n = difference.n = 0;
    for (size_t i = 0; i < of[0].n; i++)
        for (size_t k = 0; k < of[1].n; k++) {
            add_atom(&ratio, of[1].value[k] / of[0].value[i], of[0].weight[i] * of[1].weight[k]);
            add_atom(&difference, of[1].value[k] - of[0].value[i],
                     of[0].weight[i] * of[1].weight[k]);
        }
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &samples[0], &samples[1], 0.95, 7, &found, &e),
                     TT_OK);
    assert_quantile(&ratio, found.low, 0.025);
    assert_quantile(&ratio, found.high, 0.975);
    assert_int_equal(
        tt_bootstrap_effect(TT_DIFFERENCE, &samples[0], &samples[1], 0.5, 7, &found, &e), TT_OK);
    assert_quantile(&difference, found.low, 0.25);
    assert_quantile(&difference, found.high, 0.75);
}

static void bootstrap_needs_six_and_repeats(void **unused)
{
    struct tt_sample all = SAMPLE(seven), few = {5, seven};
    struct tt_interval first, second;

    (void)unused;
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &all, &few, 0.95, 1, &first, &e), TT_OK);
    assert_false(first.known);
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &few, &all, 0.95, 1, &first, &e), TT_OK);
    assert_false(first.known);
    assert_int_equal(tt_bootstrap_median(&few, 0.95, 1, &first, &e), TT_OK);
    assert_false(first.known);
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &all, &all, 0.95, 1, &first, &e), TT_OK);
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &all, &all, 0.95, 1, &second, &e), TT_OK);
    assert_float_equal(first.low, second.low, 0);
    assert_float_equal(first.high, second.high, 0);
    assert_float_equal(tt_effect(TT_RATIO, &all, &all), 1, 0);
}

/* ---- tests against all arrangements, counted another way ---- */

static double plain_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Statistics of the split in which the values with a bit in `mask` are b. */
static void split(const double *pool, size_t n, unsigned mask, double *difference, double *u)
{
    double a[16], b[16];
    size_t na = 0, nb = 0;

    for (size_t i = 0; i < n; i++)
        if (mask >> i & 1)
            b[nb++] = pool[i];
        else
            a[na++] = pool[i];
    *u = 0;
    for (size_t i = 0; i < na; i++)
        for (size_t k = 0; k < nb; k++)
            *u += (b[k] > a[i]) + 0.5 * (b[k] == a[i]);
    *difference = plain_median(b, nb) - plain_median(a, na);
}

/* Both p by going through all subsets of the pooled values. */
static void enumerate(const struct tt_sample *a, const struct tt_sample *b, double *permutation,
                      double *mann_whitney)
{
    double pool[16], d0, u0, d, u, middle = (double)(a->n * b->n) / 2;
    size_t n = a->n + b->n, total = 0, far = 0, off = 0;

    memcpy(pool, a->values, a->n * sizeof *pool);
    memcpy(pool + a->n, b->values, b->n * sizeof *pool);
    split(pool, n, ((1u << b->n) - 1) << a->n, &d0, &u0);
    for (unsigned mask = 0; mask < 1u << n; mask++) {
        if ((size_t)__builtin_popcount(mask) != b->n)
            continue;
        split(pool, n, mask, &d, &u);
        total++;
        far += fabs(d) >= fabs(d0) - 1e-9;
        off += fabs(u - middle) >= fabs(u0 - middle);
    }
    *permutation = (double)far / (double)total;
    *mann_whitney = (double)off / (double)total;
}

static void tests_count_every_arrangement(void **unused)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    double values[2][6], p, q;
    struct tt_test test;

    (void)unused;
    for (unsigned i = 0; i < 40; i++) {
        struct tt_sample a = {1 + i % 6, values[0]}, b = {1 + i / 6 % 6, values[1]};

        for (size_t k = 0; k < 12; k++) /* whole numbers: many ties */
            values[k / 6][k % 6] = floor(10 * gsl_rng_uniform(rng)) + (k >= 6 && i % 2 ? 4 : 0);
        qsort(values[0], a.n, sizeof(double), by_value);
        qsort(values[1], b.n, sizeof(double), by_value);
        enumerate(&a, &b, &p, &q);
        assert_int_equal(tt_permutation_test(&a, &b, 1, &test, &e), TT_OK);
        assert_true(test.exact);
        assert_float_equal(test.p, p, 1e-12);
        assert_int_equal(tt_mann_whitney(&a, &b, &test, &e), TT_OK);
        assert_true(test.exact);
        assert_float_equal(test.p, q, 1e-12);
    }
    gsl_rng_free(rng);
}

/* Permeability of chorioamnion, Hollander and Wolfe (1973), page 69: W = 35, p = 0.2544 two-sided.
 */
static void mann_whitney_of_the_textbook(void **unused)
{
    static const double at_term[] = {0.73, 0.80, 0.83, 1.04, 1.38, 1.45, 1.46, 1.64, 1.89, 1.91},
                        early[] = {0.74, 0.88, 0.90, 1.15, 1.21};
    struct tt_sample x = SAMPLE(at_term), y = SAMPLE(early);
    struct tt_test test;

    (void)unused;
    assert_int_equal(tt_mann_whitney(&y, &x, &test, &e), TT_OK);
    assert_float_equal(test.statistic, 35, 0);
    assert_float_equal(test.p, 0.2544, 5e-5);
    assert_int_equal(tt_mann_whitney(&x, &y, &test, &e), TT_OK);
    assert_float_equal(test.statistic, 15, 0);
    assert_float_equal(test.p, 0.2544, 5e-5);
}

/* 1 to 40 against 9 to 48, 32 of them in both; p from the formula, computed apart. */
static void mann_whitney_of_many(void **unused)
{
    double low[40], high[40];
    struct tt_sample a = SAMPLE(low), b = SAMPLE(high);
    struct tt_test test;

    (void)unused;
    for (int i = 0; i < 40; i++) {
        low[i] = i + 1;
        high[i] = i + 9;
    }
    assert_int_equal(tt_mann_whitney(&a, &b, &test, &e), TT_OK);
    assert_false(test.exact);
    assert_float_equal(test.statistic, 1088, 0);
    assert_float_equal(test.p, 0.005657666757161456, 1e-9);
    for (int i = 0; i < 40; i++)
        low[i] = high[i] = 5;
    assert_int_equal(tt_mann_whitney(&a, &b, &test, &e), TT_OK);
    assert_float_equal(test.p, 1, 0);
}

/* Of the 705,432 arrangements of these, 195,552 have medians at least as far apart. */
static void random_permutations_come_close(void **unused)
{
    static const double x[] = {88.5, 88.7, 94.1, 94.3, 97.5, 99.3, 101, 102, 103.3, 105.5, 106.8},
                        y[] = {96.7,  99.3,  100.1, 100.9, 101.2, 101.6,
                               103.3, 103.3, 103.7, 106.5, 113.9};
    struct tt_sample a = SAMPLE(x), b = SAMPLE(y);
    struct tt_test test, again;

    (void)unused;
    assert_int_equal(tt_permutation_test(&a, &b, 3, &test, &e), TT_OK);
    assert_false(test.exact);
    assert_float_equal(test.p, 195552 / 705432.0, 0.02);
    assert_int_equal(tt_permutation_test(&a, &b, 3, &again, &e), TT_OK);
    assert_float_equal(test.p, again.p, 0);
}

/* ---- decisions ---- */

static void equivalence(void **unused)
{
    struct tt_interval within = {true, 0.96, 1.04}, low = {true, 0.95, 1.04},
                       high = {true, 0.96, 1.06}, none = {false, 1, 1}, small = {true, -0.04, 0.05};

    (void)unused;
    assert_true(tt_is_equivalent(TT_RATIO, &within, 0.05));
    assert_false(tt_is_equivalent(TT_RATIO, &low, 0.05)); /* 1 / 1.05 is above 0.95 */
    assert_false(tt_is_equivalent(TT_RATIO, &high, 0.05));
    assert_false(tt_is_equivalent(TT_RATIO, &none, 0.05));
    assert_true(tt_is_equivalent(TT_DIFFERENCE, &small, 0.05));
    assert_false(tt_is_equivalent(TT_DIFFERENCE, &small, 0.04));
}

/* Twice the precision takes four times the runs. */
static void more_runs_decide(void **unused)
{
    static const double same[] = {10, 10, 10, 10, 10, 10, 10, 10};
    struct tt_sample s = SAMPLE(same);
    struct tt_interval wide = {true, -0.4, 0.4}, narrow = {true, -0.2, 0.2},
                       ratio = {true, 1 / 1.1, 1.1};
    double few = tt_runs_to_decide(TT_DIFFERENCE, &s, &s, &narrow, 0.1);
    double many = tt_runs_to_decide(TT_DIFFERENCE, &s, &s, &wide, 0.1);

    (void)unused;
    assert_float_equal(few, ceil(8 * pow(0.2 / (0.1 * 0.7), 2)), 0);
    assert_true(fabs(many - 4 * few) <= 4);
    assert_float_equal(tt_runs_to_decide(TT_RATIO, &s, &s, &ratio, 0.2),
                       ceil(8 * pow(log(1.1) / (log(1.2) * 0.7), 2)), 0);
}

/* ---- how often they err: the same numbers under a sanitizer, and many times as slow ---- */

#ifndef __SANITIZE_ADDRESS__
#define TRIALS 300

struct rates {
    double exact, estimate, covered, different, ranks, found;
};

/* Skewed values with median 1 and a spread of 5 %, two samples of n from the same distribution, and
 * b once more 10 % above. */
static void trial(gsl_rng *rng, size_t n, struct rates *r)
{
    double x[20], y[20], z[20];
    struct tt_sample a = {n, x}, b = {n, y}, c = {n, z};
    struct tt_interval i;
    struct tt_test test;

    for (size_t k = 0; k < n; k++) {
        x[k] = gsl_ran_lognormal(rng, 0, 0.05);
        y[k] = gsl_ran_lognormal(rng, 0, 0.05);
        z[k] = 1.1 * y[k];
    }
    qsort(x, n, sizeof *x, by_value);
    qsort(y, n, sizeof *y, by_value);
    qsort(z, n, sizeof *z, by_value);
    i = tt_median_interval(&a, 0.95);
    r->exact += i.low <= 1 && i.high >= 1;
    i = tt_median_estimate(&a, 0.95);
    r->estimate += i.low <= 1 && i.high >= 1;
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &a, &b, 0.95, 1, &i, &e), TT_OK);
    assert_int_equal(tt_permutation_test(&a, &b, 1, &test, &e), TT_OK);
    r->covered += i.low <= 1 && i.high >= 1;
    r->different += (i.low > 1 || i.high < 1) && test.p <= 0.05;
    assert_int_equal(tt_mann_whitney(&a, &b, &test, &e), TT_OK);
    r->ranks += test.p <= 0.05;
    assert_int_equal(tt_bootstrap_effect(TT_RATIO, &a, &c, 0.95, 1, &i, &e), TT_OK);
    assert_int_equal(tt_permutation_test(&a, &c, 1, &test, &e), TT_OK);
    r->found += i.low > 1 && test.p <= 0.05;
}

static void simulations_err_as_promised(void **unused)
{
    static const size_t sizes[] = {6, 12};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    (void)unused;
    for (size_t s = 0; s < 2; s++) {
        struct rates r = {0};

        for (int i = 0; i < TRIALS; i++)
            trial(rng, sizes[s], &r);
        print_message("%zu runs: exact interval covers %.3f, that of reports %.3f, bootstrap %.3f, "
                      "called different "
                      "%.3f, by ranks %.3f, 10 %% found %.3f\n",
                      sizes[s], r.exact / TRIALS, r.estimate / TRIALS, r.covered / TRIALS,
                      r.different / TRIALS, r.ranks / TRIALS, r.found / TRIALS);
        assert_true(r.exact >= 0.92 * TRIALS);
        assert_true(r.covered >= 0.92 * TRIALS);
        assert_true(r.different <= 0.05 * TRIALS);
        assert_true(r.ranks <= 0.08 * TRIALS);
        assert_true(r.found >= (sizes[s] == 12 ? 0.8 : 0.4) * TRIALS);
    }
    gsl_rng_free(rng);
}
#endif

static double difference_of_means(const double *a, const double *b)
{
    return a[0] - b[0] + a[1];
}

/* Of 100 values the mean has a normal distribution; columns are drawn together, so what stands
 * against each other in a row stays so. */
static void interval_of_means_is_that_of_theory(void **unused)
{
    struct tt_interval i;
    double a[100], paired[200], b[6] = {7, 7, 7, 7, 7, 7};
    double half = 1.96 * sqrt((100 * 100 - 1) / 12.0) / 10;

    (void)unused;
    for (int k = 0; k < 100; k++) {
        a[k] = k;
        paired[2 * k] = k;
        paired[2 * k + 1] = -k;
    }
    assert_int_equal(tt_bootstrap_means(difference_of_means, &(struct tt_drawn){100, 2, paired},
                                        &(struct tt_drawn){6, 1, b}, TT_LEVEL, 1, &i, &e),
                     TT_OK);
    assert_true(i.known && fabs(i.low + 7) < 1e-9 && fabs(i.high + 7) < 1e-9);
    for (int k = 0; k < 100; k++) {
        paired[2 * k] = a[k];
        paired[2 * k + 1] = 0;
    }
    assert_int_equal(tt_bootstrap_means(difference_of_means, &(struct tt_drawn){100, 2, paired},
                                        &(struct tt_drawn){6, 1, b}, TT_LEVEL, 1, &i, &e),
                     TT_OK);
    assert_true(fabs(i.low - (42.5 - half)) < 0.05 * half);
    assert_true(fabs(i.high - (42.5 + half)) < 0.05 * half);
    assert_int_equal(tt_bootstrap_means(difference_of_means, &(struct tt_drawn){100, 2, paired},
                                        &(struct tt_drawn){5, 1, b}, TT_LEVEL, 1, &i, &e),
                     TT_OK);
    assert_false(i.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_of_means_is_that_of_theory),
        cmocka_unit_test(medians),
        cmocka_unit_test(median_intervals_follow_the_table),
        cmocka_unit_test(estimates_follow_the_table),
        cmocka_unit_test(bootstrap_is_that_of_all_resamples),
        cmocka_unit_test(bootstrap_needs_six_and_repeats),
        cmocka_unit_test(tests_count_every_arrangement),
        cmocka_unit_test(mann_whitney_of_the_textbook),
        cmocka_unit_test(mann_whitney_of_many),
        cmocka_unit_test(random_permutations_come_close),
        cmocka_unit_test(equivalence),
        cmocka_unit_test(more_runs_decide),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(simulations_err_as_promised),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
