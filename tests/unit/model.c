/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selections and extents against a brute-force enumeration of their elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/file.h"
#include "io/model.h"

#define MOST 4096                           /* elements selected: at most (3 * 2)^4 */
#define ARRAY_BYTES (14 * 14 * 14 * 14 * 8) /* of the largest array selected from */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Every element's flat index, in the order the header defines. */
static size_t enumerate_slab(const struct tt_selection *s, uint64_t *out)
{
    uint64_t at[TT_MAX_DIMS] = {0};
    size_t n = 0;

    for (;;) {
        uint64_t flat = 0;
        int d;

        for (d = 0; d < s->ndims; d++)
            flat = flat * s->dims[d] + s->start[d] + at[d] / s->block[d] * s->stride[d] +
                   at[d] % s->block[d];
        out[n++] = flat;
        for (d = s->ndims - 1; d >= 0 && ++at[d] == s->count[d] * s->block[d]; d--)
            at[d] = 0;
        if (d < 0)
            return n;
    }
}

static size_t enumerate(const struct tt_selection *s, uint64_t *out)
{
    size_t n = 0;

    if (s->kind == TT_SELECT_SLAB)
        return enumerate_slab(s, out);
    if (s->kind == TT_SELECT_ALL)
        for (uint64_t i = 0; i < tt_selection_count(s); i++)
            out[n++] = i;
    for (size_t r = 0; s->kind == TT_SELECT_RUNS && r < s->nruns; r++)
        for (uint64_t i = 0; i < s->runs[r].length; i++)
            out[n++] = s->runs[r].start + i;
    return n;
}

static void random_slab(struct tt_selection *s)
{
    uint64_t dims[4], start[4], stride[4], count[4], block[4];
    int n = 1 + (int)draw(4);

    for (int d = 0; d < n; d++) {
        block[d] = 1 + draw(2);
        stride[d] = block[d] + draw(3);
        count[d] = 1 + draw(3);
        start[d] = draw(3);
        dims[d] = start[d] + (count[d] - 1) * stride[d] + block[d] + draw(3);
    }
    tt_select_slab(s, n, dims, start, stride, count, block);
}

/* n elements in runs, with or without gaps, optionally shuffled. */
static void random_runs(struct tt_selection *s, uint64_t n, struct tt_run *runs, bool shuffle)
{
    uint64_t at = 0, dims[1];
    size_t count = 0;

    while (n > 0) {
        uint64_t length = 1 + draw(n < 7 ? n : 7);

        at += draw(3);
        runs[count++] = (struct tt_run){at, length};
        at += length;
        n -= length;
    }
    for (size_t i = count; shuffle && i > 1; i--) {
        size_t j = draw(i);
        struct tt_run t = runs[i - 1];

        runs[i - 1] = runs[j];
        runs[j] = t;
    }
    dims[0] = at + 5;
    tt_select_runs(s, 1, dims, count, runs);
}

/* Element k of the file selection is element k of the memory selection, whatever the extents are.
 */
static void check_extents(const struct tt_block *b, size_t size)
{
    static uint64_t file[MOST], memory[MOST];
    size_t n = enumerate(&b->file, file), k = 0;
    uint64_t end = 0;
    struct tt_extent_iter it;
    struct tt_extent x, before = {0};
    bool first = true;

    assert_int_equal(n, enumerate(&b->memory, memory));
    assert_int_equal(n, tt_selection_count(&b->file));
    for (size_t i = 0; i < n; i++)
        end = file[i] >= end ? file[i] + 1 : end;
    assert_int_equal(end, tt_selection_end(&b->file));
    tt_extents_begin(&it, b, size);
    while (tt_extents_next(&it, &x)) {
        assert_true(x.length > 0 && x.length % size == 0);
        if (!first)
            assert_false(before.file_offset + before.length == x.file_offset &&
                         before.memory_offset + before.length == x.memory_offset);
        for (uint64_t i = 0; i < x.length / size; i++, k++) {
            assert_int_equal(x.file_offset / size + i, file[k]);
            assert_int_equal(x.memory_offset / size + i, memory[k]);
        }
        before = x;
        first = false;
    }
    assert_int_equal(k, n);
}

static void extents_visit_every_element(void **unused)
{
    static struct tt_run file_runs[MOST], memory_runs[MOST];

    (void)unused;
    state = 1;
    for (int round = 0; round < 3000; round++) {
        struct tt_block b = {0};

        if (round % 2)
            random_slab(&b.file);
        else
            random_runs(&b.file, 1 + draw(60), file_runs, round % 4 == 0);
        assert_true(tt_selection_is_valid(&b.file));
        random_runs(&b.memory, tt_selection_count(&b.file), memory_runs, round % 8 == 0);
        check_extents(&b, 1 + draw(12));
    }
}

