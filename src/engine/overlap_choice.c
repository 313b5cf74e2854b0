/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/overlap_choice.h"

#include <math.h>

#define WEIGHT 0.5      /* of the newest epoch in a mean */
#define HYSTERESIS 0.25 /* of an epoch: what staying must have lost before the mode is changed */
#define BUDGET 0.02     /* of the time of all epochs: what probes may lose */
#define SHORTEST_GAP 8  /* epochs between two probes; it doubles while nothing changes */
#define LONGEST_GAP 64
#define CHANGED \
    1.25 /* computation or I/O by this factor since the last probe: it is out of date \
          */

const char *const tt_choice_names[] = {"sync", "async"};

double tt_epoch_sync(double compute, double io)
{
    return io + compute;
}

double tt_epoch_async(enum tt_epoch_form form, double compute, double io, double copy)
{
    return fmax(compute, form == TT_EPOCH_PAPER ? io - compute : io) + copy;
}

void tt_choice_begin(struct tt_choice *c, uint64_t epochs)
{
    *c = (struct tt_choice){.mode = TT_CHOICE_ASYNC,
                            .usual = TT_CHOICE_ASYNC,
                            .epochs = epochs,
                            .bias = {1, 1},
                            .probe_gap = SHORTEST_GAP};
}

/* By what factor they differ; without logarithms, which nodes may round differently. */
static double ratio(double a, double b)
{
    return fmax(a / b, b / a);
}

/* The usual mode is measured all the time. The other one has not been seen lately: what it takes is
 * thought to change in proportion; until it has been seen at all, to be the same. Computation or
 * storage may have changed just before a probe: of the epochs before and after it, the one that is
 * more like it is of the same time. */
static void track(const struct tt_choice *c, struct tt_tracked *t, int mode, double now)
{
    double before = t->of[mode], *other = &t->of[!mode];

    if (mode != c->usual) {
        t->of[mode] = t->probe = now;
        return;
    }
    t->of[mode] = c->known[mode] ? before + WEIGHT * (now - before) : now;
    if (!c->known[!mode])
        *other = t->of[mode];
    else if (t->probe > 0 && now > 0 && before > 0 &&
             ratio(t->probe, now) < ratio(t->probe, before))
        *other = t->probe * t->of[mode] / now;
    else if (c->known[mode] && before > 0)
        *other *= t->of[mode] / before;
    t->probe = 0;
}

static double io_of(const struct tt_choice *c, int mode)
{
    return c->io.of[mode] + c->staging.of[mode];
}

/* What was waited for in the copy is no part of the I/O that goes on beside the computation. */
static double epoch(int mode, double compute, double io, double copy, double waited)
{
    return mode == TT_CHOICE_SYNC ? tt_epoch_sync(compute, io)
                                  : tt_epoch_async(TT_EPOCH_PHYSICAL, compute, io - waited, copy);
}

static double model(const struct tt_choice *c, int mode)
{
    return epoch(mode, c->compute.of[mode], io_of(c, mode), c->copy, c->waited);
}

static void learn(struct tt_choice *c, const struct tt_epoch_seen *s)
{
    double own = epoch(s->mode, s->compute, s->io + s->staging, s->copy, s->waited);
    double weight = c->known[TT_CHOICE_ASYNC] ? WEIGHT : 1;

    track(c, &c->compute, s->mode, s->compute);
    track(c, &c->io, s->mode, s->io);
    track(c, &c->staging, s->mode, s->staging);
    if (s->mode == TT_CHOICE_ASYNC) {
        c->copy += weight * (s->copy - c->copy);
        c->waited += weight * (s->waited - c->waited);
    }
    if (own > 0)
        c->bias[s->mode] += WEIGHT * (s->span / own - c->bias[s->mode]);
    c->known[s->mode] = true;
    c->elapsed += s->span;
    c->seen++;
    for (int mode = 0; mode < TT_NCHOICES; mode++)
        c->predicted[mode] = c->bias[mode] * model(c, mode);
    if (s->mode != c->usual)
        c->lost_by_probes += fmax(0, s->span - c->predicted[c->usual]);
}

static bool has_changed(double now, double then)
{
    return now > then * CHANGED || then > now * CHANGED;
}

/* A probe is made when the last one is long ago or of other times, and if what it is thought to
 * lose fits into the budget. */
static bool should_probe(struct tt_choice *c)
{
    int other = !c->usual;
    double loss = fmax(0, c->predicted[other] - c->predicted[c->usual]);
    double left = c->epochs > c->seen ? (double)(c->epochs - c->seen) : 0;

    if (has_changed(c->compute.of[c->usual], c->probed_compute) ||
        has_changed(io_of(c, c->usual), c->probed_io))
        c->probe_gap = SHORTEST_GAP;
    if (c->known[other] && c->since_probe < c->probe_gap)
        return false;
    if (left < SHORTEST_GAP) /* too few could profit from it */
        return false;
    return c->lost_by_probes + loss <= BUDGET * (c->elapsed + left * c->predicted[c->usual]);
}

static enum tt_choice_reason change_usual(struct tt_choice *c)
{
    c->mode = c->usual = !c->usual;
    c->lost_by_staying = 0;
    c->since_probe = 0;
    c->probe_gap = SHORTEST_GAP;
    c->probed_compute = c->compute.of[c->usual];
    c->probed_io = io_of(c, c->usual);
    return TT_CHOICE_PAYS;
}

static enum tt_choice_reason begin_probe(struct tt_choice *c)
{
    c->mode = !c->usual;
    c->since_probe = 0;
    c->probe_gap = c->known[c->mode] ? 2 * c->probe_gap : SHORTEST_GAP;
    if (c->probe_gap > LONGEST_GAP)
        c->probe_gap = LONGEST_GAP;
    c->probed_compute = c->compute.of[c->usual];
    c->probed_io = io_of(c, c->usual);
    return TT_CHOICE_PROBES;
}

enum tt_choice_reason tt_choice_next(struct tt_choice *c, const struct tt_epoch_seen *seen)
{
    bool was_probe = c->mode != c->usual;
    double gain;

    c->mode = c->usual;
    c->since_probe++;
    if (seen) {
        learn(c, seen);
        gain = c->predicted[c->usual] - c->predicted[!c->usual];
        c->lost_by_staying = fmax(0, c->lost_by_staying + gain);
        if (gain > 0 && c->lost_by_staying > HYSTERESIS * c->predicted[c->usual])
            return change_usual(c);
        if (!was_probe && should_probe(c))
            return begin_probe(c);
    }
    return was_probe ? TT_CHOICE_RETURNS : TT_CHOICE_STAYS;
}
