/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of a search: advice, or settings that were tuned. */
#ifndef TT_REPORT_SEARCH_H
#define TT_REPORT_SEARCH_H

#include <stdio.h>

#include <jansson.h>

#include "base/error.h"

void tt_report_search(FILE *out, const json_t *answer);
/* Hints as ROMIO_HINTS takes them; the rest of what is to be set stands in comments. Without a
 * recommendation there are only comments. */
int tt_report_hints(const char *path, const json_t *answer, struct tt_error *e);
/* The job with the settings that were chosen, as tutti run takes it. */
int tt_report_chosen_job(const char *path, const json_t *answer, struct tt_error *e);

#endif
