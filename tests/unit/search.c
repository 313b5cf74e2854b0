/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is halved away and who is chosen; where a search begins; how an application becomes a job. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "report/search.h"
#include "study/search/search.h"

/* ---- halving ---- */

static void halves_stay_and_have_twice_the_runs(void **unused)
{
    struct tt_rung rungs[TT_RUNGS];

    (void)unused;
    assert_int_equal(tt_halving(9, rungs), 3);
    assert_int_equal(rungs[0].candidates, 9);
    assert_int_equal(rungs[0].repeat, 1);
    assert_int_equal(rungs[1].candidates, 5);
    assert_int_equal(rungs[1].repeat, 2);
    assert_int_equal(rungs[2].candidates, 3);
    assert_int_equal(rungs[2].repeat, 4);
    /* with the default in each: 10 + 6 + 2 x 4 */
    assert_int_equal(tt_halving_runs(9), 24);
    assert_int_equal(tt_halving(1, rungs), 1);
    assert_int_equal(tt_halving_runs(1), 2);
    assert_int_equal(tt_halving(0, rungs), 0);
}

static void as_many_candidates_as_runs_allow(void **unused)
{
    (void)unused;
    assert_int_equal(tt_halving_affordable(1), 0);
    assert_int_equal(tt_halving_affordable(2), 1);
    assert_int_equal(tt_halving_affordable(23.9), 8);
    assert_int_equal(tt_halving_affordable(24), 9);
    assert_int_equal(tt_halving_affordable(NAN), 0);
    for (double runs = 2; runs < 300; runs++) {
        size_t n = tt_halving_affordable(runs);

        assert_true((double)tt_halving_runs(n) <= runs && (double)tt_halving_runs(n + 1) > runs);
    }
}

static void best_ones_first_and_never_one_without_a_value(void **unused)
{
    const struct tt_standing list[] = {{3, 0}, {NAN, 1}, {1, 2}, {2, 1}, {1, 1}, {INFINITY, 1}};
    size_t order[6];

    (void)unused;
    assert_int_equal(tt_best_of(list, 6, 3, false, order), 3);
    assert_int_equal(order[0], 4); /* changes less than 2 */
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 3);
    assert_int_equal(tt_best_of(list, 6, 6, true, order), 4);
    assert_int_equal(order[0], 0);
}

static void what_changes_less_is_chosen_if_it_is_as_good(void **unused)
{
    const struct tt_standing times[] = {{10, 0}, {5.05, 1}, {5, 2}, {4.99, 3}, {NAN, 0}};
    const struct tt_standing rates[] = {{100, 0}, {101, 1}, {NAN, 0}};
    const struct tt_standing none[] = {{NAN, 0}, {NAN, 1}};

    (void)unused;
    assert_int_equal(tt_choose(times, 5, false, 0.02), 1);
    assert_int_equal(tt_choose(times, 5, false, 0.001), 3);
    assert_int_equal(tt_choose(rates, 3, true, 0.02), 0);
    assert_int_equal(tt_choose(rates, 3, true, 0), 1);
    assert_int_equal(tt_choose(none, 2, false, 0.02), 2);
}

/* Two keys: the first doubles the time, the second does nothing. */
static void a_key_is_judged_by_settings_that_differ_in_it_alone(void **unused)
{
    static const size_t numbers[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}};
    const struct tt_tried list[] = {{numbers[0], 1},
                                    {numbers[1], 2},
                                    {numbers[2], 1.01},
                                    {numbers[3], 2.02},
                                    {numbers[4], NAN}};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_key_effect effect;

    (void)unused;
    assert_int_equal(tt_key_effect(list, 5, 2, 0, &effect, &e), TT_OK);
    assert_int_equal(effect.groups, 2);
    assert_true(fabs(effect.times - 2) < 1e-12);
    assert_int_equal(tt_key_effect(list, 5, 2, 1, &effect, &e), TT_OK);
    assert_int_equal(effect.groups, 2);
    assert_true(fabs(effect.times - 1.01) < 1e-12);
    assert_int_equal(tt_key_effect(list, 1, 2, 1, &effect, &e), TT_OK);
    assert_int_equal(effect.groups, 0);
}

/* ---- heuristics ---- */

