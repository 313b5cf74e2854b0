/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which points are run, when to stop, and what a journal may hold; and the files by
 * which a driver starts and stops a run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "plan/control.h"
#include "plan/runner.h"
#include "scratch.h"

#define POINTS 5
#define MOST_PLAYED 1000

static char directory[64];

static int make_directory(void **unused)
{
    (void)unused;
    snprintf(directory, sizeof directory, "%s/tutti-runner-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **unused)
{
    (void)unused;
    return nftw(directory, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* An owner that notes what it is asked to run. */
struct owner {
    size_t n, points[MOST_PLAYED];
    uint64_t numbers[MOST_PLAYED];
    struct tt_runner_state states[MOST_PLAYED];
    size_t die_after;    /* so many: run fails, as a driver that is interrupted; 0: never */
    size_t always_fails; /* this point is never complete; POINTS: none */
    double seconds;
    uint64_t bytes;
    double widths[POINTS]; /* of the interval, of points with three runs and more */
    size_t begun_with;     /* repetitions in the journal at the beginning */
    const struct tt_runner_point *compared;
    uint64_t fails_in; /* this round always_fails alone does; 0: in all */
};

static int note_begin(void *context, const struct tt_repetition *list, size_t n, struct tt_error *e)
{
    struct owner *o = context;

    (void)list, (void)e;
    o->begun_with = n;
    return TT_OK;
}

static int note_play(void *context, const struct tt_runner_state *state, struct tt_repetition *r,
                     struct tt_error *e)
{
    struct owner *o = context;
    struct timespec pause = {.tv_nsec = (long)(o->seconds * 1e9)};

    assert_true(o->n < MOST_PLAYED);
    assert_int_equal(state->point, r->point);
    assert_int_equal(state->number, r->number);
    if (o->die_after && o->n == o->die_after)
        return tt_fail(e, TT_INTERRUPTED, "interrupted");
    o->states[o->n] = *state;
    o->points[o->n] = r->point;
    o->numbers[o->n++] = r->number;
    if (o->seconds > 0)
        nanosleep(&pause, NULL);
    r->complete = r->point != o->always_fails || (o->fails_in && r->round != o->fails_in);
    r->bytes = o->bytes;
    snprintf(r->directory, sizeof r->directory, "p%zu-%zu", r->point, o->n);
    snprintf(r->why, sizeof r->why, "%s", r->complete ? "" : "it \"failed\"\n, and \\ how");
    return TT_OK;
}

static double note_width(void *context, size_t point, const struct tt_repetition *list, size_t n)
{
    const struct owner *o = context;
    size_t complete = 0;

    for (size_t i = 0; i < n; i++)
        complete += list[i].point == point && list[i].complete;
    return complete < 3 ? NAN : o->widths[point] / (double)complete;
}

static struct tt_runner_report run(struct owner *o, struct tt_runner_rules rules, int expected)
{
    const struct tt_runner_owner owner = {.context = o,
                                          .npoints = POINTS,
                                          .points = o->compared,
                                          .begin = note_begin,
                                          .run = note_play,
                                          .width = note_width};
    struct tt_runner_report report;
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_runner_run(directory, &rules, &owner, &report, &e), expected);
    return report;
}

static void start_again(void)
{
    char path[80];

    snprintf(path, sizeof path, "%s/journal", directory);
    unlink(path);
}

static void write_journal(const char *how, const char *text)
{
    char path[80];
    FILE *f;

    snprintf(path, sizeof path, "%s/journal", directory);
    f = fopen(path, how);
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static size_t count(const struct tt_runner_report *report, size_t point)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n; i++)
        n += report->list[i].point == point && report->list[i].complete;
    return n;
}

/* ---- order ---- */

static void every_round_holds_every_point_once(void **unused)
{
    static struct owner first, again, other;
    struct tt_runner_rules rules = {.repeat = 8, .seed = 7};
    size_t same_order = 0;

    (void)unused;
    first.always_fails = again.always_fails = other.always_fails = POINTS;
    free(run(&first, rules, TT_OK).list);
    assert_int_equal(first.n, 8 * POINTS);
    for (size_t round = 0; round < 8; round++) {
        bool seen[POINTS] = {0};

        for (size_t i = 0; i < POINTS; i++) {
            size_t at = round * POINTS + i;

            assert_false(seen[first.points[at]]);
            seen[first.points[at]] = true;
            assert_int_equal(first.numbers[at], round + 1);
        }
        same_order += !memcmp(first.points, first.points + round * POINTS, POINTS * sizeof(size_t));
    }
    assert_true(same_order < 4);

    start_again();
    free(run(&again, rules, TT_OK).list);
    assert_memory_equal(first.points, again.points, 8 * POINTS * sizeof(size_t));
    start_again();
    rules.seed = 8;
    free(run(&other, rules, TT_OK).list);
    assert_memory_not_equal(first.points, other.points, 8 * POINTS * sizeof(size_t));
}

static void state_counts_what_is_left(void **unused)
{
    static struct owner o = {.always_fails = POINTS};
    const struct tt_runner_rules rules = {.repeat = 2, .seed = 1};

    (void)unused;
    free(run(&o, rules, TT_OK).list);
    assert_true(o.states[0].left < 0);
    for (size_t i = 0; i < o.n; i++) {
        assert_int_equal(o.states[i].done, i);
        assert_int_equal(o.states[i].planned, 2 * POINTS);
        assert_int_equal(o.states[i].npoints, POINTS);
    }
}

/* ---- when it ends ---- */

static void resuming_plays_what_is_missing(void **unused)
{
    const struct tt_runner_rules rules = {.repeat = 3, .seed = 3};
    struct tt_runner_report report;

    (void)unused;
    for (size_t dies = 1; dies <= 3 * POINTS; dies++) {
        static struct owner first, second;

        first = second = (struct owner){.always_fails = POINTS};
        first.die_after = dies;
        start_again();
        report = run(&first, rules, dies < 3 * POINTS ? TT_INTERRUPTED : TT_OK);
        assert_int_equal(report.n, dies);
        free(report.list);
        report = run(&second, rules, TT_OK);
        assert_int_equal(second.begun_with, dies);
        assert_int_equal(second.n, 3 * POINTS - dies);
        assert_int_equal(report.n, 3 * POINTS);
        for (size_t p = 0; p < POINTS; p++)
            assert_int_equal(count(&report, p), 3);
        free(report.list);
    }
}

static void stops_when_narrow_or_at_most(void **unused)
{
    /* Half-widths of 0.3/n, 0.5/n, ... fall below 10 % after 3, 5, 8, and never before 12. */
    static struct owner o = {.always_fails = POINTS, .widths = {0.3, 0.5, 0.8, 9, NAN}};
    struct tt_runner_rules rules = {.repeat = 2, .width = 0.1, .at_most = 12, .seed = 1};
    struct tt_runner_report report = run(&o, rules, TT_OK);
    static const size_t expected[POINTS] = {3, 5, 8, 12, 12};

    (void)unused;
    for (size_t p = 0; p < POINTS; p++)
        assert_int_equal(count(&report, p), expected[p]);
    free(report.list);
    /* Without the rule at_most says nothing, and below repeat it is none. */
    start_again();
    o.n = 0;
    rules.at_most = 1;
    report = run(&o, rules, TT_OK);
    assert_int_equal(report.n, 2 * POINTS);
    free(report.list);
}

/* Points 1 and 2 are compared with 0, which 3 is once more; 4 is alone. */
static const struct tt_runner_point compared[POINTS] = {
    {0, true}, {0, false}, {0, false}, {0, true}, {4, true}};

static size_t in_round(const struct tt_runner_report *report, uint64_t round)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n; i++)
        n += report->list[i].round == round;
    return n;
}

