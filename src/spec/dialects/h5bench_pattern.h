/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of one of h5bench's benchmarks. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_PATTERN_H
#define TT_SPEC_DIALECTS_H5BENCH_PATTERN_H

#include <stdint.h>

#include "spec/dialects/h5bench.h"

enum tt_h5bench_operation {
    TT_H5BENCH_WRITE,
    TT_H5BENCH_WRITE_UNLIMITED,
    TT_H5BENCH_WRITE_NORMAL,
    TT_H5BENCH_OVERWRITE,
    TT_H5BENCH_APPEND,
    TT_H5BENCH_READ,
};

/* Keys of a configuration ("DIM_1") into b, whose name and place are set; content is of b's file,
 * before and after. */
int tt_h5bench_translate(const struct tt_settings *keys, enum tt_h5bench_operation operation,
                         bool is_hdf5, struct tt_h5bench_content *content,
                         struct tt_h5bench_benchmark *b, struct tt_error *e);

/* The same for metadata, which is hdf5-iotest, and leaves no file to others. */
int tt_h5bench_translate_metadata(const struct tt_settings *keys, bool is_hdf5,
                                  struct tt_h5bench_benchmark *b, struct tt_error *e);

#endif
