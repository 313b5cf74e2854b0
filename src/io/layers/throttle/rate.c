/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/layers/throttle/rate.h"

#include <math.h>

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* Ten years are for ever; more may not be an instant at all. */
static int64_t instant(double ns)
{
    return ns < 3e17 ? (int64_t)ceil(ns) : INT64_C(300000000000000000);
}

/* Both limits start to count when the store is idle: what was not used before is not saved up. */
static void accept(struct tt_throttle *t, int64_t now_ns, uint64_t bytes)
{
    if (t->rate > 0)
        t->drained_ns = later(t->drained_ns, (double)now_ns) + (double)bytes / t->rate * 1e9;
    if (t->ops > 0)
        t->allowed_ns = later(t->allowed_ns, (double)now_ns) + 1e9 / t->ops;
}

int64_t tt_throttle_write(struct tt_throttle *t, int64_t now_ns, uint64_t bytes)
{
    double fits = 0;

    accept(t, now_ns, bytes);
    if (t->rate > 0)
        fits = t->drained_ns - t->buffer / t->rate * 1e9;
    return instant(later(later(fits, t->allowed_ns), (double)now_ns));
}

int64_t tt_throttle_read(struct tt_throttle *t, int64_t now_ns, uint64_t bytes)
{
    accept(t, now_ns, bytes);
    return instant(later(later(t->drained_ns, t->allowed_ns), (double)now_ns));
}

int64_t tt_throttle_sync(const struct tt_throttle *t, int64_t now_ns)
{
    return instant(later(t->drained_ns, (double)now_ns));
}
