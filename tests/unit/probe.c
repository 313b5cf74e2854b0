/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* The probe of nonblocking calls on backends made for it, which write inside submit, by a thread,
 * or not before wait; and on mpiio. */
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <mpi.h>

#include "base/agree.h"
#include "engine/probe.h"
#include "plan/registry.h"

static int rank; /* set once, before the first test */
static char directory[] = "/tmp/tutti-probe-XXXXXX";

/* ---- a backend that writes when it is told to ---- */

enum when { IN_SUBMIT, BY_THREAD, IN_WAIT };
struct fake_opts {
    enum when when;
    off_t base;  /* of the data in the file, behind what a library has there */
    bool inside; /* the file is a directory, and each rank adds to a file of its own in it */
};
struct fake_state {
    int fd;
};
struct fake_ticket {
    pthread_t thread;
    int fd;
    off_t base;
    bool inside;
    const struct tt_block *block;
};

static int fake_open(struct tt_file *file, struct tt_error *e)
{
    const struct fake_opts *o = file->opts;
    struct fake_state *s = file->state;
    char path[96];

    snprintf(path, sizeof path, o->inside ? "%s/data.%d" : "%s", file->spec->path, rank);
    s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (o->inside ? O_APPEND : 0), 0666);
    return s->fd < 0 ? tt_fail_call(e, errno, "open", file->spec->path, -1) : TT_OK;
}

static int fake_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    (void)file, (void)step, (void)e;
    return TT_OK;
}

static void *write_block(void *ticket)
{
    const struct fake_ticket *t = ticket;
    struct tt_extent_iter it;
    struct tt_extent x;

    if (t->inside) {
        size_t bytes = tt_selection_count(&t->block->file) * sizeof(uint64_t);

        return write(t->fd, t->block->data, bytes) == (ssize_t)bytes ? NULL : ticket;
    }
    tt_extents_begin(&it, t->block, sizeof(uint64_t));
    while (tt_extents_next(&it, &x))
        if (pwrite(t->fd, (char *)t->block->data + x.memory_offset, x.length,
                   t->base + (off_t)x.file_offset) != (ssize_t)x.length)
            break;
    return NULL;
}

static int fake_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                       const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    const struct fake_opts *o = file->opts;
    struct fake_ticket *ticket = t->state;

    (void)direction, (void)step;
    ticket->fd = ((struct fake_state *)file->state)->fd;
    ticket->base = o->base;
    ticket->inside = o->inside;
    ticket->block = b;
    if (o->when == IN_SUBMIT)
        write_block(ticket);
    if (o->when == BY_THREAD && pthread_create(&ticket->thread, NULL, write_block, ticket) != 0)
        return tt_fail(e, TT_FAILED, "no thread");
    return TT_OK;
}

static int fake_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    const struct fake_opts *o = file->opts;
    struct fake_ticket *ticket = t->state;

    (void)e;
    if (o->when == BY_THREAD)
        pthread_join(ticket->thread, NULL);
    if (o->when == IN_WAIT)
        write_block(ticket);
    return TT_OK;
}

static int fake_close(struct tt_file *file, struct tt_error *e)
{
    (void)e;
    close(((struct fake_state *)file->state)->fd);
    return TT_OK;
}

static const struct tt_backend fake = {
    .name = "fake",
    .caps = TT_CAP_STORES | TT_CAP_NONBLOCKING,
    .state_size = sizeof(struct fake_state),
    .ticket_size = sizeof(struct fake_ticket),
    .open = fake_open,
    .define = fake_define,
    .submit = fake_submit,
    .wait = fake_wait,
    .close = fake_close,
};

/* ---- tests ---- */

static void probe(const struct tt_backend *backend, const void *opts, bool contiguous,
                  struct tt_probe *out)
{
    struct tt_stack stack = {.n = 1, .elements = {backend}, .opts = {opts}};
    struct tt_error e = TT_ERROR_CLEAR;
    char path[64];

