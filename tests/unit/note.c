/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who keeps the others waiting, from what ranks have noted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/note.h"

enum { RANKS = 4 };
#define SECOND INT64_C(1000000000)

/* All wait for the others in an agreement since 60 s, at work on one file. */
static void wait_all(struct tt_note_view views[RANKS])
{
    memset(views, 0, RANKS * sizeof *views);
    for (unsigned i = 0; i < RANKS; i++) {
        views[i].begun = true;
        views[i].rank = i;
        snprintf(views[i].host, sizeof views[i].host, "node%u", i / 2);
        views[i].looked_ns = 100 * SECOND;
        views[i].threads[0].doing = TT_DOING_AGREE;
        views[i].threads[0].changed_ns = 40 * SECOND;
        views[i].threads[0].sequence = 7;
        views[i].threads[1].doing = views[i].threads[2].doing = TT_DOING_IDLE;
        snprintf(views[i].threads[0].path, TT_NOTE_PATH, "/data/out");
    }
}

static void expect(const struct tt_note_view *views, const char *words)
{
    char line[512];

    tt_notes_explain(RANKS, views, 15, line, sizeof line);
    assert_string_equal(line, words);
}

static void a_rank_in_a_call_keeps_the_others_waiting(void **state)
{
    struct tt_note_view views[RANKS];

    (void)state;
    wait_all(views);
    views[3].threads[0].doing = TT_DOING_OPEN;
    expect(views, "rank 3 on node1 has been in open of '/data/out' for 60 s");
    /* One that has just begun a call is not the reason. */
    views[1].threads[0].doing = TT_DOING_CLOSE;
    views[1].threads[0].changed_ns = 99 * SECOND;
    expect(views, "rank 3 on node1 has been in open of '/data/out' for 60 s");
}

static void work_is_suspected_before_waiting_and_after_calls(void **state)
{
    struct tt_note_view views[RANKS];

    (void)state;
    wait_all(views);
    views[2].threads[0].doing = TT_DOING_WORK;
    views[2].threads[0].path[0] = '\0';
    expect(views, "rank 2 on node1 has been in computation or communication for 60 s");
    views[1].threads[0].doing = TT_DOING_WRITE;
    views[1].threads[0].changed_ns = 50 * SECOND;
    expect(views, "rank 1 on node0 has been in write of '/data/out' for 50 s");
}

static void a_helper_counts_for_the_rank_that_waits_for_it(void **state)
{
    struct tt_note_view views[RANKS];

    (void)state;
    wait_all(views);
    views[1].threads[0].doing = TT_DOING_HELPER;
    views[1].threads[1].doing = TT_DOING_SYNC;
    views[1].threads[1].changed_ns = 30 * SECOND;
    snprintf(views[1].threads[1].path, TT_NOTE_PATH, "/data/other");
    expect(views, "rank 1 on node0 has been in sync of '/data/other' for 70 s");
}

static void a_rank_that_does_not_answer_is_named_first(void **state)
{
    struct tt_note_view views[RANKS];

    (void)state;
    wait_all(views);
    views[0].threads[0].doing = TT_DOING_WRITE;
    views[2].threads[0].doing = TT_DOING_REMOVE;
    views[2].looked_ns = 41 * SECOND;
    expect(views, "rank 2 on node1 has not answered for 59 s; its last note is removal of "
                  "'/data/out'");
    views[3].begun = false;
    expect(views, "rank 3 has not begun");
}

static void ranks_in_one_collective_are_named_together(void **state)
{
    struct tt_note_view views[RANKS];

    (void)state;
    wait_all(views);
    for (int i = 0; i < RANKS; i++)
        views[i].threads[0].doing = TT_DOING_WRITE;
    views[2].threads[0].sequence = 6;
    expect(views, "all ranks, such as rank 2 on node1, have been in write of '/data/out' for 60 s");
    views[0].threads[0].doing = TT_DOING_AGREE;
    expect(views,
           "some ranks, such as rank 2 on node1, have been in write of '/data/out' for 60 s");
}

/* As the guard of another rank reads them from the file. */
static void notes_are_seen_by_others(void **state)
{
    struct tt_note_view view;
    char path[] = "/tmp/tutti-notes.XXXXXX";
    uint64_t before;

    (void)state;
    close(mkstemp(path));
    tt_notes_begin();
    tt_notes_share(path, 1);
    tt_notes_share(path, 2); /* another rank of the same node */
    before = tt_note_begin(TT_DOING_OPEN, tt_note_file("/data/out"));
    tt_notes_view(2, &view);
    assert_true(view.begun);
    assert_int_equal(view.threads[0].doing, TT_DOING_OPEN);
    assert_string_equal(view.threads[0].path, "/data/out");
    tt_note_end(before);
    tt_notes_view(2, &view);
    assert_int_equal(view.threads[0].doing, TT_DOING_IDLE);
    tt_notes_view(1, &view);
    assert_true(view.begun);
    tt_notes_view(0, &view);
    assert_false(view.begun);
    tt_notes_end();
    assert_int_equal(tt_note_begin(TT_DOING_OPEN, 0), 0); /* nobody wants to know any more */
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_in_a_call_keeps_the_others_waiting),
        cmocka_unit_test(work_is_suspected_before_waiting_and_after_calls),
        cmocka_unit_test(a_helper_counts_for_the_rank_that_waits_for_it),
        cmocka_unit_test(a_rank_that_does_not_answer_is_named_first),
        cmocka_unit_test(ranks_in_one_collective_are_named_together),
        cmocka_unit_test(notes_are_seen_by_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
