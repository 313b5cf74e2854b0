/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the bulk workload: its options, which transfer goes where, and what a rank does. */
#ifndef TT_WORKLOADS_BULK_H
#define TT_WORKLOADS_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mix.h"
#include "spec/param.h"

struct tt_engine;

enum tt_bulk_order { TT_BULK_SEQUENTIAL, TT_BULK_STRIDED, TT_BULK_RANDOM, TT_BULK_REPEATED };
enum tt_bulk_reorder {
    TT_BULK_IN_PLACE,
    TT_BULK_CONSTANT,
    TT_BULK_RANDOM_RANK,
    TT_BULK_PERMUTATION
};

struct tt_bulk_options {
    uint64_t block, transfer, segments, depth, repetitions, signature, reorder_distance,
        reorder_seed;
    int files; /* 0 shared, 1 a file per process */
    int order, reorder, data;
    bool write, read, check_write, check_read, timed_check, barriers, wear_out, cold;
    bool reorder_anew;    /* other readers in every repetition */
    bool keep_wrong;      /* a file in which something wrong was found is left */
    bool numbered;        /* a file of its own for every repetition */
    bool own_directories; /* every rank's files in a directory of its number */
    double deadline, compressible, duplicate;
    struct tt_words paths;
    char *count_file;
    struct tt_space ballast;
};

/* ---- order.c ---- */
/* Transfers of one rank, or of the rank it stands in for, and where each of them goes. */
struct tt_bulk_walk {
    enum tt_bulk_order order;
    bool shared;
    uint64_t ranks, rank;     /* rank: the one whose transfers these are */
    uint64_t transfer, block; /* bytes */
    uint64_t count;           /* transfers of this rank */
    uint64_t slots;           /* transfers that the file has room for */
    uint64_t seed;
    struct tt_permutation whole, written;
};
/* Transfers of every rank as configured. */
uint64_t tt_bulk_transfers(const struct tt_bulk_options *o);
/* places: transfers of all ranks, or of one with a file per process, for which the file has room.
 * written: how many of this rank's there are; reading takes them in another random order than that
 * in which they were written. */
#define TT_BULK_TO_WRITE UINT64_MAX
void tt_bulk_walk_begin(struct tt_bulk_walk *w, const struct tt_bulk_options *o, uint64_t places,
                        uint64_t ranks, uint64_t rank, uint64_t seed, uint64_t written);
/* Transfers of a rank in a file that ends after the given number of them. */
uint64_t tt_bulk_part(const struct tt_bulk_options *o, uint64_t there, uint64_t ranks,
                      uint64_t rank);
/* The byte at which the i-th transfer starts. */
uint64_t tt_bulk_offset(const struct tt_bulk_walk *w, uint64_t i);

/* How ranks lie on nodes, as far as standing in for each other goes. */
struct tt_bulk_nodes {
    uint64_t ranks_of_first, nodes;
    bool blocked; /* rank 1 is on the node of rank 0 */
};
/* The rank whose data this one reads; extra: 1 when checking after a write, whose readers move on
 * once more. */
uint64_t tt_bulk_reordered_rank(const struct tt_bulk_options *o, const struct tt_bulk_nodes *n,
                                uint64_t ranks, uint64_t rank, uint64_t extra, uint64_t seed);

/* ---- run.c ---- */
/* Columns of the table "accesses" in a result: a row for every write, check and read. */
enum tt_bulk_column {
    TT_BULK_ACCESS, /* enum tt_bulk_access */
    TT_BULK_REPETITION,
    TT_BULK_BYTES,
    TT_BULK_TRANSFERS,
    TT_BULK_OPEN_S,
    TT_BULK_TRANSFER_S,
    TT_BULK_CLOSE_S,
    TT_BULK_TOTAL_S,
    TT_BULK_LATENCY_S,
    TT_BULK_DEADLINE_S,     /* when the first rank stopped; 0 without a deadline */
    TT_BULK_DEADLINE_BYTES, /* by all ranks until their deadline */
    TT_BULK_LEAST_TRANSFERS,
    TT_BULK_MOST_TRANSFERS,
    TT_BULK_NCOLUMNS
};
enum tt_bulk_access { TT_BULK_WRITE, TT_BULK_CHECK, TT_BULK_READ };
int tt_bulk_run(struct tt_engine *engine, struct tt_error *e);

#endif
