/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions: what is understood, what is refused, and what intervals make of them. */
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

#include "analysis/require.h"

static int check(const char *text, struct tt_error *e)
{
    char *words[] = {(char *)text};
    const struct tt_words list = {.n = 1, .words = words};
    uint64_t measured[] = {0, 1, 3, 9, 12};
    const struct tt_counts others = {.n = 5, .values = measured};

    return tt_require_check(&list, &others, NULL, e);
}

static void good_conditions(void **unused)
{
    static const char *const good[] = {
        "slowdown(9) <= 2.5",
        "slowdown(1)<2",
        "  slowdown ( 3 )  >=  1e0 ",
        "write_rate >= 40 GB/s",
        "write_rate(3) > 1g",
        "runtime < 50ms",
        "runtime(12) <= 1.5 s",
        "bytes_written >= 1 MiB",
        "bytes_written > 2 GB",
        "hidden_fraction >= 0.9",
        "residual >= -1",
        "write_p99 < 10ms",
        "read_iops(3) >= 1000",
        "open_p999 <= 1s",
        "variation <= 5 %",
        "variation(3) <= 0.05",
        "variation(write_rate) < 5%",
        "variation ( write_rate , 3 ) <= 5 %",
        "hidden_fraction >= 90 %",
        "write_p99 <= 1.2 * baseline(label=golden)",
        "write_rate >= baseline(label=golden,stencil.size=64)",
        "write_rate(3) >= 95 % * baseline( start>2026-11-01 ) ",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        if (check(good[i], &e) != TT_OK)
            fail_msg("%s: %s", good[i], e.text);
    }
}

