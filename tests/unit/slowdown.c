/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Repetitions of known numbers give the answer that can be worked out by hand; what is not
 * complete, or no repetition at all, is never averaged in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/slowdown.h"

/* ---- making repetitions ---- */

static json_t *plan_of(const char *text)
{
    json_t *plan = json_loads(text, 0, NULL);

    assert_non_null(plan);
    return plan;
}

static json_t *plan_of_three(void)
{
    return plan_of("{\"steps\": [{\"reference\": \"r\", \"others\": 0, \"loads\": []},"
                   "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"]},"
                   "{\"reference\": \"r\", \"others\": 3, \"loads\": [\"l\", \"l\", \"l\"]}]}");
}

/* A complete one, whose reference computed 4 s and waited the rest of its runtime. */
static json_t *repetition(int others, int round, double runtime)
{
    json_t *loads = json_array();
    double wait = runtime - 4;

    for (int i = 0; i < others; i++)
        json_array_append_new(loads, json_string("l"));
    return json_pack("{s:s, s:i, s:o, s:i, s:b, s:s, s:f, s:f, s:[{s:f, s:{s:f, s:f}, s:{s:{s:f, "
                     "s:f, s:f}, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}}}]}",
                     "reference", "r", "others", others, "loads", loads, "round", round, "complete",
                     1, "why", "", "skew", 0.001, "covered", 1.0, "jobs", "runtime", runtime,
                     "metrics", "runtime", runtime, "cpu_wait", 0.01, "phases", "compute", "median",
                     0.1, "p99", 0.2, "total", 4.0, "wait", "median", wait / 10, "p99", wait / 5,
                     "total", wait, "io_read", "median", wait, "p99", wait, "total", 3 * wait);
}

static json_t *reference_of(json_t *repetition)
{
    return json_array_get(json_object_get(repetition, "jobs"), 0);
}

static json_t *repetitions(size_t n, const double alone[], const double one[], const double three[])
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, repetition(0, (int)i + 1, alone[i]));
        json_array_append_new(list, repetition(1, (int)i + 1, one[i]));
        json_array_append_new(list, repetition(3, (int)i + 1, three[i]));
    }
    return list;
}

static json_t *answer(json_t *plan, json_t *list)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *out = NULL;

    assert_int_equal(tt_slowdown(plan, list, &out, &e), TT_OK);
    json_decref(plan);
    json_decref(list);
    return out;
}

static json_t *step(const json_t *answer, size_t i)
{
    json_t *s = json_array_get(json_object_get(answer, "steps"), i);

    assert_non_null(s);
    return s;
}

/* "slowdown.value" of a step; null is not a number. */
static const json_t *at(const json_t *o, const char *path)
{
    char name[40];

    while (o && *path) {
        size_t n = strcspn(path, ".");

        snprintf(name, sizeof name, "%.*s", (int)n, path);
        o = json_object_get(o, name);
        path += n + (path[n] == '.');
    }
    return o;
}

static double number(const json_t *o, const char *path)
{
    const json_t *value = at(o, path);

    if (!json_is_number(value))
        fail_msg("%s is not a number", path);
    return json_number_value(value);
}

#define assert_near(a, b) assert_true((a) > (b)-1e-9 && (a) < (b) + 1e-9)

static const double ten[] = {10, 10.2, 9.8, 10.1, 9.9, 10, 10},
                    twelve[] = {12, 12.1, 11.9, 12.2, 11.8, 12, 12},
                    thirty[] = {30, 31, 29, 30, 30.5, 29.5, 30};

/* ---- how much slower ---- */

