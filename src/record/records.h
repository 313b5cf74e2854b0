/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the ranks of a node leave while they run: DIRECTORY/records/HOST.ttr, one file per node, a
 * header and then chunks. Ranks leave their records in memory of the node (record/memory.h), and
 * one of them moves them here. Readers treat the file as untrusted.
 *
 * A chunk has a kind, a length and a rank, and says how long one of its records is. A reader skips
 * kinds that it does not know. Records grow at their end only: what a reader does not know of a
 * longer one it leaves out, and what a shorter one does not have is zero. */
#ifndef TT_RECORD_RECORDS_H
#define TT_RECORD_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "record/histogram.h"
#include "record/phases.h"
#include "record/timeline.h"
#include "record/trace.h"

#define TT_RECORDS_MAGIC 0x32525454u /* "TTR2"; the first version had a file per rank */

enum tt_rank_state { TT_RANK_RUNNING, TT_RANK_DONE, TT_RANK_FAILED, TT_RANK_TERMINATED };

/* At the beginning of the file. */
struct tt_records_start {
    uint32_t magic, nphases;
};

/* Of a rank: the first chunk that it has in the file. Another one, later, has a new state. */
struct tt_records_header {
    uint32_t rank, size;
    uint32_t state; /* enum tt_rank_state */
    uint32_t pid;
    int64_t start_monotonic_ns, start_wall_ns; /* the same instant on both clocks */
    char host[64];
};

/* In the number of an iteration: this part of it lies in a baseline epoch, and so is not part of
 * the job that was asked for. An iteration in which such an epoch begins or ends has a record of
 * each part. */
#define TT_ITERATION_EXCLUDED (UINT64_C(1) << 63)

/* One iteration of one rank. */
struct tt_iteration_record {
    uint64_t iteration; /* from 1; 0: what happened before and after the loop */
    int64_t start_ns;   /* monotonic, after the run's start */
    int64_t span_ns;    /* wall time of the iteration */
    uint64_t phase_ns[TT_NPHASES];
    uint64_t bytes_written, bytes_read, bytes_communicated;
};

/* From one dump to the next. Baseline epochs do the same work one after the other: first all I/O,
 * then all computation; that is where compute-only and I/O-only come from. */
enum {
    TT_EPOCH_OVERLAPPED,
    TT_EPOCH_BASELINE_INSIDE, /* of a version that did not exclude its iterations */
    TT_EPOCH_BASELINE,
    TT_EPOCH_SETTLING, /* overlapped, but after a baseline, which lets storage rest: excluded, too
                        */
};
struct tt_epoch_record {
    uint64_t epoch; /* from 1 */
    uint32_t kind;
    uint32_t iterations;
    int64_t span_ns;    /* from before the copy to after wait and sync of this dump */
    int64_t compute_ns; /* compute, halo and collective inside it */
    int64_t io_ns;      /* write and sync, their own duration */
    int64_t files_ns; /* opening and closing files that only this dump has, and staging, wherever it
                         ran */
    int64_t visible_ns; /* copy, submit, wait, sync, open and close in the main thread */
    uint64_t bytes;
    int64_t helper_cpu_ns; /* CPU time of the helper for this dump */
    int64_t staging_ns;    /* the part of files_ns between a device and the host */
    int64_t copy_ns;       /* the part of visible_ns before the computation may go on */
};

/* What ranks do together in an iteration is over when the slowest of them is: times of which the
 * slowest rank's count in each iteration. */
enum tt_joint {
    TT_JOINT_WRITE, /* io_write and io_sync */
    TT_JOINT_READ,  /* io_read */
    TT_JOINT_COMMUNICATION,
    TT_JOINT_LOAD, /* waiting for reads */
    TT_JOINT_COPY,
    TT_NJOINT
};

/* An iteration of many ranks, where those of each are too many to be kept (record/reduce.h). */
struct tt_reduced {
    uint64_t iteration;        /* with its mark */
    uint32_t ranks, last;      /* how many it has; which of them worked longest, */
    double worked_ns;          /* so long, */
    float last_ns[TT_NPHASES]; /* and at what */
    float min_ns[TT_NPHASES], median_ns[TT_NPHASES], max_ns[TT_NPHASES]; /* over the ranks */
    float joint_ns[TT_NJOINT];                                           /* the longest */
    uint64_t bytes_written, bytes_read, bytes_communicated;              /* of all */
    int64_t start_ns, end_ns; /* of the first and of the last */
};

/* An epoch likewise: the longest times, the sum of bytes. */
struct tt_reduced_epoch {
    uint64_t epoch;
    uint32_t kind, iterations, ranks;
    uint32_t differs; /* ranks do not agree on kind or iterations */
    int64_t span_ns, compute_ns, visible_ns;
    int64_t write_ns, io_ns; /* without and with opening and closing files */
    int64_t rest_ns;         /* of the span, without what is visible */
    uint64_t bytes;
    int64_t helper_cpu_ns, staging_ns, copy_ns;
};

