/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/histogram.h"

#include <string.h>

#define LINEAR 32 /* values below have a bucket each; above, 32 buckets per power of two */
#define FIRST_POWER 5
#define LAST_NS (((int64_t)1 << 43) - 1)

unsigned tt_histogram_bucket(int64_t ns)
{
    int power;

    if (ns < LINEAR)
        return ns < 0 ? 0 : (unsigned)ns;
    if (ns > LAST_NS)
        ns = LAST_NS;
    power = 63 - __builtin_clzll((unsigned long long)ns);
    return LINEAR + (unsigned)(power - FIRST_POWER) * 32 + (unsigned)((ns >> (power - 5)) & 31);
}

void tt_histogram_bounds(unsigned bucket, int64_t *low_ns, int64_t *high_ns)
{
    unsigned shift;

    if (bucket < LINEAR) {
        *low_ns = bucket;
        *high_ns = bucket + 1;
        return;
    }
    shift = (bucket - LINEAR) / 32;
    *low_ns = (int64_t)(32 + (bucket - LINEAR) % 32) << shift;
    *high_ns = *low_ns + ((int64_t)1 << shift);
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void tt_histogram_add(struct tt_histogram *h, int64_t ns)
{
    if (ns < 0)
        ns = 0;
    if (h->total == 0 || ns < h->min_ns)
        h->min_ns = ns;
    if (ns > h->max_ns)
        h->max_ns = ns;
    h->sum_ns = add_saturated(h->sum_ns, ns);
    h->total++;
    h->buckets[tt_histogram_bucket(ns)]++;
}

void tt_histogram_merge(struct tt_histogram *into, const struct tt_histogram *from)
{
    if (from->total == 0)
        return;
    if (into->total == 0 || from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    into->sum_ns = add_saturated(into->sum_ns, from->sum_ns);
    into->total += from->total;
    for (unsigned i = 0; i < TT_HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

/* The middle of a bucket, but never outside of what was really seen. */
static double representative(const struct tt_histogram *h, unsigned bucket)
{
    int64_t low, high;
    double middle;

    tt_histogram_bounds(bucket, &low, &high);
    middle = (double)low + (double)(high - 1 - low) / 2;
    if (middle < (double)h->min_ns)
        return (double)h->min_ns;
    return middle > (double)h->max_ns ? (double)h->max_ns : middle;
}

double tt_histogram_quantile(const struct tt_histogram *h, double q)
{
    double wanted = q * (double)h->total;
    uint64_t seen = 0;

    if (h->total == 0)
        return 0;
    if (wanted <= 1)
        return (double)h->min_ns;
    if (wanted > (double)(h->total - 1))
        return (double)h->max_ns;
    for (unsigned i = 0; i < TT_HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if ((double)seen >= wanted)
            return representative(h, i);
    }
    return (double)h->max_ns;
}

/* ---- packed ---- */

#define COUNT_BITS 53 /* a count of so many bits is also exact as a double */
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

_Static_assert(TT_HISTOGRAM_BUCKETS < 1 << (64 - COUNT_BITS), "a bucket and its count are a word");

bool tt_histogram_is_sound(const struct tt_histogram *h)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < TT_HISTOGRAM_BUCKETS; i++)
        if (__builtin_add_overflow(sum, h->buckets[i], &sum))
            return false;
    return sum == h->total && sum <= COUNT_MASK && h->min_ns >= 0 && h->sum_ns >= 0 &&
           h->min_ns <= h->max_ns;
}

size_t tt_histograms_pack(const struct tt_histogram *row, size_t n, uint64_t *words)
{
    size_t used = 0;

    for (size_t k = 0; k < n; k++) {
        const struct tt_histogram *h = &row[k];
        uint64_t *head = words + used;

        if (h->total == 0)
            continue;
        used += TT_HISTOGRAM_HEAD;
        for (uint64_t i = 0; i < TT_HISTOGRAM_BUCKETS; i++)
            if (h->buckets[i])
                words[used++] = i << COUNT_BITS | (h->buckets[i] & COUNT_MASK);
        head[0] = k;
        head[1] = (uint64_t)(words + used - head) - TT_HISTOGRAM_HEAD;
        head[2] = (uint64_t)h->min_ns;
        head[3] = (uint64_t)h->max_ns;
        head[4] = (uint64_t)h->sum_ns;
    }
    return used;
}

bool tt_histograms_unpack(const uint64_t *words, size_t nwords, struct tt_histogram *row, size_t n)
{
    memset(row, 0, n * sizeof *row);
    for (size_t at = 0; at < nwords;) {
        const uint64_t *head = words + at, *counts = head + TT_HISTOGRAM_HEAD;
        struct tt_histogram *h;

        if (nwords - at < TT_HISTOGRAM_HEAD || head[1] > nwords - at - TT_HISTOGRAM_HEAD)
            return false;
        at += TT_HISTOGRAM_HEAD + head[1];
        if (head[0] >= n)
            continue;
        h = &row[head[0]];
        if (h->total != 0)
            return false;
        h->min_ns = (int64_t)head[2];
        h->max_ns = (int64_t)head[3];
        h->sum_ns = (int64_t)head[4];
        for (uint64_t i = 0; i < head[1]; i++) {
            if (counts[i] >> COUNT_BITS >= TT_HISTOGRAM_BUCKETS || (counts[i] & COUNT_MASK) == 0)
                return false;
            h->buckets[counts[i] >> COUNT_BITS] = counts[i] & COUNT_MASK;
            h->total += counts[i] & COUNT_MASK;
        }
        if (!tt_histogram_is_sound(h))
            return false;
    }
    return true;
}
