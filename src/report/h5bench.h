/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of the workloads particles and arrays in the words of h5bench. */
#ifndef TT_REPORT_H5BENCH_H
#define TT_REPORT_H5BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* What a result has of h5bench's metrics, in bytes and seconds, by their names and in the order of
 * its CSV; besides h5bench's observed rate those over the wall time and over the time that was not
 * hidden. operation is h5bench's word. A rate is null where nothing remains of its time. NULL: no
 * memory. */
json_t *tt_h5bench_figures(const json_t *result, const char *operation, bool reads);

/* Rows are objects of "benchmark", "file", "reads", "status" (done, failed, not run, skipped),
 * "reason" (may be null), "notice" (of what was done; may be null), "connector_not_loaded" (for
 * which overlap stood in; may be null), "figures" and "result" (null if there are none). */
void tt_h5bench_head(FILE *out, const char *path, const char *directory);
/* A line on a vol connector that tutti does not load; nothing if it is NULL. */
void tt_h5bench_connector(FILE *out, const char *connector);
void tt_h5bench_results(FILE *out, const json_t *row, size_t number, size_t total);
void tt_h5bench_summary(FILE *out, const json_t *rows);
/* h5bench's "metric, value, unit". */
void tt_h5bench_csv(FILE *out, const json_t *figures);

#endif
