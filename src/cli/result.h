/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_CLI_RESULT_H
#define TT_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

/* result.json of a run directory if it is there and whole, else made again; a new reference. What
 * is no run directory, or was made by a newer tutti, is refused. */
int tt_get_result(const char *directory, json_t **result, struct tt_error *e);

/* The directory of a run, by its path or by an id as tutti runs prints it, whole or in part; caller
 * frees, also after a failure. */
int tt_find_run(const char *word, char **directory, struct tt_error *e);
bool tt_is_ensemble_directory(const char *directory);

#endif
