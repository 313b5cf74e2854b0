/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run directory of known numbers gives exactly the metrics that their definitions say; what a
 * crash or an intruder left gives a reason. */
#include <ftw.h>
#include <math.h>
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

#include "analysis/metrics.h"
#include "analysis/result.h"
#include "analysis/samples.h"
#include "record/records.h"
#include "plan/directory.h"
#include "write_records.h"

#define SECOND INT64_C(1000000000)
#define MIB 1048576.0

static char directory[] = "/tmp/tutti-result-XXXXXX";

/* ---- making a run directory ---- */

static void write_file(const char *name, const char *text)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_directory_write_text(directory, name, text, &e), TT_OK);
}

/* 16 iterations of 1 s; rank 1 computes 0.5 s in each, rank 0 only 0.3 s; a dump of 1 MiB in every
 * fourth, whose write takes 0.2 s and sync 0.3 s. */
static void write_iterations(FILE *f, unsigned rank)
{
    struct tt_iteration_record before = {.start_ns = -2 * SECOND, .span_ns = 2 * SECOND};
    struct tt_iteration_record after = {.start_ns = 16 * SECOND, .span_ns = SECOND};

    before.phase_ns[TT_OPEN] = SECOND;
    after.phase_ns[TT_CLOSE] = SECOND / 2;
    write_chunk(f, TT_CHUNK_ITERATIONS, &before, sizeof before);
    write_chunk(f, TT_CHUNK_ITERATIONS, &after, sizeof after);
    for (uint64_t i = 1; i <= 16; i++) {
        struct tt_iteration_record r = {.iteration = i,
                                        .start_ns = ((int64_t)i - 1) * SECOND,
                                        .span_ns = SECOND,
                                        .bytes_communicated = 100};

        r.phase_ns[TT_COMPUTE] = rank ? SECOND / 2 : 3 * SECOND / 10;
        if (i % 4 == 0) {
            r.bytes_written = 1 << 20;
            r.phase_ns[TT_COPY] = SECOND / 100;
            r.phase_ns[TT_IO_WRITE] = SECOND / 5;
            r.phase_ns[TT_IO_SYNC] = 3 * SECOND / 10;
        }
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
    }
}

/* Eight more iterations in two baseline epochs, of which nothing counts. */
static void write_excluded(FILE *f)
{
    for (uint64_t i = 17; i <= 24; i++) {
        struct tt_iteration_record r = {.iteration = i | TT_ITERATION_EXCLUDED,
                                        .start_ns = ((int64_t)i - 1) * SECOND,
                                        .span_ns = SECOND / 2,
                                        .bytes_written = i % 4 == 0 ? 1 << 20 : 0,
                                        .bytes_communicated = 1000};

        r.phase_ns[TT_COMPUTE] = r.phase_ns[TT_IO_WRITE] = r.phase_ns[TT_COPY] = SECOND;
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
    }
}

/* Overlapped epochs: 2.1 s, of which 2 s computation (rank 1; rank 0 is faster). Baselines: 1.6 s
 * computation and 0.5 s I/O. The last has no computation after its dump and must not count. */
static void write_epochs(FILE *f, unsigned rank, uint32_t kind)
{
    for (unsigned n = 1; n <= 5; n++) {
        bool baseline = n == 2 || n == 4, last = n == 5;
        struct tt_epoch_record r = {.epoch = n,
                                    .kind = baseline ? kind : TT_EPOCH_OVERLAPPED,
                                    .iterations = last ? 0 : 4,
                                    .span_ns = rank ? 21 * SECOND / 10 : SECOND,
                                    .compute_ns = baseline ? 16 * SECOND / 10 : 2 * SECOND,
                                    .io_ns = SECOND / 2,
                                    .visible_ns = baseline ? SECOND / 2 : SECOND / 10,
                                    .bytes = 1 << 20,
                                    .helper_cpu_ns = rank ? SECOND / 10 : 4 * SECOND / 10};

        if (last)
            r.span_ns = r.io_ns;
        if (!rank)
            r.compute_ns = SECOND;
        write_chunk(f, TT_CHUNK_EPOCHS, &r, sizeof r);
    }
}

static void write_calls(FILE *f)
{
    struct tt_histogram *calls = calloc(TT_NCALLS, sizeof *calls);

    assert_non_null(calls);
    tt_histogram_add(&calls[TT_CALL_WRITE], 16);
    tt_histogram_add(&calls[TT_CALL_WRITE], 24);
    write_calls_of_node(f, calls);
    free(calls);
}

static FILE *begin_rank(unsigned rank, enum tt_rank_state state, unsigned pid)
{
    return write_header(directory,
                        (struct tt_records_header){
                            .rank = rank, .size = 2, .state = state, .pid = pid, .host = "node1"});
}

static const char summary[] =
    "{\"results\": {\"residual\": {\"value\": 0.25, \"kind\": \"same\"},"
    " \"updates\": {\"value\": 1200, \"kind\": \"sum\"}, \"flops\": {\"value\": 4800, \"kind\": "
    "\"sum\"}},"
    " \"cpu_seconds\": 12.0, \"cpu_waiting_seconds\": 0.16, \"node_cpu_seconds\": 28.0, "
    "\"peak_memory\": 4096, \"runtime_ns\": 16000000000, \"files\": 1,"
    " \"library_bytes\": [10, 0], \"warnings\": [\"said by both ranks\"],"
    " \"facts\": [{\"key\": \"cb_nodes\", \"given\": \"4\", \"read_back\": \"4\", \"proof\": \"no "
    "effect\","
    " \"how\": \"\"}], \"overlap\": {\"executor\": \"helper\"},"
    " \"environment\": {\"host\": \"node1\", \"cpus\": 1, \"memory\": 1073741824}}";

