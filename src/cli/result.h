/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was measured before: finding it, and showing it again. */
#ifndef TT_CLI_RESULT_H
#define TT_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "spec/settings.h"

/* result.json of a run directory if it is there and whole, else made again; a new reference. What
 * is no run directory, or was made by a newer tutti, is refused. */
int tt_get_result(const char *directory, json_t **result, struct tt_error *e);

/* The directory of a run, by its path or by an id as tutti runs prints it, whole or in part; caller
 * frees, also after a failure. */
int tt_find_run(const char *word, char **directory, struct tt_error *e);
bool tt_is_ensemble_directory(const char *directory);

/* The answers of ensembles; wanted holds limit, json and csv. Returns as a command does. */
int tt_ensemble_show(size_t n, const char *const *directories, const struct tt_settings *wanted,
                     struct tt_error *e);
/* What a survey has measured so far; json: a file for it, NULL: none. */
int tt_survey_show(const char *directory, const char *json, struct tt_error *e);

#endif
