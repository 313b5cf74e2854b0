/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a store that compresses and removes duplicates would find, measured and not assumed. */
#include <stdlib.h>

#include <xxhash.h>
#include <zstd.h>

#include "engine/content.h"

#define PIECE ((size_t)128 << 10) /* as large as the records that file systems compress */

static int compress(const char *data, size_t n, double *ratio, struct tt_error *e)
{
    size_t room = ZSTD_compressBound(PIECE), all = 0;
    char *out = malloc(room);

    if (!out)
        return tt_fail_nomem(e, "a compressed sample");
    for (size_t at = 0; at < n; at += PIECE) {
        size_t piece = n - at < PIECE ? n - at : PIECE;
        size_t size = ZSTD_compress(out, room, data + at, piece, 1);

        all += ZSTD_isError(size) || size > piece ? piece : size;
    }
    free(out);
    *ratio = (double)all / (double)n;
    return TT_OK;
}

static int by_value(const void *a, const void *b)
{
    XXH64_hash_t x = *(const XXH64_hash_t *)a, y = *(const XXH64_hash_t *)b;

    return x < y ? -1 : x > y;
}

static int find_duplicates(const char *data, size_t n, double *share, struct tt_error *e)
{
    size_t chunks = n / TT_CONTENT_CHUNK, again = 0;
    XXH64_hash_t *hashes = malloc((chunks + 1) * sizeof *hashes);

    if (!hashes)
        return tt_fail_nomem(e, "the hashes of a sample");
    for (size_t i = 0; i < chunks; i++)
        hashes[i] = XXH3_64bits(data + i * TT_CONTENT_CHUNK, TT_CONTENT_CHUNK);
    qsort(hashes, chunks, sizeof *hashes, by_value);
    for (size_t i = 1; i < chunks; i++)
        again += hashes[i] == hashes[i - 1];
    free(hashes);
    *share = chunks ? (double)again / (double)chunks : 0;
    return TT_OK;
}

int tt_content_measure(const void *data, size_t n, struct tt_content_ratio *out, struct tt_error *e)
{
    int rc;

    *out = (struct tt_content_ratio){.compressed = 1};
    if (n == 0)
        return TT_OK;
    rc = compress(data, n, &out->compressed, e);
    return rc == TT_OK ? find_duplicates(data, n, &out->duplicate, e) : rc;
}
