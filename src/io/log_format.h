/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What writing and reading a log share. */
#ifndef TT_IO_LOG_FORMAT_H
#define TT_IO_LOG_FORMAT_H

#define XXH_INLINE_ALL /* its states on the stack */
#include <xxhash.h>

#include "io/log.h"

#define TT_LOG_MAGIC "tuttilog"
#define TT_LOG_RECORD "tuttiidx"

enum {
    TT_LOG_HEAD_WORDS = 9, /* before the variables */
    TT_LOG_NUMBER = 10,    /* bytes of a number in a record, at most */
    TT_LOG_BLOCK = 12,     /* bytes of a block in a record: stored, hash */
};

/* Where slots and segments are, behind a head of so many bytes. */
void tt__log_place(struct tt_log *log, uint64_t head);

#endif
