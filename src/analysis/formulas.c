/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formulas of the metrics that records give, one function each; analysis/metrics.h says what
 * they mean. A metric without a formula does not compile. What was
 * not measured is unknown, with the reason, and never 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency.h"
#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/clock.h"
#include "base/json.h"
#include "plan/registry.h"

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

static struct tt_value reported(const struct tt_run_data *run, const char *name)
{
    const json_t *value = json_object_get(json_object_get(run->results, name), "value");

    if (!run->complete)
        return unknown("not every rank told how it ended");
    return json_is_number(value) ? so_far(run, json_number_value(value)) : unknown(TT_NOT_REPORTED);
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
    struct tt_value longest = from_ranks(run, "runtime_ns", true);

    if (!longest.known)
        return longest;
    longest.value *= 1e-9;
    if (run->excluded.inside) {
        longest.value = 0;
        for (size_t i = 0; i < run->nranks; i++)
            longest.value =
                fmax(longest.value, 1e-9 * tt_number_of(run->ranks[i].summary, "runtime_ns") -
                                        tt_baselines_inside(&run->ranks[i]));
    }
    if (!(longest.value > 0))
        return unknown("the run did not get to its end");
    if (!longest.note && run->excluded.note[0])
        longest.note = run->excluded.note;
    return longest;
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
    return ratio(get(run, TT_METRIC_bytes_communicated), known(run->joint[TT_JOINT_COMMUNICATION]),
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
    double bytes = 0, seconds = 0;

    for (size_t i = 0; i < run->nepochs; i++) {
        seconds += run->epochs[i].baseline ? run->epochs[i].write : 0;
        bytes += run->epochs[i].baseline ? run->epochs[i].bytes : 0;
    }
    return bytes > 0 ? ratio(known(bytes), known(seconds), "writing took no time")
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
    return ratio(get(run, TT_METRIC_bytes_written), known(run->joint[TT_JOINT_WRITE]), not_timed);
}

static struct tt_value formula_read_rate(const struct tt_run_data *run)
{
    if (!(run->bytes_read > 0))
        return unknown("nothing was read");
    return ratio(get(run, TT_METRIC_bytes_read), known(run->joint[TT_JOINT_READ]), not_timed);
}

static struct tt_value formula_write_iops(const struct tt_run_data *run)
{
    return tt_iops(run, TT_CALL_WRITE, TT_METRIC_write_rate, TT_METRIC_bytes_written);
}

static struct tt_value formula_read_iops(const struct tt_run_data *run)
{
    return tt_iops(run, TT_CALL_READ, TT_METRIC_read_rate, TT_METRIC_bytes_read);
}

/* Accesses that follow each other, each in one direction, have a time of their own each. */
#define ACCESS_WRITE 0
#define ACCESS_READ 2
static struct tt_value access_rate(const struct tt_run_data *run, const struct tt_rows *t, int kind)
{
    double bytes = 0, seconds = 0;

    for (size_t i = 0; i < t->n; i++)
        if (tt_cell(t, i, "access") == kind) {
            bytes += tt_cell(t, i, "bytes");
            seconds += tt_cell(t, i, "total");
        }
    return seconds > 0 ? so_far(run, bytes / seconds) : unknown("no such access was finished");
}

/* The runtime, or the time of that direction where one follows the other. */
static struct tt_value own_time(const struct tt_run_data *run, bool reading)
{
    struct tt_window writes, reads, *own = reading ? &reads : &writes;

    if (!tt_direction_window(run, false, &writes) || !tt_direction_window(run, true, &reads) ||
        writes.to_ns > reads.from_ns)
        return get(run, TT_METRIC_runtime);
    return so_far(run, tt_seconds(own->to_ns - own->from_ns));
}

static struct tt_value formula_application_rate(const struct tt_run_data *run)
{
    struct tt_rows accesses = tt_rows_of(run->plan, run->tables, "accesses");

    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    return accesses.n > 0 ? access_rate(run, &accesses, ACCESS_WRITE)
                          : ratio(get(run, TT_METRIC_bytes_written), own_time(run, false),
                                  "the run took no time");
}

static struct tt_value formula_application_read_rate(const struct tt_run_data *run)
{
    struct tt_rows accesses = tt_rows_of(run->plan, run->tables, "accesses");

