/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes and content of files, what is found in a directory, and what the page cache holds. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "node/page_cache.h"
#include "workloads/reader/reader.h"

enum { MIB = 1 << 20 };

/* As many files between 1 KiB and 32 KiB as between 32 KiB and 1 MiB. */
static void sizes_are_spread_over_magnitudes(void **unused)
{
    const struct tt_reader_options o = {.size = 1 << 10, .size_max = 1 << 20};
    const struct tt_reader_options equal = {.size = 12345};
    int small = 0, n = 20000;

    (void)unused;
    for (int i = 0; i < n; i++) {
        uint64_t size = tt_reader_size(&o, 1, (uint64_t)i);

        assert_in_range(size, o.size, o.size_max);
        small += size < 1 << 15;
        assert_int_equal(tt_reader_size(&equal, 1, (uint64_t)i), 12345);
    }
    assert_in_range(small, n / 2 - n / 50, n / 2 + n / 50);
    assert_int_equal(tt_reader_size(&o, 7, 5), tt_reader_size(&o, 7, 5));
    assert_int_not_equal(tt_reader_size(&o, 7, 5), tt_reader_size(&o, 8, 5));
}

static void content_does_not_depend_on_pieces(void **unused)
{
    unsigned char whole[1001], piece[1001], other[1001];

    (void)unused;
    tt_reader_fill(3, 9, 0, whole, sizeof whole);
    tt_reader_fill(3, 9, 0, piece, 504);
    tt_reader_fill(3, 9, 504, piece + 504, sizeof piece - 504);
    assert_memory_equal(whole, piece, sizeof whole);
    tt_reader_fill(3, 10, 0, other, sizeof other);
    assert_memory_not_equal(whole, other, 8);
    tt_reader_fill(4, 9, 0, other, sizeof other);
    assert_memory_not_equal(whole, other, 8);
}

static void put(const char *directory, const char *name, size_t bytes)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i < bytes; i++)
        fputc('x', f);
    assert_int_equal(fclose(f), 0);
}

static void remove_in(const char *directory, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(remove(path), 0);
}

static void a_directory_is_listed(void **unused)
{
    char directory[] = "reader-XXXXXX", below[64], link[64];
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_reader_list list;
    const char *names[] = {"a", "below/c", "z"}, *at;

    (void)unused;
    assert_non_null(mkdtemp(directory));
    snprintf(below, sizeof below, "%s/below", directory);
    snprintf(link, sizeof link, "%s/link", directory);
    assert_int_equal(mkdir(below, 0777), 0);
    assert_int_equal(tt_reader_list(directory, &list, &e), TT_FAILED);
    assert_non_null(strstr(e.text, "holds no files"));
    free(list.paths);
    put(directory, "z", 3);
    put(directory, "a", 0);
    put(below, "c", 5000);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    tt_error_clear(&e);
    assert_int_equal(tt_reader_list(directory, &list, &e), TT_OK);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.bytes, 5003);
    at = list.paths;
    for (int i = 0; i < 3; i++, at += strlen(at) + 1)
        assert_string_equal(at + strlen(directory) + 1, names[i]);
    assert_int_equal(at - list.paths, list.length);
    free(list.paths);
    for (int i = 0; i < 3; i++)
        remove_in(directory, names[i]);
    remove_in(directory, "link");
    remove_in(directory, "below");
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(tt_reader_list(directory, &list, &e), TT_FAILED);
    free(list.paths);
}

/* For the rest of this process the kernel is one that has no cachestat. */
static bool forget_cachestat(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 451, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void the_cache_is_seen_and_emptied(void **unused)
{
    char path[] = "reader-XXXXXX", buffer[4096];
    int fd = mkstemp(path);
    struct statfs fs;
    int64_t resident;

    (void)unused;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fstatfs(fd, &fs), 0);
    for (int i = 0; i < MIB / (int)sizeof buffer; i++) {
        memset(buffer, i, sizeof buffer);
        assert_int_equal(write(fd, buffer, sizeof buffer), sizeof buffer);
    }
    assert_int_equal(write(fd, "tail", 4), 4);
    resident = tt_cache_resident(fd, MIB + 4);
    if (resident < 0)
        skip();
    assert_int_equal(resident, MIB + 4);
    assert_int_equal(tt_cache_evict(fd, "file", &(struct tt_error)TT_ERROR_CLEAR), TT_OK);
    if (fs.f_type != TMPFS_MAGIC)
        assert_int_equal(tt_cache_resident(fd, MIB + 4), 0);
    assert_int_equal(pread(fd, buffer, 1, 0), 1);
    assert_in_range(tt_cache_resident(fd, MIB + 4), 1, MIB + 4);
    close(fd);
}

static void mincore_sees_it_too(void **unused)
{
    if (!forget_cachestat())
        skip();
    the_cache_is_seen_and_emptied(unused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_spread_over_magnitudes),
        cmocka_unit_test(content_does_not_depend_on_pieces),
        cmocka_unit_test(a_directory_is_listed),
        cmocka_unit_test(the_cache_is_seen_and_emptied),
        cmocka_unit_test(mincore_sees_it_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
