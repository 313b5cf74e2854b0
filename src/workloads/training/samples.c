/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/training/training.h"

#define MEAN_SUM 393210 /* of twelve numbers between 0 and 65535; their deviation is 65536 */
#define MOST_ADDED (UINT64_C(1) << 22)
#define PREFIX "sample-"

static uint64_t aligned(const struct tt_training_options *o, int64_t bytes)
{
    uint64_t size = bytes < 1 ? 1 : (uint64_t)bytes;

    return (size + o->align - 1) / o->align * o->align;
}

uint64_t tt_training_size(const struct tt_training_options *o, uint64_t seed, uint64_t sample)
{
    uint64_t key = tt_mix(seed ^ UINT64_C(0x73616d706c6573));
    int64_t sum = -MEAN_SUM;

    for (uint64_t i = 0; o->deviation > 0 && i < 3; i++)
        for (uint64_t bits = tt_mix(key + 3 * sample + i), k = 0; k < 4; k++, bits >>= 16)
            sum += (int64_t)(bits & 0xffff);
    return aligned(o,
                   (int64_t)o->size + (o->deviation > 0 ? (int64_t)o->deviation * sum / 65536 : 0));
}

uint64_t tt_training_most(const struct tt_training_options *o)
{
    return aligned(o, (int64_t)(o->size + 6 * o->deviation));
}

/* Sums of a file: none before its first sample. */
static uint64_t sums_of_file(const struct tt_training_options *o)
{
    return o->deviation > 0 ? o->per_file / TT_TRAINING_SUMMED : 0;
}

int tt_training_places_make(struct tt_training_places *p, const struct tt_training_options *o,
                            uint64_t seed, struct tt_error *e)
{
    uint64_t n = sums_of_file(o), bytes = 0;

    *p = (struct tt_training_places){o, seed, n ? malloc(o->files * n * sizeof *p->sums) : NULL};
    if (n > 0 && !p->sums)
        return tt_fail_nomem(e, "the places of samples");
    for (uint64_t i = 0; i < o->files * n; i++) {
        uint64_t first = i / n * o->per_file + i % n * TT_TRAINING_SUMMED;

        bytes = i % n == 0 ? 0 : bytes;
        for (uint64_t k = 0; k < TT_TRAINING_SUMMED; k++)
            bytes += tt_training_size(o, seed, first + k);
        p->sums[i] = bytes;
    }
    return TT_OK;
}

/* Bytes before the i-th sample of a file, or of all of it. */
static uint64_t bytes_before(const struct tt_training_places *p, uint64_t file, uint64_t i)
{
    const struct tt_training_options *o = p->options;
    uint64_t first = file * o->per_file, bytes = 0, summed = p->sums ? i / TT_TRAINING_SUMMED : 0;

    if (o->deviation == 0)
        return i * tt_training_size(o, p->seed, 0);
    if (summed > 0)
        bytes = p->sums[file * sums_of_file(o) + summed - 1];
    for (uint64_t k = summed * TT_TRAINING_SUMMED; k < i; k++)
        bytes += tt_training_size(o, p->seed, first + k);
    return bytes;
}

uint64_t tt_training_offset(const struct tt_training_places *p, uint64_t sample)
{
    return bytes_before(p, sample / p->options->per_file, sample % p->options->per_file);
}

uint64_t tt_training_file_size(const struct tt_training_places *p, uint64_t file)
{
    return bytes_before(p, file, p->options->per_file);
}

uint64_t tt_training_bytes(const struct tt_training_options *o, uint64_t seed)
{
    uint64_t n = tt_training_samples(o), bytes = 0;

    if (n > MOST_ADDED)
        return n * aligned(o, (int64_t)o->size);
    for (uint64_t i = 0; i < n; i++)
        bytes += tt_training_size(o, seed, i);
    return bytes;
}

uint64_t tt_training_samples(const struct tt_training_options *o)
{
    return o->files * o->per_file;
}

uint64_t tt_training_steps(const struct tt_training_options *o, uint64_t ranks)
{
    return tt_training_samples(o) / (ranks ? ranks : 1) / o->batch;
}

uint64_t tt_training_outstanding(const struct tt_training_options *o)
{
    return o->workers ? (o->prefetch + o->workers - 1) / o->workers * o->workers : 0;
}

uint64_t tt_training_room(const struct tt_training_options *o)
{
    return (tt_training_most(o) + 4095) / 4096 * 4096;
}

double tt_training_memory(const struct tt_training_options *o)
{
    return (double)(tt_training_outstanding(o) + 1) *
               ((double)o->batch * (double)tt_training_room(o) + tt_training_slot_size) +
           (double)(o->files * sums_of_file(o) * sizeof(uint64_t));
}

struct tt_training_order tt_training_order_make(const struct tt_training_options *o, uint64_t seed,
                                                uint64_t epoch)
{
    uint64_t n = o->shuffle == TT_TRAINING_FILES ? o->files : tt_training_samples(o);

    return (struct tt_training_order){o, tt_permutation_make(n, tt_mix(seed) + epoch)};
}

uint64_t tt_training_at(const struct tt_training_order *order, uint64_t i)
{
    uint64_t each = order->options->per_file;

    switch (order->options->shuffle) {
    case TT_TRAINING_NONE:
        return i;
    case TT_TRAINING_FILES:
        return tt_permute(&order->permutation, i / each) * each + i % each;
    default:
        return tt_permute(&order->permutation, i);
    }
}

void tt_training_name(uint64_t file, char name[TT_TRAINING_NAME])
{
    snprintf(name, TT_TRAINING_NAME, PREFIX "%06llu", (unsigned long long)file);
}

/* The length of what the layer subfile adds to a name; 0: it adds nothing. */
static size_t subfile_ending(const char *text)
{
    static const char *const words[] = {".subfile_", "_of_"};
    const char *at = text;

    for (size_t i = 0; i < 2; i++) {
        size_t digits;

        if (strncmp(at, words[i], strlen(words[i])) != 0)
            return 0;
        at += strlen(words[i]);
        digits = strspn(at, "0123456789");
        if (digits == 0)
            return 0;
        at += digits;
    }
    return (size_t)(at - text);
}

bool tt_training_makes(const struct tt_training_options *o, const char *path)
{
    char name[TT_TRAINING_NAME];
    const char *ending;
    uint64_t file;

    if (strncmp(path, PREFIX, strlen(PREFIX)) != 0)
        return false;
    file = strtoull(path + strlen(PREFIX), NULL, 10);
    tt_training_name(file, name);
    if (file >= o->files || strncmp(path, name, strlen(name)) != 0)
        return false;
    ending = path + strlen(name);
    ending += subfile_ending(ending);
    return !*ending || !strcmp(ending, ".locktest.0");
}
