/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records left by main threads and written by another one, or by whoever is left of a node: every
 * one is there once, in order, also when a rank is told to end in the middle, and when those that
 * write are killed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/pool.h"
#include "plan/directory.h"
#include "record/memory.h"
#include "record/recorder.h"

enum { RECORDS = 50000, RANKS = 3 };

static char directory[] = "/tmp/tutti-recorder-XXXXXX";

/* Instead of the library's: what happens when a long chunk has just been written, but is not said
 * to be there. */
static void (*after_long_write)(void);

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    ssize_t done = syscall(SYS_pwrite64, fd, data, n, at);
    void (*now)(void) = after_long_write;

    if (now && n > TT_MEMORY_BUFFER) {
        after_long_write = NULL;
        now();
    }
    return done;
}

/* So many attempts to lock find a file system that cannot. */
static int without_locks;

int fcntl(int fd, int command, ...)
{
    va_list more;
    void *argument;

    va_start(more, command);
    argument = va_arg(more, void *);
    va_end(more);
    if (command == F_OFD_SETLK && without_locks > 0) {
        without_locks--;
        errno = ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

static int64_t flush(void *recorder, bool last)
{
    tt_recorder_flush(recorder, last);
    return tt_now_ns() + 100000;
}

static struct tt_recorder *open_rank(int rank, int size, bool writes)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r;

    assert_int_equal(
        tt_recorder_open(directory, &(struct tt_recorder_how){rank, size, writes, NULL, 0}, &r, &e),
        TT_OK);
    return r;
}

static void record_all(struct tt_recorder *r)
{
    for (uint64_t i = 1; i <= RECORDS; i++) {
        tt_recorder_iteration(r, &(struct tt_iteration_record){.iteration = i});
        if (i % 10 == 0)
            tt_recorder_epoch(r, &(struct tt_epoch_record){.epoch = i / 10});
    }
}

static struct tt_recorder *begin(struct tt_ticker **ticker)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r = open_rank(0, 1, true);

    assert_int_equal(tt_ticker_start(ticker, flush, r, &e), TT_OK);
    record_all(r);
    return r;
}

static char *path_of_node(void)
{
    static char path[256];
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/records/%s.ttr", directory, host);
    return path;
}

/* Nothing stays in memory, of this directory. */
static void expect_no_memory(void)
{
    DIR *d = opendir("/dev/shm");
    struct dirent *entry;

    while (d && (entry = readdir(d)))
        assert_null(strstr(entry->d_name, tt_directory_id(directory)));
    if (d)
        closedir(d);
}

static void expect_rank(const struct tt_rank_records *r, enum tt_rank_state state, size_t more)
{
    assert_int_equal(r->header.state, state);
    assert_int_equal(r->niterations, RECORDS + more);
    assert_int_equal(r->nepochs, RECORDS / 10);
    for (size_t i = 0; i < r->niterations; i++)
        assert_int_equal(r->iterations[i].iteration, i + 1);
    for (size_t i = 0; i < r->nepochs; i++)
        assert_int_equal(r->epochs[i].epoch, i + 1);
}

/* Reads everything back, and removes it. */
static void load_and_remove(struct tt_node_records *all)
{
    struct tt_error e = TT_ERROR_CLEAR;

    expect_no_memory();
    assert_int_equal(tt_records_load(path_of_node(), all, &e), TT_OK);
    assert_false(all->truncated);
    assert_int_equal(unlink(path_of_node()), 0);
}

static void expect_all(enum tt_rank_state state, size_t more)
{
    struct tt_node_records all;

    load_and_remove(&all);
    assert_int_equal(all.nranks, 1);
    expect_rank(&all.ranks[0], state, more);
    tt_records_unload(&all);
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

/* ---- several ranks, each a process ---- */

/* Records everything and is killed, by itself, at whatever it does. */
static pid_t start_rank(int rank, bool writes)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct tt_recorder *r = open_rank(rank, RANKS, writes);

        record_all(r);
        kill(getpid(), SIGKILL);
    }
    assert_true(pid > 0);
    return pid;
}

static void expect_ranks(enum tt_rank_state last)
{
    struct tt_node_records all;
    unsigned seen = 0;

    load_and_remove(&all);
    assert_int_equal(all.nranks, RANKS);
    for (size_t i = 0; i < RANKS; i++) {
        bool is_last = all.ranks[i].header.rank == RANKS - 1;

        expect_rank(&all.ranks[i], is_last ? last : TT_RANK_RUNNING, 0);
        seen |= 1U << all.ranks[i].header.rank;
    }
    assert_int_equal(seen, (1 << RANKS) - 1);
    tt_records_unload(&all);
}

static void the_last_rank_writes_for_the_killed(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r = open_rank(RANKS - 1, RANKS, false);
    pid_t pids[] = {start_rank(0, true), start_rank(1, false)};

    (void)unused;
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    record_all(r);
    assert_int_equal(tt_recorder_close(r, TT_RANK_DONE, &e), TT_OK);
    expect_ranks(TT_RANK_DONE);
}

