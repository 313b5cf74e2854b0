/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A number that may be wrong says so: one small rule each, with its reason, in one table. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "analysis/metrics.h"
#include "analysis/rates.h"
#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "spec/param.h"
#include "spec/units.h"

#define TEXT 400
/* More than NTP leaves in one site. */
#define LARGE_OFFSET_NS 1e6
/* No node moves memory faster than this, in bytes per second. */
#define MEMORY_CEILING 1099511627776.0

/* True, and the text, if the rule applies. */
typedef bool rule(const struct tt_run_data *run, char text[TEXT]);

static bool say(char text[TEXT], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool say(char text[TEXT], const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, TEXT, fmt, args);
    va_end(args);
    return true;
}

static double metric(const struct tt_run_data *run, enum tt_metric_id id)
{
    return run->metrics[id].known ? run->metrics[id].value : 0;
}

static bool damaged_records(const struct tt_run_data *run, char text[TEXT])
{
    return run->damage[0] && say(text, "some records could not be read: %s", run->damage);
}

/* "raise stencil.iterations or stencil.size": what makes a run of this workload longer, if it has
 * such a key. */
static void add_longer(const struct tt_run_data *run, char *text, size_t size)
{
    static const char *const keys[] = {"iterations", "steps", "frames", "repetitions", "passes",
                                       "items",      "block", "size",   "dims"};
    const char *workload = tt_text_of(run->plan, "workload");
    size_t used = 0, n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys && n < 2 && used < size; i++) {
        char key[96];

        snprintf(key, sizeof key, "%.60s.%s", workload, keys[i]);
        if (!*tt_run_data_parameter(run, key))
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", n ? " or " : "; raise ", key);
        n++;
    }
}

static bool too_short(const struct tt_run_data *run, char text[TEXT])
{
    double runtime = metric(run, TT_METRIC_runtime);
    char took[TT_UNIT_TEXT], longer[256];

    if (!run->metrics[TT_METRIC_runtime].known || runtime >= 1)
        return false;
    add_longer(run, longer, sizeof longer);
    return say(text, "too short to trust: the run took only %s%s", tt_format_seconds(runtime, took),
               longer);
}

/* Ranks on the node of the first rank. */
static unsigned long neighbours(const struct tt_run_data *run)
{
    unsigned long n = 0;

    for (size_t i = 0; i < run->nranks; i++)
        n += !strcmp(run->ranks[i].header.host, run->ranks[0].header.host);
    return n;
}

static unsigned long threads(const struct tt_run_data *run)
{
    const char *workload = tt_text_of(run->plan, "workload");
    char key[96];
    unsigned long n;

    snprintf(key, sizeof key, "%s.threads", workload);
    n = strtoul(tt_run_data_parameter(run, key), NULL, 10);
    return n ? n : 1;
}

static bool oversubscribed(const struct tt_run_data *run, char text[TEXT])
{
    double cpus = tt_number_of(run->environment, "cpus");
    unsigned long ranks = neighbours(run), each = threads(run);

    return cpus > 0 && (double)ranks * (double)each > cpus &&
           say(text,
               "oversubscribed: %lu ranks of %lu thread%s on %.0f CPUs; times include waiting for "
               "a CPU",
               ranks, each, each == 1 ? "" : "s", cpus);
}

/* Other processes took CPUs that ranks were waiting for. Then drift, imbalance and inflation are
 * theirs, and saying each apart would only hide the reason. Ranks that are more than the CPUs wait
 * for each other, whatever else there is. */
static bool is_disturbed(const struct tt_run_data *run)
{
    return metric(run, TT_METRIC_cpu_wait) > 0.05 && metric(run, TT_METRIC_cpu_others) > 0.1;
}

static bool disturbed(const struct tt_run_data *run, char text[TEXT])
{
    char other[TEXT];

    return is_disturbed(run) && !oversubscribed(run, other) &&
           say(text,
               "the machine was busy: other processes used %.1f CPUs, and a rank waited for a CPU "
               "in %.0f %% of the runtime; times are not those of a quiet machine",
               metric(run, TT_METRIC_cpu_others), 100 * metric(run, TT_METRIC_cpu_wait));
}

/* Times of a rank's iterations, of one kind: those that only read, or the others. Workloads that
 * read after they have written do different work then. */
