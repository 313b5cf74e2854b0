/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/content.h"

#include <string.h>

#include "engine/content_kernel.h"

#define WORDS (TT_CONTENT_CHUNK / sizeof(uint64_t))

#if defined(__x86_64__)
static tt_content_kernel *kernel(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return tt_content_kernel_avx512;
    return __builtin_cpu_supports("avx2") ? tt_content_kernel_avx2 : tt_content_kernel_baseline;
}
#else
static tt_content_kernel *kernel(void)
{
    return tt_content_kernel_baseline;
}
#endif

/* ---- random ---- */

size_t tt_content_random_words(const struct tt_content *c)
{
    return WORDS - (size_t)((double)WORDS * c->compressible + 0.5);
}

static void make_chunk(const struct tt_content *c, uint64_t owner, uint64_t chunk, uint64_t *words)
{
    uint64_t key = tt_content_chunk_key(c->signature, owner, c->duplicate, chunk), states[16];
    size_t random = tt_content_random_words(c);

    for (unsigned i = 0; i < 16; i++)
        states[i] = tt_mix(key + i) | 1;
    if (random > 0)
        kernel()(words, states);
    for (size_t i = random; i < WORDS; i++)
        words[i] = key;
}

/* Calls of piece in the order of the data: whole chunks, and parts of the first and the last. */
static void fill_random(const struct tt_content *c, uint64_t owner, uint64_t offset, char *data,
                        size_t n)
{
    uint64_t words[WORDS];

    for (size_t done = 0, part; done < n; done += part) {
        uint64_t chunk = (offset + done) / TT_CONTENT_CHUNK;
        size_t skip = (offset + done) % TT_CONTENT_CHUNK;

        part = TT_CONTENT_CHUNK - skip < n - done ? TT_CONTENT_CHUNK - skip : n - done;
        if (part == TT_CONTENT_CHUNK && (uintptr_t)(data + done) % sizeof *words == 0) {
            make_chunk(c, owner, chunk, (uint64_t *)(void *)(data + done));
            continue;
        }
        make_chunk(c, owner, chunk, words);
        memcpy(data + done, (char *)words + skip, part);
    }
}

/* ---- IOR's ---- */

static uint64_t ior_word(const struct tt_content *c, uint64_t owner, uint64_t offset, size_t i)
{
    return tt_content_ior_word((int)c->kind, c->signature, owner, offset, i);
}

static void fill_ior(const struct tt_content *c, uint64_t owner, uint64_t offset, char *data,
                     size_t n)
{
    for (size_t i = 0; i * sizeof(uint64_t) < n; i++) {
        uint64_t word = ior_word(c, owner, offset, i);
        size_t at = i * sizeof word;

        memcpy(data + at, &word, n - at < sizeof word ? n - at : sizeof word);
    }
}

void tt_content_fill(const struct tt_content *c, uint64_t owner, uint64_t offset, void *data,
                     size_t n)
{
    if (c->kind == TT_CONTENT_RANDOM)
        fill_random(c, owner, offset, data, n);
    else
        fill_ior(c, owner, offset, data, n);
}

void tt_content_refresh(const struct tt_content *c, uint64_t owner, uint64_t offset, void *data,
                        size_t n)
{
    uint64_t *words = data;

    if (c->kind == TT_CONTENT_RANDOM)
        fill_random(c, owner, offset, data, n);
    else if (c->kind != TT_CONTENT_TIMESTAMP)
        for (size_t i = 0; (i + 1) * sizeof *words <= n; i += 512)
            words[i] = ior_word(c, owner, offset, i);
}

/* ---- checking ---- */

static bool equal(const char *a, const char *b, size_t n, size_t base, size_t *wrong)
{
    if (memcmp(a, b, n) == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) {
            *wrong = base + i;
            break;
        }
    return false;
}

static bool matches_random(const struct tt_content *c, uint64_t owner, uint64_t offset,
                           const char *data, size_t n, size_t *wrong)
{
    uint64_t words[WORDS];

    for (size_t done = 0, part; done < n; done += part) {
        size_t skip = (offset + done) % TT_CONTENT_CHUNK;

        part = TT_CONTENT_CHUNK - skip < n - done ? TT_CONTENT_CHUNK - skip : n - done;
        make_chunk(c, owner, (offset + done) / TT_CONTENT_CHUNK, words);
        if (!equal(data + done, (char *)words + skip, part, done, wrong))
            return false;
    }
    return true;
}

static bool matches_ior(const struct tt_content *c, uint64_t owner, uint64_t offset,
                        const char *data, size_t n, size_t *wrong)
{
    for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
        uint64_t word = ior_word(c, owner, offset, at / sizeof word);
        size_t part = n - at < sizeof word ? n - at : sizeof word;

        if (!equal(data + at, (char *)&word, part, at, wrong))
            return false;
    }
    return true;
}

bool tt_content_matches(const struct tt_content *c, uint64_t owner, uint64_t offset,
                        const void *data, size_t n, size_t *wrong)
{
    return c->kind == TT_CONTENT_RANDOM ? matches_random(c, owner, offset, data, n, wrong)
                                        : matches_ior(c, owner, offset, data, n, wrong);
}
