/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Percentiles and rates of calls: their values, and why there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/latency.h"

static struct tt_run_data run;

static int begin(void **unused)
{
    (void)unused;
    memset(&run, 0, sizeof run);
    run.complete = run.finished = true;
    run.calls = calloc(TT_NCALLS, sizeof *run.calls);
    return run.calls ? 0 : -1;
}

static int end(void **unused)
{
    (void)unused;
    free(run.calls);
    return 0;
}

/* 1, 2, ... n us, of which the buckets are 1/32 wide. */
static void add_calls(enum tt_call call, int n)
{
    for (int i = 1; i <= n; i++)
        tt_histogram_add(&run.calls[call], i * INT64_C(1000));
}

static void expect_near(enum tt_metric_id id, double value)
{
    struct tt_value v = tt_percentile(&run, id);

    assert_true(v.known);
    assert_float_equal(v.value, value, value / 32);
}

static void expect_unknown(struct tt_value v, const char *why)
{
    assert_false(v.known);
    assert_string_equal(v.note, why);
}

static void percentiles_need_their_calls(void **unused)
{
    (void)unused;
    expect_unknown(tt_percentile(&run, TT_METRIC_open_p50), "no such call was made");
    add_calls(TT_CALL_OPEN, 1);
    expect_unknown(tt_percentile(&run, TT_METRIC_open_p50), "fewer than 2 calls");
    add_calls(TT_CALL_WRITE, 99);
    expect_near(TT_METRIC_write_p50, 50e-6);
    expect_unknown(tt_percentile(&run, TT_METRIC_write_p99), "fewer than 100 calls");
    add_calls(TT_CALL_READ, 100);
    expect_near(TT_METRIC_read_p99, 99e-6);
    add_calls(TT_CALL_COLLECTIVE, 999);
    expect_near(TT_METRIC_collective_p99, 990e-6);
    expect_unknown(tt_percentile(&run, TT_METRIC_collective_p999), "fewer than 1,000 calls");
    add_calls(TT_CALL_STAT, 1000);
    expect_near(TT_METRIC_stat_p999, 999e-6);
}

static void calls_per_second_use_the_time_of_the_rate(void **unused)
{
    (void)unused;
    add_calls(TT_CALL_WRITE, 50);
    run.metrics[TT_METRIC_bytes_written] = (struct tt_value){.known = true, .value = 1000};
    run.metrics[TT_METRIC_write_rate] = (struct tt_value){.known = true, .value = 400}; /* 2.5 s */
    assert_float_equal(
        tt_iops(&run, TT_CALL_WRITE, TT_METRIC_write_rate, TT_METRIC_bytes_written).value, 20,
        1e-12);
    run.metrics[TT_METRIC_write_rate] = (struct tt_value){.note = "no time"};
    expect_unknown(tt_iops(&run, TT_CALL_WRITE, TT_METRIC_write_rate, TT_METRIC_bytes_written),
                   "no time");
}

static void what_nobody_saw_is_unknown(void **unused)
{
    json_t *overlap = json_pack("{s:s}", "executor", "native");

    (void)unused;
    run.overlap = overlap;
    run.bytes_written = 10;
    run.metrics[TT_METRIC_bytes_written] = (struct tt_value){.known = true, .value = 10};
    run.metrics[TT_METRIC_write_rate] = (struct tt_value){.known = true, .value = 10};
    expect_unknown(tt_iops(&run, TT_CALL_WRITE, TT_METRIC_write_rate, TT_METRIC_bytes_written),
                   "nobody sees how long native nonblocking calls take");
    add_calls(TT_CALL_WRITE, 1000);
    run.complete = run.finished = false;
    expect_unknown(tt_percentile(&run, TT_METRIC_write_p50), "not every rank told how it ended");
    run.complete = true;
    assert_string_equal(tt_percentile(&run, TT_METRIC_write_p50).note, "until the run ended early");
    run.overlap = NULL;
    json_decref(overlap);
}

static void json_has_null_for_too_few(void **unused)
{
    json_t *all, *write;

    (void)unused;
    add_calls(TT_CALL_WRITE, 20);
    all = tt_calls_json(&run);
    write = json_object_get(all, "write");
    assert_int_equal(json_object_size(all), 1);
    assert_int_equal(json_integer_value(json_object_get(write, "count")), 20);
    assert_true(json_is_real(json_object_get(write, "p90")));
    assert_true(json_is_null(json_object_get(write, "p99")));
    assert_true(json_is_null(json_object_get(write, "p99.9")));
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(percentiles_need_their_calls, begin, end),
        cmocka_unit_test_setup_teardown(calls_per_second_use_the_time_of_the_rate, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_saw_is_unknown, begin, end),
        cmocka_unit_test_setup_teardown(json_has_null_for_too_few, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
