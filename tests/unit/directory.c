/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the manifest of a run lets be deleted, and what not. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/node_cache.h"
#include "plan/directory.h"
#include "plan/removal.h"

#define ID "20261116T151448Z-0123abcd"

static char base[] = "/tmp/tutti-directory-XXXXXX", *directory;

static int make_directory(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    if (!mkdtemp(base) || !(directory = tt_directory_path(base, ID)) || mkdir(directory, 0700) != 0)
        return -1;
    return tt_directory_write_text(directory, "manifest", "", &e);
}

static int remove_directory(void **state)
{
    char *manifest = tt_directory_path(directory, "manifest");
    int rc;

    (void)state;
    unlink(manifest);
    free(manifest);
    rc = rmdir(directory);
    free(directory);
    return rc | rmdir(base);
}

static void put(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

    assert_true(fd >= 0);
    close(fd);
}

/* Claimed, made and listed, as a run does. */
static char *made(const char *name)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_identity identity;
    char *path = tt_directory_path(directory, name);

    assert_int_equal(tt_manifest_claim(directory, TT_MADE_FILE, path, &e), TT_OK);
    put(path);
    assert_int_equal(tt_identify(path, TT_MADE_FILE, ID, tt_place_here(), 0, &identity), TT_OK);
    assert_int_equal(tt_manifest_made(directory, TT_MADE_FILE, path, &identity, &e), TT_OK);
    return path;
}

static void replace(const char *path)
{
    char *before = NULL;

    /* The old one stays, so that its inode is not used again. */
    assert_true(asprintf(&before, "%s.old", path) > 0);
    assert_int_equal(rename(path, before), 0);
    put(path);
    unlink(before);
    free(before);
}

static void only_what_is_ours(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *ours = made("ours"), *theirs = made("theirs"), *later = made("later"),
         *replaced = made("replaced"), *unproven = tt_directory_path(directory, "unproven");
    bool marks = setxattr(later, TT_DATA_MARK, "20261116T151448Z-0123abce", 25, 0) == 0;

    (void)state;
    assert_int_equal(tt_manifest_leave(directory, TT_MADE_FILE, theirs, &e), TT_OK);
    assert_int_equal(tt_manifest_claim(directory, TT_MADE_FILE, unproven, &e), TT_OK);
    put(unproven);
    replace(replaced);
    assert_int_equal(tt_manifest_remove(directory, &e), TT_FAILED);
    assert_non_null(strstr(e.text, "left alone"));
    assert_int_not_equal(access(ours, F_OK), 0);
    assert_int_equal(access(theirs, F_OK), 0);
    assert_int_equal(access(replaced, F_OK), 0);
    assert_int_equal(access(unproven, F_OK), 0);
    if (marks) /* not every file system has attributes */
        assert_int_equal(access(later, F_OK), 0);
    tt_error_clear(&e); /* it has been told */
    assert_int_equal(tt_manifest_remove(directory, &e), TT_OK);
    for (char **p = (char *[]){ours, theirs, later, replaced, unproven, NULL}; *p; p++) {
        unlink(*p);
        free(*p);
    }
}

/* A file that was made again, at the same path, is the one that was made last. */
static void made_again(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *first = made("again"), *second;

    (void)state;
    unlink(first);
    second = made("again");
    assert_int_equal(tt_manifest_remove(directory, &e), TT_OK);
    assert_int_not_equal(access(second, F_OK), 0);
    free(first);
    free(second);
}

static char *in(const char *path, const char *name)
{
    char *out;

    assert_true(asprintf(&out, "%s/%s", path, name) > 0);
    return out;
}

/* A directory that stands for one file, with what a library makes in it. */
static char *made_bundle(const char *name, struct tt_identity *identity)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *path = tt_directory_path(directory, name), *deeper = in(path, "deeper"),
         *file = in(path, "data.0"), *inner = in(deeper, "md.idx");

    assert_int_equal(tt_manifest_claim(directory, TT_MADE_BUNDLE, path, &e), TT_OK);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(tt_identify(path, TT_MADE_BUNDLE, ID, tt_place_here(), 0, identity), TT_OK);
    assert_int_equal(tt_manifest_made(directory, TT_MADE_BUNDLE, path, identity, &e), TT_OK);
    assert_int_equal(mkdir(deeper, 0700), 0);
    put(file);
    put(inner);
    free(deeper);
    free(file);
    free(inner);
    return path;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* Everything in it goes, but only with the directory that was made, and never what a link names. */