static size_t spans_of_kind(const struct tt_rank_records *r, bool reading, double *out)
{
    size_t n = 0;

    for (size_t i = 0; i < r->niterations; i++) {
        const struct tt_iteration_record *each = &r->iterations[i];

        if (each->iteration > 0 && reading == (each->bytes_read > 0 && each->bytes_written == 0))
            out[n++] = tt_seconds(each->span_ns);
    }
    return n;
}

/* The last third of them over the first, as medians; 1 if they are too few, or do not drift. */
static double drift_of(double *spans, size_t n)
{
    size_t third = n / 3;
    double early, late;

    if (third < 5)
        return 1;
    early = tt_median(spans, third);
    late = tt_median(spans + n - third, third);
    return early > 0 && late > 0 && (late >= 1.1 * early || early >= 1.1 * late) ? late / early : 1;
}

static bool drift(const struct tt_run_data *run, char text[TEXT])
{
    const struct tt_rank_records *r = run->ranks;
    double *spans, by = 1;

    if (run->nranks == 0 || r->niterations == 0 || is_disturbed(run) ||
        !(spans = malloc(r->niterations * sizeof *spans)))
        return false;
    for (int reading = 0; reading < 2 && by == 1; reading++)
        by = drift_of(spans, spans_of_kind(r, reading, spans));
    free(spans);
    return by != 1 &&
           say(text,
               "drift: iterations in the last third took %.2f times as long as in the first; the "
               "run was not in a steady state",
               by);
}

/* Only if the time lost by it is a part of the runtime worth a word. */
static bool imbalance(const struct tt_run_data *run, char text[TEXT])
{
    double value = metric(run, TT_METRIC_imbalance);
    double slowest = tt_run_data_slowest(run, TT_COMPUTE, TT_COMPUTE);
    bool matters = value > 0 && slowest - slowest / value > 0.02 * metric(run, TT_METRIC_runtime);

    return value > 1.1 && matters && !is_disturbed(run) &&
           say(text,
               "imbalance: the slowest rank computed %.2f times as long as the mean; the others "
               "waited for it",
               value);
}

/* O_DIRECT keeps data out of the node's memory; only a cache of the device is left. */
static bool is_direct(const struct tt_run_data *run)
{
    char key[96];

    snprintf(key, sizeof key, "%.60s.odirect", tt_run_data_parameter(run, "backend"));
    return !strcmp(tt_run_data_parameter(run, key), "yes");
}

static bool not_synced(const struct tt_run_data *run, char text[TEXT])
{
    const char *sync = tt_run_data_parameter(run, "sync");

    if (!(run->bytes_written > 0))
        return false;
    if (is_direct(run))
        return !strcmp(sync, "never") &&
               say(text, "data may still be in caches of the device: sync=never, so nothing asked "
                         "it to make the data durable");
    if (!strcmp(sync, "never"))
        return say(text,
                   "data may still be in memory: sync=never, so the write rate may be that of "
                   "memory and not of storage");
    return !strcmp(sync, "close") &&
           say(text, "data may still be in memory during the run: sync=close writes it back only "
                     "at the end");
}

/* Where the workload asked the kernel, nobody has to guess. */
static bool known_cached_reads(const struct tt_run_data *run, char text[TEXT])
{
    double cached = metric(run, TT_METRIC_bytes_cached);
    double share = cached < run->bytes_read ? cached / run->bytes_read : 1;
    char some[TT_UNIT_TEXT];

    return run->bytes_read > 0 && share > 0.01 &&
           say(text,
               "reads came from the page cache: it held %s, %.0f %% of what was read, and rates "
               "are not those of storage",
               tt_format_bytes(cached, some), 100 * share);
}

static bool cached_reads(const struct tt_run_data *run, char text[TEXT])
{
    double memory = tt_number_of(run->environment, "memory");
    double data =
        run->bytes_written > 0 ? run->bytes_written + run->excluded.bytes_written : run->bytes_read;
    char some[TT_UNIT_TEXT], size[TT_UNIT_TEXT];

    if (is_direct(run))
        return false;
    if (run->metrics[TT_METRIC_bytes_cached].known)
        return known_cached_reads(run, text);
    return run->bytes_read > 0 && data < memory &&
           say(text, "reads may come from the page cache: %s of data fit into %s of memory",
               tt_format_bytes(data, some), tt_format_bytes(memory, size));
}