/* What is taken for one extent is that one, and what a single transfer is, is taken for it. */
static void one_extent_is_what_the_walk_finds(void **unused)
{
    static struct tt_run runs[MOST];
    unsigned found = 0;

    (void)unused;
    state = 7;
    for (int round = 0; round < 3000; round++) {
        struct tt_block b = {0};
        struct tt_extent_iter it;
        struct tt_extent one, x;
        uint64_t n;

        if (round % 4)
            random_slab(&b.file);
        else
            random_runs(&b.file, 1 + draw(3), runs, false);
        n = tt_selection_count(&b.file) + (round % 16 == 1); /* memory may be larger */
        tt_select_all(&b.memory, 1, &n);
        if (!tt_block_is_one_extent(&b, 8, &one))
            continue;
        found++;
        tt_extents_begin(&it, &b, 8);
        assert_true(tt_extents_next(&it, &x));
        assert_memory_equal(&one, &x, sizeof x);
        assert_false(tt_extents_next(&it, &x));
        assert_int_equal(one.length, n * 8);
    }
    assert_true(found > 100);
}

static void a_single_transfer_is_one_extent(void **unused)
{
    uint64_t dims = 1 << 20, start = 8192, n = 4096, none = 0;
    struct tt_block b = {0};
    struct tt_extent x;

    (void)unused;
    tt_select_slab(&b.file, 1, &dims, &start, NULL, &n, NULL);
    tt_select_all(&b.memory, 1, &n);
    assert_true(tt_block_is_one_extent(&b, 1, &x));
    assert_int_equal(x.file_offset, start);
    assert_int_equal(x.length, n);
    tt_select_none(&b.file, 1, &dims);
    assert_false(tt_block_is_one_extent(&b, 1, &x));
    tt_select_slab(&b.file, 1, &dims, &start, NULL, &none, NULL);
    tt_select_all(&b.memory, 1, &none);
    assert_false(tt_block_is_one_extent(&b, 1, &x));
}

static void collected_extents_are_sorted(void **unused)
{
    static struct tt_run file_runs[MOST], memory_runs[MOST];
    struct tt_extent_list list = {0};

    (void)unused;
    state = 2;
    for (int round = 0; round < 500; round++) {
        struct tt_block b = {0};
        uint64_t bytes = 0;

        random_runs(&b.file, 1 + draw(200), file_runs, true);
        random_runs(&b.memory, tt_selection_count(&b.file), memory_runs, true);
        assert_int_equal(tt_extents_collect(&list, &b, 8), TT_OK);
        for (size_t i = 0; i < list.n; i++) {
            bytes += list.extents[i].length;
            if (i > 0)
                assert_true(list.extents[i].file_offset >=
                            list.extents[i - 1].file_offset + list.extents[i - 1].length);
        }
        assert_int_equal(bytes, 8 * tt_selection_count(&b.file));
    }
    free(list.extents);
}

static void packing_is_undone_by_unpacking(void **unused)
{
    static unsigned char from[ARRAY_BYTES], to[ARRAY_BYTES], packed[MOST * 8];
    static uint64_t index[MOST];

    (void)unused;
    state = 3;
    for (int round = 0; round < 300; round++) {
        struct tt_block b = {0};
        size_t size = 1 + draw(8), n;

        random_slab(&b.memory);
        b.file = b.memory;
        n = enumerate(&b.memory, index);
        for (size_t i = 0; i < sizeof from; i++)
            from[i] = (unsigned char)draw(256);
        b.data = from;
        tt_block_pack(&b, size, packed);
        for (size_t i = 0; i < n; i++)
            assert_memory_equal(packed + i * size, from + index[i] * size, size);
        memset(to, 0xee, sizeof to);
        b.data = to;
        tt_block_unpack(&b, size, packed);
        for (size_t i = 0; i < n; i++)
            assert_memory_equal(to + index[i] * size, from + index[i] * size, size);
    }
}

/* Elements of a box in row-major order, from place k of the list on. */
static size_t check_box(const struct tt_selection *array, const struct tt_strided *box,
                        const uint64_t *list, size_t k)
{
    struct tt_selection s;
    static uint64_t flat[MOST];
    size_t n;

    tt_select_slab(&s, array->ndims, array->dims, box->start, box->stride, box->count, NULL);
    n = enumerate_slab(&s, flat);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(flat[i], list[k + i]);
    return k + n;
}

static void strides_select_the_same(void **unused)
{
    static uint64_t list[MOST];

    (void)unused;
    state = 4;
    for (int i = 0; i < 2000; i++) {
        struct tt_selection s;
        struct tt_strided strided;
        bool blocks = false;

        random_slab(&s);
        for (int d = 0; d < s.ndims; d++)
            blocks |= s.block[d] > 1 && s.count[d] > 1 && s.stride[d] != s.block[d];
        assert_int_equal(tt_selection_is_strided(&s, &strided), !blocks);
        if (!blocks) {
            size_t n = enumerate(&s, list);

            assert_int_equal(check_box(&s, &strided, list, 0), n);
        }
    }
}

