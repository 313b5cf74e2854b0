/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes and calls over time: nothing is lost, whatever the times are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/rates.h"
#include "base/json.h"

#define MS INT64_C(1000000)

static struct tt_timeslot sum_of(const struct tt_timeline *t)
{
    struct tt_timeslot sum = {0, 0};

    for (int i = 0; i < TT_TIMELINE_SLOTS; i++) {
        sum.bytes += t->slots[i].bytes;
        sum.calls += t->slots[i].calls;
    }
    return sum;
}

static void bytes_are_spread_over_the_call(void **unused)
{
    struct tt_timeline t = {0};

    (void)unused;
    tt_timeline_add(&t, 1 * MS, 2 * MS, 100);
    tt_timeline_add(&t, 2 * MS, 3 * MS, 100); /* in the same interval */
    assert_int_equal(t.slots[0].bytes, 200);
    assert_int_equal(t.slots[0].calls, 2);
    tt_timeline_add(&t, 15 * MS, 45 * MS, 301); /* 5, 10, 10 and 5 ms of four intervals */
    assert_int_equal(t.slots[1].bytes, 50);
    assert_in_range(t.slots[2].bytes, 100, 101);
    assert_in_range(t.slots[3].bytes, 100, 101);
    assert_in_range(t.slots[4].bytes, 50, 51);
    assert_int_equal(t.slots[3].calls, 0);
    assert_int_equal(t.slots[4].calls, 1);
    assert_int_equal(sum_of(&t).bytes, 501);
    tt_timeline_add(&t, 5 * MS, 6 * MS, 7); /* earlier again, as threads complete */
    assert_int_equal(t.slots[0].bytes, 207);
    tt_timeline_add(&t, -3 * MS, 1 * MS, 1); /* began before the start */
    assert_int_equal(t.slots[0].calls, 4);
    assert_true(tt_timeline_is_sound(&t));
}

static void intervals_double_and_lose_nothing(void **unused)
{
    struct tt_timeline t = {0};

    (void)unused;
    for (int i = 0; i < 1000; i++) /* 10 s */
        tt_timeline_add(&t, i * 10 * MS, i * 10 * MS + 1, 10);
    assert_int_equal(t.interval_ns, 40 * MS);
    assert_int_equal(t.slots[0].bytes, 40);
    assert_int_equal(t.slots[249].calls, 4);
    assert_int_equal(t.slots[250].calls, 0);
    tt_timeline_add(&t, 0, 3600 * 1000 * MS, 36000); /* an hour */
    assert_int_equal(sum_of(&t).bytes, 46000);
    assert_int_equal(sum_of(&t).calls, 1001);
    assert_true(tt_timeline_is_sound(&t));
    assert_true(t.interval_ns * TT_TIMELINE_SLOTS > 3600 * 1000 * MS);
}

static void lines_of_different_intervals_merge(void **unused)
{
    struct tt_timeline sum = {0}, fine = {0}, coarse = {0}, empty = {0};

    (void)unused;
    tt_timeline_add(&fine, 25 * MS, 26 * MS, 5);
    tt_timeline_add(&coarse, 4000 * MS, 4001 * MS, 9);
    assert_int_equal(coarse.interval_ns, 20 * MS);
    tt_timeline_merge(&sum, &empty);
    assert_int_equal(sum.interval_ns, 0);
    tt_timeline_merge(&sum, &fine);
    tt_timeline_merge(&sum, &coarse);
    tt_timeline_merge(&sum, &fine);
    assert_int_equal(sum.interval_ns, 20 * MS);
    assert_int_equal(sum.slots[1].bytes, 10);
    assert_int_equal(sum.slots[200].bytes, 9);
    assert_int_equal(sum_of(&sum).calls, 3);
}

static void lies_are_seen(void **unused)
{
    struct tt_timeline t = {.interval_ns = 10 * MS + 1};

    (void)unused;
    assert_false(tt_timeline_is_sound(&t));
    t.interval_ns = INT64_MAX;
    assert_false(tt_timeline_is_sound(&t));
    t.interval_ns = -10 * MS;
    assert_false(tt_timeline_is_sound(&t));
    t.interval_ns = 20 * MS;
    assert_true(tt_timeline_is_sound(&t));
    t.slots[3].bytes = UINT64_MAX;
    assert_false(tt_timeline_is_sound(&t));
}

/* ---- what analysis makes of it ---- */

/* 40 intervals of 10 ms: the first half at `head` bytes each, the rest at `tail`. */
static void fill(struct tt_timeline *t, uint64_t head, uint64_t tail)
{
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 40; i++)
        tt_timeline_add(t, i * 10 * MS, i * 10 * MS + 9 * MS, i < 20 ? head : tail);
}

