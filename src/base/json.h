/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading JSON that may be anybody's: a member that is missing, or of another type, reads as empty,
 * 0 or false. NULL is an object without members. */
#ifndef TT_BASE_JSON_H
#define TT_BASE_JSON_H

#include <stdbool.h>

#include <jansson.h>

const char *tt_text_of(const json_t *object, const char *key); /* "" if there is none */
double tt_number_of(const json_t *object, const char *key);
double tt_number_or_nan(const json_t *object, const char *key);
json_int_t tt_integer_of(const json_t *object, const char *key);
bool tt_is_true(const json_t *object, const char *key);
bool tt_has_number(const json_t *object, const char *key);

/* The member of a member: "plan/parameters". A borrowed reference, or NULL. */
json_t *tt_member_at(const json_t *object, const char *path);

/* jansson's calls with new references take NULL and fail, so a chain of them needs one check, at
 * its end: the value, or if something failed NULL, and the value is freed. */
json_t *tt_json_unless(int failed, json_t *value);
/* A real number, or null for one that JSON cannot hold. */
json_t *tt_json_real(double value);

#endif