/* A store that compresses or removes duplicates does less work than the rate says. */
static bool compressible(const struct tt_run_data *run, char text[TEXT])
{
    double left = metric(run, TT_METRIC_data_compressed);
    double again = metric(run, TT_METRIC_data_duplicate);

    if (!run->metrics[TT_METRIC_data_compressed].known || !(run->bytes_written > 0) ||
        (left > 0.9 && again < 0.05))
        return false;
    return say(text,
               "the data compresses to %.0f %%, and %.0f %% of its 4 KiB chunks repeat: a store "
               "that compresses or removes duplicates moves less than the rate says",
               100 * left, 100 * again);
}

static bool uncovered(const struct tt_run_data *run, char text[TEXT])
{
    double covered = metric(run, TT_METRIC_coverage);

    return run->metrics[TT_METRIC_coverage].known && covered < 0.95 &&
           say(text,
               "only %.0f %% of the data was touched, some of it several times: caches below see "
               "more of it than its size says",
               100 * covered);
}

/* The last rank decides how long the others wait at the end. */
static bool straggler(const struct tt_run_data *run, char text[TEXT])
{
    double *all = run->nranks > 1 ? malloc(run->nranks * sizeof *all) : NULL, median, most = 0;
    size_t last = 0;

    if (!all)
        return false;
    for (size_t i = 0; i < run->nranks; i++) {
        const double *s = run->seconds[i];

        all[i] = s[TT_IO_WRITE] + s[TT_IO_SYNC] + s[TT_IO_READ];
        if (all[i] > most) {
            most = all[i];
            last = i;
        }
    }
    median = tt_median(all, run->nranks);
    free(all);
    return median > 0 && most > 1.5 * median &&
           most - median > 0.05 * metric(run, TT_METRIC_runtime) &&
           say(text,
               "a straggler: the I/O of rank %u took %.2f times as long as that of the median "
               "rank; rates are those of the slowest",
               run->ranks[last].header.rank, most / median);
}

/* Whether hidden I/O stands on a comparison of epochs. */
static bool compares_epochs(const struct tt_run_data *run)
{
    return run->metrics[TT_METRIC_hidden_fraction].known && !tt_run_data_is_serial(run);
}

static bool few_epochs(const struct tt_run_data *run, char text[TEXT])
{
    const struct tt_epoch_figures *m = &run->figures;

    if (!compares_epochs(run) || (m->overlapped >= 3 && m->baselines >= 3))
        return false;
    return say(
        text,
        "few epochs: hidden I/O and inflation stand on %zu overlapped and %zu baseline epochs; "
        "write more often or run longer",
        m->overlapped, m->baselines);
}

static bool hidden_uncertain(const struct tt_run_data *run, char text[TEXT])
{
    const struct tt_epoch_times *m = &run->figures.mean;
    double value = metric(run, TT_METRIC_hidden_fraction);
    double median = metric(run, TT_METRIC_hidden_fraction_median);
    char share[64] = "";

    if (!compares_epochs(run))
        return false;
    if (m->io_only < 0.1 * m->compute_only)
        snprintf(share, sizeof share, "I/O-only is just %.1f %% of compute-only",
                 100 * m->io_only / m->compute_only);
    if (value <= 1.1 && median > 1.1)
        return say(text,
                   "hidden I/O of %.3g by medians is impossible: half of the epochs with overlap "
                   "were faster than computation alone, so the computation changed by itself",
                   median);
    if (value > 1.1)
        return say(text,
                   "hidden I/O of %.3g is impossible: epochs with overlap were faster than "
                   "computation alone, so the computation changed by itself%s%s",
                   value, share[0] ? "; " : "", share);
    return share[0] &&
           say(text, "hidden I/O is uncertain: %s, so small changes of the computation outweigh it",
               share);
}

static double bytes_of_records(const struct tt_run_data *run)
{
    double bytes = 0;

    for (size_t i = 0; i < run->nranks; i++)
        bytes += (double)(run->ranks[i].niterations * sizeof *run->ranks[i].iterations +
                          run->ranks[i].nepochs * sizeof *run->ranks[i].epochs);
    return bytes;
}

/* Records on the device under test, if they are enough to be seen there. Only on the node that
 * measured: elsewhere device numbers mean something else. */
