/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 */
/* The layers log and compress on posix against an array in memory; damaged and torn containers. */
#include <endian.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mix.h"
#include "io/log_format.h"
#include "io/logged.h"
#include "scratch.h"

#define N 3000 /* elements of the variable */
#define CALLS 40

extern const struct tt_backend tt_backend_posix, tt_layer_log, tt_layer_compress, tt_layer_align;
static const bool odirect = false; /* posix' own option */
static const uint64_t log_opts = 4096;
static const struct { /* as in compress.c */
    int codec;
    double bound;
    uint64_t level, block, threads, segment;
} lz4 = {0, 0, 0, 512, 2, 4096}, zstd = {1, 0, 3, 700, 1, 4096}, zfp = {2, 0, 0, 512, 2, 4096};

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = tt_mix(*seed);
    return *seed % below;
}

/* Runs of this call and rank, which overlap those of others; their number. Also in file order. */
static size_t draw_runs(uint64_t call, int rank, struct tt_run *runs)
{
    uint64_t seed = call * 97 + (uint64_t)rank + 1, at = draw(&seed, 200);
    size_t n = 0;

    while (n < 20 && at < N) {
        uint64_t length = 1 + draw(&seed, 60);

        length = length < N - at ? length : N - at;
        runs[n++] = (struct tt_run){at, length};
        at += length + draw(&seed, 100);
    }
    for (size_t i = 0; call % 2 && i < n / 2; i++) { /* and backwards */
        struct tt_run other = runs[i];

        runs[i] = runs[n - 1 - i];
        runs[n - 1 - i] = other;
    }
    return n;
}

static double content(uint64_t call, int rank, uint64_t element)
{
    return (double)(call * 100 + (uint64_t)rank) + (double)(element / 50);
}

/* What every rank wrote up to this call, later ones over earlier ones. */
static void expected(uint64_t calls, int size, double *model)
{
    memset(model, 0, N * sizeof *model);
    for (uint64_t call = 0; call < calls; call++)
        for (int rank = 0; rank < size; rank++) {
            struct tt_run runs[20];
            size_t n = draw_runs(call, rank, runs);

            for (size_t i = 0; i < n; i++)
                for (uint64_t k = 0; k < runs[i].length; k++)
                    model[runs[i].start + k] = content(call, rank, runs[i].start + k);
        }
}

static void write_call(struct tt_file *file, uint64_t call)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_run runs[20];
    size_t n = draw_runs(call, file->rank, runs), at = 0;
    double data[1200];
    struct tt_block b = {.data = data};
    uint64_t count;

    for (size_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < runs[i].length; k++)
            data[at++] = content(call, file->rank, runs[i].start + k);
    count = at;
    tt_select_runs(&b.file, 1, file->spec->variables[0].dims, n, runs);
    tt_select_all(&b.memory, 1, &count);
    assert_int_equal(tt_file_write(file, 0, &b, &e), TT_OK);
}

/* Also into memory with gaps. */
static void compare(struct tt_file *file, uint64_t calls, int writers)
{
    const uint64_t zero = 0, two = 2, count = N, wide = 2 * N;
    double *model = calloc(N, sizeof *model), *found = calloc(2 * N, sizeof *found);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_block b = {.data = found};

    expected(calls, writers, model);
    tt_select_all(&b.file, 1, &count);
    tt_select_slab(&b.memory, 1, &wide, &zero, &two, &count, NULL);
    assert_int_equal(tt_file_read(file, 0, &b, &e), TT_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(found[2 * i] == model[i] && found[2 * i + 1] == 0);
    free(model);
    free(found);
}

struct set {
    struct scratch s;
    struct tt_stack stack;
    struct tt_variable variable;
    struct tt_file_spec spec;
    char *path;
};

static void set_up(struct set *t, const struct tt_backend *layer, const void *opts)
{
    memset(t, 0, sizeof *t);
    scratch_make(&t->s);
    t->path = scratch_path(&t->s, "data");
    t->stack =
        (struct tt_stack){.n = 2, .elements = {layer, &tt_backend_posix}, .opts = {opts, &odirect}};
    t->variable =
        (struct tt_variable){.path = "field", .element = &tt_element_f64, .ndims = 1, .dims = {N}};
    t->spec = (struct tt_file_spec){.path = t->path,
                                    .policy = TT_OVERWRITE,
                                    .steps = 1,
                                    .nvariables = 1,
                                    .variables = &t->variable};
    MPI_Comm_dup(MPI_COMM_WORLD, &t->spec.comm);
}

static struct tt_file *opened(struct set *t, enum tt_access access)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;

    t->spec.access = access;
    assert_int_equal(tt_file_open(&t->stack, &t->spec, &file, &e), TT_OK);
    return file;
}

