/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 */
/* The uring backend below the engine: many requests through a small ring, completion in any order,
 * threads that take turns, and what the kernel refuses. */
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "plan/registry.h"
#include "scratch.h"

enum { BYTES = 1 << 21, PIECE = 40, STRIDE = 100, PIECES = BYTES / STRIDE };

struct fixture {
    struct scratch scratch;
    char *path;
    struct tt_stack stack;
    void *opts;
    struct tt_variable variable;
    struct tt_file_spec spec;
    struct tt_file *file;
    unsigned char *data, *back;
};

static void set(struct fixture *f, const char *key, const char *value)
{
    struct tt_error e = TT_ERROR_CLEAR;

    for (const struct tt_param *p = f->stack.elements[0]->params; p->key; p++)
        if (!strcmp(p->key, key))
            assert_int_equal(tt_param_set(p, f->opts, value, &e), TT_OK);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct tt_error e = TT_ERROR_CLEAR;
    const struct tt_backend *uring = tt_find_backend("uring", &e);

    scratch_make(&f->scratch);
    f->path = scratch_path(&f->scratch, "file");
    f->opts = calloc(1, uring->opts_size);
    f->stack = (struct tt_stack){.n = 1, .elements = {uring}, .opts = {f->opts}};
    assert_int_equal(tt_params_default(uring->params, f->opts, &e), TT_OK);
    f->variable = (struct tt_variable){
        .path = "x", .element = &tt_element_u8, .ndims = 1, .dims = {BYTES}, .per_step = true};
    f->spec = (struct tt_file_spec){.path = f->path,
                                    .comm = MPI_COMM_SELF,
                                    .policy = TT_APPEND,
                                    .steps = 2,
                                    .nvariables = 1,
                                    .variables = &f->variable};
    f->data = malloc(BYTES);
    f->back = calloc(1, BYTES);
    for (uint64_t i = 0; i < BYTES; i++)
        f->data[i] = (unsigned char)(i * UINT64_C(0x9e3779b97f4a7c15) >> 56);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    scratch_remove(&f->scratch);
    free(f->data);
    free(f->back);
    free(f->opts);
    free(f->path);
    free(f);
    return 0;
}

static int open_file(struct fixture *f, enum tt_access access, struct tt_error *e)
{
    f->spec.access = access;
    return tt_file_open(&f->stack, &f->spec, &f->file, e);
}

static void must_open(struct fixture *f, enum tt_access access)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(open_file(f, access, &e), TT_OK);
}

static void must_close(struct fixture *f)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_file_close(f->file, &e), TT_OK);
}

/* The same bytes in the file and in memory. */
static struct tt_block range(const struct fixture *f, uint64_t start, uint64_t n, void *memory)
{
    struct tt_block b = {.data = memory};

    tt_select_slab(&b.file, 1, f->variable.dims, &start, NULL, &n, NULL);
    tt_select_slab(&b.memory, 1, f->variable.dims, &start, NULL, &n, NULL);
    return b;
}

static void content_is(const struct fixture *f, uint64_t at, const unsigned char *want, size_t n)
{
    unsigned char *seen = malloc(n);
    int fd = open(f->path, O_RDONLY);

    assert_int_equal(pread(fd, seen, n, (off_t)at), n);
    assert_memory_equal(seen, want, n);
    close(fd);
    free(seen);
}

/* ---- tests ---- */

static void many_pieces_pass_a_small_ring(void **state)
{
    struct fixture *f = *state;
    const uint64_t start = 7, stride = STRIDE, count = PIECES - 1, block = PIECE;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block b = {.data = f->data}, all = range(f, 0, BYTES, f->back);

    set(f, "depth", "2");
    set(f, "request", "4k");
    must_open(f, TT_CREATE);
    tt_select_slab(&b.file, 1, f->variable.dims, &start, &stride, &count, &block);
    b.memory = b.file;
    memset(f->back, 0xaa, BYTES);
    assert_int_equal(tt_file_write(f->file, 1, &all, &e), TT_OK);
    assert_int_equal(tt_file_write(f->file, 1, &b, &e), TT_OK);
    assert_int_equal(tt_file_sync(f->file, &e), TT_OK);
    for (uint64_t i = 0; i < count; i++)
        memcpy(f->back + start + i * stride, f->data + start + i * stride, PIECE);
    content_is(f, BYTES, f->back, BYTES);
    b.data = memset(f->back, 0, BYTES);
    assert_int_equal(tt_file_read(f->file, 1, &b, &e), TT_OK);
    for (uint64_t i = start; i < BYTES; i++) {
        bool selected = (i - start) % STRIDE < PIECE && (i - start) / STRIDE < count;

        assert_int_equal(f->back[i], selected ? f->data[i] : 0);
    }
    must_close(f);
}

enum { TICKETS = 24 };

struct tickets {
    struct tt_ticket list[TICKETS];
    struct tt_block blocks[TICKETS];
    bool seen[TICKETS];
};

