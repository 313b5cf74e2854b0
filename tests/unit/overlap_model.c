/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of asynchronous output on runs whose rates are an exact function of size and ranks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/overlap_model.h"

#define MIB 1048576.0
#define INFLATION 1.25

static struct tt_error e;

static double storage(double size, double ranks)
{
    return 2 * size + 10 * MIB * ranks;
}

static double copying(double size, double ranks)
{
    return 20 * size + 500 * MIB * ranks;
}

/* Of runs on a device; waited: in the copy, which is nothing else then. */
static bool stages, waited;

static double staging(double size, double ranks)
{
    return 3 * size + 40 * MIB * ranks;
}

static struct tt_past_run past(int mode, double size, double ranks, double compute)
{
    double moved = stages ? size / staging(size, ranks) : 0;
    double io = size / storage(size, ranks) + moved;
    double copy = waited ? moved : size / copying(size, ranks);

    return (struct tt_past_run){
        .mode = mode,
        .size = size,
        .ranks = ranks,
        .storage_rate = mode == TT_CHOICE_SYNC ? storage(size, ranks) : NAN,
        .staging_rate = stages ? staging(size, ranks) : NAN,
        .copy_rate = mode == TT_CHOICE_ASYNC ? size / copy : NAN,
        .waited = waited,
        .alone = compute,
        .compute = mode == TT_CHOICE_SYNC ? compute : compute * INFLATION,
        .epoch = mode == TT_CHOICE_SYNC ? tt_epoch_sync(compute, io)
                                        : tt_epoch_async(TT_EPOCH_PHYSICAL, compute * INFLATION,
                                                         io - (waited ? moved : 0), copy),
        .init = 1,
        .term = 2};
}

#define NRUNS 16
static struct tt_past_run runs[NRUNS];
static const struct tt_history history = {NRUNS, runs};

static int fill(void **unused)
{
    (void)unused;
    for (int i = 0; i < NRUNS; i++)
        runs[i] = past(i % 2, MIB * (1 << i / 2 % 4), i < NRUNS / 2 ? 2 : 8, 0.1);
    return 0;
}

static struct tt_overlap_answer ask(const struct tt_overlap_question *q)
{
    struct tt_overlap_model m;
    struct tt_overlap_answer a;

    assert_int_equal(tt_overlap_model_fit(&history, -1, &m, &e), TT_OK);
    tt_overlap_predict(&m, q, &a);
    return a;
}

static void near(double got, double expected)
{
    assert_float_equal(got / expected, 1, 1e-6);
}

static void predicts_what_made_the_rates(void **unused)
{
    double size = 4 * MIB, ranks = 4, io = size / storage(size, ranks);
    double copy = size / copying(size, ranks);
    struct tt_overlap_question q = {ranks, size, .compute = 0.05, .epochs = 10};
    struct tt_overlap_answer a = ask(&q);

    (void)unused;
    near(a.io.value, io);
    near(a.copy.value, copy);
    near(a.epoch[TT_CHOICE_SYNC].value, io + 0.05);
    near(a.epoch[TT_CHOICE_ASYNC].value, io + copy); /* it takes longer than the computation */
    near(a.speedup.value, (io + 0.05) / (io + copy));
    near(a.least_compute.value, copy);
    near(a.most_compute.value, (io - copy) / (INFLATION - 1));
    near(a.interval.value, io + copy);
    near(a.runtime[TT_CHOICE_SYNC].value, 3 + 10 * (io + 0.05));
    assert_true(isnan(a.steps.value));
    assert_false(a.rates[TT_MODEL_STORAGE].outside);
    q.compute = 1;
    q.steps = 20;
    a = ask(&q);
    near(a.epoch[TT_CHOICE_ASYNC].value, INFLATION + copy);
    near(a.steps.value, ceil(copy * 20));
}

/* On a device storage gets the data after staging, which computation hides or waits for. */
static void knows_staging(void **unused)
{
    double size = 4 * MIB, ranks = 4, moved = size / staging(size, ranks);
    double io = size / storage(size, ranks) + moved;
    struct tt_overlap_question q = {ranks, size, .compute = 0.05};
    struct tt_overlap_answer a = ask(&q);
    struct tt_check c;

    assert_float_equal(a.staging.value, 0, 0);
    stages = true;
    for (int i = 0; i < 2; i++) {
        double copy = i ? moved : size / copying(size, ranks);

        waited = i;
        fill(unused);
        a = ask(&q);
        near(a.staging.value, moved);
        near(a.io.value, io);
        near(a.epoch[TT_CHOICE_SYNC].value, io + 0.05);
        near(a.epoch[TT_CHOICE_ASYNC].value, fmax(0.05 * INFLATION, io - (i ? moved : 0)) + copy);
        if (i)
            assert_float_equal(a.least_compute.value, 0, 1e-9);
        else
            near(a.least_compute.value, copy);
        assert_int_equal(tt_overlap_check(&history, -1, TT_EPOCH_PHYSICAL, &c, &e), TT_OK);
        assert_true(c.error[TT_CHOICE_SYNC] < 1e-6 && c.error[TT_CHOICE_ASYNC] < 1e-6);
        free(c.rows);
    }
    stages = waited = false;
    fill(unused);
}

