/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who has which part of a frame, where it lies in a raw file, what is in it, and what it took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/file.h"
#include "workloads/frames/frames.h"

static struct tt_frames_options options(enum tt_frames_element element, uint64_t edge)
{
    return (struct tt_frames_options){
        .edge = edge, .element = element, .frames = 3, .header = 20, .metadata = 7};
}

static void every_rank_has_its_place(void **state)
{
    uint64_t parts[3];

    (void)state;
    for (uint64_t n = 1; n <= 3000; n++) {
        tt_frames_parts(TT_FRAMES_1D, n, parts);
        assert_true(parts[0] == n && parts[1] == 1 && parts[2] == 1);
        tt_frames_parts(TT_FRAMES_3D, n, parts);
        assert_int_equal(parts[0] * parts[1] * parts[2], n);
    }
}

static void no_axis_loses_ranks_when_their_number_is_multiplied(void **state)
{
    uint64_t few[3], many[3];

    (void)state;
    for (uint64_t n = 1; n <= 200; n++)
        for (uint64_t m = 2 * n; m <= 49152; m += n) {
            if (m > 40 * n && m % 1024) /* the paper's 24 to 49152 among the rest */
                continue;
            tt_frames_parts(TT_FRAMES_3D, n, few);
            tt_frames_parts(TT_FRAMES_3D, m, many);
            for (int d = 0; d < 3; d++)
                assert_int_equal(many[d] % few[d], 0);
        }
}

static void cubes_are_cut_in_all_directions(void **state)
{
    static const struct {
        uint64_t n, parts[3];
    } known[] = {{8, {2, 2, 2}}, {24, {2, 2, 6}}, {48, {4, 2, 6}}, {64, {4, 4, 4}}, {6, {2, 1, 3}}};
    uint64_t parts[3];

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tt_frames_parts(TT_FRAMES_3D, known[i].n, parts);
        assert_memory_equal(parts, known[i].parts, sizeof parts);
    }
}

static void an_edge_gives_the_papers_block_sizes(void **state)
{
    struct tt_frames_shape s;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    for (uint64_t edge = 6; edge <= 204; edge += 6)
        for (int element = TT_FRAMES_FLOAT; element <= TT_FRAMES_BLOCK; element++) {
            struct tt_frames_options o = options((enum tt_frames_element)element, edge);

            assert_int_equal(tt_frames_shape_make(&s, &o, 5, 2, &e), TT_OK);
            assert_int_equal(tt_frames_block_bytes(&s), edge * edge * edge * 8);
            assert_int_equal(tt_frames_frame_bytes(&s, &o), 5 * edge * edge * edge * 8 + 14);
        }
    for (int bad = 0; bad < 2; bad++) {
        struct tt_frames_options o = options(bad ? TT_FRAMES_BLOCK : TT_FRAMES_VECTOR, 25);

        tt_error_clear(&e);
        assert_int_equal(tt_frames_shape_make(&s, &o, 1, 0, &e), TT_USAGE);
        assert_non_null(strstr(e.text, bad ? "multiple of 2" : "multiple of 3"));
    }
}

static void sizes_that_overflow_are_refused(void **state)
{
    uint64_t dims[] = {1u << 31, 1u << 31, 4}, none[] = {4, 0, 4};
    struct tt_frames_options o = options(TT_FRAMES_FLOAT, 2);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_frames_shape s;

    (void)state;
    o.dims = (struct tt_counts){3, dims};
    assert_int_equal(tt_frames_shape_make(&s, &o, 2, 0, &e), TT_USAGE);
    o.dims.values = none;
    assert_int_equal(tt_frames_shape_make(&s, &o, 2, 0, &e), TT_USAGE);
}

/* The blocks of all ranks cover the frame, each value once. */
static void blocks_cover_the_frame(void **state)
{
    uint64_t dims[] = {2, 3, 4};
    struct tt_frames_options o = options(TT_FRAMES_VECTOR, 0);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_frames_shape s;
    unsigned char seen[12 * 24 * 3] = {0};

    (void)state;
    o.dims = (struct tt_counts){3, dims};
    o.decomposition = TT_FRAMES_3D;
    for (uint64_t rank = 0; rank < 12; rank++) {
        assert_int_equal(tt_frames_shape_make(&s, &o, 12, rank, &e), TT_OK);
        for (uint64_t i = 0; i < s.values; i++) {
            uint64_t c = i % 3, x = i / 3 % 4 + s.start[2], y = i / 12 % 3 + s.start[1];
            uint64_t z = i / 36 + s.start[0];

            seen[((z * s.dims[1] + y) * s.dims[2] + x) * 3 + c]++;
        }
    }
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_equal(seen[i], 1);
}

