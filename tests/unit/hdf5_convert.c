/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* Blocks whose memory holds other records than the file, and files that are changed later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "container_fixture.h"

enum { N = 100 }; /* elements of a rank */

struct record {
    double a;
    int32_t b, c;
};
static const struct tt_field fields[] = {{"a", TT_F64, 1, offsetof(struct record, a)},
                                         {"b", TT_I32, 1, offsetof(struct record, b)},
                                         {"c", TT_I32, 1, offsetof(struct record, c)}};
static const struct tt_element record = {TT_RECORD, sizeof(struct record), 3, fields};
static const struct tt_field field_b = {"b", TT_I32, 1, 0};
static const struct tt_element only_b = {TT_RECORD, 4, 1, &field_b};

static const struct tt_backend *hdf5; /* set once, before the first test */

static void start(struct fixture *f, enum tt_access access)
{
    assert_int_equal(open_file(f, access), TT_OK);
    assert_int_equal(tt_file_define(f->file, 0, &f->e), TT_OK);
}

static void stop(struct fixture *f)
{
    assert_int_equal(tt_file_close(f->file, &f->e), TT_OK);
}

static void begin(struct fixture *f, const char *name, const struct tt_element *element)
{
    fixture_make(f, "hdf5", "collective", TT_GROUP);
    f->variables[0] = (struct tt_variable){.path = name,
                                           .element = element,
                                           .ndims = 1,
                                           .dims = {N * (uint64_t)f->scratch.size},
                                           .per_step = true};
    f->spec.step_group = "Timestep_";
    start(f, TT_CREATE);
}

static void end(struct fixture *f)
{
    stop(f);
    fixture_free(f);
}

/* This rank's elements; in memory every second one of an array twice as long if spread. */
static struct tt_block block(const struct fixture *o, void *data, const struct tt_element *memory,
                             bool spread)
{
    const uint64_t start = N * (uint64_t)o->scratch.rank, n = N, twice = 2 * N, zero = 0, two = 2;
    struct tt_block b = {.data = data, .memory_element = memory};

    tt_select_slab(&b.file, 1, o->variables[0].dims, &start, NULL, &n, NULL);
    tt_select_slab(&b.memory, 1, spread ? &twice : &n, &zero, spread ? &two : NULL, &n, NULL);
    return b;
}

static void fill(struct record *r, int n, int add)
{
    for (int i = 0; i < n; i++)
        r[i] = (struct record){add + 0.5 * i, add + i, add - i};
}

static void move(struct fixture *o, enum tt_direction direction, const struct tt_block *b)
{
    int rc = direction == TT_WRITING ? tt_file_write(o->file, 0, b, &o->e)
                                     : tt_file_read(o->file, 0, b, &o->e);

    assert_int_equal(rc, TT_OK);
}

/* Records in the file: one field at a time changes no other. */
static void a_field_of_records_in_the_file(void **unused)
{
    struct record mine[N], back[N];
    int32_t b[N], b_back[2 * N];
    struct tt_block whole, part, spread;
    struct fixture o;

    (void)unused;
    begin(&o, "records", &record);
    fill(mine, N, 1000 * o.scratch.rank);
    whole = block(&o, mine, NULL, false);
    part = block(&o, b, &only_b, false);
    spread = block(&o, b_back, &only_b, true);
    for (int i = 0; i < N; i++)
        b[i] = 7 * i;
    move(&o, TT_WRITING, &whole);
    move(&o, TT_WRITING, &part);
    whole.data = back;
    move(&o, TT_READING, &whole);
    memset(b_back, 0xee, sizeof b_back);
    move(&o, TT_READING, &spread);
    for (int i = 0; i < N; i++) {
        assert_true(back[i].a == mine[i].a && back[i].b == 7 * i && back[i].c == mine[i].c);
        assert_int_equal(b_back[2 * i], 7 * i);
        assert_int_equal((uint32_t)b_back[2 * i + 1], 0xeeeeeeeeu);
    }
    end(&o);
}

