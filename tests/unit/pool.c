/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread pool: tasks in order or side by side, each handed back once with its own result, and
 * numbered items. Also built with the thread sanitizer, since no MPI is involved. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/pool.h"

enum { TASKS = 2000, THREADS = 5, ITEMS = 2000, WORKERS = 5 };

/* ---- one thread ---- */

struct log {
    int n, order[TASKS];
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
        return tt_fail(e, TT_FAILED, "task %d failed", entry->number);
    return TT_OK;
}

static void tasks_of_one_thread_run_in_order(void **unused)
{
    static struct log log;
    static struct entry entries[TASKS];
    static struct tt_task tasks[TASKS];
    struct tt_pool *pool;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    log.n = 0;
    assert_int_equal(tt_pool_start(&pool, 1, NULL, &e), TT_OK);
    for (int i = 0; i < TASKS; i++) {
        entries[i] = (struct entry){&log, i};
        tasks[i] = (struct tt_task){.run = note, .argument = &entries[i]};
        tt_pool_submit(pool, &tasks[i]);
    }
    for (int i = TASKS - 1; i >= 0; i--) {
        char expected[32] = "";

        tt_error_clear(&e);
        assert_int_equal(tt_pool_wait(pool, &tasks[i], &e), i % 7 == 3 ? TT_FAILED : TT_OK);
        if (i % 7 == 3)
            snprintf(expected, sizeof expected, "task %d failed", i);
        assert_string_equal(e.text, expected);
        assert_int_equal(log.order[i], i);
    }
    tt_pool_stop(pool);
}

static void stopping_finishes_what_was_submitted(void **unused)
{
    static struct log log;
    struct entry entries[50];
    struct tt_task tasks[50];
    struct tt_pool *pool;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    log.n = 0;
    assert_int_equal(tt_pool_start(&pool, 1, NULL, &e), TT_OK);
    for (int i = 0; i < 50; i++) {
        entries[i] = (struct entry){&log, i};
        tasks[i] = (struct tt_task){.run = note, .argument = &entries[i]};
        tt_pool_submit(pool, &tasks[i]);
    }
    tt_pool_stop(pool);
    assert_int_equal(log.n, 50);
}

static void without_a_pool_the_caller_runs_the_task(void **unused)
{
    static struct log log;
    struct entry entry = {&log, 3};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    log.n = 0;
    assert_int_equal(tt_pool_call(NULL, note, &entry, &e), TT_FAILED);
    assert_string_equal(e.text, "task 3 failed");
    assert_int_equal(log.n, 1);
    tt_pool_stop(NULL);
}

/* ---- several ---- */

struct count {
    unsigned runs, argument;
};

static int count_run(void *argument, struct tt_error *e)
{
    struct count *w = argument;

    w->runs++;
    return w->argument % 7 ? TT_OK : tt_fail(e, TT_FAILED, "task %u", w->argument);
}

/* As many under way as there are threads, and the memory of one is used by the next. */
static void tasks_side_by_side_come_back_once(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_pool *pool;
    struct tt_tasks ended = {0};
    struct tt_task tasks[THREADS];
    struct count counts[THREADS] = {0};
    unsigned given = 0, failed = 0, runs = 0;

    (void)unused;
    assert_int_equal(tt_pool_start(&pool, THREADS, NULL, &e), TT_OK);
    for (; given < THREADS; given++) {
        counts[given].argument = given;
        tasks[given] =
            (struct tt_task){.run = count_run, .argument = &counts[given], .ended = &ended};
        tt_pool_submit(pool, &tasks[given]);
    }
    for (unsigned taken = 0; taken < TASKS; taken++) {
        struct tt_task *task = tt_pool_wait_any(pool, &ended);
        struct count *w = task->argument;

        failed += task->rc != TT_OK;
        assert_int_equal(task->rc != TT_OK, w->argument % 7 == 0);
        assert_int_equal(task->error.code, task->rc);
        if (given < TASKS) {
            w->argument = given++;
            tt_pool_submit(pool, task);
        }
    }
    tt_pool_stop(pool);
    for (unsigned i = 0; i < THREADS; i++)
        runs += counts[i].runs;
    assert_int_equal(runs, TASKS);
    assert_int_equal(failed, (TASKS + 6) / 7);
}

static void threads_that_had_nothing_to_do_end(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_pool *pool;

    (void)unused;
    assert_int_equal(tt_pool_start(&pool, THREADS, NULL, &e), TT_OK);
    tt_pool_stop(pool);
    tt_pool_stop(NULL);
}

/* ---- numbered items ---- */

struct tally {
    int done[ITEMS];
    uint64_t by_worker[WORKERS]; /* written without a lock: each is one thread's own */
    uint64_t fails;              /* this item does */
    pthread_barrier_t meeting;
};

