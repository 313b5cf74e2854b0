/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Repacking, who has which particles, what is selected of them, and what is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/particles/particles.h"

#define RANKS 3

static uint64_t values[3][3];

static struct tt_counts counts(int slot, size_t n, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t given[3] = {a, b, c};

    memcpy(values[slot], given, sizeof given);
    return (struct tt_counts){n, values[slot]};
}

static struct tt_particles_options options(struct tt_counts dims)
{
    return (struct tt_particles_options){
        .dims = dims, .steps = 1, .phase = TT_PARTICLES_BOTH, .plane_dimension = 1};
}

static struct tt_particles_shape shape_of(const struct tt_particles_options *o, int rank,
                                          bool reads)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_particles_shape s;
    uint64_t rows[RANKS];

    for (int r = 0; r < RANKS; r++)
        rows[r] = tt_particles_rows(o, 1, (uint64_t)r);
    assert_int_equal(tt_particles_shape_check(o, &e), TT_OK);
    assert_int_equal(tt_particles_shape_make(&s, o, rows, rank, RANKS, reads, &e), TT_OK);
    assert_true(tt_selection_is_valid(&s.file));
    return s;
}

/* ---- repacking ---- */

static void repacking_is_exact_for_any_number(void **unused)
{
    (void)unused;
    for (uint64_t n = 0; n < 70; n++) {
        struct tt_particle *records = calloc(n + 1, sizeof *records);
        struct tt_particle *back = calloc(n + 1, sizeof *back);
        uint32_t *arrays = calloc(8 * n + 1, 4), *words = (uint32_t *)(void *)records;

        for (uint64_t i = 0; i < 8 * n; i++)
            words[i] = (uint32_t)(i * 2654435761u + 1);
        tt_particles_to_arrays(records, n, arrays);
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t k = 0; k < 8; k++)
                assert_int_equal(arrays[k * n + i], words[8 * i + k]);
        assert_int_equal(arrays[8 * n], 0);
        tt_particles_to_records(arrays, n, back);
        assert_memory_equal(back, records, (n + 1) * sizeof *back);
        free(records);
        free(back);
        free(arrays);
    }
}

/* ---- who has what ---- */

static void counts_vary_around_the_mean(void **unused)
{
    struct tt_particles_options o = options(counts(0, 1, 1000, 0, 0));
    double sum = 0, squares = 0;
    const int n = 10000;

    (void)unused;
    assert_int_equal(tt_particles_rows(&o, 1, 77), 1000);
    o.deviation = 100;
    for (int r = 0; r < n; r++) {
        double x = (double)tt_particles_rows(&o, 1, (uint64_t)r) - 1000;

        sum += x;
        squares += x * x;
    }
    assert_true(sum / n > -4 && sum / n < 4);
    assert_true(squares / n > 0.95 * 10000 && squares / n < 1.05 * 10000);
    assert_int_not_equal(tt_particles_rows(&o, 1, 0), tt_particles_rows(&o, 2, 0));
    o.deviation = 1000; /* one in six would be negative */
    for (int r = 0; r < n; r++)
        assert_in_range(tt_particles_rows(&o, 1, (uint64_t)r), 1, 100000);
}

/* Every particle of every rank once, without gaps. */
static void ranks_follow_each_other(void **unused)
{
    struct tt_particles_options o = options(counts(0, 1, 1000, 0, 0));
    uint64_t next = 0;

    (void)unused;
    o.deviation = 300;
    for (int r = 0; r < RANKS; r++) {
        struct tt_particles_shape s = shape_of(&o, r, false);
        struct tt_run run;

        assert_true(tt_selection_is_contiguous(&s.file, &run));
        assert_int_equal(run.start, next);
        assert_int_equal(run.length, s.count);
        next += s.count;
        if (r == RANKS - 1)
            assert_int_equal(s.dims[0], next);
    }
}

