/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank appends while it runs: DIRECTORY/records/00000.ttr, one file per rank, a header and
 * then chunks. A crash leaves what was flushed. Readers treat the file as untrusted. */
#ifndef TT_RECORD_RECORDS_H
#define TT_RECORD_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "record/histogram.h"
#include "record/phases.h"

#define TT_RECORDS_MAGIC 0x31525454u /* "TTR1" */

enum tt_rank_state { TT_RANK_RUNNING, TT_RANK_DONE, TT_RANK_FAILED, TT_RANK_TERMINATED };

struct tt_records_header {
    uint32_t magic, nphases, rank, size;
    uint32_t state; /* enum tt_rank_state, rewritten in place */
    uint32_t pid;
    int64_t start_monotonic_ns, start_wall_ns; /* the same instant on both clocks */
    char host[64];
};

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
struct tt_epoch_record {
    uint64_t epoch; /* from 1 */
    uint32_t baseline, iterations;
    int64_t span_ns;    /* from before the copy to after wait and sync of this dump */
    int64_t compute_ns; /* compute, halo and collective inside it */
    int64_t io_ns;      /* write and sync, their own duration */
    int64_t files_ns;   /* opening and closing files that only this dump has, wherever it ran */
    int64_t visible_ns; /* copy, submit, wait, sync, open and close in the main thread */
    uint64_t bytes;
};

enum tt_chunk_type {
    TT_CHUNK_ITERATIONS = 1, /* tt_iteration_record[] */
    TT_CHUNK_EPOCHS = 2,     /* tt_epoch_record[] */
    TT_CHUNK_CALLS = 3,      /* tt_histogram[TT_NCALLS] */
    TT_CHUNK_JSON = 4,       /* an object: counters, results, facts, warnings of this rank */
};
struct tt_chunk_header {
    uint32_t type, pad;
    uint64_t length; /* bytes that follow */
};

/* Everything one rank left behind, read back. */
struct tt_rank_records {
    struct tt_records_header header;
    size_t niterations, nepochs;
    struct tt_iteration_record *iterations;
    struct tt_epoch_record *epochs;
    struct tt_histogram
        *calls;      /* TT_NCALLS of them, or NULL if the rank did not live to write them */
    json_t *summary; /* merged objects, or NULL */
    int truncated;   /* the last chunk was cut off */
};
int tt_records_load(const char *path, struct tt_rank_records *out, struct tt_error *e);
/* The same for whoever needs only the header and the iterations: these are handed on, some at a
 * time, and a long run takes no more memory than a short one. */
typedef void tt_records_take(void *context, const struct tt_iteration_record *list, size_t n);
int tt_records_scan(const char *path, tt_records_take *taker, void *context,
                    struct tt_records_header *header, struct tt_error *e);
void tt_records_unload(struct tt_rank_records *r);
/* Whether the rank was started on this node and its process still has the file open. */
bool tt_records_are_held(const char *path, const struct tt_records_header *h);

#endif
