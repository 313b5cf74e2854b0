/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the layer cache: the store on the node (store.c), pieces of what was read
 * (pieces.c), and jobs for the thread that makes all calls below (jobs.c). */
#ifndef TT_IO_LAYERS_CACHE_PARTS_H
#define TT_IO_LAYERS_CACHE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "io/node_cache.h"

struct cache_opts {
    char *dir;
    uint64_t size;
    int sync, close;
    bool read_ahead;
};
enum { CACHE_SYNC_TARGET, CACHE_SYNC_LOCAL };
enum { CACHE_CLOSE_WAIT, CACHE_CLOSE_RETURN };

/* ---- the store ---- */

/* What the ranks of a node share, mapped by all of them. */
struct cache_usage {
    _Atomic uint64_t bytes;
    _Atomic uint32_t told; /* somebody has said that the store cannot be used */
};

/* A write that is in the store, oldest first; or a record of its index. */
struct cache_stored {
    struct cache_stored *next;
    uint64_t call, position, bytes;
    uint64_t index, entry; /* where its entry in the index begins, and which one it is */
};

struct cache_store {
    uint64_t limit; /* of all ranks of the node */
    char *directory, *path;
    bool owns_directory; /* nobody else removes it: its last user does */
    bool local;          /* a sync is one of this store */
    bool broken;         /* it takes nothing more */
    bool unsafe; /* something since the last sync is not in it, and maybe not durable below */
    bool synced; /* something may have been acknowledged, by any rank */
    bool tells;  /* this rank does, if ranks share nothing */
    int fd;
    struct cache_usage *usage;
    struct tt_log log;         /* of one rank */
    bool remembers;            /* what this rank has written is looked up when it reads */
    struct tt_log_index index; /* of writes that are acknowledged here; remembers: of all */
    uint64_t forgotten, forgotten_entries; /* of the index, no more in memory */
    struct tt_log_bytes record;
    struct cache_stored *chain,
        *stale; /* records that the newer slot leads to, or only the other */
    uint64_t chain_bytes;
    size_t taken;      /* bytes of the index that the log knows */
    uint64_t position; /* the end of the stream */
    unsigned slot;     /* that the next record is told in */
    char *gathered;    /* kept between calls, */
    size_t gathered_size;
    char *fetched; /* and by the mover */
    size_t fetched_size;
    pthread_mutex_t lock; /* of what follows */
    struct cache_stored *oldest, *newest;
    uint64_t held;           /* bytes in usage */
    uint64_t moved, durable; /* requests before these are below, and survive a crash there */
    uint64_t acknowledged;   /* those before it survive a crash, here or there */
};

/* The directory and what ranks share. A store that cannot be used is broken, which is told once:
 * TT_OK. */
int tt__store_open(struct cache_store *s, const struct cache_opts *opts, const char *id,
                   bool is_made, int rank, struct tt_error *e);
/* For writing: the file of writes to the target, which is there now. */
int tt__store_begin(struct cache_store *s, const struct tt_file_spec *spec, int rank, int size,
                    struct tt_error *e);
/* Bytes that so many take there: whole pages. */
uint64_t tt__store_room(uint64_t bytes);
/* Takes room for bytes of the node's limit, if there is any. */
bool tt__store_reserve(struct cache_store *s, uint64_t bytes);
void tt__store_unreserve(struct cache_store *s, uint64_t bytes);
/* Appends a request, for which room was reserved. False: the store is broken now. *blocks has the
 * checksums of what was given, for the mover; the caller frees. */
bool tt__store_append(struct cache_store *s, const struct tt_file_spec *spec, uint64_t step,
                      uint64_t call, const struct tt_block *b, uint64_t *position,
                      struct tt_log_block **blocks);
/* Notes a request that is not in the store. */
void tt__store_pass(struct cache_store *s, const struct tt_file_spec *spec, uint64_t step,
                    uint64_t call, const struct tt_block *b);
/* By the mover: the bytes of a request; then that requests before a call are below, and durable. */
int tt__store_fetch(struct cache_store *s, uint64_t position, uint64_t bytes,
                    const struct tt_log_block *blocks, void **out, struct tt_error *e);
int tt__store_moved(struct cache_store *s, uint64_t call, bool durable, struct tt_error *e);
/* Gives back the room of writes that are not needed any more. By anyone; false: there were none. */
bool tt__store_release(struct cache_store *s, bool also_unsafe);
/* What is in the store, of requests before the call, survives a crash. False: it does not. */
bool tt__store_acknowledge(struct cache_store *s, uint64_t call);
/* All requests are durable below. */
void tt__store_is_below(struct cache_store *s);
/* Whether this rank has written all of a block. */
int tt__store_covers(struct cache_store *s, uint64_t step, const struct tt_block *b,
                     size_t element_size, bool *covers, struct tt_error *e);