static bool results_beside_data(const struct tt_run_data *run, char text[TEXT])
{
    const json_t *data = json_object_get(run->environment, "data");
    const char *device = tt_text_of(data, "device_number");
    double records = bytes_of_records(run);
    char host[HOST_NAME_MAX + 1] = "", own[32];
    struct stat st;

    if (!device[0] || records < 0.01 * run->bytes_written || !(run->bytes_written > 0) ||
        gethostname(host, sizeof host - 1) != 0 ||
        strcmp(host, tt_text_of(run->environment, "host")) != 0 || stat(run->directory, &st) != 0)
        return false;
    snprintf(own, sizeof own, "%u:%u", major(st.st_dev), minor(st.st_dev));
    return !strcmp(own, device) &&
           say(text,
               "results and data are on the same device, and the records are %.1f %% of what was "
               "written there: use --results DIR",
               100 * records / run->bytes_written);
}

/* Somebody waited for a CPU, and no other warning says who. */
static bool cpu_pressure(const struct tt_run_data *run, char text[TEXT])
{
    const json_t *claim;
    char other[TEXT];
    size_t i;

    if (is_disturbed(run) || oversubscribed(run, other))
        return false;
    json_array_foreach(json_object_get(run->counters, "saturated"), i, claim)
    {
        if (!strcmp(tt_text_of(claim, "resource"), "cpu pressure"))
            return say(text, "CPUs were short on %s: %s, by the node's own counters",
                       tt_text_of(claim, "host"), tt_text_of(claim, "text"));
    }
    return false;
}

static bool unreadable_counters(const struct tt_run_data *run, char text[TEXT])
{
    json_t *all = json_object_get(run->counters, "unreadable"), *why;
    const char *host;

    json_object_foreach(all, host, why) return say(text, "some counters could not be read: %s",
                                                   json_string_value(why));
    return false;
}

/* A typing error in a path would go unnoticed. */
static bool unread_series(const struct tt_run_data *run, char text[TEXT])
{
    json_t *hosts = json_object_get(run->counters, "hosts"), *host, *series;
    const char *node, *name;

    json_object_foreach(hosts, node, host)
    {
        json_object_foreach(json_object_get(host, "watched"), name, series)
        {
            if (json_is_null(json_object_get(series, "mean")))
                return say(text,
                           "counters.watch: '%s' was not read on %s: its file is not there, "
                           "or holds no number",
                           name, node);
        }
    }
    return false;
}

static bool inflation(const struct tt_run_data *run, char text[TEXT])
{
    double value = metric(run, TT_METRIC_inflation);

    return value > 1.1 && !is_disturbed(run) &&
           say(text, "I/O slows the computation beside it by %.0f %%", 100 * (value - 1));
}

/* Without a CPU of its own, what a helper computes comes on top: no overlap hides it. */
static bool full_node(const struct tt_run_data *run, char text[TEXT])
{
    double cpus = tt_number_of(run->environment, "cpus");
    double io = metric(run, TT_METRIC_io_only), copy = metric(run, TT_METRIC_epoch_copy);
    double helper = metric(run, TT_METRIC_epoch_helper_cpu);
    double visible = io * (1 - metric(run, TT_METRIC_hidden_fraction));
    char all[TT_UNIT_TEXT], copying[TT_UNIT_TEXT], computing[TT_UNIT_TEXT];

    if (!run->metrics[TT_METRIC_hidden_fraction].known || !(cpus > 0) ||
        (double)neighbours(run) * (double)threads(run) < cpus)
        return false;
    /* A tenth of the node and more is not the kernel's own work for this I/O. */
    if (is_disturbed(run) && metric(run, TT_METRIC_cpu_others) > 0.1 * cpus)
        return false;
    return visible > 0.15 * io && copy + helper > visible / 2 &&
           say(text,
               "no CPU is free for I/O, and CPU time cannot be hidden: of %s of I/O per dump, the "
               "copy takes %s and the helper %s; fewer ranks leave it a CPU",
               tt_format_seconds(io, all), tt_format_seconds(copy, copying),
               tt_format_seconds(helper, computing));
}

