/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plain file by its descriptor, with or without the page cache (O_DIRECT): for backends that make
 * the transfers themselves. */
#ifndef TT_IO_RAW_H
#define TT_IO_RAW_H

#include <sys/uio.h>

#include "io/file.h"

/* Options of backend posix. */
struct tt_raw_opts {
    bool odirect;
};

struct tt_raw {
    int fd;
    bool direct;
    unsigned memory, place; /* multiples that O_DIRECT needs; 0: the file system does not say */
};

/* Makes file->spec->path if it is to be made, of which ranks agree; then opens it. */
int tt_raw_prepare(struct tt_file *file, bool direct, struct tt_raw *raw, struct tt_error *e);
int tt_raw_open(struct tt_file *file, struct tt_raw *raw, struct tt_error *e);
int tt_raw_close(struct tt_file *file, struct tt_raw *raw, struct tt_error *e);
/* Whether a piece can be transferred; TT_UNSUPPORTED with what is not a multiple of what. */
int tt__raw_check(const struct tt_file *file, const struct tt_raw *raw, const void *memory,
                  uint64_t offset, uint64_t length, struct tt_error *e);
static inline int tt_raw_check(const struct tt_file *file, const struct tt_raw *raw,
                               const void *memory, uint64_t offset, uint64_t length,
                               struct tt_error *e)
{
    return raw->place == 0 ? TT_OK : tt__raw_check(file, raw, memory, offset, length, e);
}

/* After a transfer that moved so many bytes from the front of a list: how many pieces are done. The
 * next one is shortened. */
unsigned tt_raw_advance(struct iovec *pieces, unsigned n, size_t moved);
/* A transfer that has failed, or (error 0) moved nothing. */
int tt_raw_fail(const struct tt_file *file, const struct tt_raw *raw, enum tt_direction direction,
                int error, int64_t offset, struct tt_error *e);
/* The fact `key`, if O_DIRECT was asked for: what the descriptor and the file system say. */
int tt_raw_query(const struct tt_raw *raw, const char *key, struct tt_facts *facts,
                 struct tt_error *e);

#endif