static void closed(struct tt_file *file)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_file_close(file, &e), TT_OK);
}

static void tear_down(struct set *t)
{
    scratch_remove(&t->s);
    MPI_Comm_free(&t->spec.comm);
    free(t->path);
}

static void write_and_read(const struct tt_backend *layer, const void *opts)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;
    struct set t;

    set_up(&t, layer, opts);
    file = opened(&t, TT_CREATE);
    for (uint64_t call = 0; call < CALLS; call++) {
        write_call(file, call);
        if (call % 7 == 3)
            compare(file, call + 1,
                    file->size); /* what other ranks wrote, too, while it is written */
        if (call % 11 == 5)
            assert_int_equal(tt_file_sync(file, &e), TT_OK);
    }
    closed(file);
    file = opened(&t, TT_READ_ONLY);
    compare(file, CALLS, t.s.size);
    closed(file);
    MPI_Comm_free(&t.spec.comm); /* by other ranks than wrote it */
    MPI_Comm_dup(MPI_COMM_SELF, &t.spec.comm);
    file = opened(&t, TT_READ_ONLY);
    compare(file, CALLS, t.s.size);
    closed(file);
    tear_down(&t);
}

static void later_requests_win(void **state)
{
    (void)state;
    assert_int_equal(tt_layer_log.opts_size, sizeof log_opts);
    assert_int_equal(tt_layer_compress.opts_size, sizeof lz4);
    write_and_read(&tt_layer_log, &log_opts);
    write_and_read(&tt_layer_compress, &lz4);
    write_and_read(&tt_layer_compress, &zstd);
    if (!tt_codecs[zfp.codec]->package)
        write_and_read(&tt_layer_compress, &zfp);
}

/* posix, on which the write that is counted down to fails */
static int countdown;

static int failing_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    if (countdown-- == 0)
        return tt_fail(e, TT_FAILED, "this write fails");
    return tt_backend_posix.write(file, step, b, e);
}

/* A log without a request that was given to it does not pass as whole. */
static void after_a_failed_write_it_is_not_closed(void **state)
{
    struct tt_backend failing = tt_backend_posix;
    struct tt_error e = TT_ERROR_CLEAR;
    double data[10] = {0};
    const struct tt_run first = {0, 10};
    struct tt_block b = {.data = data};
    struct tt_file *file;
    struct set t;

    (void)state;
    failing.write = failing_write;
    set_up(&t, &tt_layer_log, &log_opts);
    t.stack.elements[1] = &failing;
    countdown = -1;
    file = opened(&t, TT_CREATE);
    write_call(file, 0);
    countdown = t.s.rank == 0 ? 0 : -1;
    tt_select_runs(&b.file, 1, t.variable.dims, 1, &first);
    tt_select_all(&b.memory, 1, &first.length);
    assert_int_equal(tt_file_write(file, 0, &b, &e), t.s.rank == 0 ? TT_FAILED : TT_OK);
    write_call(file, 2);
    closed(file);
    t.spec.access = TT_READ_ONLY;
    e = (struct tt_error)TT_ERROR_CLEAR;
    assert_int_equal(tt_file_open(&t.stack, &t.spec, &file, &e), TT_CORRUPT);
    assert_non_null(strstr(e.text, "rank 0 has not closed the log"));
    tear_down(&t);
}

/* ---- without MPI, as tutti convert reads ---- */

struct image {
    size_t size;
    unsigned char *data;
};

static int fetch(void *context, int rc, size_t n, const struct tt_run *runs, void *to,
                 struct tt_error *e)
{
    const struct image *image = context;
    unsigned char *at = to;