static void bad_conditions(void **unused)
{
    static const char *const bad[][2] = {
        {"", "at 1 (''): it begins with no metric"},
        {"<= 2", "at 1 ('<= 2'): it begins with no metric"},
        {"speed >= 2", "at 1 ('speed >= 2'): this is neither slowdown, variation nor a metric"},
        {"wriet_rate >= 2", "did you mean 'write_rate'?"},
        {"slowdwon(3) <= 2", "did you mean 'slowdown'?"},
        {"variation(wriet_rate, 3) <= 5%", "at 11 ('wriet_rate, 3) <= 5%'): there is no such"},
        {"variation(write_rate; 3) <= 5%", "then ')'"},
        {"variation(4) <= 5%", "4 is not among others"},
        {"variation(write_rate, 4) <= 5%", "4 is not among others"},
        {"slowdown(4) < 2", "4 is not among others"},
        {"write_rate(2) > 1 GB/s", "2 is not among others"},
        {"slowdown(3", "in brackets"},
        {"slowdown() < 2", "in brackets"},
        {"slowdown(-1) < 2", "in brackets"},
        {"slowdown(x) < 2", "in brackets"},
        {"slowdown(1x) < 2", "in brackets"},
        {"slowdown(99999999999999999999999) < 2", "in brackets"},
        {"slowdown < 2", "needs a number of others"},
        {"slowdown(0) < 2", "needs a number of others"},
        {"slowdown(3)", "expected <=, >=, < or >"},
        {"slowdown(3) = 2", "at 13 ('= 2'): expected <=, >=, < or >"},
        {"slowdown(3) == 2", "expected <=, >=, < or >"},
        {"slowdown(3) <=", "this is no value"},
        {"slowdown(3) <= x", "at 16 ('x'): this is no value"},
        {"slowdown(3) <= 2x", "this is no value"},
        {"slowdown(3) <= nan", "this is no value"},
        {"slowdown(3) <= inf", "this is no value"},
        {"slowdown(3) <= 1e999", "this is no value"},
        {"slowdown(3) <= 2 and more", "this is no value"},
        {"write_rate >= 0.9 * basline(label=a)", "at 21 ('basline(label=a)'): expected baseline"},
        {"write_rate >= 0.9 * basline(label=a)", "did you mean 'baseline'?"},
        {"write_rate >= 0.9 * baseline", "expected baseline(CONDITIONS)"},
        {"write_rate >= 0.9 * baseline()", "conditions name stored runs"},
        {"write_rate >= 0.9 * baseline(label=a", "expected ')' at the end"},
        {"write_rate >= 0.9 * baseline(label=a) + 1", "expected ')' at the end"},
        {"write_rate >= 0.9 GB/s * baseline(label=a)", "this is no value"},
        {"write_rate >= 0 * baseline(label=a)", "the factor before a baseline is above 0"},
        {"slowdown(3) <= 2 * baseline(label=a)", "neither slowdown nor variation"},
        {"variation(3) <= 2 * baseline(label=a)", "neither slowdown nor variation"},
        {"write_rate >= 40 apples/s", "has an unknown unit"},
        {"runtime < 3 GB", "has an unknown unit"},
        {"slowdown(3) <= 11111111111111111111111111111111111111111111111111111111111111111111111",
         "too long"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        if (check(bad[i][0], &e) != TT_USAGE || !strstr(e.text, bad[i][1]))
            fail_msg("'%s' gives '%s' instead of '%s'", bad[i][0], e.text, bad[i][1]);
    }
}

static const char steps[] =
    "[{\"others\": 0, \"slowdown\": {\"value\": 1, \"low\": 1, \"high\": 1}, \"metrics\": "
    "{\"write_rate\": {\"median\": 100e6, \"low\": 90e6, \"high\": 110e6}, \"runtime\": "
    "{\"median\": 2, \"low\": null, \"high\": null}}},"
    "{\"others\": 3, \"slowdown\": {\"value\": 2, \"low\": 1.8, \"high\": 2.2}},"
    "{\"others\": 9, \"slowdown\": null}, 7, {},"
    /* Of a matrix: two references under the same number of others. */
    "{\"others\": 12, \"runs\": 6, \"slowdown\": {\"value\": 1, \"low\": 1, \"high\": 1.1}},"
    "{\"others\": 12, \"runs\": 6, \"slowdown\": {\"value\": 5, \"low\": 4, \"high\": 6},"
    "\"metrics\": {\"write_rate\": {\"median\": 9e6, \"low\": 8e6, \"high\": 1e7}}}]";

static void judge(const char *condition, enum tt_verdict_kind expected, const char *verdict)
{
    char *words[] = {(char *)condition};
    const struct tt_words list = {.n = 1, .words = words};
    json_t *all = json_loads(steps, 0, NULL), *out = NULL;
    struct tt_error e = TT_ERROR_CLEAR;
    enum tt_verdict_kind kind;

    assert_non_null(all);
    assert_int_equal(tt_require_judge(&list, all, NULL, &out, &kind, &e), TT_OK);
    assert_string_equal(json_string_value(json_object_get(json_array_get(out, 0), "verdict")),
                        verdict);
    assert_int_equal(kind, expected);
    json_decref(all);
    json_decref(out);
}

static void verdicts(void **unused)
{
    (void)unused;
    judge("slowdown(3) <= 2.5", TT_PASS, "pass");
    judge("slowdown(3) <= 2.2", TT_PASS, "pass");
    judge("slowdown(3) < 2.2", TT_UNDECIDED, "cannot be told");
    judge("slowdown(3) <= 2", TT_UNDECIDED, "cannot be told");
    judge("slowdown(3) <= 1.5", TT_FAIL, "fail");
    judge("slowdown(3) < 1.8", TT_FAIL, "fail");
    judge("slowdown(3) > 1.5", TT_PASS, "pass");
    judge("write_rate >= 50 MB/s", TT_PASS, "pass");
    judge("write_rate > 90 MiB/s", TT_UNDECIDED, "cannot be told");
    judge("write_rate >= 90 MB/s", TT_PASS, "pass");
    judge("write_rate >= 100 MB/s", TT_UNDECIDED, "cannot be told");
    judge("write_rate >= 1 GB/s", TT_FAIL, "fail");
    /* The worst decides; who never writes has no rate to be judged. */
    judge("slowdown(12) <= 2.5", TT_FAIL, "fail");
    judge("slowdown(12) <= 5", TT_UNDECIDED, "cannot be told");
    judge("slowdown(12) <= 6", TT_PASS, "pass");
    judge("write_rate(12) >= 1 MB/s", TT_PASS, "pass");
    /* Too few runs, not measured, not tested. */
    judge("runtime <= 1000 s", TT_UNDECIDED, "cannot be told");
    judge("read_rate >= 1 MB/s", TT_UNDECIDED, "cannot be told");
    judge("slowdown(9) <= 100", TT_UNDECIDED, "cannot be told");
    judge("slowdown(4) <= 100", TT_UNDECIDED, "cannot be told");
}

/* One that fails decides, whatever cannot be told. */
static void all_together(void **unused)
{
    char *words[] = {"slowdown(3) <= 2.5", "slowdown(9) <= 2.5", "slowdown(3) <= 1.5",
                     "slowdown(4) <= 2.5"};
    struct tt_words list = {.n = 4, .words = words};
    json_t *all = json_loads(steps, 0, NULL), *out = NULL;
    struct tt_error e = TT_ERROR_CLEAR;
    enum tt_verdict_kind kind;

    (void)unused;
    assert_int_equal(tt_require_judge(&list, all, NULL, &out, &kind, &e), TT_OK);
    assert_int_equal(kind, TT_FAIL);
    assert_int_equal(json_array_size(out), 4);
    json_decref(out);
    list.n = 2;
    assert_int_equal(tt_require_judge(&list, all, NULL, &out, &kind, &e), TT_OK);
    assert_int_equal(kind, TT_UNDECIDED);
    json_decref(out);
    list.n = 1;
    assert_int_equal(tt_require_judge(&list, all, NULL, &out, &kind, &e), TT_OK);
    assert_int_equal(kind, TT_PASS);
    json_decref(out);
    json_decref(all);
}

/* ---- numbers beyond the answer's own intervals ---- */

/* Twelve runs of 0.98 to 1.02 s, which vary by 1.5 %, writing 100 MiB each. */
static json_t *twelve_runs(void)
{
    static const double times[] = {0.98, 0.98, 0.99, 0.99, 1, 1, 1, 1, 1.01, 1.01, 1.02, 1.02};
    json_t *runtimes = json_array(), *rates = json_array();

    for (size_t i = 0; i < 12; i++) {
        json_array_append_new(runtimes, json_real(times[i]));
        json_array_append_new(rates, json_real((100 << 20) / times[i]));
    }
    return json_pack("[{s:i, s:i, s:{s:{s:o, s:f, s:f, s:f}, s:{s:o, s:f, s:f, s:f}}}]", "others",
                     0, "runs", 12, "metrics", "runtime", "values", runtimes, "median", 1.0, "low",
                     0.99, "high", 1.01, "write_rate", "values", rates, "median", 104857600.0,
                     "low", 103e6, "high", 106e6);
}

static size_t stored;
static int find(void *context, const char *conditions, const struct tt_metric *metric,
                uint64_t others, struct tt_baseline *out, struct tt_error *e)
{
    (void)context;
    (void)e;
    assert_string_equal(conditions, "label=golden");
    assert_string_equal(metric->name, "write_rate");
    assert_int_equal(others, 0);
    out->values = calloc(stored + 1, sizeof *out->values);
    for (out->n = 0; out->n < stored; out->n++)
        out->values[out->n] = (100 << 20) * (1 + 0.01 * (double)(out->n % 3));
    if (stored < 6)
        strcpy(out->why, "too few of them");
    return TT_OK;
}

static void tell(const char *condition, enum tt_verdict_kind expected, const char *text)
{
    const struct tt_baseline_source source = {.find = find};
    char *words[] = {(char *)condition};
    const struct tt_words list = {.n = 1, .words = words};
    json_t *runs = twelve_runs(), *out = NULL;
    struct tt_error e = TT_ERROR_CLEAR;
    enum tt_verdict_kind kind;
    const char *said;

    assert_int_equal(tt_require_judge(&list, runs, &source, &out, &kind, &e), TT_OK);
    said = json_string_value(json_object_get(json_array_get(out, 0), "text"));
    if (kind != expected || !strstr(said, text))
        fail_msg("%s: %s, %s", condition, tt_verdict_names[kind], said);
    json_decref(runs);
    json_decref(out);
}

static void units_are_those_asked_for(void **unused)
{
    (void)unused;
    tell("write_rate >= 90 MiB/s", TT_PASS, "100 MiB/s, 95 % interval 98.23 MiB/s to 101.1 MiB/s");
    tell("write_rate >= 0.09 GB/s", TT_PASS, "0.1049 GB/s, 95 % interval 0.103 GB/s to");
    tell("write_rate >= 90m", TT_PASS, "100 MiB/s"); /* a letter is no name of a unit */
    tell("write_rate >= 9 KiB/s", TT_PASS, "102400 KiB/s, 95 % interval 100586 KiB/s to");
    tell("runtime <= 1100 ms", TT_PASS, "1000 ms, 95 % interval 990 ms to 1010 ms");
    tell("runtime <= 0.5s", TT_FAIL, "1 s, 95 % interval 0.99 s to 1.01 s");
}

static void variation_is_judged(void **unused)
{
    (void)unused;
    tell("variation <= 5 %", TT_PASS, "1.348 %, 95 % interval ");
    tell("variation(write_rate) <= 5 %", TT_PASS, "1.349 %, 95 % interval ");
    tell("variation <= 1.4 %", TT_UNDECIDED, "1.348 %");
    tell("variation <= 0.5 %", TT_FAIL, "1.348 %");
    tell("variation <= 0.05", TT_PASS, "0.01348, 95 % interval ");
    tell("variation(read_rate) <= 5 %", TT_UNDECIDED, "not measured");
}

/* The true variation lies in nine of ten intervals at least, from as few runs as have one. */
static void variation_is_covered(void **unused)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    int covered = 0;

    (void)unused;
    for (int trial = 0; trial < 150; trial++) {
        double values[TT_RUNS_FOR_VARIATION];
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_interval i;

        for (int k = 0; k < TT_RUNS_FOR_VARIATION; k++)
            values[k] = 1 + gsl_ran_gaussian(rng, 0.05);
        assert_int_equal(tt_bootstrap_variation(values, TT_RUNS_FOR_VARIATION, TT_LEVEL, 1, &i, &e),
                         TT_OK);
        covered += i.known && i.low <= 0.05 && i.high >= 0.05;
    }
    gsl_rng_free(rng);
    assert_in_range(covered, 135, 150);
}

