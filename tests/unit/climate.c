/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank has which elements of which map, against the figures of the models' own maps; what is
 * in a file; and what the values are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/climate/climate.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The small sizes. */
static struct tt_climate_options small(enum tt_climate_case which)
{
    return (struct tt_climate_options){.which = which,
                                       .columns = 866,
                                       .cells = 285,
                                       .edges = 879,
                                       .vertices = 593,
                                       .latitudes = 96,
                                       .longitudes = 144,
                                       .land = 41,
                                       .records = 3,
                                       .flush = 1};
}

static struct tt_climate_mesh mesh_of(const struct tt_climate_options *o, uint64_t ranks)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_climate_mesh m;

    assert_int_equal(tt_climate_mesh_make(&m, o, ranks, &e), TT_OK);
    return m;
}

static struct tt_climate_map map_of(const struct tt_climate_mesh *m, int map, uint64_t rank)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_climate_map out;

    assert_int_equal(tt_climate_map_make(&out, m, map, rank, &e), TT_OK);
    return out;
}

/* Requests of a map over all ranks. */
struct figures {
    uint64_t requests, elements, shortest, longest;
    uint64_t least, most; /* requests of a rank */
    uint64_t descending;  /* requests that lie before the one before them */
};

static struct figures look_at(const struct tt_climate_mesh *m, int map)
{
    struct figures f = {.shortest = UINT64_MAX, .least = UINT64_MAX};

    for (uint64_t rank = 0; rank < m->ranks; rank++) {
        struct tt_climate_map x = map_of(m, map, rank);

        for (size_t i = 0; i < x.nruns; i++) {
            f.shortest = x.runs[i].length < f.shortest ? x.runs[i].length : f.shortest;
            f.longest = x.runs[i].length > f.longest ? x.runs[i].length : f.longest;
            f.descending += i > 0 && x.runs[i].start < x.runs[i - 1].start;
        }
        f.requests += x.nruns;
        f.elements += x.elements;
        f.least = x.nruns < f.least ? x.nruns : f.least;
        f.most = x.nruns > f.most ? x.nruns : f.most;
        tt_climate_map_free(&x);
    }
    return f;
}

static double mean_length(struct figures f)
{
    return (double)f.elements / (double)f.requests;
}

#define assert_near(value, wanted, by) \
    assert_true((double)(value) >= (wanted) - (by) && (double)(value) <= (wanted) + (by))

/* ---- every element has one owner ---- */

/* Returns how many elements of the array somebody has; nobody's has two. */
static uint64_t covered(const struct tt_climate_mesh *m, int map, uint64_t *all)
{
    uint64_t dims[3], n = 0;
    unsigned char *owners;

    *all = 1;
    for (int d = tt_climate_map_dims(m, map, dims); d-- > 0;)
        *all *= dims[d];
    owners = calloc(*all, 1);
    for (uint64_t rank = 0; rank < m->ranks; rank++) {
        struct tt_climate_map x = map_of(m, map, rank);
        uint64_t elements = 0;

        for (size_t i = 0; i < x.nruns; i++) {
            assert_true(x.runs[i].length > 0);
            assert_true(x.runs[i].start + x.runs[i].length <= *all);
            for (uint64_t k = 0; k < x.runs[i].length; k++)
                assert_int_equal(owners[x.runs[i].start + k]++, 0);
            elements += x.runs[i].length;
        }
        assert_int_equal(elements, x.elements);
        n += elements;
        tt_climate_map_free(&x);
    }
    free(owners);
    return n;
}

static void tile(const struct tt_climate_options *o, uint64_t ranks)
{
    struct tt_climate_mesh m = mesh_of(o, ranks);

    for (int map = 0; map < tt_climate_nmaps(o); map++) {
        uint64_t all, n = covered(&m, map, &all);

        if (o->which == TT_CLIMATE_I && !o->fill)
            assert_int_equal(n, m.land * (all / (o->latitudes * o->longitudes)));
        else
            assert_int_equal(n, all);
    }
    tt_climate_mesh_free(&m);
}

static void every_element_has_one_owner(void **state)
{
    static const uint64_t ranks[] = {1, 2, 3, 5, 16, 37};

    (void)state;
    for (int which = 0; which < 3; which++)
        for (size_t i = 0; i < COUNT(ranks); i++)
            for (int variant = 0; variant < 4; variant++) {
                struct tt_climate_options o = small((enum tt_climate_case)which);

                o.levels = 3;
                o.sorted = variant & 1;
                o.fill = which == TT_CLIMATE_I && variant & 2;
                tile(&o, ranks[i]);
            }
}

