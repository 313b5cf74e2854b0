/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* The layer cache on posix: what is moved in which order, what is in its files after a crash, which
 * of them are refused, and which pieces stay. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/layers/cache/parts.h"
#include "scratch.h"

#define N UINT64_C(1000) /* values of each rank */

extern const struct tt_backend tt_backend_posix, tt_layer_cache;
static const bool odirect = false; /* posix' own option */

static struct tt_stack stack_of(const struct cache_opts *o)
{
    return (struct tt_stack){
        .n = 2, .elements = {&tt_layer_cache, &tt_backend_posix}, .opts = {o, &odirect}};
}

/* A file of one variable, with a directory for caches beside it. */
struct target {
    struct scratch s;
    struct cache_opts o;
    struct tt_variable v;
    struct tt_file_spec spec;
    struct tt_stack stack;
};

static void begin(struct target *t)
{
    scratch_make(&t->s);
    t->o = (struct cache_opts){.dir = scratch_path(&t->s, "local"), .size = 1 << 20};
    if (t->s.rank == 0)
        assert_int_equal(mkdir(t->o.dir, 0777), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    t->v = (struct tt_variable){.path = "x",
                                .element = &tt_element_i32,
                                .ndims = 1,
                                .dims = {N * (uint64_t)t->s.size},
                                .per_step = true};
    t->spec = (struct tt_file_spec){.path = scratch_path(&t->s, "target"),
                                    .policy = TT_APPEND,
                                    .steps = 8,
                                    .nvariables = 1,
                                    .variables = &t->v};
    MPI_Comm_dup(MPI_COMM_WORLD, &t->spec.comm);
    t->stack = stack_of(&t->o);
}

static void end(struct target *t)
{
    MPI_Comm_free(&t->spec.comm);
    free((char *)t->spec.path);
    free(t->o.dir);
    scratch_remove(&t->s);
}

/* This rank's part, of values that begin with first. */
static struct tt_block block_of(const struct target *t, int32_t *data, int32_t first)
{
    const uint64_t start = (uint64_t)t->s.rank * N, n = N;
    struct tt_block b = {.data = data};

    for (uint64_t i = 0; i < N; i++)
        data[i] = first + (int32_t)i;
    tt_select_slab(&b.file, 1, t->v.dims, &start, NULL, &n, NULL);
    tt_select_all(&b.memory, 1, &n);
    return b;
}

static struct tt_file *open_target(struct target *t, enum tt_access access)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;

    t->spec.access = access;
    if (tt_file_open(&t->stack, &t->spec, &file, &e) != TT_OK)
        fail_msg("%s %s", e.file, e.text);
    return file;
}

static void write_and_read(struct target *t, bool sync)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int32_t data[N], back[N];
    struct tt_file *file = open_target(t, TT_CREATE);

    for (uint64_t step = 0; step < 8; step++)
        for (int32_t again = 0; again < 3; again++) { /* the last one counts */
            struct tt_block b = block_of(t, data, (int32_t)step * 7 + again);

            assert_int_equal(tt_file_define(file, step, &e), TT_OK);
            assert_int_equal(tt_file_write(file, step, &b, &e), TT_OK);
            memset(data, 1, sizeof data);
            if (sync)
                assert_int_equal(tt_file_sync(file, &e), TT_OK);
        }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    assert_int_equal(tt_stack_settle(&t->stack, NULL, &e), TT_OK);
    MPI_Barrier(t->spec.comm);
    file = open_target(t, TT_READ_ONLY);
    for (int round = 0; round < 2; round++)
        for (uint64_t step = 0; step < 8; step++) {
            struct tt_block b = block_of(t, back, 0);

            memset(back, 1, sizeof back);
            assert_int_equal(tt_file_read(file, step, &b, &e), TT_OK);
            block_of(t, data, (int32_t)step * 7 + 2);
            assert_memory_equal(data, back, sizeof data);
        }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    MPI_Barrier(t->spec.comm);
    assert_true(t->s.rank > 0 || rmdir(t->o.dir) == 0); /* nothing was left in it */
}

