/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An application as a job: how much it writes, how often, and what it computes meanwhile. Bytes
 * and seconds are scaled by the same factor, so that I/O and computation stay in proportion. */
#include <math.h>

#include "study/search/search.h"

#define DUMPS 5           /* of a run: the first and the last differ from the others */
#define LEAST_EVERY 0.02  /* seconds: less is lost in starting and ending */
#define LEAST_BYTES 65536 /* of a rank in a dump */
#define PASS_SECONDS 4e-9 /* that a point of the stencil takes in a pass, at most */
#define PARTICLE 32       /* bytes */

void tt_application_scale(const struct tt_application *a, double seconds, double bytes,
                          struct tt_scaled *out)
{
    /* while I/O is synchronous it may take as long again */
    double by_time = seconds / (DUMPS * 2 * a->every);
    double by_bytes = bytes > 0 ? bytes / (DUMPS * (double)a->size) : 1;
    double factor = fmin(1, fmin(by_time, by_bytes));
    uint64_t least = LEAST_BYTES * a->ranks;

    factor = fmin(1, fmax(factor, LEAST_EVERY / a->every));
    *out = (struct tt_scaled){.factor = factor,
                              .bytes = (uint64_t)((double)a->size * factor),
                              .dumps = DUMPS,
                              .every = a->every * factor};
    if (out->bytes < least && out->bytes < a->size)
        out->bytes = a->size < least ? a->size : least;
}

/* A grid of points, if a pass over it is shorter than an iteration shall be. */
static bool fits_stencil(const struct tt_application *a, const struct tt_scaled *s)
{
    double pass = (double)s->bytes / sizeof(double) / (double)a->ranks * PASS_SECONDS;

    return a->compute > 0 && a->compute <= s->every && pass <= a->compute;
}

static void put_stencil(const struct tt_application *a, const struct tt_scaled *s,
                        struct tt_settings *out)
{
    double side = floor(sqrt((double)s->bytes / sizeof(double)));
    double iterations = fmax(1, round(s->every / a->compute));

    side = fmax(side, (double)a->ranks + 2);
    tt_settings_put(out, "--size", "size", "%.0f", side);
    tt_settings_put(out, "--compute", "compute", "%.9gs", a->compute);
    tt_settings_put(out, "--every", "write.every", "%.0f", iterations);
    tt_settings_put(out, "--every", "iterations", "%.0f", iterations * (double)s->dumps);
}

static void put_particles(const struct tt_application *a, const struct tt_scaled *s,
                          struct tt_settings *out)
{
    double particles = floor((double)s->bytes / PARTICLE / (double)a->ranks);

    tt_settings_put(out, "--size", "dims", "%.0f", fmax(1, particles));
    tt_settings_put(out, "--every", "compute", "%.9gs", s->every);
    tt_settings_put(out, "--every", "steps", "%llu", (unsigned long long)s->dumps);
}

int tt_application_job(const struct tt_application *a, const struct tt_scaled *s,
                       const char **workload, struct tt_settings *out, struct tt_error *e)
{
    bool stencil = fits_stencil(a, s);

    *workload = stencil ? "stencil" : "particles";
    if (stencil)
        put_stencil(a, s, out);
    else
        put_particles(a, s, out);
    return tt_settings_check(out, e);
}
