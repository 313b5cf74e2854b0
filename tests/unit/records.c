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
    struct tt_chunk_header chunk = {
        .type = type, .slot = type == TT_CHUNK_CALLS ? TT_NODE_SLOT : 0, .rank = 1, .length = n};

    put(m, &chunk, sizeof chunk);
    put(m, data, n);
}

static void put_header(struct image *m)
{
    struct tt_records_start start = {TT_RECORDS_MAGIC, TT_NPHASES};
    struct tt_records_header h = {
        .rank = 1, .size = 2, .state = TT_RANK_DONE, .pid = 7, .host = "node1"};

    put(m, &start, sizeof start);
    put_chunk(m, TT_CHUNK_RANK, &h, sizeof h);
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
    static uint64_t words[TT_HISTOGRAMS_WORDS(TT_NCALLS)];

    memset(&m, 0, sizeof m);
    memset(calls, 0, sizeof calls);
    tt_histogram_add(&calls[TT_CALL_WRITE], 1234);
    put_header(&m);
    put_chunk(&m, TT_CHUNK_ITERATIONS, iterations, 2 * sizeof *iterations);
    put_chunk(&m, TT_CHUNK_JSON, first_json, sizeof first_json - 1);
    put_chunk(&m, TT_CHUNK_ITERATIONS, iterations + 2, sizeof *iterations);
    put_chunk(&m, TT_CHUNK_EPOCHS, &epoch, sizeof epoch);
    put_chunk(&m, TT_CHUNK_JSON, second_json, sizeof second_json - 1);
    put_chunk(&m, TT_CHUNK_CALLS, words,
              tt_histograms_pack(calls, TT_NCALLS, words) * sizeof *words);
    return &m;
}

static int load(const struct image *m, size_t length, struct tt_node_records *r, struct tt_error *e)
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
    struct tt_node_records r;
    struct tt_error e;

    (void)unused;
    assert_int_equal(load(m, m->n, &r, &e), TT_OK);
    assert_int_equal(r.ranks[0].header.rank, 1);
    assert_string_equal(r.ranks[0].header.host, "node1");
    assert_int_equal(r.ranks[0].niterations, 3);
    assert_int_equal(r.ranks[0].iterations[2].iteration, 3);
    assert_int_equal(r.ranks[0].nepochs, 1);
    assert_int_equal(r.ranks[0].epochs[0].bytes, 77);
    assert_non_null(r.calls);
    assert_int_equal(r.calls[TT_CALL_WRITE].total, 1);
    assert_int_equal(r.truncated, 0);
    assert_int_equal(json_integer_value(json_object_get(r.ranks[0].summary, "files")), 2);
    assert_int_equal(json_array_size(json_object_get(r.ranks[0].summary, "warnings")), 2);
    assert_int_equal(json_object_size(json_object_get(r.ranks[0].summary, "results")), 2);
    tt_records_unload(&r);
    assert_null(r.ranks);
}

/* Cut anywhere, the file still gives every whole record before the cut. Before its start is written
 * it is empty, and holds none. */
static void truncation_keeps_what_is_whole(void **unused)
{
    struct image *m = make_image();
    const size_t chunk = sizeof(struct tt_chunk_header), start = sizeof(struct tt_records_start);
    const size_t head = start + chunk + sizeof(struct tt_records_header);
    const size_t record = sizeof(struct tt_iteration_record);

    (void)unused;
    for (size_t n = 0; n < head + 4 * record; n++) {
        struct tt_node_records r;
        struct tt_error e;
        int rc = load(m, n, &r, &e);

        assert_int_equal(rc, n > 0 && n < start ? TT_CORRUPT : TT_OK);
        assert_int_equal(r.nranks, n >= head);
        if (n < head) {
            tt_records_unload(&r);
        } else if (n < head + chunk + 2 * record) {
            assert_int_equal(r.ranks[0].niterations,
                             n < head + chunk ? 0 : (n - head - chunk) / record);
            assert_int_equal(r.truncated, n > head);
        } else {
            assert_true(r.ranks[0].niterations >= 2);
        }
        tt_records_unload(&r);
    }
}

