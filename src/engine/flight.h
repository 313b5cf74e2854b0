/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A series and its flights: shared by series.c, which decides, and flight.c, which does. */
#ifndef TT_ENGINE_FLIGHT_H
#define TT_ENGINE_FLIGHT_H

#include "engine/private.h"
#include "engine/sample.h"

enum tt__way { TT__DIRECT, TT__HELPER, TT__NATIVE };

#define TT__STEP_PATH "%s.%06llu" /* of a step's own file */

struct tt__flight {
    struct tt_series *series;
    struct tt_task job;
    struct tt_file *file;
    char *path; /* of a file of this step only */
    struct tt_file_spec file_spec;
    uint64_t step;
    unsigned nblocks;
    struct tt_block *blocks; /* as many as the series ever needs */
    char *staging;
    size_t staging_size;
    char *ticket_states;
    struct tt_ticket *tickets;
    int64_t submitted_ns, open_ns, write_ns, sync_ns, read_ns; /* open: of a file of this step */
    int64_t define_ns;                                         /* part of write_ns */
    struct tt_sample *sample;                                  /* of a file of this step */
    int rc; /* a failure before or while submitting, told to the others when they agree */
    struct tt_error error;
};

struct tt_series {
    struct tt_engine *engine;
    struct tt_series_spec spec;
    char *path;
    MPI_Comm comm;      /* of all ranks, for agreement */
    MPI_Comm file_comm; /* of the file: all ranks, or this one alone */
    struct tt_file_spec file_spec;
    struct tt_file *file;     /* NULL with a file per step */
    struct tt_sample *sample; /* likewise */
    enum tt__way way;
    bool way_chosen, fixed_written;
    uint64_t defined;             /* the last step defined, plus one */
    uint64_t there;               /* bytes of a file that is updated */
    bool replaces;                /* files of steps that are there already */
    unsigned slots;               /* blocks of a padded dump, fixed variables included */
    unsigned depth, first, count; /* flights: a ring */
    struct tt__flight *flights;
    struct tt_task prefetch_job;
    struct tt__flight prefetch;
    bool failed; /* a dump or load has, as all ranks know */
    bool prefetching;
    bool synced; /* the one sync of sync=close has been made */
};

/* Blocks of a variable in every dump, empty ones included. */
unsigned tt__variable_slots(const struct tt_variable *v);

/* Room for blocks, tickets and the path of a step's own file. */
int tt__flight_allocate(struct tt_series *s, struct tt__flight *f);
void tt__flight_free(struct tt__flight *f);

/* The same list of slots on every rank: per variable its blocks, then nothing up to max_blocks. A
 * list that does not fit is an error, but the flight can still take part. */
int tt__flight_fill(struct tt__flight *f, uint64_t step, bool with_fixed, unsigned nblocks,
                    const struct tt_block *blocks);
uint64_t tt__flight_bytes(const struct tt__flight *f);
/* Copy, so that the caller may go on computing in its own buffer. */
int tt__flight_stage(struct tt__flight *f, struct tt_error *e);

/* Jobs: the argument is the series (open) or the flight. All are collective, and ranks agree. */
int tt__run_open(void *series, struct tt_error *e);
int tt__run_dump(void *flight, struct tt_error *e);
int tt__run_load(void *flight, struct tt_error *e);
int tt__run_sync(void *flight, struct tt_error *e);
int tt__run_close(void *flight, struct tt_error *e);

/* Before it meets the others, who may be stuck in the library or take it along: leave the reason.
 * Returns rc. */
int tt__noted(struct tt_series *s, int rc, const struct tt_error *e);

/* After a read that succeeded into memory that was spoilt before. */
int tt__judge_read(const struct tt_file *file, uint64_t step, const struct tt_block *b,
                   const struct tt__spoilt *spoilt, struct tt_error *e);

/* A dump by the backend's own nonblocking calls. */
void tt__flight_submit(struct tt__flight *f);
int tt__flight_wait(struct tt__flight *f, struct tt_error *e);

#endif