static void stripes_follow_the_paper(void **unused)
{
    uint64_t sizes[3];

    (void)unused;
    assert_int_equal(tt_stripe_count_for(1, 0), 11); /* 10.5 */
    assert_int_equal(tt_stripe_count_for(4, 0), 27); /* 27.3 */
    assert_int_equal(tt_stripe_count_for(8, 0), 50); /* 49.7 */
    assert_int_equal(tt_stripe_count_for(9, 0), 54); /* beyond the line: all */
    assert_int_equal(tt_stripe_count_for(9, 8), 8);
    assert_int_equal(tt_stripe_count_for(1, 4), 4);
    assert_int_equal(tt_stripe_sizes_for(4 << 20, sizes), 3);
    assert_int_equal(sizes[0], 4 << 20);
    assert_int_equal(sizes[1], 2 << 20);
    assert_int_equal(sizes[2], 1 << 20);
    assert_int_equal(tt_stripe_sizes_for(1000000, sizes), 3);
    assert_int_equal(sizes[0], 15 * 65536); /* 15.26 */
    assert_int_equal(tt_stripe_sizes_for(1, sizes), 1);
    assert_int_equal(sizes[0], 65536);
    assert_int_equal(tt_multiplier_for(4096000, 3073), 32);
    assert_int_equal(tt_multiplier_for(4096000, 3072), 1);
    assert_int_equal(tt_multiplier_for(4095999, 49152), 1);
    assert_int_equal(tt_aggregators_for(11, 1, 24), 11);
    assert_int_equal(tt_aggregators_for(11, 1, 2), 2);
    assert_int_equal(tt_aggregators_for(0, 1, 2), 1);
}

static void a_line_knows_its_range_and_its_error(void **unused)
{
    const double x[] = {1, 2, 4, 8}, y[] = {10.5, 16.1, 27.3, 49.7}, bent[] = {10, 10, 10, 40};
    const double same[] = {2, 2, 2, 2}, zero[] = {1, 0, 1, 1};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_line line;

    (void)unused;
    assert_int_equal(tt_line_fit(x, y, 4, &line, &e), TT_OK);
    assert_true(fabs(line.slope - 5.6) < 1e-9 && fabs(line.intercept - 4.9) < 1e-9);
    assert_true(line.low == 1 && line.high == 8 && line.error < 1e-9);
    assert_int_equal(tt_line_fit(x, bent, 4, &line, &e), TT_OK);
    assert_true(line.error > 0.2);
    assert_int_equal(tt_line_fit(x, y, 2, &line, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "three values"));
    tt_error_clear(&e);
    assert_int_equal(tt_line_fit(same, y, 4, &line, &e), TT_USAGE);
    tt_error_clear(&e);
    assert_int_equal(tt_line_fit(x, zero, 4, &line, &e), TT_USAGE);
}

/* ---- applications ---- */

static const char *value_of(const struct tt_settings *s, const char *key)
{
    const struct tt_setting *found = tt_settings_find(s, key);

    return found ? found->value : "";
}

static void bytes_and_seconds_shrink_alike(void **unused)
{
    const struct tt_application a = {UINT64_C(2) << 30, 60, 0.05, 64};
    struct tt_scaled s;

    (void)unused;
    tt_application_scale(&a, 1e9, 0, &s);
    assert_true(s.factor == 1 && s.bytes == a.size && s.every == 60);
    tt_application_scale(&a, 6, 0, &s);
    assert_true(fabs(s.every - 0.6) < 1e-9); /* five dumps and as much I/O take 6 s */
    assert_true(fabs((double)s.bytes / (double)a.size - s.every / a.every) < 1e-6);
    tt_application_scale(&a, 6, 1e6, &s); /* a megabyte is not enough: 64 KiB a rank at least */
    assert_int_equal(s.bytes, 64 * 65536);
}

static void an_application_becomes_a_workload(void **unused)
{
    struct tt_application a = {UINT64_C(2) << 30, 60, 0.05, 64};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings job = {0};
    const char *workload;
    struct tt_scaled s;

    (void)unused;
    tt_application_scale(&a, 6, 0, &s);
    assert_int_equal(tt_application_job(&a, &s, &workload, &job, &e), TT_OK);
    assert_string_equal(workload, "stencil");
    assert_string_equal(value_of(&job, "write.every"), "12"); /* 0.6 s of 50 ms */
    assert_string_equal(value_of(&job, "iterations"), "60");
    assert_string_equal(value_of(&job, "size"), "1638"); /* squared, of 8 bytes: 21 MB */
    tt_settings_free(&job);
    a.compute = 0; /* not known: nothing lies between two dumps but time */
    assert_int_equal(tt_application_job(&a, &s, &workload, &job, &e), TT_OK);
    assert_string_equal(workload, "particles");
    assert_string_equal(value_of(&job, "steps"), "5");
    assert_string_equal(value_of(&job, "compute"), "0.6s");
    tt_settings_free(&job);
}