    (void)e;
    for (size_t i = 0; rc == TT_OK && i < n; at += runs[i++].length) {
        uint64_t left = runs[i].start < image->size ? image->size - runs[i].start : 0;

        left = left < runs[i].length ? left : runs[i].length;
        memcpy(at, image->data + (left ? runs[i].start : 0), left);
        memset(at + left, 0, runs[i].length - left);
    }
    return rc;
}

/* All of it, into doubles. */
static int salvage(struct image *image, struct tt_log *log, double *out, struct tt_error *e)
{
    unsigned char stored[65536], unpacked[65536];
    void *codec;
    int rc;

    *log = (struct tt_log){.path = "image"};
    rc = tt_log_load(log, image->size, true, fetch, image, e);
    if (rc == TT_OK && (log->block > sizeof stored || log->variables[0].bytes != N * sizeof *out))
        rc = TT_CORRUPT;
    codec = log->codec ? log->codec->start(true) : NULL;
    for (size_t i = 0; rc == TT_OK && i < log->n; i++) {
        struct tt_log_entry *x = &log->entries[i];
        struct tt_run run = {0}, place[32];
        struct tt_log_walk walk;

        rc = tt_log_starts(log, x, e);
        tt_log_walk_begin(&walk, x);
        for (uint64_t k = 0; rc == TT_OK && k < tt_log_nblocks(log, x); k++) {
            uint64_t n = x->starts[k + 1] - x->starts[k], done = 0;
            const void *data;

            fetch(image, TT_OK, tt_log_runs(log, x->rank, x->position + x->starts[k], n, place),
                  place, stored, e);
            rc = tt_log_unpack(log, x, k, stored, unpacked, codec, &data, e);
            for (; rc == TT_OK && done < tt_log_block_bytes(log, x, k); done++, run.length--) {
                if (run.length == 0)
                    assert_true(tt_log_walk_next(&walk, &run));
                ((unsigned char *)out)[run.start++] = ((const unsigned char *)data)[done];
            }
        }
    }
    if (codec)
        log->codec->end(codec, true);
    return rc;
}

static struct image image_of(const char *path)
{
    FILE *in = fopen(path, "rb");
    struct image image = {0};

    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    image.size = (size_t)ftell(in);
    image.data = malloc(image.size);
    rewind(in);
    assert_int_equal(fread(image.data, 1, image.size, in), image.size);
    fclose(in);
    return image;
}

/* A container with two syncs, one compared after each, and a close. */
static void write_three_parts(struct set *t, struct image parts[3])
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file = opened(t, TT_CREATE);

    for (uint64_t call = 0; call < 6; call++) {
        write_call(file, call);
        if (call % 2 && call < 5) {
            assert_int_equal(tt_file_sync(file, &e), TT_OK);
            MPI_Barrier(MPI_COMM_WORLD);
            parts[call / 2] = image_of(t->path);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    closed(file);
    parts[2] = image_of(t->path);
}

static bool is_expected(const double *found, uint64_t calls, int size)
{
    double *model = calloc(N, sizeof *model);
    bool same;

    expected(calls, size, model);
    same = memcmp(found, model, N * sizeof *model) == 0;
    free(model);
    return same;
}

static uint64_t word(const unsigned char *at, unsigned i)
{
    uint64_t value;

    memcpy(&value, at + 8 * i, sizeof value);
    return le64toh(value);
}

/* As if all had come to storage but the last block that every rank wrote. */
static void lose_last_block(struct image *image)
{
    struct tt_log log = {.path = "image"};
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_log_load(&log, image->size, true, fetch, image, &e), TT_OK);
    for (unsigned r = 0; r < log.ranks; r++) {
        struct tt_log_entry *last = NULL;
        struct tt_run runs[2];

        for (size_t i = 0; i < log.n; i++)
            if (log.entries[i].rank == r && (!last || log.entries[i].position > last->position))
                last = &log.entries[i];
        assert_non_null(last);
        tt_log_runs(&log, r, last->position, 1, runs);
        image->data[runs[0].start] ^= 1;
    }
    tt_log_free(&log);
}

