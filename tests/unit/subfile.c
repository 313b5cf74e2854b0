/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 3 */
/* Targets of several paths, and the layer subfile on posix: where bytes lie, what is at the path,
 * and which texts are refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/subfile.h"
#include "scratch.h"

#define N 1000 /* values of each rank */

extern const struct tt_backend tt_backend_posix, tt_backend_hdf5, tt_layer_subfile, tt_layer_align;
static const bool odirect = false; /* posix' own option */
static const uint64_t options[3] = {512, 2, 0};

static struct tt_stack stack_of(void)
{
    return (struct tt_stack){
        .n = 2, .elements = {&tt_layer_subfile, &tt_backend_posix}, .opts = {options, &odirect}};
}

static char *path_in(const struct scratch *s, const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", s->directory, name) > 0);
    return path;
}

/* ---- a set of paths ---- */

/* As of a library that makes a directory for a file. */
static int list_directory(const void *opts, const struct tt_file_spec *spec,
                          struct tt_target *target, struct tt_error *e)
{
    (void)opts, (void)spec, (void)e;
    target->list[0].is_directory = true;
    return TT_OK;
}

static int refuse_to_list(const void *opts, const struct tt_file_spec *spec,
                          struct tt_target *target, struct tt_error *e)
{
    (void)opts, (void)spec, (void)target;
    return tt_fail(e, TT_FAILED, "no list");
}

static void elements_list_paths(void **state)
{
    const struct tt_backend directory = {.name = "directory", .list = list_directory},
                            refuses = {.name = "refuses", .list = refuse_to_list};
    struct tt_stack plain = {.n = 1, .elements = {&tt_backend_posix}},
                    whole = {.n = 1, .elements = {&directory}},
                    both = {.n = 2, .elements = {&refuses, &directory}};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_target t;

    (void)state;
    assert_int_equal(tt_stack_target_at(&plain, "/some/where", &t, &e), TT_OK);
    assert_int_equal(t.n, 1);
    assert_string_equal(t.list[0].path, "/some/where");
    assert_false(t.list[0].is_directory);
    tt_target_free(&t);
    assert_int_equal(tt_stack_target_at(&whole, "/some/where", &t, &e), TT_OK);
    assert_true(t.list[0].is_directory);
    tt_target_free(&t);
    assert_int_equal(tt_stack_target_at(&both, "/some/where", &t, &e), TT_FAILED);
    assert_true(t.list[0].is_directory); /* all are asked: others may wait in it */
    tt_target_free(&t);
}

/* ---- writing and reading ---- */

static void move(const struct tt_stack *stack, struct tt_file_spec *spec, enum tt_direction d,
                 int rank, int32_t *data)
{
    const uint64_t start = (uint64_t)rank * N, n = N;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block b = {.data = data};
    struct tt_file *file;

    tt_select_slab(&b.file, 1, spec->variables->dims, &start, NULL, &n, NULL);
    tt_select_all(&b.memory, 1, &n);
    spec->access = d == TT_WRITING ? TT_CREATE : TT_READ_ONLY;
    assert_int_equal(tt_file_open(stack, spec, &file, &e), TT_OK);
    if (d == TT_WRITING) {
        struct stat st;

        assert_int_equal(tt_file_write(file, 0, &b, &e), TT_OK);
        assert_int_equal(tt_file_sync(file, &e), TT_OK);
        assert_int_equal(stat(spec->path, &st), 0);
        assert_int_equal(tt_file_made(file, 0).inode, st.st_ino);
        for (uint64_t i = 0; i < options[1]; i++) {
            char *name = tt_subfile_path(spec->path, i, options[1]);

            assert_int_equal(stat(name, &st), 0);
            assert_int_equal(tt_file_made(file, i + 1).inode, st.st_ino);
            free(name);
        }
    } else {
        assert_int_equal(tt_file_read(file, 0, &b, &e), TT_OK);
    }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
}

/* Byte i of the container, without any of tutti's arithmetic. */
static void check_stripes(const char *path, uint64_t bytes)
{
    int fds[2];
    unsigned char found;

    for (uint64_t i = 0; i < 2; i++) {
        char *name = tt_subfile_path(path, i, 2);

        fds[i] = open(name, O_RDONLY);
        assert_true(fds[i] >= 0);
        free(name);
    }
    for (uint64_t i = 0; i < bytes; i++) {
        int32_t value = (int32_t)(i / 4);
        uint64_t pair = i / 1024, rest = i % 1024;

        assert_int_equal(pread(fds[rest / 512], &found, 1, (off_t)(pair * 512 + rest % 512)), 1);
        assert_int_equal(found, ((const unsigned char *)&value)[i % 4]);
    }
    close(fds[0]);
    close(fds[1]);
}

