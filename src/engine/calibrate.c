/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/agree.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "plan/workload.h"
#include "spec/units.h"

/* Many, since the fastest counts: one that nothing has disturbed is enough. */
#define SAMPLES 15
/* A sample is as long as what is asked for, within these bounds. */
#define SHORTEST_SAMPLE 0.01
#define LONGEST_SAMPLE 0.5
/* After so many seconds two samples are enough: a pass is long then. */
#define ENOUGH 3.0
/* How much longer than what is asked for a single pass may take. */
#define TOLERATED 1.25
#define MOST_PASSES (UINT64_C(1) << 40) /* a kernel that fails takes no time */

int tt_passes_calibrate(struct tt_passes *passes, const double *each, size_t n, struct tt_error *e)
{
    double least = INFINITY;
    char asked[TT_UNIT_TEXT], took[TT_UNIT_TEXT];

    for (size_t i = 0; i < n; i++)
        least = fmin(least, each[i]);
    if (!(least > 0) || !isfinite(least))
        return tt_fail(e, TT_FAILED, "compute: a pass took no time that can be measured");
    if (least > TOLERATED * passes->seconds)
        return tt_fail(e, TT_USAGE,
                       "compute: %s is too short: one pass over the data alone takes %s; ask for "
                       "more time or for less data",
                       tt_format_seconds(passes->seconds, asked), tt_format_seconds(least, took));
    passes->count = (uint64_t)fmax(1, round(passes->seconds / least));
    snprintf(took, sizeof took, "%.4g", least); /* more digits say nothing */
    passes->each = strtod(took, NULL);
    return TT_OK;
}

/* Seconds of the slowest rank; all begin together. */
static double time_passes(MPI_Comm comm, const struct tt_computation *c, void *state, uint64_t n)
{
    double seconds;
    int64_t start;

    MPI_Barrier(comm);
    start = tt_now_ns();
    c->pass(state, n);
    seconds = tt_seconds(tt_now_ns() - start);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    return seconds;
}

/* Returns how many there are. */
static size_t sample(MPI_Comm comm, const struct tt_computation *c, void *state, double wanted,
                     double each[SAMPLES])
{
    double seconds = 0, spent = 0;
    uint64_t n = 1;
    size_t done = 0;

    wanted = fmin(fmax(wanted, SHORTEST_SAMPLE), LONGEST_SAMPLE);
    time_passes(comm, c, state, 1); /* pages that are touched for the first time */
    while ((seconds = time_passes(comm, c, state, n)) < wanted / 2 && n < MOST_PASSES)
        n *= 2;
    n = (uint64_t)fmax(1, round(wanted / seconds * (double)n));
    while (done < SAMPLES && (done < 2 || spent < ENOUGH)) {
        seconds = time_passes(comm, c, state, n);
        spent += seconds;
        each[done++] = seconds / (double)n;
    }
    return done;
}

int tt_calibrate(MPI_Comm comm, struct tt_config *config, struct tt_error *e)
{
    const struct tt_computation *c = config->workload->computation;
    struct tt_passes *passes = tt_config_uncalibrated(config);
    struct tt_engine engine = {.comm = comm, .config = config};
    double each[SAMPLES];
    void *state = NULL;
    int rc;

    if (!passes)
        return TT_OK;
    MPI_Comm_rank(comm, &engine.rank);
    MPI_Comm_size(comm, &engine.size);
    rc = tt_device_open(comm, config, &engine.device, e);
    if (rc == TT_OK)
        rc = tt_agree(comm, c->make(&engine, &state, e), e);
    if (rc == TT_OK) {
        size_t n = sample(comm, c, state, passes->seconds, each);

        /* The same on all ranks, which have the same times. */
        rc = tt_passes_calibrate(passes, each, n, e);
    }
    c->free(state);
    tt_device_close(engine.device);
    return rc;
}
