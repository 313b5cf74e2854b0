/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was measured before: finding it, and showing it again. */
#ifndef TT_CLI_RESULT_H
#define TT_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "analysis/overlap_model.h"
#include "spec/settings.h"
#include "store/store.h"

/* result.json of a run directory if it is there and whole, else made again; a new reference. What
 * is no run directory, or was made by a newer tutti, is refused. */
int tt_get_result(const char *directory, json_t **result, struct tt_error *e);

/* The directory of a run, by its path or by an id as tutti runs prints it, whole or in part; caller
 * frees, also after a failure. */
int tt_find_run(const char *word, char **directory, struct tt_error *e);
bool tt_is_ensemble_directory(const char *directory);
/* Puts a directory that was moved into its result. */
void tt_correct_place(const char *directory, json_t *result);
/* Of the runs, ensembles, surveys, studies and suites in a results directory the one that was begun
 * last; caller frees. */
int tt_find_last(const char *results, char **last, struct tt_error *e);

/* ---- answers, as they are shown; new references ---- */

int tt_get_ensemble_answer(const char *directory, json_t **answer, struct tt_error *e);
int tt_get_study_answer(const char *directory, json_t **answer, struct tt_error *e);
int tt_get_search_answer(const char *directory, json_t **answer, struct tt_error *e);
int tt_get_survey_answer(const char *directory, json_t **answer, struct tt_error *e);
/* The comparison of two words as tutti compare takes them, filters searched in `results`. */
int tt_get_comparison(const char *a, const char *b, const char *results, bool any_plan,
                      json_t **out, struct tt_error *e);

/* The answers of ensembles; wanted holds limit, json, csv and junit. Returns as a command does. */
int tt_ensemble_show(size_t n, const char *const *directories, const struct tt_settings *wanted,
                     struct tt_error *e);
/* The answer of a study; wanted holds metrics, sort, pivot, json, csv and csv_form. */
int tt_study_show(const char *directory, const struct tt_settings *wanted, struct tt_error *e);
/* The answer of a search (advise, tune); json: a file for it, NULL: none. */
int tt_search_show(const char *directory, const char *json, struct tt_error *e);
/* What a survey has measured so far; json: a file for it, NULL: none. */
int tt_survey_show(const char *directory, const char *json, struct tt_error *e);
/* The verdicts of a suite; json, junit: files for them, NULL: none. Returns as a command does. */
bool tt_accept_is_directory(const char *directory);
int tt_accept_show(const char *directory, const char *json, const char *junit, struct tt_error *e);

/* The model of overlap fitted to runs that these words chose, and what it says of runs that it was
 * not fitted to; check->rows: caller frees. TT_FAILED: they do not allow it. */
int tt_get_model(struct tt_store *s, const struct tt_run_rows *runs, size_t nwords,
                 const char *const *words, struct tt_overlap_model *model, struct tt_check *check,
                 struct tt_error *e);

#endif
