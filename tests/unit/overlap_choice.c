/* SPDX-License-Identifier: GPL-3.0-or-later */
/* overlap=auto replayed on traces of known costs: what it takes against the better fixed mode, and
 * what it decides. Each epoch is told one epoch late, as the engine does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/mix.h"
#include "engine/overlap_choice.h"

#define EPOCHS 120
#define MOST_REGRET 0.05

/* Instead of the library's. */
static unsigned logarithms;

double log(double x)
{
    logarithms++;
    return log2(x) * M_LN2;
}

/* What an epoch costs at some time: computation alone, I/O, copy, and by how much I/O beside it
 * makes the computation longer. */
struct cost {
    double compute, io, copy, inflation;
    double staging; /* before the I/O */
    bool waited;    /* in the copy, which is nothing else then */
};
typedef struct cost trace(int epoch);

static double share(int epoch, int lane, double spread)
{
    double u = (double)(tt_mix((uint64_t)epoch * 8 + (uint64_t)lane) >> 11) / 9007199254740992.0;

    return 1 + spread * (2 * u - 1);
}

static struct tt_epoch_seen play(trace *t, int epoch, int mode, double noise)
{
    struct cost x = t(epoch);
    struct tt_epoch_seen s = {.mode = mode,
                              .compute = x.compute * share(epoch, 0, noise),
                              .io = x.io * share(epoch, 1, noise),
                              .staging = x.staging * share(epoch, 3, noise)};

    if (mode == TT_CHOICE_ASYNC) {
        s.compute *= x.inflation;
        s.waited = x.waited ? s.staging : 0;
        s.copy = x.waited ? s.staging : x.copy * share(epoch, 2, noise);
        s.span = tt_epoch_async(TT_EPOCH_PHYSICAL, s.compute, s.io + s.staging - s.waited, s.copy);
    } else {
        s.span = tt_epoch_sync(s.compute, s.io + s.staging);
    }
    return s;
}

struct played {
    double fixed[TT_NCHOICES], chosen;
    unsigned switches, probes;
    int last;
};

static struct played replay(trace *t, int epochs, double noise)
{
    struct played p = {0};
    struct tt_epoch_seen seen[EPOCHS];
    struct tt_choice c;

    tt_choice_begin(&c, (uint64_t)epochs);
    for (int i = 0; i < epochs; i++) {
        enum tt_choice_reason why =
            i == 0 ? TT_CHOICE_STAYS : tt_choice_next(&c, i < 2 ? NULL : &seen[i - 2]);

        seen[i] = play(t, i, c.mode, noise);
        p.switches += why == TT_CHOICE_PAYS;
        p.probes += why == TT_CHOICE_PROBES;
        p.chosen += seen[i].span;
        for (int mode = 0; mode < TT_NCHOICES; mode++)
            p.fixed[mode] += play(t, i, mode, noise).span;
    }
    p.last = c.usual;
    return p;
}

static double regret(const struct played *p)
{
    return p->chosen / fmin(p->fixed[TT_CHOICE_SYNC], p->fixed[TT_CHOICE_ASYNC]) - 1;
}

/* ---- traces ---- */

/* Computation that shrinks below the copy, where overlap no longer pays. */
static struct cost shrinking(int epoch)
{
    return (struct cost){.compute = 1.0 / (1 + epoch * epoch / 100.0), .io = 0.5, .copy = 0.15, 1};
}

static struct cost growing(int epoch)
{
    return shrinking(EPOCHS - 1 - epoch);
}

/* A device that slows down midway: before, I/O was shorter than its copy. */
static struct cost slowing_device(int epoch)
{
    return (struct cost){1, epoch < EPOCHS / 2 ? 0.05 : 0.8, 0.2, 1};
}

/* Both: overlap pays at first, for computation; then not, since that is short; then never mind the
 * slow device, it still does not. */
static struct cost both(int epoch)
{
    struct cost x = shrinking(epoch);

    x.io = epoch < EPOCHS / 2 ? 0.5 : 1.5;
    return x;
}

/* I/O in the background takes the cores: nothing but a probe shows what computation takes alone. */
static struct cost inflating(int epoch)
{
    (void)epoch;
    return (struct cost){1, 0.4, 0.05, 1.8};
}

static struct cost always_pays(int epoch)
{
    (void)epoch;
    return (struct cost){1, 0.9, 0.02, 1.02};
}

static struct cost never_pays(int epoch)
{
    (void)epoch;
    return (struct cost){0.01, 1, 0.3, 1};
}

/* From a device, with a snapshot: staging is hidden as storage is, also when that becomes slow. */
static struct cost staged(int epoch)
{
    return (struct cost){1, epoch < EPOCHS / 2 ? 0.05 : 0.8, 0.01, 1, .staging = 0.3};
}

/* Without one: staging is waited for in either mode, so that only storage counts. */
static struct cost staged_at_once(int epoch)
{
    (void)epoch;
    return (struct cost){1, 0.2, 0, 1.05, .staging = 0.6, .waited = true};
}

static struct cost staged_beside_nothing(int epoch)
{
    (void)epoch;
    return (struct cost){1, 0.02, 0, 1.3, .staging = 0.6, .waited = true};
}

