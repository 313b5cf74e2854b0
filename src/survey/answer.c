/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/survey.h"
#include "base/json.h"
#include "base/text.h"
#include "ensemble/run.h"
#include "plan/directory.h"
#include "survey/directory.h"

struct gathering {
    const struct tt_survey_stage *stage;
    json_t *samples;
};

static int gather(void *context, size_t point, const char *directory, struct tt_error *e)
{
    struct gathering *g = context;
    const struct tt_survey_point *p = &g->stage->points[point];
    json_t *result = NULL;
    int rc = tt_directory_read_json(directory, "result.json", &result, e);

    if (rc == TT_OK && !json_array_size(tt_member_at(result, "tables/accesses")))
        rc = tt_fail(e, TT_CORRUPT, "%s/result.json is no result of a run of bulk", directory);
    if (rc == TT_OK)
        rc = tt_survey_sample(result,
                              &(struct tt_survey_place){.title = g->stage->title,
                                                        .nodes = p->nodes,
                                                        .processes = p->processes,
                                                        .transfer = p->transfer,
                                                        .size = p->size},
                              g->samples, e);
    json_decref(result);
    return rc;
}

int tt_survey_answer(const struct tt_survey *s, const char *directory, json_t **answer,
                     struct tt_error *e)
{
    json_t *samples = json_array();
    int rc = samples ? TT_OK : tt_fail_nomem(e, "the answer");

    for (size_t i = 0; rc == TT_OK && i < s->nstages; i++) {
        struct gathering g = {&s->stages[i], samples};

        if (g.stage->title)
            rc = tt_survey_each_run(directory, g.stage, gather, &g, e);
    }
    if (rc == TT_OK)
        rc = tt_survey_summarise(samples, answer, e);
    if (rc == TT_OK) {
        json_object_set_new(*answer, "directory", tt_json_text(directory));
        rc = tt_answer_keep(directory, *answer, e);
    }
    json_decref(samples);
    return rc;
}
