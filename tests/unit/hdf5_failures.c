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

#include "base/agree.h"
#include "plan/registry.h"

enum { ELEMENTS = 1 << 19 }; /* 4 MiB, more than the small disk holds */

static const struct tt_backend *hdf5; /* set once, before the first test */
static const char *small_disk;        /* NULL if it cannot be made */
static int failed_before;             /* tests */

struct fixture {
    struct tt_stack stack;
    struct tt_variable variable;
    struct tt_file_spec spec;
    struct tt_file *file;
    struct tt_error e;
    char path[256];
    void *opts;
    int rank, size;
};

static bool everywhere(bool mine)
{
    int in = mine, all;

    MPI_Allreduce(&in, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static void fixture_make(struct fixture *f, const char *directory, const char *method,
                         enum tt_policy policy)
{
    memset(f, 0, sizeof *f);
    tt_error_clear(&f->e);
    MPI_Comm_rank(MPI_COMM_WORLD, &f->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &f->size);
    f->opts = calloc(1, hdf5->opts_size);
    assert_int_equal(tt_params_default(hdf5->params, f->opts, &f->e), TT_OK);
    assert_int_equal(tt_param_set(&hdf5->params[0], f->opts, method, &f->e), TT_OK);
    f->stack = (struct tt_stack){.n = 1, .elements = {hdf5}, .opts = {f->opts}};
    f->variable = (struct tt_variable){.path = "data",
                                       .element = &tt_element_f64,
                                       .ndims = 1,
                                       .dims = {ELEMENTS},
                                       .per_step = true};
    snprintf(f->path, sizeof f->path, "%s/failure_%d.h5", directory, f->size);
    f->spec = (struct tt_file_spec){f->path, MPI_COMM_WORLD, TT_CREATE, policy, 0, 1, &f->variable};
    if (f->rank == 0)
        unlink(f->path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fixture_free(struct fixture *f)
{
    tt_params_free(hdf5->params, f->opts);
    free(f->opts);
    MPI_Barrier(MPI_COMM_WORLD);
    if (f->rank == 0)
        unlink(f->path);
}

static void existing_file(void **state)
{
    struct fixture f;
    struct stat s;

    (void)state;
    fixture_make(&f, ".", "collective", TT_OVERWRITE);
    if (f.rank == 0)
        close(open(f.path, O_CREAT | O_WRONLY, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_FAILED);
    assert_int_equal(f.e.sys_errno, EEXIST); /* so that nobody deletes it */
    assert_null(f.file);
    assert_int_equal(stat(f.path, &s), 0);
    assert_int_equal(s.st_size, 0);
    fixture_free(&f);
}

static void missing_directory(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, "no-such-directory", "collective", TT_OVERWRITE);
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_FAILED);
    assert_int_equal(f.e.sys_errno, ENOENT);
    f.spec.access = TT_READ_ONLY;
    tt_error_clear(&f.e);
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_FAILED);
    assert_int_equal(f.e.sys_errno, ENOENT);
    fixture_free(&f);
}

static void not_hdf5(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, ".", "collective", TT_OVERWRITE);
    if (f.rank == 0)
        close(open(f.path, O_CREAT | O_WRONLY, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    f.spec.access = TT_READ_ONLY;
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_FAILED);
    assert_string_equal(f.e.call, "H5Fopen");
    assert_null(strchr(f.e.text, '\n'));
    fixture_free(&f);
}

static void other_shape(void **state)
{
    struct fixture f;
    double x = 0;
    struct tt_block b = {.data = &x};

    (void)state;
    fixture_make(&f, ".", "collective", TT_OVERWRITE);
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_OK);
    assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
    f.spec.access = TT_READ_ONLY;
    f.variable.dims[0]--;
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_OK);
    tt_select_none(&b.file, 1, f.variable.dims);
    b.memory = b.file;
    assert_int_equal(tt_file_read(f.file, 0, &b, &f.e), TT_FAILED);
    assert_non_null(strstr(f.e.text, "another type or shape"));
    tt_error_clear(&f.e);
    assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
    fixture_free(&f);
}

/* Write every rank's part of a step; ranks agree as the engine lets them. */
static int dump(struct fixture *f, uint64_t step)
{
    const uint64_t *dims = f->variable.dims;
    uint64_t first = dims[0] * (uint64_t)f->rank / (uint64_t)f->size;
    uint64_t n = dims[0] * (uint64_t)(f->rank + 1) / (uint64_t)f->size - first;
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

        fixture_make(&f, small_disk, methods[i % 2], i / 2 ? TT_APPEND : TT_OVERWRITE);
        assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_OK);
        rc = dump(&f, 0);
        if (rc == TT_OK) /* MPI may have kept it to itself */
            rc = tt_agree(MPI_COMM_WORLD, tt_file_sync(f.file, &f.e), &f.e);
        assert_int_equal(rc, TT_FAILED);
        ask_and_close(&f);
        assert_int_equal(f.e.sys_errno, ENOSPC);
        assert_null(strchr(f.e.text, '\n'));
        fixture_free(&f);
    }
}

/* The data just fits, and HDF5 finds no place for its metadata: known before it tries. */
static void full_at_close(void **state)
{
    struct fixture f;

    (void)state;
    if (!small_disk)
        skip();
    fixture_make(&f, small_disk, "independent", TT_GROUP);
    f.variable.dims[0] = ((1 << 20) - 8192) / sizeof(double);
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_OK);
    assert_int_equal(dump(&f, 0), TT_OK);
    assert_int_equal(ask_and_close(&f), TT_FAILED);
    assert_int_equal(f.e.sys_errno, ENOSPC);
    fixture_free(&f);
}

static void read_only_disk(void **state)
{
    struct fixture f;

    (void)state;
    if (!small_disk)
        skip();
    fixture_make(&f, small_disk, "collective", TT_OVERWRITE);
    assert_true(everywhere(f.rank != 0 ||
                           mount(NULL, small_disk, NULL, MS_REMOUNT | MS_RDONLY, "size=1m") == 0));
    assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &f.e), TT_FAILED);
    assert_int_equal(f.e.sys_errno, EROFS);
    assert_true(
        everywhere(f.rank != 0 || mount(NULL, small_disk, NULL, MS_REMOUNT, "size=1m") == 0));
    fixture_free(&f);
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
        cmocka_unit_test(existing_file), cmocka_unit_test(missing_directory),
        cmocka_unit_test(not_hdf5),      cmocka_unit_test(other_shape),
        cmocka_unit_test(full_at_close), cmocka_unit_test(read_only_disk),
    };
    const struct CMUnitTest last[] = {cmocka_unit_test(full_disk)};
    const struct tt_last_resort resort = {10, end_stuck_job};
    char directory[128];
    int failed;

    hdf5 = tt_find_backend("hdf5", &(struct tt_error)TT_ERROR_CLEAR);
    if (!hdf5)
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