    if (!(run->bytes_read > 0))
        return unknown("nothing was read");
    return accesses.n > 0
               ? access_rate(run, &accesses, ACCESS_READ)
               : ratio(get(run, TT_METRIC_bytes_read), own_time(run, true), "the run took no time");
}

/* Why there are no baselines, or no overlapped epochs, to compare; NULL if there are. */
static const char *missing_epochs(const struct tt_run_data *run, bool need_overlapped,
                                  bool need_baselines)
{
    if (!(run->bytes_written > 0))
        return "nothing was written";
    if (need_baselines && !strcmp(tt_run_data_parameter(run, "overlap"), "auto"))
        return "overlap=auto has no baseline epochs: compare it with runs of both modes";
    if (need_baselines && run->figures.baselines == 0)
        return "no baseline epochs (baseline=0, or no kind of output has 3 dumps)";
    if (need_overlapped && run->figures.overlapped == 0)
        return strtoul(tt_run_data_parameter(run, "inflight"), NULL, 10) > 1
                   ? "with several dumps in flight, epochs are told apart only by baselines"
                   : "no epoch had computation beside its I/O";
    return NULL;
}

/* Without anything beside the I/O, what epochs differ by is noise. */
static struct tt_value serial(double value)
{
    return (struct tt_value){
        .known = true, .value = value, .note = "nothing ran beside the I/O, by overlap and sync"};
}

/* Why nobody can say how much of the I/O was hidden; NULL if it can be said. */
static const char *cannot_see_hidden(const struct tt_run_data *run)
{
    const char *sync = tt_run_data_parameter(run, "sync"), *why = missing_epochs(run, true, true);

    if (why)
        return why;
    if (!strcmp(sync, "never") || !strcmp(sync, "close"))
        return "nobody sees when the I/O of an epoch ends: sync is never or close";
    return run->figures.mean.io_only > 0 ? NULL : "I/O took no time";
}

static struct tt_value hidden(const struct tt_run_data *run, const struct tt_epoch_times *t)
{
    const char *why = cannot_see_hidden(run);

    if (run->bytes_written > 0 && tt_run_data_is_serial(run))
        return serial(0);
    return why ? unknown(why) : known(tt_hidden_fraction(t));
}

static struct tt_value formula_hidden_fraction(const struct tt_run_data *run)
{
    return hidden(run, &run->figures.mean);
}

static struct tt_value formula_hidden_fraction_median(const struct tt_run_data *run)
{
    return hidden(run, &run->figures.median);
}

static struct tt_value hidden_bound(const struct tt_run_data *run, bool upper)
{
    const struct tt_interval *i = &run->figures.hidden;
    const char *why = cannot_see_hidden(run);

    if (run->bytes_written > 0 && tt_run_data_is_serial(run))
        return serial(0);
    if (why)
        return unknown(why);
    return i->known ? known(upper ? i->high : i->low)
                    : unknown("fewer than six epochs of a kind give no interval");
}

static struct tt_value formula_hidden_fraction_low(const struct tt_run_data *run)
{
    return hidden_bound(run, false);
}

static struct tt_value formula_hidden_fraction_high(const struct tt_run_data *run)
{
    return hidden_bound(run, true);
}

static struct tt_value formula_speedup(const struct tt_run_data *run)
{
    const struct tt_epoch_times *t = &run->figures.mean;
    const char *why = cannot_see_hidden(run);

    if (run->bytes_written > 0 && tt_run_data_is_serial(run))
        return serial(1);
    return why ? unknown(why)
               : ratio(known(t->compute_only + t->io_only), known(t->span), "epochs took no time");
}

static struct tt_value formula_inflation(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, true);

    if (run->bytes_written > 0 && tt_run_data_is_serial(run))
        return serial(1);
    return why ? unknown(why)
               : ratio(known(run->figures.mean.compute), known(run->figures.mean.compute_alone),
                       "computation took no time");
}

static struct tt_value formula_epoch_time(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, false);

    return why ? unknown(why) : known(run->figures.mean.span);
}

static struct tt_value formula_epoch_time_median(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, false);

    return why ? unknown(why) : known(run->figures.median.span);
}

static struct tt_value formula_epoch_compute(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, false);

    return why ? unknown(why) : known(run->figures.mean.rest);
}

static struct tt_value formula_epoch_bytes(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, false);

    return why ? unknown(why) : known(run->figures.bytes);
}

static struct tt_value formula_compute_only(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, false, true);

    return why ? unknown(why) : known(run->figures.mean.compute_only);
}

static struct tt_value formula_io_only(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, false, true);

    return why ? unknown(why) : known(run->figures.mean.io_only);
}

static struct tt_value formula_copy_time(const struct tt_run_data *run)
{
    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    return counted(run, tt_run_data_slowest(run, TT_COPY, TT_COPY));
}

