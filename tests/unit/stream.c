/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* Streams of single transfers, in every way the engine has to make them, and the watch over loops
 * in which ranks do not wait for each other. The engine runs as in a job, with workloads of this
 * file's own; these return what they saw, so that no rank is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "engine/perform.h"
#include "plan/directory.h"
#include "plan/registry.h"
#include "scratch.h"

enum { ELEMENTS = 1024, CHUNKS = 101, BYTES = ELEMENTS * 8 };

/* ---- what a rank writes: every size-th chunk, in an order that looks random ---- */

struct scene {
    struct tt_engine *engine;
    unsigned depth;
    struct tt_variable variable;
    struct tt_series *series;
    unsigned seen[CHUNKS];
    bool begun;
    const uint64_t *buffer; /* that the stream before used first */
};
static unsigned depth;      /* of the scene to be run */
static uint64_t behind_end; /* chunks that one rank reads and nobody has written */
static bool prepares;       /* what streams need, before the start */
static bool hurries;        /* the caller uses a buffer again before its transfer is complete */

static uint64_t value(uint64_t chunk, uint64_t i)
{
    return (chunk * ELEMENTS + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void aim(const struct scene *s, struct tt_stream_slot *slot, uint64_t chunk)
{
    uint64_t start = chunk * ELEMENTS, n = ELEMENTS;

    slot->tag = chunk;
    slot->block.variable = 0;
    tt_select_slab(&slot->block.file, 1, s->variable.dims, &start, NULL, &n, NULL);
    tt_select_all(&slot->block.memory, 1, &n);
}

/* A finished transfer: seen once, and read as written. */
static int look(struct scene *s, const struct tt_stream_slot *slot, enum tt_direction direction,
                struct tt_error *e)
{
    const uint64_t *data = slot->buffer;

    if (!slot->complete || slot->tag >= CHUNKS || s->seen[slot->tag]++)
        return tt_fail(e, TT_CORRUPT, "chunk %llu is seen twice", (unsigned long long)slot->tag);
    for (uint64_t i = 0; direction == TT_READING && i < ELEMENTS; i++)
        if (data[i] != value(slot->tag, i))
            return tt_fail(e, TT_CORRUPT, "chunk %llu is not read as written",
                           (unsigned long long)slot->tag);
    return TT_OK;
}

/* A layer that holds writes back until the caller has gone on. */
static bool gone_on;

static int gate_open(struct tt_file *file, struct tt_error *e)
{
    return tt_below_open(file, file->spec, e);
}

static int gate_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    while (!__atomic_load_n(&gone_on, __ATOMIC_ACQUIRE))
        usleep(1000);
    return tt_file_write(file->below, step, b, e);
}

static int gate_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e)
{
    return tt_file_read(file->below, step, b, e);
}

static int gate_sync(struct tt_file *file, struct tt_error *e)
{
    return tt_file_sync(file->below, e);
}

static int gate_close(struct tt_file *file, struct tt_error *e)
{
    return tt_below_close(file, e);
}

static const struct tt_backend gate = {.name = "gate",
                                       .summary = "holds writes back",
                                       .kind = TT_REQUEST_LAYER,
                                       .open = gate_open,
                                       .write = gate_write,
                                       .read = gate_read,
                                       .sync = gate_sync,
                                       .close = gate_close};

/* The first one of a new stream is empty, whoever has used it before. */
static int look_at_buffer(struct scene *s, const uint64_t *buffer, struct tt_error *e)
{
    const uint64_t *before = s->buffer;

    s->begun = true;
    s->buffer = buffer;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        if (buffer[i])
            return tt_fail(e, TT_CORRUPT, "a buffer has data of another stream");
    return prepares && s->depth == 1 && before && before != buffer
               ? tt_fail(e, TT_CORRUPT, "what was prepared is not used")
               : TT_OK;
}

static int transfer(struct scene *s, struct tt_stream *stream, enum tt_direction direction,
                    uint64_t chunk, struct tt_error *e)
{
    struct tt_stream_slot *slot;
    int rc = tt_stream_take(stream, &slot, e);

    if (rc == TT_OK && slot->complete)
        rc = look(s, slot, direction, e);
    if (rc == TT_OK && !s->begun)
        rc = look_at_buffer(s, slot->buffer, e);
    if (rc != TT_OK)
        return rc;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        ((uint64_t *)slot->buffer)[i] = direction == TT_WRITING ? value(chunk, i) : 0;
    aim(s, slot, chunk);
    rc = tt_stream_start(stream, slot, e);
    if (hurries && direction == TT_WRITING)
        ((uint64_t *)slot->buffer)[ELEMENTS / 2] = 0;
    __atomic_store_n(&gone_on, true, __ATOMIC_RELEASE);
    return rc;
}

static int land_all(struct scene *s, struct tt_stream *stream, enum tt_direction direction,
                    struct tt_error *e)
{
    struct tt_stream_slot *slot;
    int rc;

