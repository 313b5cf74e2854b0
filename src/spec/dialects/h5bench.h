/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON workflow of h5bench, as settings of workloads. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_H
#define TT_SPEC_DIALECTS_H5BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/settings.h"

struct tt_h5bench_benchmark {
    char *name, *place;    /* "write", "job.json:12:5" */
    const char *operation; /* h5bench's word for it in results, "write unlimited" */
    char *file;            /* relative to the directory */
    char *csv_file;        /* NULL: none */
    char *reason;          /* why it cannot be run, one line; NULL: it can */
    const char *notice;    /* why what it reads is not checked; NULL: it is, or it does not read */
    bool skipped;          /* the filter leaves it out */
    bool creates;          /* a file of particles; known also of one that is skipped */
    bool unusable;         /* reason is an error of the file */
    bool reads, changes;   /* needs a file that is there */
    bool keeps;            /* its files stay */
    bool asynchronous, logs; /* MODE ASYNC, MODE LOG */
    bool on_gpu;             /* its data is there, and copied through ordinary memory */
    bool per_process;        /* rank_<r>_<file> */
    const char *workload;    /* NULL if it cannot be run */
    struct tt_settings settings;
};

/* Benchmarks in the order of the file, each with what the file says for all of them. */
struct tt_h5bench_workflow {
    char *directory; /* for data */
    char *connector; /* that HDF5 cannot load: overlap does what it would do; NULL: none */
    /* Of "vol", for the environment of the ranks, as "a:b"; NULL: none. */
    char *library, *path, *preload;
    size_t n;
    struct tt_h5bench_benchmark *list;
};

#define TT_H5BENCH_DIMS 3

/* What is in a file before or after a benchmark that uses it. */
struct tt_h5bench_content {
    bool is_known;  /* it is known who made it */
    bool can_check; /* and all in it comes from the seed */
    bool unlimited, per_process;
    bool loses; /* a filter changes its values, so that it cannot be checked */
    int layout; /* 0 arrays, 1 records */
    uint64_t ndims, dims[TT_H5BENCH_DIMS], steps, seed, appended;
    uint64_t stride, block, count; /* count 0: not strided */
    uint64_t ranks;                /* that wrote it; 0: as many as the workflow has */
    double deviation;
};

/* What an earlier workflow or run has left at file, of which no benchmark that is run before is
 * known to have made it; *content is clear. */
struct tt_h5bench_past {
    void (*look)(void *context, const char *directory, const char *file,
                 struct tt_h5bench_content *content);
    void *context;
};

/* What transfers the data: another backend has no settings of hdf5, and converts nothing itself. */
enum tt_h5bench_backend {
    TT_H5BENCH_OTHER,
    TT_H5BENCH_HDF5,
    TT_H5BENCH_HDF5_CONNECTORS, /* an HDF5 that loads VOL connectors */
};

/* What is nonsense is an error with its place; what is known but cannot be done becomes the
 * benchmark's reason. filter (may be NULL) is a list of names, "write,read". past may be NULL:
 * nothing is known. */
int tt_h5bench_read(const char *path, const char *filter, enum tt_h5bench_backend backend,
                    const struct tt_h5bench_past *past, struct tt_h5bench_workflow *w,
                    struct tt_error *e);
void tt_h5bench_free(struct tt_h5bench_workflow *w);

#endif