static void bytes_lie_in_stripes(void **state)
{
    const struct tt_stack stack = stack_of();
    struct tt_variable v = {.path = "x", .element = &tt_element_i32, .ndims = 1};
    struct tt_file_spec spec = {.policy = TT_OVERWRITE, .nvariables = 1, .variables = &v};
    int32_t data[N], back[N] = {0};
    struct scratch s;
    char *path;

    (void)state;
    scratch_make(&s);
    path = path_in(&s, "set");
    spec.path = path;
    v.dims[0] = (uint64_t)s.size * N;
    MPI_Comm_dup(MPI_COMM_WORLD, &spec.comm);
    for (int i = 0; i < N; i++)
        data[i] = s.rank * N + i;
    move(&stack, &spec, TT_WRITING, s.rank, data);
    if (s.rank == 0)
        check_stripes(path, 4 * v.dims[0]);
    MPI_Barrier(spec.comm);
    move(&stack, &spec, TT_READING, s.rank, back);
    assert_memory_equal(data, back, sizeof data);
    MPI_Comm_free(&spec.comm);
    free(path);
    scratch_remove(&s);
}

/* ---- what is refused ---- */

/* Nothing of ours is left, and what was there is as it was. */
static void a_foreign_subfile_stays(void **state)
{
    const struct tt_stack stack = stack_of();
    const struct tt_variable v = {.path = "x", .element = &tt_element_i32, .ndims = 1, .dims = {N}};
    struct tt_file_spec spec = {
        .policy = TT_OVERWRITE, .nvariables = 1, .variables = &v, .access = TT_CREATE};
    struct tt_error e = TT_ERROR_CLEAR;
    struct scratch s;
    struct tt_file *file;
    struct stat st;
    char *path, *theirs, *ours;

    (void)state;
    scratch_make(&s);
    path = path_in(&s, "set");
    theirs = tt_subfile_path(path, 1, 2);
    ours = tt_subfile_path(path, 0, 2);
    if (s.rank == 0)
        assert_int_equal(symlink("their content", theirs), 0);
    spec.path = path;
    MPI_Comm_dup(MPI_COMM_WORLD, &spec.comm);
    MPI_Barrier(spec.comm);
    assert_int_not_equal(tt_file_open(&stack, &spec, &file, &e), TT_OK);
    assert_null(file);
    assert_string_equal(e.file, theirs);
    MPI_Barrier(spec.comm);
    assert_int_not_equal(lstat(path, &st), 0);
    assert_int_not_equal(lstat(ours, &st), 0);
    assert_int_equal(lstat(theirs, &st), 0);
    MPI_Comm_free(&spec.comm);
    free(path);
    free(theirs);
    free(ours);
    scratch_remove(&s);
}

static void texts_are_checked(void **state)
{
#define HEAD "tutti subfile 1\nsubfiles 2\nstripe 1024\npolicy append\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "does not begin like"},
        {"tutti subfil", "does not begin like"},
        {"tutti subfile 2\n", "has version 2"},
        {"tutti subfile x\n", "line 1: 'tutti subfile x'"},
        {"tutti subfile 1\nsubfiles 0\n", "line 2: 'subfiles 0'"},
        {"tutti subfile 1\nsubfiles 99999999999999999999\n", "line 2"},
        {"tutti subfile 1\nsubfiles 2\nstripe 0\n", "line 3: 'stripe 0'"},
        {"tutti subfile 1\nsubfiles 2\nstripe 1024\npolicy none\n", "line 4"},
        {HEAD, "cut short"},
        {HEAD "size 10", "cut short"},
        {HEAD "size 10\nsize 10\nend\n", "line 6"},
        {HEAD "size -1\nend\n", "line 5"},
        {HEAD "variable f64 4x4 step x\nsize 10\nend\n", NULL},
        {HEAD "size open                \nend\n", NULL},
    };
    struct scratch s;
    char *path;

    (void)state;
    scratch_make(&s);
    path = path_in(&s, "text");
    for (size_t i = 0; i < sizeof cases / sizeof *cases && s.rank == 0; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        FILE *out = fopen(path, "w");
        struct tt_subfiles set;
        int rc;

        assert_non_null(out);
        fputs(cases[i].text, out);
        fclose(out);
        rc = tt_subfile_load(path, &set, &e);
        assert_int_equal(rc == TT_OK, cases[i].says == NULL);
        if (cases[i].says && !strstr(e.text, cases[i].says))
            fail_msg("case %zu: %s", i, e.text);
    }
    free(path);
    scratch_remove(&s);
}

static void lengths_fit(void **state)
{
    const struct tt_subfiles s = {.n = 3, .stripe = 512};

    (void)state;
    for (uint64_t size = 0; size < 6000; size += 13) {
        uint64_t sum = 0, reach = 0;

        for (uint64_t i = 0; i < s.n; i++) {
            uint64_t length = tt_subfile_length(&s, i, size), end = tt_subfile_reach(&s, i, length);

            sum += length;
            reach = end > reach ? end : reach;
        }
        assert_int_equal(sum, size);
        assert_int_equal(reach, size);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_list_paths),
        cmocka_unit_test(bytes_lie_in_stripes),
        cmocka_unit_test(a_foreign_subfile_stays),
        cmocka_unit_test(texts_are_checked),
        cmocka_unit_test(lengths_fit),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
