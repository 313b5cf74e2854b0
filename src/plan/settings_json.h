/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings kept in a directory, so that what was begun with them can be gone on with. */
#ifndef TT_PLAN_SETTINGS_JSON_H
#define TT_PLAN_SETTINGS_JSON_H

#include <jansson.h>

#include "spec/settings.h"

/* [[key, value, place], ...] without those that are about one call only: outputs, quiet, dry_run,
 * resume, max_time. NULL: no memory. */
json_t *tt_settings_to_json(const struct tt_settings *settings);
/* From DIRECTORY/NAME, an object with "format" and "settings"; *object is a new reference, also to
 * be released after a failure. Somebody's directory does not say which files are written here. */
int tt_settings_from_directory(const char *directory, const char *name, int format, json_t **object,
                               struct tt_settings *settings, struct tt_error *e);
/* What is gone on with keeps its settings, apart from those in may_differ, which ends with NULL.
 * what: "survey" or the like. */
int tt_settings_check_resumed(const struct tt_settings *words, const struct tt_settings *stored,
                              const char *const *may_differ, const char *what, struct tt_error *e);
/* The key of a setting that says which program is started, or how; NULL: there is none. */
const char *tt_settings_programs(const struct tt_settings *settings);
/* A directory may be anybody's: each such setting in it must be in the user's file or among the
 * words of the command as well. how: what to call. */
int tt_settings_vouch(const struct tt_settings *stored, const struct tt_settings *file,
                      const struct tt_settings *words, const char *how, struct tt_error *e);

#endif
