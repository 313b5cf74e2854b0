/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs side by side: every one is handed back once, with its own result. Also built with the thread
 * sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/stream_threads.h"

enum { THREADS = 5, JOBS = 2000 };

struct work {
    unsigned runs, argument;
};

static int run(void *argument, struct tt_error *e)
{
    struct work *w = argument;

    w->runs++;
    return w->argument % 7 ? TT_OK : tt_fail(e, TT_FAILED, "job %u", w->argument);
}

/* As many under way as there are threads, and the memory of one is used by the next. */
static void jobs_come_back_once(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_stream_threads *t;
    struct tt_job jobs[THREADS];
    struct work work[THREADS] = {0};
    unsigned given = 0, failed = 0, runs = 0;

    (void)state;
    assert_int_equal(tt_stream_threads_start(THREADS, &t, &e), TT_OK);
    for (; given < THREADS; given++) {
        work[given].argument = given;
        jobs[given] = (struct tt_job){.run = run, .argument = &work[given]};
        tt_stream_threads_give(t, &jobs[given]);
    }
    for (unsigned taken = 0; taken < JOBS; taken++) {
        struct tt_job *job = tt_stream_threads_take(t);
        struct work *w = job->argument;

        failed += job->rc != TT_OK;
        assert_int_equal(job->rc != TT_OK, w->argument % 7 == 0);
        assert_int_equal(job->error.code, job->rc);
        if (given < JOBS) {
            w->argument = given++;
            tt_stream_threads_give(t, job);
        }
    }
    tt_stream_threads_stop(t);
    for (unsigned i = 0; i < THREADS; i++)
        runs += work[i].runs;
    assert_int_equal(runs, JOBS);
    assert_int_equal(failed, (JOBS + 6) / 7);
}

static void threads_that_had_nothing_to_do_end(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_stream_threads *t;

    (void)state;
    assert_int_equal(tt_stream_threads_start(THREADS, &t, &e), TT_OK);
    tt_stream_threads_stop(t);
    tt_stream_threads_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_come_back_once),
        cmocka_unit_test(threads_that_had_nothing_to_do_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
