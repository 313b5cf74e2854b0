/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank of the bulk workload has while it runs: its accesses and its files. */
#ifndef TT_WORKLOADS_BULK_RUN_H
#define TT_WORKLOADS_BULK_RUN_H

#include "engine/content.h"
#include "engine/engine.h"
#include "workloads/bulk/bulk.h"

/* ---- access.c: one write, check or read ---- */
/* Transfers done until instants at least so far apart, which doubles when there is no more room. */
#define TT_BULK_INSTANTS 128
struct tt_bulk_pace {
    int64_t apart_ns;
    size_t n;
    int64_t at_ns[TT_BULK_INSTANTS]; /* after the first transfer was begun */
    uint64_t done[TT_BULK_INSTANTS];
};
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

    bool in_a_row;  /* nothing lies between the last transfer and the next */
    void *expected; /* what a transfer of IOR's content holds, to compare with */
    void *found;    /* on a device: memory for what comparing says */

    uint64_t *touched;         /* a bit for each place of the file; NULL: not looked at */
    struct tt_bulk_pace *pace; /* how the transfers went on; may be NULL */

    /* what became of it */
    bool cut; /* by the deadline */
    uint64_t done, bytes, at_deadline;
    int64_t latency_ns, checking_ns, deadline_ns;
    int64_t began, first, last; /* began: after a barrier of all ranks */
    int64_t open_ns, close_ns;  /* of this rank's own calls */
};

/* Share of the file's transfers that were made at least once, by whichever rank; 1 unless places
 * are drawn with repetition. Collective. */
double tt_bulk_coverage(const struct tt_bulk_access_state *a);

/* Opens, transfers, syncs and closes. Collective; ranks have agreed. */
int tt_bulk_access_run(struct tt_bulk_access_state *a, struct tt_error *e);

/* A run of bulk on this rank. */
struct tt_bulk {
    struct tt_engine *engine;
    const struct tt_bulk_options *options;
    struct tt_content content;
    struct tt_bulk_nodes nodes;
    uint64_t ranks, rank;
    uint64_t transfers; /* of every rank, at most */
    uint64_t places;    /* of a file; 0: as many as the rank's own file holds */
    uint64_t *written;  /* of every rank; all of them unless a deadline came */
    unsigned char *ballast;
    void *found;                /* see above */
    uint64_t accesses;          /* begun, of those that are measured */
    uint64_t measured, planned; /* without checks, and with them */
    uint64_t progress;
    size_t nrows;
    double *rows;                   /* rank 0: TT_BULK_NCOLUMNS each */
    double cached, coverage, start; /* coverage: the least; start: of the pace, see above */
    struct tt_bulk_pace pace;       /* of the last access */
    bool holes, cache_unknown;
};

/* ---- files.c: what files are called, what is there before a run, what of them is cached ---- */
/* The file that holds a rank's data in a repetition; the caller frees it. NULL: no memory. */
char *tt_bulk_path_of(struct tt_bulk *b, uint64_t rank, uint64_t repetition);
/* Collective. Files of an earlier run may be shorter than planned: a deadline had ended it. */
int tt_bulk_look_at_old_files(struct tt_bulk *b, struct tt_error *e);
/* Collective. What was written before makes room, outside of any timing. */
int tt_bulk_make_room(struct tt_bulk *b, const char *path, struct tt_error *e);
/* What the page cache still holds of a file that is about to be read, and whether parts of it were
 * never written. */
int tt_bulk_look_at_cache(struct tt_bulk *b, const struct tt_bulk_access_state *a,
                          struct tt_error *e);

#endif
