/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the reader workload: its options and the files. */
#ifndef TT_WORKLOADS_READER_H
#define TT_WORKLOADS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tt_config;
struct tt_engine;

enum tt_reader_checksum { TT_READER_NONE, TT_READER_XXHASH };

struct tt_reader_options {
    uint64_t files, size, size_max, concurrency, transfer, passes, portion;
    int checksum; /* enum tt_reader_checksum */
    char *path;   /* NULL: files are made */
    bool cold;
};

/* ---- files.c ---- */
/* Bytes of a file that is made: between size and size_max, each order of magnitude as likely. */
uint64_t tt_reader_size(const struct tt_reader_options *o, uint64_t seed, uint64_t file);
/* Its content from an offset, a multiple of 8, on: nothing can compress it. */
void tt_reader_fill(uint64_t seed, uint64_t file, uint64_t offset, unsigned char *data, size_t n);

/* Files that are there already: their paths one after the other, each ended by a NUL. */
struct tt_reader_list {
    size_t n, length, capacity;
    char *paths;
    uint64_t bytes;
};
/* All regular files in a directory and in those below, in the order of their names; links are not
 * followed. Caller frees paths, also after a failure. */
int tt_reader_list(const char *directory, struct tt_reader_list *out, struct tt_error *e);
/* The same of reader.path. */
int tt_reader_list_of(const struct tt_config *config, struct tt_reader_list *out,
                      struct tt_error *e);

/* ---- run.c ---- */
int tt_reader_run(struct tt_engine *engine, struct tt_error *e);

#endif