static void medians_and_ratios(void **unused)
{
    json_t *a = answer(plan_of_three(), repetitions(7, ten, twelve, thirty));

    (void)unused;
    assert_int_equal(number(step(a, 2), "runs"), 7);
    assert_near(number(step(a, 0), "runtime.median"), 10);
    assert_near(number(step(a, 2), "runtime.median"), 30);
    assert_near(number(step(a, 0), "slowdown.value"), 1);
    assert_near(number(step(a, 1), "slowdown.value"), 1.2);
    assert_near(number(step(a, 2), "slowdown.value"), 3);
    assert_true(number(step(a, 2), "slowdown.low") > 2.8);
    assert_true(number(step(a, 2), "slowdown.low") < 3);
    assert_true(number(step(a, 2), "slowdown.high") < 3.2);
    /* Of the rounds' own ratios. */
    assert_near(json_number_value(json_array_get(at(step(a, 2), "slowdown.range"), 0)), 2.95);
    assert_near(json_number_value(json_array_get(at(step(a, 2), "slowdown.range"), 1)), 30.5 / 9.9);
    assert_int_equal(number(step(a, 2), "rounds"), 7);
    /* Phases: computation did not change, waiting went from 6 to 26 s. */
    assert_near(number(step(a, 2), "phases.compute.total.value"), 1);
    assert_near(number(step(a, 2), "phases.wait.median.value"), 26. / 6);
    assert_near(number(step(a, 2), "phases.wait.p99.value"), 26. / 6);
    assert_near(number(step(a, 2), "phases.wait.growth"), 20);
    assert_near(number(step(a, 2), "metrics.runtime.ratio.value"), 3);
    assert_near(number(step(a, 2), "metrics.runtime.alone"), 10);
    json_decref(a);
}

static void interval_from_six_runs(void **unused)
{
    json_t *a = answer(plan_of_three(), repetitions(5, ten, twelve, thirty));

    (void)unused;
    assert_near(number(step(a, 1), "slowdown.value"), 1.2);
    assert_true(json_is_null(at(step(a, 1), "slowdown.low")));
    assert_true(json_is_null(at(step(a, 1), "slowdown.high")));
    assert_true(json_is_null(at(step(a, 1), "runtime.low")));
    assert_non_null(strstr(json_string_value(at(step(a, 1), "slowdown.text")),
                           "cannot be told: 1.2 times as long, 1.19 to 1.21 in 5 rounds; 6 are "
                           "needed"));
    assert_true(json_is_null(at(step(a, 2), "grew")));
    json_decref(a);
    a = answer(plan_of_three(), repetitions(6, ten, twelve, thirty));
    assert_true(json_is_number(at(step(a, 1), "slowdown.low")));
    assert_true(json_is_number(at(step(a, 1), "runtime.high")));
    json_decref(a);
}

/* The machine gets three times as slow and recovers: every round for itself knows that one other
 * makes 1.5 times, which medians of all runs would never tell. */
static void drift_cancels(void **unused)
{
    static const double drift[] = {1, 3, 1.4, 2.5, 1.2, 2};
    json_t *list = json_array(), *a;

    (void)unused;
    for (int i = 0; i < 6; i++) {
        json_array_append_new(list, repetition(0, i + 1, 10 * drift[i]));
        /* It failed in two rounds, and was run again in later ones, with its own run alone. */
        json_array_append_new(list, repetition(1, i + 1, 15 * drift[i]));
        if (i == 1 || i == 3)
            json_object_set_new(json_array_get(list, json_array_size(list) - 1), "complete",
                                json_false());
    }
    for (int i = 0; i < 2; i++) {
        json_array_append_new(list, repetition(1, 7 + i, 150));
        json_array_append_new(list, repetition(0, 7 + i, 100));
    }
    a = answer(plan_of_three(), list);
    assert_int_equal(number(step(a, 0), "runs"), 8);
    assert_int_equal(number(step(a, 1), "rounds"), 6);
    assert_near(number(step(a, 1), "slowdown.value"), 1.5);
    assert_near(number(step(a, 1), "slowdown.low"), 1.5);
    assert_near(number(step(a, 1), "slowdown.high"), 1.5);
    assert_near(number(step(a, 1), "metrics.runtime.ratio.low"), 1.5);
    /* Without a run alone of its round a run is compared with nothing. */
    list = json_array();
    for (int i = 0; i < 6; i++) {
        json_array_append_new(list, repetition(0, i + 1, 10));
        json_array_append_new(list, repetition(1, i + 2, 15));
    }
    json_decref(a);
    a = answer(plan_of_three(), list);
    assert_int_equal(number(step(a, 1), "runs"), 6);
    assert_int_equal(number(step(a, 1), "rounds"), 5);
    assert_true(json_is_null(at(step(a, 1), "slowdown.low")));
    json_decref(a);
}

