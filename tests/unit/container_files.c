/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 5 */
/* What the conformance runs do not reach in hdf5, netcdf and pnetcdf: files that are not as they
 * should be, steps that nobody has announced, ranks that do not wait for each other, a small
 * buffer.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <mpi.h>

#include "container_fixture.h"

enum { N = 240, STEPS = 5 };

/* False if this build has no such backend. */
static bool make(struct fixture *f, const char *backend, const char *method, enum tt_policy policy)
{
    if (!fixture_make(f, backend, method, policy))
        return false;
    f->variables[0] = (struct tt_variable){
        .path = "deep/data", .element = &tt_element_i32, .ndims = 1, .dims = {N}, .per_step = true};
    return true;
}

static int value(uint64_t step, uint64_t i)
{
    return (int)(step * 100000 + i);
}

/* This rank's part of a step, written or read and compared. */
static void move(struct fixture *f, enum tt_direction direction, uint64_t step)
{
    uint64_t size = (uint64_t)f->scratch.size, first = N / size * (uint64_t)f->scratch.rank;
    uint64_t count = N / size;
    int data[N];
    struct tt_block b = {.data = data};

    for (uint64_t i = 0; i < count; i++)
        data[i] = direction == TT_WRITING ? value(step, first + i) : -1;
    tt_select_slab(&b.file, 1, f->variables[0].dims, &first, NULL, &count, NULL);
    tt_select_all(&b.memory, 1, &count);
    assert_int_equal(
        (direction == TT_WRITING ? tt_file_write : tt_file_read)(f->file, step, &b, &f->e), TT_OK);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(data[i], value(step, first + i));
}

static void write_steps(struct fixture *f)
{
    assert_int_equal(open_file(f, TT_CREATE), TT_OK);
    for (uint64_t step = 0; step < STEPS; step++) {
        assert_int_equal(tt_file_define(f->file, step, &f->e), TT_OK);
        move(f, TT_WRITING, step);
    }
}

static void reopen(struct fixture *f)
{
    assert_int_equal(tt_file_close(f->file, &f->e), TT_OK);
    assert_int_equal(open_file(f, TT_READ_ONLY), TT_OK);
}

/* A file whose definition grows, and is read in another order, before and after it was closed. */
static void unknown_steps(void **state)
{
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < 2 * WAYS; i++) {
        if (!make(&f, ways[i / 2].backend, ways[i / 2].method, i % 2 ? TT_GROUP : TT_APPEND))
            continue;
        write_steps(&f);
        assert_int_equal(tt_file_sync(f.file, &f.e), TT_OK);
        for (uint64_t step = STEPS; step-- > 0;)
            move(&f, TT_READING, step);
        reopen(&f);
        for (uint64_t step = STEPS; step-- > 0;)
            move(&f, TT_READING, step);
        assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
        fixture_free(&f);
    }
}

/* Every rank writes as often as it has to, while others do nothing. */
static void nobody_waits(void **state)
{
    struct fixture f;

    (void)state;
    for (int i = 0; i < 3; i++) {
        uint64_t one = 1;
        struct tt_block b;
        int x;

        if (!make(&f, ways[2 * i].backend, "independent", TT_APPEND))
            continue;
        f.spec.independent = true;
        assert_false(f.backend->is_collective(f.opts));
        assert_int_equal(open_file(&f, TT_CREATE), TT_OK);
        assert_int_equal(tt_file_define(f.file, 0, &f.e), TT_OK);
        b = (struct tt_block){.data = &x};
        tt_select_all(&b.memory, 1, &one);
        for (uint64_t n = 0; f.scratch.rank == 0 && n < 20; n++) {
            x = value(0, n);
            tt_select_slab(&b.file, 1, f.variables[0].dims, &n, NULL, &one, NULL);
            assert_int_equal(tt_file_write(f.file, 0, &b, &f.e), TT_OK);
            x = -1;
            assert_int_equal(tt_file_read(f.file, 0, &b, &f.e), TT_OK);
            assert_int_equal(x, value(0, n));
        }
        assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
        fixture_free(&f);
    }
}

