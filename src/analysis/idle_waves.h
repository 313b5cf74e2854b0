/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Idle waves: one rank is late in one iteration; its neighbours wait for it, theirs wait for them
 * one iteration later, and so on. In a matrix of waiting by rank and iteration that is a diagonal.
 *
 * A cell is hot if it exceeds the median of its rank by at least 6 times the standard deviation
 * that its median absolute deviation stands for, and by a tenth of an iteration. Where most ranks
 * are hot in one iteration, they waited for the same thing at once: a stall, which is no wave. From
 * the hottest of the other cells lines of many slopes are followed in both directions, as long as
 * there are hot cells beside them that have a quarter of that cell's excess; two ranks at once may
 * be missing. The line with the largest sum is a front; the speed is that of a least-squares line
 * through its cells. The origin is the rank before the fronts that worked longer than usual. */
#ifndef TT_ANALYSIS_IDLE_WAVES_H
#define TT_ANALYSIS_IDLE_WAVES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "record/records.h"

struct tt_run_data;

/* What a rank waited for others in an iteration. */
static inline double tt_waited_ns(const struct tt_iteration_record *it)
{
    return (double)it->phase_ns[TT_HALO] + (double)it->phase_ns[TT_COLLECTIVE] +
           (double)it->phase_ns[TT_WAIT];
}

struct tt_wait_matrix {
    size_t ranks, iterations;
    float *wait; /* seconds, [rank * iterations + iteration]; NaN: not recorded */
    float *busy; /* likewise, what is left of the iteration; NULL: not known */
};

struct tt_idle_front {
    size_t cells;       /* ranks that it made wait; 0: there is none in this direction */
    size_t hops;        /* from the first of them to the last */
    double speed;       /* ranks an iteration */
    double error;       /* standard error of that */
    double r2;          /* of the line */
    size_t first, last; /* ranks; it died behind the last one, or met the other front */
    size_t from, to;    /* iterations */
};

enum { TT_UPWARDS, TT_DOWNWARDS }; /* to higher ranks, to lower ones */
struct tt_idle_wave {
    size_t rank, iteration; /* where it began */
    double seconds;         /* of waiting, the median over its cells */
    struct tt_idle_front fronts[2];
};

struct tt_stall {
    size_t iteration, ranks;
    double seconds; /* the median over these ranks */
};

#define TT_MOST_IDLE_WAVES 32
struct tt_idle_waves {
    size_t nwaves, nstalls; /* the longest waiting first; at most that many of each */
    struct tt_idle_wave waves[TT_MOST_IDLE_WAVES];
    struct tt_stall stalls[TT_MOST_IDLE_WAVES];
};
int tt_idle_waves_find(const struct tt_wait_matrix *m, struct tt_idle_waves *out,
                       struct tt_error *e);

/* What the ranks of a run waited, in halo, collective and wait, in iterations from the first on of
 * which all ranks have records; 0 iterations if there are none. */
int tt_wait_matrix_of(const struct tt_run_data *run, struct tt_wait_matrix *m, struct tt_error *e);
void tt_wait_matrix_free(struct tt_wait_matrix *m);
/* {"waves": [...], "stalls": [...]}, ranks and iterations as users count them; NULL and TT_OK if
 * the run has none. */
int tt_idle_waves_of(const struct tt_run_data *run, json_t **found, struct tt_error *e);

#endif