/* The printed form is lower by what is not waited for twice. */
static void knows_the_printed_form(void **unused)
{
    double size = 4 * MIB, ranks = 4, io = size / storage(size, ranks);
    double copy = size / copying(size, ranks);
    struct tt_overlap_question q = {ranks, size, .compute = 0.01, .form = TT_EPOCH_PAPER};
    struct tt_overlap_answer a = ask(&q);

    (void)unused;
    near(a.epoch[TT_CHOICE_ASYNC].value, io - 0.01 * INFLATION + copy);
    near(a.least_compute.value, copy / (1 + INFLATION));
}

/* Where I/O is as fast as a copy there is nothing to gain, and no computation that would help. */
static void says_that_it_never_pays(void **unused)
{
    struct tt_overlap_model m;
    struct tt_overlap_answer a;
    struct tt_overlap_question q = {4, 4 * MIB, .compute = 1};

    (void)unused;
    assert_int_equal(tt_overlap_model_fit(&history, -1, &m, &e), TT_OK);
    for (int form = 0; form < TT_NRATE_FORMS; form++)
        m.fits[TT_MODEL_COPY][form] = m.fits[TT_MODEL_STORAGE][form];
    m.chosen[TT_MODEL_COPY] = m.chosen[TT_MODEL_STORAGE];
    tt_overlap_predict(&m, &q, &a);
    assert_true(isnan(a.least_compute.value));
    assert_true(a.speedup.value < 1);
}

static void intervals_hold_the_value(void **unused)
{
    struct tt_overlap_question q = {4, 4 * MIB, .compute = 0.1};
    struct tt_overlap_answer a;

    (void)unused;
    for (int i = 0; i < NRUNS; i++) {
        runs[i].storage_rate *= i % 3 ? 1.1 : 0.9;
        runs[i].copy_rate *= i % 5 ? 1.05 : 0.9;
        runs[i].compute *= i % 7 ? 1 : 1.2;
    }
    a = ask(&q);
    for (int mode = 0; mode < TT_NCHOICES; mode++) {
        assert_true(a.epoch[mode].low < a.epoch[mode].value);
        assert_true(a.epoch[mode].high > a.epoch[mode].value);
    }
    assert_true(a.speedup.low < a.speedup.value && a.speedup.value < a.speedup.high);
    q.ranks = 64;
    q.size = 512 * MIB;
    assert_true(ask(&q).rates[TT_MODEL_STORAGE].outside);
    assert_true(ask(&q).rates[TT_MODEL_STORAGE].widened > 2);
    fill(NULL);
}

static void says_how_many_more_it_needs(void **unused)
{
    struct tt_history few = {3, runs};
    struct tt_overlap_model m;
    struct tt_overlap_answer a;

    (void)unused;
    assert_int_equal(tt_overlap_model_fit(&few, -1, &m, &e), TT_FAILED);
    assert_string_equal(e.text, "2 synchronous runs with a storage rate, and a fit needs 3: run 1 "
                                "more with --mode sync+imm, of several sizes or ranks");
    e = (struct tt_error)TT_ERROR_CLEAR;
    few.n = 5;
    assert_int_equal(tt_overlap_model_fit(&few, -1, &m, &e), TT_OK);
    assert_true(m.chosen[TT_MODEL_COPY] < 0);
    tt_overlap_predict(&m, &(struct tt_overlap_question){2, MIB, .compute = 1}, &a);
    assert_true(isfinite(a.epoch[TT_CHOICE_SYNC].value));
    assert_true(isnan(a.epoch[TT_CHOICE_ASYNC].value));
}

static void checks_by_what_was_held_out(void **unused)
{
    struct tt_past_run alike[8];
    struct tt_check c;

    (void)unused;
    assert_int_equal(tt_overlap_check(&history, -1, TT_EPOCH_PHYSICAL, &c, &e), TT_OK);
    assert_int_equal(c.n, NRUNS);
    assert_int_equal(c.predicted, NRUNS);
    assert_false(c.by_run);
    assert_true(c.error[TT_CHOICE_SYNC] < 1e-6 && c.error[TT_CHOICE_ASYNC] < 1e-6);
    free(c.rows);
    for (int i = 0; i < 8; i++)
        alike[i] = past(i % 2, MIB, 2, 0.1);
    assert_int_equal(
        tt_overlap_check(&(struct tt_history){8, alike}, -1, TT_EPOCH_PHYSICAL, &c, &e), TT_OK);
    assert_true(c.by_run);
    assert_int_equal(c.n, 2);
    free(c.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicts_what_made_the_rates),
        cmocka_unit_test(knows_staging),
        cmocka_unit_test(knows_the_printed_form),
        cmocka_unit_test(says_that_it_never_pays),
        cmocka_unit_test(intervals_hold_the_value),
        cmocka_unit_test(says_how_many_more_it_needs),
        cmocka_unit_test(checks_by_what_was_held_out),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