static struct cost all_the_same(int epoch)
{
    (void)epoch;
    return (struct cost){1, 0.2, 0.2, 1};
}

static const struct {
    const char *name;
    trace *trace;
    int last; /* the mode that it must end in; -1: either */
} traces[] = {
    {"shrinking", shrinking, TT_CHOICE_SYNC},
    {"growing", growing, TT_CHOICE_ASYNC},
    {"slowing device", slowing_device, TT_CHOICE_ASYNC},
    {"both", both, TT_CHOICE_SYNC},
    {"inflating", inflating, TT_CHOICE_SYNC},
    {"always pays", always_pays, TT_CHOICE_ASYNC},
    {"never pays", never_pays, TT_CHOICE_SYNC},
    {"staged", staged, TT_CHOICE_ASYNC},
    {"staged at once", staged_at_once, TT_CHOICE_ASYNC},
    {"staged beside nothing", staged_beside_nothing, TT_CHOICE_SYNC},
    {"all the same", all_the_same, -1},
};
#define NTRACES (sizeof traces / sizeof *traces)

/* ---- tests ---- */

static void regrets_little(void **unused)
{
    static const double noises[] = {0, 0.05, 0.2};

    (void)unused;
    for (size_t i = 0; i < NTRACES; i++)
        for (size_t n = 0; n < sizeof noises / sizeof *noises; n++) {
            struct played p = replay(traces[i].trace, EPOCHS, noises[n]);

            if (regret(&p) > MOST_REGRET)
                fail_msg("%s, noise %g: regret %.3f, %u switches, %u probes", traces[i].name,
                         noises[n], regret(&p), p.switches, p.probes);
            if (traces[i].last >= 0 && p.last != traces[i].last)
                fail_msg("%s, noise %g, ends %s", traces[i].name, noises[n],
                         tt_choice_names[p.last]);
        }
}

/* Noise alone does not make it change to and fro. */
static void does_not_flutter(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < NTRACES; i++) {
        struct played p = replay(traces[i].trace, EPOCHS, 0.05);

        if (p.switches > 4)
            fail_msg("%s: %u switches", traces[i].name, p.switches);
    }
}

/* Probes lose no more than a fiftieth of the time, and are made nevertheless. */
static void probes_within_a_budget(void **unused)
{
    struct played p = replay(always_pays, EPOCHS, 0);

    (void)unused;
    assert_in_range(p.probes, 1, 8);
    assert_true(regret(&p) < 0.021);
    assert_int_equal(p.switches, 0);
}

/* Ranks of other nodes may have another library, which rounds differently, and must choose alike.
 */
static void asks_for_no_logarithm(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < NTRACES; i++)
        replay(traces[i].trace, EPOCHS, 0.2);
    assert_int_equal(logarithms, 0);
}

/* Ten epochs are not spent on finding out. */
static void a_short_run_is_left_alone(void **unused)
{
    struct played p = replay(always_pays, 10, 0);

    (void)unused;
    assert_int_equal(p.probes + p.switches, 0);
}

static void forms_agree_where_io_is_hidden(void **unused)
{
    (void)unused;
    assert_float_equal(tt_epoch_sync(2, 1), 3, 0);
    assert_float_equal(tt_epoch_async(TT_EPOCH_PHYSICAL, 2, 1, 0.5), 2.5, 0);
    assert_float_equal(tt_epoch_async(TT_EPOCH_PAPER, 2, 1, 0.5), 2.5, 0);
    assert_float_equal(tt_epoch_async(TT_EPOCH_PHYSICAL, 1, 4, 0.5), 4.5, 0);
    assert_float_equal(tt_epoch_async(TT_EPOCH_PAPER, 1, 4, 0.5), 3.5, 0);
}

/* What an epoch takes is predicted exactly, in the mode that has not been seen as well: staging is
 * known apart from storage, and whether it was waited for. */
static void knows_staging_apart(void **unused)
{
    for (int waited = 0; waited < 2; waited++) {
        double copy = waited ? 0.6 : 0.05;
        struct tt_epoch_seen seen = {.mode = TT_CHOICE_ASYNC,
                                     .compute = 1,
                                     .io = 0.7,
                                     .staging = 0.6,
                                     .copy = copy,
                                     .waited = waited ? 0.6 : 0};
        struct tt_choice c;

        (void)unused;
        seen.span = (waited ? 1 : 1.3) + copy;
        tt_choice_begin(&c, EPOCHS);
        tt_choice_next(&c, &seen);
        assert_float_equal(c.predicted[TT_CHOICE_ASYNC], seen.span, 1e-12);
        assert_float_equal(c.predicted[TT_CHOICE_SYNC], 2.3, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regrets_little),
        cmocka_unit_test(does_not_flutter),
        cmocka_unit_test(probes_within_a_budget),
        cmocka_unit_test(asks_for_no_logarithm),
        cmocka_unit_test(a_short_run_is_left_alone),
        cmocka_unit_test(forms_agree_where_io_is_hidden),
        cmocka_unit_test(knows_staging_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
