/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 2 */
/* Readers that are not ours understand the files of netcdf and pnetcdf: names, dimensions, types,
 * attributes and every number. */
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
#include "scratch.h"

enum { N = 6, STEPS = 3 };

/* No C compiler would lay it out like that. */
static const struct tt_field fields[] = {
    {"x", TT_F32, 2, 0},
    {"name", TT_CHAR, 3, 8},
    {"id", TT_I64, 1, 11},
};
static const struct tt_element particle = {TT_RECORD, 19, 3, fields};
static const struct tt_element word = {TT_CHAR, 4, 0, NULL};
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
    {"words", &word, 1, {N}},
};

static const struct tt_backend *find(const char *name)
{
    return tt_find_backend(name, &(struct tt_error)TT_ERROR_CLEAR);
}

static double value(uint64_t step, uint64_t i)
{
    return (double)(step * 1000 + i) / 8;
}

/* What a program says; the caller frees. It is no rank of ours, though it may use MPI: it gets
 * nothing of the launcher's environment. */
static char *dump(const char *const *words)
{
    char *argv[8] = {NULL}, *text = calloc(1, 1 << 16), path[4096];
    char *environment[] = {path, "HOME=/tmp", NULL}; /* ncmpidump is an MPI program, too */
    posix_spawn_file_actions_t actions;
    FILE *out = tmpfile();
    int status = -1;
    pid_t pid;

    snprintf(path, sizeof path, "PATH=%s", getenv("PATH"));
    for (int i = 0; words[i]; i++)
        argv[i] = (char *)words[i];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    assert_int_equal(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environment), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    rewind(out);
    assert_true(fread(text, 1, (1 << 16) - 1, out) > 0);
    fclose(out);
    posix_spawn_file_actions_destroy(&actions);
    return text;
}

static void write_small(struct tt_file *file, int rank, struct tt_error *e)
{
    char particles[N][19], words[N][4];
    struct tt_block p = {.variable = 1, .data = particles}, w = {.variable = 2, .data = words};

    for (int i = 0; i < N; i++) {
        float x[2] = {(float)i, (float)-i};
        int64_t id = i * 11;

        memcpy(particles[i], x, sizeof x);
        memcpy(particles[i] + 8, (char[]){'p', (char)('0' + i), '!'}, 3);
        memcpy(particles[i] + 11, &id, sizeof id);
        memcpy(words[i], (char[]){'w', 'o', 'r', (char)('0' + i)}, 4);
    }
    (rank == 0 ? tt_select_all : tt_select_none)(&p.file, 1, variables[1].dims);
    p.memory = w.file = w.memory = p.file;
    assert_int_equal(tt_file_write(file, 0, &p, e), TT_OK);
    assert_int_equal(tt_file_write(file, 0, &w, e), TT_OK);
}

/* Rank 0 has the first rows, all particles and words, the other rank the rest. */
static void write_file(const struct tt_backend *backend, const char *path, int rank,
                       enum tt_policy policy)
{
    struct tt_error e = TT_ERROR_CLEAR;
    void *opts = calloc(1, backend->opts_size);
    struct tt_stack stack = {.n = 1, .elements = {backend}, .opts = {opts}};
    struct tt_file_spec spec = {path, MPI_COMM_WORLD, TT_CREATE, policy, STEPS, 3, variables};
    uint64_t start[] = {rank == 0 ? 0 : 2, 0}, count[] = {rank == 0 ? 2 : N - 2, N};
    double rows[N * N];
    struct tt_block b = {.data = rows};
    struct tt_file *file;

    assert_int_equal(tt_params_default(backend->params, opts, &e), TT_OK);
    assert_int_equal(tt_file_open(&stack, &spec, &file, &e), TT_OK);
    tt_select_slab(&b.file, 2, variables[0].dims, start, NULL, count, NULL);
    tt_select_all(&b.memory, 2, count);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < count[0] * N; i++)
            rows[i] = value(step, start[0] * N + i);
        assert_int_equal(tt_file_define(file, step, &e), TT_OK);
        assert_int_equal(tt_file_write(file, step, &b, &e), TT_OK);
        if (step == 0)
            write_small(file, rank, &e);
    }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    tt_params_free(backend->params, opts);
    free(opts);
}

