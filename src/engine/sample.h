/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library's success is believed only as far as it shows. Of what is written a few places of a few
 * blocks are remembered by their hashes and read back after the run, outside the measured time; of
 * memory that is read into a few words are spoilt before, and must have changed.
 *
 * All of it in the main thread. Which dumps, blocks and files are looked at is the same on all
 * ranks, so that they can read them back together. */
#ifndef TT_ENGINE_SAMPLE_H
#define TT_ENGINE_SAMPLE_H

#include "engine/private.h"
#include "engine/queue.h"

/* Of one file that this rank writes. */
struct tt_sample;

/* The file is about to be made or updated: what was known of an earlier one there is forgotten.
 * NULL if this one is not looked at, which all calls accept. */
struct tt_sample *tt__sample_begin(struct tt_engine *engine, const struct tt_file_spec *spec);
/* A dump's blocks are about to be handed over. */
void tt__sample_dump(struct tt_sample *sample, uint64_t step, unsigned nblocks,
                     const struct tt_block *blocks);
/* The same for a single transfer, of which there may be very many. */
void tt__sample_transfer(struct tt_sample *sample, uint64_t step, const struct tt_block *b);
/* The file has been closed, and what its spec points to will go. */
void tt__sample_settle(struct tt_sample *sample);
/* Collective, after the run: TT_CORRUPT, with what is wrong, if the files do not hold it. */
int tt__samples_check(struct tt_engine *engine, struct tt_error *e);
void tt__samples_free(struct tt_engine *engine);

void tt__spoil(struct tt_spoilt *spoilt, const struct tt_variable *v, const struct tt_block *b);
/* Whether any of them is still there. */
bool tt__is_spoilt(const struct tt_spoilt *spoilt);

#endif
