/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory of a survey, and what its stages have left there. */
#ifndef TT_SURVEY_DIRECTORY_H
#define TT_SURVEY_DIRECTORY_H

#include "survey/survey.h"

/* <survey>/<stage>; caller frees. */
char *tt_survey_stage_directory(const char *directory, const struct tt_survey_stage *stage);
/* The one ensemble below the directory of a stage; NULL: none yet. */
char *tt_survey_find_ensemble(const char *directory);

bool tt_survey_is_complete(const char *directory, const struct tt_survey_stage *stage);
int tt_survey_mark_complete(const char *directory, const struct tt_survey_stage *stage,
                            struct tt_error *e);

/* Calls visit for the run directory of every complete repetition of a stage that has been run. */
typedef int tt_survey_visit_run(void *context, size_t point, const char *directory,
                                struct tt_error *e);
int tt_survey_each_run(const char *directory, const struct tt_survey_stage *stage,
                       tt_survey_visit_run *visit, void *context, struct tt_error *e);

/* A stage whose data is lost is to be run again: its directory gets another name, so that what it
 * measured counts no more. */
int tt_survey_set_aside(const char *directory, const struct tt_survey_stage *stage,
                        struct tt_error *e);
uint64_t tt_survey_times_lost(const char *directory, const struct tt_survey_stage *stage);

/* ---- data that a stage has written for later ones ---- */

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