/* After a crash the last sync that is whole counts. */
static void what_was_synced_is_found(void **state)
{
    double *found = calloc(N, sizeof *found);
    struct tt_error e = TT_ERROR_CLEAR;
    struct image parts[3], torn;
    struct tt_log log;
    struct set t;

    (void)state;
    set_up(&t, &tt_layer_compress, &lz4);
    write_three_parts(&t, parts);
    for (int i = 0; i < 3; i++) {
        memset(found, 0, N * sizeof *found);
        assert_int_equal(salvage(&parts[i], &log, found, &e), TT_OK);
        assert_int_equal(log.unclosed, i < 2 ? log.ranks : 0);
        assert_true(is_expected(found, 2 * (uint64_t)(i + 1), t.s.size));
        tt_log_free(&log);
    }
    /* the slot of the second sync without its record, as if only the slot had come to storage */
    torn = parts[1];
    assert_true(torn.size > parts[0].size);
    torn.size = parts[0].size;
    memset(found, 0, N * sizeof *found);
    if (t.s.size == 1) { /* of several ranks some may have theirs within that size */
        assert_int_equal(salvage(&torn, &log, found, &e), TT_OK);
        assert_true(is_expected(found, 2, t.s.size));
        tt_log_free(&log);
    }
    for (int i = 1; i < 3; i++) { /* in the second sync, and in the close, which does not sync */
        lose_last_block(&parts[i]);
        memset(found, 0, N * sizeof *found);
        assert_int_equal(salvage(&parts[i], &log, found, &e), TT_OK);
        assert_int_equal(log.unclosed, log.ranks);
        assert_true(is_expected(found, 2 * (uint64_t)i, t.s.size));
        tt_log_free(&log);
    }
    lose_last_block(&parts[0]); /* there is no sync before it */
    assert_int_equal(salvage(&parts[0], &log, found, &e), TT_CORRUPT);
    tt_log_free(&log);
    for (int i = 0; i < 3; i++)
        free(parts[i].data);
    free(found);
    tear_down(&t);
}

