/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of models, who holds what of them, and what is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/checkpoint/checkpoint.h"

static const struct tt_checkpoint_options small = {
    .hidden = 24, .ffn = 52, .layers = 5, .vocabulary = 1031, .kv = 8, .tensor = 2, .pipeline = 3};

/* As their makers count them, and as checkpoints of that size are published. */
static void models_have_their_sizes(void **unused)
{
    static const struct {
        int model;
        double parameters, bytes;
    } known[] = {{TT_CHECKPOINT_8B, 8.03e9, 105 * 0x1p30},
                 {TT_CHECKPOINT_70B, 70.6e9, 912 * 0x1p30},
                 {TT_CHECKPOINT_405B, 405.8e9, 5290 * 0x1p30},
                 {TT_CHECKPOINT_1T, 1.32e12, 18e12}};

    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct tt_checkpoint_options o = {.model = known[i].model};
        struct tt_checkpoint_shape s = tt_checkpoint_shape(&o);
        double n = (double)tt_checkpoint_parameters(&s);

        assert_true(n > 0.99 * known[i].parameters && n < 1.01 * known[i].parameters);
        assert_true(14 * n > 0.95 * known[i].bytes && 14 * n < 1.05 * known[i].bytes);
    }
    assert_int_equal(tt_checkpoint_bytes_each(TT_CHECKPOINT_WEIGHTS), 2);
    assert_int_equal(tt_checkpoint_bytes_each(TT_CHECKPOINT_OPTIMIZER), 12);
}

/* Every element of every array is held once, whatever the ranks. */
static void ranks_hold_everything_once(void **unused)
{
    static const uint64_t counts[] = {1, 2, 5, 6, 12, 48};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    for (unsigned c = 0; c < 2 * sizeof counts / sizeof *counts; c++) {
        struct tt_checkpoint_options o = small;
        struct tt_checkpoint_shape shape = tt_checkpoint_shape(&o);
        uint64_t ranks = counts[c / 2];

        o.sharding = c % 2 ? TT_CHECKPOINT_PARALLEL : TT_CHECKPOINT_FULL;
        tt_error_clear(&e);
        if (tt_checkpoint_check_ranks(&o, ranks, &e) != TT_OK) {
            assert_true(c % 2 && ranks % 6 != 0);
            continue;
        }
        for (int kind = 0; kind < TT_CHECKPOINT_KINDS; kind++) {
            unsigned char *held = calloc(48 * 3, 1031 * 24);
            uint64_t all = 0, most = 0;

            for (uint64_t r = 0; r < ranks; r++) {
                struct tt_checkpoint_state s;

                assert_int_equal(
                    tt_checkpoint_state_make(&s, &o, (enum tt_checkpoint_kind)kind, r, ranks, &e),
                    TT_OK);
                assert_true(s.n > 0);
                for (unsigned i = 0; i < s.n; i++) {
                    const struct tt_checkpoint_piece *p = &s.pieces[i];

                    assert_int_equal(p->start % 4, 0);
                    for (uint64_t x = p->start; x < p->start + p->count; x++)
                        assert_int_equal(held[(p->tensor * 3 + p->part) * 1031 * 24 + x]++, 0);
                }
                all += s.bytes;
                most = s.memory > most ? s.memory : most;
                tt_checkpoint_state_free(&s);
            }
            assert_int_equal(all, tt_checkpoint_parameters(&shape) *
                                      tt_checkpoint_bytes_each((enum tt_checkpoint_kind)kind));
            assert_true(most <= tt_checkpoint_memory(&o, ranks, NULL));
            free(held);
        }
    }
}

/* Another rank's part of what one rank has is what that rank would have made itself; another
 * checkpoint is not. */
static void content_belongs_to_its_place(void **unused)
{
    struct tt_checkpoint_options o = {
        .hidden = 1024, .ffn = 1300, .layers = 1, .vocabulary = 8, .tensor = 1, .pipeline = 1};
    struct tt_checkpoint_state whole, part;
    struct tt_error e = TT_ERROR_CLEAR;
    unsigned char *all, *own;
    unsigned piece;
    uint64_t offset;

    (void)unused;
    tt_checkpoint_state_make(&whole, &o, TT_CHECKPOINT_WEIGHTS, 0, 1, &e);
    tt_checkpoint_state_make(&part, &o, TT_CHECKPOINT_WEIGHTS, 2, 3, &e);
    all = malloc(whole.memory);
    own = malloc(part.memory);
    tt_checkpoint_fill(&whole, 7, all);
    tt_checkpoint_stamp(&whole, 4, all);
    for (unsigned i = 0; i < part.n; i++) {
        assert_int_equal(part.pieces[i].tensor, whole.pieces[i].tensor);
        memcpy(own + part.pieces[i].at, all + whole.pieces[i].at + 2 * part.pieces[i].start,
               tt_checkpoint_piece_bytes(&part, i));
    }
    assert_true(tt_checkpoint_is_right(&whole, 7, 4, all, &piece, &offset));
    assert_true(tt_checkpoint_is_right(&part, 7, 4, own, &piece, &offset));
    assert_false(tt_checkpoint_is_right(&part, 8, 4, own, &piece, &offset));
    assert_false(tt_checkpoint_is_right(&part, 7, 5, own, &piece, &offset));
    own[part.pieces[3].at + 77] ^= 1;
    assert_false(tt_checkpoint_is_right(&part, 7, 4, own, &piece, &offset));
    assert_int_equal(piece, 3);
    assert_int_equal(offset, 2 * part.pieces[3].start + 77);
    free(all);
    free(own);
    tt_checkpoint_state_free(&whole);
    tt_checkpoint_state_free(&part);
}

static void impossible_ranks_are_refused(void **unused)
{
    struct tt_checkpoint_options o = small;
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    o.sharding = TT_CHECKPOINT_PARALLEL;
    assert_int_equal(tt_checkpoint_check_ranks(&o, 8, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "multiple of tensor 2 x pipeline 3"));
    o.pipeline = 6;
    tt_error_clear(&e);
    assert_int_equal(tt_checkpoint_check_ranks(&o, 12, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "6 stages for 5 layers"));
    o.sharding = TT_CHECKPOINT_FULL;
    tt_error_clear(&e);
    assert_int_equal(tt_checkpoint_check_ranks(&o, 1000, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "too small"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_their_sizes),
        cmocka_unit_test(ranks_hold_everything_once),
        cmocka_unit_test(content_belongs_to_its_place),
        cmocka_unit_test(impossible_ranks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
