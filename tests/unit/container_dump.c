/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 2 */
/* Readers that are not ours understand the files of hdf5, netcdf and pnetcdf: names, dimensions,
 * types, attributes and every number. */
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

#include "container_fixture.h"

enum { N = 6, STEPS = 3, FIRST = 40 }; /* FIRST: what the step 0 of groups is called */

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
static const char *const axes[] = {"x", "yy"};
static const double spacing[] = {0.25, 4};
static const struct tt_field sides[] = {{"low", TT_I32, 1, 0}, {"high", TT_I32, 1, 4}};
static const struct tt_element range = {TT_RECORD, 8, 2, sides};
static const int32_t domain[] = {-3, 12};
static const struct tt_attribute of_file[] = {
    {"domain", TT_RECORD, .values = domain, .record = &range},
    {"version", TT_U32, .integer = 7},
};
static const struct tt_attribute of_step[] = {
    {"time", TT_F64, .real = 100, .each_step = 0.125},
    {"axes", TT_CHAR, .n = 2, .values = axes},
    {"spacing", TT_F64, .n = 2, .values = spacing},
};
static const struct tt_group groups[] = {
    {"", .nattributes = 2, .attributes = of_file},
    {"some/more", .per_step = true, .nattributes = 3, .attributes = of_step},
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
static void write_file(struct fixture *f)
{
    int rank = f->scratch.rank;
    uint64_t start[] = {rank == 0 ? 0 : 2, 0}, count[] = {rank == 0 ? 2 : N - 2, N};
    double rows[N * N];
    struct tt_block b = {.data = rows};

    f->spec.steps = STEPS;
    f->spec.nvariables = 3;
    f->spec.variables = variables;
    f->spec.ngroups = 2;
    f->spec.groups = groups;
    f->spec.first_step = f->spec.policy == TT_GROUP ? FIRST : 0;
    assert_int_equal(open_file(f, TT_CREATE), TT_OK);
    tt_select_slab(&b.file, 2, variables[0].dims, start, NULL, count, NULL);
    tt_select_all(&b.memory, 2, count);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < count[0] * N; i++)
            rows[i] = value(step, start[0] * N + i);
        assert_int_equal(tt_file_define(f->file, step, &f->e), TT_OK);
        assert_int_equal(tt_file_write(f->file, step, &b, &f->e), TT_OK);
        if (step == 0)
            write_small(f->file, rank, &f->e);
    }
    assert_int_equal(tt_file_close(f->file, &f->e), TT_OK);
}

/* How a reader is asked for the numbers of a variable. */
struct reader {
    const char *backend, *words[6];
    const char *of_step_1; /* the variable, with the policy group */
    char behind;           /* what stands behind the numbers */
};
static const struct reader h5dump = {
    "hdf5", {"h5dump", "-y", "-m", "%.17g", "-d"}, "/step_000041/data", '}'};
static const struct reader ncdump = {
    "netcdf", {"ncdump", "-p", "9,17", "-v"}, "/step_000041/data", ';'};
static const struct reader ncdump_classic = {
    "pnetcdf", {"ncdump", "-p", "9,17", "-v"}, "step_000041.data", ';'};
static const struct reader ncmpidump = {
    "pnetcdf", {"ncmpidump", "-p", "9,17", "-v"}, "step_000041.data", ';'};

/* Where the numbers begin: ncdump names the variable in its section of data. */
static const char *numbers(const struct reader *r, const char *text, const char *variable)
{
    const char *at = strstr(text, r == &h5dump ? "DATA {" : "data:"), *name;
    char begin[64];

    assert_non_null(at);
    if (r == &h5dump)
        return at + strlen("DATA {");
    name = strrchr(variable, '/');
    snprintf(begin, sizeof begin, " %s =", name ? name + 1 : variable);
    at = strstr(at, begin);
    assert_non_null(at);
    return at + strlen(begin);
}

static void check_numbers(const struct reader *r, const char *path, const char *variable,
                          uint64_t first_step, uint64_t steps)
{
    const char *words[8] = {NULL}, *at;
    char *text;
    int n = 0;

    for (; r->words[n]; n++)
        words[n] = r->words[n];
    words[n++] = variable;
    words[n] = path;
    text = dump(words);
    at = numbers(r, text, variable);
    for (uint64_t step = first_step; step < first_step + steps; step++)
        for (uint64_t i = 0; i < N * N; i++) {
            char *end;
            double x = strtod(at + strspn(at, " ,\n"), &end);

            assert_true(x == value(step, i));
            at = end;
        }
    assert_int_equal(at[strspn(at, " \n")], r->behind);
    free(text);
}

