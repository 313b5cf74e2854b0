/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A yield sleeps in the helper thread while the main thread is at work, and only then. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/note.h"
#include "base/yield.h"

enum { YIELDS = 20 };

struct seen {
    bool should_sleep;
    long slept; /* times the kernel saw this thread give up its CPU */
};

static long given_up(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void *helper(void *argument)
{
    struct seen *seen = argument;

    tt_note_as_helper();
    tt_yield_as_helper();
    seen->should_sleep = tt_yield_should_sleep();
    seen->slept = -given_up();
    for (int i = 0; i < YIELDS; i++)
        tt_yield_asleep();
    seen->slept += given_up();
    return NULL;
}

static struct seen by_helper(enum tt_doing doing)
{
    uint64_t before = tt_note_begin(doing, 0);
    struct seen seen = {0};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, helper, &seen), 0);
    pthread_join(thread, NULL);
    assert_false(tt_yield_should_sleep()); /* not in the main thread */
    tt_note_end(before);
    return seen;
}

static void test_sleeps_beside_work(void **state)
{
    struct seen seen = by_helper(TT_DOING_WORK);

    (void)state;
    assert_true(seen.should_sleep);
    assert_true(seen.slept >= YIELDS / 2); /* the first sleeps may end before the switch */
}

static void test_spins_while_waited_for(void **state)
{
    (void)state;
    assert_false(by_helper(TT_DOING_HELPER).should_sleep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeps_beside_work),
        cmocka_unit_test(test_spins_while_waited_for),
    };

    tt_notes_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
