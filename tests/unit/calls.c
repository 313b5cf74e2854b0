/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the system refused is told once the library has come back, whether that saw it or not. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/calls.h"

/* An open that the system refused, in a directory of a library. */
static int refused_open(const char *path, int flags)
{
    errno = EACCES;
    return tt_calls_opened("open", path, flags, -1);
}

static int refused(enum tt_call_kind kind, const struct stat *st)
{
    errno = EIO;
    return tt_calls_refused("a call", kind, st, -1);
}

static int judge(const char *path, struct tt_error *e)
{
    static const struct tt_backend backend = {.name = "library"};
    struct tt_file_spec spec = {.path = path};
    struct tt_file file = {.backend = &backend, .spec = &spec};

    *e = (struct tt_error)TT_ERROR_CLEAR;
    return tt_calls_judge(&file, TT_OK, true, e);
}

static void opens_for_writing_are_hidden(void **state)
{
    static const char path[] = "/nowhere/data.bp";
    struct tt_error e;
    int fd;

    (void)state;
    tt_calls_begin(path);
    tt_calls_hide(path);
    assert_int_equal(refused_open("/nowhere/data.bp/md.0", O_RDONLY), -1);
    assert_int_equal(refused_open("/nowhere/data.bpx", O_WRONLY), -1); /* of others */
    assert_int_equal(judge(path, &e), TT_OK);
    for (int made = 0; made < 2; made++) {
        fd = refused_open("/nowhere/data.bp/md.0", made ? O_WRONLY | O_CREAT : O_WRONLY);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "x", 1), 1);
        close(fd);
        assert_int_equal(judge(path, &e), TT_FAILED);
        assert_int_equal(e.sys_errno, EACCES);
    }
    tt_calls_end(path);
}

/* An open that is hidden takes a place for a file, and these are fewer. */
static void an_open_without_a_place_is_not_hidden(void **state)
{
    enum { FILES = 100 };
    char paths[FILES][32];
    struct tt_error e;
    int hidden = 0;

    (void)state;
    for (int i = 0; i < FILES; i++) {
        int fd;

        snprintf(paths[i], sizeof paths[i], "/nowhere/%d", i);
        tt_calls_begin(paths[i]);
        tt_calls_hide(paths[i]);
        fd = refused_open(paths[i], O_WRONLY | O_CREAT);
        if (fd >= 0)
            close(fd);
        hidden += fd >= 0;
    }
    assert_true(hidden > 0 && hidden < FILES);
    for (int i = 0; i < FILES; i++)
        hidden -= judge(paths[i], &e) == TT_FAILED;
    assert_int_equal(hidden, 0);
    for (int i = 0; i < FILES; i++)
        tt_calls_end(paths[i]);
}

static void what_has_no_place_in_the_list_is_not_hidden(void **state)
{
    static const char path[] = "/nowhere/data";
    int fd = memfd_create("data", MFD_CLOEXEC);
    struct tt_error e;
    struct stat st;

    (void)state;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(refused(TT_CLOSED, &st), -1); /* nobody knows it */
    tt_calls_begin(path);
    tt_calls_hide(path);
    assert_int_equal(tt_calls_opened("open", path, O_WRONLY | O_CREAT, fd), fd);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(refused(TT_ENDED, &st), -1);
    assert_int_equal(refused(TT_CLOSED, &st), -1);
    assert_int_equal(judge(path, &e), TT_FAILED);
    for (int i = 0; i < 1000; i++) /* the first one speaks for them */
        assert_int_equal(refused(TT_CLOSED, &st), 0);
    assert_int_equal(judge(path, &e), TT_FAILED);
    assert_int_equal(e.sys_errno, EIO);
    tt_calls_end(path);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_for_writing_are_hidden),
        cmocka_unit_test(an_open_without_a_place_is_not_hidden),
        cmocka_unit_test(what_has_no_place_in_the_list_is_not_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