/* Records that were not synced, which reading while writing makes, leave alone what was. */
static void reading_keeps_what_was_synced(void **state)
{
    double *found = calloc(N, sizeof *found);
    struct tt_error e = TT_ERROR_CLEAR;
    struct image synced, later;
    struct tt_file *file;
    struct tt_log log;
    struct set t;

    (void)state;
    set_up(&t, &tt_layer_log, &log_opts);
    file = opened(&t, TT_CREATE);
    for (uint64_t call = 0; call < 5; call++) {
        write_call(file, call);
        if (call > 1)
            compare(file, call + 1, t.s.size);
        if (call == 1) {
            assert_int_equal(tt_file_sync(file, &e), TT_OK);
            MPI_Barrier(MPI_COMM_WORLD);
            synced = image_of(t.path);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    later = image_of(t.path);
    MPI_Barrier(MPI_COMM_WORLD);
    closed(file);
    /* as if of all that came after the sync only the slots had come to storage */
    assert_int_equal(salvage(&synced, &log, found, &e), TT_OK);
    memcpy(synced.data + log.slots, later.data + log.slots, log.base - log.slots);
    tt_log_free(&log);
    memset(found, 0, N * sizeof *found);
    assert_int_equal(salvage(&synced, &log, found, &e), TT_OK);
    assert_true(is_expected(found, 2, t.s.size));
    tt_log_free(&log);
    free(synced.data);
    free(later.data);
    free(found);
    tear_down(&t);
}

/* Whatever is changed, or missing, it is found: nothing else than what was written is read, unless
 * an earlier sync is all that is left, which shows as a log that was not closed. */
static void damage_is_found(void **state)
{
    double *found = calloc(N, sizeof *found);
    uint64_t seed = 5, refused = 0;
    struct image parts[3], *whole = &parts[2];
    struct set t;

    (void)state;
    set_up(&t, &tt_layer_compress, &zstd);
    write_three_parts(&t, parts);
    for (int i = 0; i < 600; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        size_t size = whole->size, at = draw(&seed, size);
        unsigned char before = whole->data[at];
        struct tt_log log;
        int rc;

        if (i % 10 == 0)
            whole->size = at;
        else if (i % 2)
            whole->data[at] ^= (unsigned char)(1 << draw(&seed, 8));
        else
            whole->data[at] = 0xff;
        memset(found, 0, N * sizeof *found);
        rc = salvage(whole, &log, found, &e);
        assert_true(rc != TT_OK || log.unclosed > 0 || is_expected(found, 6, t.s.size));
        assert_true(rc == TT_OK || rc == TT_CORRUPT || rc == TT_UNSUPPORTED);
        refused += rc != TT_OK;
        tt_log_free(&log);
        whole->data[at] = before;
        whole->size = size;
    }
    assert_true(refused > 20);
    for (int i = 0; i < 3; i++)
        free(parts[i].data);
    free(found);
    tear_down(&t);
}

/* ---- containers that somebody made up, with hashes that hold ---- */

static void set_word(unsigned char *at, unsigned i, uint64_t value)
{
    value = htole64(value);
    memcpy(at + 8 * i, &value, sizeof value);
}

/* A slot, or with size a record. */
static void reseal(unsigned char *at, size_t size)
{
    XXH3_state_t hash;

    XXH3_64bits_reset(&hash);
    XXH3_64bits_update(&hash, at, TT_LOG_SLOT - 8);
    XXH3_64bits_update(&hash, at + TT_LOG_SLOT, size ? size - TT_LOG_SLOT : 0);
    set_word(at, 7, XXH3_64bits_digest(&hash));
}

/* Its hash holds, so the codec is the one that refuses it. */
static void blocks_that_do_not_unpack_are_refused(void **state)
{
    struct tt_log log = {.path = "image"};
    struct tt_error e = TT_ERROR_CLEAR;
    struct image parts[3];
    unsigned packed = 0;
    struct set t;

    (void)state;
    set_up(&t, &tt_layer_compress, &zstd);
    write_three_parts(&t, parts);
    assert_int_equal(tt_log_load(&log, parts[2].size, true, fetch, &parts[2], &e), TT_OK);
    for (size_t i = 0; i < log.n; i++) {
        void *codec = log.codec->start(true);
        struct tt_log_entry *x = &log.entries[i];
        unsigned char stored[65536], unpacked[65536], *hash = (unsigned char *)x->blocks + 4;
        const void *data;

        assert_int_equal(tt_log_starts(&log, x, &e), TT_OK);
        if (x->starts[1] < tt_log_block_bytes(&log, x, 0)) {
            memset(stored, 0xff, x->starts[1]);
            set_word(hash, 0, XXH3_64bits(stored, x->starts[1]));
            assert_int_equal(tt_log_unpack(&log, x, 0, stored, unpacked, codec, &data, &e),
                             TT_CORRUPT);
            assert_non_null(strstr(e.text, "does not unpack"));
            tt_error_clear(&e);
            packed++;
        }
        log.codec->end(codec, true);
    }
    assert_true(packed > 0);
    tt_log_free(&log);
    for (int i = 0; i < 3; i++)
        free(parts[i].data);
    tear_down(&t);
}

static int loaded(struct image *image)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_log log = {.path = "image"};
    int rc = tt_log_load(&log, image->size, true, fetch, image, &e);

    tt_log_free(&log);
    return rc;
}

/* Sizes whose sum wraps, a place behind the end of the stream, more ranks than the file has room
 * for: without these checks records were read into a buffer that is too small for them. */
static void made_up_sizes_are_refused(void **state)
{
    const struct tt_variable variable = {
        .path = "field", .element = &tt_element_f64, .ndims = 1, .dims = {N}};
    const struct tt_file_spec spec = {.path = "image", .nvariables = 1, .variables = &variable};
    const uint64_t huge = UINT64_C(1) << 62, large = UINT64_C(1) << 40;
    const struct {
        uint64_t segment, position, size, end;
    } cases[] = {
        {UINT64_C(1) << 61, 0, huge + 16, huge + 100}, /* four times that is 64 */
        {4096, large, 100, 1000},
        {4096, 950, 100, 1000},
        {4096, huge - 200, 100, huge},
    };
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_log log;
    struct image image;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tt_log_begin(&log, &spec, 4, cases[i].segment, 4096, NULL, &e), TT_OK);
        image = (struct image){log.base, tt_log_front(&log)};
        for (unsigned r = 0; r < 4; r++) {
            const uint64_t words[] = {1, cases[i].position, cases[i].size, cases[i].end, 1, r, 0};
            unsigned char *slot = image.data + log.slots + r * 2 * TT_LOG_SLOT;

            for (unsigned k = 0; k < 7; k++)
                set_word(slot, k, words[k]);
            reseal(slot, 0);
        }
        assert_int_equal(loaded(&image), TT_CORRUPT);
        if (i == 0) {
            uint64_t head = word(image.data, 2);

            memset(image.data + log.slots, 0, log.base - log.slots);
            assert_int_equal(loaded(&image), TT_OK);
            set_word(image.data, 3, INT32_MAX);
            set_word(image.data, (unsigned)(head / 8 - 1), XXH3_64bits(image.data, head - 8));
            assert_int_equal(loaded(&image), TT_CORRUPT);
        }
        free(image.data);
        tt_log_free(&log);
    }
}