static struct tt_value formula_epoch_copy(const struct tt_run_data *run)
{
    size_t epochs = run->nepochs - run->excluded.epochs;

    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    if (epochs == 0)
        return unknown("there are no epochs");
    return counted(run, run->joint[TT_JOINT_COPY] / (double)epochs);
}

static struct tt_value formula_epoch_helper_cpu(const struct tt_run_data *run)
{
    const char *why = missing_epochs(run, true, false);

    if (why)
        return unknown(why);
    return run->figures.mean.helper_cpu > 0 ? known(run->figures.mean.helper_cpu)
                                            : unknown("no helper moved the data");
}

static struct tt_value formula_copy_rate(const struct tt_run_data *run)
{
    if (!(run->bytes_written > 0))
        return unknown("nothing was written");
    if (strcmp(tt_run_data_parameter(run, "overlap"), "async") != 0)
        return unknown("not every dump was copied, by overlap");
    return ratio(get(run, TT_METRIC_bytes_written), known(run->joint[TT_JOINT_COPY]),
                 "nothing was copied");
}

static struct tt_value formula_staging_rate(const struct tt_run_data *run)
{
    return ratio(get(run, TT_METRIC_staged), get(run, TT_METRIC_staging_time),
                 "no data was in a device's memory");
}

static struct tt_value formula_epoch_staging(const struct tt_run_data *run)
{
    bool serial = tt_run_data_is_serial(run);
    double seconds = 0;
    size_t n = 0;

    for (size_t i = 0; i < run->nepochs; i++) {
        const struct tt_epoch *x = &run->epochs[i];

        if (x->staging > 0 && (serial || !(x->baseline || x->settling))) {
            seconds += x->staging;
            n++;
        }
    }
    return n ? known(seconds / (double)n) : unknown("no data left a device in an epoch");
}

/* What of the I/O was visible was staging as far as the caller's copy lasted, or as far as storage
 * is too short for it; never more than all of it. The rest was storage. */
static struct tt_value hidden_part(const struct tt_run_data *run, bool staging)
{
    const struct tt_epoch_times *t = &run->figures.mean;
    const struct tt_value whole = get(run, TT_METRIC_hidden_fraction);
    double visible = t->span - t->compute_only, storage = t->io_only - t->staging;
    double staged = fmin(fmax(t->copy, visible - storage), t->staging);

    if (!get(run, TT_METRIC_staged).known)
        return unknown(TT_NOT_REPORTED);
    if (!whole.known || tt_run_data_is_serial(run))
        return whole;
    if (!(t->staging > 0) || !(storage > 0))
        return unknown("baseline epochs have no staging, or nothing else");
    return known(staging ? 1 - staged / t->staging : 1 - (visible - staged) / storage);
}

static struct tt_value formula_hidden_staging(const struct tt_run_data *run)
{
    return hidden_part(run, true);
}

static struct tt_value formula_hidden_storage(const struct tt_run_data *run)
{
    return hidden_part(run, false);
}

static struct tt_value formula_hidden_read_fraction(const struct tt_run_data *run)
{
    char key[96];

    if (!(run->bytes_read > 0))
        return unknown("nothing was read");
    snprintf(key, sizeof key, "%.80s.prefetch", tt_text_of(run->plan, "workload"));
    if (strcmp(tt_run_data_parameter(run, key), "yes") != 0 ||
        !strcmp(tt_run_data_parameter(run, "overlap"), "none"))
        return unknown("reads were not prefetched");
    if (!(run->joint[TT_JOINT_READ] > 0))
        return unknown("reading took no time");
    return so_far(run, 1 - run->joint[TT_JOINT_LOAD] / run->joint[TT_JOINT_READ]);
}

/* The slowest rank's time in these phases before the common start, or after the end. */
static struct tt_value outside_of_run(const struct tt_run_data *run, bool before,
                                      const enum tt_phase *phases, size_t n)
{
    double most = 0;

    for (size_t r = 0; r < run->nranks; r++) {
        double seconds = 0;
        int64_t end;

        if (!tt_rank_span(&run->ranks[r], &end))
            return unknown("not every rank told how it ended");
        for (size_t i = 0; i < run->ranks[r].niterations; i++) {
            const struct tt_iteration_record *it = &run->ranks[r].iterations[i];

            if (it->iteration == 0 && (before ? it->start_ns < 0 : it->start_ns >= end))
                for (size_t p = 0; p < n; p++)
                    seconds += 1e-9 * (double)it->phase_ns[phases[p]];
        }
        most = fmax(most, seconds);
    }
    return counted(run, most);
}