static void write_rank(unsigned rank)
{
    FILE *f = begin_rank(rank, TT_RANK_DONE, 100 + rank);

    write_iterations(f, rank);
    write_excluded(f);
    write_epochs(f, rank, TT_EPOCH_BASELINE);
    write_calls(f);
    write_chunk(f, TT_CHUNK_JSON, summary, sizeof summary - 1);
    assert_int_equal(fclose(f), 0);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int make_directory(void **unused)
{
    char records[64];

    (void)unused;
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    if (!mkdtemp(directory))
        return -1;
    snprintf(records, sizeof records, "%s/records", directory);
    if (mkdir(records, 0777) != 0)
        return -1;
    write_file("plan.json",
               "{\"format\": 2, \"workload\": \"stencil\", \"ranks\": 2, \"hash\": \"00ff\","
               " \"parameters\": {\"ranks\": \"2\", \"backend\": \"posix\", \"overlap\": \"async\","
               " \"sync\": \"background\", \"label\": \"mine\", \"stencil.size\": \"64\"}}");
    write_file("outcome.json", "{\"status\": \"done\", \"error\": null}");
    write_rank(0);
    write_rank(1);
    return 0;
}

static int remove_directory(void **unused)
{
    (void)unused;
    return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- what is expected of it ---- */

static json_t *make(void)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *result = NULL;

    assert_int_equal(tt_result_make(directory, &result, &e), TT_OK);
    assert_non_null(result);
    return result;
}

static const char *text(const json_t *result, const char *key)
{
    const char *value = json_string_value(json_object_get(result, key));

    return value ? value : "";
}

static void expect_metric(const json_t *result, const char *name, double expected)
{
    const json_t *m = json_object_get(json_object_get(result, "metrics"), name);
    double value = json_number_value(json_object_get(m, "value"));

    if (!json_is_number(json_object_get(m, "value")) ||
        fabs(value - expected) > 1e-12 * fabs(expected))
        fail_msg("%s is %.17g (%s), not %.17g", name, value, text(m, "note"), expected);
    assert_string_equal(text(m, "unit"), tt_find_metric(name)->unit);
}

static void expect_no_metric(const json_t *result, const char *name, const char *why)
{
    const json_t *m = json_object_get(json_object_get(result, "metrics"), name);

    assert_true(json_is_null(json_object_get(m, "value")));
    if (!strstr(text(m, "note"), why))
        fail_msg("%s is unknown because '%s', not '%s'", name, text(m, "note"), why);
}

static bool warns(const json_t *result, const char *words)
{
    const json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(result, "warnings"), i,
                       warning) if (strstr(text(warning, "text"), words)) return true;
    return false;
}

static void metrics_follow_their_definitions(void **unused)
{
    json_t *result = make();

    (void)unused;
    assert_string_equal(text(result, "status"), "done");
    assert_true(json_is_true(json_object_get(result, "valid")));
    assert_true(json_is_null(json_object_get(result, "error")));
    assert_string_equal(text(result, "label"), "mine");
    expect_metric(result, "runtime", 16);
    expect_metric(result, "residual", 0.25);
    expect_metric(result, "updates", 1600);
    expect_metric(result, "update_rate", 100);
    expect_metric(result, "flops", 6400);
    expect_metric(result, "flop_rate", 400);
    expect_metric(result, "bytes_communicated", 3200);
    expect_metric(result, "bytes_written", 8 * MIB);
    expect_metric(result, "bytes_read", 0);
    expect_metric(result, "write_rate", 8 * MIB / 2.0);
    expect_no_metric(result, "read_rate", "nothing was read");
    expect_metric(result, "application_rate", 8 * MIB / 16);
    expect_no_metric(result, "application_read_rate", "nothing was read");
    expect_metric(result, "epoch_time", 2.1);
    expect_metric(result, "epoch_compute", 2.1 - 0.1);
    expect_metric(result, "epoch_bytes", 2 * MIB);
    expect_metric(result, "compute_only", 1.6);
    expect_metric(result, "io_only", 0.5);
    expect_metric(result, "hidden_fraction", 1 - (2.1 - 1.6) / 0.5);
    expect_metric(result, "hidden_fraction_median", 1 - (2.1 - 1.6) / 0.5);
    expect_no_metric(result, "hidden_fraction_low", "fewer than six epochs");
    expect_metric(result, "speedup", (1.6 + 0.5) / 2.1);
    expect_no_metric(result, "hidden_read_fraction", "nothing was read");
    expect_metric(result, "inflation", 2 / 1.6);
    expect_metric(result, "copy_time", 0.04);
    expect_metric(result, "epoch_copy", 0.04 / 3);
    expect_metric(result, "epoch_helper_cpu", 0.4);
    expect_metric(result, "copy_rate", 8 * MIB / 0.04);
    expect_metric(result, "t_init", 1);
    expect_metric(result, "t_term", 0.5);
    expect_metric(result, "cpu_time", 24);
    expect_metric(result, "cpu_share", 24 / (16.0 * 2));
    expect_metric(result, "cpu_wait", 0.01);
    expect_metric(result, "cpu_others", 4 / 16.0);
    expect_metric(result, "peak_memory", 4096);
    expect_metric(result, "imbalance", 0.5 / 0.4);
    expect_metric(result, "files", 2);
    /* All, without the percentiles of calls that were not made: only writes were. */
    assert_int_equal(json_object_size(json_object_get(result, "metrics")),
                     TT_NMETRICS - 3 * (TT_NCALLS - 1));
    json_decref(result);
}

