/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data that a stage has written for later ones. */
#ifndef TT_SURVEY_DATA_H
#define TT_SURVEY_DATA_H

#include "survey/survey.h"

struct tt_survey_sources {
    size_t n;
    char **paths; /* of the data of each point; NULL: none */
};

/* To be freed also after an error. */
int tt_survey_find_sources(const char *directory, const struct tt_survey_stage *data,
                           struct tt_survey_sources *all, struct tt_error *e);
void tt_survey_free_sources(struct tt_survey_sources *all);

/* Removes the data of every run of a stage, also of those that were not complete; unless forced,
 * not while one of them goes on. */
int tt_survey_clean_stage(const char *directory, const struct tt_survey_stage *stage, bool force,
                          uint64_t *removed, struct tt_error *e);

/* If data that an open stage has to read is gone, by tutti clean for one, sets the stage that wrote
 * it aside, and those that have emptied write buffers since, so that they are run again; not if
 * all in all more would be written than --max-bytes allows. */
int tt_survey_redo_lost(const struct tt_survey *s, const char *directory, struct tt_error *e);

#endif
