/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run did in a window of time: of an iteration that lies partly in it, that part. */
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

#include "analysis/run_data.h"
#include "record/records.h"
#include "record/reduce.h"
#include "plan/directory.h"
#include "scratch.h"
#include "write_records.h"

#define SECOND INT64_C(1000000000)
/* The wall clock when the records begin; the loop begins two seconds later. */
#define WALL (INT64_C(1700000000) * SECOND)
#define START (WALL + 2 * SECOND)
#define RANKS 2

static char directory[] = "/tmp/tutti-window-XXXXXX";

/* ---- a run of ten iterations of one second ---- */

static FILE *open_rank(unsigned rank)
{
    return write_header(directory, (struct tt_records_header){.rank = rank,
                                                              .size = RANKS,
                                                              .state = TT_RANK_DONE,
                                                              .start_wall_ns = WALL,
                                                              .host = "node1"});
}

/* Rank 1 takes twice as long to compute as rank 0; iteration 5 of both waits for a second. */
static void write_rank(unsigned rank)
{
    static const char summary[] =
        "{\"runtime_ns\": 10000000000, \"results\": {}, \"warnings\": []}";
    struct tt_iteration_record before = {.start_ns = -2 * SECOND, .span_ns = 2 * SECOND},
                               between = {.start_ns = 4 * SECOND},
                               after = {.start_ns = 10 * SECOND, .span_ns = SECOND};
    FILE *f = open_rank(rank);

    before.phase_ns[TT_OPEN] = SECOND;
    between.phase_ns[TT_SYNC] = (uint64_t)SECOND / 4;
    after.phase_ns[TT_CLOSE] = SECOND;
    write_chunk(f, TT_CHUNK_ITERATIONS, &before, sizeof before);
    for (uint64_t i = 1; i <= 10; i++) {
        struct tt_iteration_record r = {.iteration = i,
                                        .start_ns = ((int64_t)i - 1) * SECOND,
                                        .span_ns = SECOND,
                                        .bytes_written = 1000,
                                        .bytes_read = i == 10 ? 500 : 0,
                                        .bytes_communicated = 10};

        r.phase_ns[TT_COMPUTE] = (uint64_t)(rank + 1) * SECOND / 10 * (i == 9 ? 4 : 1);
        r.phase_ns[TT_WAIT] = i == 5 ? (uint64_t)SECOND / 2 : 0;
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
        if (i == 4 && rank == 1) /* a rank to which nothing happened has no such record */
            write_chunk(f, TT_CHUNK_ITERATIONS, &between, sizeof between);
    }
    write_chunk(f, TT_CHUNK_ITERATIONS, &after, sizeof after);
    write_chunk(f, TT_CHUNK_JSON, summary, sizeof summary - 1);
    fclose(f);
}

static int make_run(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char path[96];

    (void)unused;
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/records", directory);
    mkdir(path, 0777);
    tt_directory_write_text(directory, "plan.json",
                            "{\"format\": 2, \"id\": \"20260101T000000Z-00000001\", \"workload\": "
                            "\"stencil\", \"ranks\": 2, "
                            "\"hash\": \"1\", \"parameters\": {}}",
                            &e);
    for (unsigned rank = 0; rank < RANKS; rank++)
        write_rank(rank);
    return 0;
}

static int remove_run(void **unused)
{
    (void)unused;
    return nftw(directory, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- tests ---- */

static double number(const json_t *o, const char *name)
{
    assert_true(json_is_number(json_object_get(o, name)));
    return json_number_value(json_object_get(o, name));
}

#define assert_near(a, b) assert_true((a) > (b)-1e-6 && (a) < (b) + 1e-6)

static void load(struct tt_run_data *run)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_run_data_load(run, directory, &e), TT_OK);
}

/* Seconds after the start of the loop. */
static void work_in(double from, double to, double iterations, double written, double read)
{
    const struct tt_window w = {START + (int64_t)(from * 1e9), START + (int64_t)(to * 1e9)};
    struct tt_run_data run;
    json_t *o;

    load(&run);
    o = tt_window_work(&run, &w);
    tt_run_data_free(&run);
    assert_near(number(o, "iterations"), iterations);
    assert_near(number(o, "bytes_written"), written);
    assert_near(number(o, "bytes_read"), read);
    assert_near(number(o, "bytes_communicated"), written / 100);
    json_decref(o);
}

static void iterations_count_by_their_part(void **unused)
{
    (void)unused;
    work_in(0, 10, 10, 20000, 1000);
    work_in(-100, 100, 10, 20000, 1000);
    work_in(2, 5, 3, 6000, 0);
    work_in(0.5, 1, 0.5, 1000, 0);
    work_in(2.25, 4.5, 2.25, 4500, 0);
    work_in(9.75, 30, 0.25, 500, 250);
    work_in(3.25, 3.5, 0.25, 500, 0);
    /* Outside, nothing, and the wrong way round. */
    work_in(10, 20, 0, 0, 0);
    work_in(-5, 0, 0, 0, 0);
    work_in(4, 4, 0, 0, 0);
    work_in(5, 3, 0, 0, 0);
}

