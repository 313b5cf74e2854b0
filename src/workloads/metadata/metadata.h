/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the metadata workload: its options, where items lie, and what a rank does. */
#ifndef TT_WORKLOADS_METADATA_H
#define TT_WORKLOADS_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tt_engine;

enum tt_metadata_what { TT_METADATA_FILES, TT_METADATA_DIRECTORIES, TT_METADATA_BOTH };

struct tt_metadata_options {
    uint64_t items, per_directory, branch, depth, write, read, shift, repetitions;
    uint64_t tasks, signature;
    int what; /* enum tt_metadata_what */
    bool leaves_only, own_directories, fsync, sync_phases, shuffle;
    bool shared, mknod, check, check_write;
    bool create, stat, open, rename, remove;
    double deadline;
    char *path, *count_file;
};

/* ---- tree.c ---- */
#define TT_METADATA_MAX_DEPTH 32
/* Directories of a tree, and those of them that hold items. 0: too many to count. */
uint64_t tt_metadata_directories(const struct tt_metadata_options *o);
uint64_t tt_metadata_holders(const struct tt_metadata_options *o);
/* Ranks that work, of so many. */
uint64_t tt_metadata_tasks(const struct tt_metadata_options *o, uint64_t ranks);
/* Items of every rank. */
uint64_t tt_metadata_items(const struct tt_metadata_options *o);

/* Paths of items, made with as little work as can be: neighbours share their directory. */
struct tt_metadata_names {
    const struct tt_metadata_options *options;
    char path[4096];
    size_t root;      /* length of the root's path, with the rank's own directory */
    size_t directory; /* length of the current directory's, with its slash */
    uint64_t holder;  /* the directory that path is of; UINT64_MAX: none */
    uint64_t rank, per_holder;
};
/* The items of a rank below root. */
int tt_metadata_names_begin(struct tt_metadata_names *n, const struct tt_metadata_options *o,
                            const char *root, uint64_t rank, struct tt_error *e);
/* The i-th directory of the tree, 0 being the rank's root, parents before children. */
const char *tt_metadata_directory(struct tt_metadata_names *n, uint64_t i);
/* An item: "file.RANK.I", "directory.RANK.I"; with renamed, what a directory is called after that.
 */
const char *tt_metadata_item(struct tt_metadata_names *n, uint64_t i, bool is_directory,
                             bool renamed);

/* Whether one of so many ranks makes this entry: the reverse, by its path from the root. */
bool tt_metadata_makes(const struct tt_metadata_options *o, uint64_t ranks, const char *path,
                       bool is_directory);

/* ---- count.c ---- */
#define TT_METADATA_COUNT_FILE ".items" /* in the root */
/* The items of every rank, for a later run: those that a deadline left of a tree that stays.
 * Directories have a number of their own, in a file whose name has an ending more. */
int tt_metadata_count_save(const struct tt_metadata_options *o, const char *root, bool directories,
                           uint64_t items, struct tt_error *e);
/* *items stays what it is if nobody has kept a number. */
int tt_metadata_count_load(const struct tt_metadata_options *o, const char *root, bool directories,
                           uint64_t *items, struct tt_error *e);
void tt_metadata_count_remove(const char *root);

/* ---- run.c ---- */
enum tt_metadata_operation {
    TT_METADATA_TREE,
    TT_METADATA_CREATE,
    TT_METADATA_STAT,
    TT_METADATA_OPEN,
    TT_METADATA_RENAME,
    TT_METADATA_REMOVE,
    TT_METADATA_FELL, /* remove the tree */
    TT_METADATA_NOPERATIONS
};
/* Columns of the table "operations" in a result: a row for every phase. */
enum tt_metadata_column {
    TT_METADATA_OPERATION,
    TT_METADATA_OF_DIRECTORIES, /* 1 if the items are directories */
    TT_METADATA_REPETITION,
    TT_METADATA_COUNT,   /* of all ranks */
    TT_METADATA_SECONDS, /* of the slowest rank, with the barrier at the end */
    TT_METADATA_NCOLUMNS
};
int tt_metadata_run(struct tt_engine *engine, struct tt_error *e);

#endif
