/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the layers log and compress share: variables become requests in a log (io/log.h), which is
 * the one u8 variable of the file below. A layer's state is a struct tt_logged, and the rest of its
 * table are the functions below. */
#ifndef TT_IO_LOGGED_H
#define TT_IO_LOGGED_H

#include "io/log.h"

struct tt_logged_opts {
    uint64_t segment; /* 0: a rank's share of a step */
    uint64_t block;
    const struct tt_codec *codec; /* NULL: none */
    int level;
    double bound;     /* of codecs that have one */
    unsigned threads; /* that pack and unpack */
};

struct tt_logged_buffer {
    size_t size;
    void *data;
};

struct tt_logged {
    struct tt_logged_opts opts;
    struct tt_log log;
    struct tt_log_index index; /* of this rank's requests */
    struct tt_variable container;
    bool grows;        /* the container has to be extended: its format knows its length */
    uint64_t segments; /* so many of every rank have room then */
    uint64_t position; /* the end of this rank's stream */
    uint64_t calls;    /* of write, by every rank equally often unless ranks are independent */
    uint64_t seen;     /* of them, when the requests of all ranks were last made known */
    unsigned slot;     /* that the next record is told in; the other has what was synced */
    bool unsynced;     /* it was written since */
    bool failed;       /* a write has: this rank does not close the log */
    size_t taken;      /* bytes of the index that reading knows */
    void **states[2];  /* the codec's, of each thread: for packing and for unpacking */
    /* kept between calls: */
    struct tt_logged_buffer gathered, stored, blocks, file_runs, memory_runs, copies, items,
        unpacked;
    struct tt_log_bytes record;
};

int tt_logged_open(struct tt_file *file, const struct tt_logged_opts *opts, struct tt_error *e);
int tt_logged_define(struct tt_file *file, uint64_t step, struct tt_error *e);
int tt_logged_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e);
int tt_logged_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                   struct tt_error *e);
int tt_logged_sync(struct tt_file *file, struct tt_error *e);
int tt_logged_close(struct tt_file *file, struct tt_error *e);

#endif
