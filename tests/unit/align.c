/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* The layout layer on posix: where the bytes really lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/file.h"
#include "scratch.h"

#define ALIGNMENT 4096
#define N 10

extern const struct tt_backend tt_backend_posix, tt_backend_discard, tt_layer_align,
    tt_layer_throttle;
static const bool odirect = false; /* posix' own option */

static int32_t value(unsigned variable, uint64_t step, uint64_t element)
{
    return (int32_t)(1000000 * variable + 10000 * step + element);
}

static void write_all(const struct tt_stack *stack, struct tt_file_spec *spec, int rank)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;

    spec->access = TT_CREATE;
    assert_int_equal(tt_file_open(stack, spec, &file, &e), TT_OK);
    for (uint64_t step = 0; step < spec->steps; step++) {
        assert_int_equal(tt_file_define(file, step, &e), TT_OK);
        for (unsigned v = 0; v < spec->nvariables; v++) {
            const uint64_t start = (uint64_t)rank * N, n = N;
            int32_t data[N];
            struct tt_block b = {.variable = v, .data = data};

            for (uint64_t i = 0; i < N; i++)
                data[i] = value(v, step, start + i);
            tt_select_slab(&b.file, 1, spec->variables[v].dims, &start, NULL, &n, NULL);
            tt_select_all(&b.memory, 1, &n);
            assert_int_equal(tt_file_write(file, step, &b, &e), TT_OK);
        }
    }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
}

static void starts_are_multiples(void **state)
{
    const uint64_t size = ALIGNMENT;
    struct tt_stack stack = {
        .n = 2, .elements = {&tt_layer_align, &tt_backend_posix}, .opts = {&size, &odirect}};
    struct tt_variable variables[2];
    struct tt_file_spec spec = {
        .policy = TT_APPEND, .steps = 3, .nvariables = 2, .variables = variables};
    struct scratch s;
    char *path;

    (void)state;
    assert_int_equal(sizeof size, tt_layer_align.opts_size);
    scratch_make(&s);
    spec.path = path = scratch_path(&s, "data");
    for (unsigned v = 0; v < 2; v++)
        variables[v] = (struct tt_variable){.path = v ? "b" : "a",
                                            .element = &tt_element_i32,
                                            .ndims = 1,
                                            .dims = {(uint64_t)s.size * N},
                                            .per_step = true};
    MPI_Comm_dup(MPI_COMM_WORLD, &spec.comm);
    write_all(&stack, &spec, s.rank);
    if (s.rank == 0) {
        FILE *in = fopen(path, "rb");

        for (uint64_t step = 0; step < 3; step++)
            for (unsigned v = 0; v < 2; v++)
                for (uint64_t i = 0; i < (uint64_t)s.size * N; i++) {
                    int32_t found;

                    fseek(in, (long)((step * 2 + v) * ALIGNMENT + i * sizeof found), SEEK_SET);
                    assert_int_equal(fread(&found, sizeof found, 1, in), 1);
                    assert_int_equal(found, value(v, step, i));
                }
        fclose(in);
    }
    scratch_remove(&s);
    MPI_Comm_free(&spec.comm);
    free(path);
}

static void unknown_steps_are_refused(void **state)
{
    const uint64_t size = ALIGNMENT;
    struct tt_stack stack = {
        .n = 2, .elements = {&tt_layer_align, &tt_backend_posix}, .opts = {&size, &odirect}};
    struct tt_variable v = {
        .path = "a", .element = &tt_element_i32, .ndims = 1, .dims = {N}, .per_step = true};
    struct tt_file_spec spec = {.path = "/nonexistent/data",
                                .policy = TT_APPEND,
                                .comm = MPI_COMM_WORLD,
                                .nvariables = 1,
                                .variables = &v};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;

    (void)state;
    assert_int_equal(tt_file_open(&stack, &spec, &file, &e), TT_UNSUPPORTED);
    assert_null(file);
}

static void order_of_stacks_is_checked(void **state)
{
    const struct tt_stack good = {
        .n = 3, .elements = {&tt_layer_throttle, &tt_layer_align, &tt_backend_posix}};
    const struct tt_stack upside_down = {
        .n = 3, .elements = {&tt_layer_align, &tt_layer_throttle, &tt_backend_posix}};
    const struct tt_stack no_container = {.n = 2,
                                          .elements = {&tt_layer_align, &tt_backend_discard}};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_stack_check(&good, &e), TT_OK);
    assert_int_equal(tt_stack_check(&upside_down, &e), TT_USAGE);
    tt_error_clear(&e);
    assert_int_equal(tt_stack_check(&no_container, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "discard"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_multiples),
        cmocka_unit_test(unknown_steps_are_refused),
        cmocka_unit_test(order_of_stacks_is_checked),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
