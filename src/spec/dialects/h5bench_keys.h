/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a benchmark's configuration, and the settings made of them. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_KEYS_H
#define TT_SPEC_DIALECTS_H5BENCH_KEYS_H

#include <stdint.h>

#include "spec/dialects/h5bench.h"
#include "spec/param.h"

/* NULL: not given. */
const struct tt_setting *tt_h5bench_find(const struct tt_settings *keys, const char *name);

/* All keys into options, as the table says; blanks before a unit do not matter. */
int tt_h5bench_read_keys(const struct tt_settings *keys, const struct tt_param *params,
                         void *options, struct tt_error *e);

/* Where settings go; the first error stays in rc. */
struct tt_h5bench_emitter {
    const struct tt_settings *keys;
    struct tt_h5bench_benchmark *b;
    struct tt_error *e;
    int rc;
};
/* The place of a key, or of the benchmark if it is not given. */
const char *tt_h5bench_place(const struct tt_h5bench_emitter *to, const char *name);
/* A setting that the key called name is the reason for. */
void tt_h5bench_emit(struct tt_h5bench_emitter *to, const char *name, const char *key,
                     const char *value);
void tt_h5bench_emit_number(struct tt_h5bench_emitter *to, const char *name, const char *key,
                            uint64_t value);
void tt_h5bench_emit_real(struct tt_h5bench_emitter *to, const char *name, const char *key,
                          double value);
/* "a:b:c"; at most four. */
void tt_h5bench_emit_counts(struct tt_h5bench_emitter *to, const char *name, const char *key,
                            const uint64_t *values, uint64_t n);

#endif