/* Alone twice: their difference is the noise, their mean is what others are compared with. */
static void two_runs_alone_are_the_noise(void **unused)
{
    static const double second[] = {1.01, 0.97, 1.1, 1.02, 1, 1 / 1.04};
    json_t *list = repetitions(6, ten, twelve, thirty), *a;

    (void)unused;
    for (int i = 0; i < 6; i++) {
        json_array_append_new(list, repetition(0, i + 1, second[i] * ten[i]));
        json_object_set_new(json_array_get(list, json_array_size(list) - 1), "again", json_true());
    }
    a = answer(plan_of_three(), list);
    assert_int_equal(number(step(a, 0), "runs"), 12);
    assert_int_equal(number(step(a, 0), "rounds"), 6);
    assert_int_equal(number(step(a, 1), "noise.rounds"), 6);
    /* 0, 1, 2, 3.1, 4 and 10 %: between the third and the fourth. */
    assert_near(number(step(a, 1), "noise.value"), (0.02 + 1 / 0.97 - 1) / 2);
    assert_near(number(step(a, 1), "noise.most"), 0.1);
    assert_near(json_number_value(json_array_get(at(step(a, 2), "slowdown.range"), 0)),
                29 / (9.8 * 1.05));
    assert_true(json_is_false(at(step(a, 2), "slowdown.within_noise")));
    json_decref(a);
    /* 2.5 % more, in every round, but two runs alone differ by as much. */
    list = json_array();
    for (int i = 0; i < 6; i++) {
        json_array_append_new(list, repetition(0, i + 1, 10));
        json_array_append_new(list, repetition(0, i + 1, 10.4));
        json_array_append_new(list, repetition(1, i + 1, 10.2 * (1.025 + 0.001 * i)));
    }
    a = answer(plan_of_three(), list);
    assert_true(number(step(a, 1), "slowdown.low") > 1.02);
    assert_true(json_is_true(at(step(a, 1), "slowdown.within_noise")));
    assert_non_null(strstr(json_string_value(at(step(a, 1), "slowdown.text")),
                           "no more than two runs alone differ by (4 %)"));
    assert_true(json_is_null(at(step(a, 1), "grew")));
    json_decref(a);
    a = answer(plan_of_three(), repetitions(6, ten, twelve, thirty));
    assert_true(json_is_null(at(step(a, 1), "noise")));
    json_decref(a);
}

static void incomplete_ones_are_left_out(void **unused)
{
    json_t *list = repetitions(6, ten, twelve, thirty), *bad = repetition(1, 7, 1000), *a;

    (void)unused;
    json_object_set_new(bad, "complete", json_false());
    json_object_set_new(bad, "why", json_string("load 1 died"));
    for (int i = 0; i < 20; i++)
        json_array_append(list, bad);
    json_decref(bad);
    a = answer(plan_of_three(), list);
    assert_int_equal(number(step(a, 1), "runs"), 6);
    assert_near(number(step(a, 1), "slowdown.value"), 1.2);
    assert_int_equal(json_array_size(at(step(a, 1), "left_out")), 20);
    assert_string_equal(json_string_value(json_array_get(at(step(a, 1), "warnings"), 0)),
                        "20 of 26 repetitions are not used: load 1 died");
    assert_int_equal(json_array_size(at(step(a, 2), "left_out")), 0);
    json_decref(a);
}

/* ---- why ---- */

static void grew_only_if_slower(void **unused)
{
    static const double noisy[] = {9, 15, 10, 14, 9.5, 12, 8};
    json_t *a = answer(plan_of_three(), repetitions(7, ten, noisy, thirty));

    (void)unused;
    /* The helper's own time grew more, but it is hidden behind the main thread's. */
    assert_string_equal(json_string_value(at(step(a, 2), "grew.phase")), "wait");
    assert_near(number(step(a, 2), "grew.seconds"), 20);
    /* Slower or not, the interval holds 1. */
    assert_true(number(step(a, 1), "slowdown.low") < 1);
    assert_true(json_is_null(at(step(a, 1), "grew")));
    assert_true(json_is_null(at(step(a, 0), "grew")));
    json_decref(a);
    a = answer(plan_of_three(), repetitions(7, ten, ten, ten));
    assert_true(json_is_null(at(step(a, 2), "grew")));
    json_decref(a);
}

static void set_in_all(json_t *list, int others, const char *key, json_t *value, bool in_reference)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_integer_value(json_object_get(one, "others")) == others)
            json_object_set(in_reference ? reference_of(one) : one, key, value);
    }
    json_decref(value);
}