/* What the run itself took for the passes that were calibrated alone; of the slowest rank. */
static bool calibration(const struct tt_run_data *run, char text[TEXT])
{
    char key[80], took[TT_UNIT_TEXT], alone[TT_UNIT_TEXT];
    struct tt_passes passes = {0};
    double slowest = 0, calibrated;

    snprintf(key, sizeof key, "%.60s.compute", tt_text_of(run->plan, "workload"));
    if (!tt_passes_read(tt_run_data_parameter(run, key), &passes) || !(passes.each > 0))
        return false;
    for (size_t r = 0; r < run->nranks; r++) {
        const json_t *seen = json_object_get(run->ranks[r].summary, "passes");
        double n = tt_number_of(seen, "iterations");

        slowest = n > 0 ? fmax(slowest, tt_number_of(seen, "seconds") / n) : slowest;
    }
    calibrated = tt_passes_seconds(&passes);
    return slowest > 0 && (slowest > 1.25 * calibrated || slowest < 0.8 * calibrated) &&
           say(text,
               "computation took %s an iteration, and %s when it was calibrated alone: the machine "
               "was %s then",
               tt_format_seconds(slowest, took), tt_format_seconds(calibrated, alone),
               slowest > calibrated ? "faster or freer" : "slower or busier");
}

static bool faster_than_memory(const struct tt_run_data *run, char text[TEXT])
{
    double rate = metric(run, TT_METRIC_write_rate), copying = metric(run, TT_METRIC_copy_time);
    double limit =
        copying > 0 ? run->bytes_written / copying : MEMORY_CEILING * (double)run->nranks;
    char found[TT_UNIT_TEXT], possible[TT_UNIT_TEXT];

    if (!(rate > limit) || !strcmp(tt_run_data_parameter(run, "backend"), "discard"))
        return false;
    return say(text,
               "writing at %s is faster than copying in memory (%s): not all data can have moved",
               tt_format_rate(rate, found), tt_format_rate(limit, possible));
}

static bool nothing_stored(const struct tt_run_data *run, char text[TEXT])
{
    return run->bytes_written > 0 && !strcmp(tt_run_data_parameter(run, "backend"), "discard") &&
           say(text,
               "nothing is stored: the backend is discard, and its rates are those of no storage");
}

/* The place of a layer in the stack; -1: it is not there. */
static int layer_at(const struct tt_run_data *run, const char *name)
{
    const char *at = tt_run_data_parameter(run, "layers");

    for (int i = 0; *at; i++) {
        size_t length = strcspn(at, ",");

        if (length == strlen(name) && !strncmp(at, name, length))
            return i;
        at += length + (at[length] == ',');
    }
    return -1;
}

/* A throttle without limits changes nothing. */
static bool shaped(const struct tt_run_data *run, char text[TEXT])
{
    bool fault = layer_at(run, "fault") >= 0;
    bool throttle = layer_at(run, "throttle") >= 0 &&
                    (strtod(tt_run_data_parameter(run, "throttle.rate"), NULL) > 0 ||
                     strtod(tt_run_data_parameter(run, "throttle.ops"), NULL) > 0);

    return (fault || throttle) &&
           say(text,
               "I/O is changed on purpose by layers (%s%s%s): rates are not those of the storage",
               fault ? "fault" : "", fault && throttle ? "," : "", throttle ? "throttle" : "");
}

static bool packed(const struct tt_run_data *run, char text[TEXT])
{
    int at = layer_at(run, "compress");
    double came = 0, stored = 0;
    char a[TT_UNIT_TEXT], b[TT_UNIT_TEXT];

    for (size_t i = 0; at >= 0 && i < run->nranks; i++) {
        const json_t *costs = json_object_get(run->ranks[i].summary, "layer_costs");

        came += json_number_value(json_array_get(costs, 6 * (size_t)at + 2));
        stored += json_number_value(json_array_get(costs, 6 * (size_t)at + 3));
    }
    return came > 0 && stored > 0 &&
           say(text,
               "layer compress stored %s as %s: the write rate counts the bytes before packing",
               tt_format_bytes(came, a), tt_format_bytes(stored, b));
}

static bool cached_writes(const struct tt_run_data *run, char text[TEXT])
{
    return run->bytes_written > 0 && layer_at(run, "cache") >= 0 &&
           !strcmp(tt_run_data_parameter(run, "cache.sync"), "local") &&
           say(text, "the write rate is that of the node's storage: with cache.sync=local a sync "
                     "does not wait for the target");
}

static bool hints_without_effect(const struct tt_run_data *run, char text[TEXT])
{
    const json_t *fact;
    size_t i, n = 0, used = 0;
    char keys[300] = "";

    json_array_foreach(run->facts, i, fact)
    {
        const char *how = tt_text_of(fact, "how");

        if (strncmp(tt_text_of(fact, "proof"), "no", 2) != 0)
            continue;
        n++;
        if (used < sizeof keys)
            used +=
                (size_t)snprintf(keys + used, sizeof keys - used, "%s%s=%s%s%s%s", used ? ", " : "",
                                 tt_text_of(fact, "key"), tt_text_of(fact, "given"),
                                 *how ? " (" : "", how, *how ? ")" : "");
    }
    return n > 0 && say(text, "without effect: %s", keys);
}