/* keep: the file of writes stays, if any rank may have acknowledged what is nowhere else. */
void tt__store_close(struct cache_store *s, bool keep);

/* ---- pieces ---- */

/* What tells the content of a target from another one. */
struct cache_version {
    uint64_t device, inode, size, changed_ns, path;
};
#define CACHE_NAME 40
void tt__piece_name(const struct cache_version *version, uint64_t step, const struct tt_block *b,
                    size_t element_size, char name[CACHE_NAME]);
bool tt__piece_has(const struct cache_store *s, const char *name);
/* Into the block's memory; false: it is not there, or damaged. */
bool tt__piece_get(struct cache_store *s, const char *name, const struct tt_block *b,
                   size_t element_size);
void tt__piece_put(struct cache_store *s, const char *name, const void *data, uint64_t bytes);
/* Least recently used first. False: there is none. */
bool tt__piece_evict(struct cache_store *s, uint64_t bytes);
void tt__pieces_remove(struct cache_store *s);

/* ---- jobs ---- */

enum cache_act {
    CACHE_OPEN,
    CACHE_DEFINE,
    CACHE_MOVE,
    CACHE_THROUGH,
    CACHE_READ,
    CACHE_READ_AHEAD,
    CACHE_SYNC,
    CACHE_CLOSE,
    CACHE_NOTHING,
};

struct cache;
/* A call below. Only the mover makes them, in the order in which they were asked for, which is the
 * same on all ranks. */
struct cache_job {
    struct tt_task task;
    struct cache_job *next;
    bool own; /* memory of its own, which goes with it */
    struct cache *cache;
    enum cache_act act;
    uint64_t step, call;
    struct tt_block block;
    struct tt_run *runs; /* the block's own */
    uint64_t position, bytes;
    struct tt_log_block *blocks;
    char name[CACHE_NAME]; /* of a piece that is read ahead */
};

enum cache_count {
    CACHE_MOVED,   /* bytes that went by the store */
    CACHE_PASSED,  /* that did not */
    CACHE_FOUND,   /* that were read from it */
    CACHE_MISSED,  /* that were not */
    CACHE_FETCHED, /* that were read ahead */
    CACHE_BROKEN,  /* ranks whose store takes nothing more */
    CACHE_COUNTS
};

struct cache {
    const struct cache_opts *opts;
    struct tt_file_spec spec; /* of the file below */
    char *path;
    struct tt_file *below, *top; /* the file below, and what it is below of */
    int rank, size;
    bool alone;   /* ranks make calls as they like */
    bool writes;  /* the file */
    bool defines; /* something below does */
    bool marked;  /* the target says that it is not whole */
    uint64_t calls;
    struct cache_version version;
    bool versioned; /* else nothing of it is kept */
    struct cache_store store;
    struct cache_job *oldest, *newest; /* of the caller */
    struct cache_job closing;          /* with memory that is there at the end */
    struct cache *next;                /* that is being closed after its file is gone */
    pthread_mutex_t lock;
    int rc; /* the first failure of the mover, */
    struct tt_error error;
    int64_t busy_ns, busy_cpu_ns; /* of the mover, */
    int64_t waited_ns;            /* and of those who waited for it */
    uint64_t counts[CACHE_COUNTS];
};

/* The thread lives as long as a file needs it. */
int tt__mover_start(struct tt_error *e);
void tt__mover_stop(void);
/* For a call that nobody waits for; a copy of the block is made if given. NULL: no memory, and the
 * caller makes the call by tt__job_call, because other ranks may wait in it. */
struct cache_job *tt__job_make(struct cache *c, enum cache_act act, uint64_t step,
                               const struct tt_block *b);
void tt__job_drop(struct cache_job *j);
void tt__job_submit(struct cache_job *j);
bool tt__job_has_ended(const struct cache_job *j);
/* Until it has ended, with those before it, which are freed. */
int tt__job_wait(struct cache_job *j, struct tt_error *e);
/* A call that the caller waits for. It needs no memory. */
struct cache_job tt__job_of(struct cache *c, enum cache_act act, uint64_t step,
                            const struct tt_block *b);
int tt__job_call(struct cache *c, enum cache_act act, uint64_t step, const struct tt_block *b,
                 struct tt_error *e);
/* One that it does not wait for, if there is memory. */
int tt__job_leave(struct cache *c, enum cache_act act, uint64_t step, const struct tt_block *b,
                  struct tt_error *e);
/* Frees those that have ended; with wait, at least the oldest. False: there is none. */
bool tt__jobs_reap(struct cache *c, bool wait);
/* The first failure of the mover. */
int tt__cache_failure(struct cache *c, struct tt_error *e);
/* Frees a cache whose closing job has ended. */
void tt__cache_free(struct cache *c);

#endif
