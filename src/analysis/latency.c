/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

static const struct quantile {
    const char *name; /* in result.json */
    double q;
    uint64_t calls; /* at least */
    const char *if_fewer;
} quantiles[] = {
    {"p50", 0.5, 2, "fewer than 2 calls"},
    {"p99", 0.99, 100, "fewer than 100 calls"},
    {"p99.9", 0.999, 1000, "fewer than 1,000 calls"},
    {"p90", 0.9, 10, "fewer than 10 calls"}, /* no metric */
};
#define NMETRICS_OF_CALL 3 /* the first of them, in the order of TT__PERCENTILES */
#define FIRST_PERCENTILE TT_METRIC_open_p50

_Static_assert(FIRST_PERCENTILE + NMETRICS_OF_CALL * TT_NCALLS == TT_NMETRICS,
               "percentiles are the last metrics, in the order of the calls");

static struct tt_value known(const struct tt_run_data *run, double value)
{
    return (struct tt_value){true, value, run->finished ? NULL : "until the run ended early"};
}

/* Why nothing is known of calls of this kind; NULL: something is. */
static const char *missing(const struct tt_run_data *run, enum tt_call call)
{
    if (!run->complete)
        return "not every rank told how it ended";
    if (run->calls[call].total > 0)
        return NULL;
    return call == TT_CALL_WRITE && !strcmp(tt_text_of(run->overlap, "executor"), "native")
               ? "nobody sees how long native nonblocking calls take"
               : TT_NO_SUCH_CALL;
}

struct tt_value tt_percentile(const struct tt_run_data *run, enum tt_metric_id id)
{
    enum tt_call call = (enum tt_call)((id - FIRST_PERCENTILE) / NMETRICS_OF_CALL);
    const struct quantile *quantile = &quantiles[(id - FIRST_PERCENTILE) % NMETRICS_OF_CALL];
    const char *why = missing(run, call);

    if (!why && run->calls[call].total < quantile->calls)
        why = quantile->if_fewer;
    return why ? (struct tt_value){.note = why}
               : known(run, tt_histogram_quantile(&run->calls[call], quantile->q) * 1e-9);
}

struct tt_value tt_iops(const struct tt_run_data *run, enum tt_call call, enum tt_metric_id rate,
                        enum tt_metric_id bytes)
{
    const struct tt_value *per_second = &run->metrics[rate], *all = &run->metrics[bytes];
    const char *why = missing(run, call);

    if (!per_second->known || !all->known || why)
        return (struct tt_value){.note = !per_second->known ? per_second->note
                                         : !all->known      ? all->note
                                                            : why};
    return known(run, per_second->value * (double)run->calls[call].total / all->value);
}

/* [[from_ns, below_ns, calls], ...] of buckets that are not empty. */
static json_t *buckets_json(const struct tt_histogram *h)
{
    json_t *all = json_array();
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < TT_HISTOGRAM_BUCKETS; i++) {
        int64_t low, high;

        tt_histogram_bounds(i, &low, &high);
        if (h->buckets[i])
            rc = json_array_append_new(all, json_pack("[I, I, I]", (json_int_t)low,
                                                      (json_int_t)high, (json_int_t)h->buckets[i]));
    }
    return tt_json_unless(rc, all);
}

static json_t *latency_json(const struct tt_histogram *h)
{
    json_t *one = json_pack("{s:I, s:f, s:f, s:f}", "count", (json_int_t)h->total, "min",
                            tt_seconds(h->min_ns), "mean", tt_seconds(h->sum_ns) / (double)h->total,
                            "max", tt_seconds(h->max_ns));
    int rc = one ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < sizeof quantiles / sizeof *quantiles; i++)
        rc = json_object_set_new(one, quantiles[i].name,
                                 h->total < quantiles[i].calls
                                     ? json_null()
                                     : json_real(tt_histogram_quantile(h, quantiles[i].q) * 1e-9));
    rc |= json_object_set_new(one, "histogram", buckets_json(h));
    return tt_json_unless(rc, one);
}

json_t *tt_calls_json(const struct tt_run_data *run)
{
    json_t *all = json_object();
    int rc = 0;

    for (int c = 0; rc == 0 && c < TT_NCALLS; c++)
        if (run->calls[c].total)
            rc = json_object_set_new(all, tt_call_names[c], latency_json(&run->calls[c]));
    return tt_json_unless(rc, all);
}