static void assert_contention(json_t *list, size_t index, const char *text)
{
    json_t *a = answer(plan_of_three(), list);
    const char *found = json_string_value(at(step(a, index), "contention"));

    assert_true(json_is_null(at(step(a, 0), "contention")));
    if (!text) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_non_null(strstr(found, text));
        assert_non_null(strstr(found, "says nothing about storage"));
    }
    json_decref(a);
}

static json_t *saturated(const char *resource)
{
    return json_pack("[{s:s}]", "resource", resource);
}

static void contention_for_cpus(void **unused)
{
    json_t *list = repetitions(6, ten, twelve, thirty);

    (void)unused;
    assert_contention(json_deep_copy(list), 2, NULL);
    set_in_all(list, 3, "exceeded", json_string("the shares of 4 jobs are 8 CPUs of 2"), false);
    assert_contention(json_deep_copy(list), 2, "the shares of 4 jobs are 8 CPUs of 2");
    assert_contention(list, 1, NULL);

    list = repetitions(6, ten, twelve, thirty);
    set_in_all(list, 3, "metrics", json_pack("{s:f}", "cpu_wait", 0.31), true);
    assert_contention(json_deep_copy(list), 2, "waited for a CPU in 31 % of its time (alone 1 %)");
    set_in_all(list, 3, "metrics", json_pack("{s:f}", "cpu_wait", 0.05), true);
    assert_contention(list, 2, NULL);

    /* That the node's CPUs were used up, by whomever, is not the reference's own. */
    list = repetitions(6, ten, twelve, thirty);
    set_in_all(list, 3, "saturated", saturated("cpu"), true);
    assert_contention(list, 2, NULL);
}

/* The first of what is said to be saturated; NULL: nothing is. */
static void assert_saturated(json_t *list, const char *text)
{
    json_t *a = answer(plan_of_three(), list);
    const json_t *found = at(step(a, 2), "saturated");

    assert_int_equal(json_array_size(at(step(a, 0), "saturated")), 0);
    assert_int_equal(json_array_size(found), text ? 1 : 0);
    if (text)
        assert_string_equal(json_string_value(json_array_get(found, 0)), text);
    json_decref(a);
}

static void saturated_is_a_difference_from_alone(void **unused)
{
    json_t *list = repetitions(6, ten, twelve, thirty), *a;

    (void)unused;
    set_in_all(list, 0, "waits", json_pack("{s:f}", "io", 0.12), true);
    set_in_all(list, 3, "waits", json_pack("{s:f}", "io", 0.62), true);
    assert_saturated(json_deep_copy(list), "I/O (waited for in 62 % of the time, alone 12 %)");
    a = answer(plan_of_three(), json_deep_copy(list));
    assert_near(number(step(a, 2), "waits.io.rise.value"), 0.5);
    assert_null(at(step(a, 2), "waits.quota")); /* not observed */
    json_decref(a);
    /* It waits as long alone; it waited longer in some rounds only; too few rounds. */
    set_in_all(list, 0, "waits", json_pack("{s:f}", "io", 0.6), true);
    assert_saturated(json_deep_copy(list), NULL);
    set_in_all(list, 0, "waits", json_pack("{s:f}", "io", 0.12), true);
    json_object_set_new(reference_of(json_array_get(list, 2)), "waits",
                        json_pack("{s:f}", "io", 0.1));
    assert_saturated(list, NULL);
    list = repetitions(5, ten, twelve, thirty);
    set_in_all(list, 0, "waits", json_pack("{s:f}", "io", 0.12), true);
    set_in_all(list, 3, "waits", json_pack("{s:f}", "io", 0.62), true);
    assert_saturated(list, NULL);
    /* A device, but not one that is as busy alone, nor everybody's CPUs. */
    list = repetitions(6, ten, twelve, thirty);
    set_in_all(list, 3, "saturated", saturated("device sda"), true);
    assert_saturated(json_deep_copy(list), "device sda");
    set_in_all(list, 0, "saturated", saturated("device sda"), true);
    assert_saturated(list, NULL);
    list = repetitions(6, ten, twelve, thirty);
    set_in_all(list, 3, "saturated", saturated("cpu pressure"), true);
    assert_saturated(list, NULL);
}

