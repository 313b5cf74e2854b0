/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/codec.h"

#include <lz4.h>
#include <limits.h>
#include <stdlib.h>
#include <zstd.h>

/* ---- lz4 ---- */

static void *lz4_start(bool unpacks)
{
    return malloc(unpacks ? 1 : (size_t)LZ4_sizeofState());
}

static void lz4_end(void *state, bool unpacks)
{
    (void)unpacks;
    free(state);
}

static size_t lz4_bound(size_t n)
{
    return n <= LZ4_MAX_INPUT_SIZE ? (size_t)LZ4_compressBound((int)n) : 0;
}

static size_t lz4_pack(void *state, int level, const void *from, size_t n, void *to, size_t room)
{
    int size = LZ4_compress_fast_extState(state, from, to, (int)n,
                                          room < INT_MAX ? (int)room : INT_MAX, 1);

    (void)level;
    return size > 0 ? (size_t)size : 0;
}

static bool lz4_unpack(void *state, const void *from, size_t n, void *to, size_t size)
{
    (void)state;
    return n <= INT_MAX && size <= INT_MAX &&
           LZ4_decompress_safe(from, to, (int)n, (int)size) == (int)size;
}

static const struct tt_codec lz4 = {"lz4",   1,         0,        lz4_start,
                                    lz4_end, lz4_bound, lz4_pack, lz4_unpack};

/* ---- zstd ---- */

static void *zstd_start(bool unpacks)
{
    return unpacks ? (void *)ZSTD_createDCtx() : (void *)ZSTD_createCCtx();
}

static void zstd_end(void *state, bool unpacks)
{
    if (unpacks)
        ZSTD_freeDCtx(state);
    else
        ZSTD_freeCCtx(state);
}

static size_t zstd_pack(void *state, int level, const void *from, size_t n, void *to, size_t room)
{
    size_t size = ZSTD_compressCCtx(state, to, room, from, n, level);

    return ZSTD_isError(size) ? 0 : size;
}

static bool zstd_unpack(void *state, const void *from, size_t n, void *to, size_t size)
{
    return ZSTD_decompressDCtx(state, to, size, from, n) == size;
}

static const struct tt_codec zstd = {
    "zstd", 2, 19, zstd_start, zstd_end, ZSTD_compressBound, zstd_pack, zstd_unpack};

const struct tt_codec *const tt_codecs[] = {&lz4, &zstd, NULL};
const char *const tt_codec_names[] = {"lz4", "zstd", NULL};

const struct tt_codec *tt_codec_numbered(uint64_t number)
{
    for (size_t i = 0; tt_codecs[i]; i++)
        if (tt_codecs[i]->number == number)
            return tt_codecs[i];
    return NULL;
}
