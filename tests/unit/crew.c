/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The crew of threads: every task once, as many at a time as there are members, errors brought
 * back, stopped in time. Also built with the thread sanitizer, since no MPI is involved. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/crew.h"

enum { TASKS = 2000, MEMBERS = 5 };

struct log {
    int done[TASKS];
    uint64_t by_member[MEMBERS]; /* written without a lock: each is one thread's own */
    uint64_t fails;              /* this task does */
    pthread_barrier_t meeting;
};

static int note(void *context, struct tt_crew *crew, unsigned member, uint64_t task,
                struct tt_error *e)
{
    struct log *log = context;

    tt_crew_advance(crew, 3);
    log->done[task]++;
    log->by_member[member]++;
    if (task == log->fails)
        return tt_fail(e, TT_FAILED, "task %d failed", (int)task);
    return TT_OK;
}

static void every_task_is_done_once(void **unused)
{
    static struct log log;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_crew *crew;
    uint64_t sum = 0;

    (void)unused;
    log.fails = TASKS;
    assert_int_equal(tt_crew_start(&crew, MEMBERS, TASKS, note, &log, &e), TT_OK);
    for (uint64_t i = 1; i <= TASKS; i += 99)
        tt_crew_wait(crew, 3 * i);
    assert_int_equal(tt_crew_end(crew, false, &e), TT_OK);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(log.done[i], 1);
    for (int i = 0; i < MEMBERS; i++)
        sum += log.by_member[i];
    assert_int_equal(sum, TASKS);
}

/* Nobody gets through unless all members are there at the same time. */
static int meet(void *context, struct tt_crew *crew, unsigned member, uint64_t task,
                struct tt_error *e)
{
    struct log *log = context;

    (void)crew, (void)member, (void)task, (void)e;
    pthread_barrier_wait(&log->meeting);
    return TT_OK;
}

static void members_work_at_the_same_time(void **unused)
{
    static struct log log;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_crew *crew;

    (void)unused;
    pthread_barrier_init(&log.meeting, NULL, MEMBERS);
    assert_int_equal(tt_crew_start(&crew, MEMBERS, 10 * MEMBERS, meet, &log, &e), TT_OK);
    tt_crew_wait(crew, 1); /* until all is done, since nobody advances */
    assert_int_equal(tt_crew_end(crew, false, &e), TT_OK);
    pthread_barrier_destroy(&log.meeting);
}

static void a_failure_ends_it(void **unused)
{
    static struct log log;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_crew *crew;
    int begun = 0;

    (void)unused;
    log.fails = 3;
    assert_int_equal(tt_crew_start(&crew, MEMBERS, TASKS, note, &log, &e), TT_OK);
    tt_crew_wait(crew, 3 * TASKS); /* does not wait for what never comes */
    assert_int_equal(tt_crew_end(crew, false, &e), TT_FAILED);
    assert_string_equal(e.text, "task 3 failed");
    for (int i = 0; i < TASKS; i++)
        begun += log.done[i];
    assert_in_range(begun, 4, TASKS);
}

static int go_on(void *context, struct tt_crew *crew, unsigned member, uint64_t task,
                 struct tt_error *e)
{
    (void)context, (void)member, (void)task, (void)e;
    while (!tt_crew_should_stop(crew))
        sched_yield();
    return TT_OK;
}

static void tasks_hear_of_the_stop(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_crew *crew;

    (void)unused;
    assert_int_equal(tt_crew_start(&crew, MEMBERS, TASKS, go_on, NULL, &e), TT_OK);
    assert_int_equal(tt_crew_end(crew, true, &e), TT_OK);
    assert_int_equal(tt_crew_start(&crew, MEMBERS, 0, go_on, NULL, &e), TT_OK);
    assert_null(crew);
    tt_crew_wait(crew, 1);
    assert_int_equal(tt_crew_end(crew, false, &e), TT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_done_once),
        cmocka_unit_test(members_work_at_the_same_time),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(tasks_hear_of_the_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
