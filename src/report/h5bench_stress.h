/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of the workload arrays in the words of hdf5-iotest, which is h5bench's metadata. */
#ifndef TT_REPORT_H5BENCH_STRESS_H
#define TT_REPORT_H5BENCH_STRESS_H

#include <jansson.h>
#include <stdio.h>

/* By the names of hdf5-iotest's columns, in bytes and seconds; with what the summary shows. NULL:
 * no memory. */
json_t *tt_h5bench_stress_figures(const json_t *result);
void tt_h5bench_stress_print(FILE *out, const json_t *figures);
/* A line of names and one of values. */
void tt_h5bench_stress_csv(FILE *out, const json_t *figures);

#endif
