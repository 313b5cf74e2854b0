/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the user asked for, before anybody knows what it means: keys, values and their places. */
#ifndef TT_SPEC_SETTINGS_H
#define TT_SPEC_SETTINGS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* One "key = value", with the place it came from ("--size", "job.yaml:12:5"). value is NULL for an
 * option without one; key is "-n" for a short flag. */
struct tt_setting {
    char *key, *value, *place;
};
struct tt_settings {
    size_t n, capacity;
    struct tt_setting *list;
    bool closed; /* from a run directory: they open no module, and keys of one mean nothing */
    bool lost;   /* memory ran out: no further setting is taken */
};

/* Copies all three; value may be NULL. */
int tt_settings_add(struct tt_settings *s, const char *key, const char *value, const char *place,
                    struct tt_error *e);
/* The same with a formatted value, for many in a row: the settings keep the error, which
 * tt_settings_check() returns once, after the last. */
void tt_settings_put(struct tt_settings *s, const char *place, const char *key, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));
void tt_settings_vput(struct tt_settings *s, const char *place, const char *key, const char *fmt,
                      va_list args);
int tt_settings_check(const struct tt_settings *s, struct tt_error *e);
/* All of another list, after those that are there: later settings win. */
int tt_settings_append(struct tt_settings *s, const struct tt_settings *more, struct tt_error *e);
/* The last setting of this key, where dashes and underscores are the same; NULL: there is none. */
const struct tt_setting *tt_settings_find(const struct tt_settings *s, const char *key);
void tt_settings_free(struct tt_settings *s);

#endif
