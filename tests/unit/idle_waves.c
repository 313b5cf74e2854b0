/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <gsl/gsl_randist.h>

#include "analysis/idle_waves.h"
#include "analysis/run_data.h"

#define RANKS 16
#define ITERATIONS 60
#define USUAL 0.010 /* seconds of work in an iteration */

static struct tt_wait_matrix make(size_t ranks, size_t iterations)
{
    struct tt_wait_matrix m = {ranks, iterations, malloc(ranks * iterations * sizeof(float)),
                               malloc(ranks * iterations * sizeof(float))};

    assert_true(m.wait && m.busy);
    for (size_t i = 0; i < ranks * iterations; i++) {
        m.wait[i] = 0.001f;
        m.busy[i] = USUAL;
    }
    return m;
}

static void add_noise(struct tt_wait_matrix *m, double sigma)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    for (size_t i = 0; i < m->ranks * m->iterations; i++)
        m->wait[i] += (float)fabs(gsl_ran_gaussian(rng, sigma));
    gsl_rng_free(rng);
}

static void wait_at(struct tt_wait_matrix *m, long rank, long iteration, double seconds)
{
    if (rank >= 0 && rank < (long)m->ranks && iteration >= 0 && iteration < (long)m->iterations)
        m->wait[rank * (long)m->iterations + iteration] += (float)seconds;
}

/* A rank that computes too long, and whom that makes wait how many iterations later; both ways, on
 * a chain of ranks or a ring. */
static void add_wave(struct tt_wait_matrix *m, long rank, long iteration, double seconds,
                     double slope, bool ring)
{
    long n = (long)m->ranks;

    m->busy[rank * (long)m->iterations + iteration] += (float)seconds;
    for (long d = 1; d < (ring ? n / 2 : n); d++) {
        long then = iteration + lround((double)d * slope);

        wait_at(m, ring ? (rank + d) % n : rank + d, then, seconds);
        wait_at(m, ring ? (rank - d + n) % n : rank - d, then, seconds);
    }
}

static void find(struct tt_wait_matrix *m, struct tt_idle_waves *found)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_idle_waves_find(m, found, &e), TT_OK);
    tt_wait_matrix_free(m);
}

static void check_wave(const struct tt_idle_wave *w, size_t rank, size_t iteration, double seconds)
{
    assert_int_equal(w->rank, rank);
    assert_int_equal(w->iteration, iteration);
    assert_true(fabs(w->seconds - seconds) < 0.1 * seconds);
}

static void check_front(const struct tt_idle_front *f, double speed, size_t last)
{
    assert_true(fabs(f->speed - speed) < 0.1 * speed);
    assert_true(f->r2 > 0.9);
    assert_int_equal(f->last, last);
}

static void finds_one_wave(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    for (long origin = 0; origin < RANKS; origin++) {
        add_wave(&m, origin, 20, 0.4, 1, false);
        find(&m, &found);
        assert_int_equal(found.nwaves, 1);
        check_wave(&found.waves[0], (size_t)origin, 20, 0.4);
        m = make(RANKS, ITERATIONS);
    }
    add_wave(&m, 5, 20, 0.4, 1, false);
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    assert_int_equal(found.nstalls, 0);
    check_wave(&found.waves[0], 5, 20, 0.4);
    check_front(&found.waves[0].fronts[TT_UPWARDS], 1, 15);
    check_front(&found.waves[0].fronts[TT_DOWNWARDS], 1, 0);
    assert_int_equal(found.waves[0].fronts[TT_UPWARDS].cells, 10);
    assert_int_equal(found.waves[0].fronts[TT_UPWARDS].to, 30);
}

static void finds_it_in_noise(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    add_wave(&m, 11, 33, 0.4, 1, false);
    add_noise(&m, 0.02);
    find(&m, &found);
    assert_true(found.nwaves >= 1);
    check_wave(&found.waves[0], 11, 33, 0.4);
    check_front(&found.waves[0].fronts[TT_UPWARDS], 1, 15);
    check_front(&found.waves[0].fronts[TT_DOWNWARDS], 1, 0);
}

