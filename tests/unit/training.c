/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of samples, where they lie, in which order they come, and what belongs to a tree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "workloads/training/training.h"

static void sizes_are_normally_distributed(void **unused)
{
    const struct tt_training_options o = {
        .files = 100000, .per_file = 1, .size = 2828486, .deviation = 71311, .align = 1};
    const struct tt_training_options aligned = {
        .files = 10, .per_file = 1, .size = 10000, .deviation = 3000, .align = 4096};
    const struct tt_training_options equal = {.files = 1, .per_file = 1, .size = 7, .align = 1};
    double sum = 0, squares = 0;
    int within = 0;

    (void)unused;
    for (uint64_t i = 0; i < o.files; i++) {
        double x = (double)tt_training_size(&o, 1, i) - (double)o.size;

        assert_true(tt_training_size(&o, 1, i) <= tt_training_most(&o));
        sum += x;
        squares += x * x;
        within += fabs(x) < (double)o.deviation;
    }
    assert_true(fabs(sum / 1e5) < 3 * 71311 / sqrt(1e5));
    assert_true(fabs(sqrt(squares / 1e5) / 71311 - 1) < 0.01);
    assert_in_range(within, 67500, 69000);                 /* 68.3 % of a normal distribution */
    assert_int_equal(tt_training_size(&o, 1, 0), 2881245); /* on every machine */
    for (uint64_t i = 0; i < aligned.files; i++)
        assert_int_equal(tt_training_size(&aligned, 1, i) % 4096, 0);
    assert_int_equal(tt_training_size(&equal, 1, 99), 7);
}

/* With sums and without, the last of which may be that of the whole file. */
static void samples_of_a_file_follow_each_other(void **unused)
{
    static const uint64_t deviations[] = {900, 0}, numbers[] = {1, 7, 63, 64, 200};

    (void)unused;
    for (int k = 0; k < 10; k++) {
        const struct tt_training_options o = {.files = 5,
                                              .per_file = numbers[k % 5],
                                              .size = 1000,
                                              .deviation = deviations[k / 5],
                                              .align = 3};
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_training_places p;
        uint64_t all = 0, at = 0;

        assert_int_equal(tt_training_places_make(&p, &o, 3, &e), TT_OK);
        assert_int_equal(p.sums != NULL, k / 5 == 0 && o.per_file >= 64);
        for (uint64_t i = 0; i < tt_training_samples(&o); i++) {
            at = i % o.per_file == 0 ? 0 : at;
            assert_int_equal(tt_training_offset(&p, i), at);
            at += tt_training_size(&o, 3, i);
            if ((i + 1) % o.per_file == 0)
                assert_int_equal(tt_training_file_size(&p, i / o.per_file), at);
            all += tt_training_size(&o, 3, i);
        }
        assert_int_equal(tt_training_bytes(&o, 3), all);
        free(p.sums);
    }
}

/* Of each batch of four samples, which have pages of their own, and a little beside it. */
static void memory_is_that_of_pages(void **unused)
{
    struct tt_training_options o = {.files = 10,
                                    .per_file = 130,
                                    .size = 4097,
                                    .align = 1,
                                    .batch = 4,
                                    .workers = 2,
                                    .prefetch = 2};
    double equal = tt_training_memory(&o);

    (void)unused;
    assert_int_equal(tt_training_room(&o), 8192);
    assert_true(equal == 3 * (4 * 8192 + (double)tt_training_slot_size));
    o.deviation = 1;
    assert_true(tt_training_memory(&o) == equal + 10 * 2 * 8);
}

/* Every sample once, in another order each epoch, that is the same each time it is asked for. */
static void an_epoch_has_every_sample_once(void **unused)
{
    struct tt_training_options o = {.files = 40, .per_file = 3, .size = 1, .align = 1};

    (void)unused;
    for (o.shuffle = TT_TRAINING_NONE; o.shuffle <= TT_TRAINING_SAMPLES; o.shuffle++) {
        struct tt_training_order first = tt_training_order_make(&o, 1, 0);
        struct tt_training_order second = tt_training_order_make(&o, 1, 1);
        unsigned seen[120] = {0}, same = 0, files = 0;

        for (uint64_t i = 0; i < 120; i++) {
            uint64_t at = tt_training_at(&first, i);

            assert_in_range(at, 0, 119);
            seen[at]++;
            same += at == tt_training_at(&second, i);
            files += i % 3 == 0 || at == tt_training_at(&first, i - 1) + 1;
        }
        for (int i = 0; i < 120; i++)
            assert_int_equal(seen[i], 1);
        assert_true(o.shuffle == TT_TRAINING_NONE ? same == 120 : same < 30);
        assert_true(o.shuffle == TT_TRAINING_SAMPLES ? files < 80 : files == 120);
    }
}

static void incomplete_batches_are_dropped(void **unused)
{
    const struct tt_training_options o = {
        .files = 21, .per_file = 2, .batch = 4, .workers = 3, .prefetch = 4};
    const struct tt_training_options inlined = {.workers = 0, .prefetch = 4};

    (void)unused;
    assert_int_equal(tt_training_steps(&o, 1), 10);
    assert_int_equal(tt_training_steps(&o, 5), 2);
    assert_int_equal(tt_training_steps(&o, 11), 0);
    assert_int_equal(tt_training_outstanding(&o), 6);
    assert_int_equal(tt_training_outstanding(&inlined), 0);
}

static void a_tree_holds_its_own_files_only(void **unused)
{
    const struct tt_training_options o = {.files = 12};
    static const char *const foreign[] = {
        "sample-000012",   "sample-0", "sample-",       "sample-000001x",
        "sample-000001/a", "notes",    "sample-+00001", "sample-000001.locktest.1"};

    (void)unused;
    assert_true(tt_training_makes(&o, "sample-000000"));
    assert_true(tt_training_makes(&o, "sample-000011"));
    assert_true(tt_training_makes(&o, "sample-000001.locktest.0"));
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_false(tt_training_makes(&o, foreign[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_normally_distributed),
        cmocka_unit_test(samples_of_a_file_follow_each_other),
        cmocka_unit_test(memory_is_that_of_pages),
        cmocka_unit_test(an_epoch_has_every_sample_once),
        cmocka_unit_test(incomplete_batches_are_dropped),
        cmocka_unit_test(a_tree_holds_its_own_files_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