static void appended_parts_lie_behind(void **unused)
{
    struct tt_particles_options o = options(counts(0, 2, 10, 7, 0));
    struct tt_particles_shape s;
    struct tt_run run;

    (void)unused;
    o.phase = TT_PARTICLES_APPEND;
    o.appended = 1;
    s = shape_of(&o, 1, false);
    assert_int_equal(s.dims[0], 3 * 30);
    assert_true(tt_selection_is_contiguous(&s.file, &run));
    assert_int_equal(run.start, (2 * 30 + 10) * 7);
    assert_int_equal(s.origin, 0);
    o.files = 1; /* the same particles, in a file that has the rank's own only */
    s = shape_of(&o, 1, false);
    assert_int_equal(s.dims[0], 3 * 10);
    assert_true(tt_selection_is_contiguous(&s.file, &run));
    assert_int_equal(run.start + s.origin, (2 * 30 + 10) * 7);
}

/* ---- what is read ---- */

/* The selection drawn: dims of a 10 x 10 slab, one character a particle. */
static void draw(const struct tt_particles_shape *s, char picture[10][11])
{
    for (size_t i = 0; i < s->file.nruns; i++)
        for (uint64_t k = 0; k < s->file.runs[i].length; k++) {
            uint64_t at = s->file.runs[i].start + k;

            assert_true(at < 100);
            assert_int_equal(picture[at / 10][at % 10], '.');
            picture[at / 10][at % 10] = 'x';
        }
}

static void expect_picture(int reading, const char *const *expected)
{
    struct tt_particles_options o = options(counts(0, 2, 10, 10, 0));
    struct tt_particles_shape s;
    char picture[10][11];

    o.reading = reading;
    o.block = counts(1, 2, 2, 1, 0);
    o.stride = counts(2, 2, 4, 3, 0);
    for (int r = 0; r < 10; r++)
        memcpy(picture[r], "..........", 11);
    s = shape_of(&o, 0, true);
    draw(&s, picture);
    for (int r = 0; r < 10; r++)
        assert_string_equal(picture[r], expected[r]);
    tt_particles_shape_free(&s);
    s = shape_of(&o, 1, true); /* rank 0 alone reads */
    assert_int_equal(s.count, 0);
}

static void block_patterns_are_those_of_h5bench(void **unused)
{
    static const char *const ldc[] = {"x.........", "x.........", "..........", "..........",
                                      "..........", "..........", "..........", "..........",
                                      ".........x", ".........x"};
    static const char *const rdc[] = {".........x", ".........x", "..........", "..........",
                                      "..........", "..........", "..........", "..........",
                                      "x.........", "x........."};
    static const char *const prl[] = {"xxxxxxxxxx", "xxxxxxxxxx", "x........x", "x........x",
                                      "x........x", "x........x", "x........x", "x........x",
                                      "xxxxxxxxxx", "xxxxxxxxxx"};
    /* the third block would end with the last row */
    static const char *const cs[] = {"x.........", "x.........", "..........", "..........",
                                     "...x......", "...x......", "..........", "..........",
                                     "..........", ".........."};

    (void)unused;
    expect_picture(TT_PARTICLES_READ_LDC, ldc);
    expect_picture(TT_PARTICLES_READ_RDC, rdc);
    expect_picture(TT_PARTICLES_READ_PRL, prl);
    expect_picture(TT_PARTICLES_READ_CS, cs);
}

static void planes_and_parts(void **unused)
{
    struct tt_particles_options o = options(counts(0, 3, 4, 5, 6));
    struct tt_particles_shape s;

    (void)unused;
    o.reading = TT_PARTICLES_READ_PLANE;
    o.plane_dimension = 3;
    o.plane_index = 5;
    s = shape_of(&o, 1, true);
    assert_int_equal(s.count, 4 * 5);
    assert_int_equal(s.file.start[0], 4);
    assert_int_equal(s.file.start[2], 5);
    o = options(counts(0, 1, 40, 0, 0));
    o.reading = TT_PARTICLES_READ_PARTIAL;
    o.read_count = 7;
    s = shape_of(&o, 2, true);
    assert_int_equal(s.count, 7);
    assert_int_equal(s.file.start[0], 80);
}