static void finds_other_speeds(void **state)
{
    static const double slopes[] = {0.5, 2};

    (void)state;
    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
        struct tt_wait_matrix m = make(RANKS, ITERATIONS);
        struct tt_idle_waves found;

        add_wave(&m, 8, 20, 0.4, slopes[i], false);
        find(&m, &found);
        assert_int_equal(found.nwaves, 1);
        check_wave(&found.waves[0], 8, 20, 0.4);
        check_front(&found.waves[0].fronts[TT_UPWARDS], 1 / slopes[i], 15);
        check_front(&found.waves[0].fronts[TT_DOWNWARDS], 1 / slopes[i], 0);
    }
}

/* They cross, and the smaller one comes second. */
static void finds_two_waves(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    add_wave(&m, 3, 10, 0.2, 1, false);
    add_wave(&m, 12, 35, 0.4, 1, false);
    find(&m, &found);
    assert_int_equal(found.nwaves, 2);
    check_wave(&found.waves[0], 12, 35, 0.4);
    check_wave(&found.waves[1], 3, 10, 0.2);
}

/* At the end of the chain there is one way only; ranks 4 and above do not wait. */
static void finds_one_direction(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    m.busy[15 * ITERATIONS + 20] += 0.4f;
    for (long d = 1; d <= 11; d++)
        wait_at(&m, 15 - d, 20 + d, 0.4);
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    check_wave(&found.waves[0], 15, 20, 0.4);
    check_front(&found.waves[0].fronts[TT_DOWNWARDS], 1, 4);
    assert_int_equal(found.waves[0].fronts[TT_UPWARDS].cells, 0);
}

/* Rank 8 waited for something else, and so the front is an iteration early behind it. */
static void follows_over_a_gap(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    m.busy[5 * ITERATIONS + 20] += 0.4f;
    for (long d = 1; d < RANKS; d++) {
        wait_at(&m, d == 3 ? -1 : 5 + d, 20 + d - (d > 3), 0.4);
        wait_at(&m, 5 - d, 20 + d, 0.4);
    }
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    check_wave(&found.waves[0], 5, 20, 0.4);
    check_front(&found.waves[0].fronts[TT_UPWARDS], 1.1, 15);
    check_front(&found.waves[0].fronts[TT_DOWNWARDS], 1, 0);
}

/* On a ring both fronts go past the ends, and meet on the other side. */
static void follows_a_ring(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    add_wave(&m, 2, 20, 0.4, 1, true);
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    check_wave(&found.waves[0], 2, 20, 0.4);
    check_front(&found.waves[0].fronts[TT_UPWARDS], 1, 9);
    check_front(&found.waves[0].fronts[TT_DOWNWARDS], 1, 11);
    for (long origin = 0; origin < RANKS; origin++) {
        m = make(RANKS, ITERATIONS);
        add_wave(&m, origin, 20, 0.4, 1, true);
        find(&m, &found);
        assert_int_equal(found.nwaves, 1);
        check_wave(&found.waves[0], (size_t)origin, 20, 0.4);
        /* a single rank past the end is not believed */
        assert_true(found.waves[0].fronts[TT_UPWARDS].cells +
                        found.waves[0].fronts[TT_DOWNWARDS].cells >=
                    13);
    }
}

/* A rank that is held up while it waits, not while it works: it waits, too, and is no front. */
static void finds_a_late_waiter(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    wait_at(&m, 5, 20, 0.4);
    for (long d = 1; d < RANKS; d++) {
        wait_at(&m, 5 + d, 20 + d, 0.39);
        wait_at(&m, 5 - d, 20 + d, 0.39);
    }
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    check_wave(&found.waves[0], 5, 20, 0.39);
}

