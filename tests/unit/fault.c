/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* The fault layer on posix and on the template backend. Options come from its own table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "io/file.h"
#include "plan/registry.h"
#include "scratch.h"

#define N 1000

extern const struct tt_backend tt_backend_posix, tt_layer_fault;
static const bool odirect = false; /* posix' own option */

struct fixture {
    struct scratch scratch;
    char *path;
    struct tt_variable variable;
    struct tt_file_spec spec;
    struct tt_stack stack;
    struct tt_file *file;
    unsigned char data[N];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct tt_error e = TT_ERROR_CLEAR;

    scratch_make(&f->scratch);
    f->path = scratch_path(&f->scratch, "data");
    f->variable = (struct tt_variable){.path = "v",
                                       .element = &tt_element_u8,
                                       .ndims = 1,
                                       .dims = {(uint64_t)f->scratch.size * N},
                                       .per_step = true};
    f->spec = (struct tt_file_spec){.path = f->path,
                                    .policy = TT_APPEND,
                                    .steps = 4,
                                    .nvariables = 1,
                                    .variables = &f->variable};
    MPI_Comm_dup(MPI_COMM_WORLD, &f->spec.comm);
    f->stack = (struct tt_stack){.n = 2,
                                 .elements = {&tt_layer_fault, &tt_backend_posix},
                                 .seed = 7,
                                 .opts = {NULL, &odirect}};
    f->stack.opts[0] = calloc(1, tt_layer_fault.opts_size);
    assert_int_equal(tt_params_default(tt_layer_fault.params, (void *)f->stack.opts[0], &e), TT_OK);
    for (int i = 0; i < N; i++)
        f->data[i] = (unsigned char)(i * 7 + f->scratch.rank);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    scratch_remove(&f->scratch);
    tt_params_free(tt_layer_fault.params, (void *)f->stack.opts[0]);
    free((void *)f->stack.opts[0]);
    MPI_Comm_free(&f->spec.comm);
    free(f->path);
    free(f);
    return 0;
}

static void set(struct fixture *f, const char *key, const char *value)
{
    struct tt_error e = TT_ERROR_CLEAR;

    for (const struct tt_param *p = tt_layer_fault.params; p->key; p++)
        if (!strcmp(p->key, key)) {
            assert_int_equal(tt_param_set(p, (void *)f->stack.opts[0], value, &e), TT_OK);
            return;
        }
    fail_msg("no key %s", key);
}

static int check(struct fixture *f)
{
    struct tt_error e = TT_ERROR_CLEAR;

    return tt_layer_fault.check(f->stack.opts[0], &e);
}

static int open_file(struct fixture *f, enum tt_access access, struct tt_error *e)
{
    tt_error_clear(e);
    f->spec.access = access;
    return tt_file_open(&f->stack, &f->spec, &f->file, e);
}

static struct tt_block block(struct fixture *f, unsigned char *data)
{
    const uint64_t start = (uint64_t)f->scratch.rank * N, n = N;
    struct tt_block b = {.data = data};

    tt_select_slab(&b.file, 1, f->variable.dims, &start, NULL, &n, NULL);
    tt_select_all(&b.memory, 1, &n);
    return b;
}

static int write_step(struct fixture *f, uint64_t step, struct tt_error *e)
{
    struct tt_block b = block(f, f->data);

    tt_error_clear(e);
    return tt_file_write(f->file, step, &b, e);
}

/* Bits in which a step in the file differs from the data; nothing is injected below. */
static int wrong_bits(struct fixture *f, uint64_t step)
{
    struct tt_stack plain = {.n = 1, .elements = {f->stack.elements[1]}, .opts = {&odirect}};
    struct tt_error e = TT_ERROR_CLEAR;
    unsigned char back[N];
    struct tt_block b = block(f, back);
    struct tt_file *file;
    int bits = 0;

    f->spec.access = TT_READ_ONLY;
    assert_int_equal(tt_file_open(&plain, &f->spec, &file, &e), TT_OK);
    assert_int_equal(tt_file_read(file, step, &b, &e), TT_OK);
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    for (int i = 0; i < N; i++)
        bits += __builtin_popcount(back[i] ^ f->data[i]);
    return bits;
}