static void variation_of_odd_runs(void **unused)
{
    const double equal[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                 nearly[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 3},
                 negative[] = {-1, -2, -3, -1, -2, -3, -1, -2, -3, -4};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_interval i;

    (void)unused;
    assert_int_equal(tt_bootstrap_variation(equal, 10, TT_LEVEL, 1, &i, &e), TT_OK);
    assert_true(i.known && i.low == 0 && i.high == 0);
    assert_int_equal(tt_bootstrap_variation(nearly, 10, TT_LEVEL, 1, &i, &e), TT_OK);
    assert_false(i.known);
    assert_int_equal(tt_bootstrap_variation(equal, 9, TT_LEVEL, 1, &i, &e), TT_OK);
    assert_false(i.known);
    assert_int_equal(tt_bootstrap_variation(negative, 10, TT_LEVEL, 1, &i, &e), TT_OK);
    assert_false(i.known);
    assert_true(isnan(tt_variation(negative, 10)) && isnan(tt_variation(equal, 1)));
}

static void baselines_are_held_against(void **unused)
{
    (void)unused;
    stored = 9;
    tell("write_rate >= 0.95 * baseline(label=golden)", TT_PASS, "0.9901, 95 % interval ");
    tell("write_rate >= 0.95 * baseline(label=golden)", TT_PASS,
         " times the baseline; median 100 MiB/s here, 101 MiB/s in its 9 runs");
    tell("write_rate >= 95 % * baseline(label=golden)", TT_PASS, "0.9901, 95 % interval ");
    tell("write_rate >= 1.1 * baseline(label=golden)", TT_FAIL, "0.9901");
    tell("write_rate >= baseline(label=golden)", TT_UNDECIDED, "0.9901");
    stored = 5;
    tell("write_rate >= 0.5 * baseline(label=golden)", TT_UNDECIDED, "too few of them");
}

static void expect_goal(const json_t *goals, size_t i, bool met, const char *text)
{
    const json_t *one = json_array_get(goals, i);

    assert_int_equal(json_is_true(json_object_get(one, "met")), met);
    assert_string_equal(json_string_value(json_object_get(one, "text")), text);
}

/* Alone by the metric itself; with others by its ratio, and then not alone. */
static void goals_are_told(void **unused)
{
    json_t *alone = json_loads("[{\"others\": 0, \"runs\": 8, \"metrics\": {\"write_rate\":"
                               " {\"median\": 100, \"low\": 97, \"high\": 103}}}]",
                               0, NULL);
    json_t *with =
        json_loads("[{\"others\": 0, \"runs\": 8, \"metrics\": {}}, {\"others\": 2,"
                   " \"runs\": 20, \"metrics\": {\"runtime\": {\"median\": 9, \"ratio\":"
                   " {\"value\": 2, \"low\": 1.8, \"high\": 2.2}}}}, {\"others\": 3, \"runs\":"
                   " 2, \"metrics\": {\"runtime\": {\"median\": 9, \"ratio\": {\"value\": 2}}}}]",
                   0, NULL);
    json_t *goals;

    (void)unused;
    goals = tt_stop_judge("write_rate", 0.05, alone);
    assert_int_equal(json_array_size(goals), 1);
    expect_goal(goals, 0, true, "write_rate, alone: met: 8 runs, interval of +-3 %, wanted 5 %");
    json_decref(goals);
    goals = tt_stop_judge("write_rate", 0.02, alone);
    expect_goal(goals, 0, false,
                "write_rate, alone: not met: 8 runs, interval of +-3 %, wanted 2 %");
    json_decref(goals);
    goals = tt_stop_judge("runtime", 0.05, alone);
    expect_goal(goals, 0, false, "runtime, alone: not met: not measured");
    json_decref(goals);
    goals = tt_stop_judge("runtime", 0.05, with);
    assert_int_equal(json_array_size(goals), 2);
    expect_goal(goals, 0, false,
                "runtime, with 2: not met: 20 runs, interval of +-10 %, wanted 5 %");
    expect_goal(goals, 1, false, "runtime, with 3: not met: too few runs for an interval");
    json_decref(goals);
    json_decref(alone);
    json_decref(with);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_conditions),
        cmocka_unit_test(bad_conditions),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(all_together),
        cmocka_unit_test(goals_are_told),
        cmocka_unit_test(units_are_those_asked_for),
        cmocka_unit_test(variation_is_judged),
        cmocka_unit_test(baselines_are_held_against),
        cmocka_unit_test(variation_is_covered),
        cmocka_unit_test(variation_of_odd_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