/* All numbers of a variable, which follow its name in the section of data. */
static void check_numbers(const char *tool, const char *path, const char *variable,
                          uint64_t first_step, uint64_t steps)
{
    char *text = dump((const char *const[]){tool, "-p", "9,17", "-v", variable, path, NULL});
    const char *at = strstr(text, "data:"), *name = strrchr(variable, '/');
    char begin[64];

    snprintf(begin, sizeof begin, " %s =", name ? name + 1 : variable);
    at = at ? strstr(at, begin) : NULL;
    assert_non_null(at);
    at += strlen(begin);
    for (uint64_t step = first_step; step < first_step + steps; step++)
        for (uint64_t i = 0; i < N * N; i++) {
            char *end;
            double x = strtod(at + strspn(at, " ,\n"), &end);

            assert_true(x == value(step, i));
            at = end;
        }
    assert_int_equal(at[strspn(at, " \n")], ';');
    free(text);
}

static void contains(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strstr(text, *words))
            fail_msg("no '%s' in:\n%s", *words, text);
}

static void every_policy(const char *name, const char *tool, const char *of_step_1,
                         const char *const *overwritten, const char *const *appended)
{
    const struct tt_backend *backend = find(name);
    struct scratch scratch;
    char *path, *text;

    if (!backend)
        skip();
    scratch_make(&scratch);
    for (enum tt_policy policy = TT_OVERWRITE; policy <= TT_GROUP; policy++) {
        path = scratch_path(&scratch, (const char *const[]){"o.nc", "a.nc", "g.nc"}[policy]);
        write_file(backend, path, scratch.rank, policy);
        if (scratch.rank == 0 && policy == TT_GROUP)
            check_numbers(tool, path, of_step_1, 1, 1);
        else if (scratch.rank == 0) {
            check_numbers(tool, path, "data", policy == TT_APPEND ? 0 : STEPS - 1,
                          policy == TT_APPEND ? STEPS : 1);
            text = dump((const char *const[]){tool, path, NULL});
            contains(text, policy == TT_APPEND ? appended : overwritten);
            free(text);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        free(path);
    }
    scratch_remove(&scratch);
}

static void ncdump_reads_netcdf(void **state)
{
    static const char *const overwritten[] = {"double data(dim_6, dim_6) ;",
                                              ":units = \"kelvin\" ;",
                                              ":level = -7LL ;",
                                              ":dx = 0.5 ;",
                                              "float x(2)",
                                              "char name(3)",
                                              "int64 id",
                                              "group: some {",
                                              "particles(dim_6) ;",
                                              "{{5, -5}, {\"p5!\"}, 55}",
                                              "char words(dim_6, bytes_4)",
                                              "\"wor5\"",
                                              NULL};
    static const char *const appended[] = {"double data(steps, dim_6, dim_6) ;", "steps = 3 ;",
                                           NULL};

    (void)state;
    every_policy("netcdf", "ncdump", "/step_000001/data", overwritten, appended);
}

static const char *const classic[] = {"double data(dim_6, dim_6) ;",
                                      ":units = \"kelvin\" ;",
                                      ":level = -7LL ;",
                                      ":dx = 0.5 ;",
                                      "ubyte some.particles(dim_6, bytes_19) ;",
                                      "fields = \"x f32*2 at 0, name char*3 at 8, id i64 at 11\"",
                                      "char words(dim_6, bytes_4)",
                                      "\"wor5\"",
                                      NULL};
static const char *const classic_appended[] = {"double data(steps, dim_6, dim_6) ;", "steps = 3 ;",
                                               NULL};

static void ncdump_reads_pnetcdf(void **state)
{
    (void)state;
    every_policy("pnetcdf", "ncdump", "step_000001.data", classic, classic_appended);
}

static void ncmpidump_reads_pnetcdf(void **state)
{
    (void)state;
    every_policy("pnetcdf", "ncmpidump", "step_000001.data", classic, classic_appended);
}

static bool has_program(const char *name)
{
    char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = path;
    bool found = false;

    for (const char *directory; !found && (directory = strsep(&rest, ":"));) {
        char file[4096];

        snprintf(file, sizeof file, "%s/%s", directory, name);
        found = access(file, X_OK) == 0;
    }
    free(path);
    return found;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ncdump_reads_netcdf),
        cmocka_unit_test(ncdump_reads_pnetcdf),
        cmocka_unit_test(ncmpidump_reads_pnetcdf),
    };
    int failed;

    if ((!find("netcdf") && !find("pnetcdf")) || !has_program("ncdump") ||
        !has_program("ncmpidump"))
        return 77;
    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
