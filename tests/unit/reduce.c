/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of 2,000 ranks whose nodes reduce their iterations says the same as one that keeps all of
 * them, and takes a fraction of the room. */
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/run_data.h"
#include "base/json.h"
#include "record/reduce.h"
#include "simulate_ranks.h"

enum { NODES = 20, RANKS = 100, ITERATIONS = 120, WHOLE = 5 };

static char whole[] = "/tmp/tutti-whole-XXXXXX", reduced[] = "/tmp/tutti-reduced-XXXXXX";

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)) + 1e-12))
        fail_msg("%.17g differs from %.17g", a, b);
}

static off_t bytes;
static int add_size(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path, (void)ftw;
    bytes += type == FTW_F ? st->st_size : 0;
    return 0;
}

static off_t size_of(const char *directory)
{
    bytes = 0;
    assert_int_equal(nftw(directory, add_size, 8, FTW_PHYS), 0);
    return bytes;
}

static void load(const char *directory, struct tt_run_data *run)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_run_data_load(run, directory, &e), TT_OK);
    assert_int_equal(run->nranks, NODES * RANKS);
}

static void same_object(const json_t *a, json_t *b)
{
    const char *key;
    const json_t *value;

    assert_int_equal(json_object_size(a), json_object_size(b));
    json_object_foreach(b, key, value)
    {
        if (json_is_object(value))
            same_object(json_object_get(a, key), (json_t *)value);
        else
            assert_near(tt_number_of(a, key), json_number_value(value));
    }
}

static void figures_are_the_same(void **unused)
{
    const struct tt_window w = {0, INT64_MAX};
    struct tt_run_data a, b;
    json_t *x, *y;

    (void)unused;
    load(whole, &a);
    load(reduced, &b);
    assert_int_equal(a.nreduced, 0);
    assert_int_equal(b.nreduced, ITERATIONS - WHOLE);
    assert_int_equal(tt_run_data_whole(&b), WHOLE);
    for (int i = 0; i < TT_NMETRICS; i++) {
        assert_int_equal(a.metrics[i].known, b.metrics[i].known);
        assert_near(a.metrics[i].value, b.metrics[i].value);
    }
    for (size_t r = 0; r < a.nranks; r++)
        for (int p = 0; p < TT_NPHASES; p++)
            assert_near(a.seconds[r][p], b.seconds[r][p]);
    assert_near(a.excluded.seconds, b.excluded.seconds);
    assert_near(a.excluded.iterations, b.excluded.iterations);
    assert_int_equal(a.nepochs, b.nepochs);
    for (size_t i = 0; i < a.nepochs; i++) {
        assert_true(b.epochs[i].complete);
        assert_near(a.epochs[i].rest, b.epochs[i].rest);
        assert_near(a.epochs[i].io, b.epochs[i].io);
        assert_near(a.epochs[i].bytes, b.epochs[i].bytes);
    }
    x = tt_phase_times(&a);
    y = tt_phase_times(&b);
    same_object(x, y);
    json_decref(x);
    json_decref(y);
    x = tt_last_to_arrive(&a);
    y = tt_last_to_arrive(&b);
    assert_true(json_equal(x, y));
    json_decref(x);
    json_decref(y);
    x = tt_window_work(&a, &w);
    y = tt_window_work(&b, &w);
    same_object(x, y);
    json_decref(x);
    json_decref(y);
    tt_run_data_free(&a);
    tt_run_data_free(&b);
}

/* Of the sample all iterations are there to be exported, of others the first ones. */
static void count(void *context, const struct tt_iteration_record *list, size_t n)
{
    (void)list;
    *(size_t *)context += n;
}

static void a_sample_is_kept(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_records_index index;
    char path[128];

    (void)unused;
    snprintf(path, sizeof path, "%s/records/node00000.ttr", reduced);
    assert_int_equal(tt_records_index(path, &index, &e), TT_OK);
    for (size_t i = 0; i < index.nranks; i++) {
        bool sampled = tt_reduce_samples(index.ranks[i].rank, NODES * RANKS);
        size_t n = 0;

        assert_int_equal(tt_records_scan(&index, i, count, &n, &e), TT_OK);
        assert_int_equal(n, 1 + (sampled ? ITERATIONS : WHOLE));
    }
    assert_true(tt_reduce_samples(0, NODES * RANKS));
    tt_records_index_free(&index);
}

static void it_takes_less_room(void **unused)
{
    (void)unused;
    assert_true(size_of(reduced) < size_of(whole) / 4);
}

static void medians_are_those_of_sorted_values(void **unused)
{
    float odd[] = {5, 1, 4, 1, 3}, even[] = {8, 2, 6, 4}, same[] = {7, 7, 7, 7, 7, 7}, one[] = {9};

    (void)unused;
    assert_true(tt_select_median(odd, 5) == 3);
    assert_true(tt_select_median(even, 4) == 5);
    assert_true(tt_select_median(same, 6) == 7);
    assert_true(tt_select_median(one, 1) == 9);
    assert_true(tt_select_median(NULL, 0) == 0);
}

static void small_runs_are_kept_whole(void **unused)
{
    (void)unused;
    assert_true(tt_reduce_after(TT_REDUCE_RANKS - 1, TT_REDUCE_ABOVE) > UINT64_C(1) << 60);
    assert_int_equal(tt_reduce_after(100000, TT_REDUCE_ABOVE), 10);
}

static int make(void **unused)
{
    struct simulated_run run = {NODES, RANKS, ITERATIONS, NODES * RANKS * WHOLE};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    if (!mkdtemp(whole) || !mkdtemp(reduced) || simulate_run(reduced, &run, &e) != TT_OK)
        return -1;
    run.above = UINT64_MAX;
    return simulate_run(whole, &run, &e) == TT_OK ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int clean(void **unused)
{
    (void)unused;
    return nftw(whole, remove_entry, 8, FTW_DEPTH | FTW_PHYS) |
           nftw(reduced, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_the_same),
        cmocka_unit_test(a_sample_is_kept),
        cmocka_unit_test(it_takes_less_room),
        cmocka_unit_test(medians_are_those_of_sorted_values),
        cmocka_unit_test(small_runs_are_kept_whole),
    };

    return cmocka_run_group_tests(tests, make, clean);
}