/* Numbers in the file: they are a field of records in memory, whose others are left alone. */
static void a_field_of_records_in_memory(void **unused)
{
    struct record mine[2 * N], back[2 * N];
    const struct tt_run runs[2] = {{N / 2, N / 2}, {0, N / 2}};
    struct tt_block b;
    struct fixture o;
    int32_t plain[N];

    (void)unused;
    begin(&o, "c", &tt_element_i32);
    fill(mine, 2 * N, 1000 * o.scratch.rank);
    b = block(&o, mine, &record, true);
    move(&o, TT_WRITING, &b);
    b = block(&o, plain, NULL, false);
    move(&o, TT_READING, &b);
    for (int i = 0; i < N; i++)
        assert_int_equal(plain[i], mine[2 * i].c);
    memset(back, 0xee, sizeof back);
    b = block(&o, back, &record, true);
    if (o.scratch.rank == 0) /* both halves, the second first */
        tt_select_runs(&b.file, 1, o.variables[0].dims, 2, runs);
    move(&o, TT_READING, &b);
    for (int i = 0; i < N; i++) {
        int from = o.scratch.rank == 0 ? (i + N / 2) % N : i;

        assert_int_equal(back[2 * i].c, mine[2 * from].c);
        assert_int_equal((uint32_t)back[2 * i].b, 0xeeeeeeeeu);
        assert_int_equal((uint32_t)back[2 * i + 1].c, 0xeeeeeeeeu);
    }
    end(&o);
}

static void a_field_that_is_not_there(void **unused)
{
    struct record mine[N] = {{0}};
    struct tt_block b;
    struct fixture o;

    (void)unused;
    begin(&o, "d", &tt_element_i32);
    b = block(&o, mine, &record, false);
    assert_int_equal(tt_file_write(o.file, 0, &b, &o.e), TT_UNSUPPORTED);
    tt_error_clear(&o.e);
    end(&o);
}

static void a_file_grows_later(void **unused)
{
    const uint64_t n = N;
    int32_t values[N], back[N];
    struct tt_block b;
    struct fixture o;

    (void)unused;
    begin(&o, "c", &tt_element_i32);
    stop(&o);
    o.variables[0].unlimited = true;
    o.variables[0].dims[0] *= 2;
    assert_int_equal(open_file(&o, TT_UPDATE), TT_OK); /* it was not made to grow */
    assert_int_equal(tt_file_define(o.file, 0, &o.e), TT_FAILED);
    assert_non_null(strstr(o.e.text, "cannot grow"));
    tt_error_clear(&o.e);
    tt_file_close(o.file, &o.e);
    tt_error_clear(&o.e);
    MPI_Barrier(MPI_COMM_WORLD);
    if (o.scratch.rank == 0)
        unlink(o.path);
    MPI_Barrier(MPI_COMM_WORLD);

    o.variables[0].dims[0] /= 2;
    start(&o, TT_CREATE);
    for (int i = 0; i < N; i++)
        values[i] = 1000 * o.scratch.rank + i;
    b = block(&o, values, NULL, false);
    move(&o, TT_WRITING, &b);
    stop(&o);
    o.variables[0].dims[0] *= 2;
    start(&o, TT_UPDATE);
    for (int i = 0; i < N; i++)
        values[i] = -1000 * o.scratch.rank - i;
    b = block(&o, values, NULL, false);
    b.file.start[0] += n * (uint64_t)o.scratch.size;
    move(&o, TT_WRITING, &b);
    stop(&o);
    start(&o, TT_READ_ONLY);
    b.data = back;
    move(&o, TT_READING, &b);
    assert_memory_equal(back, values, sizeof back);
    b.file.start[0] -= n * (uint64_t)o.scratch.size;
    move(&o, TT_READING, &b);
    for (int i = 0; i < N; i++)
        assert_int_equal(back[i], 1000 * o.scratch.rank + i);
    end(&o);
}

/* What a stack can do is what all of it can do. */
static void capabilities_of_a_stack(void **unused)
{
    const struct tt_backend opaque = {.submit = hdf5->submit};
    struct tt_stack stack = {.n = 2, .elements = {&opaque, hdf5}};

    (void)unused;
    assert_true(tt_stack_caps(&stack) & TT_CAP_STORES);
    assert_false(tt_stack_caps(&stack) & (TT_CAP_CONVERTS | TT_CAP_UPDATES | TT_CAP_GROWS));
    stack = (struct tt_stack){.n = 1, .elements = {hdf5}};
    assert_true(tt_stack_caps(&stack) & TT_CAP_CONVERTS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_of_records_in_the_file),
        cmocka_unit_test(a_field_of_records_in_memory),
        cmocka_unit_test(a_field_that_is_not_there),
        cmocka_unit_test(a_file_grows_later),
        cmocka_unit_test(capabilities_of_a_stack),
    };
    int failed;

    hdf5 = find_backend("hdf5");
    if (!hdf5)
        return 77;
    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
