/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spans of several threads: each has a track of its own, and what finds no room is counted. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "record/trace.h"

#define THREADS 4

static uint64_t seen[THREADS + 1], sum_of_ids;
static int64_t least_ns;

static void count(struct tt_recorder *unused, const struct tt_span *list, size_t n)
{
    (void)unused;
    for (size_t i = 0; i < n; i++) {
        assert_in_range(list[i].thread, 0, THREADS);
        seen[list[i].thread]++;
        sum_of_ids += list[i].id;
        least_ns = list[i].start_ns < least_ns ? list[i].start_ns : least_ns;
    }
}

static void begin(void)
{
    struct tt_error e = TT_ERROR_CLEAR;

    memset(seen, 0, sizeof seen);
    sum_of_ids = 0;
    least_ns = INT64_MAX;
    assert_int_equal(tt_trace_begin(&e), TT_OK);
}

static void *add_many(void *number)
{
    uint64_t n = *(uint64_t *)number;

    tt_trace_name("adder");
    for (uint64_t i = 1; i <= n; i++)
        tt_trace_call(TT_TRACE_ALL, TT_CALL_WRITE, i, 100 + (int64_t)i, 101 + (int64_t)i);
    return NULL;
}

static void in_threads(uint64_t n)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &n), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void every_thread_has_its_track(void **unused)
{
    json_t *summary;

    (void)unused;
    for (int round = 0; round < 2; round++) { /* also of a second trace */
        begin();
        tt_trace_call(TT_TRACE_ALL, TT_CALL_READ, 7, 90, 99);
        in_threads(1000);
        summary = tt_trace_summary();
        assert_int_equal(tt_integer_of(summary, "spans"), 1 + THREADS * 1000);
        assert_int_equal(tt_integer_of(summary, "dropped"), 0);
        assert_string_equal(tt_text_of(json_object_get(summary, "threads"), "0"), "main");
        assert_string_equal(tt_text_of(json_object_get(summary, "threads"), "4"), "adder");
        json_decref(summary);
        tt_trace_end(50, count, NULL);
        assert_int_equal(seen[0], 1);
        for (int i = 1; i <= THREADS; i++)
            assert_int_equal(seen[i], 1000);
        assert_int_equal(sum_of_ids, 7 + THREADS * 1000 * 1001 / 2);
        assert_int_equal(least_ns, 40);
    }
}

static void what_finds_no_room_is_counted(void **unused)
{
    enum { ROOM = 128 * 2048, EACH = 100000 };
    json_t *summary;
    uint64_t all = 0;

    (void)unused;
    begin();
    in_threads(EACH);
    summary = tt_trace_summary();
    tt_trace_end(0, count, NULL);
    for (int i = 0; i <= THREADS; i++)
        all += seen[i];
    assert_int_equal(tt_integer_of(summary, "spans"), all);
    assert_int_equal(all + (uint64_t)tt_integer_of(summary, "dropped"), THREADS * EACH);
    assert_in_range(all, ROOM - THREADS * 128, ROOM); /* at most the rest of each last block */
    json_decref(summary);
}

static void only_what_is_wanted_is_kept(void **unused)
{
    (void)unused;
    tt_trace_set(TT_TRACE_ALL);
    assert_false(tt_trace_wants(TT_TRACE_FILES)); /* there is no trace */
    assert_null(tt_trace_summary());
    begin();
    tt_trace_set(TT_TRACE_FILES);
    tt_trace_call(TT_TRACE_ALL, TT_CALL_WRITE, 1, 1, 2);
    tt_trace_call(TT_TRACE_FILES, TT_CALL_CLOSE, 2, 2, 3);
    tt_trace_set(TT_TRACE_OFF);
    tt_trace_call(TT_TRACE_FILES, TT_CALL_CLOSE, 4, 3, 4);
    tt_trace_end(0, count, NULL);
    assert_int_equal(sum_of_ids, 2);
    assert_false(tt_trace_wants(TT_TRACE_FILES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_has_its_track),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(only_what_is_wanted_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