static void contains(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strstr(text, *words))
            fail_msg("no '%s' in:\n%s", *words, text);
}

/* In this order. */
static void lists(const char *text, const char *const *words)
{
    for (; *words; words++) {
        text = strstr(text, *words);
        if (!text)
            fail_msg("no %s there", *words);
    }
}

/* Attributes of groups. */
static void check_groups(const struct reader *r, const char *path)
{
    static const char *const hdf5[] = {"\"domain\"",
                                       "H5T_STD_I32LE \"low\"",
                                       "-3",
                                       "12",
                                       "\"version\"",
                                       "H5T_STD_U32LE",
                                       ": 7",
                                       "GROUP \"step_000041\"",
                                       "GROUP \"more\"",
                                       "\"axes\"",
                                       "\"x\\000\", \"yy\"",
                                       "\"spacing\"",
                                       "0.25, 4",
                                       "\"time\"",
                                       "105.125",
                                       NULL};
    static const char *const netcdf[] = {":domain = -3, 12 ;",    ":version = 7U ;",
                                         "group: step_000041 {",  "group: more {",
                                         ":time = 105.125 ;",     "string :axes = \"x\", \"yy\" ;",
                                         ":spacing = 0.25, 4. ;", NULL};
    static const char *const flat[] = {":domain = -3, 12 ;",
                                       ":version = 7U ;",
                                       ":step_000041.some.more.time = 105.125 ;",
                                       ":step_000041.some.more.axes = \"x yy\" ;",
                                       ":step_000041.some.more.spacing = 0.25, 4. ;",
                                       NULL};
    char *text = dump((const char *const[]){r->words[0], r == &h5dump ? "-A" : "-h", path, NULL});

    (r == &h5dump ? lists : contains)(text, r == &h5dump ? hdf5 : r == &ncdump ? netcdf : flat);
    free(text);
}

/* The numbers of every policy, and, where given, what else a dump shows. */
static void every_policy(const struct reader *r, const char *const *overwritten,
                         const char *const *appended)
{
    struct fixture f;
    char *text;

    for (enum tt_policy policy = TT_OVERWRITE; policy <= TT_GROUP; policy++) {
        if (!has_program(r->words[0]) || !fixture_make(&f, r->backend, "collective", policy))
            skip();
        write_file(&f);
        if (f.scratch.rank == 0 && policy == TT_GROUP) {
            check_numbers(r, f.path, r->of_step_1, 1, 1);
            check_groups(r, f.path);
        } else if (f.scratch.rank == 0)
            check_numbers(r, f.path, "data", policy == TT_APPEND ? 0 : STEPS - 1,
                          policy == TT_APPEND ? STEPS : 1);
        if (f.scratch.rank == 0 && policy != TT_GROUP && appended) {
            text = dump((const char *const[]){r->words[0], f.path, NULL});
            contains(text, policy == TT_APPEND ? appended : overwritten);
            free(text);
        }
        fixture_free(&f);
    }
}

static void h5dump_reads_hdf5(void **state)
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
                                            "STRSIZE 3",
                                            "\"name\"",
                                            "H5T_STD_I64LE \"id\"",
                                            "( 6 ) / ( 6 )",
                                            "5, -5",
                                            "\"p5!",
                                            "55",
                                            NULL};
    struct fixture f;
    char *text;

    (void)state;
    every_policy(&h5dump, NULL, NULL);
    fixture_make(&f, "hdf5", "collective", TT_OVERWRITE);
    write_file(&f);
    if (f.scratch.rank == 0) {
        text = dump((const char *const[]){"h5dump", "-A", f.path, NULL});
        lists(text, data);
        free(text);
        text = dump((const char *const[]){"h5dump", "-d", "/some/particles", f.path, NULL});
        lists(text, particles);
        free(text);
    }
    fixture_free(&f);
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
    every_policy(&ncdump, overwritten, appended);
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
    every_policy(&ncdump_classic, classic, classic_appended);
}

static void ncmpidump_reads_pnetcdf(void **state)
{
    (void)state;
    every_policy(&ncmpidump, classic, classic_appended);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h5dump_reads_hdf5),
        cmocka_unit_test(ncdump_reads_netcdf),
        cmocka_unit_test(ncdump_reads_pnetcdf),
        cmocka_unit_test(ncmpidump_reads_pnetcdf),
    };
    int failed;

    if (!find_backend("hdf5") && !find_backend("netcdf") && !find_backend("pnetcdf"))
        return 77;
    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