/* Waiting and reading grew by about as much; closing grew surely less, and compute did not. */
static void all_that_may_have_grown_most_are_named(void **unused)
{
    static const double read[] = {20, 23, 18, 22, 19, 21};
    json_t *list = repetitions(6, ten, twelve, thirty), *a;
    const json_t *grew;

    (void)unused;
    for (size_t i = 0; i < 6; i++) {
        json_t *phases = json_object_get(reference_of(json_array_get(list, 3 * i + 2)), "phases");

        json_object_set_new(phases, "read", json_pack("{s:f}", "total", read[i]));
        json_object_set_new(phases, "close", json_pack("{s:f}", "total", 5.0));
    }
    a = answer(plan_of_three(), list);
    grew = at(step(a, 2), "grew");
    assert_int_equal(json_array_size(json_object_get(grew, "phases")), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(json_object_get(grew, "phases"), i);

        assert_true(number(one, "low") > 15 && number(one, "high") < 25);
        assert_true(number(one, "low") <= number(one, "seconds"));
    }
    json_decref(a);
}

/* A phase that happens in one round of six did not grow, however long it was there. */
static void what_happened_once_did_not_grow(void **unused)
{
    json_t *list = repetitions(6, ten, twelve, thirty), *a;

    (void)unused;
    json_object_set_new(json_object_get(reference_of(json_array_get(list, 2)), "phases"), "sync",
                        json_pack("{s:f}", "total", 500.0));
    a = answer(plan_of_three(), list);
    assert_string_equal(json_string_value(at(step(a, 2), "grew.phase")), "wait");
    assert_near(number(step(a, 2), "phases.sync.growth"), 0);
    json_decref(a);
}

static void saturated_in_most_repetitions(void **unused)
{
    json_t *list = repetitions(6, ten, twelve, thirty), *a;

    (void)unused;
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(reference_of(json_array_get(list, 3 * i + 1)), "saturated",
                            saturated("disk sda"));
    for (size_t i = 0; i < 4; i++)
        json_object_set_new(reference_of(json_array_get(list, 3 * i + 2)), "saturated",
                            saturated("disk sda"));
    /* On three nodes of one repetition it is one repetition. */
    for (size_t i = 0; i < 3; i++)
        json_array_append_new(json_object_get(reference_of(json_array_get(list, 1)), "saturated"),
                              json_pack("{s:s, s:s}", "host", "node", "resource", "disk sda"));
    a = answer(plan_of_three(), list);
    assert_int_equal(json_array_size(at(step(a, 1), "saturated")), 0);
    assert_int_equal(json_array_size(at(step(a, 2), "saturated")), 1);
    json_decref(a);
}

static void warnings(void **unused)
{
    json_t *list = repetitions(6, ten, twelve, thirty), *a;
    char *text;

    (void)unused;
    set_in_all(list, 1, "skew", json_real(0.05), false);
    set_in_all(list, 3, "covered", json_real(0.5), false);
    set_in_all(list, 3, "share_cores", json_true(), false);
    set_in_all(list, 3, "clock", json_pack("{s:f, s:f}", "offset", 1.5, "uncertainty", 0.02), true);
    for (size_t i = 0; i < 2; i++)
        json_object_set_new(json_array_get(list, 3 * i + 2), "settle",
                            json_pack("{s:f, s:s}", "seconds", 30., "gave_up", "it was raining"));
    a = answer(plan_of_three(), list);
    assert_int_equal(json_array_size(at(step(a, 0), "warnings")), 0);
    text = json_dumps(at(step(a, 1), "warnings"), 0);
    assert_non_null(strstr(text, "50 ms after the common instant"));
    free(text);
    text = json_dumps(at(step(a, 2), "warnings"), 0);
    assert_non_null(strstr(text, "had ended after 50 %"));
    assert_non_null(strstr(text, "jobs have CPUs of the same cores"));
    assert_non_null(strstr(text, "is 1.5 s off the driver's (within 0.02 s)"));
    assert_non_null(strstr(text, "2 of 6 repetitions began although the machine was not at rest "
                                 "(settle): it was raining"));
    free(text);
    json_decref(a);
}

/* ---- what it costs the others ---- */

