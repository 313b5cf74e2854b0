/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 128   /* spans: 4 KiB */
#define BLOCKS 2048 /* 8 MiB */
#define NAMES 64    /* threads that may have one */

static struct {
    bool begun;
    _Atomic unsigned generation; /* of this trace, so that threads forget an earlier one */
    _Atomic uint32_t threads;
    _Atomic uint32_t taken; /* blocks, or more where there was none left */
    _Atomic uint64_t dropped;
    struct tt_span *spans; /* of all blocks; one that is all zero is the end of its block */
    char names[NAMES][16];
    _Atomic bool on_device; /* some span is */
} trace;

/* At a known distance: a call for its address would cost as much as all else. */
static _Thread_local struct {
    unsigned generation;
    uint32_t thread;
    struct tt_span *next, *end; /* of its block */
} mine __attribute__((tls_model("initial-exec")));

_Atomic int tt__trace_level;

static void meet(void)
{
    unsigned now = trace.generation;

    if (mine.generation == now)
        return;
    mine.generation = now;
    mine.thread = trace.threads++;
    mine.next = mine.end = NULL;
}

void tt_trace_add(const struct tt_span *span)
{
    meet();
    if (mine.next == mine.end) {
        uint32_t block = trace.taken < BLOCKS ? trace.taken++ : BLOCKS;

        if (block >= BLOCKS) {
            trace.dropped++;
            return;
        }
        mine.next = trace.spans + (size_t)block * BLOCK;
        mine.end = mine.next + BLOCK;
    }
    *mine.next = *span;
    if (span->thread >= TT_TRACK_KERNELS)
        trace.on_device = true;
    else
        mine.next->thread = mine.thread;
    mine.next++;
}

int tt_trace_begin(struct tt_error *e)
{
    trace.spans = calloc((size_t)BLOCK * BLOCKS, sizeof *trace.spans); /* pages come when used */
    if (!trace.spans)
        return tt_fail_nomem(e, "a trace");
    memset(trace.names, 0, sizeof trace.names);
    trace.threads = trace.taken = 0;
    trace.dropped = 0;
    trace.on_device = false;
    trace.generation++;
    trace.begun = true;
    tt_trace_name("main");
    tt_trace_set(TT_TRACE_ALL);
    return TT_OK;
}

void tt_trace_set(enum tt_trace_level level)
{
    if (trace.begun)
        tt__trace_level = (int)level;
}

void tt_trace_name(const char *name)
{
    if (!trace.begun)
        return;
    meet();
    if (mine.thread < NAMES)
        snprintf(trace.names[mine.thread], sizeof *trace.names, "%s", name);
}

static unsigned blocks(void)
{
    return trace.taken < BLOCKS ? trace.taken : BLOCKS;
}

static unsigned spans_of(unsigned block, struct tt_span **list)
{
    unsigned n = 0;

    *list = trace.spans + (size_t)block * BLOCK;
    while (n < BLOCK && (*list)[n].end_ns != 0)
        n++;
    return n;
}

json_t *tt_trace_summary(void)
{
    json_t *names = json_object();
    struct tt_span *list;
    json_int_t spans = 0;
    char number[16];

    if (!trace.begun) {
        json_decref(names);
        return NULL;
    }
    for (unsigned i = 0; i < blocks(); i++)
        spans += spans_of(i, &list);
    for (uint32_t i = 0; i < trace.threads && i < NAMES; i++) {
        snprintf(number, sizeof number, "%u", i);
        json_object_set_new(names, number,
                            json_string(*trace.names[i] ? trace.names[i] : "worker"));
    }
    for (uint32_t i = TT_TRACK_KERNELS; trace.on_device && i < TT_TRACKS_END; i++) {
        snprintf(number, sizeof number, "%u", i);
        json_object_set_new(names, number,
                            json_string(i == TT_TRACK_KERNELS ? "kernels" : "staging"));
    }
    return json_pack("{s:I, s:I, s:o}", "spans", spans, "dropped", (json_int_t)trace.dropped,
                     "threads", names);
}

void tt_trace_end(int64_t start_ns, tt_trace_take *taker, struct tt_recorder *recorder)
{
    if (!trace.begun)
        return;
    tt_trace_set(TT_TRACE_OFF);
    for (unsigned i = 0; taker && i < blocks(); i++) {
        struct tt_span *list;
        unsigned n = spans_of(i, &list);

        for (unsigned k = 0; k < n; k++) {
            list[k].start_ns -= start_ns;
            list[k].end_ns -= start_ns;
        }
        taker(recorder, list, n);
    }
    free(trace.spans);
    trace.spans = NULL;
    trace.begun = false;
}
