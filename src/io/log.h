/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A container to which every rank appends its requests, with an index of them; the layers log and
 * compress write it. Nothing here calls MPI or moves data: bytes come and go through the caller.
 *
 *   head    what the container is: magic, version, ranks, sizes, codec, variables, checksum
 *   slots   two for each rank; the newer one tells where the rank's last index record is
 *   base    from here on segments: the k-th of rank r begins at base + (k * ranks + r) * segment
 *
 * The segments of a rank, one after the other, are its stream, which only this rank writes, so no
 * rank asks another where to write. The stream holds the blocks of requests and index records. A
 * record lists the requests since the one before, and where that is; the record at the end of a
 * file that was closed lists them all. What a sync has acknowledged stays in its slot until the
 * next one has returned: records in between, and that of the next sync, go to the other slot. All
 * words are little-endian and have 64 bits; numbers in records have as many bytes as they need.
 *
 * Of two requests for the same bytes the one of the later step wins, then the one of the later
 * call, then that of the higher rank. */
#ifndef TT_IO_LOG_H
#define TT_IO_LOG_H

#include "io/codec.h"
#include "io/file.h"

#define TT_LOG_VERSION 1
enum {
    TT_LOG_START = 24,  /* bytes that tell whether it is one, and how long its head is */
    TT_LOG_UNIT = 4096, /* base and segment are multiples of it */
};
#define TT_LOG_ENDLESS (UINT64_C(1) << 62) /* a container is not longer */

struct tt_log_variable {
    uint64_t bytes; /* of an instance */
    bool per_step;
    char *name;
};

/* One request. */
struct tt_log_entry {
    uint32_t variable, rank;
    uint64_t step, call;
    uint64_t position;         /* of its blocks in the stream of the rank */
    uint64_t bytes;            /* before they were packed */
    uint64_t nruns;            /* as stored: each may stand for many */
    const unsigned char *runs; /* see tt_log_runs_begin */
    const unsigned char *blocks;
    uint64_t *starts; /* of each block and the end, from position; see tt_log_starts */
};

/* A piece of a variable's instance, and where its bytes are. */
struct tt_log_piece {
    uint64_t start, length; /* bytes of the instance */
    size_t entry;
    uint64_t within; /* bytes of the request, unpacked, before it */
};

struct tt_log {
    const char *path; /* for messages; the caller's */
    uint64_t ranks, segment, block, slots, base;
    uint64_t file_size; /* UINT64_MAX: not known */
    enum tt_policy policy;
    const struct tt_codec *codec; /* NULL: blocks are as they were given */
    unsigned nvariables;
    struct tt_log_variable *variables;
    size_t n, capacity; /* requests, in the order in which they win, of each instance together */
    struct tt_log_entry *entries;
    uint64_t steps;    /* so many at least have anything */
    uint64_t unclosed; /* ranks that have not closed it */
    uint64_t fallen;   /* ranks of which a slot, or what it tells of, is damaged */
    uint64_t moved;    /* the caller's: blocks of requests before this call need not be there */
    uint64_t *known;   /* of each rank: the number of its last record that was read */
    size_t nimages;    /* records that entries point into */
    unsigned char **images;
    size_t nmap; /* the instance that was looked up last; see tt_log_look_up */
    struct tt_log_piece *map;
    unsigned map_variable;
    uint64_t map_step;
    bool mapped;
};

/* ---- making one ---- */

/* What a new container of this spec is. */
int tt_log_begin(struct tt_log *log, const struct tt_file_spec *spec, unsigned ranks,
                 uint64_t segment, uint64_t block, const struct tt_codec *codec,
                 struct tt_error *e);
void tt_log_free(struct tt_log *log);
/* All bytes before base, with empty slots. The caller frees; NULL: no memory. */
unsigned char *tt_log_front(const struct tt_log *log);

struct tt_log_bytes {
    size_t n, capacity;
    unsigned char *data;
};
struct tt_log_block {
    uint32_t stored; /* bytes; the size of the block itself: it is not packed */
    uint64_t hash;   /* of these */
};
/* Index of the requests of one rank. */
struct tt_log_index {
    struct tt_log_bytes all;
    uint64_t entries;
    size_t recorded;           /* bytes of it that are in records */
    uint64_t recorded_entries; /* and so many requests */
    uint64_t generation;       /* of the last record */
    uint64_t position, size;   /* of the last record in the stream; size 0: none */
};
/* TT_OK or TT_NOMEM. Of entry counts all but runs, blocks and starts. */
int tt_log_index_add(struct tt_log_index *index, const struct tt_log_entry *entry,
                     const struct tt_block *b, size_t element_size,
                     const struct tt_log_block *blocks, uint64_t nblocks);