static void also_of_meshes_of_any_size(void **state)
{
    static const uint64_t sizes[] = {1, 2, 8, 9, 53, 54, 55, 100, 1000, 1013};

    (void)state;
    for (int which = 0; which < 3; which++)
        for (size_t i = 0; i < COUNT(sizes); i++)
            for (uint64_t ranks = 1; ranks <= 20; ranks += 19) {
                uint64_t n = sizes[i];
                struct tt_climate_options o = small((enum tt_climate_case)which);

                o.columns = o.cells = n;
                o.edges = n * 3 - n / 2;
                o.vertices = n / 2 + 1;
                o.latitudes = n % 7 + 1;
                o.longitudes = n % 50 + 1;
                o.levels = 2;
                o.fill = which == TT_CLIMATE_I;
                tile(&o, ranks);
            }
}

static void sorting_changes_only_the_order(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct tt_climate_options o = small((enum tt_climate_case)which), sorted = o;
        struct tt_climate_mesh m = mesh_of(&o, 16), s;

        sorted.sorted = true;
        s = mesh_of(&sorted, 16);
        for (int map = 0; map < tt_climate_nmaps(&o); map++) {
            struct figures a = look_at(&m, map), b = look_at(&s, map);

            assert_int_equal(a.requests, b.requests);
            assert_int_equal(a.elements, b.elements);
            assert_int_equal(a.longest, b.longest);
            assert_int_equal(b.descending, 0);
        }
        tt_climate_mesh_free(&m);
        tt_climate_mesh_free(&s);
    }
}

/* ---- the models' own figures, of 16 ranks ---- */

static void the_atmosphere_is_cut_like_the_real_one(void **state)
{
    struct tt_climate_options o = small(TT_CLIMATE_F);
    struct tt_climate_mesh m = mesh_of(&o, 16);
    struct figures d1 = look_at(&m, 0), d2 = look_at(&m, 1), d3 = look_at(&m, 2);
    struct tt_climate_map x;

    (void)state;
    assert_near((double)d1.requests / 16, 3, 0.3);
    assert_true(d1.shortest == 9 && d1.longest <= 36);
    assert_true(d2.shortest == 1 && d2.longest == 1);
    assert_true(d2.least >= 53 && d2.most <= 56);
    assert_true(d3.longest == 1 && d3.requests == 72 * d2.requests);
    x = map_of(&m, 2, 5); /* of a chunk, level after level */
    assert_int_equal(x.runs[0].start, 5);
    assert_int_equal(x.runs[1].start, 5 + 64);
    assert_int_equal(x.runs[14].start, 866 + 5);
    tt_climate_map_free(&x);
    tt_climate_mesh_free(&m);
}

static void production_has_36_to_38_columns_a_rank(void **state)
{
    struct tt_climate_options o = small(TT_CLIMATE_F);
    struct tt_climate_mesh m;
    uint64_t elements = 0;
    struct figures d2;

    (void)state;
    o.columns = 777602;
    m = mesh_of(&o, 21600);
    d2 = look_at(&m, 1);
    assert_int_equal(d2.requests, 777602);
    assert_true(d2.least == 36 && d2.most >= 37 && d2.most <= 38);
    for (uint64_t rank = 0; rank < m.ranks; rank += 123) {
        struct tt_climate_map x = map_of(&m, 0, rank);

        assert_true(x.elements == 36 || x.elements == 38);
        elements += x.elements;
        tt_climate_map_free(&x);
    }
    assert_true(elements > 0);
    tt_climate_mesh_free(&m);
}

static void the_ocean_is_cut_like_the_real_one(void **state)
{
    struct tt_climate_options o = small(TT_CLIMATE_G);
    struct tt_climate_mesh m = mesh_of(&o, 16);
    struct figures d1 = look_at(&m, 0), d2 = look_at(&m, 1), d5 = look_at(&m, 4);
    static const uint64_t entities[] = {0, 0, 285, 879, 593, 285};

    (void)state;
    assert_near(mean_length(d1), 2.3, 0.25);
    assert_true(d1.longest <= 8 && d1.descending == 0);
    assert_true(d2.shortest == 1 && d2.longest == 2);
    assert_int_equal(d2.descending, d2.requests - 16);
    for (int map = 2; map < 6; map++) {
        struct figures f = look_at(&m, map);
        uint64_t levels = map == 5 ? 101 : 100;

        assert_int_equal(f.requests, entities[map]);
        assert_true(f.shortest == levels && f.longest == levels);
    }
    assert_true(d5.least >= 13 && d5.least <= 25 && d5.most >= 50 && d5.most <= 65);
    tt_climate_mesh_free(&m);
}

static void the_land_is_cut_like_the_real_one(void **state)
{
    static const uint64_t levels[] = {1, 15, 10, 9, 17};
    struct tt_climate_options o = small(TT_CLIMATE_I), filled = o;
    struct tt_climate_mesh m = mesh_of(&o, 16), f;
    struct figures d1 = look_at(&m, 0);

    (void)state;
    filled.fill = true;
    f = mesh_of(&filled, 16);
    assert_near(100.0 * (double)m.land / (96 * 144), 41, 0.1);
    assert_near(mean_length(d1), 5.8, 0.1);
    assert_int_equal(d1.longest, 9);
    assert_near((double)(look_at(&f, 0).requests - d1.requests) / 16, 24, 1);
    for (int map = 1; map < 5; map++)
        assert_int_equal(look_at(&m, map).requests, levels[map] * d1.requests);
    tt_climate_mesh_free(&m);
    tt_climate_mesh_free(&f);
}