static void what_others_are_compared_with_goes_on(void **unused)
{
    static struct owner o = {
        .always_fails = POINTS, .widths = {0, 0.5, 0.8, 0, 0.3}, .compared = compared};
    struct tt_runner_rules rules = {.repeat = 2, .width = 0.1, .at_most = 12, .seed = 1};
    struct tt_runner_report report = run(&o, rules, TT_OK);
    static const size_t expected[POINTS] = {8, 5, 8, 8, 3};

    (void)unused;
    for (size_t p = 0; p < POINTS; p++)
        assert_int_equal(count(&report, p), expected[p]);
    assert_int_equal(in_round(&report, 3), 5);
    assert_int_equal(in_round(&report, 6), 3); /* 2 goes on, 0 and 3 join it */
    assert_int_equal(o.states[o.n - 1].planned, report.n);
    free(report.list);
}

/* A round in which the base failed is worth nothing to the others; one in which another point
 * failed is made good with a base of its own. */
static void a_round_without_its_base_does_not_count(void **unused)
{
    static struct owner o = {.compared = compared, .fails_in = 2};
    struct tt_runner_report report = run(&o, (struct tt_runner_rules){.repeat = 3}, TT_OK);
    static const size_t base_failed[POINTS] = {3, 4, 4, 4, 3}, other_failed[] = {4, 3, 3, 4, 3};

    (void)unused;
    for (size_t p = 0; p < POINTS; p++)
        assert_int_equal(count(&report, p), base_failed[p]);
    free(report.list);
    start_again();
    o = (struct owner){.compared = compared, .fails_in = 2, .always_fails = 1};
    report = run(&o, (struct tt_runner_rules){.repeat = 3}, TT_OK);
    for (size_t p = 0; p < POINTS; p++)
        assert_int_equal(count(&report, p), other_failed[p]);
    assert_int_equal(in_round(&report, 4), 3);
    free(report.list);
    /* A base that never works ends the others, too. */
    start_again();
    o = (struct owner){.compared = compared};
    report = run(&o, (struct tt_runner_rules){.repeat = 3}, TT_OK);
    assert_int_equal(report.list[report.n - 1].round, 5);
    free(report.list);
}

