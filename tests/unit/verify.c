/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* The verify layer on posix: what it finds, what it leaves behind, and how that is read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>
#include <xxhash.h>

#include "io/layers/verify/ledger.h"
#include "io/layers/verify/check.h"
#include "plan/registry.h"
#include "scratch.h"

#define ROWS 8
#define COLUMNS 5

extern const struct tt_backend tt_backend_posix, tt_layer_verify;
static const bool odirect = false; /* posix' own option */

struct fixture {
    struct scratch scratch;
    char *path;
    struct tt_variable variables[2];
    struct tt_file_spec spec;
    struct tt_stack stack;
    struct tt_file *file;
    double data[ROWS * COLUMNS];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    scratch_make(&f->scratch);
    f->path = scratch_path(&f->scratch, "data");
    f->variables[0] = (struct tt_variable){
        .path = "fixed", .element = &tt_element_f64, .ndims = 1, .dims = {ROWS * 2}};
    f->variables[1] = (struct tt_variable){.path = "field",
                                           .element = &tt_element_f64,
                                           .ndims = 2,
                                           .dims = {ROWS * 2, COLUMNS},
                                           .per_step = true};
    f->spec = (struct tt_file_spec){.path = f->path,
                                    .policy = TT_APPEND,
                                    .steps = 3,
                                    .nvariables = 2,
                                    .variables = f->variables};
    MPI_Comm_dup(MPI_COMM_WORLD, &f->spec.comm);
    f->stack = (struct tt_stack){.n = 2,
                                 .elements = {&tt_layer_verify, &tt_backend_posix},
                                 .opts = {NULL, &odirect},
                                 .directory = f->scratch.directory};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    scratch_remove(&f->scratch);
    MPI_Comm_free(&f->spec.comm);
    free(f->path);
    free(f);
    return 0;
}

/* Rows [first, first + count) of this rank's half. */
static struct tt_block rows(struct fixture *f, uint64_t first, uint64_t count)
{
    uint64_t start[2] = {(uint64_t)f->scratch.rank * ROWS + first, 0}, n[2] = {count, COLUMNS};
    struct tt_block b = {.variable = 1, .data = f->data};

    tt_select_slab(&b.file, 2, f->variables[1].dims, start, NULL, n, NULL);
    tt_select_all(&b.memory, 2, n);
    return b;
}

static void fill(struct fixture *f, double value)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        f->data[i] = value + i + 1000.0 * f->scratch.rank;
}

static void open_for(struct fixture *f, enum tt_access access)
{
    struct tt_error e = TT_ERROR_CLEAR;

    f->spec.access = access;
    assert_int_equal(tt_file_open(&f->stack, &f->spec, &f->file, &e), TT_OK);
}

static void close_file(struct fixture *f)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static void write_steps(struct fixture *f, uint64_t steps)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block b = rows(f, 0, ROWS);

    for (uint64_t step = 0; step < steps; step++) {
        fill(f, (double)step);
        assert_int_equal(tt_file_define(f->file, step, &e), TT_OK);
        assert_int_equal(tt_file_write(f->file, step, &b, &e), TT_OK);
    }
}