static void extremes_are_of_whole_intervals(void **unused)
{
    struct tt_rate_summary s;
    struct tt_timeline t;

    (void)unused;
    fill(&t, 400, 200);
    t.slots[0].bytes = t.slots[39].bytes = 1; /* began late, ended early */
    assert_true(tt_rate_summarize(&t, &s));
    assert_int_equal(s.intervals, 38);
    assert_float_equal(s.min, 200 / 0.01, 1e-6);
    assert_float_equal(s.max, 400 / 0.01, 1e-6);
    assert_float_equal(s.head, 400 / 0.01, 1e-6);
    assert_float_equal(s.tail, 200 / 0.01, 1e-6);
    memset(&t, 0, sizeof t);
    tt_timeline_add(&t, 0, 39 * MS, 4000); /* only two have neighbours */
    assert_false(tt_rate_summarize(&t, &s));
}

/* Whether a run of two seconds has a warning with these words. */
static bool warns(uint64_t head, uint64_t tail, int direction, const char *words)
{
    static struct tt_run_data run;
    json_t *list = json_array();
    const json_t *one;
    bool found = false;
    size_t i;

    memset(&run, 0, sizeof run);
    fill(&run.timelines[direction], head, tail);
    run.metrics[TT_METRIC_runtime] = (struct tt_value){.known = true, .value = 2};
    assert_int_equal(tt_warnings_collect(&run, list), 0);
    json_array_foreach(list, i, one) found |= strstr(tt_text_of(one, "text"), words) != NULL;
    json_decref(list);
    return found;
}

/* A buffer that takes a third of the bytes in a twentieth of the time. */
static void a_short_burst_is_seen(void **unused)
{
    struct tt_rate_summary s;
    struct tt_timeline t = {0};

    (void)unused;
    for (int i = 0; i < 40; i++)
        tt_timeline_add(&t, i * 10 * MS, i * 10 * MS + 9 * MS, i < 3 ? 1000 : 100);
    assert_true(tt_rate_summarize(&t, &s));
    assert_float_equal(s.head, 1000 / 0.01, 1e-6);
    assert_float_equal(s.tail, 100 / 0.01, 1e-6);
    assert_float_equal(s.median, 100 / 0.01, 1e-6);
}

static void a_tail_unlike_the_head_is_told(void **unused)
{
    (void)unused;
    assert_false(warns(400, 300, 0, "quarter"));
    assert_true(warns(400, 200, 0, "writing slowed down"));
    assert_true(warns(400, 200, 0, "burst buffer"));
    assert_true(warns(200, 400, 1, "reading became faster"));
    assert_false(warns(200, 400, 1, "burst buffer"));
}

/* Files of ranks: the same path is one file, and 64 are kept apart. */
static void files_of_ranks_are_joined(void **unused)
{
    static const char own[] =
        "{\"requests\": [{\"path\": \"/d/shared\", \"write\": [[4096, 8192, 2]], \"read\": []},"
        " {\"path\": \"/d/own%u\", \"write\": [[1, 2, 1]], \"read\": [[1, 2, 3]]}],"
        " \"striping\": [{\"path\": \"/d/shared\", \"count\": 4, \"size\": 1048576}]}";
    enum { RANKS = 100 };
    static struct tt_rank_records ranks[RANKS];
    struct tt_run_data run = {.nranks = RANKS, .ranks = ranks, .files = json_array()};
    json_t *files, *shared, *others = NULL, *file;
    char text[512];
    size_t k;

    (void)unused;
    for (unsigned i = 0; i < RANKS; i++) {
        snprintf(text, sizeof text, own, i);
        ranks[i].summary = json_loads(text, 0, NULL);
        assert_non_null(ranks[i].summary);
        assert_int_equal(tt_files_add(run.files, json_object_get(ranks[i].summary, "requests")), 0);
    }
    files = tt_files_json(&run);
    shared = json_array_get(files, 0);
    assert_int_equal(json_array_size(files), 65);
    assert_string_equal(tt_text_of(shared, "path"), "/d/shared");
    assert_int_equal(tt_integer_of(shared, "stripe_count"), 4);
    file = json_array_get(json_object_get(shared, "write"), 0);
    assert_int_equal(json_integer_value(json_array_get(file, 2)), 2 * RANKS);
    json_array_foreach(files, k, file) if (!*tt_text_of(file, "path")) others = file;
    file = json_array_get(json_object_get(others, "read"), 0);
    assert_int_equal(json_integer_value(json_array_get(file, 2)), 3 * (RANKS - 63));
    assert_null(json_object_get(others, "stripe_count"));
    json_decref(files);
    for (unsigned i = 0; i < RANKS; i++)
        json_decref(ranks[i].summary);
    json_decref(run.files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_spread_over_the_call),
        cmocka_unit_test(intervals_double_and_lose_nothing),
        cmocka_unit_test(lines_of_different_intervals_merge),
        cmocka_unit_test(lies_are_seen),
        cmocka_unit_test(extremes_are_of_whole_intervals),
        cmocka_unit_test(a_short_burst_is_seen),
        cmocka_unit_test(a_tail_unlike_the_head_is_told),
        cmocka_unit_test(files_of_ranks_are_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