static void later_writes_win(void **state)
{
    static const struct cache_opts all[] = {
        {.size = 1 << 20},
        {.size = 1 << 20, .read_ahead = true},
        {.size = 5000, .read_ahead = true}, /* room for one request */
        {.size = 0},
        {.size = 1 << 20, .sync = CACHE_SYNC_LOCAL},
        {.size = 9000, .sync = CACHE_SYNC_LOCAL, .close = CACHE_CLOSE_RETURN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int sync = 0; sync < 2; sync++) {
            struct target t;
            char *dir;

            begin(&t);
            dir = t.o.dir;
            t.o = all[i];
            t.o.dir = dir;
            write_and_read(&t, sync);
            end(&t);
        }
}

/* ---- a store, as it is after a crash ---- */

static void append(struct target *t, struct cache_store *s, uint64_t call)
{
    int32_t data[N];
    struct tt_block b = block_of(t, data, (int32_t)call);
    struct tt_log_block *blocks;
    uint64_t position;

    assert_true(tt__store_reserve(s, sizeof data));
    assert_true(tt__store_append(s, &t->spec, call, call, &b, &position, &blocks));
    free(blocks);
}

static void fill(struct target *t, struct cache_store *s, uint64_t requests)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int fd = open(t->spec.path, O_WRONLY | O_CREAT, 0666);

    assert_true(fd >= 0);
    close(fd);
    t->o.sync = CACHE_SYNC_LOCAL;
    *s = (struct cache_store){.fd = -1};
    pthread_mutex_init(&s->lock, NULL);
    assert_int_equal(tt__store_open(s, &t->o, "id", false, t->s.rank, &e), TT_OK);
    assert_int_equal(tt__store_begin(s, &t->spec, t->s.rank, t->s.size, &e), TT_OK);
    for (uint64_t i = 0; i < requests; i++)
        append(t, s, i);
}

/* How many requests are found, of which so many need be moved. */
static void expect_found(const struct cache_store *s, size_t n, bool holds)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_node_cache c;

    assert_int_equal(tt_node_cache_load(s->path, &c, &e), TT_OK);
    assert_int_equal(c.log.n, n);
    assert_int_equal(tt_node_cache_holds(&c), holds);
    tt_node_cache_free(&c);
}

static void what_is_acknowledged_is_found(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_store s;
    struct target t;
    char *path;

    (void)state;
    begin(&t);
    fill(&t, &s, 4);
    expect_found(&s, 0, false);
    assert_true(tt__store_acknowledge(&s, 4));
    expect_found(&s, 4, true);
    assert_int_equal(tt_node_cache_check_ended(s.path, &e), TT_BUSY);
    tt_error_clear(&e);
    /* Moved, but nobody knows whether that survives a crash: it is kept. */
    assert_int_equal(tt__store_moved(&s, 4, false, &e), TT_OK);
    assert_false(tt__store_release(&s, false));
    assert_false(tt__store_release(&s, true));
    expect_found(&s, 4, true);
    assert_int_equal(tt_node_cache_check_moved(s.directory, true, &e), TT_BUSY);
    tt_error_clear(&e);
    assert_int_equal(tt__store_moved(&s, 4, true, &e), TT_OK);
    assert_true(tt__store_release(&s, false));
    MPI_Barrier(t.spec.comm);
    assert_int_equal(atomic_load(&s.usage->bytes), 0);
    assert_int_equal(tt_node_cache_check_moved(s.directory, true, &e), TT_OK);
    MPI_Barrier(t.spec.comm);
    /* Somebody takes the file away: that is no place for what is to survive a crash. */
    path = strdup(s.path);
    assert_int_equal(unlink(path), 0);
    assert_false(tt__store_acknowledge(&s, 4));
    assert_true(s.broken);
    free(path);
    tt__store_close(&s, false);
    MPI_Barrier(t.spec.comm);
    end(&t);
}

