/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON workflow of h5bench, as settings of the workloads particles and
 * arrays. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_H
#define TT_SPEC_DIALECTS_H5BENCH_H

#include <stdbool.h>

#include "spec/settings.h"

struct tt_h5bench_benchmark {
    char *name, *place;    /* "write", "job.json:12:5" */
    const char *operation; /* h5bench's word for it in results, "write unlimited" */
    char *file;            /* relative to the directory */
    char *csv_file;        /* NULL: none */
    char *reason;          /* why it cannot be run, one line; NULL: it can */
    bool skipped;          /* the filter leaves it out */
    bool reads, asynchronous;
    const char *workload; /* NULL if it cannot be run */
    struct tt_settings settings;
};

/* Benchmarks in the order of the file, each with what the file says for all of them. */
struct tt_h5bench_workflow {
    char *directory; /* for data */
    size_t n;
    struct tt_h5bench_benchmark *list;
};

/* What is nonsense is an error with its place; what is known but cannot be done becomes the
 * benchmark's reason. filter (may be NULL) is a list of names, "write,read". Settings of hdf5 are
 * made only with is_hdf5: another backend has none of them, and converts nothing itself. */
int tt_h5bench_read(const char *path, const char *filter, bool is_hdf5,
                    struct tt_h5bench_workflow *w, struct tt_error *e);
void tt_h5bench_free(struct tt_h5bench_workflow *w);

#endif