static void see(struct tickets *t, const struct tt_ticket *done)
{
    ptrdiff_t i = done - t->list;

    assert_in_range(i, 0, TICKETS - 1);
    assert_false(t->seen[i]);
    t->seen[i] = true;
}

static void submit_all(struct fixture *f, struct tickets *t, enum tt_direction direction,
                       void *memory)
{
    struct tt_error e = TT_ERROR_CLEAR;
    uint64_t each = BYTES / TICKETS;

    memset(t->seen, 0, sizeof t->seen);
    for (int i = 0; i < TICKETS; i++) {
        int place = i * 7 % TICKETS; /* shuffled */

        t->blocks[i] = range(f, (uint64_t)place * each, each, memory);
        if (i == 5) { /* nothing is a transfer, too */
            tt_select_none(&t->blocks[i].file, 1, f->variable.dims);
            tt_select_none(&t->blocks[i].memory, 1, f->variable.dims);
        }
        assert_int_equal(tt_file_submit(f->file, direction, 0, &t->blocks[i], &t->list[i], &e),
                         TT_OK);
    }
}

/* One of them by itself, the others as they come. */
static void wait_for_all(struct fixture *f, struct tickets *t)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ticket *done;

    assert_int_equal(tt_file_wait(f->file, &t->list[TICKETS / 2], &e), TT_OK);
    see(t, &t->list[TICKETS / 2]);
    for (int i = 1; i < TICKETS; i++) {
        assert_int_equal(tt_file_wait_any(f->file, NULL, &done, &e), TT_OK);
        see(t, done);
    }
    assert_int_equal(tt_file_wait_any(f->file, NULL, &done, &e), TT_FAILED);
}

static void every_ticket_comes_back_once(void **state)
{
    static const char *const depths[] = {"2", "0"};
    struct fixture *f = *state;
    struct tickets t;
    uint64_t each = BYTES / TICKETS, missing = 5 * 7 % TICKETS;

    for (int i = 0; i < TICKETS; i++)
        t.list[i].state = calloc(1, tt_stack_ticket_size(&f->stack));
    for (int d = 0; d < 2; d++) {
        set(f, "depth", depths[d]);
        set(f, "request", d ? "1g" : "16k");
        must_open(f, TT_CREATE);
        submit_all(f, &t, TT_WRITING, f->data);
        wait_for_all(f, &t);
        memset(f->back, 0, BYTES);
        submit_all(f, &t, TT_READING, f->back);
        wait_for_all(f, &t);
        must_close(f);
        assert_memory_equal(f->back, f->data, missing * each);
        assert_memory_equal(f->back + (missing + 1) * each, f->data + (missing + 1) * each,
                            (TICKETS - missing - 1) * each);
        assert_int_equal(f->back[missing * each], 0);
        unlink(f->path);
    }
    for (int i = 0; i < TICKETS; i++)
        free(t.list[i].state);
}

static void the_end_of_a_file_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block part = range(f, 0, 10001, f->data), more = range(f, 5000, 20000, f->back);

    must_open(f, TT_CREATE);
    assert_int_equal(tt_file_write(f->file, 0, &part, &e), TT_OK);
    assert_int_equal(tt_file_read(f->file, 0, &more, &e), TT_FAILED);
    assert_non_null(strstr(e.text, "ends at offset 10001, before"));
    assert_memory_equal(f->back + 5000, f->data + 5000, 5001);
    must_close(f);
}

/* The kernel writes up to the limit, and refuses the rest. */
static void a_write_that_stops_in_the_middle_says_where(void **state)
{
    struct fixture *f = *state;
    struct tt_block b = range(f, 0, BYTES, f->data);
    struct tt_ticket t = {calloc(1, tt_stack_ticket_size(&f->stack))};
    struct rlimit before, small = {BYTES / 2 + 4096, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    for (int submit = 0; submit < 2; submit++) {
        struct tt_error e = TT_ERROR_CLEAR;
        int rc;

        must_open(f, TT_CREATE);
        setrlimit(RLIMIT_FSIZE, &small);
        if (submit) {
            assert_int_equal(tt_file_submit(f->file, TT_WRITING, 0, &b, &t, &e), TT_OK);
            rc = tt_file_wait(f->file, &t, &e);
        } else {
            rc = tt_file_write(f->file, 0, &b, &e);
        }
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(rc, TT_FAILED);
        assert_int_equal(e.sys_errno, EFBIG);
        assert_int_equal(e.offset, small.rlim_cur);
        assert_string_equal(e.call, "write");
        content_is(f, 0, f->data, small.rlim_cur);
        must_close(f);
        unlink(f->path);
    }
    free(t.state);
}

static void *read_all(void *argument)
{
    struct fixture *f = argument;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block b = range(f, 0, BYTES, f->back);

    return tt_file_read(f->file, 0, &b, &e) == TT_OK ? f : NULL;
}

static void threads_may_take_turns(void **state)
{
    struct fixture *f = *state;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block b = range(f, 0, BYTES, f->data);
    pthread_t thread;
    void *result;

    set(f, "registered", "yes");
    must_open(f, TT_CREATE);
    for (int i = 0; i < 3; i++) {
        f->data[i * 1000] ^= 1;
        assert_int_equal(tt_file_write(f->file, 0, &b, &e), TT_OK);
        assert_int_equal(pthread_create(&thread, NULL, read_all, f), 0);
        pthread_join(thread, &result);
        assert_non_null(result);
        assert_memory_equal(f->back, f->data, BYTES);
    }
    must_close(f);
}

static const struct tt_fact *find_fact(const struct tt_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->n; i++)
        if (!strcmp(facts->list[i].key, key))
            return &facts->list[i];
    return NULL;
}

