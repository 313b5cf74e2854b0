/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports against golden files, and against results that are not what they should be. To renew the
 * golden files after a wanted change: TUTTI_RENEW=1 unit_report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/environment.h"
#include "report/report.h"

static char *golden_path(const char *name)
{
    static char path[512];
    int folder = (int)(strrchr(__FILE__, '/') - __FILE__);

    snprintf(path, sizeof path, "%.*s/golden/%s", folder, __FILE__, name);
    return path;
}

static json_t *golden_result(void)
{
    json_error_t why;
    json_t *result = json_load_file(golden_path("result.json"), 0, &why);

    if (!result)
        fail_msg("result.json:%d: %s", why.line, why.text);
    return result;
}

static json_t *small_samples(void)
{
    json_t *samples = json_pack("{s:[s, s], s:[{s:i, s:[[i, i], [i, i]]}, {s:i, s:[[i, i]]}]}",
                                "columns", "iteration", "span_ns", "ranks", "rank", 0, "rows", 1,
                                10, 2, 20, "rank", 1, "rows", 1, 30);

    assert_non_null(samples);
    return samples;
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 65536);

    if (!f)
        fail_msg("cannot open %s", path);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, f) < 65535);
    fclose(f);
    return text;
}

static void expect_golden(const char *name, const char *text)
{
    const char *path = golden_path(name);
    char *golden;

    if (getenv("TUTTI_RENEW")) {
        FILE *f = fopen(path, "wb");

        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fclose(f), 0);
    }
    golden = read_all(path);
    assert_string_equal(text, golden);
    free(golden);
}

static char *print(const json_t *result)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    tt_report_text(f, result);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void text_is_golden(void **unused)
{
    json_t *result = golden_result();
    char *text = print(result);

    (void)unused;
    expect_golden("result.txt", text);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        assert_true(end - line <= 80);
        assert_true(end == line || end[-1] != ' ');
    }
    free(text);
    json_decref(result);
}

/* Every key with a value of the wrong type: less is printed, nothing breaks. */
static void wrong_types_do_no_harm(void **unused)
{
    json_t *golden = golden_result(), *value;
    const char *key;

    (void)unused;
    json_object_foreach(golden, key, value)
    {
        json_t *wrong[] = {json_integer(-1), json_string("\x1b[2J"), json_array(),
                           json_pack("{s:[[i]]}", "parameters", 1), json_null()};

        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            json_t *spoilt = json_copy(golden);
            char *text;

            assert_int_equal(json_object_set_new(spoilt, key, wrong[i]), 0);
            text = print(spoilt);
            assert_null(strchr(text, '\x1b'));
            free(text);
            json_decref(spoilt);
        }
    }
    json_decref(golden);
}

static char folder[] = "/tmp/tutti-report-XXXXXX";

static char *inside(const char *name)
{
    static char path[64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void csv_is_golden_and_replaces(void **unused)
{
    json_t *result = golden_result(), *samples = small_samples();
    struct tt_error e = TT_ERROR_CLEAR;
    char *path = inside("out.csv"), *text;

    (void)unused;
    for (int i = 0; i < 2; i++) /* the second time over the first */
        assert_int_equal(tt_report_csv(path, result, samples, &e), TT_OK);
    text = read_all(path);
    expect_golden("result.csv", text);
    free(text);
    assert_int_equal(unlink(path), 0);
    json_decref(samples);
    json_decref(result);
}

static void json_reads_back(void **unused)
{
    json_t *result = golden_result(), *samples = small_samples(), *back;
    struct tt_error e = TT_ERROR_CLEAR;
    char *path = inside("out.json");

    (void)unused;
    assert_int_equal(tt_report_json(path, result, samples, &e), TT_OK);
    back = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(back);
    assert_true(json_equal(json_object_get(back, "samples"), samples));
    json_object_del(back, "samples");
    assert_true(json_equal(back, result));
    json_decref(back);
    assert_int_equal(unlink(path), 0);
    json_decref(samples);
    json_decref(result);
}

static void failure_leaves_nothing(void **unused)
{
    json_t *result = golden_result(), *samples = small_samples();
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    assert_int_equal(tt_report_json(inside("no/such/out.json"), result, samples, &e), TT_FAILED);
    tt_error_clear(&e);
    assert_int_equal(tt_report_csv("/dev/full", result, samples, &e), TT_FAILED);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    assert_int_equal(mkdir(folder, 0700), 0);
    json_decref(samples);
    json_decref(result);
}

static void environment_knows_this_machine(void **unused)
{
    json_t *env = tt_environment("/tmp");

    (void)unused;
    assert_non_null(env);
    assert_true(json_integer_value(json_object_get(env, "memory")) > 1 << 20);
    assert_true(json_integer_value(json_object_get(env, "cpus")) >= 1);
    assert_non_null(json_object_get(json_object_get(env, "libraries"), "jansson"));
    assert_non_null(json_object_get(json_object_get(env, "data"), "filesystem"));
    json_decref(env);
    env = tt_environment("/nonexistent");
    assert_non_null(env);
    json_decref(env);
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_golden),
        cmocka_unit_test(wrong_types_do_no_harm),
        cmocka_unit_test(csv_is_golden_and_replaces),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(failure_leaves_nothing),
        cmocka_unit_test(environment_knows_this_machine),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
