/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "spec/units.h"

#define KIB 1024ull
#define GIB (KIB * KIB * KIB)

static void sizes_are_exact(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"4096", 4096},
        {"4k", 4 * KIB},
        {"4K", 4 * KIB},
        {"1m", KIB * KIB},
        {"1M", KIB * KIB},
        {"1.5g", 3 * GIB / 2},
        {"16GiB", 16 * GIB},
        {"16gib", 16 * GIB},
        {"0.5k", 512},
        {"1.50k", 1536},
        {"2t", 2 * KIB * GIB},
        {"1PiB", KIB * KIB * GIB},
        {"0.0009765625k", 1},
        {"1.000", 1},
        {"18446744073709551615", UINT64_MAX},
        {"16383.9990234375p", UINT64_MAX - KIB * GIB + 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        uint64_t bytes = 7;

        assert_int_equal(tt_parse_bytes(cases[i].text, &bytes, &e), TT_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

typedef int parse_fn(const char *text, void *out, struct tt_error *e);

static int count(const char *text, void *out, struct tt_error *e)
{
    return tt_parse_count(text, out, e);
}
static int bytes(const char *text, void *out, struct tt_error *e)
{
    return tt_parse_bytes(text, out, e);
}
static int duration(const char *text, void *out, struct tt_error *e)
{
    return tt_parse_duration(text, out, e);
}
static int rate(const char *text, void *out, struct tt_error *e)
{
    return tt_parse_rate(text, out, e);
}
static int real(const char *text, void *out, struct tt_error *e)
{
    return tt_parse_real(text, out, e);
}

static void refuses(parse_fn *parse, const char *const *texts)
{
    for (; *texts; texts++) {
        struct tt_error e = TT_ERROR_CLEAR;
        char quoted[96];
        uint64_t out = 7;

        snprintf(quoted, sizeof quoted, "'%s'", *texts);
        assert_int_equal(parse(*texts, &out, &e), TT_USAGE);
        assert_int_equal(out, 7);
        assert_non_null(strstr(e.text, quoted));
        assert_true(strstr(e.text, "expected") || strstr(e.text, "write '"));
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    refuses(count, (const char *const[]){"", "-1", "1x", "1.5", "1e9", "200k", "+1", " 1", "1 ",
                                         "0x10", "18446744073709551616", "x", NULL});
    refuses(bytes, (const char *const[]){"",
                                         "-1",
                                         "1x",
                                         "1.5q",
                                         "1e9",
                                         "1e9x",
                                         "1.",
                                         ".5",
                                         "1..5",
                                         "1.5",
                                         "0.3k",
                                         "1kk",
                                         "1ki",
                                         "4KB",
                                         "4mb",
                                         "1 k",
                                         "k",
                                         "16384p",
                                         "18446744073709551616",
                                         "99999999999999999999k",
                                         "1.00000000000000000001p",
                                         NULL});
    refuses(duration, (const char *const[]){"", "-1s", "1x", "1.5q", "1e9x", "s", "1 s", "1e999",
                                            "inf", "nan", "0x1", "1e308h", NULL});
    refuses(rate, (const char *const[]){"", "-1", "1x", "50MB/s", "1m/", "1/s/s", "1e999", "1e308p",
                                        "nan", NULL});
    refuses(real, (const char *const[]){"", "1x", "--1", "1e", "inf", "nan", "0x1p3", "1e999", "-",
                                        NULL});
}

static void refusals_say_why(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    uint64_t out;

    (void)state;
    tt_parse_bytes("4KB", &out, &e);
    assert_string_equal(e.text, "'4KB' may mean powers of ten or two: write 'KiB' (1024s)");
    tt_error_clear(&e);
    tt_parse_bytes("0.3k", &out, &e);
    assert_string_equal(e.text, "'0.3k' is not a whole number of bytes: expected bytes such as "
                                "4096, 4k, 1.5g or 16GiB");
    tt_error_clear(&e);
    tt_parse_count("-3", &out, &e);
    assert_string_equal(e.text, "'-3' is negative: expected a whole number such as 4096");
}

static void reals_are_read(void **state)
{
    static const struct {
        parse_fn *parse;
        const char *text;
        double value;
    } cases[] = {
        {duration, "5s", 5},
        {duration, "5", 5},
        {duration, "200ms", 0.2},
        {duration, "3us", 3e-6},
        {duration, "7ns", 7e-9},
        {duration, "2min", 120},
        {duration, "1.5h", 5400},
        {duration, "1e3", 1000},
        {rate, "50m", 50.0 * 1048576},
        {rate, "50MiB/s", 50.0 * 1048576},
        {rate, "0.3k", 0.3 * 1024},
        {rate, "100/s", 100},
        {real, "-1.5", -1.5},
        {real, "1e-3", 1e-3},
        {real, ".5", 0.5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        double value = 7;

        assert_int_equal(cases[i].parse(cases[i].text, &value, &e), TT_OK);
        assert_true(value == cases[i].value);
    }
}

static void values_are_shown_with_units(void **state)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        {0, "B", "0 B"},
        {512, "B", "512 B"},
        {1023, "B", "1023 B"},
        {1536, "B", "1.50 KiB"},
        {1.5 * GIB, "B", "1.50 GiB"},
        {312.4 * 1048576, "B/s", "312 MiB/s"},
        {0, "s", "0 s"},
        {4.31e-3, "s", "4.31 ms"},
        {1.5e-9, "s", "1.50 ns"},
        {12.34, "s", "12.3 s"},
        {3600, "s", "3600 s"},
        {1.2e9, "flop/s", "1.20 Gflop/s"},
        {1.2e9, "1/s", "1.20 G/s"},
        {3, "1", "3"},
        {0.95, "1", "0.95"},
        {1.234567e-7, "1", "1.235e-07"},
        {4e9, "1", "4.00 G"},
        {-1536, "B", "-1.50 KiB"},
        {999.7e6, "flop", "1.00 Gflop"},
        {NAN, "s", "nan"},
    };
    char out[TT_UNIT_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ptr_equal(tt_format_value(cases[i].value, cases[i].unit, out), out);
        assert_string_equal(out, cases[i].text);
        assert_true(strlen(out) <= 12);
    }
    assert_string_equal(tt_format_quantity(1500, out), "1.50 k");
    assert_true(strlen(tt_format_seconds(1e300, out)) <= 12);
    assert_true(strlen(tt_format_rate(DBL_MAX, out)) < TT_UNIT_TEXT);
}

static void times_are_read_and_shown(void **state)
{
    static const char *const bad[] = {"",           "today",       "2026",        "2026-13-01",
                                      "2026-02-30", "2026-11-15x", "2026-11-15T", "2026-11-15T25"};
    char out[TT_TIME_TEXT];
    double seconds, length;

    (void)state;
    assert_string_equal(tt_format_time(1794868410.25, out), "2026-11-16T22:33:30.250Z");
    assert_int_equal(tt_parse_time("2026-11-16", &seconds, &length, NULL), TT_OK);
    assert_true(seconds == 1794787200 && length == 86400);
    assert_int_equal(tt_parse_time("2026-11-16T22:33", &seconds, &length, NULL), TT_OK);
    assert_true(seconds == 1794868380 && length == 60);
    assert_int_equal(tt_parse_time("2026-11-16T22:33:30Z", &seconds, NULL, NULL), TT_OK);
    assert_true(seconds == 1794868410);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        assert_int_equal(tt_parse_time(bad[i], &seconds, &length, &e), TT_USAGE);
        assert_non_null(strstr(e.text, "is not a time"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_exact),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(reals_are_read),
        cmocka_unit_test(values_are_shown_with_units),
        cmocka_unit_test(times_are_read_and_shown),
    };

    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
