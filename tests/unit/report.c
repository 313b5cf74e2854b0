/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports against golden files, and against results that are not what they should be. To renew the
 * golden files after a wanted change: TUTTI_RENEW=1 unit_report. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/metrics.h"
#include "report/environment.h"
#include "report/figures.h"
#include "report/outfile.h"
#include "report/render.h"
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

static char *print_view(const json_t *result, bool all)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    tt_report_text(f, result, all);
    assert_int_equal(fclose(f), 0);
    return text;
}

static char *print(const json_t *result)
{
    return print_view(result, false);
}

static void expect_narrow(char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        assert_true(end - line <= 80);
        assert_true(end == line || end[-1] != ' ');
    }
}

typedef int render(const struct tt_document *d, FILE *out, struct tt_error *e);

static void expect_rendered(const struct tt_document *d, render *how, const char *name)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(how(d, f, &e), TT_OK);
    assert_int_equal(fclose(f), 0);
    expect_golden(name, text);
    if (how == tt_render_text)
        expect_narrow(text);
    free(text);
}

static void figures_of_ensemble_are_golden(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *answer = json_load_file(golden_path("ensemble.json"), 0, NULL);
    struct tt_document d;

    (void)unused;
    assert_non_null(answer);
    assert_int_equal(tt_document_begin(&d, "ensemble", "tutti report", &e), TT_OK);
    tt_figures_ensemble(&d, answer);
    expect_rendered(&d, tt_render_text, "report-ensemble.txt");
    expect_rendered(&d, tt_render_markdown, "report-ensemble.md");
    tt_document_free(&d);
    json_decref(answer);
}

/* Records that are gone take the iterations with them, and nothing else. */
static void figures_of_run_are_golden(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *result = golden_result();
    struct tt_document d;

    (void)unused;
    assert_int_equal(tt_document_begin(&d, "run", "tutti report", &e), TT_OK);
    assert_int_equal(tt_figures_run(&d, result, "/nonexistent", &e), TT_OK);
    expect_rendered(&d, tt_render_text, "report-run.txt");
    expect_rendered(&d, tt_render_markdown, "report-run.md");
    tt_document_free(&d);
    json_decref(result);
}

static void text_is_golden(void **unused)
{
    json_t *result = golden_result();
    char *text = print(result), *all = print_view(result, true);

    (void)unused;
    expect_golden("result.txt", text);
    expect_narrow(text);
    expect_golden("result-all.txt", all);
    expect_narrow(all);
    free(text);
    free(all);
    json_decref(result);
}

static void expect_part(const json_t *result, const char *part, bool there)
{
    char *text = print(result);

    if (!strstr(text, part) == there)
        fail_msg("%s: '%s' in\n%s", there ? "missing" : "not expected", part, text);
    free(text);
}

static void set_metric(json_t *result, const char *name, json_t *value, const char *note)
{
    json_object_set_new(json_object_get(result, "metrics"), name,
                        json_pack("{s:o, s:s*}", "value", value, "note", note));
}

/* The answer comes first, in the words of what was measured. */
static void answer_fits_the_run(void **unused)
{
    json_t *result = golden_result(), *parameters;

    (void)unused;
    expect_part(result, "done\n\n  write      50.0 MiB/s", true);
    expect_part(result, "  gain       asynchronous: 98 % of the I/O hidden\n", true);
    set_metric(result, "hidden_fraction", json_real(-0.3), NULL);
    expect_part(result, "none of the I/O hidden", true);
    set_metric(result, "hidden_fraction", json_real(1.4), NULL);
    expect_part(result, "the gain cannot be told", true);
    set_metric(result, "hidden_fraction", json_null(), "sync is never");
    expect_part(result, "the gain is not known: sync is never", true);
    set_metric(result, "hidden_fraction", json_null(), TT_NOT_REPORTED);
    expect_part(result, "asynchronous", false);
    set_metric(result, "hidden_fraction", json_real(0.5), NULL);
    parameters = json_object_get(json_object_get(result, "plan"), "parameters");
    json_object_set_new(parameters, "overlap", json_string("none"));
    expect_part(result, "asynchronous", false);
    set_metric(result, "write_rate", json_null(), "nothing was written");
    expect_part(result, "  compute    82.9 M updates/s\n", true);
    set_metric(result, "create_rate", json_real(12345), NULL);
    expect_part(result, "  items      create 12.3 k/s\n", true);
    expect_part(result, "  compute    82.9", false);
    json_decref(result);
}