/* A record for the end of the stream, at position, and then the rank's slot: TT_LOG_SLOT bytes.
 * last: of all requests. *out has room for both and is the caller's; *record is the record's size,
 * 0 if only the slot is new. The index counts as recorded when tt_log_index_recorded is called. */
enum { TT_LOG_SLOT = 64 };
int tt_log_index_record(const struct tt_log_index *index, uint64_t rank, uint64_t position,
                        bool last, struct tt_log_bytes *out, size_t *record);
void tt_log_index_recorded(struct tt_log_index *index, uint64_t position, size_t record);
/* Where the two slots of a rank, 0 and 1, are in the container. */
uint64_t tt_log_slot(const struct tt_log *log, uint64_t rank, unsigned slot);

/* ---- reading one ---- */

/* Reads the runs of the container, one after the other, to `to`. Where reading is collective, it is
 * called equally often on all ranks, which agree in it: a rank that has failed passes its rc, and
 * then nothing is read. */
typedef int tt_log_fetch(void *context, int rc, size_t n, const struct tt_run *runs, void *to,
                         struct tt_error *e);
/* Whether a container that begins with these 8 bytes is a log. */
bool tt_log_begins(const char *start);
/* The head and all requests. file_size: what a damaged index says cannot lie behind it; UINT64_MAX:
 * not known. salvage, which no other rank takes part in: a rank that has not closed the
 * container has what its newest slot says, or if anything of that is missing, what the other says;
 * otherwise that is an error. */
int tt_log_load(struct tt_log *log, uint64_t file_size, bool salvage, tt_log_fetch *fetch,
                void *context, struct tt_error *e);
/* What has been recorded since, while it is being written. If that fails on any rank, all must
 * forget: how far each came differs. */
int tt_log_refresh(struct tt_log *log, tt_log_fetch *fetch, void *context, struct tt_error *e);
/* All requests; they are read again by the next refresh. */
void tt_log_forget(struct tt_log *log);
/* Takes in the index of a rank that has it in memory. */
int tt_log_take(struct tt_log *log, uint64_t rank, const struct tt_log_index *index, size_t from,
                struct tt_error *e);
/* Whether the container has the variables of the spec. */
int tt_log_check(const struct tt_log *log, const struct tt_file_spec *spec, struct tt_error *e);

/* Makes log->map the pieces of this instance, by their start and without overlap. */
int tt_log_look_up(struct tt_log *log, unsigned variable, uint64_t step, struct tt_error *e);
/* Runs of the container that are these bytes of a rank's stream, in their order; at most
 * tt_log_nruns(). Returns how many. */
size_t tt_log_nruns(const struct tt_log *log, uint64_t length);
size_t tt_log_runs(const struct tt_log *log, uint64_t rank, uint64_t position, uint64_t length,
                   struct tt_run *runs);
uint64_t tt_log_nblocks(const struct tt_log *log, const struct tt_log_entry *x);
/* Bytes of the k-th block before it was packed. */
uint64_t tt_log_block_bytes(const struct tt_log *log, const struct tt_log_entry *x, uint64_t k);
/* Fills x->starts. */
int tt_log_starts(const struct tt_log *log, struct tt_log_entry *x, struct tt_error *e);
/* The k-th block as it was given: *out is stored itself, or to, where it was unpacked. state is the
 * codec's. */
int tt_log_unpack(const struct tt_log *log, const struct tt_log_entry *x, uint64_t k,
                  const void *stored, void *to, void *state, const void **out, struct tt_error *e);

/* Walks the runs of a request, in bytes of the instance. */
struct tt_log_walk {
    const unsigned char *at;
    uint64_t left, repeat, length, end;
    int64_t gap;
};
void tt_log_walk_begin(struct tt_log_walk *w, const struct tt_log_entry *x);
bool tt_log_walk_next(struct tt_log_walk *w, struct tt_run *run);

#endif
