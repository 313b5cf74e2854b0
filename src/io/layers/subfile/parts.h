/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of layer subfile share. */
#ifndef TT_IO_LAYERS_SUBFILE_PARTS_H
#define TT_IO_LAYERS_SUBFILE_PARTS_H

#include "io/subfile.h"

/* A file of this rank, its concentrator. */
struct subfile_own {
    uint64_t number;
    char *path;
    struct tt_file_spec spec;
    struct tt_file *file; /* NULL: not open */
    uint64_t end;         /* behind everything that was written to it */
};

/* Bytes that lie together in a subfile and in memory. */
struct subfile_piece {
    uint64_t file, offset, memory, length;
};

/* Of a transfer: this many messages that this rank sends, and as many that it serves, may be under
 * way, each of at most so many bytes and runs. So the memory of a rank does not depend on how many
 * ranks there are, or on how much they write. */
enum {
    SUBFILE_WINDOW = 4,
    SUBFILE_BYTES = 4 << 20,
    SUBFILE_RUNS = 8192,
    SUBFILE_ALIGNMENT = 4096, /* of the data in a message, for O_DIRECT */
};

struct subfile_state {
    struct tt_subfiles set;
    struct tt_variable container; /* what each file below is */
    int *owners;                  /* the rank of each file */
    size_t nown;
    struct subfile_own *own;
    int config;     /* rank 0, while it writes: the descriptor of the path; else -1 */
    uint64_t end;   /* behind everything that this rank has written to the container */
    bool unsettled; /* there were writes since the files had their lengths; the same on all ranks */
    bool failed;    /* a write was lost; the same on all ranks */
    bool synced;    /* somebody asked for durable data */
    /* kept between transfers: */
    size_t npieces, capacity;
    struct subfile_piece *pieces;
    struct tt_run *in_file, *in_memory; /* capacity each */
    int *counts;                        /* messages for each file, and ranks that have failed */
    unsigned char *sent, *served;       /* SUBFILE_WINDOW buffers each */
};

/* Memory for the messages of ranks; none if there is one rank. */
int tt_subfile_exchange_start(struct tt_file *file, struct tt_error *e);
void tt_subfile_exchange_end(struct subfile_state *s);
/* Moves a block. Collective, and ranks have agreed. */
int tt_subfile_transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                        const struct tt_block *b, struct tt_error *e);
struct subfile_own *tt_subfile_own(struct subfile_state *s, uint64_t number);

#endif
