/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/mix.h"
#include "workloads/pattern/pattern.h"

uint64_t tt_pattern_seed(uint64_t seed, uint64_t origin, unsigned variable, uint64_t step)
{
    return tt_mix(tt_mix(tt_mix(seed ^ origin << 32) + variable) ^ step);
}

/* Numbers that every format keeps as they are: no NaN, and characters are letters. */
static void put_value(enum tt_kind kind, uint64_t h, unsigned char *to)
{
    float f = (float)(h >> 40) * 0x1p-24f;
    double d = (double)(h >> 11) * 0x1p-53;

    switch (kind) {
    case TT_U8:
        *to = (unsigned char)h;
        break;
    case TT_CHAR:
        *to = (unsigned char)('a' + h % 26);
        break;
    case TT_F32:
        memcpy(to, &f, sizeof f);
        break;
    case TT_F64:
        memcpy(to, &d, sizeof d);
        break;
    case TT_I32:
    case TT_U32:
        memcpy(to, &h, 4);
        break;
    default:
        memcpy(to, &h, 8);
    }
}

static void put_element(const struct tt_element *element, uint64_t h, unsigned char *to)
{
    if (element->kind != TT_RECORD) {
        put_value(element->kind, h, to);
        return;
    }
    for (unsigned i = 0; i < element->nfields; i++) {
        const struct tt_field *f = &element->fields[i];

        for (uint32_t j = 0; j < f->count; j++) {
            put_value(f->kind, h, to + f->offset + j * tt_kind_size(f->kind));
            h = tt_mix(h);
        }
    }
}

void tt_pattern_put(const struct tt_element *element, uint64_t seed, uint64_t index,
                    unsigned char *to)
{
    put_element(element, tt_mix(seed + index), to);
}

void tt_pattern_fill(const struct tt_block *b, const struct tt_element *element, uint64_t seed)
{
    unsigned char *data = b->data;
    struct tt_extent_iter it;
    struct tt_extent x;

    tt_extents_begin(&it, b, 1); /* in elements, not bytes */
    while (tt_extents_next(&it, &x))
        for (uint64_t i = 0; i < x.length; i++)
            put_element(element, tt_mix(seed + x.file_offset + i),
                        data + (x.memory_offset + i) * element->size);
}

static void show(const unsigned char *bytes, size_t n, char out[TT_PATTERN_TEXT])
{
    int at = snprintf(out, TT_PATTERN_TEXT, "0x");

    for (size_t i = 0; i < n && at < TT_PATTERN_TEXT - 2; i++)
        at += snprintf(out + at, TT_PATTERN_TEXT - (size_t)at, "%02x", bytes[i]);
}

bool tt_pattern_check(const struct tt_block *b, const struct tt_element *element, uint64_t seed,
                      uint64_t *index, char expected[TT_PATTERN_TEXT], char found[TT_PATTERN_TEXT])
{
    unsigned char right[TT_PATTERN_MAX_ELEMENT];
    unsigned char *data = b->data;
    struct tt_extent_iter it;
    struct tt_extent x;

    tt_extents_begin(&it, b, 1);
    while (tt_extents_next(&it, &x))
        for (uint64_t i = 0; i < x.length; i++) {
            unsigned char *here = data + (x.memory_offset + i) * element->size;

            put_element(element, tt_mix(seed + x.file_offset + i), right);
            if (memcmp(here, right, element->size)) {
                *index = x.file_offset + i;
                show(right, element->size, expected);
                show(here, element->size, found);
                return false;
            }
            memset(here, TT_PATTERN_POISON, element->size);
        }
    return true;
}
