/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the checkpoint workload: its options, which rank holds which piece of which tensor,
 * what is in it, and what a rank does. */
#ifndef TT_WORKLOADS_CHECKPOINT_H
#define TT_WORKLOADS_CHECKPOINT_H

#include "io/model.h"
#include "plan/workload.h"
#include "spec/param.h"

enum tt_checkpoint_model {
    TT_CHECKPOINT_CUSTOM,
    TT_CHECKPOINT_8B,
    TT_CHECKPOINT_70B,
    TT_CHECKPOINT_405B,
    TT_CHECKPOINT_1T,
};
enum tt_checkpoint_sharding { TT_CHECKPOINT_FULL, TT_CHECKPOINT_PARALLEL };
enum tt_checkpoint_phase { TT_CHECKPOINT_SAVE, TT_CHECKPOINT_RESTORE, TT_CHECKPOINT_BOTH };
/* A file each of every rank. */
enum tt_checkpoint_kind { TT_CHECKPOINT_WEIGHTS, TT_CHECKPOINT_OPTIMIZER, TT_CHECKPOINT_KINDS };

struct tt_checkpoint_options {
    int model, sharding, phase;
    uint64_t hidden, ffn, layers, vocabulary, kv;
    uint64_t tensor, pipeline;
    uint64_t checkpoints, every, keep_newest;
    uint64_t restore_ranks, saved_by;
    struct tt_passes compute;
    bool cold, verify;
    char *path;
};

/* ---- state.c ---- */
/* A transformer: 2 embeddings, a norm, and per layer 4 matrices of attention, 3 of the gated
 * feed-forward network and 2 norms. */
struct tt_checkpoint_shape {
    uint64_t hidden, ffn, layers, vocabulary, kv;
};
struct tt_checkpoint_shape tt_checkpoint_shape(const struct tt_checkpoint_options *o);
uint64_t tt_checkpoint_parameters(const struct tt_checkpoint_shape *s);
/* Bytes of a parameter in the files of a kind: bf16, or a copy and two moments in fp32. */
uint64_t tt_checkpoint_bytes_each(enum tt_checkpoint_kind kind);

/* What one rank has of one array of a tensor, which is one variable of its file. */
struct tt_checkpoint_piece {
    uint64_t tensor;
    unsigned part;         /* array of the optimizer: copy, first, second moment; else 0 */
    uint64_t start, count; /* elements of the tensor */
    uint64_t at;           /* bytes, in the rank's memory for this kind */
};
struct tt_checkpoint_state {
    enum tt_checkpoint_kind kind;
    unsigned n;
    struct tt_checkpoint_piece *pieces; /* by tensor, then part */
    struct tt_variable *variables;      /* of the file */
    uint64_t bytes, memory;             /* in the file; in memory, where each piece is aligned */
};
/* All that a rank of so many holds. */
int tt_checkpoint_state_make(struct tt_checkpoint_state *s, const struct tt_checkpoint_options *o,
                             enum tt_checkpoint_kind kind, uint64_t rank, uint64_t ranks,
                             struct tt_error *e);
void tt_checkpoint_state_free(struct tt_checkpoint_state *s);
/* Bytes of a piece; of the largest piece, but of one part of it at most; and of the largest rank in
 * all kinds, with the largest part of any rank in *part unless that is NULL. */
uint64_t tt_checkpoint_piece_bytes(const struct tt_checkpoint_state *s, unsigned piece);
uint64_t tt_checkpoint_largest_part(const struct tt_checkpoint_state *s);
uint64_t tt_checkpoint_memory(const struct tt_checkpoint_options *o, uint64_t ranks,
                              uint64_t *part);
/* Steps of training: some before each checkpoint, and as many after the last one. */
uint64_t tt_checkpoint_steps(const struct tt_checkpoint_options *o);
/* Without MPI: is that possible with so many ranks? */
int tt_checkpoint_check_ranks(const struct tt_checkpoint_options *o, uint64_t ranks,
                              struct tt_error *e);

/* Content is a function of seed, tensor and place, whoever holds it. Only a word in each 4 KiB
 * depends on the number of the checkpoint: the next one costs nothing, and none is taken for
 * another. */
void tt_checkpoint_fill(const struct tt_checkpoint_state *s, uint64_t seed, unsigned char *memory);
void tt_checkpoint_stamp(const struct tt_checkpoint_state *s, uint64_t number,
                         unsigned char *memory);
/* False: *piece is the first that is not right, and *offset the byte of its tensor. */
bool tt_checkpoint_is_right(const struct tt_checkpoint_state *s, uint64_t seed, uint64_t number,
                            const unsigned char *memory, unsigned *piece, uint64_t *offset);

/* What it is made of: the owner of a piece's content, and the byte of its tensor at which the piece
 * begins; the word of a checkpoint; the first byte from there on at which one stands. */
#define TT_CHECKPOINT_STAMPS 4096 /* bytes from one to the next */
uint64_t tt_checkpoint_owner(const struct tt_checkpoint_state *s, unsigned piece);
uint64_t tt_checkpoint_offset(const struct tt_checkpoint_state *s, unsigned piece);
uint64_t tt_checkpoint_stamp_of(uint64_t number);
uint64_t tt_checkpoint_next_stamp(uint64_t from);

/* ---- device.c: the same in a device's memory, to the last bit; all return when it is done ---- */
struct tt_device;
int tt_checkpoint_prepare_on(struct tt_device *d, struct tt_error *e); /* its kernels */
int tt_checkpoint_fill_on(struct tt_device *d, const struct tt_checkpoint_state *s, uint64_t seed,
                          unsigned char *memory, struct tt_error *e);
int tt_checkpoint_stamp_on(struct tt_device *d, const struct tt_checkpoint_state *s,
                           uint64_t number, unsigned char *memory, struct tt_error *e);
int tt_checkpoint_check_on(struct tt_device *d, const struct tt_checkpoint_state *s, uint64_t seed,
                           uint64_t number, const unsigned char *memory, bool *is_right,
                           unsigned *piece, uint64_t *offset, struct tt_error *e);
/* Bytes that were read go to the device from two buffers in turn, each copied, if it is pinned,
 * while the other is read into: room, send, room, send, ..., end, which tells how long this thread
 * has waited in all. If make fails, free. */
#define TT_CHECKPOINT_PART (UINT64_C(64) << 20) /* bytes of a buffer, and checked at once */
struct tt_checkpoint_feed;
int tt_checkpoint_feed_make(struct tt_engine *engine, struct tt_checkpoint_feed **out,
                            struct tt_error *e);
int tt_checkpoint_feed_room(struct tt_checkpoint_feed *f, unsigned char **buffer,
                            struct tt_error *e);
int tt_checkpoint_feed_send(struct tt_checkpoint_feed *f, void *to, uint64_t bytes,
                            struct tt_error *e);
int tt_checkpoint_feed_end(struct tt_checkpoint_feed *f, int64_t *waited_ns, struct tt_error *e);
void tt_checkpoint_feed_free(struct tt_checkpoint_feed *f); /* also NULL */

/* ---- run.c ---- */
int tt_checkpoint_run(struct tt_engine *engine, struct tt_error *e);

/* The table "checkpoints", a row each: the slowest rank's seconds. */
enum {
    TT_CHECKPOINT_NUMBER,
    TT_CHECKPOINT_SECONDS,
    TT_CHECKPOINT_STALL,
    TT_CHECKPOINT_NCOLUMNS,
};

#endif
