/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The throttle's arithmetic on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/layers/throttle/rate.h"
#include "io/layers/throttle/burst_buffer.h"

#define SECOND INT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static void writes_take_their_bytes(void **state)
{
    struct tt_throttle t = {.rate = (double)(50 * MIB)};
    int64_t now = 7 * SECOND;

    (void)state;
    for (int i = 1; i <= 10; i++) {
        now = tt_throttle_write(&t, now, 25 * MIB);
        assert_int_equal(now, 7 * SECOND + i * (SECOND / 2));
    }
    assert_int_equal(tt_throttle_sync(&t, now), now);
}

static void idle_time_is_not_saved_up(void **state)
{
    struct tt_throttle t = {.rate = (double)MIB};

    (void)state;
    assert_int_equal(tt_throttle_write(&t, 0, MIB), SECOND);
    assert_int_equal(tt_throttle_write(&t, 100 * SECOND, MIB), 101 * SECOND);
}

static void buffer_takes_writes_until_full(void **state)
{
    struct tt_throttle t = {.rate = (double)(10 * MIB), .buffer = (double)(20 * MIB)};

    (void)state;
    assert_int_equal(tt_throttle_write(&t, 0, 10 * MIB), 0);
    assert_int_equal(tt_throttle_write(&t, 0, 10 * MIB), 0);
    /* full: the third can only be taken once a third of what is waiting has drained */
    assert_int_equal(tt_throttle_write(&t, 0, 10 * MIB), SECOND);
    assert_int_equal(tt_throttle_sync(&t, SECOND), 3 * SECOND);
    /* half drained: room for 10 MiB */
    assert_int_equal(tt_throttle_write(&t, 2 * SECOND, 10 * MIB), 2 * SECOND);
    assert_int_equal(tt_throttle_sync(&t, 2 * SECOND), 4 * SECOND);
    assert_int_equal(tt_throttle_sync(&t, 9 * SECOND), 9 * SECOND);
}

static void for_ever_is_an_instant(void **state)
{
    struct tt_throttle t = {.rate = 1e-3, .ops = 1e-3};

    (void)state;
    assert_true(tt_throttle_write(&t, SECOND, UINT64_MAX) > 1000000 * SECOND);
    assert_true(tt_throttle_read(&t, SECOND, UINT64_MAX) > 1000000 * SECOND);
    assert_true(tt_throttle_sync(&t, SECOND) > 1000000 * SECOND);
}

static void write_larger_than_buffer(void **state)
{
    struct tt_throttle t = {.rate = (double)(10 * MIB), .buffer = (double)(10 * MIB)};

    (void)state;
    assert_int_equal(tt_throttle_write(&t, 0, 100 * MIB), 9 * SECOND);
    assert_int_equal(tt_throttle_sync(&t, 9 * SECOND), 10 * SECOND);
}

static void reads_wait_for_the_drain(void **state)
{
    struct tt_throttle t = {.rate = (double)(10 * MIB), .buffer = (double)(100 * MIB)};

    (void)state;
    assert_int_equal(tt_throttle_write(&t, 0, 20 * MIB), 0);
    assert_int_equal(tt_throttle_read(&t, 0, 10 * MIB), 3 * SECOND);
}

static void operations_have_their_own_limit(void **state)
{
    struct tt_throttle t = {.ops = 4};
    int64_t now = 0;

    (void)state;
    for (int i = 1; i <= 8; i++) {
        now = tt_throttle_write(&t, now, 1);
        assert_int_equal(now, i * (SECOND / 4));
    }
    assert_int_equal(tt_throttle_read(&t, now, 1), now + SECOND / 4);

    /* the slower of both limits holds, and a buffer does not soften operations */
    t = (struct tt_throttle){.ops = 4, .rate = (double)MIB, .buffer = (double)MIB};
    assert_int_equal(tt_throttle_write(&t, 0, 1), SECOND / 4);
    assert_int_equal(tt_throttle_write(&t, SECOND / 4, 3 * MIB) / (SECOND / 100), 225);
}

static void no_limit_is_no_limit(void **state)
{
    struct tt_throttle t = {0};

    (void)state;
    assert_int_equal(tt_throttle_write(&t, 5, 1000 * MIB), 5);
    assert_int_equal(tt_throttle_read(&t, 6, 1000 * MIB), 6);
    assert_int_equal(tt_throttle_sync(&t, 7), 7);
}

/* What was written last is in the burst buffer, whoever wrote it. */
static void the_tier_holds_what_was_written_last(void **state)
{
    char log[] = "/tmp/tutti-unit-XXXXXX";
    struct tt_error e = TT_ERROR_CLEAR;
    bool holds = true;
    int fd = mkstemp(log);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tt_burst_buffer_holds(log, "/a", 100, &holds, &e), TT_OK);
    assert_false(holds);
    assert_int_equal(tt_burst_buffer_note(log, "/a", 60, &e), TT_OK);
    assert_int_equal(tt_burst_buffer_note(log, "/b c", 40, &e), TT_OK);
    assert_int_equal(tt_burst_buffer_holds(log, "/a", 100, &holds, &e), TT_OK);
    assert_true(holds);
    assert_int_equal(tt_burst_buffer_note(log, "/d", 1, &e), TT_OK);
    assert_int_equal(tt_burst_buffer_holds(log, "/a", 100, &holds, &e), TT_OK);
    assert_false(holds);
    assert_int_equal(tt_burst_buffer_holds(log, "/b c", 100, &holds, &e), TT_OK);
    assert_true(holds);
    unlink(log);
}

/* Neither somebody's file nor a pipe, for whose writer it would wait, is taken for a log. */
static void only_its_own_log_is_used(void **state)
{
    char directory[] = "/tmp/tutti-unit-XXXXXX", log[64];
    struct tt_error e = TT_ERROR_CLEAR;
    bool holds = true;
    FILE *foreign;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(log, sizeof log, "%s/log", directory);
    foreign = fopen(log, "w");
    assert_non_null(foreign);
    fputs("precious\n", foreign);
    fclose(foreign);
    assert_int_equal(tt_burst_buffer_note(log, "/a", 60, &e), TT_FAILED);
    tt_error_clear(&e);
    assert_int_equal(tt_burst_buffer_holds(log, "/a", 60, &holds, &e), TT_FAILED);
    unlink(log);
    assert_int_equal(mkfifo(log, 0600), 0);
    tt_error_clear(&e);
    assert_int_equal(tt_burst_buffer_note(log, "/a", 60, &e), TT_FAILED);
    tt_error_clear(&e);
    assert_int_equal(tt_burst_buffer_holds(log, "/a", 60, &holds, &e), TT_FAILED);
    unlink(log);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tier_holds_what_was_written_last),
        cmocka_unit_test(only_its_own_log_is_used),
        cmocka_unit_test(writes_take_their_bytes),
        cmocka_unit_test(idle_time_is_not_saved_up),
        cmocka_unit_test(buffer_takes_writes_until_full),
        cmocka_unit_test(for_ever_is_an_instant),
        cmocka_unit_test(write_larger_than_buffer),
        cmocka_unit_test(reads_wait_for_the_drain),
        cmocka_unit_test(operations_have_their_own_limit),
        cmocka_unit_test(no_limit_is_no_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