    snprintf(path, sizeof path, "%s/file", directory);
    assert_int_equal(tt_probe_native(&stack, MPI_COMM_WORLD, path, contiguous, out, &e), TT_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(out->text[0]);
}

static void writing_inside_the_call_is_no_overlap(void **state)
{
    struct fake_opts o = {IN_SUBMIT};
    struct tt_probe p;

    (void)state;
    for (int i = 0; i < 4; i++) {
        o.base = i / 2 * 2072;
        probe(&fake, &o, i % 2, &p);
        assert_false(p.native);
        assert_non_null(strstr(p.text, "before the call returned"));
    }
}

static void writing_in_wait_is_no_overlap(void **state)
{
    const struct fake_opts o = {IN_WAIT};
    struct tt_probe p;

    (void)state;
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        probe(&fake, &o, contiguous, &p);
        assert_false(p.native);
        assert_true(p.fraction == 0);
    }
}

/* The probe allows a bounded time; a busy machine may need several tries. */
static void a_thread_overlaps(void **state)
{
    struct fake_opts o = {BY_THREAD};
    struct tt_probe p = {0};

    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        o.base = shape / 2 * 2072;
        p.native = false;
        for (int i = 0; i < 20 && !p.native; i++)
            probe(&fake, &o, shape % 2, &p);
        assert_true(p.native);
    }
}

static void probe_directory(const struct fake_opts *o, bool contiguous, struct tt_probe *out)
{
    struct tt_stack stack = {.n = 1, .elements = {&fake}, .opts = {o}};
    struct tt_error e = TT_ERROR_CLEAR;
    char path[64], own[96];

    snprintf(path, sizeof path, "%s/bundle", directory);
    snprintf(own, sizeof own, "%s/data.%d", path, rank);
    if (rank == 0)
        assert_int_equal(mkdir(path, 0777), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(tt_probe_native(&stack, MPI_COMM_WORLD, path, contiguous, out, &e), TT_OK);
    assert_int_equal(unlink(own), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        assert_int_equal(rmdir(path), 0);
}

/* A library that fills a directory adds to the ends of its files. */
static void a_directory_is_looked_into(void **state)
{
    struct fake_opts o = {.inside = true};
    struct tt_probe p = {0};

    (void)state;
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        o.when = IN_SUBMIT;
        probe_directory(&o, contiguous, &p);
        assert_false(p.native);
        assert_non_null(strstr(p.text, "before the call returned"));
        o.when = IN_WAIT;
        probe_directory(&o, contiguous, &p);
        assert_false(p.native);
        assert_true(p.fraction == 0);
        o.when = BY_THREAD;
        for (int i = 0; i < 20 && !p.native; i++)
            probe_directory(&o, contiguous, &p);
        assert_true(p.native);
    }
}

static void mpiio_is_probed(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const struct tt_backend *mpiio = tt_find_backend("mpiio", &e);
    void *opts = calloc(1, mpiio->opts_size);
    struct tt_probe p;

    (void)state;
    assert_int_equal(tt_params_default(mpiio->params, opts, &e), TT_OK);
    probe(mpiio, opts, true, &p);
    assert_false(p.native);
    assert_non_null(strstr(p.text, "collective has no nonblocking transfers"));
    assert_int_equal(tt_param_set(&mpiio->params[0], opts, "nonblocking", &e), TT_OK);
    probe(mpiio, opts, true, &p);
    print_message("contiguous: %s\n", p.text);
    probe(mpiio, opts, false, &p);
    print_message("scattered: %s\n", p.text);
    tt_params_free(mpiio->params, opts);
    free(opts);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_inside_the_call_is_no_overlap),
        cmocka_unit_test(writing_in_wait_is_no_overlap),
        cmocka_unit_test(a_thread_overlaps),
        cmocka_unit_test(a_directory_is_looked_into),
        cmocka_unit_test(mpiio_is_probed),
    };
    int failed, provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !mkdtemp(directory))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (rank == 0)
        rmdir(directory);
    MPI_Finalize();
    return failed != 0;
}