static const char *note_of(const json_t *result, const char *name)
{
    return text(json_object_get(json_object_get(result, "metrics"), name), "note");
}

static void what_baselines_took_is_said(void **unused)
{
    json_t *result = make();
    const json_t *excluded = json_object_get(result, "excluded");

    (void)unused;
    assert_string_equal(note_of(result, "runtime"),
                        "without 2 of 5 epochs (4 s): those that measured the baseline");
    assert_int_equal(json_integer_value(json_object_get(excluded, "epochs")), 2);
    assert_int_equal(json_integer_value(json_object_get(excluded, "of")), 5);
    assert_true(json_number_value(json_object_get(excluded, "seconds")) == 4);
    assert_true(json_number_value(json_object_get(excluded, "bytes_written")) == 4 * MIB);
    json_decref(result);
}

/* The baseline's epoch has no record then, but its iterations do: they are not in the runtime, so
 * they are in no update rate. The dump that it began with was the end of one that counts. */
static void iterations_of_a_baseline_that_was_stopped_do_not_count(void **unused)
{
    const struct tt_iteration_record dump = {.iteration = 16 | TT_ITERATION_EXCLUDED,
                                             .start_ns = 16 * SECOND - 1};
    const struct tt_epoch_record first = {.epoch = 1, .iterations = 4, .span_ns = SECOND};
    json_t *result;

    (void)unused;
    for (unsigned rank = 0; rank < 2; rank++) {
        FILE *f = begin_rank(rank, TT_RANK_DONE, 100 + rank);

        write_iterations(f, rank);
        write_chunk(f, TT_CHUNK_ITERATIONS, &dump, sizeof dump);
        write_excluded(f);
        write_chunk(f, TT_CHUNK_EPOCHS, &first, sizeof first);
        write_chunk(f, TT_CHUNK_JSON, summary, sizeof summary - 1);
        assert_int_equal(fclose(f), 0);
    }
    result = make();
    expect_metric(result, "updates", 2400.0 * 16 / 24);
    assert_string_equal(note_of(result, "runtime"),
                        "without an epoch that was to measure the baseline (4 s), in which it was "
                        "stopped");
    json_decref(result);
}

/* Runtimes of earlier versions have baselines inside. Epochs tell how long they were and what they
 * wrote; for what else they did, iterations are not enough. */
static void older_records_give_what_they_can(void **unused)
{
    json_t *result;

    (void)unused;
    for (unsigned rank = 0; rank < 2; rank++) {
        FILE *f = begin_rank(rank, TT_RANK_DONE, 100 + rank);

        write_iterations(f, rank);
        write_epochs(f, rank, TT_EPOCH_BASELINE_INSIDE);
        write_chunk(f, TT_CHUNK_JSON, summary, sizeof summary - 1);
        assert_int_equal(fclose(f), 0);
    }
    result = make();
    expect_metric(result, "runtime", 16 - 2 * 1.0); /* rank 0's were the shorter ones */
    expect_metric(result, "bytes_written", 4 * MIB);
    expect_metric(result, "application_rate", 4 * MIB / 14);
    expect_metric(result, "updates", 2400 * 0.5);
    expect_metric(result, "update_rate", 1200 / 14.0);
    expect_metric(result, "epoch_time", 2.1);
    expect_no_metric(result, "write_rate", "baseline epochs are inside it");
    expect_no_metric(result, "bytes_communicated", "baseline epochs are inside it");
    expect_no_metric(result, "copy_time", "baseline epochs are inside it");
    expect_no_metric(result, "cpu_time", "baseline epochs are inside it");
    expect_no_metric(result, "imbalance", "baseline epochs are inside it");
    json_decref(result);
}

/* Of reads in the background the main thread sees only the waiting. */
static void reads_take_their_own_time(void **unused)
{
    struct tt_iteration_record r = {.iteration = 17, .bytes_read = 1 << 20};
    json_t *result;

    (void)unused;
    r.phase_ns[TT_LOAD] = SECOND / 100;
    r.phase_ns[TT_IO_READ] = SECOND / 4;
    for (unsigned rank = 0; rank < 2; rank++) {
        FILE *f;

        f = open_records(directory, rank, "ab");
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
        assert_int_equal(fclose(f), 0);
    }
    result = make();
    expect_metric(result, "bytes_read", 2 * MIB);
    expect_metric(result, "read_rate", 2 * MIB / 0.25);
    expect_metric(result, "application_read_rate", 2 * MIB / 16);
    expect_no_metric(result, "hidden_read_fraction", "were not prefetched");
    json_decref(result);
    write_file("plan.json",
               "{\"format\": 2, \"workload\": \"particles\", \"ranks\": 2, \"parameters\":"
               " {\"ranks\": \"2\", \"overlap\": \"async\", \"particles.prefetch\": \"yes\"}}");
    result = make();
    expect_metric(result, "hidden_read_fraction", 1 - 0.01 / 0.25);
    json_decref(result);
}