/* Requests that passed, or whose room was needed, are durable below and in no record. */
static void a_sync_below_is_no_damage(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_store s;
    struct target t;
    int32_t data[N];
    struct tt_block b;

    (void)state;
    begin(&t);
    fill(&t, &s, 2);
    assert_true(tt__store_acknowledge(&s, 2));
    assert_int_equal(tt__store_moved(&s, 2, true, &e), TT_OK);
    append(&t, &s, 2);
    assert_int_equal(tt__store_moved(&s, 3, false, &e), TT_OK);
    assert_true(tt__store_release(&s, true));
    b = block_of(&t, data, 3);
    tt__store_pass(&s, &t.spec, 3, 3, &b);
    assert_false(tt__store_acknowledge(&s, 4));
    assert_int_equal(tt__store_moved(&s, 4, true, &e), TT_OK);
    tt__store_is_below(&s);
    append(&t, &s, 4);
    assert_true(tt__store_acknowledge(&s, 5));
    expect_found(&s, 1, true);
    assert_int_equal(tt_node_cache_check_moved(s.directory, true, &e), TT_BUSY);
    MPI_Barrier(t.spec.comm);
    tt__store_close(&s, false);
    MPI_Barrier(t.spec.comm);
    end(&t);
}

/* The number of the last request that is found; there are at least three, and not very many. */
static uint64_t last_found(const struct cache_store *s, bool damaged)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_node_cache c;
    uint64_t last;

    assert_int_equal(tt_node_cache_load(s->path, &c, &e), TT_OK);
    assert_true(c.log.n >= 3 && c.log.n < 200);
    assert_int_equal(c.log.fallen, damaged);
    last = c.log.entries[c.log.n - 1].call;
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(c.log.entries[c.log.n - 1 - k].call, last - k);
    tt_node_cache_free(&c);
    return last;
}

/* Syncs without end, of which the last four are never below: room and memory stay what these need,
 * and a slot that is torn leads to the one before. */
static void old_records_go(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_store s;
    struct target t;
    struct stat st;

    (void)state;
    begin(&t);
    fill(&t, &s, 0);
    for (uint64_t i = 0; i < 300; i++) {
        off_t newest = TT_NODE_CACHE_HEAD + (off_t)tt_log_slot(&s.log, 0, s.slot);
        char number[8];

        append(&t, &s, i);
        assert_true(tt__store_acknowledge(&s, i + 1));
        if (i < 4)
            continue;
        assert_int_equal(last_found(&s, false), i);
        assert_int_equal(pread(s.fd, number, sizeof number, newest), sizeof number);
        assert_int_equal(pwrite(s.fd, "torn", 4, newest), 4);
        assert_int_equal(last_found(&s, true), i - 1);
        assert_int_equal(pwrite(s.fd, number, sizeof number, newest), sizeof number);
        assert_int_equal(tt__store_moved(&s, i - 3, true, &e), TT_OK);
        tt__store_release(&s, false);
        assert_int_equal(fstat(s.fd, &st), 0);
        assert_true(st.st_blocks * 512 < 800 << 10 && s.index.all.n < 16 << 10);
    }
    tt__store_close(&s, false);
    MPI_Barrier(t.spec.comm);
    end(&t);
}

/* What was moved may be holes, also behind the newest slot. */
static void room_that_was_given_back_is_no_damage(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_store s;
    struct target t;
    struct tt_node_cache c;
    char torn[4] = "torn";
    off_t newest;

    (void)state;
    begin(&t);
    fill(&t, &s, 0);
    for (uint64_t i = 0; i < 2; i++) {
        newest = TT_NODE_CACHE_HEAD + (off_t)tt_log_slot(&s.log, 0, s.slot);
        append(&t, &s, i);
        assert_true(tt__store_acknowledge(&s, i + 1));
    }
    assert_int_equal(tt__store_moved(&s, 2, true, &e), TT_OK);
    assert_true(tt__store_release(&s, false));
    assert_int_equal(tt_node_cache_load(s.path, &c, &e), TT_OK);
    assert_int_equal(c.log.n, 2);
    assert_int_equal(c.log.fallen, 0);
    tt_node_cache_free(&c);
    /* Nobody knows what a damaged slot has told of. */
    assert_int_equal(pwrite(s.fd, torn, sizeof torn, newest), sizeof torn);
    assert_int_equal(tt_node_cache_check_moved(s.directory, true, &e), TT_BUSY);
    assert_non_null(strstr(e.text, "its newest state is damaged"));
    MPI_Barrier(t.spec.comm);
    tt__store_close(&s, false);
    MPI_Barrier(t.spec.comm);
    end(&t);
}

