/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes what record/records.h describes. One per rank; of other threads only one flushes. */
#ifndef TT_RECORD_RECORDER_H
#define TT_RECORD_RECORDER_H

#include "record/records.h"

struct tt_recorder;

/* Makes DIRECTORY/records/<rank>.ttr, on this rank alone. */
int tt_recorder_open(const char *directory, int rank, int size, struct tt_recorder **out,
                     struct tt_error *e);
void tt_recorder_iteration(struct tt_recorder *r, const struct tt_iteration_record *record);
void tt_recorder_epoch(struct tt_recorder *r, const struct tt_epoch_record *record);
/* By another thread than the main one, now and then: writes out all that is buffered, or only if it
 * is much. The main thread writes if it fills the buffer before. */
void tt_recorder_flush(struct tt_recorder *r, bool all);
/* All latencies, once, at the end. */
void tt_recorder_calls(struct tt_recorder *r, const struct tt_histogram *calls);
void tt_recorder_json(struct tt_recorder *r, const json_t *object);
/* Writes out what is buffered, sets the rank's state and frees. A record that could not be written
 * (full results disk) is an error here. */
int tt_recorder_close(struct tt_recorder *r, enum tt_rank_state state, struct tt_error *e);

/* Among others the same instant on both clocks: when the records were begun. */
const struct tt_records_header *tt_recorder_header(const struct tt_recorder *r);

/* Only async-signal-safe calls: write out what is buffered and the record under way (NULL: none),
 * and mark the rank as terminated. */
void tt_recorder_terminate(struct tt_recorder *r, const struct tt_iteration_record *last);

#endif
