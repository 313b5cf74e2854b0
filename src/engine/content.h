/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is written: a function of a signature, an owner and a place, so that whoever reads it later
 * can tell whether it is right. */
#ifndef TT_ENGINE_CONTENT_H
#define TT_ENGINE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/content_both.h"

struct tt_device; /* devices/device.h */

struct tt_content {
    enum tt_content_kind kind;
    uint64_t signature;
    double compressible; /* share of every chunk that is one repeated word, 0 to 1; random only */
    double duplicate;    /* share of the chunks that occur again and again, 0 to 1; random only */
};

/* Content of n bytes at an offset, which together are one transfer. Offsets are multiples of 8. */
void tt_content_fill(const struct tt_content *c, uint64_t owner, uint64_t offset, void *data,
                     size_t n);
/* The same, where data holds the content of another transfer of as many bytes and of the same owner
 * already: only what differs is written. */
void tt_content_refresh(const struct tt_content *c, uint64_t owner, uint64_t offset, void *data,
                        size_t n);
/* Whether data is what tt_content_fill() makes; if not, *wrong is the first byte that differs. */
bool tt_content_matches(const struct tt_content *c, uint64_t owner, uint64_t offset,
                        const void *data, size_t n, size_t *wrong);

/* Words of a chunk of random content that are random; the others are one word again and again. */
size_t tt_content_random_words(const struct tt_content *c);

/* The same in a device's memory, by its kernels; n is a multiple of 8. They wait for what was
 * queued on the device's computation before, and return when all of it is done. `found` is 8 bytes
 * of the device's memory for the answer; *wrong is n if nothing differs. */
int tt_content_fill_on(struct tt_device *d, const struct tt_content *c, uint64_t owner,
                       uint64_t offset, void *data, size_t n, struct tt_error *e);
int tt_content_compare_on(struct tt_device *d, const struct tt_content *c, uint64_t owner,
                          uint64_t offset, const void *data, size_t n, void *found, size_t *wrong,
                          struct tt_error *e);
/* Before the start: what the first use of these two would take. */
int tt_content_prepare_on(struct tt_device *d, struct tt_error *e);

/* What a sample of data turned out to be. */
struct tt_content_ratio {
    double compressed; /* size after zstd / size before */
    double duplicate;  /* share of the 4 KiB chunks that had occurred before in the sample */
};
int tt_content_measure(const void *data, size_t n, struct tt_content_ratio *out,
                       struct tt_error *e);

#endif