static void bundles_go_whole(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_identity identity;
    char *ours = made_bundle("ours.bp", &identity), *replaced = made_bundle("theirs.bp", &identity),
         *linked = made_bundle("linked.bp", &identity), *old, *content, *link, *thesis;

    (void)state;
    old = tt_directory_path(directory, "old.bp");
    thesis = tt_directory_path(directory, "thesis");
    assert_int_equal(rename(replaced, old), 0);
    assert_int_equal(mkdir(replaced, 0700), 0);
    content = in(replaced, "data.0");
    link = in(linked, "link");
    put(content);
    put(thesis);
    assert_int_equal(symlink(thesis, link), 0);
    assert_int_equal(tt_manifest_remove(directory, &e), TT_FAILED);
    assert_non_null(strstr(e.text, "left alone"));
    assert_int_not_equal(access(ours, F_OK), 0);
    assert_int_equal(access(content, F_OK), 0);
    assert_int_equal(access(thesis, F_OK), 0);
    assert_int_equal(access(linked, F_OK), 0);
    unlink(thesis);
    for (char **p = (char *[]){replaced, linked, old, NULL}; *p; p++)
        assert_int_equal(nftw(*p, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    for (char **p = (char *[]){ours, replaced, linked, old, content, link, thesis, NULL}; *p; p++)
        free(*p);
}

static void every_byte(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_made_list all;
    char path[258] = "/", *half;
    int fd;

    (void)state;
    assert_int_equal(tt_directory_write_text(directory, "manifest", "", &e), TT_OK);
    for (int c = 1; c < 256; c++)
        path[c] = (char)c;
    assert_int_equal(tt_manifest_claim(directory, TT_MADE_DIRECTORY, "/a b", &e), TT_OK);
    assert_int_equal(tt_manifest_claim(directory, TT_MADE_FILE, path, &e), TT_OK);
    half = tt_directory_path(directory, "manifest");
    fd = open(half, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "claim file 0 /thes", 18), 18); /* its writer died */
    close(fd);
    free(half);
    assert_int_equal(tt_manifest_read(directory, &all, &e), TT_OK);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.list[0].path, path);
    assert_string_equal(all.list[1].path, "/a b");
    assert_int_equal(all.list[1].kind, TT_MADE_DIRECTORY);
    tt_manifest_free(&all);
}

static void no_line_of_ours(void **state)
{
    static const char *const lines[] = {
        "/thesis\n",
        "claim file 0 thesis\n",
        "claim file 0 /thesis x\n",
        "claim file x /thesis\n",
        "claim fifo 0 /thesis\n",
        "claim file 0 /the%0\n",
        "claim file 0 /the%00sis\n",
        "made file 1 2 3 /thesis\n",
        "made file 1 2 3 -4 /thesis\n",
        "leave file 0 /thesis\n",
        "\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_made_list all;

        assert_int_equal(tt_directory_write_text(directory, "manifest", lines[i], &e), TT_OK);
        assert_int_equal(tt_manifest_read(directory, &all, &e), TT_CORRUPT);
        assert_int_equal(all.n, 0);
        tt_manifest_free(&all);
    }
}

/* A finished file, of which some may be only in a cache. */
static void no_marked_target_is_replaced(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_owner owner = {.id = ID, .place = tt_place_here()};
    char *path = made("cached");

    (void)state;
    tt_mark_finished(
        &owner, &(struct tt_made){.kind = TT_MADE_FILE, .path = path, .identity = {.place = 0}});
    if (tt_node_cache_set_mark(path, "/cache", true) == 0) {
        assert_int_equal(tt_remove_finished(path, &e), TT_BUSY);
        assert_non_null(strstr(e.text, "may be only in '/cache'"));
        tt_error_clear(&e);
        assert_int_equal(tt_node_cache_set_mark(path, "/cache", false), 0);
        assert_int_equal(tt_node_cache_check_spared(path, &e), TT_OK);
        assert_int_equal(tt_node_cache_check_target(path, &e), TT_FAILED);
        assert_non_null(strstr(e.text, "only in '/cache'"));
        tt_error_clear(&e);
        assert_int_equal(tt_node_cache_set_mark(path, "/cache", true), 0);
        assert_int_equal(setxattr(path, TT_NODE_CACHE_CONVERTED, "yes", 3, 0), 0);
        assert_int_equal(tt_remove_finished(path, &e), TT_OK);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    unlink(path);
    free(path);
}

static void one_form_of_ids(void **state)
{
    (void)state;
    assert_true(tt_id_is_valid(ID));
    assert_false(tt_id_is_valid(""));
    assert_false(tt_id_is_valid("thesis"));
    assert_false(tt_id_is_valid(ID "0"));
    assert_false(tt_id_is_valid("20261116T151448Z-0123ABCD"));
    assert_false(tt_id_is_valid("../61116T151448Z-0123abcd"));
    assert_false(tt_id_is_valid("20261116T151448Z-0123abc"));
}

static void performed_once(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_directory_write_text(directory, "manifest", "", &e), TT_OK);
    assert_int_equal(tt_manifest_check_new(directory, &e), TT_OK);
    assert_int_equal(tt_manifest_claim(directory, TT_MADE_FILE, "/somebody/thesis", &e), TT_OK);
    assert_int_equal(tt_manifest_check_new(directory, &e), TT_USAGE);
}

/* Bounds, names and places change nothing of what is measured. */
static void what_plans_are_matched_by(void **unused)
{
    json_t *a = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "stencil.size", "32", "max_time", "0",
                          "max_bytes", "0", "min_free", "20%", "patience", "30", "label", "x");
    json_t *b = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "stencil.size", "32", "max_time", "60",
                          "max_bytes", "1", "min_free", "0", "patience", "5", "dir", "/data");
    const char *key = NULL;

    (void)unused;
    assert_true(tt_parameters_hash(a) == tt_parameters_hash(b));
    assert_int_equal(tt_parameters_differ(a, b, 1, &key), 0);
    json_object_set_new(b, "sync", json_string("never"));
    assert_true(tt_parameters_hash(a) != tt_parameters_hash(b));
    assert_int_equal(tt_parameters_differ(a, b, 1, &key), 1);
    assert_string_equal(key, "sync");
    json_decref(a);
    json_decref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_ours),
        cmocka_unit_test(made_again),
        cmocka_unit_test(bundles_go_whole),
        cmocka_unit_test(every_byte),
        cmocka_unit_test(no_line_of_ours),
        cmocka_unit_test(one_form_of_ids),
        cmocka_unit_test(no_marked_target_is_replaced),
        cmocka_unit_test(performed_once),
        cmocka_unit_test(what_plans_are_matched_by),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