/* Blocks of a dump wait in the buffer, all of them or so many as fit; none is lost. */
static void collected(void **state)
{
    static const uint64_t lengths[] = {100, 6000, 40000};
    struct fixture f;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    for (int l = 0; l < 3; l++) {
        uint64_t size, n = lengths[l], start, *data;
        struct tt_variable v = {"big", &tt_element_u64, 1, {0}, .max_blocks = 4};
        struct tt_block b;

        if (!make(&f, "pnetcdf", "aggregated", TT_OVERWRITE))
            return;
        fixture_set(&f, "buffer", "128k");
        size = (uint64_t)f.scratch.size;
        data = calloc(n, sizeof *data);
        v.dims[0] = 4 * n * size;
        f.spec.variables = &v;
        b = (struct tt_block){.data = data};
        tt_select_all(&b.memory, 1, &n);
        assert_int_equal(tt_file_open(&f.stack, &f.spec, &f.file, &e), TT_OK);
        assert_int_equal(tt_file_define(f.file, 0, &e), TT_OK);
        for (int d = 0; d < 2; d++)
            for (uint64_t block = 0; block < 4; block++) {
                start = (block * size + (uint64_t)f.scratch.rank) * n;
                for (uint64_t i = 0; i < n; i++)
                    data[i] = d ? 0 : start + i;
                tt_select_slab(&b.file, 1, v.dims, &start, NULL, &n, NULL);
                assert_int_equal((d ? tt_file_read : tt_file_write)(f.file, 0, &b, &e), TT_OK);
                for (uint64_t i = 0; i < n; i++)
                    assert_int_equal(data[i], start + i);
            }
        assert_int_equal(tt_file_close(f.file, &e), TT_OK);
        free(data);
        fixture_free(&f);
    }
}

static void existing_file(void **state)
{
    struct fixture f;
    struct stat s;

    (void)state;
    for (size_t i = 1; i < WAYS; i++) {
        if (!make(&f, ways[i].backend, ways[i].method, TT_OVERWRITE))
            continue;
        if (f.scratch.rank == 0)
            close(open(f.path, O_CREAT | O_WRONLY, 0600));
        MPI_Barrier(MPI_COMM_WORLD);
        assert_int_equal(open_file(&f, TT_CREATE), TT_FAILED);
        assert_int_equal(f.e.sys_errno, EEXIST); /* so that nobody deletes it */
        assert_null(f.file);
        assert_int_equal(stat(f.path, &s), 0);
        assert_int_equal(s.st_size, 0);
        /* and it is none that could be read */
        tt_error_clear(&f.e);
        assert_int_equal(open_file(&f, TT_READ_ONLY), TT_FAILED);
        assert_null(strchr(f.e.text, '\n'));
        fixture_free(&f);
    }
}

static void another_shape(void **state)
{
    struct fixture f;
    struct tt_block b = {.data = NULL};

    (void)state;
    for (size_t i = 0; i < WAYS; i++) {
        if (!make(&f, ways[i].backend, ways[i].method, TT_OVERWRITE))
            continue;
        write_steps(&f);
        f.variables[0].dims[0]--;
        reopen(&f);
        tt_select_none(&b.file, 1, f.variables[0].dims);
        b.memory = b.file;
        assert_int_equal(tt_file_read(f.file, 0, &b, &f.e), TT_FAILED);
        assert_non_null(strstr(f.e.text, "another type or shape"));
        tt_error_clear(&f.e);
        assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
        fixture_free(&f);
    }
}

/* PnetCDF itself would return what memory held. */
static void too_short(void **state)
{
    struct fixture f;
    int data[N];
    struct tt_block b = {.data = data};
    struct stat s;

    (void)state;
    if (!make(&f, "pnetcdf", "collective", TT_OVERWRITE))
        return;
    write_steps(&f);
    assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
    if (f.scratch.rank == 0 && stat(f.path, &s) == 0)
        assert_int_equal(truncate(f.path, s.st_size - 4), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(open_file(&f, TT_READ_ONLY), TT_OK);
    tt_select_all(&b.file, 1, f.variables[0].dims);
    b.memory = b.file;
    assert_int_equal(tt_file_read(f.file, 0, &b, &f.e), TT_FAILED);
    assert_non_null(strstr(f.e.text, "ends before"));
    tt_error_clear(&f.e);
    assert_int_equal(tt_file_close(f.file, &f.e), TT_OK);
    fixture_free(&f);
}

static void unannounced_step(void **state)
{
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < 2 * WAYS; i++) {
        if (!make(&f, ways[i / 2].backend, ways[i / 2].method, i % 2 ? TT_GROUP : TT_APPEND))
            continue;
        f.spec.steps = STEPS;
        write_steps(&f);
        assert_int_equal(tt_file_define(f.file, STEPS, &f.e), TT_FAILED);
        assert_non_null(strstr(f.e.text, "announced"));
        tt_error_clear(&f.e);
        tt_file_close(f.file, &f.e);
        fixture_free(&f);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_steps),    cmocka_unit_test(nobody_waits),
        cmocka_unit_test(collected),        cmocka_unit_test(existing_file),
        cmocka_unit_test(another_shape),    cmocka_unit_test(too_short),
        cmocka_unit_test(unannounced_step),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
