/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One write, check or read of the bulk workload, on this rank. */
#ifndef TT_WORKLOADS_BULK_ACCESS_H
#define TT_WORKLOADS_BULK_ACCESS_H

#include "engine/content.h"
#include "engine/engine.h"
#include "workloads/bulk/bulk.h"

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

    /* what became of it */
    bool cut; /* by the deadline */
    uint64_t done, bytes, at_deadline;
    int64_t latency_ns, checking_ns, deadline_ns;
    int64_t began, opened, first, last, closing, closed; /* after a barrier of all ranks */
};

/* Opens, transfers, syncs and closes. Collective; ranks have agreed. */
int tt_bulk_access_run(struct tt_bulk_access_state *a, struct tt_error *e);

#endif