/* So many iterations in so many seconds; bytes instead if they are negative. */
static json_t *work_of(const char *name, double iterations, double seconds)
{
    return json_pack("{s:s, s:I, s:I, s:{s:f, s:f}, s:f}", "job", name, "start_ns",
                     (json_int_t)5000000000, "stop_ns", (json_int_t)(5e9 + 1e9 * seconds), "window",
                     "iterations", iterations > 0 ? iterations : 0, "bytes_written",
                     iterations < 0 ? -iterations : 0, "runtime", seconds);
}

static void add_work(json_t *list, int round, const char *reference, json_t *jobs)
{
    size_t others = json_array_size(jobs) - 1;
    json_t *loads = json_array();

    for (size_t i = 1; i <= others; i++)
        json_array_append(loads, json_object_get(json_array_get(jobs, i), "job"));
    json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:i, s:b, s:o}", "reference", reference,
                                          "others", (json_int_t)others, "loads", loads, "round",
                                          round, "complete", 1, "jobs", jobs));
}

/* The reference gets to half its speed, both jobs a to a third and to two thirds, b, which only
 * moves bytes, stays as fast as alone. The machine drifts from round to round. */
static void what_it_costs_the_others(void **unused)
{
    json_t *plan =
        plan_of("{\"steps\": [{\"reference\": \"r\", \"others\": 0, \"loads\": []},"
                "{\"reference\": \"r\", \"others\": 3, \"loads\": [\"a\", \"a\", \"b\"]}],"
                "\"jobs\": [{\"name\": \"r\", \"alone\": \"r\"}, {\"name\": \"a\", "
                "\"alone\": \"r\"}, {\"name\": \"b\", \"alone\": \"b\"}]}");
    json_t *list = json_array(), *a;
    double sum = 0.5 + 1. / 3 + 2. / 3 + 1, squares = 0.25 + 1. / 9 + 4. / 9 + 1;

    (void)unused;
    for (int i = 1; i <= 6; i++) {
        double drift = 1 + 0.3 * (i % 3);

        add_work(list, i, "r", json_pack("[o]", work_of("r", 100, 10 * drift)));
        add_work(list, i, "b", json_pack("[o]", work_of("b", -4000, 2 * drift)));
        add_work(list, i, "r",
                 json_pack("[o, o, o, o]", work_of("r", 100, 20 * drift),
                           work_of("a", 200. / 3, 20 * drift), work_of("a", 400. / 3, 20 * drift),
                           work_of("b", -40000, 20 * drift)));
    }
    a = answer(plan, list);
    assert_true(json_is_null(at(step(a, 0), "cost")));
    assert_near(number(step(a, 1), "slowdown.value"), 2);
    assert_near(number(step(a, 1), "cost.jobs.a.value"), (3 + 1.5) / 2);
    assert_near(number(step(a, 1), "cost.jobs.a.high"), (3 + 1.5) / 2);
    assert_int_equal(number(step(a, 1), "cost.jobs.a.jobs"), 2);
    assert_near(number(step(a, 1), "cost.jobs.b.value"), 1);
    assert_near(number(step(a, 1), "cost.throughput.value"), sum);
    assert_near(number(step(a, 1), "cost.worst.value"), 3);
    assert_near(number(step(a, 1), "cost.fairness.value"), sum * sum / 4 / squares);
    json_decref(a);
    /* One that nobody has seen alone: nothing is said of it, nor of all. */
    plan = plan_of("{\"steps\": [{\"reference\": \"r\", \"others\": 1, \"loads\": [\"c\"]}], "
                   "\"jobs\": [{\"name\": \"c\", \"alone\": null}]}");
    list = json_array();
    add_work(list, 1, "r", json_pack("[o, o]", work_of("r", 1, 1), work_of("c", 1, 1)));
    a = answer(plan, list);
    assert_true(json_is_null(at(step(a, 0), "cost.throughput")));
    assert_true(json_is_null(at(step(a, 0), "cost.worst")));
    assert_null(at(step(a, 0), "cost.jobs.c"));
    json_decref(a);
}

/* A load that is run again and again made 300 iterations in 12 s of them, and opened and closed its
 * files in the other 8 s of the 20; alone it was run once, 100 iterations in 2 s of 3. It got to
 * half its speed: 25 a second instead of 50, and not to 15 instead of 33. */