static void a_closed_store_is_not_in_use(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_store s;
    struct target t;
    char *path;

    (void)state;
    begin(&t);
    fill(&t, &s, 1);
    assert_true(tt__store_acknowledge(&s, 1));
    path = strdup(s.path);
    tt__store_close(&s, true);
    assert_int_equal(tt_node_cache_check_ended(path, &e), TT_OK);
    free(path);
    MPI_Barrier(t.spec.comm);
    end(&t);
}

static void heads_are_checked(void **state)
{
#define MOVED "moved 00000000000000000000 a083d0dd"
#define CACHES "caches 00000000000000000001 65e83e21"
#define HEAD "tutti cache 2\n" MOVED "\n" CACHES "\nconverted no \nrank 0 of 1\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "does not begin like"},
        {"tutti cach", "does not begin like"},
        {"tutti cache 3\n", "has version 3"},
        {"tutti cache x\n", "line 1: 'tutti cache x'"},
        {"tutti cache 2\nmoved -1\n", "line 2: 'moved -1'"},
        {"tutti cache 2\nmoved 00000000000000000001 a083d0dd\n", "line 2"}, /* changed */
        {"tutti cache 2\nmoved 00000000000000000000\n", "line 2"},
        {"tutti cache 2\nmoved 99999999999999999999999\n", "line 2"},
        {"tutti cache 2\n" MOVED "\ncaches 1\n", "line 3"},
        {"tutti cache 2\n" MOVED "\n" CACHES "\nconverted maybe\n", "line 4"},
        {"tutti cache 2\n" MOVED "\n" CACHES "\nconverted no \nrank 1 of 1\n", "line 5"},
        {HEAD, "cut short: line 6"},
        {HEAD "inode 7\nsync never\n", "line 7: 'sync never'"},
        {HEAD "inode 7\nsync target\ntarget here\n", "line 8: 'target here'"},
        {HEAD "inode 7\nsync target\ntarget /a%0\n", "line 8"},
        {HEAD "inode 7\nsync target\ntarget /a%0A", "cut short: line 8"},
        {HEAD "inode 7\nsync local\ntarget /a\nend\n", "does not begin like"},
        {HEAD "inode 7\nsync target\ntarget /a%0Ab\nend\n", NULL},
    };
    struct scratch s;
    char *path;

    (void)state;
    scratch_make(&s);
    path = scratch_path(&s, "text");
    for (size_t i = 0; i < sizeof cases / sizeof *cases && s.rank == 0; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        FILE *out = fopen(path, "w");
        struct tt_node_cache c;
        int rc;

        assert_non_null(out);
        fputs(cases[i].text, out);
        fclose(out);
        assert_int_equal(truncate(path, TT_NODE_CACHE_HEAD), 0);
        rc = tt_node_cache_load(path, &c, &e);
        assert_int_equal(rc == TT_OK, cases[i].says == NULL);
        if (cases[i].says && !strstr(e.text, cases[i].says))
            fail_msg("case %zu: %s", i, e.text);
        if (rc == TT_OK)
            assert_string_equal(c.head.target, "/a\nb");
        tt_node_cache_free(&c);
    }
    free(path);
    scratch_remove(&s);
}

