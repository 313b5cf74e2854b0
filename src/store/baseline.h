/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored runs that the repetitions of an ensemble are held against: baseline() of require. */
#ifndef TT_STORE_BASELINE_H
#define TT_STORE_BASELINE_H

#include "analysis/require.h"
#include "store/store.h"

/* Starts with the results directory; the index is opened when it is asked for first. */
struct tt_baselines {
    const char *results;
    const char *own; /* the ensemble's directory, whose runs are not stored ones; NULL: not yet */
    struct tt_store *store;
    uint64_t refused;  /* directories below results that hold garbage or older definitions */
    char missing[256]; /* conditions that were checked and that no stored run meets; "": none */
};

/* Borrows b. Runs are left out that are not valid, of another plan, or of another machine: another
 * CPU, number of CPUs, architecture or file system of the data, unless a condition names that key.
 * Too few that remain are told with the reason. */
struct tt_baseline_source tt_baseline_source(struct tt_baselines *b);
void tt_baselines_close(struct tt_baselines *b);

#endif
