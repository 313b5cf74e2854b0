/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records what record/records.h describes. One per rank; it leaves the records in memory of the
 * node (record/memory.h). Of other threads only one flushes. */
#ifndef TT_RECORD_RECORDER_H
#define TT_RECORD_RECORDER_H

#include "record/records.h"

struct tt_recorder;

struct tt_recorder_how {
    int rank, size;
    bool writes;      /* to the run directory, for all ranks of the node: one of them does */
    const char *host; /* NULL: this one; ranks of other nodes may be simulated */
    uint64_t above;   /* instead of TT_REDUCE_ABOVE (record/reduce.h), where it is not 0 */
};
/* On this rank alone. */
int tt_recorder_open(const char *directory, const struct tt_recorder_how *how,
                     struct tt_recorder **out, struct tt_error *e);
/* Plain stores, unless the rank's memory is full: then it is written out first. */
void tt_recorder_iteration(struct tt_recorder *r, const struct tt_iteration_record *record);
void tt_recorder_epoch(struct tt_recorder *r, const struct tt_epoch_record *record);
/* By another thread than the main one, now and then. The rank that writes writes out what all ranks
 * of the node have left, or only if it is much. Another one does so only if its own memory is
 * nearly full: who should write is slow, or gone. */
void tt_recorder_flush(struct tt_recorder *r, bool all);
/* All latencies, once, at the end. */
void tt_recorder_calls(struct tt_recorder *r, const struct tt_histogram *calls);
/* Of writing and reading, likewise. */
void tt_recorder_timelines(struct tt_recorder *r, const struct tt_timeline lines[2]);
/* Of a trace, likewise, but in several pieces. */
void tt_recorder_spans(struct tt_recorder *r, const struct tt_span *list, size_t n);
void tt_recorder_json(struct tt_recorder *r, const json_t *object);
/* Sets the rank's state and frees. The last rank of the node writes out what all have left: where
 * ranks can agree, the one that writes closes last. A record that could not be written (full
 * results disk) is an error here. */
int tt_recorder_close(struct tt_recorder *r, enum tt_rank_state state, struct tt_error *e);

/* Among others the same instant on both clocks: when the records were begun. */
const struct tt_records_header *tt_recorder_header(const struct tt_recorder *r);

/* Only async-signal-safe calls: mark the rank as terminated, and write out what there is and the
 * record under way (NULL: none). Calls after it do nothing. */
void tt_recorder_terminate(struct tt_recorder *r, const struct tt_iteration_record *last);

#endif
