/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which factors matter: how much of the variance of runs each of them explains alone. */
#ifndef TT_ANALYSIS_VARIANCE_H
#define TT_ANALYSIS_VARIANCE_H

#include "analysis/statistics.h"

/* Runs in cells; a cell has one level of every factor. */
struct tt_design {
    size_t n;
    const double *values; /* of the runs, finite */
    const size_t *cells;  /* of the runs, below ncells */
    size_t ncells, nfactors;
    const size_t *levels;  /* of cell c and factor f, at c * nfactors + f, */
    const size_t *nlevels; /* below nlevels[f] */
};

struct tt_share_of_variance {
    bool known;   /* false: a single level, or no run more than there are levels or cells */
    double share; /* 0 to 1 */
    struct tt_interval interval;
};
struct tt_variance {
    bool known;    /* false: all runs have the same value */
    bool log;      /* of logarithms, since all values are above 0 */
    bool balanced; /* every combination of levels has equally many runs, so that shares add up */
    size_t runs;   /* of the cell with the fewest, of those that have any */
    struct tt_share_of_variance *factors; /* nfactors; the caller's */
    struct tt_share_of_variance noise;    /* among runs of one cell */
};

/* The sum of squares between the levels of a factor, without what noise adds to it, as a share of
 * the total: eta squared, adjusted as r squared is. A share that is below 0, by chance, is 0, and
 * the others then add up to more than 1. Intervals: percentile bootstrap that draws the runs of
 * each cell anew; not known where a cell has fewer runs than the interval of a median needs, since
 * draws of two runs tell too little of their noise. out->factors is set by the caller. */
int tt_variance_explained(const struct tt_design *d, uint64_t seed, struct tt_variance *out,
                          struct tt_error *e);

#endif