static void tells_a_stall_from_a_wave(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    add_wave(&m, 5, 20, 0.4, 1, false);
    m.busy[7 * ITERATIONS + 50] += 0.8f;
    for (long r = 0; r < RANKS; r++)
        wait_at(&m, r == 7 ? -1 : r, 50, 0.8);
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    check_wave(&found.waves[0], 5, 20, 0.4);
    assert_int_equal(found.nstalls, 1);
    assert_int_equal(found.stalls[0].iteration, 50);
    assert_int_equal(found.stalls[0].ranks, RANKS - 1);
    assert_true(fabs(found.stalls[0].seconds - 0.8) < 0.01);
}

static void finds_nothing_where_nothing_is(void **state)
{
    struct tt_idle_waves found;

    (void)state;
    for (size_t ranks = 1; ranks <= RANKS; ranks++) {
        struct tt_wait_matrix m = make(ranks, ITERATIONS);

        add_noise(&m, 0.001);
        find(&m, &found);
        assert_int_equal(found.nwaves, 0);
        assert_int_equal(found.nstalls, 0);
    }
}

/* With 1 rank nobody waits; with 2 a wave has nowhere to go. */
static void says_nothing_of_few_ranks(void **state)
{
    struct tt_idle_waves found;

    (void)state;
    for (size_t ranks = 1; ranks <= 2; ranks++) {
        struct tt_wait_matrix m = make(ranks, ITERATIONS);

        add_wave(&m, 0, 20, 0.4, 1, false);
        find(&m, &found);
        assert_int_equal(found.nwaves, 0);
    }
}

/* Cells that were not recorded, those of baseline epochs for instance, are no waiting. */
static void bears_gaps(void **state)
{
    struct tt_wait_matrix m = make(RANKS, ITERATIONS);
    struct tt_idle_waves found;

    (void)state;
    add_wave(&m, 5, 20, 0.4, 1, false);
    for (size_t r = 0; r < RANKS; r++)
        for (size_t i = 40; i < 45; i++)
            m.wait[r * ITERATIONS + i] = m.busy[r * ITERATIONS + i] = NAN;
    find(&m, &found);
    assert_int_equal(found.nwaves, 1);
    check_wave(&found.waves[0], 5, 20, 0.4);
}

/* Cells cost memory: records that are few do not get many of them, whatever iteration they name. */
static void allows_cells_for_records(void **state)
{
    static struct tt_iteration_record many[1000], last = {.iteration = 8000};
    static struct tt_rank_records ranks[1000];
    const struct tt_run_data run = {.nranks = 1000, .size = 1000, .ranks = ranks};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_wait_matrix m;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        many[i].iteration = 7001 + i;
        ranks[i] =
            (struct tt_rank_records){.niterations = i ? 1 : 1000, .iterations = i ? &last : many};
    }
    assert_int_equal(tt_wait_matrix_of(&run, &m, &e), TT_OK);
    assert_int_equal(m.iterations, 0);
    for (size_t i = 1; i < 1000; i++)
        ranks[i] = ranks[0];
    assert_int_equal(tt_wait_matrix_of(&run, &m, &e), TT_OK);
    assert_int_equal(m.iterations, 8000);
    tt_wait_matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_one_wave),
        cmocka_unit_test(finds_it_in_noise),
        cmocka_unit_test(finds_other_speeds),
        cmocka_unit_test(finds_two_waves),
        cmocka_unit_test(finds_one_direction),
        cmocka_unit_test(follows_over_a_gap),
        cmocka_unit_test(follows_a_ring),
        cmocka_unit_test(finds_a_late_waiter),
        cmocka_unit_test(tells_a_stall_from_a_wave),
        cmocka_unit_test(finds_nothing_where_nothing_is),
        cmocka_unit_test(says_nothing_of_few_ranks),
        cmocka_unit_test(bears_gaps),
        cmocka_unit_test(allows_cells_for_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