    while ((rc = tt_stream_complete(stream, &slot, e)) == TT_OK && slot)
        if ((rc = look(s, slot, direction, e)) != TT_OK)
            break;
    return rc;
}

static bool is_mine(const struct scene *s, uint64_t chunk)
{
    return chunk % (uint64_t)s->engine->size == (uint64_t)s->engine->rank;
}

static int play(struct scene *s, enum tt_direction direction, struct tt_error *e)
{
    const struct tt_stream_spec spec = {
        .direction = direction, .depth = s->depth, .buffer_size = BYTES};
    struct tt_stream *stream;
    int rc = tt_stream_open(s->series, &spec, &stream, e), closed;

    memset(s->seen, 0, sizeof s->seen);
    if (rc != TT_OK)
        return rc;
    s->begun = false;
    for (uint64_t i = 0; i < CHUNKS && rc == TT_OK; i++)
        if (is_mine(s, i * 37 % CHUNKS))
            rc = transfer(s, stream, direction, i * 37 % CHUNKS, e);
    for (uint64_t i = 0; direction == TT_READING && i < behind_end && rc == TT_OK; i++)
        if (s->engine->rank == s->engine->size - 1)
            rc = transfer(s, stream, direction, CHUNKS + i, e);
    if (rc == TT_OK)
        rc = land_all(s, stream, direction, e);
    closed = tt_stream_close(stream, e);
    for (uint64_t i = 0; i < CHUNKS && rc == TT_OK; i++)
        if (s->seen[i] != is_mine(s, i))
            rc = tt_fail(e, TT_CORRUPT, "chunk %llu is seen %u times", (unsigned long long)i,
                         s->seen[i]);
    return tt_agree(s->engine->comm, rc == TT_OK ? closed : rc, e);
}

static int write_and_read(struct tt_engine *engine, struct tt_error *e)
{
    struct scene s = {.engine = engine, .depth = depth};
    char *path = tt_data_path(engine, "stream");
    struct tt_series_spec spec = {.path = path,
                                  .access = TT_CREATE,
                                  .policy = TT_OVERWRITE,
                                  .independent = true,
                                  .steps = 1,
                                  .nvariables = 1,
                                  .variables = &s.variable};
    int rc, closed;

    s.variable = (struct tt_variable){.path = "x",
                                      .element = &tt_element_u64,
                                      .ndims = 1,
                                      .dims = {(CHUNKS + behind_end) * ELEMENTS},
                                      .per_step = true};
    rc = tt_series_open(engine, &spec, &s.series, e);
    if (rc == TT_OK && prepares)
        rc = tt_stream_prepare(engine, depth, BYTES, e);
    if (rc == TT_OK)
        rc = tt_engine_start(engine, e);
    if (rc == TT_OK)
        rc = play(&s, TT_WRITING, e);
    if (rc == TT_OK)
        rc = play(&s, TT_READING, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(engine, e);
    closed = tt_series_close(s.series, e);
    free(path);
    return rc == TT_OK ? closed : rc;
}

/* Rank 0 sees the time, the others hear of it. */
static int watch(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_error mine = TT_ERROR_CLEAR;
    int rc = tt_engine_start(engine, e);
    uint64_t i = 0;

    if (rc != TT_OK)
        return rc;
    tt_watch_begin(engine);
    while (tt_watch(engine, i, 0, &mine) == TT_OK)
        i++;
    MPI_Barrier(engine->comm); /* other calls may go on meanwhile */
    return tt_watch_end(engine, e);
}

/* ---- the engine around it ---- */

static int perform(int (*run)(struct tt_engine *, struct tt_error *), const char *const *words,
                   struct tt_error *e)
{
    const struct tt_perform_how how = {0};
    struct tt_settings settings = {0};
    struct tt_workload workload;
    struct tt_config config;
    struct scratch scratch;
    char directory[SCRATCH_PATH] = "", ranks[16], *made = NULL;
    int rc;

    scratch_make(&scratch);
    snprintf(ranks, sizeof ranks, "%d", scratch.size);
    tt_settings_add(&settings, "ranks", ranks, "test", e);
    tt_settings_add(&settings, "dir", scratch.directory, "test", e);
    tt_settings_add(&settings, "results", scratch.directory, "test", e);
    tt_settings_add(&settings, "min_free", "0", "test", e);
    for (; *words; words += 2)
        tt_settings_add(&settings, words[0], words[1], "test", e);
    rc = tt_config_make(&config, "template", &settings, e);
    if (rc != TT_OK)
        print_error("%s\n", e->text);
    assert_int_equal(rc, TT_OK);
    workload = *config.workload;
    workload.run = run;
    config.workload = &workload;
    if (scratch.rank == 0 && tt_directory_create(&config, &made, e) == TT_OK)
        snprintf(directory, sizeof directory, "%s", made);
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    rc = tt_perform(MPI_COMM_WORLD, MPI_THREAD_MULTIPLE, directory, &config, how, NULL, e);
    free(made);
    tt_config_free(&config);
    tt_settings_free(&settings);
    scratch_remove(&scratch);
    return rc;
}

#define MAX_WORDS 12
static const struct way {
    unsigned depth;
    const char *words[MAX_WORDS];
} ways[] = {
    {1, {"backend", "posix"}},
    {4, {"backend", "posix"}},
    {4, {"backend", "posix", "sync", "write"}},
    {4, {"backend", "posix", "mode", "async"}},
    {1, {"backend", "posix", "layers", "template"}},
    {3, {"backend", "posix", "layers", "template", "mode", "async"}},
    {1, {"backend", "uring"}},
    {4, {"backend", "uring"}},
    {40, {"backend", "uring", "uring.registered", "yes"}},
    {40, {"backend", "uring", "uring.depth", "3", "uring.sqpoll", "yes"}},
    {4, {"backend", "uring", "sync", "write"}},
    {4, {"backend", "uring", "mode", "async"}},
    {4, {"backend", "mpiio", "mpiio.method", "nonblocking"}},
    {1, {"backend", "mpiio", "mpiio.method", "independent"}},
    {1, {"backend", "hdf5", "hdf5.method", "independent"}},
    {3, {"backend", "hdf5", "hdf5.method", "independent", "mode", "async"}},
};

static bool is_available(const char *backend)
{
    struct tt_error e = TT_ERROR_CLEAR;

    return tt_find_backend(backend, &e) != NULL;
}

static void every_chunk_lands_once_and_is_read_as_written(void **state)
{
    (void)state;
    behind_end = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        int rc;

        if (!is_available(ways[i].words[1]))
            continue;
        prepares = i % 3 != 1;
        depth = ways[i].depth;
        rc = perform(write_and_read, ways[i].words, &e);
        if (rc == TT_UNSUPPORTED && strstr(e.text, "io_uring"))
            continue;
        if (rc != TT_OK)
            print_error("%s, way %zu: %s\n", ways[i].words[1], i, e.text);
        assert_int_equal(rc, TT_OK);
    }
}

