/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every metric, declared once, as a row: name, unit, label in tables, which way is better
 * (metrics.c has the words), where its value comes from, in which tables it stands beside that of a
 * run, and its one definition. RECORDS: formulas.c has a function of its name. WORKLOAD: the
 * workload tells it (tt_result), and nothing else is needed.
 *
 * result.json holds the metrics that there were when it was made, and is made again only if its
 * format is older: a new metric, or a new definition, reaches old runs only if TT_RESULT_FORMAT
 * (analysis/result.h) is raised; and the index, which reads no result twice, only if its schema
 * is (store/store.c), or by tutti index --rebuild. */
#ifndef TT_ANALYSIS_METRICS_H
#define TT_ANALYSIS_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/statistics.h"

/* tutti compare, unless metrics are named. With the same plan a rate over the whole run is the
 * runtime over again, so it is not. */
#define TT_SHOWN_COMPARED 1u
#define TT_SHOWN_ENSEMBLE 2u /* what else changed beside others */
#define TT_SHOWN_LISTED 4u   /* tutti runs */

/* clang-format off */
#define TT_METRICS(X) \
    X(runtime, "s", "runtime", TIME, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_LISTED, \
      "wall time from the common start to the end of the last rank, with all dumps " \
      "complete and synced as asked; without opening before the start") \
    X(residual, "1", "residual", COUNT, WORKLOAD, 0, \
      "largest |new - old| over all points in the last iteration") \
    X(updates, "1", "lattice updates", COUNT, WORKLOAD, 0, \
      "points computed, over all iterations and ranks") \
    X(update_rate, "1/s", "update rate", RATE, RECORDS, 0, \
      "updates / runtime") \
    X(flops, "flop", "floating-point work", COUNT, WORKLOAD, 0, \
      "additions and multiplications of the workload's formula, over all points, " \
      "iterations and ranks; counted, not measured") \
    X(flop_rate, "flop/s", "flop rate", RATE, RECORDS, 0, \
      "flops / runtime") \
    X(bytes_communicated, "B", "communicated", COUNT, RECORDS, 0, \
      "bytes handed to MPI for sending by the workload (halo, collective filler, traffic), " \
      "over all ranks; not those inside I/O libraries; a message of traffic counts for " \
      "each rank that gets it") \
    X(communication_rate, "B/s", "communication rate", RATE, RECORDS, 0, \
      "bytes_communicated / the slowest rank's time in halo exchange and collectives; " \
      "where computation goes on beside an exchange, only the rest of it is seen") \
    X(bytes_written, "B", "written", COUNT, RECORDS, 0, \
      "payload bytes of all dumps, over all ranks; not what libraries add") \
    X(bytes_read, "B", "read", COUNT, RECORDS, 0, \
      "payload bytes of all loads, over all ranks") \
    X(bytes_cached, "B", "found in the cache", COUNT, WORKLOAD, 0, \
      "bytes of files that were in the node's page cache already when they were opened to " \
      "be read, as the kernel counts them, over all files and ranks") \
    X(coverage, "1", "data touched", COUNT, WORKLOAD, 0, \
      "share of the data that was read or written at least once; below 1 where random " \
      "places or readers repeat; the least of all accesses") \
    X(data_compressed, "1", "data compresses to", COUNT, WORKLOAD, 0, \
      "size after zstd / size before, of a sample of what rank 0 writes, in pieces of 128 " \
      "KiB") \
    X(data_duplicate, "1", "data repeats", COUNT, WORKLOAD, 0, \
      "share of the 4 KiB chunks of that sample which had occurred in it before") \
    X(frame_rate, "B/s", "frame rate", RATE, RECORDS, TT_SHOWN_COMPARED, \
      "median over frames, without those dropped, of bytes of the frame / median over " \
      "ranks of the time in its write and sync calls, with conversion and opening as asked " \
      "(frames)") \
    X(frame_rate_low, "B/s", "frame rate, from", COUNT, RECORDS, 0, \
      "lower end of the 95 % interval of frame_rate: percentile bootstrap over this run's " \
      "frames, which share its luck; for what another run may give, repeat the run") \
    X(frame_rate_high, "B/s", "frame rate, to", COUNT, RECORDS, 0, \
      "upper end of that interval") \
    X(frame_read_rate, "B/s", "frame read rate", RATE, RECORDS, TT_SHOWN_COMPARED, \
      "the same as frame_rate, of the read calls of frames that were read") \
    X(write_rate, "B/s", "write rate", RATE, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE | TT_SHOWN_LISTED, \
      "bytes_written / time of the I/O phases: the slowest rank's own duration of write " \
      "and sync calls, wherever they ran; with native nonblocking calls, whose end nobody " \
      "sees, only in baseline epochs") \
    X(read_rate, "B/s", "read rate", RATE, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "bytes_read / the slowest rank's own duration of read calls, wherever they ran") \
    X(application_rate, "B/s", "application rate", RATE, RECORDS, TT_SHOWN_COMPARED, \
      "bytes_written / runtime") \
    X(create_rate, "1/s", "create rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items made by all ranks / the slowest rank's time, with the barrier at the end of " \
      "each phase, over all repetitions") \
    X(stat_rate, "1/s", "stat rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items looked up by all ranks / the slowest rank's time, with the barrier at the end " \
      "of each phase, over all repetitions") \
    X(open_rate, "1/s", "open rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items opened, read and closed by all ranks / the slowest rank's time, with the " \
      "barrier at the end of each phase, over all repetitions") \
    X(rename_rate, "1/s", "rename rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items renamed by all ranks / the slowest rank's time, with the barrier at the end " \
      "of each phase, over all repetitions") \
    X(remove_rate, "1/s", "remove rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items removed by all ranks / the slowest rank's time, with the barrier at the end " \
      "of each phase, over all repetitions") \
    X(hidden_fraction, "1", "hidden I/O", SHARE_WANTED, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "1 - (epoch - compute-only) / I/O-only: medians over epochs (with several dumps in " \
      "flight: over the means of all epochs from one baseline to the next, because one " \
      "waits for the dumps of others); both baselines from serialised epochs inside the " \
      "same run; 0 if nothing runs beside the I/O (overlap none, sync write or dump)") \
    X(inflation, "1", "inflation", COST, RECORDS, TT_SHOWN_COMPARED, \
      "computation and communication per epoch with I/O beside it / the same in baseline " \
      "epochs (medians); 1 means undisturbed") \
    X(epoch_time, "s", "epoch", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "median wall time of an epoch with overlap: from one dump to the next, wait and sync " \
      "included") \
    X(compute_only, "s", "compute-only", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "median time of an epoch's computation and communication with no I/O in flight") \
    X(io_only, "s", "I/O-only", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "median time of an epoch's write and sync, and of opening and closing files of its " \
      "own, with no computation beside it") \
    X(copy_time, "s", "copying", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "the slowest rank's time in copies to staging buffers") \
    X(cpu_time, "s", "CPU time", COST, RECORDS, TT_SHOWN_COMPARED, \
      "user and system time of all ranks, children included") \
    X(cpu_share, "1", "CPU share", COUNT, RECORDS, TT_SHOWN_ENSEMBLE, \
      "cpu_time / (runtime x ranks); above 1 with threads") \
    X(cpu_wait, "1", "waiting for a CPU", SHARE_LOST, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "time in which a rank's main thread was ready but had no CPU / runtime; of the rank " \
      "that waited longest, as the kernel counts it") \
    X(cpu_others, "1", "CPUs used by others", SHARE_LOST, RECORDS, TT_SHOWN_COMPARED, \
      "CPU time of everything but this run's ranks on the node of rank 0 / runtime, as the " \
      "kernel counts it") \
    X(peak_memory, "B", "peak memory", COST, RECORDS, TT_SHOWN_COMPARED, \
      "largest resident set of any rank") \
    X(imbalance, "1", "imbalance", COST, RECORDS, TT_SHOWN_COMPARED, \
      "slowest rank's computation time / mean over ranks") \
    X(files, "1", "files", COUNT, RECORDS, 0, \
      "data files made")
/* clang-format on */

enum tt_metric_id {
#define X(name, unit, label, direction, source, shown, definition) TT_METRIC_##name,
    TT_METRICS(X)
#undef X
        TT_NMETRICS
};

/* The note of a metric that is not of this workload. */
#define TT_NOT_REPORTED "this workload does not report it"

/* Which way a metric is better, and how a difference of it is said. */
enum tt_better { TT_BETTER_NEITHER, TT_BETTER_LOWER, TT_BETTER_HIGHER };
struct tt_metric_direction {
    enum tt_better better;
    enum tt_effect effect; /* a difference for what has no natural zero */
    const char *up, *down; /* what a higher and a lower value are called */
};

enum tt_metric_source { TT_FROM_RECORDS, TT_FROM_WORKLOAD };

struct tt_metric {
    const char *name, *unit, *label, *definition;
    struct tt_metric_direction direction;
    enum tt_metric_source source;
    unsigned shown;
};
extern const struct tt_metric tt_metrics[TT_NMETRICS];
const struct tt_metric *tt_find_metric(const char *name); /* NULL if there is none */

#endif
