/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of the bulk workload: what they are called, what is there before a run, and how much of
 * them is in the page cache. */
#ifndef TT_WORKLOADS_BULK_FILES_H
#define TT_WORKLOADS_BULK_FILES_H

#include "workloads/bulk/access.h"

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
    uint64_t accesses;          /* begun, of those that are measured */
    uint64_t measured, planned; /* without checks, and with them */
    uint64_t progress;
    size_t nrows;
    double *rows;                   /* rank 0: TT_BULK_NCOLUMNS each */
    double cached, coverage, start; /* coverage: the least; start: of the pace, see access.h */
    struct tt_bulk_pace pace;       /* of the last access */
    bool holes, cache_unknown;
};

/* The file that holds a rank's data in a repetition; the caller frees it. NULL: no memory. */
char *tt_bulk_path_of(struct tt_bulk *b, uint64_t rank, uint64_t repetition);
/* Collective. Files of an earlier run may be shorter than planned: a deadline had ended it. */
int tt_bulk_look_at_old_files(struct tt_bulk *b, struct tt_error *e);
/* Collective. What was written before makes room, outside of any timing. */
int tt_bulk_make_room(struct tt_bulk *b, const char *path, struct tt_error *e);
/* What the page cache still holds of a file that is about to be read, and whether parts of it were
 * never written. */
void tt_bulk_look_at_cache(struct tt_bulk *b, const struct tt_bulk_access_state *a);

#endif