/* It may have held what was acknowledged: it has a name only once its head is in storage. */
static void a_cut_head_is_damage(void **state)
{
    static const off_t sizes[] = {TT_NODE_CACHE_HEAD - 1, 60, 7, 0};
    struct tt_error none = TT_ERROR_CLEAR;
    struct cache_store s;
    struct target t;
    char **list, *target;
    size_t n;

    (void)state;
    begin(&t);
    fill(&t, &s, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_node_cache c;

        assert_int_equal(truncate(s.path, sizes[i]), 0);
        assert_int_equal(tt_node_cache_load(s.path, &c, &e), TT_CORRUPT);
        assert_non_null(strstr(e.text, "is shorter than its head"));
        tt_node_cache_free(&c);
        tt_error_clear(&e);
        assert_int_equal(tt_node_cache_check_moved(s.directory, true, &e), TT_BUSY);
    }
    MPI_Barrier(t.spec.comm);
    /* Of which target it is, its name tells. */
    target = realpath(t.spec.path, NULL);
    assert_int_equal(tt_node_cache_list(s.directory, target, &list, &n, &none), TT_OK);
    assert_int_equal(n, t.s.size);
    while (n > 0)
        free(list[--n]);
    free(list);
    free(target);
    assert_int_equal(tt_node_cache_list(s.directory, "/another", &list, &n, &none), TT_OK);
    assert_int_equal(n, 0);
    free(list);
    MPI_Barrier(t.spec.comm);
    tt__store_close(&s, false);
    MPI_Barrier(t.spec.comm);
    end(&t);
}

/* ---- pieces ---- */

static void the_least_used_piece_goes(void **state)
{
    static char names[4][CACHE_NAME];
    char data[1000], back[1000], path[SCRATCH_PATH + 128];
    const uint64_t n = sizeof data;
    struct tt_block b = {.data = back};
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_store s = {.fd = -1};
    struct target t;

    (void)state;
    begin(&t);
    if (t.s.rank == 0) {
        pthread_mutex_init(&s.lock, NULL);
        t.o.size = 3 * 4096 + 100; /* it takes whole pages */
        assert_int_equal(tt__store_open(&s, &t.o, "id", false, 0, &e), TT_OK);
        tt_select_all(&b.file, 1, &n);
        tt_select_all(&b.memory, 1, &n);
        for (int i = 0; i < 4; i++) {
            tt__piece_name(&(struct cache_version){0}, (uint64_t)i, &b, 1, names[i]);
            memset(data, i, sizeof data);
            tt__piece_put(&s, names[i], data, n);
            usleep(10000);
            if (i == 2)
                assert_true(tt__piece_get(&s, names[0], &b, 1)); /* used again */
        }
        assert_true(tt__piece_has(&s, names[0]));
        assert_false(tt__piece_has(&s, names[1]));
        assert_true(tt__piece_get(&s, names[3], &b, 1));
        assert_memory_equal(back, data, sizeof data);
        snprintf(path, sizeof path, "%s/%s", s.directory, names[3]);
        assert_int_equal(truncate(path, 900), 0);
        assert_false(tt__piece_get(&s, names[3], &b, 1));
        tt__store_close(&s, false);
        assert_int_equal(rmdir(t.o.dir), 0);
    }
    end(&t);
}

/* ---- memory ---- */

#ifndef __SANITIZE_ADDRESS__
static _Thread_local bool starved; /* this thread gets none */
static void *caches[64];           /* memory of the size that an open file takes, in use, */
static _Atomic int ncaches = 0;    /* in so many places */
static const size_t one = sizeof(struct cache);

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t size)
{
    return starved ? NULL : __libc_malloc(size);
}
void *calloc(size_t n, size_t size)
{
    void *got = starved ? NULL : __libc_calloc(n, size);

    for (int i = 0; got && n * size == one && i < 64; i++)
        if (!caches[i]) {
            caches[i] = got;
            ncaches++;
            break;
        }
    return got;
}
void free(void *old)
{
    for (int i = 0; old && i < 64; i++)
        if (caches[i] == old) {
            caches[i] = NULL;
            ncaches--;
        }
    __libc_free(old);
}

/* A layer below that counts the calls in which other ranks may wait. */
static _Atomic int counts[3];