/* Neither is in any report, so a slip or a module for another tutti would lose it silently. */
static bool unknown_results(const struct tt_run_data *run, char text[TEXT])
{
    const json_t *ignored;
    const char *name;

    json_object_foreach(run->results, name, ignored)
    {
        const struct tt_metric *metric = tt_find_metric(name);

        if (!metric || metric->source != TT_FROM_WORKLOAD)
            return say(text,
                       "the workload reported '%.60s', which is not a metric that workloads "
                       "report: it is left out",
                       name);
    }
    return false;
}

/* Only of a run that is long enough to have a steady state. Others on the machine change rates,
 * too, but hardly as much as a buffer. */
static bool changed_rate(const struct tt_run_data *run, char text[TEXT])
{
    double factor = is_disturbed(run) ? 4 : 1.5;
    char head[TT_UNIT_TEXT], tail[TT_UNIT_TEXT];

    for (int i = 0; i < 2; i++) {
        struct tt_rate_summary rate;
        bool slower;

        if (metric(run, TT_METRIC_runtime) < 1 || !tt_rate_summarize(&run->timelines[i], &rate) ||
            rate.intervals < 16)
            continue;
        slower = rate.tail < rate.head;
        if (rate.tail > rate.head / factor && rate.tail < rate.head * factor)
            continue;
        return say(text,
                   "%s %s: %s for the last quarter of its bytes, %s for the first%s; measure "
                   "longer to see the rate that lasts",
                   i == 0 ? "writing" : "reading", slower ? "slowed down" : "became faster",
                   tt_format_value(rate.tail, "B/s", tail), tt_format_value(rate.head, "B/s", head),
                   i == 0 && slower ? ", as when a burst buffer is full or writeback begins" : "");
    }
    return false;
}

/* The worst node; what is corrected is still a machine whose clocks are not kept. */
static bool clocks_apart(const struct tt_run_data *run, char text[TEXT])
{
    const struct tt_rank_records *worst = NULL;
    double most = LARGE_OFFSET_NS, end, error;
    const json_t *clock;

    for (size_t r = 0; r < run->nranks; r++) {
        const json_t *its = json_object_get(run->ranks[r].summary, "clock");
        double offset = fabs(tt_number_of(its, "offset_ns"));

        if (offset - tt_number_of(its, "error_ns") > most) {
            most = offset;
            worst = &run->ranks[r];
        }
    }
    if (!worst)
        return false;
    clock = json_object_get(worst->summary, "clock");
    end = tt_number_of(clock, "end_offset_ns");
    error = tt_number_of(clock, "error_ns");
    return say(text,
               "the wall clock of %.60s is %.6g ms off rank 0's (within %.2g ms), %.6g ms at the "
               "end: times are corrected, counters are not; let NTP or PTP keep the clocks",
               worst->header.host, 1e-6 * tt_number_of(clock, "offset_ns"), 1e-6 * error,
               1e-6 * end);
}

static rule *const rules[] = {
    damaged_records,     too_short,     disturbed,        drift,          changed_rate,
    imbalance,           not_synced,    cached_reads,     compressible,   uncovered,
    straggler,           few_epochs,    hidden_uncertain, oversubscribed, cpu_pressure,
    unreadable_counters, unread_series, inflation,        full_node,      calibration,
    faster_than_memory,  packed,        nothing_stored,   shaped,         hints_without_effect,
    results_beside_data, cached_writes, unknown_results,  clocks_apart,
};

static bool has_text(const json_t *list, const char *text)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) if (!strcmp(tt_text_of(entry, "text"), text)) return true;
    return false;
}

static int append(json_t *list, const char *text)
{
    if (has_text(list, text))
        return 0;
    return json_array_append_new(list, json_pack("{s:o}", "text", tt_json_text(text)));
}

int tt_warnings_collect(const struct tt_run_data *run, json_t *list)
{
    const char *said;
    const json_t *ignored;
    char text[TEXT];

    json_object_foreach(run->words, said, ignored) if (append(list, said) != 0) return -1;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i](run, text) && append(list, text) != 0)
            return -1;
    return 0;
}