/* ---- files ---- */

static void files_have_as_many_variables_as_the_models_write(void **state)
{
    static const struct {
        enum tt_climate_case which;
        int file;
        unsigned maps[TT_CLIMATE_MAPS], rest;
    } known[] = {
        {TT_CLIMATE_F, 0, {1, 323, 63}, 27},        {TT_CLIMATE_F, 1, {1, 22, 1}, 27},
        {TT_CLIMATE_G, 0, {6, 2, 25, 2, 2, 4}, 11}, {TT_CLIMATE_I, 0, {465, 75, 4, 1, 1}, 14},
        {TT_CLIMATE_I, 1, {465, 69, 2, 1, 1}, 14},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        struct tt_climate_options o = small(known[i].which);
        struct tt_climate_mesh m = mesh_of(&o, 2);
        unsigned n = tt_climate_variables(&m, known[i].file, NULL), rest = 0;
        struct tt_climate_variable *list = calloc(n, sizeof *list);
        unsigned maps[TT_CLIMATE_MAPS] = {0};

        assert_int_equal(tt_climate_variables(&m, known[i].file, list), n);
        for (unsigned v = 0; v < n; v++) {
            ++*(list[v].map == TT_CLIMATE_ALONE ? &rest : &maps[list[v].map]);
            assert_true(v == 0 || !list[v - 1].per_record || list[v].per_record);
            for (unsigned w = 0; w < v; w++)
                assert_string_not_equal(list[v].name, list[w].name);
        }
        assert_memory_equal(maps, known[i].maps, sizeof maps);
        assert_int_equal(rest, known[i].rest);
        free(list);
        tt_climate_mesh_free(&m);
    }
}

static void only_one_of_two_files_has_many_records(void **state)
{
    struct tt_climate_options f = small(TT_CLIMATE_F), g = small(TT_CLIMATE_G),
                              i = small(TT_CLIMATE_I);
    int files[2];

    (void)state;
    assert_int_equal(tt_climate_files(&f, files), 2);
    assert_true(files[0] == 1 && files[1] == 0);
    assert_true(tt_climate_records(&f, 1) == 3 && tt_climate_records(&f, 0) == 1);
    assert_int_equal(tt_climate_files(&g, files), 1);
    assert_int_equal(tt_climate_records(&g, files[0]), 3);
    assert_int_equal(tt_climate_files(&i, files), 2);
    assert_true(tt_climate_records(&i, 0) == 3 && tt_climate_records(&i, 1) == 1);
    i.files = TT_CLIMATE_H1;
    assert_int_equal(tt_climate_files(&i, files), 1);
    assert_int_equal(files[0], 1);
}

/* ---- content ---- */

static void a_wrong_value_is_found(void **state)
{
    static const struct tt_element *const elements[] = {&tt_element_f64, &tt_element_f32,
                                                        &tt_element_i32, &tt_element_u8};
    struct tt_run runs[] = {{1000, 30}, {10, 5}, {2048, 1}};

    (void)state;
    for (size_t i = 0; i < COUNT(elements); i++)
        for (uint64_t spacing = 1; spacing <= 2; spacing++) {
            struct tt_climate_content c = {99, elements[i], COUNT(runs), runs, spacing};
            size_t size = elements[i]->size;
            unsigned char data[36 * 2 * 8];
            uint64_t wrong;

            memset(data, 0xee, sizeof data);
            tt_climate_fill(&c, 4, false, data);
            assert_true(tt_climate_matches(&c, 4, data, &wrong));
            assert_false(tt_climate_matches(&c, 5, data, &wrong));
            assert_int_equal(wrong, 1024);
            tt_climate_fill(&c, 5, true, data);
            assert_true(tt_climate_matches(&c, 5, data, &wrong));
            data[32 * spacing * size] ^= 1;
            assert_false(tt_climate_matches(&c, 5, data, &wrong));
            assert_int_equal(wrong, 12);
            if (spacing == 2)
                assert_int_equal(data[size], 0xee);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_has_one_owner),
        cmocka_unit_test(also_of_meshes_of_any_size),
        cmocka_unit_test(sorting_changes_only_the_order),
        cmocka_unit_test(the_atmosphere_is_cut_like_the_real_one),
        cmocka_unit_test(production_has_36_to_38_columns_a_rank),
        cmocka_unit_test(the_ocean_is_cut_like_the_real_one),
        cmocka_unit_test(the_land_is_cut_like_the_real_one),
        cmocka_unit_test(files_have_as_many_variables_as_the_models_write),
        cmocka_unit_test(only_one_of_two_files_has_many_records),
        cmocka_unit_test(a_wrong_value_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
