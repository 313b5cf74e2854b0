/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of content that the host and kernels make alike. */
#ifndef TT_ENGINE_CONTENT_BOTH_H
#define TT_ENGINE_CONTENT_BOTH_H

#ifndef TT_BOTH
#include "base/both.h"
#endif

enum tt_content_kind {
    TT_CONTENT_RANDOM,    /* of any place; as compressible and as often repeated as asked */
    TT_CONTENT_TIMESTAMP, /* IOR's: word i of a transfer is owner << 32 | (signature + i) */
    TT_CONTENT_OFFSET,    /* the same, with the transfer's offset in every 512th word */
    TT_CONTENT_SCATTER,   /* IOR's incompressible: random once, with the offset words */
};

/* Random content is made in chunks of this size, of which each depends on its place alone. */
#define TT_CONTENT_CHUNK 4096
#define TT_CONTENT_DISTINCT 16 /* contents of the chunks that repeat */

TT_BOTH tt_u64 tt_content_chunk_key(tt_u64 signature, tt_u64 owner, double duplicate, tt_u64 chunk)
{
    tt_u64 key = tt_mix(tt_mix(tt_mix(signature) + owner) + chunk);

    if ((double)(key >> 11) * 0x1p-53 < duplicate)
        return tt_mix(tt_mix(signature + 1) + key % TT_CONTENT_DISTINCT);
    return key;
}

/* The i-th word of a transfer at an offset, of the kinds of IOR. */
TT_BOTH tt_u64 tt_content_ior_word(int kind, tt_u64 signature, tt_u64 owner, tt_u64 offset,
                                   tt_u64 i)
{
    tt_u64 mine = owner << 32;

    if (kind != TT_CONTENT_TIMESTAMP && i % 512 == 0)
        return mine | (unsigned)(offset * (i / 512 + 1));
    if (kind == TT_CONTENT_SCATTER)
        return tt_mix(tt_mix(signature + owner) + i);
    return mine | (unsigned)(signature + i);
}

#endif
