/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every metric, declared once, as a row: name, unit, label in tables, which way is better
 * (metrics.c has the words), where its value comes from, in which tables it stands beside that of a
 * run, and its one definition. RECORDS: formulas.c has a function of its name. WORKLOAD: the
 * workload tells it (tt_result), and nothing else is needed. CALLS: a percentile of calls, whose
 * rows come from the list of calls (record/phases.h) and whose values from latency.c.
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
#include "record/phases.h"

/* tutti compare, unless metrics are named. With the same plan a rate over the whole run is the
 * runtime over again, so it is not. */
#define TT_SHOWN_COMPARED 1u
#define TT_SHOWN_ENSEMBLE 2u /* what else changed beside others */
#define TT_SHOWN_LISTED 4u   /* tutti runs */
#define TT_SHOWN_CALLS 8u    /* a cell in the table of calls of a result, not a line by itself */

/* Percentiles of every kind of call. X is whatever macro TT_METRICS was given, which users call X.
 */
#define TT__SHOWN_OF(id) \
    (TT_SHOWN_CALLS | (TT_##id == TT_CALL_WRITE || TT_##id == TT_CALL_READ ? TT_SHOWN_COMPARED : 0))
#define TT__PERCENTILES(id, call, text) \
    X(call##_p50, "s", #call " p50", TIME, CALLS, TT__SHOWN_OF(id), \
      "half of the " #call " calls of all ranks took no longer; known from 2 calls on") \
    X(call##_p99, "s", #call " p99", TIME, CALLS, TT__SHOWN_OF(id), \
      "99 % of the " #call " calls of all ranks took no longer; known from 100 calls on") \
    X(call##_p999, "s", #call " p99.9", TIME, CALLS, TT_SHOWN_CALLS, \
      "99.9 % of the " #call " calls of all ranks took no longer; known from 1,000 calls on")

/* clang-format off */
#define TT_METRICS(X) \
    X(runtime, "s", "runtime", TIME, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_LISTED, \
      "wall time from the common start to the end of the last rank, with all dumps " \
      "complete and synced as asked; without opening before the start, and without baseline " \
      "epochs and the one after each, of which nothing else counts either") \
    X(residual, "1", "residual", COUNT, WORKLOAD, 0, \
      "largest |new - old| over all points in the last iteration") \
    X(updates, "1", "lattice updates", COUNT, WORKLOAD, 0, \
      "points computed, over all ranks and all iterations outside of baseline epochs; every " \
      "iteration counts alike") \
    X(update_rate, "1/s", "update rate", RATE, RECORDS, 0, \
      "updates / runtime") \
    X(flops, "flop", "floating-point work", COUNT, WORKLOAD, 0, \
      "additions and multiplications of the workload's formula for all updates; counted, " \
      "not measured") \
    X(flop_rate, "flop/s", "flop rate", RATE, RECORDS, 0, \
      "flops / runtime") \
    X(bytes_communicated, "B", "communicated", COUNT, RECORDS, 0, \
      "bytes handed to MPI for sending by the workload (halo, collective filler, traffic), " \
      "over all ranks; not those inside I/O libraries; a message of traffic counts for " \
      "each rank that gets it") \
    X(communication_rate, "B/s", "communication rate", RATE, RECORDS, 0, \
      "bytes_communicated / sum over iterations of the slowest rank's time in halo exchange " \
      "and collectives; where ranks do not wait for each other (traffic), the slowest rank's " \
      "time of all; where computation goes on beside an exchange, only the rest of it is seen") \
    X(bytes_written, "B", "written", COUNT, RECORDS, 0, \
      "payload bytes of all dumps but those of baseline epochs, over all ranks; not what " \
      "libraries add") \
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
      "bytes_written / sum over dumps of the slowest rank's time in write and sync calls, " \
      "wherever they ran (dumps that end in one iteration count as one), and in waiting for its " \
      "turn (parts); with native " \
      "nonblocking calls, whose end nobody sees, only in baseline epochs. Staging of a device's data " \
      "is not in it, but for transfers (bulk), which begin and end on the device") \
    X(read_rate, "B/s", "read rate", RATE, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "bytes_read / sum over loads of the slowest rank's time in read calls, wherever they " \
      "ran; where ranks do not wait for each other (reader), the slowest rank's time of all. Staging " \
      "as in write_rate") \
    X(write_iops, "1/s", "write IOPS", RATE, RECORDS, 0, \
      "write calls (tutti explain write) per second of the time that write_rate uses: " \
      "write_rate x write calls / bytes_written") \
    X(read_iops, "1/s", "read IOPS", RATE, RECORDS, 0, \
      "read calls (tutti explain read) per second of the time that read_rate uses: " \
      "read_rate x read calls / bytes_read") \
    X(application_rate, "B/s", "application rate", RATE, RECORDS, TT_SHOWN_COMPARED, \
      "bytes_written / runtime; where all reading follows all writing, / the time from the first " \
      "dump to the end of the last; of accesses (bulk), bytes of the writing ones / their own " \
      "time, from before opening to after closing") \
    X(application_read_rate, "B/s", "application reads", RATE, RECORDS, TT_SHOWN_COMPARED, \
      "the same as application_rate, of bytes_read and the reading accesses") \
    X(open_to_close_rate, "B/s", "open-to-close rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "bytes_written / the slowest rank's time in opening, writing and closing all files, with the " \
      "computation between records (climate), but not that between dumps (parts)") \
    X(requests, "1", "requests", COUNT, WORKLOAD, 0, \
      "pieces of files that the ranks asked for, each contiguous, as the decomposition lists " \
      "them: over all ranks, variables and records written, or read if nothing is written " \
      "(climate)") \
    X(create_rate, "1/s", "create rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items made by all ranks / the slowest rank's time, added up over all " \
      "repetitions") \
    X(stat_rate, "1/s", "stat rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items looked up by all ranks / the slowest rank's time, added up over all " \
      "repetitions") \
    X(open_rate, "1/s", "open rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items opened, read and closed by all ranks / the slowest rank's time, added " \
      "up over all repetitions") \
    X(rename_rate, "1/s", "rename rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items renamed by all ranks / the slowest rank's time, added up over all " \
      "repetitions") \
    X(remove_rate, "1/s", "remove rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "items removed by all ranks / the slowest rank's time, added up over all " \
      "repetitions") \
    X(accelerator_utilisation, "1", "accelerator use", SHARE_WANTED, WORKLOAD, \
      TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "time in computation, the mean over ranks / time from the end of an epoch's first step to " \
      "that of its last, both added up over epochs (training)") \
    X(sample_rate, "1/s", "samples per second", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "samples that all ranks used in the steps of accelerator_utilisation / the time that it " \
      "uses; the first step of an epoch is in neither") \
    X(checkpoint_time, "s", "checkpoint", TIME, WORKLOAD, TT_SHOWN_COMPARED, \
      "mean over checkpoints of the wall time from the beginning of saving until all files are " \
      "durable and stand in their place; beside computation, until a step has seen that") \
    X(checkpoint_stall, "s", "checkpoint stall", TIME, WORKLOAD, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "mean over checkpoints of the slowest rank's time in which training stands still: copying, " \
      "writing, waiting, syncing, renaming and removing in the main thread") \
    X(checkpoint_rate, "B/s", "checkpoint rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "bytes of a checkpoint / checkpoint_time") \
    X(restore_time, "s", "restore", TIME, WORKLOAD, TT_SHOWN_COMPARED, \
      "wall time in which the last checkpoint was read by all ranks that restore it, opening " \
      "included; the slowest rank's") \
    X(restore_rate, "B/s", "restore rate", RATE, WORKLOAD, TT_SHOWN_COMPARED, \
      "bytes restored by all ranks / restore_time") \
    X(hidden_fraction, "1", "hidden I/O", SHARE_WANTED, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "1 - (epoch_time - compute_only) / io_only; 0 if nothing runs beside the I/O (overlap " \
      "none, sync write or dump); unknown with sync never or close, where nobody sees when " \
      "the I/O ends") \
    X(hidden_fraction_low, "1", "hidden I/O, from", COUNT, RECORDS, 0, \
      "lower end of the 95 % interval of hidden_fraction: percentile bootstrap over this " \
      "run's epochs, which share its luck; for what another run may give, repeat the run") \
    X(hidden_fraction_high, "1", "hidden I/O, to", COUNT, RECORDS, 0, \
      "upper end of that interval") \
    X(hidden_fraction_median, "1", "hidden I/O, median", SHARE_WANTED, RECORDS, 0, \
      "the same as hidden_fraction of medians over epochs, which leave out stalls that come " \
      "now and then; a little above 1 is noise, much above 1 means that the computation itself " \
      "took longer in baseline epochs") \
    X(speedup, "1", "speed-up over sync", RATE, RECORDS, TT_SHOWN_COMPARED, \
      "speed-up over doing the same synchronously: (compute_only + io_only) / epoch_time") \
    X(hidden_read_fraction, "1", "hidden reads", SHARE_WANTED, RECORDS, TT_SHOWN_COMPARED, \
      "1 - time waited for reads / the read calls' own duration, both summed over loads of " \
      "the slowest rank's; where reads are prefetched; the first read, which nothing can " \
      "hide, is in it") \
    X(inflation, "1", "inflation", COST, RECORDS, TT_SHOWN_COMPARED, \
      "mean computation and communication per epoch with I/O beside it / the same in " \
      "baseline epochs; 1 means undisturbed") \
    X(epoch_time, "s", "epoch", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "mean wall time of an epoch with overlap: from one dump to the next, wait and sync " \
      "included; the slowest rank's (with several dumps in flight: of all epochs from one " \
      "baseline to the next, because one waits for the dumps of others)") \
    X(epoch_time_median, "s", "epoch, median", TIME, RECORDS, 0, \
      "median of what epoch_time is the mean of") \
    X(epoch_compute, "s", "epoch computation", TIME, RECORDS, 0, \
      "mean over the epochs of epoch_time of the slowest rank's wall time without its visible " \
      "I/O: what compute_only is where I/O goes on beside it") \
    X(epoch_bytes, "B", "dump size", COUNT, RECORDS, 0, \
      "payload bytes over all ranks of one dump, of those whose epochs epoch_time is the mean of") \
    X(compute_only, "s", "compute-only", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "mean over baseline epochs of the slowest rank's wall time without its visible I/O " \
      "(copy, submit, wait, sync, open, close)") \
    X(io_only, "s", "I/O-only", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "mean over baseline epochs of the slowest rank's write and sync, of staging on a device, and of " \
      "opening and closing files of that epoch alone") \
    X(copy_time, "s", "copying", TIME, RECORDS, TT_SHOWN_COMPARED, \
      "the slowest rank's time in copies to staging buffers, and in conversions to the layout of " \
      "the file where the workload makes them") \
    X(epoch_copy, "s", "copying per epoch", TIME, RECORDS, 0, \
      "sum over dumps of the slowest rank's time in the copy / epochs: what asynchrony costs " \
      "the computation at least") \
    X(epoch_helper_cpu, "s", "helper CPU per epoch", TIME, RECORDS, 0, \
      "mean over the epochs of epoch_time of the CPU time that the helper thread took for the " \
      "dump, on the rank where it took most; without a free CPU, computation waits for it") \
    X(copy_rate, "B/s", "copy rate", RATE, RECORDS, 0, \
      "bytes_written / sum over dumps of the slowest rank's time in the copy to staging " \
      "buffers; unknown unless overlap is async, where every dump is copied") \
    X(kernel_time, "s", "kernels per iteration", TIME, WORKLOAD, 0, \
      "mean over iterations, but for frames that are read, of the time from the beginning of the " \
      "first kernel that computes to the end of the last, by the device's own clock; on the slowest " \
      "rank. Gaps between them " \
      "count, and so do kernels of others on a shared device; kernels for halos, dumps, content " \
      "and a residual alone do not. Where halos overlap, interior and rest are timed apart") \
    X(staged, "B", "staged", COUNT, WORKLOAD, 0, \
      "bytes that moved between devices and the host's memory to be written or after they were " \
      "read, over all ranks and with baseline epochs") \
    X(staging_time, "s", "staging", TIME, WORKLOAD, 0, \
      "time in which these bytes moved, by the devices' own clocks, summed over ranks") \
    X(staging_rate, "B/s", "staging rate", RATE, RECORDS, 0, \
      "staged / staging_time: what one rank gets while its own data moves, in both directions " \
      "together; ranks that share a device also share its link") \
    X(epoch_staging, "s", "staging per epoch", TIME, RECORDS, 0, \
      "mean over epochs, but for those of the baseline, of the time in which a dump left the device, " \
      "by the device's own clock; of the rank whose I/O was the longest") \
    X(hidden_staging, "1", "hidden staging", SHARE_WANTED, RECORDS, TT_SHOWN_COMPARED, \
      "1 - visible staging / staging, the part of io_only in which data left or entered a device. " \
      "Visible staging is the caller's copy in the epochs of epoch_time, or what of epoch_time - " \
      "compute_only is longer than the rest of io_only, whichever is longer; at most all staging") \
    X(hidden_storage, "1", "hidden storage", SHARE_WANTED, RECORDS, TT_SHOWN_COMPARED, \
      "1 - (epoch_time - compute_only - visible staging) / (io_only - staging), as in " \
      "hidden_staging. Both, weighted by their parts of io_only, are hidden_fraction") \
    X(device_utilisation, "1", "device utilisation", COUNT, WORKLOAD, 0, \
      "part of the time in which kernels ran on rank 0's device, as its library says; mean of ten looks " \
      "a second in the measured time; of all who use it") \
    X(device_memory, "B", "device memory", NEED, WORKLOAD, 0, \
      "largest memory in use on rank 0's device, by ten looks a second in the measured time; of all " \
      "who use it") \
    X(t_init, "s", "opening before", TIME, RECORDS, 0, \
      "the slowest rank's time in opening files before the common start, which runtime does " \
      "not have") \
    X(t_term, "s", "closing after", TIME, RECORDS, 0, \
      "the slowest rank's time in waiting, sync and closing of files after the runtime") \
    X(cpu_time, "s", "CPU time", NEED, RECORDS, TT_SHOWN_COMPARED, \
      "user and system time of all ranks, children included") \
    X(cpu_share, "1", "CPU share", COUNT, RECORDS, TT_SHOWN_ENSEMBLE, \
      "cpu_time / (runtime x ranks); above 1 with threads") \
    X(cpu_wait, "1", "waiting for a CPU", SHARE, RECORDS, TT_SHOWN_COMPARED | TT_SHOWN_ENSEMBLE, \
      "time in which a rank's main thread was ready but had no CPU / runtime; of the rank " \
      "that waited longest, as the kernel counts it") \
    X(cpu_others, "1", "CPUs used by others", SHARE, RECORDS, TT_SHOWN_COMPARED, \
      "CPU time of everything but this run's ranks on the node of rank 0 / runtime, as the " \
      "kernel counts it") \
    X(peak_memory, "B", "peak memory", NEED, RECORDS, TT_SHOWN_COMPARED, \
      "largest resident set of any rank") \
    X(imbalance, "1", "imbalance", NEED, RECORDS, TT_SHOWN_COMPARED, \
      "slowest rank's computation time / mean over ranks") \
    X(files, "1", "files", COUNT, RECORDS, 0, \
      "data files made") \
    TT_CALLS(TT__PERCENTILES)
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

enum tt_metric_source { TT_FROM_RECORDS, TT_FROM_WORKLOAD, TT_FROM_CALLS };

struct tt_metric {
    const char *name, *unit, *label, *definition;
    struct tt_metric_direction direction;
    enum tt_metric_source source;
    unsigned shown;
};
extern const struct tt_metric tt_metrics[TT_NMETRICS];
const struct tt_metric *tt_find_metric(const char *name); /* NULL if there is none */

#endif