/* In every dump, exchange and load another rank is the slow one. */
static void write_rotating_stragglers(const char *end, size_t n)
{
    for (unsigned rank = 0; rank < 2; rank++) {
        FILE *f = begin_rank(rank, TT_RANK_DONE, 100 + rank);

        for (uint64_t i = 1; i <= 4; i++) {
            struct tt_iteration_record r = {.iteration = i,
                                            .start_ns = ((int64_t)i - 1) * SECOND,
                                            .span_ns = SECOND,
                                            .bytes_written = 1 << 20,
                                            .bytes_read = 1 << 20,
                                            .bytes_communicated = 1 << 20};
            int64_t slow = i % 2 == rank ? 3 * SECOND / 10 : SECOND / 10;

            r.phase_ns[TT_IO_WRITE] = (uint64_t)slow / 2;
            r.phase_ns[TT_IO_SYNC] = (uint64_t)slow / 2;
            r.phase_ns[TT_IO_READ] = (uint64_t)slow;
            r.phase_ns[TT_HALO] = (uint64_t)(i <= 2 ? slow : 0);
            r.phase_ns[TT_COLLECTIVE] = (uint64_t)(i <= 2 ? 0 : slow);
            write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
        }
        write_chunk(f, TT_CHUNK_JSON, end, n);
        assert_int_equal(fclose(f), 0);
    }
}

/* Each took 0.3 s, although no rank took longer than 0.8 s for all four together. */
static void stragglers_that_rotate_are_counted(void **unused)
{
    json_t *result;

    (void)unused;
    write_rotating_stragglers(summary, sizeof summary - 1);
    result = make();
    expect_metric(result, "write_rate", 8 * MIB / 1.2);
    expect_metric(result, "read_rate", 8 * MIB / 1.2);
    expect_metric(result, "communication_rate", 8 * MIB / 1.2);
    json_decref(result);
}

/* Where ranks do not wait for each other (reader, traffic) nobody loses what another one takes
 * longer in the same iteration: the slowest rank's whole time is what everything took. */
static void ranks_apart_take_the_time_of_the_slowest(void **unused)
{
    char end[sizeof summary + 20];
    int n = snprintf(end, sizeof end, "{\"apart\": true, %s", summary + 1);
    json_t *result;

    (void)unused;
    write_rotating_stragglers(end, (size_t)n);
    result = make();
    expect_metric(result, "write_rate", 8 * MIB / 0.8);
    expect_metric(result, "read_rate", 8 * MIB / 0.8);
    expect_metric(result, "communication_rate", 8 * MIB / 0.8);
    json_decref(result);
}

/* Writing took 2 and 3 s, a check that does not count 7 s, and reading 1 s. */
static void accesses_have_their_own_time(void **unused)
{
    static const char tables[] =
        "{\"tables\": {\"accesses\": [[0, 0, 4194304, 4, 0, 2, 0, 2, 0, 0, 0, 1, 1],"
        " [1, 0, 4194304, 4, 0, 7, 0, 7, 0, 0, 0, 1, 1], [2, 0, 4194304, 4, 0, 1, 0, 1, 0, 0, 0, "
        "1, 1],"
        " [0, 1, 4194304, 4, 0, 2, 0, 3, 0, 0, 0, 1, 1]]}}";
    struct tt_iteration_record r = {.iteration = 17, .bytes_read = 1 << 21};
    json_t *result;

    (void)unused;
    write_file("plan.json", "{\"format\": 2, \"workload\": \"bulk\", \"ranks\": 2, \"parameters\":"
                            " {\"ranks\": \"2\", \"overlap\": \"none\"}}");
    for (unsigned rank = 0; rank < 2; rank++) {
        FILE *f;

        f = open_records(directory, rank, "ab");
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
        write_chunk(f, TT_CHUNK_JSON, tables, sizeof tables - 1);
        assert_int_equal(fclose(f), 0);
    }
    result = make();
    expect_metric(result, "application_rate", 8 * MIB / 5);
    expect_metric(result, "application_read_rate", 4 * MIB);
    json_decref(result);
}

static void details_are_there(void **unused)
{
    json_t *result = make(), *written = NULL, *compute, *open, *close, *write;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    compute = json_object_get(json_object_get(result, "phases"), "compute");
    assert_true(fabs(json_number_value(json_object_get(compute, "min")) - 4.8) < 1e-9);
    assert_true(fabs(json_number_value(json_object_get(compute, "median")) - 6.4) < 1e-9);
    assert_true(fabs(json_number_value(json_object_get(compute, "max")) - 8) < 1e-9);
    assert_true(json_number_value(json_object_get(compute, "outside")) == 0);
    open = json_object_get(json_object_get(result, "phases"), "open");
    close = json_object_get(json_object_get(result, "phases"), "close");
    assert_true(json_number_value(json_object_get(open, "outside")) == 1);
    assert_true(json_number_value(json_object_get(close, "outside")) == 0.5);
    write = json_object_get(json_object_get(result, "calls"), "write");
    assert_int_equal(json_integer_value(json_object_get(write, "count")), 4);
    assert_true(fabs(json_number_value(json_object_get(write, "p50")) - 16e-9) < 1e-15);
    assert_true(fabs(json_number_value(json_object_get(write, "max")) - 24e-9) < 1e-15);
    assert_null(json_object_get(json_object_get(result, "calls"), "read"));
    assert_true(json_is_null(json_object_get(result, "epochs"))); /* they are in the file */
    assert_int_equal(tt_directory_read_json(directory, "result.json", &written, &e), TT_OK);
    assert_int_equal(json_array_size(json_object_get(written, "epochs")), 5);
    json_object_del(written, "epochs");
    json_object_del(result, "epochs");
    assert_true(json_equal(written, result));
    json_decref(written);
    assert_int_equal(json_array_size(json_object_get(result, "ranks")), 2);
    json_decref(result);
}

