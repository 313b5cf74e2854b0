/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A result shown. Reports read only result.json and the samples. */
#ifndef TT_REPORT_REPORT_H
#define TT_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "report/paragraph.h"

/* {host: true} of the ranks of a result, in their order. */
json_t *tt_hosts_of(const json_t *ranks);
/* At most 80 columns, units everywhere: the answer, warnings, then the details; with all set also
 * parameters that have their defaults and metrics that are 0 or not known. */
void tt_report_text(FILE *out, const json_t *result, bool all);
/* What a user came for, line by line: "write", "312 MiB/s, 78 IOPS". */
typedef void tt_tell_answer(void *context, const char *label, const struct tt_paragraph *p);
void tt_report_answers(const json_t *result, tt_tell_answer *tell, void *context);
/* A result as machines get it: parameters with their types, and rows of tables whose cells have
 * names. A new reference; NULL: no memory. */
json_t *tt_report_typed(const json_t *result);
/* Such a result, with the epochs and samples that are read from the run directory meanwhile (NULL:
 * without). path "-" is stdout. */
int tt_report_json(const char *path, const json_t *result, const char *directory,
                   struct tt_error *e);
/* One row per rank and iteration, after comment lines with version, command and units. */
int tt_report_csv(const char *path, const json_t *result, const char *directory,
                  struct tt_error *e);

/* Rates over time, if the result has any: their extremes and a small line, in characters of
 * Unicode where out is a terminal that shows them. */
void tt_report_rates(FILE *out, const json_t *result);

/* The spans of a run with --trace, as Chrome and Perfetto read them: a process per rank, a track
 * per thread. path "-" is stdout. */
int tt_report_trace(const char *path, const char *directory, struct tt_error *e);

/* What tt_compare made: at most 80 columns. */
void tt_report_comparison(FILE *out, const json_t *comparison);

/* What tt_analyze made: at most 80 columns; and its curves, one point a row. */
void tt_report_analysis(FILE *out, const json_t *analysis);
int tt_report_curves(const char *path, const json_t *analysis, struct tt_error *e);

/* The warnings of a result, each after a mark: "! ", or what other programs print. */
void tt_report_warnings(FILE *out, const json_t *result, const char *mark);

#endif