/* The last rank reads what nobody has written: every rank is told, and none hangs. */
static void a_failure_of_one_rank_reaches_all(void **state)
{
    static const struct way some[] = {{1, {"backend", "posix"}},
                                      {4, {"backend", "posix"}},
                                      {4, {"backend", "posix", "mode", "async"}},
                                      {1, {"backend", "uring"}},
                                      {4, {"backend", "uring"}}};

    (void)state;
    behind_end = 9;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        int rc, size;

        if (!is_available(some[i].words[1]))
            continue;
        depth = some[i].depth;
        rc = perform(write_and_read, some[i].words, &e);
        if (rc == TT_UNSUPPORTED && strstr(e.text, "io_uring"))
            continue;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        assert_int_equal(rc, TT_FAILED);
        assert_true(size == 1 || e.rank == size - 1);
        assert_non_null(strstr(e.text, "before the data asked for"));
    }
}

/* Nothing is copied: what is written is not what was given, and the layer verify says so. */
static void data_that_changes_too_early_is_found(void **state)
{
    static const char *const words[] = {"backend", "posix",       "mode", "async",
                                        "layers",  "gate,verify", NULL};
    size_t n = 0;

    (void)state;
    while (tt_layers[n])
        n++;
    tt_layers[n] = &gate;
    behind_end = 0;
    depth = 3;
    for (int i = 0; i < 2; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        int rc;

        hurries = i == 1;
        gone_on = false;
        rc = perform(write_and_read, words, &e);
        if (rc != TT_OK && !hurries)
            print_error("%s\n", e.text);
        assert_int_equal(rc, hurries ? TT_CORRUPT : TT_OK);
        assert_true(!hurries || strstr(e.text, "what was read is not what was written"));
    }
    hurries = false;
    tt_layers[n] = NULL;
}

static void a_depth_that_cannot_be_is_refused(void **state)
{
    static const char *const words[] = {"backend", "posix", "layers", "template", NULL};
    static const unsigned depths[] = {0, 2};

    (void)state;
    behind_end = 0;
    for (int i = 0; i < 2; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        depth = depths[i];
        assert_int_equal(perform(write_and_read, words, &e), TT_USAGE);
        assert_non_null(strstr(e.text, "in flight"));
    }
}

static void all_ranks_end_when_rank_0_says_so(void **state)
{
    static const char *const words[] = {"backend", "posix", "max_time", "0.2s", NULL};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(perform(watch, words, &e), TT_LIMIT);
    assert_non_null(strstr(e.text, "--max-time"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_lands_once_and_is_read_as_written),
        cmocka_unit_test(a_failure_of_one_rank_reaches_all),
        cmocka_unit_test(data_that_changes_too_early_is_found),
        cmocka_unit_test(a_depth_that_cannot_be_is_refused),
        cmocka_unit_test(all_ranks_end_when_rank_0_says_so),
    };
    int failed, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
