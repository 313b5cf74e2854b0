/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mergeable log-linear histogram of durations: 32 buckets per power of two, so a quantile is
 * within 1/32 of the truth from 1 ns to 2^43 ns (146 minutes; longer ones count as that). Zeroed is
 * empty. */
#ifndef TT_RECORD_HISTOGRAM_H
#define TT_RECORD_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
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

/* Histograms in a row, as words that hold only what there is: of each that is not empty its place
 * in the row, how many buckets follow, min, max and sum, and of each bucket that is not empty its
 * number and count in one word. */
#define TT_HISTOGRAM_HEAD 5                                                           /* words */
size_t tt_histograms_pack(const struct tt_histogram *row, size_t n, uint64_t *words); /* how many */
#define TT_HISTOGRAMS_WORDS(n) ((n) * (TT_HISTOGRAM_HEAD + TT_HISTOGRAM_BUCKETS))     /* at most */
/* The words may be anything: false if they contradict themselves. Those after the n-th are skipped.
 */
bool tt_histograms_unpack(const uint64_t *words, size_t nwords, struct tt_histogram *row, size_t n);
/* Whether its counts add up to its total, and its times make sense. */
bool tt_histogram_is_sound(const struct tt_histogram *h);

#endif
