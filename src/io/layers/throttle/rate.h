/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arithmetic of the throttle layer: a store of known speed, on a clock that the caller
 * supplies. No function here takes the time or sleeps. */
#ifndef TT_IO_LAYERS_THROTTLE_RATE_H
#define TT_IO_LAYERS_THROTTLE_RATE_H

#include <stdint.h>

/* One rank's share of the store. Bytes pass through a queue that empties at `rate`; up to `buffer`
 * bytes may wait in it. Operations have a limit of their own, which no buffer softens. */
struct tt_throttle {
    double rate;       /* bytes per second; 0: no limit */
    double ops;        /* operations per second; 0: no limit */
    double buffer;     /* bytes that writes may be ahead of the slow store */
    double drained_ns; /* when everything accepted so far has reached the slow store */
    double allowed_ns; /* when the operations so far have been paid for */
};

/* All return the instant at which the call may return, never before now_ns. */
int64_t tt_throttle_write(struct tt_throttle *t, int64_t now_ns, uint64_t bytes);
int64_t tt_throttle_read(struct tt_throttle *t, int64_t now_ns, uint64_t bytes);
int64_t tt_throttle_sync(const struct tt_throttle *t, int64_t now_ns);

#endif
