/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A result shown. Reports read only result.json and the samples. */
#ifndef TT_REPORT_REPORT_H
#define TT_REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"

/* At most 80 columns, units everywhere. */
void tt_report_text(FILE *out, const json_t *result);
/* Everything, with the epochs and samples that are read from the run directory meanwhile (NULL:
 * without). path "-" is stdout. */
int tt_report_json(const char *path, const json_t *result, const char *directory,
                   struct tt_error *e);
/* One row per rank and iteration, after comment lines with version, command and units. */
int tt_report_csv(const char *path, const json_t *result, const char *directory,
                  struct tt_error *e);

/* What tt_compare made: at most 80 columns. */
void tt_report_comparison(FILE *out, const json_t *comparison);

/* The warnings of a result, each after a mark: "! ", or what other programs print. */
void tt_report_warnings(FILE *out, const json_t *result, const char *mark);

#endif
