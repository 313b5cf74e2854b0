/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From records to a result, which result.json keeps. It can be made again from the run directory by
 * whoever has it, and is where it is missing or of an older format. */
#ifndef TT_ANALYSIS_RESULT_H
#define TT_ANALYSIS_RESULT_H

#include <jansson.h>

#include "analysis/run_data.h"
#include "base/error.h"

/* Of result.json; a reader refuses a newer one, and makes an older one again. */
#define TT_RESULT_FORMAT 5

/* From plan, outcome and all records: metrics, phases, latencies and warnings, written to
 * result.json. Works on what a crash left, too: status says so. *result (must be NULL) is a new
 * reference, also if only writing the file failed. Its epochs, of which a long run has very many,
 * are then in it, and else null: they stand in the file alone. TT_BUSY if a rank is still running
 * on this host. */
int tt_result_of(struct tt_run_data *run, json_t **result, struct tt_error *e);
/* The same from a directory; result may be NULL. */
int tt_result_make(const char *directory, json_t **result, struct tt_error *e);

/* ---- reading a result ---- */

const char *tt_result_parameter(const json_t *result, const char *key); /* "": it has none */
double tt_result_setting(const json_t *result, const char *key); /* a parameter that is a number */
double tt_result_metric(const json_t *result, const char *name); /* 0: not measured */

#endif
