/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions: what is understood, what is refused, and what intervals make of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/require.h"

static int check(const char *text, struct tt_error *e)
{
    char *words[] = {(char *)text};
    const struct tt_words list = {.n = 1, .words = words};
    uint64_t measured[] = {0, 1, 3, 9, 12};
    const struct tt_counts others = {.n = 5, .values = measured};

    return tt_require_check(&list, &others, e);
}

static void good_conditions(void **unused)
{
    static const char *const good[] = {
        "slowdown(9) <= 2.5",     "slowdown(1)<2",          "  slowdown ( 3 )  >=  1e0 ",
        "write_rate >= 40 GB/s",  "write_rate(3) > 1g",     "runtime < 50ms",
        "runtime(12) <= 1.5 s",   "bytes_written >= 1 MiB", "bytes_written > 2 GB",
        "hidden_fraction >= 0.9", "residual >= -1",
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
        {"", "begins with no metric"},
        {"<= 2", "begins with no metric"},
        {"speed >= 2", "'speed' is neither slowdown nor a metric"},
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
        {"slowdown(3) = 2", "expected <=, >=, < or >"},
        {"slowdown(3) == 2", "expected <=, >=, < or >"},
        {"slowdown(3) <=", "the value is none"},
        {"slowdown(3) <= x", "the value is none"},
        {"slowdown(3) <= 2x", "the value is none"},
        {"slowdown(3) <= nan", "the value is none"},
        {"slowdown(3) <= inf", "the value is none"},
        {"slowdown(3) <= 1e999", "the value is none"},
        {"slowdown(3) <= 2 and more", "the value is none"},
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
    assert_int_equal(tt_require_judge(&list, all, &out, &kind, &e), TT_OK);
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
    judge("slowdown(3) < 2.2", TT_INCONCLUSIVE, "inconclusive");
    judge("slowdown(3) <= 2", TT_INCONCLUSIVE, "inconclusive");
    judge("slowdown(3) <= 1.5", TT_FAIL, "fail");
    judge("slowdown(3) < 1.8", TT_FAIL, "fail");
    judge("slowdown(3) > 1.5", TT_PASS, "pass");
    judge("write_rate >= 50 MB/s", TT_PASS, "pass");
    judge("write_rate > 90 MiB/s", TT_INCONCLUSIVE, "inconclusive");
    judge("write_rate >= 90 MB/s", TT_PASS, "pass");
    judge("write_rate >= 100 MB/s", TT_INCONCLUSIVE, "inconclusive");
    judge("write_rate >= 1 GB/s", TT_FAIL, "fail");
    /* The worst decides; who never writes has no rate to be judged. */
    judge("slowdown(12) <= 2.5", TT_FAIL, "fail");
    judge("slowdown(12) <= 5", TT_INCONCLUSIVE, "inconclusive");
    judge("slowdown(12) <= 6", TT_PASS, "pass");
    judge("write_rate(12) >= 1 MB/s", TT_PASS, "pass");
    /* Too few runs, not measured, not tested. */
    judge("runtime <= 1000 s", TT_INCONCLUSIVE, "inconclusive");
    judge("read_rate >= 1 MB/s", TT_INCONCLUSIVE, "inconclusive");
    judge("slowdown(9) <= 100", TT_INCONCLUSIVE, "inconclusive");
    judge("slowdown(4) <= 100", TT_INCONCLUSIVE, "inconclusive");
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
    assert_int_equal(tt_require_judge(&list, all, &out, &kind, &e), TT_OK);
    assert_int_equal(kind, TT_FAIL);
    assert_int_equal(json_array_size(out), 4);
    json_decref(out);
    list.n = 2;
    assert_int_equal(tt_require_judge(&list, all, &out, &kind, &e), TT_OK);
    assert_int_equal(kind, TT_INCONCLUSIVE);
    json_decref(out);
    list.n = 1;
    assert_int_equal(tt_require_judge(&list, all, &out, &kind, &e), TT_OK);
    assert_int_equal(kind, TT_PASS);
    json_decref(out);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_conditions),
        cmocka_unit_test(bad_conditions),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(all_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