/* What has its default is said only on request. */
static void defaults_are_silent(void **unused)
{
    json_t *result = golden_result(), *parameters;

    (void)unused;
    parameters = json_object_get(json_object_get(result, "plan"), "parameters");
    json_object_set_new(parameters, "stencil.dims", json_string("auto"));
    json_object_set_new(parameters, "inflight", json_string("1"));
    expect_part(result, "dims auto", false);
    expect_part(result, "inflight", false);
    json_object_set_new(parameters, "stencil.dims", json_string("3"));
    json_object_set_new(parameters, "inflight", json_string("4"));
    expect_part(result, "dims 3", true);
    expect_part(result, "  run        inflight 4\n", true);
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
    json_t *result = golden_result(), *back, *ranks, *row, *parameters;
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
    /* All as it was, but for the types of parameters. */
    parameters = json_object_get(json_object_get(back, "plan"), "parameters");
    assert_int_equal(json_integer_value(json_object_get(parameters, "stencil.size")), 4096);
    assert_true(json_real_value(json_object_get(parameters, "throttle.rate")) == 52428800);
    assert_string_equal(json_string_value(json_object_get(parameters, "layers")),
                        "verify,throttle");
    json_object_del(json_object_get(back, "plan"), "parameters");
    json_object_del(json_object_get(result, "plan"), "parameters");
    assert_true(json_equal(back, result));
    json_decref(back);
    assert_int_equal(unlink(path), 0);
    remove_samples();
    json_decref(result);
}

/* Each type of a parameter, one of a module that the plan describes, and one that nobody knows;
 * tables by the names of their columns. */
static void machines_get_types_and_names(void **unused)
{
    json_t *result = json_pack(
        "{s:{s:s, s:{s:{s:s}}, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}},"
        " s:{s:[[i, i]], s:[[i]]}, s:{s:[{s:s}, {s:s}]}}",
        "plan", "workload", "bulk", "described", "mine.size", "value", "BYTES", "parameters",
        "keep", "yes", "bulk.segments", "3", "bulk.deadline", "2.5", "bulk.order", "random",
        "bulk.paths", "", "frames.dims", "2:3:4", "min_free", "20%", "max_bytes",
        "9223372036854775807", "mine.size", "1024", "other.size", "7", "tables", "accesses", 2, 5,
        "unknown", 1, "columns", "accesses", "name", "access", "name", "repetition");
    json_t *wanted = json_pack("{s:b, s:i, s:f, s:s, s:s, s:[i,i,i], s:s, s:f, s:i, s:i}", "keep",
                               1, "bulk.segments", 3, "bulk.deadline", 2.5, "bulk.order", "random",
                               "bulk.paths", "", "frames.dims", 2, 3, 4, "min_free", "20%",
                               "max_bytes", 0x1p63, "mine.size", 1024, "other.size", 7);
    json_t *named = json_pack("{s:[{s:i, s:i}], s:[[i]]}", "accesses", "access", 2, "repetition", 5,
                              "unknown", 1);
    json_t *typed;

    (void)unused;
    assert_non_null(result);
    typed = tt_report_typed(result);
    assert_true(json_equal(json_object_get(json_object_get(typed, "plan"), "parameters"), wanted));
    assert_true(json_equal(json_object_get(typed, "tables"), named));
    json_decref(typed);
    json_decref(named);
    json_decref(wanted);
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

static volatile sig_atomic_t asked_to_end;

static void note_end(int number)
{
    (void)number;
    asked_to_end++;
}

/* Otherwise Ctrl-C would leave a temporary file. */
static void signals_wait_for_a_whole_file(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_outfile f;
    char path[80];

    (void)unused;
    snprintf(path, sizeof path, "%s/whole", directory);
    signal(SIGINT, note_end);
    for (int whole = 0; whole < 2; whole++) {
        asked_to_end = 0;
        assert_int_equal(tt_outfile_open(&f, path, &e), TT_OK);
        raise(SIGINT);
        assert_int_equal(asked_to_end, 0);
        assert_int_equal(whole ? tt_outfile_close(&f, &e) : tt_outfile_discard(&f, TT_OK), TT_OK);
        assert_int_equal(asked_to_end, 1);
        assert_int_equal(access(path, F_OK), whole ? 0 : -1);
    }
    signal(SIGINT, SIG_DFL);
    unlink(path);
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
        cmocka_unit_test(figures_of_ensemble_are_golden),
        cmocka_unit_test(figures_of_run_are_golden),
        cmocka_unit_test(answer_fits_the_run),
        cmocka_unit_test(defaults_are_silent),
        cmocka_unit_test(wrong_types_do_no_harm),
        cmocka_unit_test(csv_is_golden_and_replaces),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(machines_get_types_and_names),
        cmocka_unit_test(failure_leaves_nothing),
        cmocka_unit_test(signals_wait_for_a_whole_file),
        cmocka_unit_test(environment_knows_this_machine),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