/* ---- what the user does with it ---- */

static void settings_become_hints_commands_and_calls(void **unused)
{
    const struct tt_param bytes = {.key = "cb_buffer_size", .type = TT_PARAM_BYTES};
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *list = json_array();

    (void)unused;
    assert_int_equal(tt_ways_of(&bytes, "mpiio.cb_buffer_size", "16m", list, &e), TT_OK);
    assert_string_equal(tt_text_of(json_array_get(list, 0), "way"), "hint");
    assert_string_equal(tt_text_of(json_array_get(list, 0), "text"), "cb_buffer_size 16777216");
    json_array_clear(list);
    assert_int_equal(tt_ways_of(NULL, "stripe.count", "8", list, &e), TT_OK);
    assert_string_equal(tt_text_of(json_array_get(list, 0), "text"),
                        "lfs setstripe -c 8 DIRECTORY");
    assert_int_equal(tt_ways_of(&bytes, "stripe.size", "4m", list, &e), TT_OK);
    assert_int_equal(json_array_size(list), 1); /* two commands would undo each other */
    assert_string_equal(tt_text_of(json_array_get(list, 0), "text"),
                        "lfs setstripe -c 8 -S 4194304 DIRECTORY");
    json_array_clear(list);
    assert_int_equal(tt_ways_of(NULL, "mode", "async", list, &e), TT_OK);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(tt_text_of(json_array_get(list, 0), "way"), "code");
    json_array_clear(list);
    assert_int_equal(tt_ways_of(NULL, "anything", "7", list, &e), TT_OK);
    assert_non_null(strstr(tt_text_of(json_array_get(list, 0), "text"), "--anything 7"));
    json_decref(list);
}

static void assert_file(const char *path, const char *expected)
{
    char text[1024] = "";
    FILE *in = fopen(path, "r");

    assert_non_null(in);
    assert_true(fread(text, 1, sizeof text - 1, in) > 0);
    fclose(in);
    unlink(path);
    assert_string_equal(text, expected);
}

static void hints_are_lines_and_the_rest_is_comments(void **unused)
{
    char path[] = "/tmp/tutti-search-XXXXXX";
    int fd = mkstemp(path);
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *answer = json_pack(
        "{s:b, s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}}",
        "recommended", 1, "text", "Set it.", "workload", "frames", "base", "dir", "/a \"b\\",
        "cb-x", "1", "best", "values", "cb_x", "2", "ways", "way", "hint", "text", "cb_nodes 4",
        "way", "environment", "text", "A=1", "way", "shell", "text",
        "lfs setstripe -c 8 DIRECTORY");

    (void)unused;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tt_report_hints(path, answer, &e), TT_OK);
    assert_file(path, "# Set it.\ncb_nodes 4\n# export A=1\n# lfs setstripe -c 8 DIRECTORY\n");
    assert_int_equal(tt_report_chosen_job(path, answer, &e), TT_OK);
    assert_file(path, "# Set it.\nworkload: frames\ndir: \"/a \\\"b\\\\\"\ncb_x: \"2\"\n");
    json_object_set_new(answer, "recommended", json_false());
    assert_int_equal(tt_report_hints(path, answer, &e), TT_OK);
    assert_file(path, "# Set it.\n");
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_stay_and_have_twice_the_runs),
        cmocka_unit_test(as_many_candidates_as_runs_allow),
        cmocka_unit_test(best_ones_first_and_never_one_without_a_value),
        cmocka_unit_test(what_changes_less_is_chosen_if_it_is_as_good),
        cmocka_unit_test(a_key_is_judged_by_settings_that_differ_in_it_alone),
        cmocka_unit_test(stripes_follow_the_paper),
        cmocka_unit_test(a_line_knows_its_range_and_its_error),
        cmocka_unit_test(bytes_and_seconds_shrink_alike),
        cmocka_unit_test(an_application_becomes_a_workload),
        cmocka_unit_test(settings_become_hints_commands_and_calls),
        cmocka_unit_test(hints_are_lines_and_the_rest_is_comments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
