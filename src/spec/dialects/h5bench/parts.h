/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the translation of a workflow share. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_PARTS_H
#define TT_SPEC_DIALECTS_H5BENCH_PARTS_H

#include <stdint.h>

#include "spec/dialects/h5bench.h"
#include "spec/param.h"

/* The notice where a filter has changed values. */
#define TT_H5BENCH_LOSES "not checked: the filter changes values, and nobody knows how far"

/* ---- driver.c: what a workflow says for all of its benchmarks, mpi and file-system ---- */

/* From the settings of the whole file, whose keys outside of benchmarks are checked, too. */
int tt_h5bench_read_driver(const char *path, const struct tt_settings *file, bool is_hdf5,
                           struct tt_settings *common, struct tt_error *e);

/* ---- keys.c: the keys of a benchmark's configuration, and the settings made of them ---- */

/* One benchmark that is being translated. */
struct tt_h5bench_translation {
    const struct tt_settings *keys;
    struct tt_h5bench_benchmark *b; /* whose settings keep the first error */
    bool is_hdf5;
    const char *directory; /* of the workflow's data */
    bool loads_connector; /* in MODE ASYNC and LOG, of which the connector makes the latter a log */
    struct tt_error *e;
};

/* All keys into options, as the table says; blanks before a unit do not matter. */
int tt_h5bench_read_keys(const struct tt_settings *keys, const struct tt_param *params,
                         void *options, struct tt_error *e);
/* The same where h5bench's driver leaves out keys with an empty value. */
int tt_h5bench_read_given(const struct tt_settings *keys, const struct tt_param *params,
                          void *options, struct tt_error *e);
/* How many ranks the workflow has, from its settings for all benchmarks; 0: not known. */
uint64_t tt_h5bench_ranks(const struct tt_settings *s);
/* The place of a key, or of the benchmark if it is not given. */
const char *tt_h5bench_place(const struct tt_h5bench_translation *t, const char *name);
/* A setting that the key called name is the reason for. */
void tt_h5bench_put(struct tt_h5bench_translation *t, const char *name, const char *key,
                    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* "a:b:c"; at most four. */
void tt_h5bench_put_counts(struct tt_h5bench_translation *t, const char *name, const char *key,
                           const uint64_t *values, uint64_t n);

/* ---- pattern.c ---- */

enum tt_h5bench_operation {
    TT_H5BENCH_WRITE,
    TT_H5BENCH_WRITE_UNLIMITED,
    TT_H5BENCH_WRITE_NORMAL,
    TT_H5BENCH_OVERWRITE,
    TT_H5BENCH_APPEND,
    TT_H5BENCH_READ,
};

/* The keys of a configuration ("DIM_1") into t->b, whose name and place are set; content is of its
 * file, before and after. */
int tt_h5bench_translate(struct tt_h5bench_translation *t, enum tt_h5bench_operation operation,
                         struct tt_h5bench_content *content);

/* ---- metadata.c ---- */

/* The same for metadata, which is hdf5-iotest, and leaves no file to others. */
int tt_h5bench_translate_metadata(struct tt_h5bench_translation *t);

/* ---- exerciser.c ---- */

int tt_h5bench_translate_exerciser(struct tt_h5bench_translation *t);

/* ---- applications.c ---- */

/* writer: the last benchmark before it that writes such a series; NULL: none. */
int tt_h5bench_translate_openpmd(struct tt_h5bench_translation *t,
                                 const struct tt_h5bench_benchmark *writer);
int tt_h5bench_translate_amrex(struct tt_h5bench_translation *t);
int tt_h5bench_translate_e3sm(struct tt_h5bench_translation *t);
int tt_h5bench_translate_macsio(struct tt_h5bench_translation *t);

#endif