static void whoever_looks_collects_from_the_killed(void **unused)
{
    struct tt_records_header h = {.rank = 1};
    pid_t pids[RANKS];

    (void)unused;
    gethostname(h.host, sizeof h.host - 1);
    for (int i = 0; i < RANKS; i++)
        pids[i] = start_rank(i, i == 0);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    assert_false(tt_records_are_held(directory, &h));
    tt_records_collect(directory);
    expect_ranks(TT_RANK_RUNNING);
    tt_records_collect(directory); /* there is nothing, so nothing happens */
}

/* At any instant somebody may be killed while it writes: another goes on, and all is there once. */
static void a_killed_writer_loses_and_repeats_nothing(void **unused)
{
    enum { ROUNDS = 40 };
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r = open_rank(0, 2, true);
    struct tt_node_records all;

    (void)unused;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        pid_t pid;

        for (uint64_t k = 1; k <= 500; k++)
            tt_recorder_iteration(r, &(struct tt_iteration_record){.iteration = 500 * (i - 1) + k});
        pid = fork();
        if (pid == 0)
            for (;;) /* another process, which has no rank */
                tt_records_collect(directory);
        tt_sleep_until(tt_now_ns() + (int64_t)(i * 7919 % 2000) * 1000);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    assert_true(tt_records_are_held(directory, tt_recorder_header(r)));
    assert_int_equal(tt_recorder_close(r, TT_RANK_DONE, &e), TT_OK);
    load_and_remove(&all);
    assert_int_equal(all.ranks[0].niterations, 500 * ROUNDS);
    for (size_t i = 0; i < all.ranks[0].niterations; i++)
        assert_int_equal(all.ranks[0].iterations[i].iteration, i + 1);
    tt_records_unload(&all);
}

/* ---- interrupted in the middle of a move ---- */

static struct tt_recorder *interrupted;

static void be_told_to_end(void)
{
    tt_recorder_terminate(interrupted, NULL);
    _exit(0);
}

static void be_killed(void)
{
    kill(getpid(), SIGKILL);
}

/* A rank that leaves a chunk that is longer than all that others write after it. */
static void end_in_a_long_write(int rank, bool writes, void (*how)(void))
{
    enum { LENGTH = 10 * TT_MEMORY_BUFFER };
    pid_t pid = fork();

    if (pid == 0) {
        char *text = calloc(1, LENGTH + 1);

        interrupted = open_rank(rank, 2, writes);
        memset(text, 'x', LENGTH);
        after_long_write = how;
        record_all(interrupted);
        tt_recorder_json(interrupted, json_pack("{s:s}", "text", text));
        _exit(1);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_a_move_left_half_is_cut_off(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_node_records all;
    struct tt_recorder *r;

    (void)unused;
    end_in_a_long_write(0, true, be_told_to_end);
    expect_all(TT_RANK_TERMINATED, 0);
    r = open_rank(0, 2, true);
    record_all(r);
    end_in_a_long_write(1, false, be_killed);
    assert_int_equal(tt_recorder_close(r, TT_RANK_DONE, &e), TT_OK);
    load_and_remove(&all);
    assert_int_equal(all.nranks, 2);
    expect_rank(&all.ranks[0], TT_RANK_DONE, 0);
    expect_rank(&all.ranks[1], TT_RANK_RUNNING, 0);
    tt_records_unload(&all);
}

/* ---- where the memory is ---- */

static size_t count_memory_in(const char *where)
{
    DIR *d = opendir(where);
    struct dirent *entry;
    size_t n = 0;

    while (d && (entry = readdir(d)))
        n += !strncmp(entry->d_name, "tutti-", 6);
    if (d)
        closedir(d);
    return n;
}

/* In a process of its own: another /dev/shm, which is too small for records. */
static void hide_memory(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=64k") != 0)
        _exit(77);
}

static void use_temporary_directory(void)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r;

    hide_memory();
    setenv("TMPDIR", "/nonexistent", 1);
    if (tt_recorder_open(directory, &(struct tt_recorder_how){.size = 1, .writes = true}, &r, &e) !=
            TT_FAILED ||
        !strstr(e.text, "set TMPDIR"))
        _exit(1);
    setenv("TMPDIR", directory, 1);
    r = open_rank(0, 1, true);
    if (count_memory_in(directory) != 1 || count_memory_in("/dev/shm") != 0)
        _exit(2);
    record_all(r);
    _exit(tt_recorder_close(r, TT_RANK_DONE, &e) == TT_OK && count_memory_in(directory) == 0 ? 0
                                                                                             : 3);
}

static void a_small_dev_shm_is_left_for_tmpdir(void **unused)
{
    pid_t pid = fork();
    int status = 0;

    (void)unused;
    if (pid == 0)
        use_temporary_directory();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 77)
        skip(); /* nobody but root may mount */
    assert_int_equal(status, 0);
    expect_all(TT_RANK_DONE, 0);
}

