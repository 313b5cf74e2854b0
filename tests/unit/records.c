/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records read back: what was written, what a crash leaves, and files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/records.h"

static char path[] = "/tmp/tutti-records-XXXXXX";

/* A file in memory, so that mutations are cheap. */
struct image {
    size_t n;
    char bytes[256 * 1024];
};

static void put(struct image *m, const void *data, size_t n)
{
    assert_true(m->n + n <= sizeof m->bytes);
    memcpy(m->bytes + m->n, data, n);
    m->n += n;
}

static void put_chunk(struct image *m, uint32_t type, const void *data, size_t n)
{
    struct tt_chunk_header chunk = {.type = type, .length = n};

    put(m, &chunk, sizeof chunk);
    put(m, data, n);
}

static void put_header(struct image *m)
{
    struct tt_records_header h = {.magic = TT_RECORDS_MAGIC,
                                  .nphases = TT_NPHASES,
                                  .rank = 1,
                                  .size = 2,
                                  .state = TT_RANK_DONE,
                                  .pid = 7,
                                  .host = "node1"};

    put(m, &h, sizeof h);
}

static const char first_json[] = "{\"files\": 1, \"warnings\": [\"a\"], \"results\": {\"x\": 1}}";
static const char second_json[] = "{\"files\": 2, \"warnings\": [\"b\"], \"results\": {\"y\": 2}}";

static struct image *make_image(void)
{
    static struct image m;
    struct tt_iteration_record iterations[3] = {
        {.iteration = 1}, {.iteration = 2}, {.iteration = 3}};
    struct tt_epoch_record epoch = {.epoch = 1, .iterations = 3, .bytes = 77};
    static struct tt_histogram calls[TT_NCALLS];

    memset(&m, 0, sizeof m);
    memset(calls, 0, sizeof calls);
    tt_histogram_add(&calls[TT_CALL_WRITE], 1234);
    put_header(&m);
    put_chunk(&m, TT_CHUNK_ITERATIONS, iterations, 2 * sizeof *iterations);
    put_chunk(&m, TT_CHUNK_JSON, first_json, sizeof first_json - 1);
    put_chunk(&m, TT_CHUNK_ITERATIONS, iterations + 2, sizeof *iterations);
    put_chunk(&m, TT_CHUNK_EPOCHS, &epoch, sizeof epoch);
    put_chunk(&m, TT_CHUNK_JSON, second_json, sizeof second_json - 1);
    put_chunk(&m, TT_CHUNK_CALLS, calls, sizeof calls);
    return &m;
}

static int load(const struct image *m, size_t length, struct tt_rank_records *r, struct tt_error *e)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(m->bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
    tt_error_clear(e);
    return tt_records_load(path, r, e);
}

static void whole_file_reads_back(void **unused)
{
    struct image *m = make_image();
    struct tt_rank_records r;
    struct tt_error e;

    (void)unused;
    assert_int_equal(load(m, m->n, &r, &e), TT_OK);
    assert_int_equal(r.header.rank, 1);
    assert_string_equal(r.header.host, "node1");
    assert_int_equal(r.niterations, 3);
    assert_int_equal(r.iterations[2].iteration, 3);
    assert_int_equal(r.nepochs, 1);
    assert_int_equal(r.epochs[0].bytes, 77);
    assert_non_null(r.calls);
    assert_int_equal(r.calls[TT_CALL_WRITE].total, 1);
    assert_int_equal(r.truncated, 0);
    assert_int_equal(json_integer_value(json_object_get(r.summary, "files")), 2);
    assert_int_equal(json_array_size(json_object_get(r.summary, "warnings")), 2);
    assert_int_equal(json_object_size(json_object_get(r.summary, "results")), 2);
    tt_records_unload(&r);
    assert_null(r.summary);
}

/* Cut anywhere, the file still gives every whole record before the cut. */
static void truncation_keeps_what_is_whole(void **unused)
{
    struct image *m = make_image();
    const size_t head = sizeof(struct tt_records_header), chunk = sizeof(struct tt_chunk_header);
    const size_t record = sizeof(struct tt_iteration_record);

    (void)unused;
    for (size_t n = 0; n < head + 4 * record; n++) {
        struct tt_rank_records r;
        struct tt_error e;
        int rc = load(m, n, &r, &e);

        if (n < head) {
            assert_int_equal(rc, TT_CORRUPT);
            continue;
        }
        assert_int_equal(rc, TT_OK);
        if (n < head + chunk + 2 * record) {
            assert_int_equal(r.niterations, n < head + chunk ? 0 : (n - head - chunk) / record);
            assert_int_equal(r.truncated, n > head);
        } else {
            assert_true(r.niterations >= 2);
        }
        tt_records_unload(&r);
    }
}

