/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of a node's ranks on their way to the run directory. They lie in a file that the ranks
 * map, /dev/shm/tutti-ID-INODE-HOST (else in TMPDIR), which outlives any of them, also one that is
 * killed. Whoever has its lock moves them: while the ranks run one of them does, the node's writer.
 * When that is gone, any other that ends, the driver, or whoever looks at the run on this node. The
 * last one removes the file.
 *
 * Each rank has an area with three rings, which only it fills. Moving is a transaction: records are
 * written behind `end`, then `committed` says that `next` holds, and only then it becomes the
 * state. Who is killed in the middle has moved nothing, or all; the next one cuts off what it
 * wrote. A ring that is full keeps its rank waiting until somebody has moved it, if need be the
 * rank itself: nothing is dropped. Locks are those of the kernel, and go with their process; every
 * rank holds one on its area for as long as it lives.
 *
 * All but attaching and finding uses only async-signal-safe calls. */
#ifndef TT_RECORD_MEMORY_H
#define TT_RECORD_MEMORY_H

#include <stdatomic.h>

#include "record/records.h"

#define TT_MEMORY_AREAS 65536 /* at most */
#define TT_MEMORY_BUFFER 65536

enum tt_ring { TT_RING_ITERATIONS, TT_RING_EPOCHS, TT_RING_CHUNKS, TT_NRINGS };
#define TT_AREA_ITERATIONS 2048 /* most loops take a second or more for these */
#define TT_AREA_EPOCHS 512
#define TT_AREA_CHUNKS 32768 /* bytes of whole chunks */

struct tt_area {
    struct tt_records_header header; /* but for the state */
    _Atomic uint32_t state, attached;
    _Atomic uint64_t put[TT_NRINGS], taken[TT_NRINGS]; /* they only rise */
    uint64_t seen[TT_NRINGS]; /* put, when somebody began to move: what comes later waits */
    struct tt_area_moved {
        uint64_t taken[TT_NRINGS];
        uint32_t said;        /* state + 1 in the file; 0: the rank is not there */
        uint64_t said_totals; /* iterations in the totals there */
        struct tt_rank_totals totals;
    } moved, next;
    struct tt_iteration_record iterations[TT_AREA_ITERATIONS];
    struct tt_epoch_record epochs[TT_AREA_EPOCHS];
    unsigned char chunks[TT_AREA_CHUNKS];
};

/* At its beginning. */
struct tt_node_head {
    uint64_t magic, head_size, area_size;
    uint64_t above;
    _Atomic uint32_t nareas;
    _Atomic uint32_t moving;    /* somebody is, or died in it: there may be more behind end */
    _Atomic uint32_t committed; /* next_end, and next of all areas, hold */
    uint64_t end, next_end;     /* of the file */
    char name[320];             /* of the file */
    _Atomic uint64_t inode;     /* of the file; 0: there is none yet */
    _Atomic int failed;
    _Atomic uint32_t removed; /* all is moved, and the memory has no name any more */
    _Atomic uint32_t merging, has_calls, has_timelines; /* merging: somebody is, or died in it */
    struct tt_histogram calls[TT_NCALLS];
    struct tt_timeline timelines[2];
};

/* What a process, or a rank that is simulated in one, sees of the memory. */
struct tt_memory {
    int fd;
    char *path, *records;      /* of the memory; of the directory for the file of this node */
    char names[2][320];        /* of that file; the second one if there is such a file already */
    int file;                  /* -1: not opened yet */
    uint32_t slot;             /* of the own area; TT_NODE_SLOT: none */
    struct tt_area *own;       /* mapped apart, since the view may move */
    struct tt_node_head *head; /* the view: all of it */
    size_t mapped;             /* bytes */
    float *values;             /* to find medians in */
    uint64_t *words;           /* for histograms */
    unsigned char *buffer;     /* of what is about to be written */
};

/* Takes an area for the rank of this header. `above` is for record/reduce.h. */
int tt_memory_attach(const char *directory, const struct tt_records_header *h, uint64_t above,
                     struct tt_memory **out, struct tt_error *e);
/* Makes this process forget it; the file stays. */
void tt_memory_close(struct tt_memory *m);

/* Tries so often, with short sleeps; -1: until it is had. Of threads of one process only one may.
 * False: others have it, or, as errno says, there are no locks there. */
bool tt_memory_lock(struct tt_memory *m, long looks);
void tt_memory_unlock(struct tt_memory *m);

/* With the lock: the i-th area, after tt_memory_look() has mapped all that there are. */
bool tt_memory_look(struct tt_memory *m);
struct tt_area *tt_memory_area(const struct tt_memory *m, uint32_t i);
/* move.c, with the lock: moves what is there. data is one more chunk of the own area, for which its
 * ring is too small; NULL: none. If no rank is attached, this was the last time: the file goes. */
void tt_memory_move(struct tt_memory *m, const struct tt_chunk_header *chunk, const void *data);
/* move.c: sends what was written towards the servers, without waiting for them: a node that is lost
 * does not take it along. */
void tt_memory_send(struct tt_memory *m);
/* With the lock: whether a ring of any rank is so full that it should be moved. */
bool tt_memory_is_filling(struct tt_memory *m);
/* With the lock: whether no rank is attached any more. */
bool tt_memory_is_last(struct tt_memory *m);
/* With the lock: adds latencies and rates of the own rank to those of the node. */
void tt_memory_merge_calls(struct tt_memory *m, const struct tt_histogram *calls);
void tt_memory_merge_timelines(struct tt_memory *m, const struct tt_timeline lines[2]);
/* The first errno by which the file could not be written; 0: none. */
int tt_memory_failed(const struct tt_memory *m);

/* Moves what ranks that were killed have left in this node's memory, and removes it if none of them
 * lives. If there is nothing, nothing happens. */
void tt_records_collect(const char *directory);
/* Whether a rank was started on this node and its process is still attached; where its memory is
 * not to be found, whether that process still runs. */
bool tt_records_are_held(const char *directory, const struct tt_records_header *h);

#endif