/* What is missing of a round that was broken off is run in it. */
static void a_round_is_finished_by_resuming(void **unused)
{
    static struct owner first = {.always_fails = POINTS, .compared = compared, .die_after = 7};
    static struct owner second = {.always_fails = POINTS, .compared = compared};
    struct tt_runner_report report;

    (void)unused;
    free(run(&first, (struct tt_runner_rules){.repeat = 3, .seed = 1}, TT_INTERRUPTED).list);
    report = run(&second, (struct tt_runner_rules){.repeat = 3, .seed = 1}, TT_OK);
    assert_int_equal(report.n, 3 * POINTS);
    for (size_t i = 0; i < second.n; i++) {
        assert_int_equal(second.states[i].done, 7 + i);
        assert_int_equal(second.states[i].planned, 3 * POINTS);
    }
    for (uint64_t round = 1; round <= 3; round++)
        assert_int_equal(in_round(&report, round), POINTS);
    free(report.list);
}

static void point_that_always_fails_is_left(void **unused)
{
    static struct owner o = {.always_fails = 2};
    struct tt_runner_report report = run(&o, (struct tt_runner_rules){.repeat = 3}, TT_OK);
    size_t attempts = 0;

    (void)unused;
    for (size_t i = 0; i < report.n; i++)
        if (report.list[i].point == 2) {
            attempts++;
            assert_int_equal(report.list[i].number, attempts);
            assert_false(report.list[i].complete);
        }
    assert_int_equal(attempts, 3 + 2);
    assert_int_equal(report.n, 3 * (POINTS - 1) + 5);
    assert_false(report.out_of_budget);
    free(report.list);
    /* Neither is it tried once more by a later call, */
    o.n = 0;
    free(run(&o, (struct tt_runner_rules){.repeat = 3}, TT_OK).list);
    assert_int_equal(o.n, 0);
    /* unless it is to be: then it is left again, or has all that it needs and no more. */
    free(run(&o, (struct tt_runner_rules){.repeat = 3, .retry = true}, TT_OK).list);
    assert_int_equal(o.n, 5);
    o.always_fails = POINTS;
    report = run(&o, (struct tt_runner_rules){.repeat = 3, .retry = true}, TT_OK);
    assert_int_equal(o.n, 5 + 3);
    assert_int_equal(count(&report, 2), 3);
    assert_int_equal(report.list[report.n - 1].number, 5 + 5 + 3);
    free(report.list);
}

static void budget_in_bytes(void **unused)
{
    static struct owner o = {.always_fails = POINTS, .bytes = 100};
    const struct tt_runner_rules rules = {.repeat = 3, .max_bytes = 450};
    struct tt_runner_report report = run(&o, rules, TT_OK);

    (void)unused;
    assert_int_equal(report.n, 4);
    assert_true(report.out_of_budget);
    assert_non_null(strstr(report.why, "--max-bytes"));
    free(report.list);
    /* What was written before counts; the directory's budget is used up. */
    o.n = 0;
    report = run(&o, rules, TT_OK);
    assert_int_equal(o.n, 0);
    assert_true(report.out_of_budget);
    free(report.list);
}

static void budget_in_time(void **unused)
{
    static struct owner o = {.always_fails = POINTS, .seconds = 0.05};
    const struct tt_runner_rules rules = {.repeat = 100, .max_time = 0.3};
    struct tt_runner_report report = run(&o, rules, TT_OK);

    (void)unused;
    /* Five or six fit if nothing disturbs; never more. */
    assert_true(report.n <= 6);
    assert_true(report.out_of_budget);
    assert_non_null(strstr(report.why, "--max-time"));
    free(report.list);
}

/* ---- points that come and go ---- */