/* What the reduced iterations of one rank add up to. */
struct tt_rank_totals {
    uint64_t iterations;           /* how many, with those in baseline epochs */
    uint64_t phase_ns[TT_NPHASES]; /* without these, */
    uint64_t bytes_written, bytes_read, bytes_communicated;
    int64_t excluded_ns; /* which took so long */
    int64_t end_ns;      /* of the last one, after the start */
};

enum tt_chunk_type {
    TT_CHUNK_ITERATIONS = 1, /* tt_iteration_record[] */
    TT_CHUNK_EPOCHS = 2,     /* tt_epoch_record[] */
    TT_CHUNK_JSON = 4,       /* an object: counters, results, facts, warnings of this rank */
    TT_CHUNK_TIMELINES = 5,  /* tt_timeline[2], of the node: writing and reading */
    TT_CHUNK_SPANS = 6,      /* tt_span[], with --trace; only tt_records_scan_spans reads them */
    TT_CHUNK_CALLS = 7,      /* latencies of calls on the node: record/histogram.h */
    TT_CHUNK_RANK = 8,       /* tt_records_header */
    TT_CHUNK_REDUCED = 9,    /* of the node: record/reduce.h */
    TT_CHUNK_REDUCED_EPOCHS = 10, /* tt_reduced_epoch[], of the node */
    TT_CHUNK_TOTALS = 11,         /* tt_rank_totals; the last one counts */
    TT_CHUNK_SAMPLES = 12, /* tt_iteration_record[] that are in reduced ones, too, of some ranks */
};
/* Kinds of other versions lie below, too, and are skipped. What is above is no chunk: the file is
 * damaged. */
#define TT_CHUNK_HIGHEST 0xffff
#define TT_NODE_SLOT UINT32_MAX /* of what is the whole node's */
struct tt_chunk_header {
    uint32_t type;
    uint32_t item; /* bytes of one record; 0: as long as the reader's own, or no records */
    uint32_t slot; /* which of the ranks in this file, counted in the order of their first chunks */
    uint32_t rank;
    uint64_t length; /* bytes that follow */
};

/* Everything one rank left behind, read back. */
struct tt_rank_records {
    struct tt_records_header header;
    size_t niterations, nepochs;
    struct tt_iteration_record *iterations;
    size_t nexcluded; /* iterations[niterations + i]: those in baseline epochs, without the mark */
    struct tt_epoch_record *epochs;
    struct tt_rank_totals totals; /* of its reduced iterations */
    json_t *summary;              /* merged objects, or NULL */
};
/* And a node. */
struct tt_node_records {
    size_t nranks;
    struct tt_rank_records *ranks;
    size_t nreduced, nreduced_epochs; /* in any order; one may be there in parts */
    struct tt_reduced *reduced;
    struct tt_reduced_epoch *reduced_epochs;
    struct tt_histogram *calls;    /* TT_NCALLS, or NULL: no rank lived to leave any */
    struct tt_timeline *timelines; /* of writing and reading, or NULL likewise */
    bool truncated;                /* the last chunk was cut off */
};
int tt_records_load(const char *path, struct tt_node_records *out, struct tt_error *e);
void tt_records_unload(struct tt_node_records *n);
void tt_rank_records_free(struct tt_rank_records *r);

/* A list of n, grown by tt_list_room() only, with room for one more, or NULL: sizes double. */
void *tt_list_room(void *list, size_t n, size_t size);
/* The files of nodes in a run directory, in any order; stops at a failure. */
typedef int tt_node_file(void *context, const char *path, struct tt_error *e);
int tt_each_node_file(const char *directory, tt_node_file *file, void *context, struct tt_error *e);

/* Whether a file there has records of this rank; of damaged ones nobody knows. */
#define TT_ANY_RANK (-1)
bool tt_records_have(const char *directory, long long rank);

/* Where in a file the records of its ranks are, for whoever reads them one after the other: a long
 * run takes hardly more memory than a short one. */
struct tt_records_index {
    char *path;
    size_t nranks;
    struct tt_records_header *ranks;
    size_t nplaces;
    struct tt_records_place *places; /* in the order of slots, and of the file within one */
};
int tt_records_index(const char *path, struct tt_records_index *out, struct tt_error *e);
void tt_records_index_free(struct tt_records_index *index);
/* All iterations that there are of a rank, some at a time; its number is that in the index. */
typedef void tt_records_take(void *context, const struct tt_iteration_record *list, size_t n);
int tt_records_scan(const struct tt_records_index *index, size_t rank, tt_records_take *taker,
                    void *context, struct tt_error *e);
/* The same for the spans, with the merged objects of the rank: a new reference, or NULL. */
typedef void tt_records_take_spans(void *context, const struct tt_span *list, size_t n);
int tt_records_scan_spans(const struct tt_records_index *index, size_t rank,
                          tt_records_take_spans *taker, void *context, json_t **summary,
                          struct tt_error *e);

#endif