static void a_place_without_locks_is_left_for_tmpdir(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const char *before = getenv("TMPDIR");
    struct tt_recorder *r;

    (void)unused;
    without_locks = 1;
    setenv("TMPDIR", directory, 1);
    r = open_rank(0, 1, true);
    assert_int_equal(count_memory_in(directory), 1);
    expect_no_memory();
    record_all(r);
    assert_int_equal(tt_recorder_close(r, TT_RANK_DONE, &e), TT_OK);
    assert_int_equal(count_memory_in(directory), 0);
    expect_all(TT_RANK_DONE, 0);
    without_locks = 2;
    assert_int_equal(
        tt_recorder_open(directory, &(struct tt_recorder_how){.size = 1, .writes = true}, &r, &e),
        TT_FAILED);
    assert_non_null(strstr(e.text, strerror(ENOSYS)));
    assert_int_equal(count_memory_in(directory), 0);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
}

static void look_without_memory(const struct tt_records_header *h)
{
    struct tt_records_header later = *h, dead = *h, before = *h;

    hide_memory();
    later.start_monotonic_ns = 0; /* the process began after it */
    before.start_wall_ns = 0;     /* so did the node */
    dead.pid = (uint32_t)fork();
    if (dead.pid == 0)
        _exit(0);
    _exit(tt_records_are_held(directory, h) && !tt_records_are_held(directory, &later) &&
                  !tt_records_are_held(directory, &before) &&
                  waitpid((pid_t)dead.pid, NULL, 0) == (pid_t)dead.pid &&
                  !tt_records_are_held(directory, &dead)
              ? 0
              : 1);
}

static void a_rank_whose_memory_is_hidden_runs(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r = open_rank(0, 1, true);
    pid_t pid = fork();
    int status = 0;

    (void)unused;
    if (pid == 0)
        look_without_memory(tt_recorder_header(r));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    record_all(r);
    assert_int_equal(tt_recorder_close(r, TT_RANK_DONE, &e), TT_OK);
    expect_all(TT_RANK_DONE, 0);
    if (WEXITSTATUS(status) == 77)
        skip(); /* nobody but root may mount */
    assert_int_equal(status, 0);
}

static void a_directory_is_the_same_by_any_name(void **unused)
{
    char link[sizeof directory + 8], slash[sizeof directory + 8];
    const char *const names[] = {slash, link, "."};

    (void)unused;
    snprintf(link, sizeof link, "%s-link", directory);
    snprintf(slash, sizeof slash, "%s/", directory);
    assert_int_equal(symlink(directory, link), 0);
    assert_int_equal(chdir(directory), 0);
    for (int i = 0; i < 3; i++) {
        pid_t pid = start_rank(0, true);

        assert_int_equal(waitpid(pid, NULL, 0), pid);
        tt_records_collect(names[i]);
        expect_all(TT_RANK_RUNNING, 0);
    }
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(unlink(link), 0);
}

/* ---- what the node adds up ---- */

static void latencies_and_rates_are_the_nodes(void **unused)
{
    static struct tt_histogram calls[TT_NCALLS];
    static struct tt_timeline lines[2];
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_recorder *r[RANKS];
    struct tt_node_records all;
    char large[3 * TT_AREA_CHUNKS];
    json_t *text;

    (void)unused;
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    tt_histogram_add(&calls[TT_CALL_WRITE], 1000);
    tt__timeline_spread(&lines[1], 0, 1000, 10);
    text = json_pack("{s:s}", "text", large);
    for (int i = 0; i < RANKS; i++)
        r[i] = open_rank(i, RANKS, i == 0);
    for (int i = RANKS - 1; i >= 0; i--) {
        tt_recorder_calls(r[i], calls);
        tt_recorder_timelines(r[i], lines);
        tt_recorder_json(r[i], text);
        assert_int_equal(tt_recorder_close(r[i], TT_RANK_DONE, &e), TT_OK);
    }
    load_and_remove(&all);
    assert_int_equal(all.calls[TT_CALL_WRITE].total, RANKS);
    assert_int_equal(all.timelines[1].slots[0].bytes, 10 * RANKS);
    for (int i = 0; i < RANKS; i++)
        assert_true(json_equal(all.ranks[i].summary, text));
    tt_records_unload(&all);
    json_decref(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_there_once_and_in_order),
        cmocka_unit_test(a_rank_that_is_told_to_end_loses_none),
        cmocka_unit_test(the_last_rank_writes_for_the_killed),
        cmocka_unit_test(whoever_looks_collects_from_the_killed),
        cmocka_unit_test(a_killed_writer_loses_and_repeats_nothing),
        cmocka_unit_test(what_a_move_left_half_is_cut_off),
        cmocka_unit_test(a_small_dev_shm_is_left_for_tmpdir),
        cmocka_unit_test(a_place_without_locks_is_left_for_tmpdir),
        cmocka_unit_test(a_rank_whose_memory_is_hidden_runs),
        cmocka_unit_test(a_directory_is_the_same_by_any_name),
        cmocka_unit_test(latencies_and_rates_are_the_nodes),
    };
    char records[64];
    int failed;

    if (!mkdtemp(directory))
        return 1;
    snprintf(records, sizeof records, "%s/records", directory);
    if (mkdir(records, 0700) != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(records);
    rmdir(directory);
    return failed;
}
