/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every recorded iteration of every rank as rows of integers: nanoseconds and bytes, nothing
 * rounded. They are read while they are written elsewhere, and never in memory together. */
#ifndef TT_ANALYSIS_SAMPLES_H
#define TT_ANALYSIS_SAMPLES_H

#include "base/error.h"
#include "record/records.h"

#define TT_SAMPLE_COLUMNS (TT_NPHASES + 7)
extern const char *const tt_sample_columns[TT_SAMPLE_COLUMNS];
void tt_sample_row(const struct tt_iteration_record *it, int64_t row[TT_SAMPLE_COLUMNS]);

struct tt_samples {
    size_t n; /* ranks with readable records, in order of rank */
    struct tt_sampled_rank {
        struct tt_records_header header;
        size_t node, slot; /* of nodes, and of the ranks in that; for tt_samples_scan */
    } * ranks;
    size_t nnodes;
    struct tt_records_index *nodes;
};
int tt_samples_open(const char *directory, struct tt_samples *s, struct tt_error *e);
void tt_samples_close(struct tt_samples *s);
/* All rows of the i-th rank. */
int tt_samples_scan(const struct tt_samples *s, size_t i, tt_records_take *taker, void *context,
                    struct tt_error *e);

#endif
