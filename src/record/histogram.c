/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/histogram.h"

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
