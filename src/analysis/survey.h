/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the results of single runs of bulk to the tables of a survey. */
#ifndef TT_ANALYSIS_SURVEY_H
#define TT_ANALYSIS_SURVEY_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

/* What a run stood for. */
struct tt_survey_place {
    const char *title; /* of its table */
    uint64_t nodes, processes, transfer, size;
};

/* Appends what a result says of writing and of reading: {"table", "access", "nodes", "processes",
 * "transfer", "size", "bandwidth" (B/s), "iops", "warnings": [text]}. Ranks on another number of
 * nodes than was asked for are a warning, too. */
int tt_survey_sample(const json_t *result, const struct tt_survey_place *place, json_t *samples,
                     struct tt_error *e);
/* {"samples", "summary": [{"table", "access", "ranks", "size", "unit", "n", "mean", "deviation",
 * "variation"}], "warnings": [{"text", "rows": [{"table", "access", "ranks", "size", "runs",
 * "of"}]}]}, over all samples with the same number of processes in all, as the paper does; over
 * size, those of the same size. Warnings that differ in their numbers are one, with the text of the
 * first. */
int tt_survey_summarise(json_t *samples, json_t **answer, struct tt_error *e);

#endif
