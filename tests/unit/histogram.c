/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histograms against exact quantiles of random data, and merging in any order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/histogram.h"

#define SAMPLES 20000

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* From nanoseconds to an hour, evenly over the powers of two. */
static int64_t random_duration(uint64_t *state)
{
    return (int64_t)(random_bits(state) >> (22 + random_bits(state) % 40));
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void buckets_cover_all_values(void **unused)
{
    int64_t low, high, expected = 0;

    (void)unused;
    for (unsigned i = 0; i < TT_HISTOGRAM_BUCKETS; i++) {
        tt_histogram_bounds(i, &low, &high);
        assert_int_equal(low, expected);
        assert_true(high > low);
        assert_int_equal(tt_histogram_bucket(low), i);
        assert_int_equal(tt_histogram_bucket(high - 1), i);
        expected = high;
    }
    assert_int_equal(expected, (int64_t)1 << 43);
    assert_int_equal(tt_histogram_bucket(INT64_MAX), TT_HISTOGRAM_BUCKETS - 1);
    assert_int_equal(tt_histogram_bucket(-5), 0);
}

static void quantiles_are_within_a_32nd(void **unused)
{
    static const double qs[] = {0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    int64_t *values = malloc(SAMPLES * sizeof *values);
    uint64_t state = 88172645463325252u;

    (void)unused;
    assert_non_null(values);
    for (size_t n = 1; n <= SAMPLES; n = n * 3 + 1) {
        struct tt_histogram h = {0};

        for (size_t i = 0; i < n; i++) {
            values[i] = random_duration(&state);
            tt_histogram_add(&h, values[i]);
        }
        qsort(values, n, sizeof *values, by_value);
        for (size_t i = 0; i < sizeof qs / sizeof *qs; i++) {
            double rank = ceil(qs[i] * (double)n);
            double exact = (double)values[rank < 1 ? 0 : (size_t)rank - 1];

            assert_true(fabs(tt_histogram_quantile(&h, qs[i]) - exact) <= exact / 32);
        }
        assert_int_equal(h.min_ns, values[0]);
        assert_int_equal(h.max_ns, values[n - 1]);
        assert_int_equal(h.total, n);
    }
    free(values);
}

static void small_values_are_exact(void **unused)
{
    struct tt_histogram h = {0};

    (void)unused;
    assert_true(tt_histogram_quantile(&h, 0.5) == 0);
    for (int64_t i = 1; i <= 31; i++)
        tt_histogram_add(&h, i);
    assert_true(tt_histogram_quantile(&h, 0.5) == 16);
    assert_int_equal(h.sum_ns, 31 * 32 / 2);
}

static void fill(struct tt_histogram *h, uint64_t seed, int n)
{
    for (int i = 0; i < n; i++)
        tt_histogram_add(h, random_duration(&seed));
}

static void merging_is_associative(void **unused)
{
    struct tt_histogram parts[3] = {{0}}, left = {0}, right = {0}, all = {0}, inner = {0};

    (void)unused;
    for (int i = 0; i < 3; i++) {
        fill(&parts[i], (uint64_t)(i + 1) * 7919, 500 * i); /* the first is empty */
        fill(&all, (uint64_t)(i + 1) * 7919, 500 * i);
    }
    for (int i = 0; i < 3; i++)
        tt_histogram_merge(&left, &parts[i]);
    tt_histogram_merge(&inner, &parts[2]);
    tt_histogram_merge(&inner, &parts[1]);
    tt_histogram_merge(&right, &inner);
    tt_histogram_merge(&right, &parts[0]);
    assert_memory_equal(&left, &right, sizeof left);
    assert_memory_equal(&left, &all, sizeof left);
}

static void only_what_there_is_is_packed(void **unused)
{
    enum { ROW = 3 };
    struct tt_histogram *row = calloc(ROW, sizeof *row), *back = calloc(ROW, sizeof *back);
    uint64_t *words = malloc(TT_HISTOGRAMS_WORDS(ROW) * sizeof *words), state = 4711;
    size_t n, once;

    (void)unused;
    assert_non_null(row);
    assert_non_null(back);
    assert_non_null(words);
    assert_int_equal(tt_histograms_pack(row, ROW, words), 0);
    tt_histogram_add(&row[2], 1234);
    once = tt_histograms_pack(row, ROW, words);
    assert_int_equal(once, TT_HISTOGRAM_HEAD + 1);
    for (int i = 0; i < SAMPLES; i++)
        tt_histogram_add(&row[0], random_duration(&state));
    n = tt_histograms_pack(row, ROW, words);
    assert_true(tt_histograms_unpack(words, n, back, ROW));
    assert_memory_equal(row, back, ROW * sizeof *row);
    assert_true(tt_histograms_unpack(words, n, back, 1)); /* a reader that knows fewer */
    assert_memory_equal(row, back, sizeof *row);
    for (size_t cut = 1; cut < once; cut++) /* of the last one */
        assert_false(tt_histograms_unpack(words, n - cut, back, ROW));
    words[n - 1] = (uint64_t)TT_HISTOGRAM_BUCKETS << 53 | 1;
    assert_false(tt_histograms_unpack(words, n, back, ROW));
    words[n - once] = 0; /* the first one again */
    assert_false(tt_histograms_unpack(words, n, back, ROW));
    free(row);
    free(back);
    free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_there_is_is_packed), cmocka_unit_test(buckets_cover_all_values),
        cmocka_unit_test(quantiles_are_within_a_32nd),  cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(merging_is_associative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