static void doubts_are_warnings(void **unused)
{
    json_t *result = make();
    size_t n = json_array_size(json_object_get(result, "warnings"));

    (void)unused;
    assert_true(warns(result, "said by both ranks"));
    assert_true(warns(result, "imbalance: the slowest rank computed 1.25 times"));
    assert_true(warns(result, "beside it by 25 %"));
    assert_true(warns(result, "without effect: cb_nodes=4"));
    assert_true(warns(result, "oversubscribed: 2 ranks of 1 thread on 1 CPUs"));
    assert_true(warns(result, "few epochs"));
    assert_true(warns(result, "of 500 ms of I/O per dump, the copy takes 13.3 ms and the helper "
                              "400 ms; fewer ranks leave it a CPU"));
    assert_int_equal(n, 7); /* each once, and no others */
    json_decref(result);
}

/* 18 iterations that write, of 1 s, the last six of so many; then 18 that read, of 0.1 s. */
static void write_then_read(unsigned rank, int64_t last_ns)
{
    FILE *f = begin_rank(rank, TT_RANK_DONE, 100 + rank);
    struct tt_iteration_record before = {.start_ns = -SECOND, .span_ns = SECOND};
    int64_t at = 0;

    write_chunk(f, TT_CHUNK_ITERATIONS, &before, sizeof before);
    for (uint64_t i = 1; i <= 36; i++) {
        bool reads = i > 18;
        struct tt_iteration_record r = {.iteration = i,
                                        .start_ns = at,
                                        .span_ns = reads    ? SECOND / 10
                                                   : i > 12 ? last_ns
                                                            : SECOND,
                                        .bytes_written = reads ? 0 : 1 << 20,
                                        .bytes_read = reads ? 1 << 20 : 0};

        at += r.span_ns;
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
    }
    write_chunk(f, TT_CHUNK_JSON, summary, strlen(summary));
    fclose(f);
}

/* Reading is faster than writing, and that is no drift. */
static void drift_is_between_iterations_of_one_kind(void **unused)
{
    (void)unused;
    for (int64_t slow = 1; slow <= 2; slow++) {
        json_t *result;

        for (unsigned rank = 0; rank < 2; rank++)
            write_then_read(rank, slow * SECOND);
        result = make();
        assert_int_equal(warns(result, "drift: "), slow == 2);
        assert_int_equal(warns(result, "last third took 2.00 times as long"), slow == 2);
        json_decref(result);
    }
}

/* The system writes when it likes: what epochs take says nothing of that. */
static void nobody_sees_the_end_without_sync(void **unused)
{
    json_t *result;

    (void)unused;
    write_file("plan.json",
               "{\"format\": 2, \"workload\": \"stencil\", \"ranks\": 2, \"parameters\":"
               " {\"ranks\": \"2\", \"overlap\": \"async\", \"sync\": \"never\"}}");
    result = make();
    assert_true(warns(result, "sync=never"));
    expect_no_metric(result, "hidden_fraction", "nobody sees when the I/O of an epoch ends");
    expect_no_metric(result, "hidden_fraction_median", "nobody sees when");
    expect_no_metric(result, "speedup", "nobody sees when");
    expect_metric(result, "epoch_time", 2.1);
    json_decref(result);
}

/* Replaces a summary's text by one of the same meaning in other numbers. */
static void rewrite_ranks(const char *from, const char *to, void (*epochs)(FILE *))
{
    char other[sizeof summary + 128];
    const char *at = strstr(summary, from);

    assert_non_null(at);
    snprintf(other, sizeof other, "%.*s%s%s", (int)(at - summary), summary, to, at + strlen(from));
    for (unsigned rank = 0; rank < 2; rank++) {
        FILE *f = begin_rank(rank, TT_RANK_DONE, 100 + rank);

        write_iterations(f, rank);
        write_excluded(f);
        if (epochs)
            epochs(f);
        else
            write_epochs(f, rank, TT_EPOCH_BASELINE);
        write_chunk(f, TT_CHUNK_JSON, other, strlen(other));
        assert_int_equal(fclose(f), 0);
    }
}

/* Seven overlapped epochs, of which one stalls, and six baselines. */
static void write_stall(FILE *f)
{
    for (unsigned i = 0; i < 13; i++) {
        bool baseline = i % 2 == 1;
        struct tt_epoch_record r = {.epoch = i + 1,
                                    .kind = baseline ? TT_EPOCH_BASELINE : 0,
                                    .iterations = 4,
                                    .span_ns = (baseline ? 4
                                                : i == 6 ? 9
                                                         : 2) *
                                               SECOND,
                                    .compute_ns = SECOND,
                                    .io_ns = 2 * SECOND,
                                    .visible_ns = baseline ? 5 * SECOND / 2 : SECOND,
                                    .bytes = 1 << 20};

        write_chunk(f, TT_CHUNK_EPOCHS, &r, sizeof r);
    }
}