/* Every rank finds in its block what one rank alone would have in that place of a frame. */
static void values_are_a_function_of_their_place(void **state)
{
    uint64_t dims[] = {2, 3, 4}, all[] = {4, 6, 4}, wrong;
    struct tt_frames_options o = options(TT_FRAMES_FLOAT, 0), whole = o;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_frames_shape s, one;
    float values[24], expected[96];
    double doubles[24];

    (void)state;
    o.dims = (struct tt_counts){3, dims};
    o.decomposition = TT_FRAMES_3D;
    whole.dims = (struct tt_counts){3, all};
    assert_int_equal(tt_frames_shape_make(&one, &whole, 1, 0, &e), TT_OK);
    tt_frames_fill_floats(&one, 7, 5, expected);
    for (uint64_t rank = 0; rank < 4; rank++) {
        assert_int_equal(tt_frames_shape_make(&s, &o, 4, rank, &e), TT_OK);
        tt_frames_fill_doubles(&s, 7, 5, doubles);
        tt_frames_convert(doubles, values, 24);
        for (uint64_t i = 0; i < 24; i++)
            assert_true(values[i] ==
                        expected[((i / 12 + s.start[0]) * 6 + i / 4 % 3 + s.start[1]) * 4 + i % 4]);
        assert_true(tt_frames_matches(&s, 7, 5, values, 0, &wrong));
        assert_false(tt_frames_matches(&s, 7, 6, values, 0, &wrong));
        assert_false(tt_frames_matches(&s, 8, 5, values, 0, &wrong));
        values[13] = -values[13];
        assert_false(tt_frames_matches(&s, 7, 5, values, 0, &wrong));
        assert_int_equal(wrong, ((s.start[0] + 1) * 6 + s.start[1]) * 4 + 1);
    }
}

static void texts_are_as_long_as_asked(void **state)
{
    struct tt_frames_options o = options(TT_FRAMES_FLOAT, 2);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_frames_shape s;
    char text[201];

    (void)state;
    assert_int_equal(tt_frames_shape_make(&s, &o, 1, 0, &e), TT_OK);
    for (uint64_t size = 0; size <= 200; size++) {
        memset(text, 'x', sizeof text);
        o.header = size;
        tt_frames_header(&s, &o, text);
        assert_int_equal(text[size], 'x');
        assert_true(size == 0 || text[size - 1] == '\n');
        memset(text, 'x', sizeof text);
        tt_frames_metadata("before", 3, size, text);
        assert_int_equal(text[size], 'x');
        assert_true(size < 17 || strncmp(text, "before frame 3\n ", 16) == 0);
    }
}

/* The layout rests on how raw files are laid out: header, then metadata, data, metadata. */
static void raw_files_hold_frames_one_after_the_other(void **state)
{
    struct tt_variable v[] = {
        {.path = "header", .element = &tt_element_u8, .ndims = 1, .dims = {20}},
        {.path = "before", .element = &tt_element_u8, .ndims = 1, .dims = {7}, .per_step = true},
        {.path = "data", .element = &tt_element_f32, .ndims = 1, .dims = {10}, .per_step = true},
        {.path = "after", .element = &tt_element_u8, .ndims = 1, .dims = {7}, .per_step = true}};
    struct tt_file_spec spec = {.policy = TT_APPEND, .steps = 3, .nvariables = 4, .variables = v};

    (void)state;
    assert_int_equal(tt_raw_offset(&spec, 0, 2, 1), 0);
    for (uint64_t step = 0; step < 3; step++) {
        assert_int_equal(tt_raw_offset(&spec, 1, step, 1), 20 + step * 54);
        assert_int_equal(tt_raw_offset(&spec, 2, step, 1), 20 + step * 54 + 7);
        assert_int_equal(tt_raw_offset(&spec, 3, step, 1), 20 + step * 54 + 47);
    }
}

static void times_of_ranks_become_medians(void **state)
{
    double seconds[] = {4,
                        1,
                        3,
                        2,
                        /* converting */ 0,
                        0,
                        1,
                        1,
                        /* opening */ 5,
                        5,
                        5,
                        5,
                        /* transferring */ 9,
                        7,
                        8,
                        6,
                        /* syncing */ 0,
                        0,
                        0,
                        8};
    double row[TT_FRAMES_NCOLUMNS] = {0};

    (void)state;
    tt_frames_row_times(row, seconds, 4);
    assert_true(row[TT_FRAMES_MEDIAN_S] == 2.5 && row[TT_FRAMES_LEAST_S] == 1 &&
                row[TT_FRAMES_MOST_S] == 4);
    assert_true(row[TT_FRAMES_CONVERT_S] == 0.5 && row[TT_FRAMES_OPEN_S] == 5 &&
                row[TT_FRAMES_TRANSFER_S] == 7.5 && row[TT_FRAMES_SYNC_S] == 0);
}

static void computation_spreads(void **state)
{
    struct tt_frames_field f = {0};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_frames_field_make(&f, 5, NULL, &e), TT_OK);
    tt_frames_field_steps(&f, 1, &e); /* a straight line stays one */
    for (int i = 0; i < 5; i++)
        assert_true(f.now[i] == i);
    f.now[2] = 6;
    tt_frames_field_steps(&f, 1, &e);
    assert_true(f.now[1] == 2 && f.now[2] == 4 && f.now[3] == 4 && f.now[4] == 4);
    tt_frames_field_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_its_place),
        cmocka_unit_test(no_axis_loses_ranks_when_their_number_is_multiplied),
        cmocka_unit_test(cubes_are_cut_in_all_directions),
        cmocka_unit_test(an_edge_gives_the_papers_block_sizes),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(blocks_cover_the_frame),
        cmocka_unit_test(values_are_a_function_of_their_place),
        cmocka_unit_test(texts_are_as_long_as_asked),
        cmocka_unit_test(raw_files_hold_frames_one_after_the_other),
        cmocka_unit_test(times_of_ranks_become_medians),
        cmocka_unit_test(computation_spreads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
