/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of a benchmark's translation share. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_PARTS_H
#define TT_SPEC_DIALECTS_H5BENCH_PARTS_H

#include "spec/dialects/h5bench_keys.h"
#include "spec/dialects/h5bench_pattern.h"

enum { H5BENCH_CONTIG, H5BENCH_INTERLEAVED, H5BENCH_STRIDED }; /* MEM_PATTERN, FILE_PATTERN */

/* A configuration. */
struct h5bench_pattern {
    int memory, file, read_option, operation, mode, filter;
    uint64_t num_dims, dims[TT_H5BENCH_DIMS], particles, to_read, steps, delay;
    uint64_t stride[TT_H5BENCH_DIMS], block[TT_H5BENCH_DIMS], blocks, memory_limit;
    uint64_t chunk[TT_H5BENCH_DIMS], align_threshold, align_length;
    bool collective_data, collective_metadata, compress, subfiling, align, file_per_process;
    bool is_strided; /* FILE_PATTERN, or READ_OPTION with blocks */
    double compute, deviation;
    char *csv_file, *environment_file;
};

struct h5bench_emitter {
    struct tt_h5bench_emitter out;
    struct h5bench_pattern *p;
    enum tt_h5bench_operation operation;
    struct tt_h5bench_content *content;
    bool is_hdf5;
};

/* ---- h5bench_chain.c ---- */
/* What the file is known to have holds where the configuration says nothing. */
void tt_h5bench_adopt(struct h5bench_emitter *to);
/* The phase, whether what it reads can be checked, and what is in the file then. */
void tt_h5bench_emit_chain(struct h5bench_emitter *to);

/* It needs a file that is there, to change it. */
static inline bool tt_h5bench_changes(enum tt_h5bench_operation operation)
{
    return operation == TT_H5BENCH_OVERWRITE || operation == TT_H5BENCH_APPEND;
}

#endif
