/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A series and its files: shared by series.c and stream.c, which fill the transfer queue, and
 * transfer.c, which makes the calls into the stack in whatever thread executes a batch. */
#ifndef TT_ENGINE_SERIES_H
#define TT_ENGINE_SERIES_H

#include "engine/private.h"
#include "engine/queue.h"
#include "engine/spot_check.h"

/* What a series keeps beside a batch of its queue. */
struct tt__dump {
    struct tt_series *series;
    uint64_t step;
    char *path; /* of a file of this step only */
    struct tt_file_spec file_spec;
    struct tt_file *file;
    struct tt_spot_check *spot_check; /* of a file of this step */
    int64_t open_ns;                  /* of a file of this step */
    int64_t met_ns;                   /* waiting for ranks that begin it later */
    int64_t define_ns;                /* part of the writing */
    int64_t write_ns, sync_ns, read_ns;
    int64_t close_ns;           /* this rank's own call */
    bool waited_for;            /* overlap=auto: the caller does nothing else meanwhile */
    struct tt__closing closing; /* its agreement: this rank's before it, all ranks' after it */
};

struct tt_series {
    struct tt_engine *engine;
    struct tt_series_spec spec;
    char *path;
    MPI_Comm comm;      /* of all ranks, for agreement */
    MPI_Comm file_comm; /* of the file: all ranks, or this one alone */
    struct tt_file_spec file_spec;
    struct tt__requests *requests;
    struct tt_file *file;             /* NULL with a file per step */
    struct tt_spot_check *spot_check; /* likewise */
    struct tt_queue writes;           /* dumps */
    struct tt_queue reads;            /* one load or prefetch */
    struct tt__dump *dumps;           /* of all batches, that of the reads last */
    bool way_chosen, fixed_written;
    bool waits; /* overlap=auto: the next dump is not copied, and is complete when it returns */
    uint64_t told[TT__NTOLD];   /* what the next dump's agreement is to bring to all ranks, */
    uint64_t agreed[TT__NTOLD]; /* and what that of the last complete dump has brought */
    uint64_t defined;           /* the last step defined, plus one */
    uint64_t there;             /* bytes of a file that is updated */
    bool replaces;              /* files of steps that are there already */
    bool failed;                /* a dump or load has, as all ranks know */
    bool prefetching;
    bool synced; /* the one sync of sync=close has been made */
};

/* Whose calls open, sync and close files of a series: NULL for the caller. */
static inline struct tt_pool *tt__helper_of(const struct tt_series *s)
{
    return s->writes.spec.executor == TT_BY_BACKEND ? NULL : s->engine->p->helper;
}

/* The queue's calls for dumps and loads, and for the single transfers of a stream. */
extern const struct tt_queue_calls tt__dump_calls, tt__stream_calls;

/* series.c: spot checks of a dump's data, in whatever thread has it first. */
void tt__look_at_dump(struct tt_batch *b);
/* series.c: what was moved between the host and a device. */
void tt__count_staging(struct tt_engine *engine, const struct tt_batch *b);

/* stream.c: likewise of a single transfer that comes from a device. */
void tt__look_at_transfer(struct tt_batch *b);

/* Tasks of the helper or the caller, all collective, after which ranks have agreed. The argument is
 * the series, else a dump, of which only series, path and file count. */
int tt__open_series_file(void *series, struct tt_error *e);
int tt__sync_file(void *dump, struct tt_error *e);
int tt__close_file(void *dump, struct tt_error *e);

/* For the step about to be written, if it is a new one. */
int tt__define_step(struct tt_series *s, struct tt_file *file, uint64_t step, struct tt_error *e);

/* requests.c: one transfer, from its start or submission to its end. Main thread only. */
void tt__count_transfer(struct tt_series *s, enum tt_direction direction, int64_t from_ns,
                        int64_t to_ns, uint64_t bytes);

/* Before it meets the others, who may be stuck in the library or take it along: leave the reason.
 * Returns rc. */
int tt__noted(struct tt_series *s, int rc, const struct tt_error *e);

#endif