/* The record before a record is older, and lies before it. */
static void rings_of_records_are_refused(void **state)
{
    struct image parts[3], *image = &parts[1];
    struct tt_error e = TT_ERROR_CLEAR;
    unsigned char *slot, *record;
    struct tt_run run;
    struct tt_log log;
    struct set t;

    (void)state;
    set_up(&t, &tt_layer_log, &log_opts);
    write_three_parts(&t, parts);
    log = (struct tt_log){.path = "image"};
    assert_int_equal(tt_log_load(&log, image->size, true, fetch, image, &e), TT_OK);
    slot = image->data + log.slots;
    slot += word(slot, 0) > word(slot, 8) ? 0 : TT_LOG_SLOT;
    tt_log_runs(&log, 0, word(slot, 1), 1, &run);
    assert_true(word(slot, 1) % 4096 + word(slot, 2) <= 4096); /* in one segment */
    record = image->data + run.start;
    set_word(record, 5, word(slot, 1));
    set_word(record, 6, word(slot, 2));
    reseal(record, word(slot, 2));
    assert_int_equal(loaded(image), TT_CORRUPT);
    tt_log_free(&log);
    for (int i = 0; i < 3; i++)
        free(parts[i].data);
    tear_down(&t);
}

static void refused(struct set *t, long offset, unsigned char byte, int code, const char *text)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;

    if (t->s.rank == 0) {
        FILE *f = fopen(t->path, "r+b");

        fseek(f, offset, SEEK_SET);
        fputc(byte, f);
        fclose(f);
    }
    t->spec.access = TT_READ_ONLY;
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(tt_file_open(&t->stack, &t->spec, &file, &e), code);
    assert_non_null(strstr(e.text, text));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong_heads_are_refused(void **state)
{
    struct set t;

    (void)state;
    set_up(&t, &tt_layer_log, &log_opts);
    closed(opened(&t, TT_CREATE));
    refused(&t, 24, 77, TT_CORRUPT, "is damaged");
    refused(&t, 8, 2, TT_UNSUPPORTED, "has version 2");
    refused(&t, 0, 'x', TT_CORRUPT, "does not begin like");
    tear_down(&t);
}

/* ---- what a call costs ---- */

static int pass_close(struct tt_file *file, struct tt_error *e)
{
    return tt_below_close(file, e);
}

static int pass_open(struct tt_file *file, struct tt_error *e)
{
    return tt_below_open(file, file->spec, e);
}

static int slow_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    (void)file, (void)step, (void)e;
    usleep(2000);
    return TT_OK;
}

/* A layer that has no define has passed the call on: the time below is part of its time. */
static void passing_on_takes_no_negative_time(void **state)
{
    struct tt_backend slow = tt_backend_posix;
    const struct tt_backend passing = {
        .name = "passing", .kind = TT_REQUEST_LAYER, .open = pass_open, .close = pass_close};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;
    struct set t;

    (void)state;
    slow.define = slow_define;
    set_up(&t, &passing, NULL);
    t.stack.elements[1] = &slow;
    file = opened(&t, TT_CREATE);
    assert_int_equal(tt_file_define(file, 0, &e), TT_OK);
    assert_true(file->below->cost.ns >= 2000000);
    assert_true(file->cost.ns >= file->below->cost.ns);
    assert_true(file->cost.cpu_ns >= file->below->cost.cpu_ns);
    closed(file);
    tear_down(&t);
}