static void what_a_looping_load_does_between_passes_is_no_cost(void **unused)
{
    json_t *list = json_array(), *a, *looping, *alone;

    (void)unused;
    for (int i = 1; i <= 6; i++) {
        looping = work_of("l", 300, 20);
        json_object_set_new(json_object_get(looping, "window"), "seconds", json_real(12));
        alone = work_of("l", 100, 3);
        json_object_set_new(json_object_get(alone, "window"), "seconds", json_real(2));
        add_work(list, i, "r", json_pack("[o]", work_of("r", 100, 20)));
        add_work(list, i, "l", json_pack("[o]", alone));
        add_work(list, i, "r", json_pack("[o, o]", work_of("r", 100, 20), looping));
    }
    a = answer(plan_of("{\"steps\": [{\"reference\": \"r\", \"others\": 0, \"loads\": []},"
                       "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"]}],"
                       "\"jobs\": [{\"name\": \"r\", \"alone\": \"r\"},"
                       "{\"name\": \"l\", \"alone\": \"l\"}]}"),
               list);
    assert_near(number(step(a, 1), "cost.jobs.l.value"), 2);
    assert_near(number(step(a, 1), "cost.throughput.value"), 1 + 0.5);
    assert_near(number(step(a, 1), "cost.worst.value"), 2);
    assert_near(number(step(a, 1), "cost.fairness.value"), 1.5 * 1.5 / (2 * 1.25));
    json_decref(a);
}

/* ---- how many ---- */

static json_t *limit_of(const char *steps, double limit)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *list = plan_of(steps), *out = NULL;

    assert_int_equal(tt_slowdown_limit(list, limit, &out, &e), TT_OK);
    json_decref(list);
    return out;
}

static void assert_list(const json_t *o, const char *name, const char *expected)
{
    char *text = json_dumps(json_object_get(o, name), JSON_COMPACT | JSON_ENCODE_ANY);

    assert_string_equal(text, expected);
    free(text);
}

static void largest_number_of_others(void **unused)
{
    static const char steps[] =
        "[{\"others\": 0, \"slowdown\": {\"value\": 1}},"
        "{\"others\": 5, \"slowdown\": {\"value\": 2.2, \"low\": 1.9, \"high\": 2.6}},"
        "{\"others\": 1, \"slowdown\": {\"value\": 1.2, \"low\": 1.1, \"high\": 1.3}},"
        "{\"others\": 3, \"slowdown\": {\"value\": 1.9, \"low\": 1.8, \"high\": 2.5}},"
        "{\"others\": 7, \"slowdown\": {\"value\": 3, \"low\": 2.9, \"high\": 3.1}},"
        "{\"others\": 8, \"slowdown\": {\"value\": 2, \"low\": null, \"high\": null}},"
        "{\"others\": 9, \"slowdown\": null}]";
    json_t *o = limit_of(steps, 2.5);

    (void)unused;
    assert_int_equal(number(o, "largest"), 3);
    assert_list(o, "not_tested", "[2,4,6]");
    assert_list(o, "undecided", "[5,8,9]");
    assert_non_null(strstr(json_string_value(at(o, "text")), "at most 2.5: 3"));
    json_decref(o);
    o = limit_of(steps, 1.05);
    assert_int_equal(number(o, "largest"), 0);
    assert_list(o, "undecided", "[8,9]");
    json_decref(o);
}

/* In a matrix a number stands in several steps, and the worst of them decides. */
static void every_pair_counts(void **unused)
{
    json_t *o = limit_of("[{\"others\": 0, \"slowdown\": {\"value\": 1}},"
                         "{\"others\": 1, \"slowdown\": {\"value\": 1, \"low\": 1, \"high\": 1.1}},"
                         "{\"others\": 1, \"slowdown\": {\"value\": 4, \"low\": 3, \"high\": 5}},"
                         "{\"others\": 2, \"slowdown\": {\"value\": 2, \"low\": 1, \"high\": 3}},"
                         "{\"others\": 2, \"slowdown\": null}]",
                         2);

    (void)unused;
    assert_int_equal(number(o, "largest"), 0);
    assert_list(o, "undecided", "[2]");
    json_decref(o);
}

static void assert_verdict(const char *text, double limit, const char *expected)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *answers = plan_of(text), *out = NULL;

    assert_int_equal(tt_slowdown_suffices(answers, limit, &out, &e), TT_OK);
    assert_string_equal(json_string_value(at(json_array_get(out, 0), "verdict")), expected);
    json_decref(answers);
    json_decref(out);
}

