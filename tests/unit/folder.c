/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the manifest of a run lets be deleted, and what not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/folder.h"

static char folder[] = "/tmp/tutti-folder-XXXXXX";

static int make_folder(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    return !mkdtemp(folder) || tt_folder_write_text(folder, "manifest", "", &e) != TT_OK;
}

static int remove_folder(void **state)
{
    char *manifest = tt_folder_path(folder, "manifest");

    (void)state;
    unlink(manifest);
    free(manifest);
    return rmdir(folder);
}

static char *made(const char *name)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *path = tt_folder_path(folder, name);

    assert_int_equal(tt_manifest_add(folder, path, &e), TT_OK);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    return path;
}

static void only_what_is_ours(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *ours = made("ours"), *theirs = made("theirs"), *later = made("later");
    bool marks = setxattr(later, TT_DATA_MARK, "another", 7, 0) == 0;

    (void)state;
    assert_int_equal(tt_manifest_withdraw(folder, theirs, &e), TT_OK);
    assert_int_equal(tt_manifest_remove(folder, &e), TT_OK);
    assert_int_not_equal(access(ours, F_OK), 0);
    assert_int_equal(access(theirs, F_OK), 0);
    if (marks) /* not every file system has attributes */
        assert_int_equal(access(later, F_OK), 0);
    unlink(theirs);
    unlink(later);
    free(ours);
    free(theirs);
    free(later);
}

static void performed_once(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_folder_write_text(folder, "manifest", "", &e), TT_OK);
    assert_int_equal(tt_manifest_check_new(folder, 0, &e), TT_OK);
    assert_int_equal(tt_manifest_add(folder, "/somebody/thesis", &e), TT_OK);
    assert_int_equal(tt_manifest_check_new(folder, 0, &e), TT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_ours),
        cmocka_unit_test(performed_once),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