static void stacks_of_layout_layers(void **state)
{
    struct tt_backend carrier = {
        .name = "carrier", .kind = TT_LAYOUT_LAYER, .caps = TT_CAP_CARRIES_LAYOUT};
    const struct tt_stack good = {.n = 3,
                                  .elements = {&tt_layer_compress, &carrier, &tt_backend_posix}};
    const struct tt_stack bad = {
        .n = 3, .elements = {&tt_layer_compress, &tt_layer_align, &tt_backend_posix}};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_stack_check(&good, &e), TT_OK);
    assert_int_equal(tt_stack_check(&bad, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "compress cannot stand on layer align"));
    assert_int_equal(tt_stack_caps(&good) & TT_CAP_RAW, 0);
}

/* Packs and unpacks 100 values; the greatest difference. size: of the packed block. */
static double pack_and_unpack(const struct tt_codec *codec, enum tt_kind kind, double bound,
                              const void *values, size_t bytes, size_t *size)
{
    const struct tt_packing how = {.bound = bound, .kind = kind};
    void *packs = codec->start(false), *unpacks = codec->start(true);
    size_t room = codec->bound(bytes);
    unsigned char *to = malloc(room), *back = malloc(bytes);
    double most = 0;

    *size = codec->pack(packs, &how, values, bytes, to, room);
    assert_in_range(*size, 17, room);
    assert_true(codec->unpack(unpacks, to, *size, back, bytes));
    for (size_t i = 0; i < 100; i++)
        most =
            fmax(most, kind == TT_F64
                           ? fabs(((double *)back)[i] - ((const double *)values)[i])
                           : fabs((double)((float *)back)[i] - (double)((const float *)values)[i]));
    if (bound == 0 || (kind == TT_F64 && isnan(*(const double *)values)))
        assert_memory_equal(back, values, bytes);
    /* one that is damaged: whatever comes out, nothing beyond it is read */
    for (size_t i = 16; i < *size; i++)
        to[i] ^= (unsigned char)tt_mix(i);
    codec->unpack(unpacks, to, *size, back, bytes);
    assert_false(codec->unpack(unpacks, to, 15, back, bytes));
    to[0] = 99; /* no kind */
    assert_false(codec->unpack(unpacks, to, *size, back, bytes));
    codec->end(packs, false);
    codec->end(unpacks, true);
    free(to);
    free(back);
    return most;
}

/* Every bit, or within the bound, also where zfp alone would not keep it. */
static void zfp_keeps_bits_or_the_bound(void **state)
{
    const struct tt_codec *codec = tt_codec_numbered(3);
    size_t exact, near, huge;
    double wide[100];
    float narrow[100];

    (void)state;
    if (codec->package)
        skip();
    for (int i = 0; i < 100; i++) {
        wide[i] = sin(0.1 * i) + 1e-9 * i;
        narrow[i] = (float)wide[i];
    }
    assert_true(pack_and_unpack(codec, TT_F64, 0, wide, sizeof wide, &exact) == 0);
    assert_true(pack_and_unpack(codec, TT_F64, 1e-3, wide, sizeof wide, &near) <= 1e-3);
    assert_true(near < exact);
    assert_true(pack_and_unpack(codec, TT_F32, 0, narrow, sizeof narrow, &exact) == 0);
    assert_true(pack_and_unpack(codec, TT_F32, 1e-3, narrow, sizeof narrow, &near) <= 1e-3);
    assert_true(near < exact);
    wide[50] = 1e30;
    assert_true(pack_and_unpack(codec, TT_F64, 1e-3, wide, sizeof wide, &huge) <= 1e-3);
    wide[0] = NAN;
    wide[1] = -INFINITY;
    pack_and_unpack(codec, TT_F64, 1e-3, wide, sizeof wide, &huge);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_requests_win),
        cmocka_unit_test(after_a_failed_write_it_is_not_closed),
        cmocka_unit_test(what_was_synced_is_found),
        cmocka_unit_test(reading_keeps_what_was_synced),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(blocks_that_do_not_unpack_are_refused),
        cmocka_unit_test(made_up_sizes_are_refused),
        cmocka_unit_test(rings_of_records_are_refused),
        cmocka_unit_test(wrong_heads_are_refused),
        cmocka_unit_test(passing_on_takes_no_negative_time),
        cmocka_unit_test(stacks_of_layout_layers),
        cmocka_unit_test(zfp_keeps_bits_or_the_bound),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
