/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of a workflow that are there before it: where they are, and what earlier runs have left in
 * them. */
#ifndef TT_CLI_H5BENCH_PAST_H
#define TT_CLI_H5BENCH_PAST_H

#include "spec/dialects/h5bench.h"

/* The file, or rank 0's; caller frees. NULL: no memory. */
char *tt_h5bench_file(const char *directory, const char *file, bool per_process);

struct tt_h5bench_past_context {
    const char *results;   /* where earlier runs have their directories */
    const char *directory; /* of data, if it is not the workflow's; may be NULL */
};
/* A look of struct tt_h5bench_past. A file says which run has made it; if its directory is at hand
 * and nobody has changed the file since, its plan says what is in it. */
void tt_h5bench_look_back(void *context, const char *directory, const char *file,
                          struct tt_h5bench_content *content);

#endif