static void refuse(const struct tt_particles_options *o)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_particles_shape_check(o, &e), TT_USAGE);
}

static void what_does_not_fit_is_refused(void **unused)
{
    struct tt_particles_options o = options(counts(0, 1, 100, 0, 0));

    (void)unused;
    o.pattern = TT_PARTICLES_STRIDED;
    o.reading = TT_PARTICLES_READ_STRIDED;
    o.stride = counts(1, 1, 10, 0, 0);
    o.block = counts(2, 1, 5, 0, 0);
    o.count = 10;
    assert_int_equal(tt_particles_shape_check(&o, &(struct tt_error)TT_ERROR_CLEAR), TT_OK);
    o.count = 11;
    refuse(&o);
    o.count = 10;
    values[1][0] = 4;
    refuse(&o);
    o = options(counts(0, 2, 100, 100, 0));
    o.reading = TT_PARTICLES_READ_LDC;
    o.block = counts(1, 2, 10, 20, 0);
    assert_int_equal(tt_particles_shape_check(&o, &(struct tt_error)TT_ERROR_CLEAR), TT_OK);
    values[1][0] = 9;
    refuse(&o);
    values[1][0] = 21;
    refuse(&o);
    o = options(counts(0, 1, 0, 0, 0));
    refuse(&o);
    o = options(counts(0, 2, UINT64_MAX, 3, 0));
    refuse(&o);
}

/* ---- content ---- */

static void every_property_is_checked(void **unused)
{
    struct tt_particles_options o = options(counts(0, 1, 5000, 0, 0));
    struct tt_particles_shape s = shape_of(&o, 1, false);
    struct tt_particles_content c = {.seed = 3, .rows = s.rows, .row = s.row};
    unsigned char *data = malloc(s.count * 32);
    uint64_t index;
    unsigned property;

    (void)unused;
    for (int layout = 0; layout < 2; layout++) {
        tt_particles_fill(&c, &s, layout, data, 0, false);
        assert_true(tt_particles_check(&c, &s, layout, data, 0, &index, &property));
        assert_false(tt_particles_check(&c, &s, layout, data, 1, &index, &property));
        assert_int_equal(index % TT_PARTICLES_STAMP, 0);
        tt_particles_fill(&c, &s, layout, data, 1, true);
        assert_true(tt_particles_check(&c, &s, layout, data, 1, &index, &property));
        for (unsigned k = 0; k < TT_PARTICLE_FIELDS; k++) {
            uint64_t at = layout ? 4321 * 32 + k * 4 : (k * s.count + 4321) * 4;

            data[at] ^= 1;
            assert_false(tt_particles_check(&c, &s, layout, data, 1, &index, &property));
            assert_int_equal(index, 5000 + 4321);
            assert_int_equal(property, k);
            data[at] ^= 1;
        }
    }
    free(data);
}

static void values_are_those_of_h5bench(void **unused)
{
    struct tt_particles_content c = {.seed = 3, .rows = 100, .row = 4};
    struct tt_particle p = tt_particle_at(&c, 0, 4 * 50 + 1);

    (void)unused;
    assert_int_equal(p.id_1, 50);
    assert_true(p.id_2 == 100.0f && p.z == 0.5f * 3701.0f && p.pz == 3701.0f);
    assert_true(p.x >= 0 && p.x < 191 && p.px >= 0 && p.px < 191 && p.x != p.px);
    assert_true(p.y >= 0 && p.y < 1009 && p.py >= 0 && p.py < 1009 && p.y != p.py);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repacking_is_exact_for_any_number),
        cmocka_unit_test(counts_vary_around_the_mean),
        cmocka_unit_test(ranks_follow_each_other),
        cmocka_unit_test(appended_parts_lie_behind),
        cmocka_unit_test(block_patterns_are_those_of_h5bench),
        cmocka_unit_test(planes_and_parts),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(every_property_is_checked),
        cmocka_unit_test(values_are_those_of_h5bench),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
