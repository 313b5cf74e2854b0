/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library's success is believed only as far as it shows. Of what is written a few places of a few
 * blocks are remembered by their hashes and read back after the run, outside the measured time; of
 * memory that is read into a few words are spoilt before, and must have changed.
 *
 * Which dumps, blocks and files are looked at is the same on all ranks, so that they can read them
 * back together. One thread at a time looks at a file; words are spoilt by whichever thread reads.
 */
#ifndef TT_ENGINE_SPOT_CHECK_H
#define TT_ENGINE_SPOT_CHECK_H

#include "base/error.h"
#include "io/model.h"

struct tt_engine;
struct tt_file_spec;

/* Of one file that this rank writes. */
struct tt_spot_check;

/* The file is about to be made or updated: what was known of an earlier one there is forgotten.
 * NULL if this one is not looked at, which all calls accept. */
struct tt_spot_check *tt__spot_check_begin(struct tt_engine *engine,
                                           const struct tt_file_spec *spec);
/* A dump's blocks are about to be handed over. */
void tt__spot_check_dump(struct tt_spot_check *spot_check, uint64_t step, unsigned nblocks,
                         const struct tt_block *blocks);
/* The same for a single transfer, of which there may be very many. False if it is not looked at,
 * which takes no time. */
bool tt__spot_check_transfer(struct tt_spot_check *spot_check, uint64_t step,
                             const struct tt_block *b);
/* The file has been closed, and what its spec points to will go. */
void tt__spot_check_settle(struct tt_spot_check *spot_check);
/* A closed file has another name now, or (NULL) is gone; also for the layer verify, which stands in
 * for spot checks. */
int tt__spot_check_move(struct tt_engine *engine, const char *from, const char *to,
                        struct tt_error *e);
/* Collective, after the run: TT_CORRUPT, with what is wrong, if the files do not hold it. */
int tt__spot_checks_verify(struct tt_engine *engine, struct tt_error *e);
void tt__spot_checks_free(struct tt_engine *engine);

/* Words in memory that a read is about to fill, by which it is judged. */
#define TT_SPOILT 3
struct tt_spoilt {
    uint64_t word; /* drawn anew for each read */
    unsigned n;
    void *at[TT_SPOILT];
};
void tt__spoil(struct tt_spoilt *spoilt, const struct tt_variable *v, const struct tt_block *b);
/* Whether any of them is still there. */
bool tt__is_spoilt(const struct tt_spoilt *spoilt);

#endif