static struct tt_runner_report run_named(struct owner *o, const char *const *names, size_t n,
                                         const uint64_t *repeat, int expected)
{
    const struct tt_runner_rules rules = {.repeat = 2, .seed = 1};
    const struct tt_runner_owner owner = {.context = o,
                                          .npoints = n,
                                          .names = names,
                                          .repeat = repeat,
                                          .begin = note_begin,
                                          .run = note_play};
    struct tt_runner_report report;
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_runner_run(directory, &rules, &owner, &report, &e), expected);
    return report;
}

/* The journal knows points by their names, in whichever order they are given the next time. */
static void named_points_may_come_later(void **unused)
{
    static const char *const few[] = {"a", "b"}, *const more[] = {"c", "b", "d", "a"};
    static struct owner first = {.always_fails = 9}, second = {.always_fails = 9};
    struct tt_runner_report report;

    (void)unused;
    free(run_named(&first, few, 2, NULL, TT_OK).list);
    assert_int_equal(first.n, 4);
    report = run_named(&second, more, 4, NULL, TT_OK);
    assert_int_equal(second.begun_with, 4);
    assert_int_equal(second.n, 4);
    for (size_t i = 0; i < second.n; i++)
        assert_true(second.points[i] == 0 || second.points[i] == 2);
    for (size_t p = 0; p < 4; p++)
        assert_int_equal(count(&report, p), 2);
    free(report.list);
    /* A name that nobody knows is not a repetition of ours. */
    free(run_named(&second, few, 2, NULL, TT_CORRUPT).list);
}

static void every_point_has_its_own_number(void **unused)
{
    static const uint64_t repeat[] = {3, 0, 1};
    static const char *const names[] = {"a", "b", "c"};
    static struct owner o = {.always_fails = 9};
    struct tt_runner_report report = run_named(&o, names, 3, repeat, TT_OK);

    (void)unused;
    for (size_t p = 0; p < 3; p++)
        assert_int_equal(count(&report, p), repeat[p]);
    assert_int_equal(o.states[0].planned, 4);
    free(report.list);
    /* Others go on later. */
    report = run_named(&o, names, 3, (const uint64_t[]){3, 2, 0}, TT_OK);
    assert_int_equal(count(&report, 1), 2);
    assert_int_equal(report.n, 6);
    free(report.list);
}

/* ---- the journal ---- */

#define GOOD \
    "{\"point\": 1, \"number\": 1, \"complete\": true, \"seconds\": 1.5, \"bytes\": 7, " \
    "\"directory\": \"a\", \"why\": \"\"}\n"

static void torn_last_line_is_played_again(void **unused)
{
    static struct owner o = {.always_fails = POINTS};
    struct tt_runner_report report;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    write_journal("w", GOOD "{\"point\": 2, \"number\": 1, \"comp");
    assert_int_equal(tt_journal_read(directory, NULL, POINTS, &report, &e), TT_OK);
    assert_int_equal(report.n, 1);
    assert_int_equal(report.list[0].bytes, 7);
    free(report.list);
    report = run(&o, (struct tt_runner_rules){.repeat = 1}, TT_OK);
    assert_int_equal(report.n, POINTS);
    assert_int_equal(o.n, POINTS - 1);
    free(report.list);
    /* It was cut off: all lines can be read. */
    assert_int_equal(tt_journal_read(directory, NULL, POINTS, &report, &e), TT_OK);
    assert_int_equal(report.n, POINTS);
    free(report.list);
}

static void journal_is_garbage(void **unused)
{
    static const char *const lines[] = {
        "garbage\n",
        "\n",
        "{}\n",
        "[1]\n",
        "{\"point\": 5, \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"a\", \"why\": \"\"}\n",
        "{\"point\": -1, \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"a\", \"why\": \"\"}\n",
        "{\"point\": 0, \"number\": 0, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"a\", \"why\": \"\"}\n",
        "{\"point\": 0, \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": -1, "
        "\"directory\": \"a\", \"why\": \"\"}\n",
        "{\"point\": 0, \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"../a\", \"why\": \"\"}\n",
        "{\"point\": 0, \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"/etc\", \"why\": \"\"}\n",
        "{\"point\": 0, \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"\", \"why\": \"\"}\n",
        "{\"point\": \"0\", \"number\": 1, \"complete\": true, \"seconds\": 1.0, \"bytes\": 0, "
        "\"directory\": \"a\", \"why\": \"\"}\n",
    };
    static struct owner o = {.always_fails = POINTS};
    char *many = malloc(10002);

    (void)unused;
    assert_non_null(many);
    memset(many, 'x', 10000);
    strcpy(many + 10000, "\n");
    for (size_t i = 0; i <= sizeof lines / sizeof *lines; i++) {
        const char *line = i < sizeof lines / sizeof *lines ? lines[i] : many;
        struct tt_runner_report report;
        struct tt_error e = TT_ERROR_CLEAR;

        write_journal("w", GOOD);
        write_journal("a", line);
        write_journal("a", GOOD);
        assert_int_equal(tt_journal_read(directory, NULL, POINTS, &report, &e), TT_CORRUPT);
        assert_non_null(strstr(e.text, "journal:2: is not a repetition"));
        free(report.list);
        free(run(&o, (struct tt_runner_rules){.repeat = 1}, TT_CORRUPT).list);
    }
    assert_int_equal(o.n, 0);
    free(many);
}