/* m B s m B m, of which only those named m are of the job: 2 s and 4 s and 3 s. */
static void write_settling(FILE *f)
{
    static const struct {
        uint32_t kind;
        int64_t span; /* in s */
    } epochs[] = {{TT_EPOCH_OVERLAPPED, 2}, {TT_EPOCH_BASELINE, 5}, {TT_EPOCH_SETTLING, 1},
                  {TT_EPOCH_OVERLAPPED, 4}, {TT_EPOCH_BASELINE, 5}, {TT_EPOCH_OVERLAPPED, 3}};

    for (unsigned i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct tt_epoch_record r = {.epoch = i + 1,
                                    .kind = epochs[i].kind,
                                    .iterations = 4,
                                    .span_ns = epochs[i].span * SECOND,
                                    .compute_ns = SECOND,
                                    .io_ns = 4 * SECOND,
                                    .visible_ns = 4 * SECOND,
                                    .bytes = 1 << 20};

        write_chunk(f, TT_CHUNK_EPOCHS, &r, sizeof r);
    }
}

static void settling_epochs_do_not_count(void **unused)
{
    json_t *result;

    (void)unused;
    rewrite_ranks("\"helper\"", "\"helper\"", write_settling);
    result = make();
    expect_no_metric(result, "hidden_staging", "does not report it"); /* there is no device */
    expect_metric(result, "epoch_time", 3);
    expect_metric(result, "hidden_fraction", 0.5);
    expect_metric(result, "updates", 2400 * 0.5); /* 12 of 24 iterations */
    assert_string_equal(note_of(result, "runtime"),
                        "without 3 of 6 epochs (4 s): those that measured the baseline, and the "
                        "next ones");
    json_decref(result);
}

/* The stall is a cost of the I/O, which a median does not know. */
static void stalls_count(void **unused)
{
    const json_t *low, *high;
    json_t *result;

    (void)unused;
    rewrite_ranks("\"helper\"", "\"helper\"", write_stall);
    result = make();
    expect_metric(result, "epoch_time", 3);
    expect_metric(result, "epoch_time_median", 2);
    expect_metric(result, "compute_only", 1.5); /* the span without visible I/O */
    expect_metric(result, "hidden_fraction", 0.25);
    expect_metric(result, "hidden_fraction_median", 0.75);
    expect_metric(result, "speedup", 3.5 / 3);
    low = json_object_get(json_object_get(result, "metrics"), "hidden_fraction_low");
    high = json_object_get(json_object_get(result, "metrics"), "hidden_fraction_high");
    assert_true(json_number_value(json_object_get(low, "value")) < 0);
    /* no stall drawn, and a little further, since six epochs are few */
    assert_true(json_number_value(json_object_get(high, "value")) > 0.75);
    assert_true(json_number_value(json_object_get(high, "value")) < 1.25);
    json_decref(result);
}

/* From a device: 1.5 s computation, 1 s staging, 1 s storage. */
static int64_t staged_span_ns, staged_copy_ns;
static void write_staged(FILE *f)
{
    for (unsigned i = 0; i < 6; i++) {
        bool baseline = i % 2 == 1;
        struct tt_epoch_record r = {.epoch = i + 1,
                                    .kind = baseline ? TT_EPOCH_BASELINE : 0,
                                    .iterations = 4,
                                    .span_ns = baseline ? 4 * SECOND : staged_span_ns,
                                    .io_ns = SECOND,
                                    .files_ns = SECOND,
                                    .visible_ns = baseline ? 5 * SECOND / 2 : 0,
                                    .bytes = 1 << 20,
                                    .staging_ns = SECOND,
                                    .copy_ns = baseline ? SECOND : staged_copy_ns};

        write_chunk(f, TT_CHUNK_EPOCHS, &r, sizeof r);
    }
}

/* What is visible is the caller's copy, then storage, then the rest of staging. */
static void staging_and_storage_are_told_apart(void **unused)
{
    static const struct {
        double span, copy, staging, storage;
    } cases[] = {{1.5, 0, 1, 1}, {2, 0, 1, 0.5},     {2, 0.25, 0.75, 0.75}, {3, 0.25, 0.5, 0},
                 {3.5, 1, 0, 0}, {4, 0.25, 0, -0.5}, {1.75, 0.5, 0.5, 1.25}};

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *result;

        staged_span_ns = (int64_t)(cases[i].span * (double)SECOND);
        staged_copy_ns = (int64_t)(cases[i].copy * (double)SECOND);
        rewrite_ranks("\"results\": {",
                      "\"results\": {\"staged\": {\"value\": 9, \"kind\": \"sum\"}, ",
                      write_staged);
        result = make();
        expect_metric(result, "hidden_staging", cases[i].staging);
        expect_metric(result, "hidden_storage", cases[i].storage);
        expect_metric(result, "hidden_fraction", (cases[i].staging + cases[i].storage) / 2);
        json_decref(result);
    }
}

/* Two dumps in flight, of 2 s each, beside 1 s of computation: the first epochs after a baseline
 * leave their waiting to the last before the next one. */
static void write_shared_waits(FILE *f)
{
    static const struct {
        int64_t span, compute, io; /* in s */
    } epochs[] = {{2, 1, 1}, {3, 1, 2}, {1, 1, 1}, {1, 1, 2}, {4, 1, 9}, {3, 1, 2}, {1, 1, 1}};

    for (unsigned i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct tt_epoch_record r = {.epoch = i + 1,
                                    .kind = i % 4 == 1 ? TT_EPOCH_BASELINE : 0,
                                    .iterations = 4,
                                    .span_ns = epochs[i].span * SECOND,
                                    .compute_ns = epochs[i].compute * SECOND,
                                    .io_ns = epochs[i].io * SECOND,
                                    .visible_ns = i % 4 == 1 ? 2 * SECOND : 0,
                                    .bytes = 1 << 20};

        write_chunk(f, TT_CHUNK_EPOCHS, &r, sizeof r);
    }
}

