/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The helper thread: jobs in order, errors brought back, nothing lost at the end. Also built with
 * the thread sanitizer, since no MPI is involved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/helper.h"

#define JOBS 2000

struct log {
    int n, order[JOBS];
};
struct entry {
    struct log *log;
    int number;
};

static int note(void *argument, struct tt_error *e)
{
    struct entry *entry = argument;

    entry->log->order[entry->log->n++] = entry->number;
    if (entry->number % 7 == 3)
        return tt_fail(e, TT_FAILED, "job %d failed", entry->number);
    return TT_OK;
}

static void jobs_run_in_order_and_report(void **unused)
{
    static struct log log;
    static struct entry entries[JOBS];
    static struct tt_job jobs[JOBS];
    struct tt_helper *h;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    log.n = 0;
    assert_int_equal(tt_helper_start(&h, &e), TT_OK);
    for (int i = 0; i < JOBS; i++) {
        entries[i] = (struct entry){&log, i};
        jobs[i] = (struct tt_job){.run = note, .argument = &entries[i]};
        tt_helper_submit(h, &jobs[i]);
    }
    for (int i = JOBS - 1; i >= 0; i--) {
        char expected[32] = "";

        tt_error_clear(&e);
        assert_int_equal(tt_helper_wait(h, &jobs[i], &e), i % 7 == 3 ? TT_FAILED : TT_OK);
        if (i % 7 == 3)
            snprintf(expected, sizeof expected, "job %d failed", i);
        assert_string_equal(e.text, expected);
        assert_int_equal(log.order[i], i);
    }
    tt_helper_stop(h);
}

static void stopping_finishes_what_was_submitted(void **unused)
{
    static struct log log;
    struct entry entries[50];
    struct tt_job jobs[50];
    struct tt_helper *h;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    log.n = 0;
    assert_int_equal(tt_helper_start(&h, &e), TT_OK);
    for (int i = 0; i < 50; i++) {
        entries[i] = (struct entry){&log, i};
        jobs[i] = (struct tt_job){.run = note, .argument = &entries[i]};
        tt_helper_submit(h, &jobs[i]);
    }
    tt_helper_stop(h);
    assert_int_equal(log.n, 50);
}

static void without_a_helper_the_caller_runs_the_job(void **unused)
{
    static struct log log;
    struct entry entry = {&log, 3};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    log.n = 0;
    assert_int_equal(tt_helper_call(NULL, note, &entry, &e), TT_FAILED);
    assert_string_equal(e.text, "job 3 failed");
    assert_int_equal(log.n, 1);
    tt_helper_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_in_order_and_report),
        cmocka_unit_test(stopping_finishes_what_was_submitted),
        cmocka_unit_test(without_a_helper_the_caller_runs_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