/* Change a byte of the last rank's part of a step. */
static void tamper(struct fixture *f, uint64_t step)
{
    off_t at = (off_t)(tt_raw_offset(&f->spec, 1, step, 1) +
                       (uint64_t)f->scratch.size * ROWS * COLUMNS * sizeof(double) - 3);
    char byte;
    int fd;

    MPI_Barrier(MPI_COMM_WORLD);
    if (f->scratch.rank == 0) {
        fd = open(f->path, O_RDWR);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reads_are_compared(void **state)
{
    struct fixture *f = *state;
    struct tt_block b = rows(f, 0, ROWS), part = rows(f, 2, 3);
    bool last = f->scratch.rank == f->scratch.size - 1;
    struct tt_error e = TT_ERROR_CLEAR;

    open_for(f, TT_CREATE);
    write_steps(f, 3);
    assert_int_equal(tt_file_read(f->file, 1, &b, &e), TT_OK);
    tamper(f, 1);
    assert_int_equal(tt_file_read(f->file, 0, &b, &e), TT_OK);
    assert_int_equal(tt_file_read(f->file, 1, &part, &e), TT_OK); /* never written like this */
    assert_int_equal(tt_file_read(f->file, 1, &b, &e), last ? TT_CORRUPT : TT_OK);
    if (last)
        assert_non_null(strstr(e.text, "variable 'field', step 1"));
    close_file(f);
}

static void reopened_files_are_compared(void **state)
{
    struct fixture *f = *state;
    struct tt_block b = rows(f, 0, ROWS);
    bool last = f->scratch.rank == f->scratch.size - 1;
    struct tt_error e = TT_ERROR_CLEAR;

    open_for(f, TT_CREATE);
    write_steps(f, 3);
    close_file(f);
    tamper(f, 2);
    open_for(f, TT_READ_ONLY);
    assert_int_equal(tt_file_read(f->file, 1, &b, &e), TT_OK);
    assert_int_equal(tt_file_read(f->file, 2, &b, &e), last ? TT_CORRUPT : TT_OK);
    close_file(f);
}

static void directory_is_verified(void **state)
{
    struct fixture *f = *state;
    bool last = f->scratch.rank == f->scratch.size - 1;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_verify_report report;

    open_for(f, TT_CREATE);
    write_steps(f, 3);
    close_file(f);
    assert_int_equal(
        tt_verify_directory(MPI_COMM_WORLD, &f->stack, f->scratch.directory, NULL, &report, &e),
        TT_OK);
    assert_int_equal(report.blocks, 3);
    assert_int_equal(report.bytes, 3 * sizeof f->data);
    assert_int_equal(report.wrong_blocks, 0);

    tamper(f, 1);
    assert_int_equal(
        tt_verify_directory(MPI_COMM_WORLD, &f->stack, f->scratch.directory, NULL, &report, &e),
        TT_CORRUPT);
    assert_int_equal(report.wrong_blocks, last);
    assert_int_equal(e.rank, f->scratch.size - 1);
    assert_non_null(strstr(e.text, "variable 'field', step 1"));
}

static void new_steps_replace_old_ones(void **state)
{
    struct fixture *f = *state;
    struct tt_block first = rows(f, 0, 4), second = rows(f, 2, 6);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_verify_report report;

    f->spec.policy = TT_OVERWRITE;
    open_for(f, TT_CREATE);
    write_steps(f, 3);
    fill(f, 50);
    assert_int_equal(tt_file_write(f->file, 3, &first, &e), TT_OK);
    fill(f, 60);
    assert_int_equal(tt_file_write(f->file, 4, &second, &e), TT_OK);
    close_file(f);
    /* step 4 covers part of all others: only it can be known */
    assert_int_equal(
        tt_verify_directory(MPI_COMM_WORLD, &f->stack, f->scratch.directory, NULL, &report, &e),
        TT_OK);
    assert_int_equal(report.blocks, 1);
    assert_int_equal(report.bytes, 6 * COLUMNS * sizeof(double));
}

static void missing_ledger_is_noticed(void **state)
{
    struct fixture *f = *state;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_verify_report report;
    char *path;

    assert_int_equal(
        tt_verify_directory(MPI_COMM_WORLD, &f->stack, f->scratch.directory, NULL, &report, &e),
        TT_FAILED);
    tt_error_clear(&e);
    open_for(f, TT_CREATE);
    write_steps(f, 1);
    close_file(f);
    path = tt_ledger_path(f->scratch.directory, f->scratch.size - 1, f->path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (f->scratch.rank == 0)
        assert_int_equal(unlink(path), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    free(path);
    if (f->scratch.size > 1)
        assert_int_equal(
            tt_verify_directory(MPI_COMM_WORLD, &f->stack, f->scratch.directory, NULL, &report, &e),
            TT_CORRUPT);
}

static void selections_are_kept_once(void **state)
{
    struct fixture *f = *state;
    uint64_t dims = 100, n = 3;
    struct tt_run runs[2][2] = {{{10, 2}, {50, 1}}, {{50, 1}, {10, 2}}};
    struct tt_ledger l;

    f->variables[1].ndims = 1;
    f->variables[1].dims[0] = dims;
    assert_int_equal(tt_ledger_start(&l, 0, 1, &f->spec), TT_OK);
    for (uint64_t step = 0; step < 100; step++)
        for (int k = 0; k < 2; k++) {
            struct tt_block b = {.variable = 1, .data = f->data};

            tt_select_runs(&b.file, 1, &dims, 2, runs[k]);
            tt_select_all(&b.memory, 1, &n);
            assert_int_equal(tt_ledger_note(&l, step, &b, step), TT_OK);
            assert_int_equal(tt_ledger_find(&l, step, &b)->hash, step);
        }
    assert_int_equal(l.nselections, 2);
    assert_int_equal(l.nentries, 200);
    tt_ledger_free(&l);
}

/* A small ledger with all kinds of selections and a record; its image in *image. */
static size_t make_ledger(struct fixture *f, const char *path, unsigned char **image)
{
    static const struct tt_field fields[] = {{"x", TT_F64, 1, 0}, {"tag", TT_CHAR, 8, 8}};
    static const struct tt_element record = {TT_RECORD, 16, 2, fields};
    const struct tt_run runs[] = {{3, 2}, {9, 1}};
    struct tt_block b = rows(f, 1, 2);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ledger l;
    size_t n;
    FILE *in;

    f->variables[0].element = &record;
    assert_int_equal(tt_ledger_start(&l, 0, 1, &f->spec), TT_OK);
    assert_int_equal(tt_ledger_note(&l, 0, &b, 1), TT_OK);
    tt_select_runs(&b.file, 2, f->variables[1].dims, 2, runs);
    assert_int_equal(tt_ledger_note(&l, 1, &b, 2), TT_OK);
    b.variable = 0;
    tt_select_all(&b.file, 1, f->variables[0].dims);
    assert_int_equal(tt_ledger_note(&l, 0, &b, 3), TT_OK);
    assert_int_equal(tt_ledger_save(&l, path, &e), TT_OK);
    tt_ledger_free(&l);

    *image = malloc(65536);
    in = fopen(path, "rb");
    n = fread(*image, 1, 65536, in);
    fclose(in);
    return n;
}

static int load_image(const char *path, const unsigned char *image, size_t n)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ledger l;
    FILE *out = fopen(path, "wb");
    int rc;

    assert_int_equal(fwrite(image, 1, n, out), n);
    fclose(out);
    rc = tt_ledger_load(&l, path, &e);
    if (rc == TT_OK)
        tt_ledger_free(&l);
    assert_int_equal(rc, e.code);
    return rc;
}

static void garbage_is_refused(void **state)
{
    struct fixture *f = *state;
    char *path = scratch_path(&f->scratch, "ledger.ttv");
    unsigned char *image;
    uint64_t sum;
    size_t n;

    if (f->scratch.rank == 0) {
        n = make_ledger(f, path, &image);
        assert_int_equal(load_image(path, image, n), TT_OK);
        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(load_image(path, image, cut), TT_CORRUPT);
        for (size_t i = 0; i < n; i++) {
            image[i] ^= 0x40;
            assert_int_equal(load_image(path, image, n), TT_CORRUPT);
            image[i] ^= 0x40;
        }
        /* With a right checksum every word may be anything: refused or harmless. */
        for (size_t i = 0; i + 8 < n; i += 8)
            for (int k = 0; k < 4; k++) {
                static const uint64_t words[] = {0, UINT64_MAX, INT64_MAX, 5};
                uint64_t old;

                memcpy(&old, image + i, 8);
                memcpy(image + i, &words[k], 8);
                sum = XXH3_64bits(image, n - 8);
                memcpy(image + n - 8, &sum, 8);
                load_image(path, image, n);
                memcpy(image + i, &old, 8);
            }
        free(image);
    }
    free(path);
}

/* Where reals may lose a part, samples are compared, also by a ledger that was loaded. */
static void samples_are_compared_within_the_loss(void **state)
{
    struct fixture *f = *state;
    struct tt_block b = rows(f, 0, ROWS);
    struct tt_error e = TT_ERROR_CLEAR;
    char *path = scratch_path(&f->scratch, f->scratch.rank == 0 ? "ledger.0" : "ledger.1");
    struct tt_ledger l, loaded;

    fill(f, 1);
    f->data[7] = NAN;
    assert_int_equal(tt_ledger_start(&l, 0, 1, &f->spec), TT_OK);
    l.loss = 0.25;
    for (uint64_t step = 0; step < 20; step++)
        assert_int_equal(tt_ledger_note(&l, step, &b, 0), TT_OK);
    assert_int_equal(tt_ledger_save(&l, path, &e), TT_OK);
    assert_int_equal(tt_ledger_load(&loaded, path, &e), TT_OK);
    f->data[3] += 0.25;
    assert_true(tt_ledger_agrees(&l, tt_ledger_find(&l, 19, &b), &b));
    assert_true(tt_ledger_agrees(&loaded, tt_ledger_find(&loaded, 19, &b), &b));
    f->data[3] += 0.125;
    assert_false(tt_ledger_agrees(&loaded, tt_ledger_find(&loaded, 19, &b), &b));
    f->data[3] -= 0.25;
    f->data[7] = 0;
    assert_false(tt_ledger_agrees(&loaded, tt_ledger_find(&loaded, 0, &b), &b));
    tt_ledger_free(&l);
    tt_ledger_free(&loaded);
    unlink(path);
    free(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_are_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(reopened_files_are_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(directory_is_verified, setup, teardown),
        cmocka_unit_test_setup_teardown(new_steps_replace_old_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_ledger_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(selections_are_kept_once, setup, teardown),
        cmocka_unit_test_setup_teardown(garbage_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(samples_are_compared_within_the_loss, setup, teardown),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
