/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of a run: one value for each rank and each frame, read from the records of a run directory.
 * A frame is an iteration in which any rank spent such time. */
#ifndef TT_ANALYSIS_TIMES_H
#define TT_ANALYSIS_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/phases.h"

struct tt_times {
    size_t nranks, nframes;
    uint64_t *frames; /* numbers of iterations, ascending */
    double *values;  /* seconds: those of the first rank frame by frame, then the next rank's; not a
                        number: there is no record of it */
    uint32_t *ranks; /* their numbers, ascending */
    size_t left_out; /* ranks of which late frames were reduced, and so none is here */
};

/* "io_write+io_sync": phases that are added up, as bits 1 << enum tt_phase. "span" is the wall time
 * of an iteration. */
#define TT_TIMES_SPAN (1u << TT_NPHASES)
int tt_times_parse(const char *text, uint32_t *phases, struct tt_error *e);

/* What was done before and after the loop and in baseline epochs does not count, nor do the first
 * `drop` frames. No frame at all is no error. */
int tt_times_load(const char *directory, uint32_t phases, size_t drop, struct tt_times *out,
                  struct tt_error *e);
void tt_times_free(struct tt_times *t);

#endif
