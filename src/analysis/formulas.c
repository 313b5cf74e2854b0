/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formulas of the metrics that records give, one function each; analysis/metrics.h says what
 * they mean. A metric without a formula does not compile. What was
 * not measured is unknown, with the reason, and never 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/clock.h"
#include "base/json.h"

#define SHORTEST_NODE_TIME 0.1 /* seconds: ten ticks of the clock that counts a node's CPU time */

static struct tt_value unknown(const char *why)
{
    return (struct tt_value){.note = why};
}

static struct tt_value known(double value)
{
    return isfinite(value) ? (struct tt_value){.known = true, .value = value}
                           : unknown("the records give no finite value");
}

/* a / b, or the reason why there is no a or no b. */
static struct tt_value ratio(struct tt_value a, struct tt_value b, const char *if_zero)
{
    if (!a.known)
        return a;
    if (!b.known)
        return b;
    return b.value > 0 ? known(a.value / b.value) : unknown(if_zero);
}

/* A value that holds only for the part of a run that was done says so. */
static struct tt_value so_far(const struct tt_run_data *run, double value)
{
    struct tt_value v = known(value);

    if (v.known && !run->finished)
        v.note = "until the run ended early";
    return v;
}

static struct tt_value get(const struct tt_run_data *run, enum tt_metric_id id)
{
    return run->metrics[id];
}

/* A number every rank leaves when it ends, by sum or maximum. */
static struct tt_value from_ranks(const struct tt_run_data *run, const char *key, bool largest)
{
    double result = 0;

    if (!run->complete)
        return unknown("not every rank told how it ended");
    for (size_t i = 0; i < run->nranks; i++) {
        const json_t *number = json_object_get(run->ranks[i].summary, key);
        double value = json_number_value(number);

        if (!json_is_number(number))
            return unknown("not recorded by every rank");
        if (!largest)
            result += value;
        else if (value > result)
            result = value;
    }
    return so_far(run, result);
}

/* What the workload reported: the same on all ranks, or to be summed. */
static struct tt_value reported(const struct tt_run_data *run, const char *name)
{
    double sum = 0;
    bool found = false;

    if (!run->complete)
        return unknown("not every rank told how it ended");
    for (size_t i = 0; i < run->nranks; i++) {
        const json_t *result =
            json_object_get(json_object_get(run->ranks[i].summary, "results"), name);
        const char *kind = tt_text_of(result, "kind");
        const json_t *value = json_object_get(result, "value");

        if (!json_is_number(value) || !*kind)
            continue;
        if (!strcmp(kind, "same"))
            return so_far(run, json_number_value(value));
        found = true;
        sum += json_number_value(value);
    }
    return found ? so_far(run, sum) : unknown(TT_NOT_REPORTED);
}

/* Counters grow with every iteration, so they also hold for a run that was cut off. */
static struct tt_value counted(const struct tt_run_data *run, double value)
{
    for (size_t i = 0; i < run->nranks; i++)
        if (run->ranks[i].niterations > 0)
            return so_far(run, value);
    return unknown("no iteration was recorded");
}

static struct tt_value formula_runtime(const struct tt_run_data *run)
{
    struct tt_value ns = from_ranks(run, "runtime_ns", true);

    if (!ns.known)
        return ns;
    return ns.value > 0 ? so_far(run, ns.value * 1e-9) : unknown("the run did not get to its end");
}

static struct tt_value formula_update_rate(const struct tt_run_data *run)
{
    return ratio(get(run, TT_METRIC_updates), get(run, TT_METRIC_runtime), "the run took no time");
}

static struct tt_value formula_flop_rate(const struct tt_run_data *run)
{
    return ratio(get(run, TT_METRIC_flops), get(run, TT_METRIC_runtime), "the run took no time");
}

static struct tt_value formula_bytes_communicated(const struct tt_run_data *run)
{
    return counted(run, run->bytes_communicated);
}

static struct tt_value formula_communication_rate(const struct tt_run_data *run)
{
    if (!(run->bytes_communicated > 0))
        return unknown("nothing was communicated");
    return ratio(get(run, TT_METRIC_bytes_communicated),
                 known(tt_run_data_slowest(run, TT_HALO, TT_COLLECTIVE)),
                 "communication took no time");
}

static struct tt_value formula_bytes_written(const struct tt_run_data *run)
{
    return counted(run, run->bytes_written);
}

static struct tt_value formula_bytes_read(const struct tt_run_data *run)
{
    return counted(run, run->bytes_read);
}

/* Rates of single frames: bytes over the median of all ranks' times, then their median. */

/* Beyond so many a bootstrap takes long and tells no more than order statistics. */
#define MOST_RESAMPLED 1000