static void which_system_suffices(void **unused)
{
    static const char *const both =
        "[{\"steps\": [{\"others\": 0, \"slowdown\": {\"low\": 1, \"high\": 1}},"
        "{\"others\": 3, \"slowdown\": {\"low\": 2, \"high\": 3}}]},"
        "{\"steps\": [{\"others\": 0}, {\"others\": 3}, {\"others\": 5}]}]";
    static const char *const nothing_in_common =
        "[{\"steps\": [{\"others\": 0, \"slowdown\": {\"low\": 1, \"high\": 1}}, {\"others\": 3}]},"
        "{\"steps\": [{\"others\": 0}, {\"others\": 5}]}]";

    (void)unused;
    assert_verdict(both, 3, "suffices");
    assert_verdict(both, 2.5, "cannot tell");
    assert_verdict(both, 1.5, "does not suffice");
    assert_verdict(nothing_in_common, 3, "cannot tell");
}

/* ---- garbage ---- */

static void members_are_missing(void **unused)
{
    static const char *const garbage[] = {
        "{}",
        "[]",
        "7",
        "null",
        "\"x\"",
        "{\"reference\": \"r\"}",
        "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"], \"complete\": true}",
        "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"], \"complete\": false}",
        "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"], \"complete\": true, \"jobs\": "
        "7}",
        "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"], \"complete\": true, \"jobs\": "
        "[]}",
        "{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"], \"complete\": true, \"jobs\": "
        "[{\"runtime\": \"long\", \"metrics\": [], \"phases\": {\"wait\": 7}, \"saturated\": "
        "[7, {}, {\"resource\": 1}]}]}",
        "{\"reference\": \"r\", \"others\": 3, \"loads\": [\"x\"], \"complete\": true, \"jobs\": "
        "[{\"runtime\": 1e9}]}",
    };
    json_t *list = repetitions(7, ten, twelve, thirty), *a;

    (void)unused;
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        json_array_append_new(list, json_loads(garbage[i], JSON_DECODE_ANY, NULL));
    a = answer(plan_of_three(), list);
    assert_near(number(step(a, 1), "slowdown.value"), 1.2);
    assert_near(number(step(a, 2), "slowdown.value"), 3);
    assert_int_equal(json_array_size(at(step(a, 1), "left_out")), 1);
    json_decref(a);
}

static void nothing_was_played(void **unused)
{
    json_t *a = answer(plan_of_three(), json_array());

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(number(step(a, i), "runs"), 0);
        assert_true(json_is_null(at(step(a, i), "slowdown")));
        assert_true(json_is_null(at(step(a, i), "runtime.median")));
    }
    json_decref(a);
    /* Nothing alone: no slowdown, whatever else there is. */
    a = answer(plan_of("{\"steps\": [{\"reference\": \"r\", \"others\": 1, \"loads\": [\"l\"]}]}"),
               repetitions(6, ten, twelve, thirty));
    assert_int_equal(number(step(a, 0), "runs"), 6);
    assert_true(json_is_null(at(step(a, 0), "slowdown")));
    json_decref(a);
    a = answer(plan_of("{}"), json_array());
    assert_int_equal(json_array_size(json_object_get(a, "steps")), 0);
    json_decref(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_ratios),
        cmocka_unit_test(interval_from_six_runs),
        cmocka_unit_test(drift_cancels),
        cmocka_unit_test(two_runs_alone_are_the_noise),
        cmocka_unit_test(incomplete_ones_are_left_out),
        cmocka_unit_test(grew_only_if_slower),
        cmocka_unit_test(contention_for_cpus),
        cmocka_unit_test(saturated_is_a_difference_from_alone),
        cmocka_unit_test(all_that_may_have_grown_most_are_named),
        cmocka_unit_test(what_happened_once_did_not_grow),
        cmocka_unit_test(saturated_in_most_repetitions),
        cmocka_unit_test(warnings),
        cmocka_unit_test(what_it_costs_the_others),
        cmocka_unit_test(what_a_looping_load_does_between_passes_is_no_cost),
        cmocka_unit_test(largest_number_of_others),
        cmocka_unit_test(every_pair_counts),
        cmocka_unit_test(which_system_suffices),
        cmocka_unit_test(members_are_missing),
        cmocka_unit_test(nothing_was_played),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