static void window_of_the_run(void **unused)
{
    struct tt_run_data run;
    struct tt_window w;

    (void)unused;
    load(&run);
    assert_true(tt_run_data_window(&run, &w));
    tt_run_data_free(&run);
    assert_true(w.from_ns == START);
    assert_true(w.to_ns == START + 10 * SECOND);
}

/* Rank 1 is on a node whose clock is an hour ahead, which the ranks have found out: its work is
 * done when rank 0's is. */
static void clocks_of_nodes_are_corrected(void **unused)
{
    const struct tt_window first = {START, START + 5 * SECOND};
    struct tt_window w;
    struct tt_run_data run;
    json_t *o;

    (void)unused;
    load(&run);
    run.ranks[1].header.start_wall_ns += 3600 * SECOND;
    json_object_set_new(run.ranks[1].summary, "clock",
                        json_pack("{s:I, s:I}", "offset_ns", (json_int_t)(3600 * SECOND),
                                  "error_ns", (json_int_t)1000));
    assert_true(tt_rank_begin(&run.ranks[1]) == WALL);
    assert_true(tt_run_data_window(&run, &w));
    assert_true(w.to_ns == START + 10 * SECOND);
    o = tt_window_work(&run, &first);
    assert_near(number(o, "bytes_written"), 10000);
    json_decref(o);
    /* Records may lie. */
    json_object_set_new(json_object_get(run.ranks[1].summary, "clock"), "offset_ns",
                        json_integer(INT64_MIN));
    assert_true(tt_rank_begin(&run.ranks[1]) == WALL + 3600 * SECOND);
    tt_run_data_free(&run);
}

static void phases_of_the_slowest_rank(void **unused)
{
    struct tt_run_data run;
    json_t *o, *phase;

    (void)unused;
    load(&run);
    o = tt_phase_times(&run);
    tt_run_data_free(&run);
    phase = json_object_get(o, "compute");
    assert_near(number(phase, "median"), 0.2);
    assert_near(number(phase, "total"), 9 * 0.2 + 0.8);
    assert_true(number(phase, "p99") > 0.7);
    phase = json_object_get(o, "wait");
    assert_int_equal(number(phase, "iterations"), 1);
    assert_near(number(phase, "median"), 0.5);
    /* In the measured time, but in no iteration: in the total only. */
    phase = json_object_get(o, "sync");
    assert_near(number(phase, "total"), 0.25);
    assert_int_equal(number(phase, "iterations"), 0);
    /* Before and after it nothing counts. */
    assert_null(json_object_get(o, "open"));
    assert_null(json_object_get(o, "close"));
    assert_null(json_object_get(o, "halo"));
    json_decref(o);
}

/* Iteration 1: rank 1 syncs for 0.7 s, rank 0 has long synced and waits in the agreement, which its
 * call holds. 2: rank 0 computes for 0.7 s, rank 1 waits for its halo. */
static void waiting_belongs_to_the_last_to_arrive(void **unused)
{
    static const struct tt_iteration_record ranks[RANKS][2] = {
        {{.iteration = 1,
          .phase_ns = {[TT_COMPUTE] = SECOND / 10,
                       [TT_HALO] = SECOND / 100,
                       [TT_SUBMIT] = 8 * SECOND / 10,
                       [TT_IO_WRITE] = SECOND / 10,
                       [TT_SYNC] = SECOND / 10,
                       [TT_IO_SYNC] = SECOND / 10}},
         {.iteration = 2, .phase_ns = {[TT_COMPUTE] = 7 * SECOND / 10, [TT_HALO] = SECOND / 50}}},
        {{.iteration = 1,
          .phase_ns = {[TT_COMPUTE] = SECOND / 10,
                       [TT_HALO] = SECOND / 50,
                       [TT_SUBMIT] = SECOND / 10,
                       [TT_IO_WRITE] = SECOND / 10,
                       [TT_SYNC] = 7 * SECOND / 10,
                       [TT_IO_SYNC] = 7 * SECOND / 10}},
         {.iteration = 2, .phase_ns = {[TT_COMPUTE] = SECOND / 10, [TT_HALO] = 6 * SECOND / 10}}}};
    struct tt_rank_records records[RANKS] = {{.header = {.rank = 0}}, {.header = {.rank = 1}}};
    struct tt_run_data run = {.nranks = RANKS, .ranks = records};
    json_t *o;

    (void)unused;
    for (size_t r = 0; r < RANKS; r++) {
        records[r].niterations = 2;
        records[r].iterations = (struct tt_iteration_record *)ranks[r];
    }
    o = tt_phase_times(&run);
    assert_near(number(json_object_get(o, "sync"), "total"), 0.7);
    assert_near(number(json_object_get(o, "submit"), "total"), 0.1);
    assert_near(number(json_object_get(o, "compute"), "total"), 0.1 + 0.7);
    assert_near(number(json_object_get(o, "halo"), "total"), 0.01 + 0.02);
    assert_near(number(json_object_get(o, "io_write"), "total"), 0.1);
    json_decref(o);
}