static void journal_is_there_for_one(void **unused)
{
    static struct owner o = {.always_fails = POINTS};
    struct tt_runner_report report;
    struct tt_error e = TT_ERROR_CLEAR;
    char path[80];
    FILE *held;

    (void)unused;
    assert_int_equal(tt_journal_read(directory, NULL, POINTS, &report, &e), TT_OK);
    assert_int_equal(report.n, 0);
    write_journal("w", "");
    snprintf(path, sizeof path, "%s/journal", directory);
    held = fopen(path, "r");
    assert_non_null(held);
    assert_int_equal(flock(fileno(held), LOCK_EX), 0);
    free(run(&o, (struct tt_runner_rules){.repeat = 1}, TT_BUSY).list);
    fclose(held);
    assert_int_equal(o.n, 0);
}

/* ---- cues ---- */

static void put(const char *name, const char *text)
{
    char path[80];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void cues_are_written_in_place(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct stat before, after;
    char path[80];

    (void)unused;
    snprintf(path, sizeof path, "%s/go", directory);
    assert_int_equal(tt_control_read(directory, TT_CONTROL_GO), 0);
    assert_int_equal(tt_control_prepare(directory, &e), TT_OK);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(tt_control_read(directory, TT_CONTROL_GO), 0);
    assert_int_equal(tt_control_write(directory, TT_CONTROL_GO, 1234567890123456789, &e), TT_OK);
    assert_true(tt_control_read(directory, TT_CONTROL_GO) == 1234567890123456789);
    assert_int_equal(tt_control_read(directory, TT_CONTROL_READY), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    /* A directory is prepared once. */
    assert_int_equal(tt_control_prepare(directory, &e), TT_FAILED);
}

static void torn_cues_are_none(void **unused)
{
    static const char *const texts[] = {"",
                                        "1",
                                        "123456789012345678",
                                        "\n",
                                        "x\n",
                                        "12x\n",
                                        "-5\n",
                                        "12\n13\n",
                                        "99999999999999999999999999\n",
                                        "1234567890123456789012345678901234567890\n"};

    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("go", texts[i]);
        assert_int_equal(tt_control_read(directory, TT_CONTROL_GO), 0);
    }
}

static void signs_of_life_and_stop(void **unused)
{
    struct tt_control_listener l = {0};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    assert_int_equal(tt_control_prepare(directory, &e), TT_OK);
    assert_int_equal(tt_control_listen(directory, &l), TT_OK);
    assert_int_equal(l.heartbeats, 0);
    /* Nothing for an hour: the driver is dead. */
    l.heard_ns = tt_now_ns() - INT64_C(3600000000000);
    assert_int_equal(tt_control_listen(directory, &l), TT_INTERRUPTED);
    assert_int_equal(tt_control_heartbeat(directory, false, &e), TT_OK);
    assert_int_equal(tt_control_heartbeat(directory, false, &e), TT_OK);
    assert_int_equal(tt_control_listen(directory, &l), TT_OK);
    assert_int_equal(l.heartbeats, 2);
    assert_int_equal(tt_control_heartbeat(directory, true, &e), TT_OK);
    assert_int_equal(tt_control_listen(directory, &l), TT_STOPPED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_round_holds_every_point_once),
        TEST(state_counts_what_is_left),
        TEST(resuming_plays_what_is_missing),
        TEST(stops_when_narrow_or_at_most),
        TEST(what_others_are_compared_with_goes_on),
        TEST(a_round_without_its_base_does_not_count),
        TEST(a_round_is_finished_by_resuming),
        TEST(point_that_always_fails_is_left),
        TEST(budget_in_bytes),
        TEST(budget_in_time),
        TEST(named_points_may_come_later),
        TEST(every_point_has_its_own_number),
        TEST(torn_last_line_is_played_again),
        TEST(journal_is_garbage),
        TEST(journal_is_there_for_one),
        TEST(cues_are_written_in_place),
        TEST(torn_cues_are_none),
        TEST(signs_of_life_and_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
