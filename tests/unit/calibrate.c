/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/calibrate.h"

static int calibrate(double seconds, const double *each, size_t n, struct tt_passes *out,
                     struct tt_error *e)
{
    tt_error_clear(e);
    *out = (struct tt_passes){.seconds = seconds};
    return tt_passes_calibrate(out, each, n, e);
}

static void the_fastest_sample_counts(void **state)
{
    const double disturbed[] = {0.009, 0.004, 0.02};
    struct tt_passes p;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(calibrate(0.05, disturbed, 3, &p, &e), TT_OK);
    assert_int_equal(p.count, 13); /* 12.5, to the nearest */
    assert_true(p.each == 0.004 && p.seconds == 0.05);
    assert_true(tt_passes_seconds(&p) == 0.004 * 13);
}

static void the_count_is_the_nearest_and_never_0(void **state)
{
    static const struct {
        double asked, each;
        uint64_t count;
    } cases[] = {
        {0.05, 0.05, 1},  {0.05, 0.034, 1},         {0.05, 0.033, 2},   {0.05, 0.06, 1},
        {0.05, 0.021, 2}, {3600, 1e-6, 3600000000}, {0.001, 1e-5, 100},
    };
    struct tt_passes p;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(calibrate(cases[i].asked, &cases[i].each, 1, &p, &e), TT_OK);
        assert_int_equal(p.count, cases[i].count);
    }
}

static void what_cannot_be_calibrated_is_refused(void **state)
{
    const double slow = 0.2, none = 0;
    struct tt_passes p;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(calibrate(0.05, &slow, 1, &p, &e), TT_USAGE);
    assert_string_equal(e.text, "compute: 50.0 ms is too short: one pass over the data alone takes "
                                "200 ms; ask for more time or for less data");
    assert_int_equal(p.count, 0);
    assert_int_equal(calibrate(0.05, &none, 1, &p, &e), TT_FAILED);
    assert_int_equal(calibrate(0.05, NULL, 0, &p, &e), TT_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_sample_counts),
        cmocka_unit_test(the_count_is_the_nearest_and_never_0),
        cmocka_unit_test(what_cannot_be_calibrated_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