static int counting_open(struct tt_file *file, struct tt_error *e)
{
    return tt_below_open(file, file->spec, e);
}
static int counting_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    counts[0]++;
    return tt_file_define(file->below, step, e);
}
static int counting_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                          struct tt_error *e)
{
    counts[1]++;
    return tt_file_write(file->below, step, b, e);
}
static int counting_sync(struct tt_file *file, struct tt_error *e)
{
    counts[2]++;
    return tt_file_sync(file->below, e);
}
static int counting_close(struct tt_file *file, struct tt_error *e)
{
    return tt_below_close(file, e);
}
static const struct tt_backend counting = {.name = "counting",
                                           .kind = TT_REQUEST_LAYER,
                                           .open = counting_open,
                                           .define = counting_define,
                                           .write = counting_write,
                                           .sync = counting_sync,
                                           .close = counting_close};

/* Every third request is one of nothing, which a library may count. */
static void write_starved(struct target *t)
{
    const struct tt_stack plain = t->stack;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;
    int32_t data[N];

    t->stack = (struct tt_stack){.n = 3,
                                 .elements = {&tt_layer_cache, &counting, &tt_backend_posix},
                                 .opts = {&t->o, NULL, &odirect}};
    memset((void *)counts, 0, sizeof counts);
    file = open_target(t, TT_CREATE);
    for (uint64_t step = 0; step < 8; step++) {
        struct tt_block b = block_of(t, data, (int32_t)step);
        bool failed;

        if (step % 3 == 2)
            b.file.kind = b.memory.kind = TT_SELECT_NONE;
        starved = t->s.rank == 0 && step > 0;
        failed = tt_file_define(file, step, &e) != TT_OK ||
                 tt_file_write(file, step, &b, &e) != TT_OK || tt_file_sync(file, &e) != TT_OK;
        starved = false;
        assert_false(failed);
    }
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    t->stack = plain;
}

static void calls_are_made_without_memory(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int32_t data[N], back[N];
    struct tt_file *file;
    struct target t;

    (void)state;
    for (int sync = CACHE_SYNC_TARGET; sync <= CACHE_SYNC_LOCAL; sync++) {
        begin(&t);
        t.o.sync = sync;
        write_starved(&t);
        assert_int_equal(counts[0], 8);
        assert_int_equal(counts[1], 8);
        assert_int_equal(counts[2], 8);
        MPI_Barrier(t.spec.comm);
        file = open_target(&t, TT_READ_ONLY);
        for (uint64_t step = 0; step < 8; step += 1 + step % 3) {
            struct tt_block b = block_of(&t, back, 0);

            memset(back, 1, sizeof back);
            assert_int_equal(tt_file_read(file, step, &b, &e), TT_OK);
            block_of(&t, data, (int32_t)step);
            assert_memory_equal(data, back, sizeof data);
        }
        assert_int_equal(tt_file_close(file, &e), TT_OK);
        MPI_Barrier(t.spec.comm);
        end(&t);
    }
}

/* However many steps a series has. */
static void files_that_are_closed_take_no_memory(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int32_t data[N];
    struct target t;

    (void)state;
    begin(&t);
    t.o.close = CACHE_CLOSE_RETURN;
    t.spec.steps = 1;
    for (int i = 0; i < 30; i++) {
        struct tt_file *file = open_target(&t, TT_CREATE);
        struct tt_block b = block_of(&t, data, i);

        assert_int_equal(tt_file_write(file, 0, &b, &e), TT_OK);
        assert_int_equal(tt_file_close(file, &e), TT_OK);
        assert_true(ncaches <= 2);
        if (t.s.rank == 0)
            unlink(t.spec.path);
    }
    assert_int_equal(tt_stack_settle(&t.stack, NULL, &e), TT_OK);
    assert_int_equal(ncaches, 0);
    end(&t);
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_writes_win),
        cmocka_unit_test(what_is_acknowledged_is_found),
        cmocka_unit_test(a_sync_below_is_no_damage),
        cmocka_unit_test(old_records_go),
        cmocka_unit_test(room_that_was_given_back_is_no_damage),
        cmocka_unit_test(a_closed_store_is_not_in_use),
        cmocka_unit_test(heads_are_checked),
        cmocka_unit_test(a_cut_head_is_damage),
        cmocka_unit_test(the_least_used_piece_goes),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(calls_are_made_without_memory),
        cmocka_unit_test(files_that_are_closed_take_no_memory),
#endif
    };
    int failed, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
