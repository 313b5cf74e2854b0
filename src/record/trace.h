/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spans of what threads of a rank did when, for --trace: in memory of a fixed size, from which
 * every thread takes blocks of its own, so that adding a span takes no lock. What finds no room is
 * counted. One trace a process. */
#ifndef TT_RECORD_TRACE_H
#define TT_RECORD_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "record/phases.h"

#define TT_SPAN_CALL 256    /* kinds: a phase of the main thread, or this and a call */
#define TT_SPAN_IN_FLIGHT 1 /* a flag: of nonblocking calls, so others may overlap it */

struct tt_span {
    int64_t start_ns, end_ns; /* in records after the run's start */
    uint64_t id;              /* of a request, counted through its queue; 0: none */
    uint32_t thread;          /* 0: the main one; or enum tt_device_track */
    uint16_t kind, flags;
};

/* What a device did beside the threads. Any of them may add such spans; their kinds are phases. */
enum tt_device_track { TT_TRACK_KERNELS = 1 << 16, TT_TRACK_STAGING, TT_TRACKS_END };

/* What is wanted: nothing, calls that open, sync and close files, or all. */
enum tt_trace_level { TT_TRACE_OFF, TT_TRACE_FILES, TT_TRACE_ALL };
extern _Atomic int tt__trace_level;
static inline bool tt_trace_wants(enum tt_trace_level level)
{
    return atomic_load_explicit(&tt__trace_level, memory_order_relaxed) >= (int)level;
}
/* If it is wanted. */
void tt_trace_add(const struct tt_span *span); /* thread is set here, unless a device's */
static inline void tt_trace_call(enum tt_trace_level level, enum tt_call call, uint64_t id,
                                 int64_t start_ns, int64_t end_ns)
{
    if (tt_trace_wants(level))
        tt_trace_add(&(struct tt_span){.start_ns = start_ns,
                                       .end_ns = end_ns,
                                       .id = id,
                                       .kind = (uint16_t)(TT_SPAN_CALL + call)});
}

static inline void tt_trace_device(enum tt_device_track track, enum tt_phase phase,
                                   int64_t start_ns, int64_t end_ns)
{
    if (tt_trace_wants(TT_TRACE_ALL))
        tt_trace_add(&(struct tt_span){.start_ns = start_ns,
                                       .end_ns = end_ns,
                                       .thread = (uint32_t)track,
                                       .kind = (uint16_t)phase});
}

/* By the main thread, whose track is the first. */
int tt_trace_begin(struct tt_error *e);
void tt_trace_set(enum tt_trace_level level); /* nothing before tt_trace_begin() */
/* The calling thread has this name, at most 15 characters; else it is a worker. */
void tt_trace_name(const char *name);
/* {"spans", "dropped", "threads": {"0": "main", ...}}; NULL: there is no trace. */
json_t *tt_trace_summary(void);
/* Hands on all spans, some at a time, with times after start_ns, and frees. No thread adds any
 * more. */
struct tt_recorder;
typedef void tt_trace_take(struct tt_recorder *recorder, const struct tt_span *list, size_t n);
void tt_trace_end(int64_t start_ns, tt_trace_take *taker, struct tt_recorder *recorder);

#endif
