/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run did in a window of wall-clock time, so that jobs at once can be laid over each other.
 */
#ifndef TT_ANALYSIS_WINDOW_H
#define TT_ANALYSIS_WINDOW_H

#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

struct tt_window {
    int64_t from_ns, to_ns; /* wall clock */
};

/* From the start of the first rank to the end of the last. */
int tt_window_of_run(const char *directory, struct tt_window *out, struct tt_error *e);
/* {"iterations", "bytes_written", "bytes_read", "bytes_communicated"}: of iterations that lie
 * partly in the window, that part; iterations are rank 0's. */
int tt_window_work(const char *directory, const struct tt_window *w, json_t **out,
                   struct tt_error *e);
/* {"compute": {"median", "p99", "total"}, ...} in seconds, over the iterations in which the phase
 * occurred, of the slowest rank in each; what came before and after the loop is in total only. */
int tt_phase_times(const char *directory, json_t **out, struct tt_error *e);

#endif
