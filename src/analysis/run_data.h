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
    bool baseline, settling; /* neither: of the job that was asked for */
    bool complete;           /* every rank recorded it */
    uint32_t iterations;
    double span, compute, io, visible, bytes;
    double rest;  /* span without what is visible of I/O */
    double write; /* of io without opening and closing files */
    double helper_cpu;
    double staging, copy; /* of io, by the device's clock; of visible */
};

/* Over the epochs that did the same work, in seconds; 0 if there is none. */
struct tt_epoch_times {
    double span, compute;         /* overlapped epochs; compute: computation and communication */
    double compute_only, io_only; /* baseline epochs */
    double compute_alone;         /* likewise: what compute is in overlapped ones */
    double rest;                  /* overlapped epochs: span without what is visible of I/O */
    double helper_cpu;            /* overlapped epochs: CPU time of the helper for the dump */
    double staging;               /* baseline epochs: of io_only */
    double copy;                  /* overlapped epochs: the caller's copy */
};
struct tt_epoch_figures {
    size_t overlapped, baselines; /* how many of each there were */
    double bytes;                 /* of the dump of each, over all ranks */
    struct tt_epoch_times mean, median;
    struct tt_interval hidden; /* of the hidden fraction by means */
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
    double joint[TT_NJOINT];       /* seconds, added up over iterations */
    size_t nreduced;               /* iterations that nodes have reduced, in their order, */
    struct tt_reduced *reduced;    /* those in baseline epochs behind the one of their number */
    size_t nreduced_epochs;
    struct tt_reduced_epoch *reduced_epochs; /* in any order; several of one epoch */
    /* What all ranks reported, which their summaries no longer have: {name: {"kind", "value"}}; the
     * same words once; sizes of requests by file. */
    json_t *results, *words, *files;
    uint64_t size; /* ranks the run had */
    bool finished; /* every rank of the run ended well */
    bool complete; /* every rank told how it ended, well or not */
    bool apart;    /* ranks did not wait for each other between iterations */
    double bytes_written, bytes_read, bytes_communicated; /* in the job that was asked for */

    struct tt_excluded {      /* what baseline epochs took off it */
        size_t epochs;        /* of nepochs */
        double seconds;       /* the slowest rank's */
        double bytes_written; /* over all ranks */
        double iterations;
        double of_iterations; /* that the run made */
        bool inside;          /* records of an older version do not tell all of it apart */
        char note[160];       /* empty: there were none */
    } excluded;

    size_t nepochs;
    struct tt_epoch *epochs;
    struct tt_epoch_figures figures;

    /* TT_NCALLS: the calls of all ranks that got as far as writing their histograms. */
    struct tt_histogram *calls;
    struct tt_timeline timelines[2]; /* writing and reading of the same ranks, likewise */
    json_t *counters;                /* what the nodes counted in the measured time, or NULL */

    char damage[512]; /* why records of some rank could not be read; empty: none */
    struct tt_value metrics[TT_NMETRICS];
};

int tt_run_data_load(struct tt_run_data *run, const char *directory, struct tt_error *e);
void tt_run_data_free(struct tt_run_data *run);
/* The last iteration of which the records of all ranks are there; 0: nothing was reduced. */
uint64_t tt_run_data_whole(const struct tt_run_data *run);
/* From a rank's start to its end, with what was done aside; false if it did not get there. */
bool tt_rank_span(const struct tt_rank_records *r, int64_t *ns);

/* ---- times on the wall clock, by which jobs at once can be laid over each other ---- */

/* When the records of a rank begin, on the wall clock of rank 0's node. */
int64_t tt_rank_begin(const struct tt_rank_records *r);

struct tt_window {
    int64_t from_ns, to_ns;
};
/* The measured time, from the first rank's start to the last one's end; false if there is none. */
bool tt_run_data_window(const struct tt_run_data *run, struct tt_window *out);
/* window.c: {"iterations", "seconds" of rank 0 in them, "bytes_written", "bytes_read",
 * "bytes_communicated"}: of iterations that lie partly in the window, that part; iterations are
 * rank 0's. NULL: no memory. */
json_t *tt_window_work(const struct tt_run_data *run, const struct tt_window *w);
/* window.c: from the first iteration that moved bytes in this direction to the end of the last one;
 * false if none did. */
bool tt_direction_window(const struct tt_run_data *run, bool reading, struct tt_window *out);
/* window.c: fills run->joint. What lies outside of iterations counts as one more. */
int tt_join_iterations(struct tt_run_data *run, struct tt_error *e);
/* window.c: {"rank", "iterations", "of"}: which rank was most often the last to arrive, how often,
 * and in how many iterations. NULL: no memory, or there is no iteration of several ranks. */
json_t *tt_last_to_arrive(const struct tt_run_data *run);
/* window.c: {"compute": {"median", "p99", "total"}, ...} in seconds, over the iterations in which
 * the phase occurred. In each of them the last rank to arrive counts, the one that worked longest;
 * of halo, collective, open, close and other the shortest, since the rest is waiting for the last;
 * of io_* the slowest rank's. What came before and after the loop is in total only. NULL: no
 * memory. */
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

/* Seconds of baseline epochs that a rank of an older version counted to its runtime. */
double tt_baselines_inside(const struct tt_rank_records *r);
/* 1 - (epoch - compute-only) / I/O-only */
double tt_hidden_fraction(const struct tt_epoch_times *t);
int tt_epochs_collect(struct tt_run_data *run, struct tt_error *e);
void tt_metrics_compute(struct tt_run_data *run);
/* Append {"text": ...} for every rule that applies. */
int tt_warnings_collect(const struct tt_run_data *run, json_t *list);

#endif
