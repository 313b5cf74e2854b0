/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything a run directory says about its run, read and added up once; result, metrics, warnings
 * and what an ensemble asks are functions of it. */
#ifndef TT_ANALYSIS_RUN_DATA_H
#define TT_ANALYSIS_RUN_DATA_H

#include <stdbool.h>

#include <jansson.h>

#include "analysis/metrics.h"
#include "base/error.h"
#include "record/records.h"

/* One epoch over all ranks: the slowest rank's seconds, the sum of bytes. */
struct tt_epoch {
    uint64_t number;
    bool baseline, complete; /* complete: every rank recorded it */
    uint32_t iterations;
    double span, compute, io, visible, bytes;
};

/* Medians over the epochs that did the same work, in seconds. */
struct tt_epoch_medians {
    size_t overlapped, baselines; /* how many of each there were */
    double span, compute;         /* overlapped epochs; 0 if there is none */
    double compute_only, io_only; /* baseline epochs; 0 if there is none */
};

struct tt_value {
    bool known;
    double value;
    const char *note; /* NULL: nothing to add; always there if the value is not known */
};

struct tt_run_data {
    const char *directory;
    json_t *plan, *outcome; /* outcome is NULL if the run did not write one */
    const json_t *environment, *overlap, *facts, *tables; /* rank 0's, or NULL */

    size_t nranks; /* ranks that left readable records, in order of rank */
    struct tt_rank_records *ranks;
    double (*seconds)[TT_NPHASES]; /* per rank: totals over all iterations */
    double outside[TT_NPHASES];    /* of them before or after the runtime; the slowest rank's */
    uint64_t size;                 /* ranks the run had */
    bool finished;                 /* every rank of the run ended well */
    bool complete;                 /* every rank told how it ended, well or not */
    double bytes_written, bytes_read, bytes_communicated;

    size_t nepochs;
    struct tt_epoch *epochs;
    struct tt_epoch_medians medians;

    json_t *counters; /* what the nodes counted in the measured time, or NULL */

    char damage[512]; /* why records of some rank could not be read; empty: none */
    struct tt_value metrics[TT_NMETRICS];
};

/* The files of ranks in a run directory, in any order; stops at a failure. */
typedef int tt_rank_file(void *context, const char *path, struct tt_error *e);
int tt_each_rank_file(const char *directory, tt_rank_file *file, void *context, struct tt_error *e);
int tt_run_data_load(struct tt_run_data *run, const char *directory, struct tt_error *e);
void tt_run_data_free(struct tt_run_data *run);
/* From a rank's start to its end, with what was done aside; false if it did not get there. */
bool tt_rank_span(const struct tt_rank_records *r, int64_t *ns);

/* ---- times on the wall clock, by which jobs at once can be laid over each other ---- */

struct tt_window {
    int64_t from_ns, to_ns;
};
/* The measured time, from the first rank's start to the last one's end; false if there is none. */
bool tt_run_data_window(const struct tt_run_data *run, struct tt_window *out);
/* window.c: {"iterations", "bytes_written", "bytes_read", "bytes_communicated"}: of iterations that
 * lie partly in the window, that part; iterations are rank 0's. NULL: no memory. */
json_t *tt_window_work(const struct tt_run_data *run, const struct tt_window *w);
/* window.c: {"compute": {"median", "p99", "total"}, ...} in seconds, over the iterations in which
 * the phase occurred, of the slowest rank in each; what came before and after the loop is in total
 * only. NULL: no memory. */
json_t *tt_phase_times(const struct tt_run_data *run);

/* ---- questions ---- */

/* Add the nodes' counters, which not everybody needs. */
int tt_run_data_load_counters(struct tt_run_data *run, struct tt_error *e);

/* A parameter of the plan as text, or "" if the plan has no such key. */
const char *tt_run_data_parameter(const struct tt_run_data *run, const char *key);
/* Whether all I/O was done and synced by the caller, so that nothing could run beside it. */
bool tt_run_data_is_serial(const struct tt_run_data *run);
/* The slowest rank's seconds in two phases together (the same one twice counts once). */
double tt_run_data_slowest(const struct tt_run_data *run, enum tt_phase a, enum tt_phase b);

int tt_epochs_collect(struct tt_run_data *run, struct tt_error *e);
void tt_metrics_compute(struct tt_run_data *run);
/* Append {"text": ...} for every rule that applies. */
int tt_warnings_collect(const struct tt_run_data *run, json_t *list);

#endif