/* Iteration 1: rank 1 computes longest, and rank 0 waits for it in the close that ends the dump. 2:
 * rank 1 is the last again, and both wait in the open of the next file, which only takes 0.05 s
 * itself. How long ranks are in either tells nothing about who came last, nor what that one did. */
static void open_and_close_are_no_work_of_the_last(void **unused)
{
    static const struct tt_iteration_record ranks[RANKS][2] = {
        {{.iteration = 1, .phase_ns = {[TT_COMPUTE] = SECOND / 10, [TT_CLOSE] = 8 * SECOND / 10}},
         {.iteration = 2, .phase_ns = {[TT_COMPUTE] = SECOND / 10, [TT_OPEN] = SECOND / 20}}},
        {{.iteration = 1,
          .phase_ns = {[TT_COMPUTE] = 6 * SECOND / 10, [TT_CLOSE] = 2 * SECOND / 10}},
         {.iteration = 2, .phase_ns = {[TT_COMPUTE] = SECOND / 5, [TT_OPEN] = SECOND / 2}}}};
    struct tt_rank_records records[RANKS] = {{.header = {.rank = 0}}, {.header = {.rank = 1}}};
    struct tt_run_data run = {.nranks = RANKS, .ranks = records};
    struct tt_reduced reduced[2];

    (void)unused;
    for (size_t r = 0; r < RANKS; r++) {
        records[r].niterations = 2;
        records[r].iterations = (struct tt_iteration_record *)ranks[r];
    }
    for (int whole = 1; whole >= 0; whole--) { /* then as nodes reduce them */
        json_t *o = tt_phase_times(&run), *last = tt_last_to_arrive(&run);

        assert_near(number(json_object_get(o, "compute"), "total"), 0.6 + 0.2);
        assert_near(number(json_object_get(o, "close"), "total"), 0.2);
        assert_near(number(json_object_get(o, "open"), "total"), 0.05);
        assert_int_equal(number(last, "rank"), 1);
        assert_int_equal(number(last, "iterations"), 2);
        json_decref(o);
        json_decref(last);
        for (size_t i = 0; i < 2; i++) {
            tt_reduced_begin(&reduced[i], &ranks[0][i], 0);
            tt_reduced_add(&reduced[i], &ranks[1][i], 1);
            records[i].niterations = 0;
        }
        run.reduced = reduced;
        run.nreduced = 2;
    }
}

static void records_lie(void **unused)
{
    const struct tt_window w = {START, START + SECOND};
    const int64_t extremes[] = {INT64_MIN, INT64_MAX, -1, 0};
    struct tt_window window;
    struct tt_run_data run;
    json_t *o;

    (void)unused;
    for (int i = 0; i < 16; i++) {
        struct tt_iteration_record r = {
            .iteration = 1, .start_ns = extremes[i / 4], .span_ns = extremes[i % 4]};
        static const char summary[] = "{\"runtime_ns\": 9223372036854775807}";
        FILE *f = open_rank(0);

        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
        write_chunk(f, TT_CHUNK_ITERATIONS, &r, sizeof r);
        write_chunk(f, TT_CHUNK_JSON, summary, sizeof summary - 1);
        fclose(f);
        load(&run);
        o = tt_window_work(&run, &w);
        assert_non_null(o);
        json_decref(o);
        assert_true(tt_run_data_window(&run, &window));
        o = tt_phase_times(&run);
        assert_non_null(o);
        json_decref(o);
        tt_run_data_free(&run);
    }
}

static void no_records(void **unused)
{
    const struct tt_window w = {START, START + SECOND};
    struct tt_window window;
    struct tt_run_data run;
    json_t *o;
    char path[96];

    (void)unused;
    for (unsigned rank = 0; rank < RANKS; rank++) {
        snprintf(path, sizeof path, "%s/records/%05u.ttr", directory, rank);
        unlink(path);
    }
    load(&run);
    assert_false(tt_run_data_window(&run, &window));
    o = tt_window_work(&run, &w);
    assert_near(number(o, "iterations"), 0);
    json_decref(o);
    tt_run_data_free(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(iterations_count_by_their_part),
        TEST(window_of_the_run),
        TEST(phases_of_the_slowest_rank),
        TEST(waiting_belongs_to_the_last_to_arrive),
        TEST(open_and_close_are_no_work_of_the_last),
        TEST(clocks_of_nodes_are_corrected),
        TEST(records_lie),
        TEST(no_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