/* Rates of the frames that count, ascending; *n of them. NULL: no memory. */
static double *frame_rates(const struct tt_run_data *run, bool reading, size_t *n)
{
    struct tt_rows t = tt_rows_of(run->plan, run->tables, "frames");
    double *rates = malloc((t.n + 1) * sizeof *rates);

    *n = 0;
    for (size_t i = 0; rates && i < t.n; i++) {
        double rate = tt_cell(&t, i, "bytes") / tt_cell(&t, i, "median");

        if ((tt_cell(&t, i, "access") > 0) == reading && tt_cell(&t, i, "counted") > 0 &&
            isfinite(rate))
            rates[(*n)++] = rate;
    }
    if (rates)
        tt_median(rates, *n); /* which sorts */
    return rates;
}

static struct tt_value frame_rate(const struct tt_run_data *run, bool reading)
{
    struct tt_value v = {.note = TT_NOT_REPORTED};
    size_t n;
    double *rates = frame_rates(run, reading, &n);

    if (rates && n > 0)
        v = (struct tt_value){.known = true,
                              .value = tt_median(rates, n),
                              .note = run->finished ? NULL : "until the run ended early"};
    free(rates);
    return v;
}

static struct tt_value frame_rate_bound(const struct tt_run_data *run, bool upper)
{
    struct tt_value v = {.note = TT_NOT_REPORTED};
    struct tt_interval interval = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;
    size_t n;
    double *rates = frame_rates(run, false, &n);
    struct tt_sample sample = {n, rates};

    if (n > MOST_RESAMPLED)
        interval = tt_median_interval(&sample, TT_LEVEL);
    if (rates && n > 0 &&
        (n > MOST_RESAMPLED ||
         tt_bootstrap_median(&sample, TT_LEVEL, 1, &interval, &ignored) == TT_OK)) {
        v.known = interval.known;
        v.value = upper ? interval.high : interval.low;
        v.note = interval.known ? NULL : "too few frames for an interval";
    }
    free(rates);
    return v;
}

static struct tt_value formula_frame_rate(const struct tt_run_data *run)
{
    return frame_rate(run, false);
}

static struct tt_value formula_frame_rate_low(const struct tt_run_data *run)
{
    return frame_rate_bound(run, false);
}

static struct tt_value formula_frame_rate_high(const struct tt_run_data *run)
{
    return frame_rate_bound(run, true);
}

static struct tt_value formula_frame_read_rate(const struct tt_run_data *run)
{
    return frame_rate(run, true);
}

/* Nonblocking calls of the library end unseen, some time before they are waited for. In baseline
 * epochs they are waited for at once. */
static struct tt_value baseline_write_rate(const struct tt_run_data *run)
{
    double bytes = 0, slowest = 0;

    for (size_t r = 0; r < run->nranks; r++) {
        double seconds = 0;

        for (size_t i = 0; i < run->ranks[r].nepochs; i++) {
            const struct tt_epoch_record *x = &run->ranks[r].epochs[i];

            seconds += x->baseline ? tt_seconds(x->io_ns) : 0;
            bytes += x->baseline ? (double)x->bytes : 0;
        }
        slowest = seconds > slowest ? seconds : slowest;
    }
    return bytes > 0 ? ratio(known(bytes), known(slowest), "writing took no time")
                     : unknown("nobody sees how long native nonblocking calls take, and there are "
                               "no baseline epochs");
}

/* Where bytes moved, their calls took time, but may be a part of others that are timed. */
static const char not_timed[] = "not timed apart from opening and closing";

static struct tt_value formula_write_rate(const struct tt_run_data *run)
{
    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    if (!strcmp(tt_text_of(run->overlap, "executor"), "native"))
        return baseline_write_rate(run);
    return ratio(get(run, TT_METRIC_bytes_written),
                 known(tt_run_data_slowest(run, TT_IO_WRITE, TT_IO_SYNC)), not_timed);
}

static struct tt_value formula_read_rate(const struct tt_run_data *run)
{
    if (!(run->bytes_read > 0))
        return unknown("nothing was read");
    return ratio(get(run, TT_METRIC_bytes_read),
                 known(tt_run_data_slowest(run, TT_IO_READ, TT_IO_READ)), not_timed);
}

static struct tt_value formula_application_rate(const struct tt_run_data *run)
{
    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    return ratio(get(run, TT_METRIC_bytes_written), get(run, TT_METRIC_runtime),
                 "the run took no time");
}

