/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Codecs that pack a block of bytes, for layers and for whoever reads their files. */
#ifndef TT_IO_CODEC_H
#define TT_IO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/model.h"

/* What a codec may use of what the user has chosen and of the data. */
struct tt_packing {
    int level;
    double bound;      /* how far values of f32 and f64 may be from what was given; 0: not at all */
    enum tt_kind kind; /* of the values; blocks begin and end with one if the codec has_bound */
};

struct tt_codec {
    const char *name;
    uint64_t number;     /* in files: never changes its meaning */
    int levels;          /* the greatest level; 0: it has none */
    bool has_bound;      /* it packs values, not bytes, and may lose a part of them */
    const char *package; /* that would bring its library; NULL: it is in this build */
    /* What a thread keeps between calls; NULL from start: no memory. */
    void *(*start)(bool unpacks);
    void (*end)(void *state, bool unpacks);
    /* Room that packing n bytes may need. */
    size_t (*bound)(size_t n);
    /* Returns the packed size; 0: it failed, or does not pack such data. */
    size_t (*pack)(void *state, const struct tt_packing *how, const void *from, size_t n, void *to,
                   size_t room);
    /* False: the n bytes are not a packed block of this size. */
    bool (*unpack)(void *state, const void *from, size_t n, void *to, size_t size);
};

/* Up to NULL. */
extern const struct tt_codec *const tt_codecs[];
/* The names of all, up to NULL, for a parameter's choices; in the order of tt_codecs. */
extern const char *const tt_codec_names[];
/* NULL: there is none of this number. */
const struct tt_codec *tt_codec_numbered(uint64_t number);

#endif
