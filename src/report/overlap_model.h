/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tutti model finds: for people, as JSON and as CSV. */
#ifndef TT_REPORT_OVERLAP_MODEL_H
#define TT_REPORT_OVERLAP_MODEL_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/overlap_model.h"

/* Where the runs come from, in words for a head; and {"reason": runs} of those left out. */
struct tt_model_source {
    const char *workload, *backend, *host;
    const struct tt_history *history;
    json_t *left_out, *varied; /* varied: ["key", ...] of parameters that the model does not know */
};
/* What was asked of it; question is NULL for a fit or a check, check for the others. */
struct tt_model_report {
    const struct tt_model_source *source;
    const struct tt_overlap_model *model;
    const struct tt_overlap_question *question;
    const struct tt_overlap_answer *answer;
    const struct tt_check *check;
};

void tt_report_model(FILE *out, const struct tt_model_report *r);
/* A new reference; NULL: no memory. */
json_t *tt_report_model_json(const struct tt_model_report *r);
int tt_report_model_csv(const char *path, const struct tt_model_report *r, struct tt_error *e);

#endif