static void boxes_make_up_a_run(void **unused)
{
    static uint64_t list[MOST];

    (void)unused;
    state = 5;
    for (int i = 0; i < 2000; i++) {
        struct tt_selection slab, s;
        struct tt_strided box = {.stride = {1, 1, 1, 1, 1}};
        struct tt_run run;
        uint64_t size;
        size_t k = 0, n;
        int boxes = 0;

        random_slab(&slab);
        tt_select_all(&s, slab.ndims, slab.dims);
        size = tt_selection_count(&s);
        run.start = draw(size);
        run.length = draw((size - run.start < MOST ? size - run.start : MOST) + 1);
        n = run.length;
        for (size_t j = 0; j < n; j++)
            list[j] = run.start + j;
        for (; run.length > 0; boxes++) {
            tt_run_take_box(&run, s.ndims, s.dims, box.start, box.count);
            k = check_box(&s, &box, list, k);
        }
        assert_int_equal(k, n);
        assert_true(boxes <= 2 * s.ndims - 1);
    }
}

static void nothing_selected_gives_no_extent(void **unused)
{
    const uint64_t dims[2] = {4, 4}, start[2] = {0, 0}, count[2] = {2, 0};
    struct tt_block b = {0};
    struct tt_extent_iter it;
    struct tt_extent x;
    struct tt_run run;

    (void)unused;
    tt_select_slab(&b.file, 2, dims, start, NULL, count, NULL);
    tt_select_none(&b.memory, 2, dims);
    assert_int_equal(tt_selection_count(&b.file), 0);
    assert_true(tt_selection_is_valid(&b.file));
    assert_true(tt_selection_is_contiguous(&b.file, &run));
    tt_extents_begin(&it, &b, 8);
    assert_false(tt_extents_next(&it, &x));
}

static void selections_outside_are_invalid(void **unused)
{
    const uint64_t dims[1] = {10}, start[1] = {8}, count[1] = {3}, far[1] = {UINT64_MAX};
    const uint64_t overlap_stride[1] = {1}, block[1] = {2}, two[1] = {2}, zero[1] = {0};
    const struct tt_run outside = {8, 3}, huge = {1, UINT64_MAX};
    struct tt_selection s;

    (void)unused;
    tt_select_slab(&s, 1, dims, start, NULL, count, NULL);
    assert_false(tt_selection_is_valid(&s));
    tt_select_slab(&s, 1, dims, far, NULL, count, NULL);
    assert_false(tt_selection_is_valid(&s));
    tt_select_slab(&s, 1, dims, zero, far, two, NULL);
    assert_false(tt_selection_is_valid(&s));
    tt_select_slab(&s, 1, dims, zero, overlap_stride, two, block);
    assert_false(tt_selection_is_valid(&s));
    tt_select_runs(&s, 1, dims, 1, &outside);
    assert_false(tt_selection_is_valid(&s));
    tt_select_runs(&s, 1, dims, 1, &huge);
    assert_false(tt_selection_is_valid(&s));
}

static void raw_files_have_fixed_variables_first(void **unused)
{
    const struct tt_variable v[3] = {
        {.path = "a", .element = &tt_element_f64, .ndims = 1, .dims = {10}, .per_step = true},
        {.path = "b", .element = &tt_element_u8, .ndims = 1, .dims = {3}},
        {.path = "c", .element = &tt_element_i32, .ndims = 2, .dims = {2, 2}, .per_step = true}};
    struct tt_file_spec spec = {.policy = TT_APPEND, .nvariables = 3, .variables = v};

    (void)unused;
    assert_int_equal(tt_raw_offset(&spec, 1, 5, 1), 0);
    assert_int_equal(tt_raw_offset(&spec, 0, 0, 1), 3);
    assert_int_equal(tt_raw_offset(&spec, 2, 0, 1), 83);
    assert_int_equal(tt_raw_offset(&spec, 0, 2, 1), 3 + 2 * 96);
    assert_int_equal(tt_raw_size(&spec, 3, 1), 3 + 3 * 96);
    assert_int_equal(tt_raw_offset(&spec, 2, 1, 64), 64 + 192 + 128);
    spec.policy = TT_OVERWRITE;
    assert_int_equal(tt_raw_offset(&spec, 0, 2, 1), 3);
    assert_int_equal(tt_raw_size(&spec, 3, 1), 3 + 96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_visit_every_element),
        cmocka_unit_test(one_extent_is_what_the_walk_finds),
        cmocka_unit_test(a_single_transfer_is_one_extent),
        cmocka_unit_test(collected_extents_are_sorted),
        cmocka_unit_test(packing_is_undone_by_unpacking),
        cmocka_unit_test(strides_select_the_same),
        cmocka_unit_test(boxes_make_up_a_run),
        cmocka_unit_test(nothing_selected_gives_no_extent),
        cmocka_unit_test(selections_outside_are_invalid),
        cmocka_unit_test(raw_files_have_fixed_variables_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
