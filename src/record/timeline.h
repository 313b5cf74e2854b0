/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes and calls over time in bounded memory: intervals from the common start on, all of the same
 * length. When time goes past the last one, intervals are joined in pairs and become twice as long.
 * Lengths are therefore powers of two times the first one, and lines of ranks can be merged. The
 * bytes of a call are spread over its time; the call counts where it ended. Zeroed is empty. */
#ifndef TT_RECORD_TIMELINE_H
#define TT_RECORD_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#define TT_TIMELINE_SLOTS 256
#define TT_TIMELINE_FIRST_NS INT64_C(10000000) /* the shortest interval */

struct tt_timeline {
    int64_t interval_ns;      /* 0: empty */
    int64_t begin_ns, end_ns; /* of the interval last added to, */
    uint64_t at;              /* which is this one */
    struct tt_timeslot {
        uint64_t bytes, calls;
    } slots[TT_TIMELINE_SLOTS];
};

/* Any call, and merging. */
void tt__timeline_spread(struct tt_timeline *t, int64_t from_ns, int64_t to_ns, uint64_t bytes);
void tt_timeline_merge(struct tt_timeline *into, const struct tt_timeline *from);
/* Whether it can be what this code made; a record may be anything. */
bool tt_timeline_is_sound(const struct tt_timeline *t);

/* One call, by its times after the start. Most begin and end in the interval of the last one. */
static inline void tt_timeline_add(struct tt_timeline *t, int64_t from_ns, int64_t to_ns,
                                   uint64_t bytes)
{
    if (from_ns >= t->begin_ns && to_ns < t->end_ns) {
        t->slots[t->at].bytes += bytes;
        t->slots[t->at].calls++;
    } else {
        tt__timeline_spread(t, from_ns, to_ns, bytes);
    }
}

#endif