/* No machine has that much: taking memory for it would fail as TT_NOMEM. */
static void lies_about_lengths_cost_no_memory(void **unused)
{
    static const uint32_t types[] = {TT_CHUNK_ITERATIONS, TT_CHUNK_EPOCHS,
                                     TT_CHUNK_JSON,       TT_CHUNK_CALLS,
                                     TT_CHUNK_REDUCED,    TT_CHUNK_REDUCED_EPOCHS};

    (void)unused;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        static struct image m;
        struct tt_chunk_header chunk = {.type = types[i],
                                        .slot = types[i] >= TT_CHUNK_CALLS ? TT_NODE_SLOT : 0,
                                        .rank = 1,
                                        .length = (uint64_t)720 << 50};
        struct tt_node_records r;
        struct tt_error e;

        m.n = 0;
        put_header(&m);
        put(&m, &chunk, sizeof chunk);
        if (load(&m, m.n, &r, &e) == TT_OK) {
            assert_int_equal(r.truncated, 1);
            assert_int_equal(r.ranks[0].niterations + r.ranks[0].nepochs, 0);
            tt_records_unload(&r);
        } else {
            assert_int_equal(e.code, TT_CORRUPT);
        }
    }
}

/* What a later version adds: kinds of chunks, and numbers at the end of records. */
static void what_is_not_known_is_skipped(void **unused)
{
    struct {
        struct tt_epoch_record known;
        uint64_t more[2];
    } longer[2] = {{{.epoch = 2, .bytes = 5}, {8, 9}}, {{.epoch = 3, .bytes = 6}, {8, 9}}};
    const uint64_t shorter[] = {4, 1 | (uint64_t)7 << 32}; /* only number, baseline, iterations */
    struct tt_chunk_header grown = {TT_CHUNK_EPOCHS, sizeof *longer, 0, 1, sizeof longer},
                           first = {TT_CHUNK_EPOCHS, sizeof shorter, 0, 1, sizeof shorter};
    struct image *m = make_image();
    struct tt_node_records r;
    struct tt_error e;

    (void)unused;
    put_chunk(m, 99, "whatever this is", 16);
    put(m, &grown, sizeof grown);
    put(m, longer, sizeof longer);
    put(m, &first, sizeof first);
    put(m, shorter, sizeof shorter);
    put_chunk(m, TT_CHUNK_JSON, "{\"files\": 3}", 12);
    assert_int_equal(load(m, m->n, &r, &e), TT_OK);
    assert_int_equal(r.truncated, 0);
    assert_int_equal(r.ranks[0].nepochs, 4);
    assert_int_equal(r.ranks[0].epochs[2].epoch, 3);
    assert_int_equal(r.ranks[0].epochs[2].bytes, 6);
    assert_int_equal(r.ranks[0].epochs[3].epoch, 4);
    assert_int_equal(r.ranks[0].epochs[3].iterations, 7);
    assert_int_equal(r.ranks[0].epochs[3].bytes, 0);
    assert_int_equal(json_integer_value(json_object_get(r.ranks[0].summary, "files")), 3);
    tt_records_unload(&r);
    put_chunk(m, 99, "cut off", 7);
    assert_int_equal(load(m, m->n - 1, &r, &e), TT_OK);
    assert_int_equal(r.truncated, 1);
    tt_records_unload(&r);
}

/* Longer records are handed on as well as kept. */
static void count_written(void *context, const struct tt_iteration_record *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *(uint64_t *)context += list[i].bytes_written;
}

static void longer_iterations_are_handed_on(void **unused)
{
    static struct {
        struct tt_iteration_record known;
        uint64_t more;
    } longer[200];
    static struct tt_histogram two[2];
    static uint64_t words[TT_HISTOGRAMS_WORDS(2)];
    struct tt_chunk_header chunk = {TT_CHUNK_ITERATIONS, sizeof *longer, 0, 1, sizeof longer};
    struct image *m = make_image();
    struct tt_records_index index;
    struct tt_node_records r;
    uint64_t sum = 0;
    struct tt_error e;

    (void)unused;
    for (size_t i = 0; i < 200; i++) {
        longer[i].known.bytes_written = i;
        longer[i].more = 1000;
    }
    m->n = 0;
    put_header(m);
    put(m, &chunk, sizeof chunk);
    put(m, longer, sizeof longer);
    tt_histogram_add(&two[1], 5); /* of a version that knew two kinds of calls */
    put_chunk(m, TT_CHUNK_CALLS, words, tt_histograms_pack(two, 2, words) * sizeof *words);
    assert_int_equal(load(m, m->n, &r, &e), TT_OK);
    assert_int_equal(r.ranks[0].niterations, 200);
    assert_int_equal(r.ranks[0].iterations[199].bytes_written, 199);
    assert_int_equal(r.calls[1].total, 1);
    assert_int_equal(r.calls[TT_NCALLS - 1].total, 0);
    tt_records_unload(&r);
    assert_int_equal(tt_records_index(path, &index, &e), TT_OK);
    assert_int_equal(tt_records_scan(&index, 0, count_written, &sum, &e), TT_OK);
    tt_records_index_free(&index);
    assert_int_equal(sum, 199 * 100);
}

