/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The spans of a run with --trace, for whoever shows them: on the clock of rank 0's node, from the
 * earliest span on, one rank after the other. */
#ifndef TT_ANALYSIS_SPANS_H
#define TT_ANALYSIS_SPANS_H

#include "analysis/samples.h"
#include "base/error.h"

struct tt_spans {
    struct tt_samples ranks;
    int64_t *shift_ns; /* per rank: from its own times to nanoseconds of the common clock */
    size_t *count;     /* of spans, per rank */
    size_t total;
    uint64_t dropped;    /* spans that found no room in all ranks */
    int64_t earliest_ns; /* wall clock of rank 0's node */
    uint64_t length_ns;  /* from there to the end of the last span */
};
/* total is 0 if the run has none. */
int tt_spans_open(const char *directory, struct tt_spans *s, struct tt_error *e);
void tt_spans_close(struct tt_spans *s);
/* The same for whoever needs some: without any it fails, and says how to get them. */
int tt_spans_open_some(const char *directory, struct tt_spans *s, struct tt_error *e);

struct tt_timed_span {
    uint64_t start_ns, duration_ns; /* start: after the earliest */
    uint64_t id;                    /* as in struct tt_span */
    uint32_t track;
    uint16_t kind, flags;
};

/* A thread, what a device did, or a lane of requests in flight. Requests overlap each other, so
 * each has a lane for as long as it lasts: the first that is free. Spans of a track nest or follow
 * each other. */
struct tt_track {
    char name[48]; /* "main", "helper", "worker", "main, in flight 2", "kernels", "staging" */
    uint32_t thread;
    uint32_t lane; /* from 1; 0: the thread itself */
    size_t first, n;
};

struct tt_rank_spans {
    const struct tt_records_header *header; /* of struct tt_spans */
    size_t n, ntracks;
    struct tt_timed_span *list; /* by track; then by start, the longer first */
    struct tt_track *tracks;
};
int tt_spans_load(const struct tt_spans *s, size_t rank, struct tt_rank_spans *out,
                  struct tt_error *e);
void tt_rank_spans_free(struct tt_rank_spans *r);

/* "halo"; a phase and a call may have the same. */
const char *tt_span_name(unsigned kind);
static inline bool tt_span_is_phase(unsigned kind)
{
    return kind < TT_SPAN_CALL;
}

#endif
