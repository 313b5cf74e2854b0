/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings kept in a directory, so that what was begun with them can be gone on with. */
#ifndef TT_PLAN_SETTINGS_JSON_H
#define TT_PLAN_SETTINGS_JSON_H

#include <jansson.h>

#include "spec/settings.h"

/* [[key, value, place], ...] without those that are about one call only: outputs, quiet, dry_run,
 * resume, max_time. NULL: no memory. */
json_t *tt_settings_to_json(const struct tt_settings *settings);
/* Such a list; where names its file in an error. */
int tt_settings_from_list(const json_t *list, const char *where, struct tt_settings *settings,
                          struct tt_error *e);
/* From DIRECTORY/NAME, an object with "format" and "settings"; *object is a new reference, also to
 * be released after a failure. Somebody's directory does not say which files are written here. */
int tt_settings_from_directory(const char *directory, const char *name, int format, json_t **object,
                               struct tt_settings *settings, struct tt_error *e);
/* The key of a setting that says which program is started, or how, or names a library to open;
 * NULL: there is none. */
const char *tt_settings_programs(const struct tt_settings *settings);
/* How something that was begun is gone on with. */
struct tt_resume {
    const char *what;              /* "survey" or the like */
    const char *how;               /* to call that with the file */
    const char *const *may_differ; /* keys; ends with NULL */
    const char *hidden;            /* prefix of keys that the user did not write; NULL: none */
};
/* It keeps the stored settings: neither the words of the command nor the user's file, if that is
 * given again (else it is empty), say otherwise. A directory may be anybody's: each setting that
 * starts programs must be in the file or among the words as well. made: the file is none, but was
 * made here and now, and may differ. */
int tt_settings_check_resumed(const struct tt_resume *r, const struct tt_settings *stored,
                              const struct tt_settings *words, const struct tt_settings *file,
                              bool made, struct tt_error *e);

#endif