static struct tt_value formula_t_init(const struct tt_run_data *run)
{
    return outside_of_run(run, true, (const enum tt_phase[]){TT_OPEN}, 1);
}

static struct tt_value formula_t_term(const struct tt_run_data *run)
{
    return outside_of_run(run, false, (const enum tt_phase[]){TT_WAIT, TT_SYNC, TT_CLOSE}, 3);
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

/* Whether a metric of a run whose records do not tell its baseline epochs apart is that of the job
 * that was asked for, nevertheless. */
static bool holds_without_baselines(enum tt_metric_id id)
{
    switch (id) {
    case TT_METRIC_runtime:
    case TT_METRIC_updates:
    case TT_METRIC_update_rate:
    case TT_METRIC_flops:
    case TT_METRIC_flop_rate:
    case TT_METRIC_bytes_written:
    case TT_METRIC_application_rate:
    case TT_METRIC_hidden_fraction:
    case TT_METRIC_hidden_fraction_median:
    case TT_METRIC_hidden_fraction_low:
    case TT_METRIC_hidden_fraction_high:
    case TT_METRIC_epoch_staging:
    case TT_METRIC_hidden_staging:
    case TT_METRIC_hidden_storage:
    case TT_METRIC_speedup:
    case TT_METRIC_inflation:
    case TT_METRIC_epoch_time:
    case TT_METRIC_epoch_time_median:
    case TT_METRIC_epoch_compute:
    case TT_METRIC_epoch_bytes:
    case TT_METRIC_epoch_helper_cpu:
    case TT_METRIC_t_init:
    case TT_METRIC_t_term:
    case TT_METRIC_compute_only:
    case TT_METRIC_io_only:
    case TT_METRIC_peak_memory:
    case TT_METRIC_files:
        return true;
    default:
        return tt_metrics[id].source == TT_FROM_WORKLOAD;
    }
}

/* Of the job that was asked for: what iterations of baseline epochs did is taken off. */
static struct tt_value without_baselines(const struct tt_run_data *run, enum tt_metric_id id,
                                         struct tt_value v)
{
    const struct tt_excluded *x = &run->excluded;

    if ((id == TT_METRIC_updates || id == TT_METRIC_flops) && v.known &&
        x->iterations < x->of_iterations)
        v.value = v.value * (x->of_iterations - x->iterations) / x->of_iterations;
    if (x->inside && v.known && !holds_without_baselines(id))
        return unknown("baseline epochs are inside it, and records of that older version do not "
                       "tell them apart; run it again");
    return v;
}

/* What compares epochs is not of a workload that has none. */
static void leave_out_epochs(struct tt_run_data *run)
{
    static const enum tt_metric_id of_epochs[] = {TT_METRIC_hidden_fraction,
                                                  TT_METRIC_hidden_fraction_low,
                                                  TT_METRIC_hidden_fraction_high,
                                                  TT_METRIC_hidden_fraction_median,
                                                  TT_METRIC_epoch_staging,
                                                  TT_METRIC_hidden_staging,
                                                  TT_METRIC_hidden_storage,
                                                  TT_METRIC_speedup,
                                                  TT_METRIC_inflation,
                                                  TT_METRIC_epoch_time,
                                                  TT_METRIC_epoch_time_median,
                                                  TT_METRIC_epoch_compute,
                                                  TT_METRIC_epoch_bytes,
                                                  TT_METRIC_compute_only,
                                                  TT_METRIC_io_only,
                                                  TT_METRIC_epoch_copy,
                                                  TT_METRIC_epoch_helper_cpu,
                                                  TT_METRIC_copy_rate};
    const struct tt_workload *w = tt_find_open(tt_workloads, tt_text_of(run->plan, "workload"));

    for (size_t i = 0; w && !w->has_epochs && i < sizeof of_epochs / sizeof *of_epochs; i++)
        run->metrics[of_epochs[i]] = unknown(TT_NOT_REPORTED);
}

/* In the order of the list, so a formula may use the metrics declared before it. */
void tt_metrics_compute(struct tt_run_data *run)
{
#define RECORDS(name) formula_##name(run)
#define WORKLOAD(name) reported(run, #name)
#define CALLS(name) tt_percentile(run, TT_METRIC_##name)
#define X(name, unit, label, direction, source, shown, definition) \
    run->metrics[TT_METRIC_##name] = without_baselines(run, TT_METRIC_##name, source(name));
    TT_METRICS(X)
#undef X
    leave_out_epochs(run);
}
