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

#include "write_records.h"

static char *golden_path(const char *name)
{
    static char path[512];
    int directory = (int)(strrchr(__FILE__, '/') - __FILE__);

    snprintf(path, sizeof path, "%.*s/golden/%s", directory, __FILE__, name);
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

static char directory[] = "/tmp/tutti-report-XXXXXX";

static char *inside(const char *name)
{
    static char path[64];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/* Two ranks, two iterations and one. */
static void write_samples(void)
{
    struct tt_iteration_record rows[] = {{.iteration = 1, .span_ns = 10, .bytes_read = 7},
                                         {.iteration = 2, .span_ns = 20}};

    assert_int_equal(mkdir(inside("records"), 0700), 0);
    for (unsigned r = 0; r < 2; r++) {
        FILE *f = write_header(directory, (struct tt_records_header){.rank = r, .size = 2});

        write_chunk(f, TT_CHUNK_ITERATIONS, rows, (2 - r) * sizeof *rows);
        assert_int_equal(fclose(f), 0);
    }
}

static void remove_samples(void)
{
    assert_int_equal(unlink(inside("records/00000.ttr")), 0);
    assert_int_equal(unlink(inside("records/00001.ttr")), 0);
    assert_int_equal(rmdir(inside("records")), 0);
}

static void csv_is_golden_and_replaces(void **unused)
{
    json_t *result = golden_result();
    struct tt_error e = TT_ERROR_CLEAR;
    char path[64], *text;

    (void)unused;
    write_samples();
    snprintf(path, sizeof path, "%s", inside("out.csv"));
    for (int i = 0; i < 2; i++) /* the second time over the first */
        assert_int_equal(tt_report_csv(path, result, directory, &e), TT_OK);
    text = read_all(path);
    expect_golden("result.csv", text);
    free(text);
    assert_int_equal(unlink(path), 0);
    remove_samples();
    json_decref(result);
}

static void json_reads_back(void **unused)
{
    json_t *result = golden_result(), *back, *ranks, *row;
    struct tt_error e = TT_ERROR_CLEAR;
    char path[64];

    (void)unused;
    write_samples();
    snprintf(path, sizeof path, "%s", inside("out.json"));
    assert_int_equal(tt_report_json(path, result, directory, &e), TT_OK);
    back = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(back);
    ranks = json_object_get(json_object_get(back, "samples"), "ranks");
    assert_int_equal(json_array_size(ranks), 2);
    row = json_array_get(json_object_get(json_array_get(ranks, 0), "rows"), 1);
    assert_int_equal(json_integer_value(json_array_get(row, 2)), 20);
    assert_int_equal(json_array_size(json_object_get(json_array_get(ranks, 1), "rows")), 1);
    json_object_del(back, "samples");
    assert_true(json_equal(back, result));
    json_decref(back);
    assert_int_equal(unlink(path), 0);
    remove_samples();
    json_decref(result);
}

static void failure_leaves_nothing(void **unused)
{
    json_t *result = golden_result();
    struct tt_error e = TT_ERROR_CLEAR;
    char path[64];

    (void)unused;
    write_samples();
    snprintf(path, sizeof path, "%s", inside("no/such/out.json"));
    assert_int_equal(tt_report_json(path, result, directory, &e), TT_FAILED);
    tt_error_clear(&e);
    assert_int_equal(tt_report_csv("/dev/full", result, directory, &e), TT_FAILED);
    remove_samples();
    assert_int_equal(rmdir(directory), 0); /* it is empty */
    assert_int_equal(mkdir(directory, 0700), 0);
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

static int make_directory(void **unused)
{
    (void)unused;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **unused)
{
    (void)unused;
    return rmdir(directory);
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

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