static void waits_are_shared_by_dumps_in_flight(void **unused)
{
    json_t *result;

    (void)unused;
    write_file("plan.json",
               "{\"format\": 2, \"workload\": \"stencil\", \"ranks\": 2, \"parameters\":"
               " {\"ranks\": \"2\", \"overlap\": \"async\", \"inflight\": \"2\"}}");
    rewrite_ranks("\"helper\"", "\"native\"", write_shared_waits);
    result = make();
    expect_metric(result, "epoch_time", 2);
    expect_metric(result, "hidden_fraction", 0.5);
    /* Nobody saw how long nonblocking writes took, except in the two baseline epochs. */
    expect_metric(result, "write_rate", 4 * MIB / 4);
    json_decref(result);
}

/* Ranks that are more than the CPUs wait for each other. */
static void too_many_ranks_are_the_reason(void **unused)
{
    json_t *result;

    (void)unused;
    rewrite_ranks("\"cpu_waiting_seconds\": 0.16", "\"cpu_waiting_seconds\": 8.0", NULL);
    result = make();
    assert_true(warns(result, "oversubscribed: 2 ranks of 1 thread on 1 CPUs"));
    assert_false(warns(result, "the machine was busy"));
    json_decref(result);
}

static void a_busy_machine_is_the_reason(void **unused)
{
    const char *from = strstr(summary, "\"cpu_waiting_seconds\""), *cpus = strstr(from, "\"cpus\"");
    char to[sizeof summary];
    json_t *result;

    (void)unused;
    snprintf(to, sizeof to, "\"cpu_waiting_seconds\": 8.0%.*s\"cpus\": 2%s",
             (int)(cpus - strchr(from, ',')), strchr(from, ','), cpus + strlen("\"cpus\": 1"));
    rewrite_ranks(from, to, NULL);
    result = make();
    assert_false(warns(result, "oversubscribed"));
    assert_true(
        warns(result, "other processes used 0.2 CPUs, and a rank waited for a CPU in 50 %"));
    assert_false(warns(result, "imbalance"));
    assert_false(warns(result, "beside it by"));
    assert_false(warns(result, "no CPU is free"));
    json_decref(result);
}

/* With a CPU for the helper, its time does not come on top of the computation. */
static void only_a_full_node_is_called_so(void **unused)
{
    static const char *const cpus[] = {"\"cpus\": 2", "\"cpus\": 3"};

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        json_t *result;

        rewrite_ranks("\"cpus\": 1", cpus[i], NULL);
        result = make();
        assert_int_equal(warns(result, "no CPU is free for I/O"), i == 0);
        json_decref(result);
    }
}