/* No machine has that much: taking memory for it would fail as TT_NOMEM. */
static void lies_about_lengths_cost_no_memory(void **unused)
{
    static const uint32_t types[] = {TT_CHUNK_ITERATIONS, TT_CHUNK_EPOCHS, TT_CHUNK_JSON,
                                     TT_CHUNK_CALLS};

    (void)unused;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        static struct image m;
        struct tt_chunk_header chunk = {.type = types[i], .length = (uint64_t)720 << 50};
        struct tt_rank_records r;
        struct tt_error e;

        m.n = 0;
        put_header(&m);
        put(&m, &chunk, sizeof chunk);
        if (load(&m, m.n, &r, &e) == TT_OK) {
            assert_int_equal(r.truncated, 1);
            assert_int_equal(r.niterations + r.nepochs, 0);
            tt_records_unload(&r);
        } else {
            assert_int_equal(e.code, TT_CORRUPT);
        }
    }
}

static void expect_refused(void (*spoil)(struct image *), const char *word)
{
    struct image *m = make_image();
    struct tt_rank_records r;
    struct tt_error e;

    spoil(m);
    assert_int_equal(load(m, m->n, &r, &e), TT_CORRUPT);
    assert_non_null(strstr(e.text, word));
    assert_null(r.iterations);
}

static struct tt_records_header *header_of(struct image *m)
{
    return (struct tt_records_header *)(void *)m->bytes;
}
static void spoil_magic(struct image *m)
{
    header_of(m)->magic = 0x464c457f;
}
static void spoil_version(struct image *m)
{
    header_of(m)->magic = 0x32525454;
}
static void spoil_phases(struct image *m)
{
    header_of(m)->nphases = 3;
}
static void spoil_rank(struct image *m)
{
    header_of(m)->rank = 2;
}
static void spoil_type(struct image *m)
{
    put_chunk(m, 99, "x", 1);
}
static void spoil_length(struct image *m)
{
    put_chunk(m, TT_CHUNK_EPOCHS, "x", 1);
}
static void spoil_json(struct image *m)
{
    put_chunk(m, TT_CHUNK_JSON, "[1]", 3);
}
static void spoil_calls(struct image *m)
{
    static const struct tt_histogram one;

    put_chunk(m, TT_CHUNK_CALLS, &one, sizeof one);
}
static void spoil_histogram(struct image *m)
{
    uint64_t absurd = UINT64_MAX;

    memcpy(m->bytes + m->n - sizeof absurd, &absurd, sizeof absurd);
}

static void nonsense_is_refused_with_a_reason(void **unused)
{
    struct tt_rank_records r;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    expect_refused(spoil_magic, "no records");
    expect_refused(spoil_version, "newer");
    expect_refused(spoil_phases, "another version");
    expect_refused(spoil_calls, "another version");
    expect_refused(spoil_rank, "makes no sense");
    expect_refused(spoil_type, "unknown kind");
    expect_refused(spoil_length, "whole number");
    expect_refused(spoil_json, "JSON");
    expect_refused(spoil_histogram, "contradicts");
    assert_int_equal(tt_records_load("/nonexistent/0.ttr", &r, &e), TT_FAILED);
    tt_error_clear(&e);
    assert_int_equal(tt_records_load("/tmp", &r, &e), TT_CORRUPT);
}

/* Whatever bytes change, reading ends with a result or a reason (and, with the sanitizers, without
 * touching what is not ours). */
static void random_damage_never_crashes(void **unused)
{
    uint64_t state = 2463534242u;
    size_t loaded = 0;

    (void)unused;
    for (int round = 0; round < 400; round++) {
        struct image *m = make_image();
        size_t reach = round % 2 ? 1000 : m->n; /* half of them where the structure is */
        struct tt_rank_records r;
        struct tt_error e;

        for (int k = 0; k < 1 + round % 4; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            m->bytes[(state >> 33) % reach] ^= (char)(1 << (state >> 20) % 8);
        }
        if (load(m, m->n, &r, &e) == TT_OK) {
            loaded++;
            tt_records_unload(&r);
        } else {
            assert_true(e.text[0] != '\0');
        }
    }
    assert_true(loaded > 0 && loaded < 400);
}

static int make_path(void **unused)
{
    int fd = mkstemp(path);

    (void)unused;
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **unused)
{
    (void)unused;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_file_reads_back),
        cmocka_unit_test(truncation_keeps_what_is_whole),
        cmocka_unit_test(lies_about_lengths_cost_no_memory),
        cmocka_unit_test(nonsense_is_refused_with_a_reason),
        cmocka_unit_test(random_damage_never_crashes),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