/* Why there are no baselines, or no overlapped epochs, to compare; NULL if there are. */
static const char *missing_epochs(const struct tt_run_data *run, bool need_overlapped,
                                  bool need_baselines)
{
    if (!(run->bytes_written > 0))
        return "nothing was written";
    if (need_baselines && run->medians.baselines == 0)
        return "no baseline epochs (baseline=0 or fewer than 3 dumps)";
    if (need_overlapped && run->medians.overlapped == 0)
        return "no epoch had computation beside its I/O";
    return NULL;
}

/* Without anything beside the I/O, what epochs differ by is noise. */
static struct tt_value serial(double value)
{
    return (struct tt_value){
        .known = true, .value = value, .note = "nothing ran beside the I/O, by overlap and sync"};
}

static struct tt_value formula_hidden_fraction(const struct tt_run_data *run)
{
    const struct tt_epoch_medians *m = &run->medians;
    const char *why = missing_epochs(run, true, true);

    if (run->bytes_written > 0 && tt_run_data_is_serial(run))
        return serial(0);
    if (why)
        return unknown(why);
    if (!(m->io_only > 0))
        return unknown("I/O took no time");
    return known(1 - (m->span - m->compute_only) / m->io_only);
}

static struct tt_value formula_inflation(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, true);

    if (run->bytes_written > 0 && tt_run_data_is_serial(run))
        return serial(1);
    return why ? unknown(why)
               : ratio(known(run->medians.compute), known(run->medians.compute_only),
                       "computation took no time");
}

static struct tt_value formula_epoch_time(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, false);

    return why ? unknown(why) : known(run->medians.span);
}

static struct tt_value formula_compute_only(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, false, true);

    return why ? unknown(why) : known(run->medians.compute_only);
}

static struct tt_value formula_io_only(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, false, true);

    return why ? unknown(why) : known(run->medians.io_only);
}

static struct tt_value formula_copy_time(const struct tt_run_data *run)
{
    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    return counted(run, tt_run_data_slowest(run, TT_COPY, TT_COPY));
}

static struct tt_value formula_cpu_time(const struct tt_run_data *run)
{
    return from_ranks(run, "cpu_seconds", false);
}

static struct tt_value formula_cpu_share(const struct tt_run_data *run)
{
    struct tt_value wall = get(run, TT_METRIC_runtime);

    wall.value *= (double)run->nranks;
    return ratio(get(run, TT_METRIC_cpu_time), wall, "the run took no time");
}

static struct tt_value formula_cpu_wait(const struct tt_run_data *run)
{
    return ratio(from_ranks(run, "cpu_waiting_seconds", true), get(run, TT_METRIC_runtime),
                 "the run took no time");
}

static struct tt_value formula_cpu_others(const struct tt_run_data *run)
{
    const json_t *node =
        run->complete ? json_object_get(run->ranks[0].summary, "node_cpu_seconds") : NULL;
    double others = json_number_value(node), cpus = tt_number_of(run->environment, "cpus");
    struct tt_value runtime = get(run, TT_METRIC_runtime), share;

    if (!json_is_number(node))
        return unknown("not recorded by every rank");
    if (runtime.known && runtime.value < SHORTEST_NODE_TIME)
        return unknown("the run was too short for the node's clock");
    for (size_t i = 0; i < run->nranks; i++)
        if (!strcmp(run->ranks[i].header.host, run->ranks[0].header.host))
            others -= tt_number_of(run->ranks[i].summary, "cpu_seconds");
    /* The node's clock ticks more coarsely than that of a process. */
    share = ratio(known(others > 0 ? others : 0), runtime, "the run took no time");
    if (cpus > 0 && share.value > cpus)
        return unknown("the node's clock says more than the node has CPUs");
    return share;
}

static struct tt_value formula_peak_memory(const struct tt_run_data *run)
{
    return from_ranks(run, "peak_memory", true);
}

static struct tt_value formula_imbalance(const struct tt_run_data *run)
{
    double sum = 0;

    for (size_t i = 0; i < run->nranks; i++)
        sum += run->seconds[i][TT_COMPUTE];
    if (!(sum > 0))
        return unknown("nothing was computed");
    return counted(run,
                   tt_run_data_slowest(run, TT_COMPUTE, TT_COMPUTE) * (double)run->nranks / sum);
}

static struct tt_value formula_files(const struct tt_run_data *run)
{
    return from_ranks(run, "files", false);
}

/* In the order of the list, so a formula may use the metrics declared before it. */
void tt_metrics_compute(struct tt_run_data *run)
{
#define RECORDS(name) formula_##name(run)
#define WORKLOAD(name) reported(run, #name)
#define X(name, unit, label, direction, source, shown, definition) \
    run->metrics[TT_METRIC_##name] = source(name);
    TT_METRICS(X)
#undef X
}
