/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a repetition leaves to be written would slow down the next one: that begins when this
 * machine is at rest. Other nodes are not looked at. */
#ifndef TT_ENSEMBLE_SETTLE_H
#define TT_ENSEMBLE_SETTLE_H

#include <sys/types.h>

#include "ensemble/ensemble.h"

/* One look at what is still to be written. */
struct tt_rest {
    double dirty, writeback;  /* bytes of memory */
    uint64_t in_flight, done; /* requests of the devices */
};
/* root is "" but in tests. */
void tt_rest_look(const char *root, const dev_t *devices, size_t n, struct tt_rest *out);
/* Whether nothing is under way, a quarter of a second after another look. Dirty pages that nobody
 * writes may stay: the jobs' own are written by then. If not, *why is what is not. */
bool tt_rest_is(const struct tt_rest *before, const struct tt_rest *now, char *why, size_t size);

struct tt_settled {
    double seconds; /* that it took */
    char why[160];  /* it gave up; empty: all is at rest */
};
/* Has the file systems of all data directories written, and waits until the machine is at rest, at
 * most as long as the option settle says. Data in memory has nothing to wait for. */
int tt_settle(const struct tt_ensemble *x, struct tt_settled *out, struct tt_error *e);

#endif