/* Four buffers are registered; more than the kernel takes are used as they are. */
static void registered_buffers_are_a_fact(void **state)
{
    struct fixture *f = *state;
    struct tt_block b = range(f, 0, 8192, f->data);
    const struct tt_fact *fact;
    struct tt_facts facts;

    set(f, "registered", "yes");
    set(f, "depth", "8");
    for (int fits = 0; fits < 2; fits++) {
        struct tt_error e = TT_ERROR_CLEAR;

        facts = (struct tt_facts){0};
        must_open(f, TT_CREATE);
        assert_int_equal(fits ? tt_file_use_buffers(f->file, f->data, 8192, 4, &e)
                              : tt_file_use_buffers(f->file, f->data, 16, 100000, &e),
                         TT_OK);
        assert_int_equal(tt_file_write(f->file, 0, &b, &e), TT_OK);
        assert_int_equal(tt_file_use_buffers(f->file, NULL, 0, 0, &e), TT_OK);
        assert_int_equal(tt_file_write(f->file, 1, &b, &e), TT_OK);
        assert_int_equal(tt_file_query(f->file, &facts, &e), TT_OK);
        fact = find_fact(&facts, "uring.registered");
        assert_non_null(fact);
        assert_int_equal(fact->proof, fits ? TT_IN_EFFECT : TT_NO_EFFECT);
        assert_non_null(strstr(fact->read_back, fits ? "buffers: 1" : "buffers: 0"));
        tt_facts_free(&facts);
        must_close(f);
        content_is(f, 0, f->data, 8192);
        content_is(f, BYTES, f->data, 8192);
        unlink(f->path);
    }
}

/* As containers do it, for this thread only. */
static bool refuse(long call, int why)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)why),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void *open_where_forbidden(void *argument)
{
    static struct tt_error e = TT_ERROR_CLEAR;

    return refuse(SYS_io_uring_setup, EPERM) && open_file(argument, TT_CREATE, &e) == TT_UNSUPPORTED
               ? &e
               : NULL;
}

static void a_container_that_forbids_it_is_named(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, open_where_forbidden, f), 0);
    pthread_join(thread, &result);
    if (!result)
        skip();
    assert_non_null(strstr(((struct tt_error *)result)->text, "io_uring is forbidden here"));
    assert_int_not_equal(access(f->path, F_OK), 0);
}

/* With nothing in flight no completion will end the shortage. */
static void *write_in_a_shortage(void *argument)
{
    static struct tt_error e = TT_ERROR_CLEAR;
    struct fixture *f = argument;
    struct tt_block b = range(f, 0, BYTES, f->data);

    must_open(f, TT_CREATE);
    if (!refuse(SYS_io_uring_enter, EAGAIN))
        return NULL;
    assert_int_equal(tt_file_write(f->file, 0, &b, &e), TT_FAILED);
    must_close(f);
    return &e;
}

static void a_shortage_that_stays_is_an_error(void **state)
{
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, write_in_a_shortage, *state), 0);
    pthread_join(thread, &result);
    if (!result)
        skip();
    assert_int_equal(((struct tt_error *)result)->sys_errno, EAGAIN);
}

static void a_request_is_whole_pages(void **state)
{
    struct fixture *f = *state;
    struct tt_error e = TT_ERROR_CLEAR;

    set(f, "request", "5000");
    assert_int_equal(f->stack.elements[0]->check(f->opts, &e), TT_USAGE);
}

static bool io_uring_is_here(void)
{
    struct tt_error e = TT_ERROR_CLEAR;
    void *state;
    int rc;

    if (!tt_find_backend("uring", &e))
        return false;
    setup(&state);
    rc = open_file(state, TT_CREATE, &e);
    if (rc == TT_OK)
        must_close(state);
    teardown(&state);
    return rc != TT_UNSUPPORTED;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(many_pieces_pass_a_small_ring),
        TEST(every_ticket_comes_back_once),
        TEST(the_end_of_a_file_is_an_error),
        TEST(a_write_that_stops_in_the_middle_says_where),
        TEST(threads_may_take_turns),
        TEST(registered_buffers_are_a_fact),
        TEST(a_container_that_forbids_it_is_named),
        TEST(a_shortage_that_stays_is_an_error),
        TEST(a_request_is_whole_pages),
    };
    int failed, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    failed = io_uring_is_here() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
    MPI_Finalize();
    return failed;
}