static int note_item(void *context, struct tt_work *work, unsigned worker, uint64_t item,
                     struct tt_error *e)
{
    struct tally *tally = context;

    tt_work_advance(work, 3);
    tally->done[item]++;
    tally->by_worker[worker]++;
    if (item == tally->fails)
        return tt_fail(e, TT_FAILED, "item %d failed", (int)item);
    return TT_OK;
}

static void every_item_is_done_once(void **unused)
{
    static struct tally tally;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_work *work;
    uint64_t sum = 0;

    (void)unused;
    tally.fails = ITEMS;
    assert_int_equal(tt_work_start(&work, WORKERS, ITEMS, note_item, &tally, &e), TT_OK);
    for (uint64_t i = 1; i <= ITEMS; i += 99)
        tt_work_wait(work, 3 * i);
    assert_int_equal(tt_work_end(work, false, &e), TT_OK);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(tally.done[i], 1);
    for (int i = 0; i < WORKERS; i++)
        sum += tally.by_worker[i];
    assert_int_equal(sum, ITEMS);
}

/* Nobody gets through unless all workers are there at the same time. */
static int meet(void *context, struct tt_work *work, unsigned worker, uint64_t item,
                struct tt_error *e)
{
    struct tally *tally = context;

    (void)work, (void)worker, (void)item, (void)e;
    pthread_barrier_wait(&tally->meeting);
    return TT_OK;
}

static void workers_work_at_the_same_time(void **unused)
{
    static struct tally tally;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_work *work;

    (void)unused;
    pthread_barrier_init(&tally.meeting, NULL, WORKERS);
    assert_int_equal(tt_work_start(&work, WORKERS, 10 * WORKERS, meet, &tally, &e), TT_OK);
    tt_work_wait(work, 1); /* until all is done, since nobody advances */
    assert_int_equal(tt_work_end(work, false, &e), TT_OK);
    pthread_barrier_destroy(&tally.meeting);
}

static void a_failure_ends_it(void **unused)
{
    static struct tally tally;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_work *work;
    int begun = 0;

    (void)unused;
    tally.fails = 3;
    assert_int_equal(tt_work_start(&work, WORKERS, ITEMS, note_item, &tally, &e), TT_OK);
    tt_work_wait(work, 3 * ITEMS); /* does not wait for what never comes */
    assert_int_equal(tt_work_end(work, false, &e), TT_FAILED);
    assert_string_equal(e.text, "item 3 failed");
    for (int i = 0; i < ITEMS; i++)
        begun += tally.done[i];
    assert_in_range(begun, 4, ITEMS);
}

static int go_on(void *context, struct tt_work *work, unsigned worker, uint64_t item,
                 struct tt_error *e)
{
    (void)context, (void)worker, (void)item, (void)e;
    while (!tt_work_should_stop(work))
        sched_yield();
    return TT_OK;
}

static void items_hear_of_the_stop(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_work *work;

    (void)unused;
    assert_int_equal(tt_work_start(&work, WORKERS, ITEMS, go_on, NULL, &e), TT_OK);
    assert_int_equal(tt_work_end(work, true, &e), TT_OK);
    assert_int_equal(tt_work_start(&work, WORKERS, 0, go_on, NULL, &e), TT_OK);
    assert_null(work);
    tt_work_wait(work, 1);
    assert_int_equal(tt_work_end(work, false, &e), TT_OK);
}

/* ---- now and then ---- */

struct clockwork {
    int ticks, last;
};

static int64_t count_tick(void *argument, bool last)
{
    struct clockwork *c = argument;

    c->ticks++;
    c->last += last;
    return c->ticks < 20 ? tt_now_ns() : INT64_MAX; /* in the end not before it is stopped */
}

static void a_ticker_ticks_until_it_is_stopped(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct clockwork c = {0};
    struct tt_ticker *t;

    (void)unused;
    assert_int_equal(tt_ticker_start(&t, count_tick, &c, &e), TT_OK);
    tt_sleep_until(tt_now_ns() + 50000000);
    tt_ticker_stop(t);
    assert_in_range(c.ticks, 2, 21);
    assert_int_equal(c.last, 1);
    tt_ticker_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_one_thread_run_in_order),
        cmocka_unit_test(stopping_finishes_what_was_submitted),
        cmocka_unit_test(without_a_pool_the_caller_runs_the_task),
        cmocka_unit_test(tasks_side_by_side_come_back_once),
        cmocka_unit_test(threads_that_had_nothing_to_do_end),
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(workers_work_at_the_same_time),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(items_hear_of_the_stop),
        cmocka_unit_test(a_ticker_ticks_until_it_is_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