/* The slowest rank's seconds an iteration, against 12 passes of 4 ms alone. */
static void computation_is_compared_with_its_calibration(void **unused)
{
    static const struct {
        const char *seconds, *words;
    } cases[] = {
        {"4.9", NULL},
        {"6.5", "computation took 65.0 ms an iteration, and 48.0 ms when it was calibrated alone: "
                "the machine was faster or freer then"},
        {"3.5", "computation took 35.0 ms an iteration, and 48.0 ms when it was calibrated alone: "
                "the machine was slower or busier then"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char seen[120];
        json_t *result;

        assert_int_equal(remove_directory(NULL), 0);
        assert_int_equal(make_directory(NULL), 0);
        write_file("plan.json",
                   "{\"format\": 2, \"workload\": \"stencil\", \"ranks\": 2, \"hash\": \"00ff\","
                   " \"parameters\": {\"stencil.compute\": \"0.05s=12x0.004s\"}}");
        snprintf(seen, sizeof seen, "\"passes\": {\"seconds\": %s, \"iterations\": 100}, \"files\"",
                 cases[i].seconds);
        rewrite_ranks("\"files\"", seen, NULL);
        result = make();
        assert_int_equal(warns(result, "when it was calibrated"), cases[i].words != NULL);
        assert_true(!cases[i].words || warns(result, cases[i].words));
        json_decref(result);
    }
}

static void what_is_not_a_metric_is_named(void **unused)
{
    json_t *result;

    (void)unused;
    rewrite_ranks("\"residual\"", "\"residuum\"", NULL);
    result = make();
    assert_true(warns(result, "the workload reported 'residuum', which is not a metric"));
    json_decref(result);
}

static void without_overlap_nothing_is_hidden(void **unused)
{
    json_t *result;

    (void)unused;
    write_file("plan.json",
               "{\"format\": 2, \"workload\": \"stencil\", \"ranks\": 2, \"parameters\":"
               " {\"ranks\": \"2\", \"overlap\": \"none\", \"sync\": \"dump\"}}");
    result = make();
    expect_metric(result, "hidden_fraction", 0);
    expect_metric(result, "inflation", 1);
    assert_false(warns(result, "few epochs"));
    json_decref(result);
}

struct sixth {
    size_t seen;
    int64_t row[TT_SAMPLE_COLUMNS];
};

static void sixth_row(void *context, const struct tt_iteration_record *list, size_t n)
{
    struct sixth *sixth = context;

    for (size_t i = 0; i < n; i++)
        if (++sixth->seen == 6)
            tt_sample_row(&list[i], sixth->row);
}

static void samples_are_the_records(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_samples samples;
    struct sixth sixth = {0};

    (void)unused;
    assert_int_equal(tt_samples_open(directory, &samples, &e), TT_OK);
    assert_int_equal(samples.n, 2);
    assert_int_equal(samples.ranks[1].header.rank, 1);
    assert_int_equal(tt_samples_scan(&samples, 1, sixth_row, &sixth, &e), TT_OK);
    assert_int_equal(sixth.row[0], 4);
    assert_int_equal(sixth.row[3], SECOND / 2);
    assert_string_equal(tt_sample_columns[3], "compute_ns");
    tt_samples_close(&samples);
}

/* ---- runs that did not end well ---- */

static void remove_file(const char *name)
{
    char path[96];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(unlink(path), 0);
}

static void dead_rank_is_named(void **unused)
{
    json_t *result;
    FILE *f;

    (void)unused;
    remove_file("outcome.json");
    f = begin_rank(1, TT_RANK_RUNNING, 4711);
    write_iterations(f, 1);
    fclose(f);
    result = make();
    assert_string_equal(text(result, "status"), "failed");
    assert_true(json_is_false(json_object_get(result, "valid")));
    assert_non_null(strstr(text(result, "error"), "rank 1 (pid 4711 on node1) died"));
    assert_non_null(strstr(text(result, "error"), "iteration 16"));
    expect_metric(result, "bytes_written", 8 * MIB);
    expect_no_metric(result, "runtime", "not every rank told");
    expect_no_metric(result, "application_rate", "not every rank told");
    json_decref(result);
}

static void said_outcome_is_believed(void **unused)
{
    json_t *result;

    (void)unused;
    write_file("outcome.json", "{\"status\": \"stopped\", \"error\": \"--max-time was reached\"}");
    result = make();
    assert_string_equal(text(result, "status"), "stopped");
    assert_string_equal(text(result, "error"), "--max-time was reached");
    assert_true(json_is_false(json_object_get(result, "valid")));
    json_decref(result);
}

static void done_is_not_believed_without_all_ranks(void **unused)
{
    json_t *result;

    (void)unused;
    remove_file("records/00001.ttr");
    result = make();
    assert_string_equal(text(result, "status"), "failed");
    assert_non_null(strstr(text(result, "error"), "rank 1 left no records"));
    json_decref(result);
}

static void nothing_run_is_not_zero(void **unused)
{
    json_t *result;

    (void)unused;
    remove_file("outcome.json");
    remove_file("records/00000.ttr");
    remove_file("records/00001.ttr");
    write_file("stderr", "noise of a launcher\ntutti: no such directory\nmore noise\n");
    result = make();
    assert_string_equal(text(result, "status"), "failed");
    assert_string_equal(text(result, "error"), "no rank has started: no such directory");
    for (int i = 0; i < TT_NMETRICS; i++)
        expect_no_metric(result, tt_metrics[i].name, "");
    json_decref(result);
    write_file("stderr", "-----------\n\nNo component was found.\n-----------\nmore\n");
    result = make();
    assert_string_equal(text(result, "error"), "no rank has started: No component was found.");
    json_decref(result);
}

static void damage_is_reported(void **unused)
{
    json_t *result;

    (void)unused;
    write_file("records/00001.ttr", "this is not a file of records, and it is long enough to look "
                                    "like one: but its first bytes say that it is something else "
                                    "entirely, and so nobody will believe it.");
    result = make();
    assert_string_equal(text(result, "status"), "failed");
    assert_true(warns(result, "00001.ttr' holds no records"));
    json_decref(result);
}

static void garbage_is_refused(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *result = NULL;

    (void)unused;
    write_file("plan.json", "{\"workload\": ");
    assert_int_equal(tt_result_make(directory, &result, &e), TT_CORRUPT);
    assert_null(result);
    tt_error_clear(&e);
    assert_int_equal(tt_result_make("/nonexistent", &result, &e), TT_FAILED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        TEST(metrics_follow_their_definitions),
        TEST(what_baselines_took_is_said),
        TEST(iterations_of_a_baseline_that_was_stopped_do_not_count),
        TEST(older_records_give_what_they_can),
        TEST(reads_take_their_own_time),
        TEST(stragglers_that_rotate_are_counted),
        TEST(ranks_apart_take_the_time_of_the_slowest),
        TEST(accesses_have_their_own_time),
        TEST(details_are_there),
        TEST(doubts_are_warnings),
        TEST(drift_is_between_iterations_of_one_kind),
        TEST(nobody_sees_the_end_without_sync),
        TEST(settling_epochs_do_not_count),
        TEST(stalls_count),
        TEST(staging_and_storage_are_told_apart),
        TEST(waits_are_shared_by_dumps_in_flight),
        TEST(a_busy_machine_is_the_reason),
        TEST(too_many_ranks_are_the_reason),
        TEST(only_a_full_node_is_called_so),
        TEST(computation_is_compared_with_its_calibration),
        TEST(what_is_not_a_metric_is_named),
        TEST(without_overlap_nothing_is_hidden),
        TEST(samples_are_the_records),
        TEST(dead_rank_is_named),
        TEST(said_outcome_is_believed),
        TEST(done_is_not_believed_without_all_ranks),
        TEST(nothing_run_is_not_zero),
        TEST(damage_is_reported),
        TEST(garbage_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
