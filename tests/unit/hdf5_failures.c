/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 5 */
/* What goes wrong outside of HDF5 comes back as one clear error, and the program still ends. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <mpi.h>

#include "container_fixture.h"

enum { ELEMENTS = 1 << 19 }; /* 4 MiB, more than the small disk holds */

static const char *small_disk; /* NULL if it cannot be made */
static int failed_before;      /* tests */

/* In a directory that need not be the fixture's own. */
static void make(struct fixture *f, const char *directory, const char *method,
                 enum tt_policy policy)
{
    fixture_make(f, "hdf5", method, policy);
    f->variables[0] = (struct tt_variable){.path = "data",
                                           .element = &tt_element_f64,
                                           .ndims = 1,
                                           .dims = {ELEMENTS},
                                           .per_step = true};
    if (directory)
        snprintf(f->path, SCRATCH_PATH, "%s/failure.h5", directory);
}

static void drop(struct fixture *f)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (f->scratch.rank == 0)
        unlink(f->path);
    fixture_free(f);
}

static void missing_directory(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, "no-such-directory", "collective", TT_OVERWRITE);
    assert_int_equal(open_file(&f, TT_CREATE), TT_FAILED);
    assert_int_equal(f.e.sys_errno, ENOENT);
    tt_error_clear(&f.e);
    assert_int_equal(open_file(&f, TT_READ_ONLY), TT_FAILED);
    assert_int_equal(f.e.sys_errno, ENOENT);
    drop(&f);
}

static void not_hdf5(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, NULL, "collective", TT_OVERWRITE);
    if (f.scratch.rank == 0)
        close(open(f.path, O_CREAT | O_WRONLY, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(open_file(&f, TT_READ_ONLY), TT_FAILED);
    assert_string_equal(f.e.call, "H5Fopen");
    assert_null(strchr(f.e.text, '\n'));
    drop(&f);
}

/* Write every rank's part of a step; ranks agree as the engine lets them. */
static int dump(struct fixture *f, uint64_t step)
{
    const uint64_t *dims = f->variables[0].dims;
    uint64_t first = dims[0] * (uint64_t)f->scratch.rank / (uint64_t)f->scratch.size;
    uint64_t n = dims[0] * (uint64_t)(f->scratch.rank + 1) / (uint64_t)f->scratch.size - first;
    struct tt_block b = {.data = calloc(n, sizeof(double))};
    int rc = tt_agree(MPI_COMM_WORLD, tt_file_define(f->file, step, &f->e), &f->e);

    tt_select_slab(&b.file, 1, dims, &first, NULL, &n, NULL);
    tt_select_all(&b.memory, 1, &n);
    if (rc == TT_OK)
        rc = tt_agree(MPI_COMM_WORLD, tt_file_write(f->file, step, &b, &f->e), &f->e);
    free(b.data);
    return rc;
}

/* As the engine does it, also after a failure that only some ranks know of. */
static int ask_and_close(struct fixture *f)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_facts facts = {0};

    tt_file_query(f->file, &facts, &ignored);
    tt_facts_free(&facts);
    return tt_file_close(f->file, &f->e);
}

static void full_disk(void **state)
{
    static const char *const methods[] = {"collective", "independent"};

    (void)state;
    if (!small_disk)
        skip();
    for (int i = 0; i < 4; i++) {
        struct fixture f;
        int rc;

        make(&f, small_disk, methods[i % 2], i / 2 ? TT_APPEND : TT_OVERWRITE);
        assert_int_equal(open_file(&f, TT_CREATE), TT_OK);
        rc = dump(&f, 0);
        if (rc == TT_OK) /* MPI may have kept it to itself */
            rc = tt_agree(MPI_COMM_WORLD, tt_file_sync(f.file, &f.e), &f.e);
        assert_int_equal(rc, TT_FAILED);
        ask_and_close(&f);
        assert_int_equal(f.e.sys_errno, ENOSPC);
        assert_null(strchr(f.e.text, '\n'));
        drop(&f);
    }
}

/* The data just fits, and HDF5 finds no place for its metadata: known before it tries. */
static void full_at_close(void **state)
{
    struct fixture f;

    (void)state;
    if (!small_disk)
        skip();
    make(&f, small_disk, "independent", TT_GROUP);
    f.variables[0].dims[0] = ((1 << 20) - 8192) / sizeof(double);
    assert_int_equal(open_file(&f, TT_CREATE), TT_OK);
    assert_int_equal(dump(&f, 0), TT_OK);
    assert_int_equal(ask_and_close(&f), TT_FAILED);
    assert_int_equal(f.e.sys_errno, ENOSPC);
    drop(&f);
}

static void read_only_disk(void **state)
{
    struct fixture f;

    (void)state;
    if (!small_disk)
        skip();
    make(&f, small_disk, "collective", TT_OVERWRITE);
    assert_true(everywhere(f.scratch.rank != 0 ||
                           mount(NULL, small_disk, NULL, MS_REMOUNT | MS_RDONLY, "size=1m") == 0));
    assert_int_equal(open_file(&f, TT_CREATE), TT_FAILED);
    assert_int_equal(f.e.sys_errno, EROFS);
    assert_true(everywhere(f.scratch.rank != 0 ||
                           mount(NULL, small_disk, NULL, MS_REMOUNT, "size=1m") == 0));
    drop(&f);
}

/* Over MPICH a rank whose own part was written waits in HDF5 for the others, who have failed. Then
 * the last resort has to end the job, with the reason known. */
static void end_stuck_job(const struct tt_error *e)
{
    bool right = e->sys_errno == ENOSPC && !strchr(e->text, '\n');

    printf("SKIP: HDF5 keeps a rank in a collective call after a full disk\n");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, right && !failed_before ? 77 : 1);
}

/* A disk of 1 MiB in a name space of rank 0, which vanishes with it; the others reach it through
 * its root directory. False if that is not allowed. */
static bool make_small_disk(char *directory, size_t size)
{
    int rank, pid = (int)getpid(), rc = 0;
    char own[64];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(own, sizeof own, "/tmp/tutti_unit_%d", pid);
    snprintf(directory, size, "/proc/%d/root%s", pid, own);
    if (rank == 0)
        rc = mkdir(own, 0700) || unshare(CLONE_NEWNS) ||
             mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
             mount("tmpfs", own, "tmpfs", 0, "size=1m");
    MPI_Barrier(MPI_COMM_WORLD);
    return everywhere(rc == 0 && access(directory, W_OK) == 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_directory),
        cmocka_unit_test(not_hdf5),
        cmocka_unit_test(full_at_close),
        cmocka_unit_test(read_only_disk),
    };
    const struct CMUnitTest last[] = {cmocka_unit_test(full_disk)};
    const struct tt_last_resort resort = {10, end_stuck_job};
    char directory[128];
    int failed;

    if (!find_backend("hdf5"))
        return 77;
    MPI_Init(&argc, &argv);
    small_disk = make_small_disk(directory, sizeof directory) ? directory : NULL;
    failed_before = cmocka_run_group_tests(tests, NULL, NULL);
    tt_agree_last_resort(&resort);
    failed = cmocka_run_group_tests(last, NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    umount2(directory, MNT_DETACH); /* on one rank; the others have no such mount */
    rmdir(directory);
    MPI_Finalize();
    return failed_before || failed;
}
