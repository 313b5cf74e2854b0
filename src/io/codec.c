/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/codec.h"

#include <lz4.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "build_info.h"
#if TT_HAS_ZFP
#include <zfp.h>
#endif

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

static size_t lz4_pack(void *state, const struct tt_packing *how, const void *from, size_t n,
                       void *to, size_t room)
{
    int size = LZ4_compress_fast_extState(state, from, to, (int)n,
                                          room < INT_MAX ? (int)room : INT_MAX, 1);

    (void)how;
    return size > 0 ? (size_t)size : 0;
}

static bool lz4_unpack(void *state, const void *from, size_t n, void *to, size_t size)
{
    (void)state;
    return n <= INT_MAX && size <= INT_MAX &&
           LZ4_decompress_safe(from, to, (int)n, (int)size) == (int)size;
}

static const struct tt_codec lz4 = {.name = "lz4",
                                    .number = 1,
                                    .start = lz4_start,
                                    .end = lz4_end,
                                    .bound = lz4_bound,
                                    .pack = lz4_pack,
                                    .unpack = lz4_unpack};

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

static size_t zstd_pack(void *state, const struct tt_packing *how, const void *from, size_t n,
                        void *to, size_t room)
{
    size_t size = ZSTD_compressCCtx(state, to, room, from, n, how->level);

    return ZSTD_isError(size) ? 0 : size;
}

static bool zstd_unpack(void *state, const void *from, size_t n, void *to, size_t size)
{
    return ZSTD_decompressDCtx(state, to, size, from, n) == size;
}

static const struct tt_codec zstd = {.name = "zstd",
                                     .number = 2,
                                     .levels = 19,
                                     .start = zstd_start,
                                     .end = zstd_end,
                                     .bound = ZSTD_compressBound,
                                     .pack = zstd_pack,
                                     .unpack = zstd_unpack};

/* ---- zfp ---- */

#if TT_HAS_ZFP
/* A packed block is a head and zfp's stream of a line of values. What the line is cannot be told
 * from a block of the log, whose selection may be anything. */
struct zfp_head {
    uint64_t kind;
    double bound; /* 0: reversible */
};

struct zfp_state {
    zfp_stream *stream;
    size_t size;
    void *copy; /* of what is unpacked: zfp reads on behind the end of a stream that is damaged */
};

static void zfp_end(void *state, bool unpacks)
{
    struct zfp_state *s = state;

    (void)unpacks;
    if (s->stream)
        zfp_stream_close(s->stream);
    free(s->copy);
    free(s);
}

static void *zfp_start(bool unpacks)
{
    struct zfp_state *s = calloc(1, sizeof *s);

    if (s)
        s->stream = zfp_stream_open(NULL);
    if (s && !s->stream) {
        zfp_end(s, unpacks);
        return NULL;
    }
    return s;
}

/* Sets how values are packed; returns the greatest size, 0 if these are no values for zfp. */
static size_t zfp_prepare(zfp_stream *stream, zfp_field *field, const struct zfp_head *head,
                          const void *values, size_t n)
{
    size_t each = head->kind == TT_F64 ? sizeof(double) : sizeof(float);

    if ((head->kind != TT_F32 && head->kind != TT_F64) || n == 0 || n % each)
        return 0;
    zfp_field_set_type(field, head->kind == TT_F64 ? zfp_type_double : zfp_type_float);
    zfp_field_set_pointer(field, (void *)values);
    zfp_field_set_size_1d(field, n / each);
    if (head->bound > 0)
        zfp_stream_set_accuracy(stream, head->bound);
    else
        zfp_stream_set_reversible(stream);
    return zfp_stream_maximum_size(stream, field);
}

/* Fewer than 4 values need the room of 4. */
static size_t zfp_bound(size_t n)
{
    return sizeof(struct zfp_head) + 2 * n + 256;
}

/* zfp keeps an absolute bound as long as it has bits for it, and knows no values that are not
 * finite. Other blocks are packed reversibly. */
static double usable_bound(const struct tt_packing *how, const void *values, size_t n)
{
    const float *f = values;
    const double *d = values;
    double most = 0;

    for (size_t i = 0; how->kind == TT_F32 && i < n / sizeof *f; i++) {
        if (!isfinite(f[i]))
            return 0;
        most = fmax(most, fabs((double)f[i]));
    }
    for (size_t i = 0; how->kind == TT_F64 && i < n / sizeof *d; i++) {
        if (!isfinite(d[i]))
            return 0;
        most = fmax(most, fabs(d[i]));
    }
    return ldexp(most, how->kind == TT_F32 ? -20 : -48) < how->bound ? how->bound : 0;
}

static size_t zfp_pack(void *state, const struct tt_packing *how, const void *from, size_t n,
                       void *to, size_t room)
{
    struct zfp_state *s = state;
    zfp_field field = {0};
    struct zfp_head head = {.kind = how->kind};
    bitstream *bits;
    size_t most, size;

    head.bound = how->bound > 0 ? usable_bound(how, from, n) : 0;
    most = zfp_prepare(s->stream, &field, &head, from, n);
    if (most == 0 || most + sizeof head > room)
        return 0;
    bits = stream_open((char *)to + sizeof head, room - sizeof head);
    if (!bits)
        return 0;
    zfp_stream_set_bit_stream(s->stream, bits);
    zfp_stream_rewind(s->stream);
    size = zfp_compress(s->stream, &field);
    stream_close(bits);
    memcpy(to, &head, sizeof head);
    return size ? size + sizeof head : 0;
}

static bool zfp_unpack(void *state, const void *from, size_t n, void *to, size_t size)
{
    struct zfp_state *s = state;
    zfp_field field = {0};
    struct zfp_head head;
    bitstream *bits;
    size_t most, needed;

    if (n < sizeof head)
        return false;
    memcpy(&head, from, sizeof head);
    if (!(head.bound >= 0) || isinf(head.bound))
        return false;
    most = zfp_prepare(s->stream, &field, &head, to, size);
    n -= sizeof head;
    if (most == 0 || n > most)
        return false;
    needed = 4 * most; /* more than any bits make it read */
    if (s->size < needed) {
        free(s->copy);
        s->copy = malloc(needed);
        s->size = s->copy ? needed : 0;
    }
    bits = s->copy ? stream_open(s->copy, needed) : NULL;
    if (!bits)
        return false;
    memcpy(s->copy, (const char *)from + sizeof head, n);
    memset((char *)s->copy + n, 0, needed - n);
    zfp_stream_set_bit_stream(s->stream, bits);
    zfp_stream_rewind(s->stream);
    needed = zfp_decompress(s->stream, &field);
    stream_close(bits);
    return needed > 0 && needed <= n;
}

static const struct tt_codec zfp = {.name = "zfp",
                                    .number = 3,
                                    .has_bound = true,
                                    .start = zfp_start,
                                    .end = zfp_end,
                                    .bound = zfp_bound,
                                    .pack = zfp_pack,
                                    .unpack = zfp_unpack};
#else
static const struct tt_codec zfp = {
    .name = "zfp", .number = 3, .has_bound = true, .package = "libzfp-dev"};
#endif

const struct tt_codec *const tt_codecs[] = {&lz4, &zstd, &zfp, NULL};
const char *const tt_codec_names[] = {"lz4", "zstd", "zfp", NULL};

const struct tt_codec *tt_codec_numbered(uint64_t number)
{
    for (size_t i = 0; tt_codecs[i]; i++)
        if (tt_codecs[i]->number == number)
            return tt_codecs[i];
    return NULL;
}
