/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multiplications and additions in registers and a small array: as long as asked for on a core of
 * its own, longer where it has to share one. */
#include "base/clock.h"
#include "workloads/particles/particles.h"

#define WORDS 1024 /* stays in the first cache */
#define CALIBRATION_NS 20000000
#define SAMPLES 3

static double rounds(uint64_t n, double seed)
{
    double a[WORDS], sum = 0;

    for (int i = 0; i < WORDS; i++)
        a[i] = seed + i;
    for (uint64_t k = 0; k < n; k++)
        for (int i = 0; i < WORDS; i++)
            a[i] = a[i] * 0.999999 + 0.5;
    for (int i = 0; i < WORDS; i++)
        sum += a[i];
    return sum;
}

/* The fastest of a few samples: what disturbs them must not make the work shorter. */
void tt_particles_work_calibrate(struct tt_particles_work *w, double seconds)
{
    double best = 0;

    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t start = tt_now_ns(), now = start;
        uint64_t done = 0;
        double rate;

        while (now - start < CALIBRATION_NS) {
            w->sink += rounds(200, w->sink * 1e-9);
            done += 200;
            now = tt_now_ns();
        }
        rate = (double)done / tt_seconds(now - start);
        best = rate > best ? rate : best;
    }
    w->rounds = (uint64_t)(best * seconds) + 1;
}

void tt_particles_work_do(struct tt_particles_work *w)
{
    w->sink += rounds(w->rounds, w->sink * 1e-9);
}
