/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One write, check or read of the bulk workload, on this rank. */
#ifndef TT_WORKLOADS_BULK_ACCESS_H
#define TT_WORKLOADS_BULK_ACCESS_H

#include "engine/content.h"
#include "engine/engine.h"
#include "workloads/bulk/bulk.h"

/* Transfers done until instants at least so far apart, which doubles when there is no more room. */
#define TT_BULK_INSTANTS 128
struct tt_bulk_pace {
    int64_t apart_ns;
    size_t n;
    int64_t at_ns[TT_BULK_INSTANTS]; /* after the first transfer was begun */
    uint64_t done[TT_BULK_INSTANTS];
};
void tt_bulk_pace_note(struct tt_bulk_pace *p, int64_t at_ns, uint64_t done);
/* The rate of the first tenth of the time, of that of the rest; 1 if there is too little to tell.
 */
double tt_bulk_pace_start(const struct tt_bulk_pace *p);

struct tt_bulk_access_state {
    struct tt_engine *engine;
    const struct tt_bulk_options *options;
    struct tt_content content;
    enum tt_bulk_access kind;
    struct tt_bulk_walk walk;
    char *path;
    bool lockstep;                     /* transfers are collective */
    uint64_t progress, progress_total; /* transfers of this rank before this access, and in all */

    void *expected; /* what a transfer of IOR's content holds, to compare with */

    uint64_t *touched;         /* a bit for each place of the file; NULL: not looked at */
    struct tt_bulk_pace *pace; /* how the transfers went on; may be NULL */

    /* what became of it */
    bool cut; /* by the deadline */
    uint64_t done, bytes, at_deadline;
    int64_t latency_ns, checking_ns, deadline_ns;
    int64_t began, opened, first, last, closing, closed; /* after a barrier of all ranks */
};

/* Share of the file's transfers that were made at least once, by whichever rank; 1 unless places
 * are drawn with repetition. Collective. */
double tt_bulk_coverage(const struct tt_bulk_access_state *a);

/* Opens, transfers, syncs and closes. Collective; ranks have agreed. */
int tt_bulk_access_run(struct tt_bulk_access_state *a, struct tt_error *e);

#endif
