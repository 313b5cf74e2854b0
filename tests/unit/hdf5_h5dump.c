/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 2 */
/* A reader that is not ours understands the files: names, types, attributes and every number. */
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <mpi.h>

#include "plan/registry.h"

enum { N = 6, STEPS = 3 };

#define FILE_NAME "unit_hdf5_h5dump.h5"

extern char **environ;

static const struct tt_backend *hdf5; /* set once, before the first test */

struct particle {
    float x[2];
    char name[4];
    int64_t id;
};
static const struct tt_field fields[] = {
    {"x", TT_F32, 2, offsetof(struct particle, x)},
    {"name", TT_CHAR, 4, offsetof(struct particle, name)},
    {"id", TT_I64, 1, offsetof(struct particle, id)},
};
static const struct tt_element particle = {TT_RECORD, sizeof(struct particle), 3, fields};
static const struct tt_attribute attributes[] = {
    {"units", TT_CHAR, .text = "kelvin"},
    {"level", TT_I64, .integer = -7},
    {"dx", TT_F64, .real = 0.5},
};
static const struct tt_variable variables[] = {
    {"data",
     &tt_element_f64,
     2,
     {N, N},
     .per_step = true,
     .nattributes = 3,
     .attributes = attributes},
    {"some/particles", &particle, 1, {N}},
};

static double value(uint64_t step, uint64_t i)
{
    return (double)(step * 1000 + i) / 8;
}

/* What h5dump says; the caller frees. */
static char *dump(const char *const *words)
{
    char *argv[8] = {(char *)"h5dump"}, *text = calloc(1, 1 << 16);
    posix_spawn_file_actions_t actions;
    FILE *out = tmpfile();
    int n = 1, status = -1;
    pid_t pid;

    while (words[n - 1]) {
        argv[n] = (char *)words[n - 1];
        n++;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    assert_int_equal(posix_spawnp(&pid, "h5dump", &actions, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    rewind(out);
    assert_true(fread(text, 1, (1 << 16) - 1, out) > 0);
    fclose(out);
    posix_spawn_file_actions_destroy(&actions);
    return text;
}

/* Rank 0 has the first rows and all particles, the other rank the rest. */
static void write_file(int rank, enum tt_policy policy)
{
    struct tt_error e = TT_ERROR_CLEAR;
    void *opts = calloc(1, hdf5->opts_size);
    struct tt_stack stack = {.n = 1, .elements = {hdf5}, .opts = {opts}};
    struct tt_file_spec spec = {FILE_NAME, MPI_COMM_WORLD, TT_CREATE, policy, STEPS, 2, variables};
    uint64_t start[] = {rank == 0 ? 0 : 2, 0}, count[] = {rank == 0 ? 2 : N - 2, N};
    double rows[N * N];
    struct particle particles[N];
    struct tt_block b = {.data = rows}, p = {.variable = 1, .data = particles};
    struct tt_file *file;

    memset(particles, 0, sizeof particles);
    for (int i = 0; i < N; i++)
        particles[i] = (struct particle){{(float)i, (float)-i}, {'p', (char)('0' + i)}, i * 11};
    if (rank == 0)
        unlink(FILE_NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(tt_params_default(hdf5->params, opts, &e), TT_OK);
    assert_int_equal(tt_file_open(&stack, &spec, &file, &e), TT_OK);
    tt_select_slab(&b.file, 2, variables[0].dims, start, NULL, count, NULL);
    tt_select_all(&b.memory, 2, count);
    (rank == 0 ? tt_select_all : tt_select_none)(&p.file, 1, variables[1].dims);
    p.memory = p.file;
    for (uint64_t step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < count[0] * N; i++)
            rows[i] = value(step, start[0] * N + i);
        assert_int_equal(tt_file_define(file, step, &e), TT_OK);
        assert_int_equal(tt_file_write(file, step, &b, &e), TT_OK);
        if (step == 0)
            assert_int_equal(tt_file_write(file, step, &p, &e), TT_OK);
    }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    tt_params_free(hdf5->params, opts);
    free(opts);
}

/* All numbers of a dataset of doubles, which h5dump lists between braces. */
static void check_numbers(const char *dataset, uint64_t first_step, uint64_t steps)
{
    char *text = dump((const char *const[]){"-y", "-m", "%.17g", "-d", dataset, FILE_NAME, NULL});
    const char *at = strstr(text, "DATA {");

    assert_non_null(at);
    at += strlen("DATA {");
    for (uint64_t step = first_step; step < first_step + steps; step++)
        for (uint64_t i = 0; i < N * N; i++) {
            char *end;
            double x = strtod(at + strspn(at, " ,\n"), &end);

            assert_true(x == value(step, i));
            at = end;
        }
    assert_int_equal(at[strspn(at, " \n")], '}');
    free(text);
}

static void contains(const char *text, const char *const *words)
{
    for (; *words; words++) {
        text = strstr(text, *words);
        if (!text)
            fail_msg("no %s there", *words);
    }
}

static void every_policy(void **state)
{
    int rank;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (enum tt_policy policy = TT_OVERWRITE; policy <= TT_GROUP; policy++) {
        write_file(rank, policy);
        if (rank == 0 && policy == TT_OVERWRITE)
            check_numbers("/data", STEPS - 1, 1);
        else if (rank == 0 && policy == TT_APPEND)
            check_numbers("/data", 0, STEPS);
        else if (rank == 0)
            check_numbers("/step_000001/data", 1, 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void types_and_attributes(void **state)
{
    static const char *const data[] = {"DATASET \"data\"",
                                       "H5T_IEEE_F64LE",
                                       "( 6, 6 ) / ( 6, 6 )",
                                       "ATTRIBUTE \"dx\"",
                                       "0.5",
                                       "ATTRIBUTE \"level\"",
                                       "-7",
                                       "ATTRIBUTE \"units\"",
                                       "kelvin",
                                       NULL};
    static const char *const particles[] = {"H5T_COMPOUND",
                                            "H5T_ARRAY { [2] H5T_IEEE_F32LE } \"x\"",
                                            "STRSIZE 4",
                                            "\"name\"",
                                            "H5T_STD_I64LE \"id\"",
                                            "( 6 ) / ( 6 )",
                                            "5, -5",
                                            "\"p5",
                                            "55",
                                            NULL};
    char *text;
    int rank;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    write_file(rank, TT_OVERWRITE);
    if (rank == 0) {
        text = dump((const char *const[]){"-A", FILE_NAME, NULL});
        contains(text, data);
        free(text);
        text = dump((const char *const[]){"-d", "/some/particles", FILE_NAME, NULL});
        contains(text, particles);
        free(text);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(FILE_NAME);
}

static bool has_h5dump(void)
{
    char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = path;
    bool found = false;

    for (const char *directory; !found && (directory = strsep(&rest, ":"));) {
        char file[4096];

        snprintf(file, sizeof file, "%s/h5dump", directory);
        found = access(file, X_OK) == 0;
    }
    free(path);
    return found;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy),
        cmocka_unit_test(types_and_attributes),
    };
    int failed;

    hdf5 = tt_find_backend("hdf5", &(struct tt_error)TT_ERROR_CLEAR);
    if (!hdf5 || !has_h5dump())
        return 77;
    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
