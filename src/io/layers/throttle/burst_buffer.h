/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log of what was written in which order, shared by runs that come after each other: what is
 * among the last bytes of it is still in a burst buffer of that size. */
#ifndef TT_IO_LAYERS_THROTTLE_BURST_BUFFER_H
#define TT_IO_LAYERS_THROTTLE_BURST_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Whether it is a log, or can become one. */
int tt_burst_buffer_check(const char *log, struct tt_error *e);
/* So many bytes of a file were written. */
int tt_burst_buffer_note(const char *log, const char *file, uint64_t bytes, struct tt_error *e);
/* Whether all of the file's bytes are among the last `size` bytes written; a file that was never
 * written is not. */
int tt_burst_buffer_holds(const char *log, const char *file, uint64_t size, bool *holds,
                          struct tt_error *e);

#endif
