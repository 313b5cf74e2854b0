/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel keeps of a file in memory. */
#ifndef TT_NODE_PAGE_CACHE_H
#define TT_NODE_PAGE_CACHE_H

#include <stdint.h>

#include "base/error.h"

/* Ask the kernel to forget what it has of a file; whether it did, tt_cache_resident() tells. Fails
 * if what it still had to write could not be written, which the kernel says to one caller only. */
int tt_cache_evict(int fd, const char *path, struct tt_error *e);
/* Bytes of a file of this size that are in the page cache; -1 if the kernel does not say. */
int64_t tt_cache_resident(int fd, uint64_t size);

#endif