/* Spans are handed on to whoever asks for them, and passed over by all others. */
static void sum_ids(void *context, const struct tt_span *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *(uint64_t *)context += list[i].id;
}

static void spans_are_only_for_who_asks(void **unused)
{
    struct tt_span spans[300] = {0};
    struct tt_chunk_header chunk = {TT_CHUNK_SPANS, sizeof *spans, 0, 1, sizeof spans};
    struct image *m = make_image();
    struct tt_records_index index;
    struct tt_node_records r;
    json_t *summary = NULL;
    uint64_t sum = 0;
    struct tt_error e;

    (void)unused;
    for (size_t i = 0; i < 300; i++)
        spans[i].id = i;
    put(m, &chunk, sizeof chunk);
    put(m, spans, sizeof spans);
    assert_int_equal(load(m, m->n, &r, &e), TT_OK);
    assert_int_equal(r.ranks[0].niterations, 3);
    tt_records_unload(&r);
    assert_int_equal(tt_records_index(path, &index, &e), TT_OK);
    assert_int_equal(tt_records_scan_spans(&index, 0, sum_ids, &sum, &summary, &e), TT_OK);
    assert_int_equal(sum, 299 * 150);
    assert_int_equal(index.ranks[0].rank, 1);
    tt_records_index_free(&index);
    assert_int_equal(json_integer_value(json_object_get(summary, "files")), 2);
    json_decref(summary);
    assert_int_equal(load(m, m->n - sizeof *spans - 1, &r, &e), TT_OK); /* two are cut off */
    tt_records_unload(&r);
    sum = 0;
    assert_int_equal(tt_records_index(path, &index, &e), TT_OK);
    assert_int_equal(tt_records_scan_spans(&index, 0, sum_ids, &sum, &summary, &e), TT_OK);
    assert_int_equal(sum, 297 * 149);
    tt_records_index_free(&index);
    json_decref(summary);
}

static void expect_refused(void (*spoil)(struct image *), const char *word)
{
    struct image *m = make_image();
    struct tt_node_records r;
    struct tt_error e;

    spoil(m);
    assert_int_equal(load(m, m->n, &r, &e), TT_CORRUPT);
    assert_non_null(strstr(e.text, word));
    assert_null(r.ranks);
}

static struct tt_records_start *start_of(struct image *m)
{
    return (struct tt_records_start *)(void *)m->bytes;
}
static void spoil_magic(struct image *m)
{
    start_of(m)->magic = 0x464c457f;
}
static void spoil_version(struct image *m)
{
    start_of(m)->magic += 1 << 24;
}
static void make_older(struct image *m)
{
    start_of(m)->magic -= 1 << 24;
}
static void spoil_phases(struct image *m)
{
    start_of(m)->nphases = 3;
}
static void spoil_rank(struct image *m)
{
    struct tt_records_header h = {.rank = 1, .size = 1};

    put_chunk(m, TT_CHUNK_RANK, &h, sizeof h);
}
static void spoil_slot(struct image *m)
{
    struct tt_chunk_header chunk = {TT_CHUNK_EPOCHS, 0, 7, 1, 0};

    put(m, &chunk, sizeof chunk);
}
static void spoil_reduced(struct image *m)
{
    struct tt_chunk_header chunk = {TT_CHUNK_REDUCED, 0, TT_NODE_SLOT, 0, 100};

    put(m, &chunk, sizeof chunk);
    memset(m->bytes + m->n, 0xff, 100);
    m->n += 100;
}
static void spoil_length(struct image *m)
{
    put_chunk(m, TT_CHUNK_EPOCHS, "x", 1);
}
static void spoil_json(struct image *m)
{
    put_chunk(m, TT_CHUNK_JSON, "[1]", 3);
}
static void spoil_histogram(struct image *m)
{
    uint64_t absurd = UINT64_MAX;

    memcpy(m->bytes + m->n - sizeof absurd, &absurd, sizeof absurd);
}

static void nonsense_is_refused_with_a_reason(void **unused)
{
    struct tt_node_records r;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    expect_refused(spoil_magic, "no records");
    expect_refused(spoil_version, "newer");
    expect_refused(spoil_phases, "another version");
    expect_refused(make_older, "older");
    expect_refused(spoil_slot, "not there");
    expect_refused(spoil_reduced, "reduced");
    expect_refused(spoil_rank, "makes no sense");
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
        struct tt_node_records r;
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
        cmocka_unit_test(what_is_not_known_is_skipped),
        cmocka_unit_test(longer_iterations_are_handed_on),
        cmocka_unit_test(spans_are_only_for_who_asks),
        cmocka_unit_test(nonsense_is_refused_with_a_reason),
        cmocka_unit_test(random_damage_never_crashes),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
