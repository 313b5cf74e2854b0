/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said of one metric, where there is something special about its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict.h"

static double near_ten[] = {10.1, 9.9, 10.2, 9.8, 10.05, 9.95, 10}, zero[] = {0, 0, 0, 0, 0, 0},
              some_zero[] = {0, 1, 2, 3, 4, 5}, shares[] = {0.8, 0.81, 0.79, 0.8, 0.82, 0.78},
              lower_shares[] = {0.6, 0.61, 0.59, 0.6, 0.62, 0.58},
              negative_shares[] = {-0.2, -0.19, -0.21, -0.2, -0.18, -0.22},
              wild[] = {5, 25, 8, 16, 11, 9}, doubled[] = {20.1, 19.9, 20.2, 19.8, 20.05, 20};

#define VALUES(array) (&(struct tt_values){sizeof(array) / sizeof *(array), array})

static void check(enum tt_metric_id metric, const struct tt_values *a, const struct tt_values *b,
                  const char *verdict, const char *text)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *out;

    assert_int_equal(tt_verdict(metric, a, b, 0.05, 1, &out, &e), TT_OK);
    assert_string_equal(json_string_value(json_object_get(out, "verdict")), verdict);
    if (strncmp(json_string_value(json_object_get(out, "text")), text, strlen(text)) != 0)
        fail_msg("'%s' does not begin with '%s'", json_string_value(json_object_get(out, "text")),
                 text);
    json_decref(out);
}

static void directions(void **unused)
{
    (void)unused;
    check(TT_METRIC_runtime, VALUES(near_ten), VALUES(doubled), "worse", "slower by 100 % (9");
    check(TT_METRIC_runtime, VALUES(doubled), VALUES(near_ten), "better", "faster by 50 % (4");
    check(TT_METRIC_write_rate, VALUES(near_ten), VALUES(doubled), "better", "faster by 100 %");
    check(TT_METRIC_write_rate, VALUES(doubled), VALUES(near_ten), "worse", "slower by 50 %");
    check(TT_METRIC_peak_memory, VALUES(near_ten), VALUES(doubled), "different", "higher by 100 %");
    check(TT_METRIC_cpu_time, VALUES(doubled), VALUES(near_ten), "different", "lower by 50 %");
    check(TT_METRIC_files, VALUES(doubled), VALUES(near_ten), "different", "lower by 50 %");
}

static void shares_are_subtracted(void **unused)
{
    (void)unused;
    check(TT_METRIC_hidden_fraction, VALUES(shares), VALUES(lower_shares), "worse",
          "lower by 0.2 (0.1");
    check(TT_METRIC_hidden_fraction, VALUES(negative_shares), VALUES(shares), "better",
          "higher by 1 (0.9");
    check(TT_METRIC_hidden_fraction, VALUES(shares), VALUES(shares), "equivalent",
          "equivalent within 0.05");
}

static void nothing_to_say(void **unused)
{
    struct tt_values none = {0, near_ten}, five = {5, near_ten};

    (void)unused;
    check(TT_METRIC_read_rate, &none, VALUES(near_ten), "not measured", "not measured in A");
    check(TT_METRIC_read_rate, VALUES(near_ten), &none, "not measured", "not measured in B");
    check(TT_METRIC_read_rate, &none, &none, "not measured", "not measured");
    check(TT_METRIC_runtime, &five, VALUES(near_ten), "too few",
          "too few for an interval (5 and 7 runs; six each are needed)");
    check(TT_METRIC_copy_time, VALUES(zero), VALUES(zero), "equivalent", "the same in all runs");
    check(TT_METRIC_copy_time, VALUES(zero), VALUES(some_zero), "cannot tell",
          "cannot tell (not all values are above 0)");
    check(TT_METRIC_runtime, VALUES(near_ten), VALUES(wild), "cannot tell", "cannot tell (-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions),
        cmocka_unit_test(shares_are_subtracted),
        cmocka_unit_test(nothing_to_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
