/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mergeable log-linear histogram of durations: 32 buckets per power of two, so a quantile is
 * within 1/32 of the truth from 1 ns to 2^43 ns (146 minutes; longer ones count as that). Zeroed is
 * empty. */
#ifndef TT_RECORD_HISTOGRAM_H
#define TT_RECORD_HISTOGRAM_H

#include <stdint.h>

#define TT_HISTOGRAM_BUCKETS (32 + 38 * 32)

struct tt_histogram {
    uint64_t total;
    int64_t min_ns, max_ns, sum_ns;
    uint64_t buckets[TT_HISTOGRAM_BUCKETS];
};

void tt_histogram_add(struct tt_histogram *h, int64_t ns);
void tt_histogram_merge(struct tt_histogram *into, const struct tt_histogram *from);
/* The q-quantile (0 <= q <= 1) in ns: the ceil(q n)-th smallest of n samples; 0 if empty. */
double tt_histogram_quantile(const struct tt_histogram *h, double q);
unsigned tt_histogram_bucket(int64_t ns); /* where ns is counted */
void tt_histogram_bounds(unsigned bucket, int64_t *low_ns, int64_t *high_ns); /* low <= ns < high */

#endif
