/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records written by the main thread and flushed by another: every one is there once, in order,
 * also when the rank is told to end in the middle. Also built with the thread sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/pool.h"
#include "record/recorder.h"

enum { RECORDS = 50000 };

static char directory[] = "/tmp/tutti-recorder-XXXXXX";

static int64_t flush(void *recorder, bool last)
{
    tt_recorder_flush(recorder, last);
    return tt_now_ns() + 100000;
}

static struct tt_recorder *begin(struct tt_ticker **ticker)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r;
    char records[64];

    snprintf(records, sizeof records, "%s/records", directory);
    assert_int_equal(mkdir(records, 0700), 0);
    assert_int_equal(tt_recorder_open(directory, 0, 1, &r, &e), TT_OK);
    assert_int_equal(tt_ticker_start(ticker, flush, r, &e), TT_OK);
    for (uint64_t i = 1; i <= RECORDS; i++) {
        tt_recorder_iteration(r, &(struct tt_iteration_record){.iteration = i});
        if (i % 10 == 0)
            tt_recorder_epoch(r, &(struct tt_epoch_record){.epoch = i / 10});
    }
    return r;
}

/* Reads everything back, and removes it. */
static void expect_all(enum tt_rank_state state, size_t more)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_rank_records all;
    char path[96];

    snprintf(path, sizeof path, "%s/records/00000.ttr", directory);
    assert_int_equal(tt_records_load(path, &all, &e), TT_OK);
    assert_int_equal(all.header.state, state);
    assert_int_equal(all.niterations, RECORDS + more);
    assert_int_equal(all.nepochs, RECORDS / 10);
    for (size_t i = 0; i < all.niterations; i++)
        assert_int_equal(all.iterations[i].iteration, i + 1);
    for (size_t i = 0; i < all.nepochs; i++)
        assert_int_equal(all.epochs[i].epoch, i + 1);
    tt_records_unload(&all);
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void records_are_there_once_and_in_order(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ticker *ticker;
    struct tt_recorder *r = begin(&ticker);

    (void)unused;
    tt_ticker_stop(ticker);
    assert_int_equal(tt_recorder_close(r, TT_RANK_DONE, &e), TT_OK);
    expect_all(TT_RANK_DONE, 0);
}

static void a_rank_that_is_told_to_end_loses_none(void **unused)
{
    struct tt_iteration_record last = {.iteration = RECORDS + 1};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ticker *ticker;
    struct tt_recorder *r = begin(&ticker);

    (void)unused;
    tt_recorder_terminate(r, &last);
    tt_ticker_stop(ticker);
    expect_all(TT_RANK_TERMINATED, 1);
    assert_int_equal(tt_recorder_close(r, TT_RANK_TERMINATED, &e), TT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_there_once_and_in_order),
        cmocka_unit_test(a_rank_that_is_told_to_end_loses_none),
    };
    int failed;

    if (!mkdtemp(directory))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
