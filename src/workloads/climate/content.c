/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "base/mix.h"
#include "workloads/climate/climate.h"

enum { CHANGING = 1024 }; /* the first of so many elements changes with the record; 2^n */

/* The value at one place, as it is in memory; returns its size. */
static inline size_t value_at(const struct tt_climate_content *c, uint64_t record, uint64_t index,
                              void *out)
{
    uint64_t bits = tt_mix(c->key + index + (index % CHANGING == 0 ? tt_mix(record) : 0));
    double real = (double)(bits >> 11) * 0x1p-53;
    float single = (float)real;
    int32_t number = (int32_t)(bits >> 33);
    char letter = (char)('a' + bits % 26);

    switch (c->element->kind) {
    case TT_F64:
        memcpy(out, &real, sizeof real);
        return sizeof real;
    case TT_F32:
        memcpy(out, &single, sizeof single);
        return sizeof single;
    case TT_I32:
        memcpy(out, &number, sizeof number);
        return sizeof number;
    default:
        memcpy(out, &letter, 1);
        return 1;
    }
}

void tt_climate_fill(const struct tt_climate_content *c, uint64_t record, bool changes, void *data)
{
    size_t each = c->element->size * c->spacing;
    uint64_t step = changes ? CHANGING : 1;
    char *at = data;

    for (size_t i = 0; i < c->nruns; i++) {
        uint64_t start = c->runs[i].start, length = c->runs[i].length;

        for (uint64_t k = -start & (step - 1); k < length; k += step)
            value_at(c, record, start + k, at + k * each);
        at += length * each;
    }
}

bool tt_climate_matches(const struct tt_climate_content *c, uint64_t record, const void *data,
                        uint64_t *wrong)
{
    size_t each = c->element->size * c->spacing;
    const char *at = data;
    char right[8];

    for (size_t i = 0; i < c->nruns; i++)
        for (uint64_t k = 0; k < c->runs[i].length; k++, at += each) {
            *wrong = c->runs[i].start + k;
            if (memcmp(at, right, value_at(c, record, *wrong, right)) != 0 &&
                !tt_is_near(c->element, at, right, c->loss))
                return false;
        }
    return true;
}
