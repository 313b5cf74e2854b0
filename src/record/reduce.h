/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept of an iteration, and of an epoch, of very many ranks. Each node reduces those of its
 * ranks, and whoever loads the records merges the nodes. Nothing here allocates memory: a handler
 * of signals may reduce.
 *
 * Records are kept whole as long as ranks times iterations are at most TT_REDUCE_ABOVE, and in runs
 * of fewer than TT_REDUCE_RANKS ranks, where reducing saves nothing. What a rank does outside of
 * iterations is always kept. */
#ifndef TT_RECORD_REDUCE_H
#define TT_RECORD_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

#include "record/records.h"

#define TT_REDUCE_ABOVE 1000000 /* 176 MB of records */
#define TT_REDUCE_RANKS 64
/* Of so many ranks, spread over all, rank 0 among them, all records are kept nevertheless. */
#define TT_REDUCE_SAMPLE 64

/* The last iteration, or epoch, of which the records of all ranks are kept whole. */
uint64_t tt_reduce_after(uint32_t size, uint64_t above);
bool tt_reduce_samples(uint32_t rank, uint32_t size);

/* The time in which a rank worked: the one with most of it was the last to arrive. Calls that
 * write, sync or read end with an agreement: only the part that was the I/O's own is the rank's,
 * the rest it waited for others. */
double tt_worked_ns(const double phase_ns[TT_NPHASES]);
/* The times of a record that count together. */
void tt_joint_ns(const uint64_t phase_ns[TT_NPHASES], double joint_ns[TT_NJOINT]);

/* Starts with one rank's record. */
void tt_reduced_begin(struct tt_reduced *r, const struct tt_iteration_record *it, uint32_t rank);
/* One more rank's; medians are set apart, when all are known. */
void tt_reduced_add(struct tt_reduced *r, const struct tt_iteration_record *it, uint32_t rank);
/* Another node's. Medians become their mean, by ranks. */
void tt_reduced_merge(struct tt_reduced *into, const struct tt_reduced *from);
/* The median of n values, which are put into another order. */
float tt_select_median(float *values, size_t n);

/* As bytes: only the phases that occurred. */
#define TT_REDUCED_HEAD (6 * 8 + 2 * 4 + TT_NJOINT * 4 + 4)
#define TT_REDUCED_MOST (TT_REDUCED_HEAD + 16 * TT_NPHASES)
size_t tt_reduced_pack(const struct tt_reduced *r, unsigned char to[TT_REDUCED_MOST]);
/* The bytes taken of n; 0: they are no such record. */
size_t tt_reduced_unpack(const unsigned char *from, size_t n, struct tt_reduced *out);

void tt_reduced_epoch_add(struct tt_reduced_epoch *r, const struct tt_epoch_record *e);
void tt_totals_add(struct tt_rank_totals *t, const struct tt_iteration_record *it);

#endif
