/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which transfer goes where: everything once, nothing twice, in every order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/counts.h"
#include "workloads/bulk/bulk.h"

static struct tt_bulk_options options(int files, int order)
{
    return (struct tt_bulk_options){.block = 64,
                                    .transfer = 16,
                                    .segments = 5,
                                    .files = files,
                                    .order = order,
                                    .reorder_distance = 1};
}

/* Marks the slots of a file that ranks touch; no slot twice. */
static void touch(char *slots, const struct tt_bulk_options *o, uint64_t ranks, uint64_t rank,
                  uint64_t written)
{
    struct tt_bulk_walk w;

    tt_bulk_walk_begin(&w, o, tt_bulk_transfers(o) * (o->files ? 1 : ranks), ranks, rank, 7,
                       written);
    for (uint64_t i = 0; i < w.count; i++) {
        uint64_t offset = tt_bulk_offset(&w, i);

        assert_int_equal(offset % o->transfer, 0);
        assert_true(offset / o->transfer < w.slots);
        slots[offset / o->transfer]++;
    }
}

static void every_order_covers_the_file_once(void **state)
{
    (void)state;
    for (int files = 0; files < 2; files++)
        for (int order = TT_BULK_SEQUENTIAL; order <= TT_BULK_RANDOM; order++)
            for (uint64_t ranks = 1; ranks < 6; ranks += 2) {
                struct tt_bulk_options o = options(files, order);
                uint64_t n = tt_bulk_transfers(&o) * ranks;
                char slots[5 * 4 * 5] = "";

                if (files && order == TT_BULK_STRIDED)
                    continue;
                for (uint64_t rank = 0; rank < ranks; rank++)
                    touch(slots + (files ? rank * tt_bulk_transfers(&o) : 0), &o, ranks, rank,
                          TT_BULK_TO_WRITE);
                for (uint64_t i = 0; i < n; i++)
                    assert_int_equal(slots[i], 1);
            }
}

static void segments_hold_a_block_of_every_rank(void **state)
{
    struct tt_bulk_options o = options(0, TT_BULK_SEQUENTIAL);
    struct tt_bulk_walk w;

    (void)state;
    tt_bulk_walk_begin(&w, &o, tt_bulk_transfers(&o) * 3, 3, 1, 0, TT_BULK_TO_WRITE);
    assert_int_equal(tt_bulk_offset(&w, 0), 64);
    assert_int_equal(tt_bulk_offset(&w, 3), 64 + 48);
    assert_int_equal(tt_bulk_offset(&w, 4), 3 * 64 + 64);
    o.order = TT_BULK_STRIDED;
    tt_bulk_walk_begin(&w, &o, tt_bulk_transfers(&o) * 3, 3, 1, 0, TT_BULK_TO_WRITE);
    assert_int_equal(tt_bulk_offset(&w, 2), (2 * 3 + 1) * 16);
}

/* What a deadline left is read exactly, in another order than it was written in. */
static void reading_touches_what_was_written(void **state)
{
    struct tt_bulk_options o = options(0, TT_BULK_RANDOM);
    char wrote[5 * 4 * 2] = "", read[5 * 4 * 2] = "";
    struct tt_bulk_walk writing, reading;
    unsigned same = 0;

    (void)state;
    tt_bulk_walk_begin(&writing, &o, tt_bulk_transfers(&o) * 2, 2, 1, 7, TT_BULK_TO_WRITE);
    tt_bulk_walk_begin(&reading, &o, tt_bulk_transfers(&o) * 2, 2, 1, 7, 13);
    assert_int_equal(reading.count, 13);
    for (uint64_t i = 0; i < 13; i++) {
        wrote[tt_bulk_offset(&writing, i) / 16]++;
        read[tt_bulk_offset(&reading, i) / 16]++;
        same += tt_bulk_offset(&writing, i) == tt_bulk_offset(&reading, i);
    }
    assert_memory_equal(wrote, read, sizeof wrote);
    assert_true(same < 8);
}

/* Wherever a file ends, ranks together read every transfer of it once. */
static void a_file_that_ends_inside_a_segment_is_covered(void **state)
{
    (void)state;
    for (int order = TT_BULK_SEQUENTIAL; order <= TT_BULK_RANDOM; order++)
        for (uint64_t there = 1; there <= 60; there++) {
            struct tt_bulk_options o = options(0, order);
            char slots[60] = "";

            for (uint64_t rank = 0; rank < 3; rank++) {
                struct tt_bulk_walk w;

                tt_bulk_walk_begin(&w, &o, there, 3, rank, 7, tt_bulk_part(&o, there, 3, rank));
                for (uint64_t i = 0; i < w.count; i++)
                    slots[tt_bulk_offset(&w, i) / o.transfer]++;
            }
            for (uint64_t i = 0; i < 60; i++)
                assert_int_equal(slots[i], i < there);
        }
}

static void readers_stand_in_for_others(void **state)
{
    const struct tt_bulk_nodes nodes = {.ranks_of_first = 4, .nodes = 3, .blocked = true};
    const struct tt_bulk_nodes cyclic = {.ranks_of_first = 4, .nodes = 3};
    struct tt_bulk_options o = options(1, TT_BULK_SEQUENTIAL);
    char taken[12] = "";

    (void)state;
    o.reorder = TT_BULK_CONSTANT;
    assert_int_equal(tt_bulk_reordered_rank(&o, &nodes, 12, 1, 0, 1), 5);
    assert_int_equal(tt_bulk_reordered_rank(&o, &nodes, 12, 9, 1, 1), 5);
    assert_int_equal(tt_bulk_reordered_rank(&o, &cyclic, 12, 1, 0, 1), 2);
    o.reorder = TT_BULK_RANDOM_RANK;
    for (uint64_t rank = 0; rank < 12; rank++) {
        uint64_t of = tt_bulk_reordered_rank(&o, &nodes, 12, rank, 0, 1);

        assert_true((of + 12 - rank) % 12 >= 4);
    }
    o.reorder = TT_BULK_PERMUTATION;
    for (uint64_t rank = 0; rank < 12; rank++)
        taken[tt_bulk_reordered_rank(&o, &nodes, 12, rank, 0, 1)]++;
    for (unsigned i = 0; i < 12; i++)
        assert_int_equal(taken[i], 1);
}

static void counts_are_kept_for_a_later_run(void **state)
{
    char path[] = "/tmp/tutti-unit-XXXXXX";
    struct tt_error e = TT_ERROR_CLEAR;
    uint64_t count = 0;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_not_equal(tt_counts_save(path, 5, &e), TT_OK); /* not ours */
    tt_error_clear(&e);
    unlink(path);
    assert_int_equal(tt_counts_save(path, 5, &e), TT_OK);
    assert_int_equal(tt_counts_save(path, 123456789012, &e), TT_OK);
    assert_int_equal(tt_counts_load(path, &count, &e), TT_OK);
    assert_int_equal(count, 123456789012);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_covers_the_file_once),
        cmocka_unit_test(segments_hold_a_block_of_every_rank),
        cmocka_unit_test(reading_touches_what_was_written),
        cmocka_unit_test(a_file_that_ends_inside_a_segment_is_covered),
        cmocka_unit_test(readers_stand_in_for_others),
        cmocka_unit_test(counts_are_kept_for_a_later_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
