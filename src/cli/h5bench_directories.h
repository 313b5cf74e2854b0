/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run directories of a workflow's benchmarks. */
#ifndef TT_CLI_H5BENCH_DIRECTORIES_H
#define TT_CLI_H5BENCH_DIRECTORIES_H

#include <stdbool.h>

/* Has one of them been interrupted? */
bool tt_h5bench_was_interrupted(const char *parent);
/* Removes what they have made. Errors are reported; true: there were some. */
bool tt_h5bench_remove_data(const char *parent);

#endif