static void nth_write_fails(void **state)
{
    struct fixture *f = *state;
    struct tt_error e;

    set(f, "nth", "2");
    set(f, "action", "enospc");
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    assert_int_equal(write_step(f, 0, &e), TT_OK);
    assert_int_equal(write_step(f, 1, &e), TT_FAILED);
    assert_int_equal(e.sys_errno, ENOSPC);
    assert_string_equal(e.call, "write");
    assert_string_equal(e.file, f->path);
    assert_int_equal(write_step(f, 2, &e), TT_OK);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static void only_the_named_rank_fails(void **state)
{
    struct fixture *f = *state;
    bool last = f->scratch.rank == f->scratch.size - 1;
    char text[16];
    struct tt_error e;

    snprintf(text, sizeof text, "%d", f->scratch.size - 1);
    set(f, "nth", "1");
    set(f, "rank", text);
    assert_int_equal(check(f), TT_OK);
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    assert_int_equal(write_step(f, 0, &e), last ? TT_FAILED : TT_OK);
    tt_error_clear(&e);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static void every_kind_of_call_can_fail(void **state)
{
    static const char *const calls[] = {"define", "sync", "close"};
    struct fixture *f = *state;
    struct tt_error e;

    set(f, "nth", "1");
    set(f, "call", "open");
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_FAILED);
    assert_string_equal(e.call, "open");
    assert_null(f->file);
    f->spec.access = TT_READ_ONLY; /* it is there: what failed is the call, not the making */
    for (int i = 0; i < 3; i++) {
        int defined, synced, closed;

        /* the options count on; every round is a new run */
        tt_params_free(tt_layer_fault.params, (void *)f->stack.opts[0]);
        memset((void *)f->stack.opts[0], 0, tt_layer_fault.opts_size);
        tt_params_default(tt_layer_fault.params, (void *)f->stack.opts[0], &e);
        set(f, "nth", "1");
        set(f, "call", calls[i]);
        assert_int_equal(open_file(f, TT_READ_ONLY, &e), TT_OK);
        defined = tt_file_define(f->file, 0, &e);
        synced = tt_file_sync(f->file, &e);
        closed = tt_file_close(f->file, &e);
        assert_int_equal(defined, i == 0 ? TT_FAILED : TT_OK);
        assert_int_equal(synced, i == 1 ? TT_FAILED : TT_OK);
        assert_int_equal(closed, i == 2 ? TT_FAILED : TT_OK);
        assert_string_equal(e.call, calls[i]);
    }
}

static void counting_goes_on_over_files(void **state)
{
    struct fixture *f = *state;
    struct tt_error e;

    set(f, "nth", "2");
    set(f, "call", "open");
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
    assert_int_equal(open_file(f, TT_READ_ONLY, &e), TT_FAILED);
    assert_int_equal(open_file(f, TT_READ_ONLY, &e), TT_OK);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static void posix_recovers(void **state)
{
    static const char *const actions[] = {"eintr", "short"};
    struct fixture *f = *state;
    struct tt_error e;

    set(f, "rate", "1");
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    for (uint64_t i = 0; i < 2; i++) {
        set(f, "action", actions[i]);
        assert_int_equal(write_step(f, i, &e), TT_OK);
        assert_int_equal(wrong_bits(f, i), 0);
    }
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static void others_see_a_short_write(void **state)
{
    struct fixture *f = *state;
    struct tt_error e = TT_ERROR_CLEAR;
    int bits;

    f->stack.elements[1] = tt_find_backend("template", &e);
    assert_non_null(f->stack.elements[1]);
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    /* making the file, by rank 0 alone, is a part of its open */
    assert_int_equal(f->file->below->made_ns > 0, f->scratch.rank == 0);
    assert_true(f->file->below->open_ns > f->file->below->made_ns);
    for (int i = 0; i < N; i++)
        f->data[i] ^= 0xff;
    assert_int_equal(write_step(f, 0, &e), TT_OK);
    for (int i = 0; i < N; i++)
        f->data[i] ^= 0xff;
    set(f, "rate", "1");
    set(f, "action", "short");
    assert_int_equal(write_step(f, 0, &e), TT_FAILED);
    assert_non_null(strstr(e.text, "short write"));
    bits = wrong_bits(f, 0);
    assert_int_equal(bits, N / 2 * 8); /* the second half still has the old content */
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static void flip_changes_one_bit(void **state)
{
    struct fixture *f = *state;
    unsigned char before[N], back[N];
    struct tt_block b = block(f, back);
    struct tt_error e;
    int bits = 0;

    memcpy(before, f->data, N);
    set(f, "nth", "1");
    set(f, "action", "flip");
    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    assert_int_equal(write_step(f, 0, &e), TT_OK);
    assert_int_equal(write_step(f, 1, &e), TT_OK);
    assert_memory_equal(before, f->data, N); /* a write never changes the caller's data */
    assert_int_equal(wrong_bits(f, 0), 1);
    assert_int_equal(wrong_bits(f, 1), 0);
    set(f, "call", "read");
    set(f, "nth", "0");
    set(f, "rate", "1");
    assert_int_equal(tt_file_read(f->file, 1, &b, &e), TT_OK);
    for (int i = 0; i < N; i++)
        bits += __builtin_popcount(back[i] ^ f->data[i]);
    assert_int_equal(bits, 1);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

static int failures_of(struct fixture *f, uint64_t seed, unsigned char *which)
{
    struct tt_error e;
    int failed = 0;

    f->stack.seed = seed;
    assert_int_equal(open_file(f, TT_READ_ONLY, &e), TT_OK);
    for (int i = 0; i < 200; i++) {
        tt_error_clear(&e);
        which[i] = tt_file_sync(f->file, &e) != TT_OK;
        failed += which[i];
    }
    tt_error_clear(&e);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
    return failed;
}

static void rate_is_drawn_from_the_seed(void **state)
{
    struct fixture *f = *state;
    unsigned char one[200], other[200];
    struct tt_error e;

    assert_int_equal(open_file(f, TT_CREATE, &e), TT_OK);
    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
    set(f, "call", "sync");
    set(f, "rate", "0.25");
    /* Drawn from a fixed seed, so always the same number; far from none and all of 200. */
    assert_in_range(failures_of(f, 1, one), 20, 90);
    assert_in_range(failures_of(f, 2, other), 20, 90);
    assert_memory_not_equal(one, other, sizeof one);
}

static void nonsense_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(check(f), TT_OK);
    set(f, "rank", "some");
    assert_int_equal(check(f), TT_USAGE);
    set(f, "rank", "3");
    assert_int_equal(check(f), TT_OK);
    set(f, "rate", "1.5");
    assert_int_equal(check(f), TT_USAGE);
    set(f, "rate", "0");
    set(f, "call", "sync");
    set(f, "action", "flip");
    assert_int_equal(check(f), TT_USAGE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nth_write_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_named_rank_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(every_kind_of_call_can_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(counting_goes_on_over_files, setup, teardown),
        cmocka_unit_test_setup_teardown(posix_recovers, setup, teardown),
        cmocka_unit_test_setup_teardown(others_see_a_short_write, setup, teardown),
        cmocka_unit_test_setup_teardown(flip_changes_one_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(rate_is_drawn_from_the_seed, setup, teardown),
        cmocka_unit_test_setup_teardown(nonsense_is_refused, setup, teardown),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
