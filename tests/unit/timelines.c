/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of more than can be drawn: what is kept, and that they say so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "report/figures.h"
#include "report/idle_waves.h"
#include "scratch.h"
#include "write_records.h"

#define ITERATIONS 600000 /* of two ranks: more than a million cells */
#define SPANS 2100000
#define LONG 1000 /* every so many-th span is a long one */

static struct tt_error e = TT_ERROR_CLEAR;

/* Records and spans as short as readers take them, or the file would be four times as long. */
static void write_much(const char *directory)
{
    struct short_record {
        uint64_t iteration;
        int64_t start_ns, span_ns;
        uint64_t compute_ns, halo_ns;
    } *records = calloc(ITERATIONS, sizeof *records);
    struct tt_span *spans = calloc(SPANS, sizeof *spans);
    FILE *f = write_header(directory, (struct tt_records_header){.rank = 0, .size = 2});

    assert_true(records && spans);
    for (uint32_t r = 0; r < 2; r++) {
        const struct tt_records_header h = {.rank = r, .size = 2};

        if (r > 0)
            write_chunk_of(f, (struct tt_chunk_header){TT_CHUNK_RANK, 0, r, r, sizeof h}, &h);
        for (size_t i = 0; i < ITERATIONS; i++)
            records[i] = (struct short_record){
                .iteration = i + 1, .halo_ns = r == 1 && i == 777777 % ITERATIONS ? 5000000 : 1000};
        write_chunk_of(f,
                       (struct tt_chunk_header){TT_CHUNK_ITERATIONS, sizeof *records, r, r,
                                                ITERATIONS * sizeof *records},
                       records);
    }
    for (size_t i = 0; i < SPANS; i++)
        spans[i] = (struct tt_span){.start_ns = (int64_t)i * 10000,
                                    .end_ns = (int64_t)i * 10000 + (i % LONG ? 100 : 9000)};
    write_chunk_of(
        f, (struct tt_chunk_header){TT_CHUNK_SPANS, sizeof *spans, 0, 0, SPANS * sizeof *spans},
        spans);
    assert_int_equal(fclose(f), 0);
    free(records);
    free(spans);
}

static const json_t *figure_of(const struct tt_document *d, const char *kind)
{
    const json_t *figure;
    size_t i;

    json_array_foreach(json_object_get(d->root, "figures"), i, figure)
    {
        if (!strcmp(tt_text_of(figure, "kind"), kind))
            return figure;
    }
    fail_msg("no figure of kind %s", kind);
    return NULL;
}

static const char *note_of(const json_t *figure)
{
    return json_string_value(json_array_get(json_object_get(figure, "notes"), 0));
}

static void too_much_is_reduced_and_said(void **state)
{
    json_t *result = json_object();
    const json_t *heat, *timeline, *cells;
    struct tt_document d;
    double longest = 0;

    write_much(*state);
    assert_int_equal(tt_document_begin(&d, "much", "test", &e), TT_OK);
    assert_int_equal(tt_figures_timelines(&d, result, *state, &e), TT_OK);
    heat = figure_of(&d, "heat");
    cells = json_object_get(heat, "cells");
    assert_true(tt_numbers_count(&d, cells) <= 1000000);
    assert_true(tt_number_of(heat, "nx") * tt_number_of(heat, "dx") >= ITERATIONS);
    for (size_t i = 0; i < tt_numbers_count(&d, cells); i++)
        longest = fmax(longest, tt_numbers_at(&d, cells, i));
    assert_float_equal(longest, 0.005, 1e-9); /* the one that stands out is there */
    assert_non_null(strstr(note_of(heat), "A cell is the longest wait of 1 ranks in 2 iterations"));
    timeline = figure_of(&d, "timeline");
    assert_int_equal(tt_numbers_count(&d, json_object_get(timeline, "start")), SPANS / LONG);
    assert_non_null(strstr(note_of(timeline), "Of 2100000 spans the 2100 longest"));
    tt_document_free(&d);
    json_decref(result);
}

/* A directory may say anything: of times, and of what was found in them. */
static void damaged_times_are_shown(void **state)
{
    const struct tt_records_header h = {.rank = 0, .size = 1};
    const struct tt_iteration_record before = {.start_ns = INT64_MIN};
    const struct tt_span spans[] = {{.start_ns = INT64_MIN, .end_ns = INT64_MAX},
                                    {.start_ns = INT64_MAX, .end_ns = INT64_MIN}};
    FILE *f = write_header(*state, h);
    struct tt_document d;

    write_chunk_of(
        f, (struct tt_chunk_header){TT_CHUNK_ITERATIONS, sizeof before, 0, 0, sizeof before},
        &before);
    write_chunk_of(f, (struct tt_chunk_header){TT_CHUNK_SPANS, sizeof *spans, 0, 0, sizeof spans},
                   spans);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(tt_document_begin(&d, "damaged", "test", &e), TT_OK);
    assert_int_equal(tt_figures_timelines(&d, NULL, *state, &e), TT_OK);
    assert_int_equal(tt_numbers_count(&d, json_object_get(figure_of(&d, "timeline"), "start")), 2);
    tt_document_free(&d);
}

static void any_wave_is_a_sentence(void **state)
{
    json_t *front = json_pack("{s:f, s:f}", "speed", 1e300, "last_rank", 1e300),
           *wave = json_pack("{s:f, s:f, s:f, s:O}", "rank", 1e300, "iteration", 1e300, "seconds",
                             1e300, "up", front);
    struct tt_paragraph p = {0};

    (void)state;
    for (int i = 0; i < 8; i++)
        tt_idle_wave_sentence(wave, &p);
    assert_true(strlen(p.text) < sizeof p.text);
    assert_non_null(strstr(p.text, "An idle wave began on rank 1"));
    json_decref(front);
    json_decref(wave);
}

static void any_start_is_a_time(void **state)
{
    json_t *result =
        json_pack("{s:[{s:I}], s:{s:{s:{s:f}}}}", "ranks", "start_wall_ns",
                  (json_int_t)INT64_MAX - 1, "counters", "hosts", "node", "seconds", 1e8);
    struct tt_document d;

    assert_int_equal(tt_document_begin(&d, "late", "test", &e), TT_OK);
    assert_int_equal(tt_figures_resources(&d, result, *state, &e), TT_OK);
    tt_document_free(&d);
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(too_much_is_reduced_and_said, scratch_make_run,
                                        scratch_remove_run),
        cmocka_unit_test_setup_teardown(damaged_times_are_shown, scratch_make_run,
                                        scratch_remove_run),
        cmocka_unit_test_setup_teardown(any_start_is_a_time, scratch_make_run, scratch_remove_run),
        cmocka_unit_test(any_wave_is_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
