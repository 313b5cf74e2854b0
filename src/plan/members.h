/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A JSON file of a run directory member by member: what is not asked for takes no memory. Files are
 * untrusted, but of what is passed over only the brackets are looked at. */
#ifndef TT_PLAN_MEMBERS_H
#define TT_PLAN_MEMBERS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"

/* As tt_directory_read_json, with null for every member of the object that nobody wants. */
int tt_members_read(const char *directory, const char *name, bool (*wants)(const char *key),
                    json_t **value, struct tt_error *e);
/* Hand on the elements of the list that is the member `key`, one after the other; none if there is
 * no such list. */
int tt_members_each(const char *directory, const char *name, const char *key,
                    void (*element)(void *context, const json_t *value), void *context,
                    struct tt_error *e);
/* As tt_directory_write_json, with a list in place of the member `key`, whose n elements are made
 * (new references) when they are written. */
int tt_members_write(const char *directory, const char *name, const json_t *object, const char *key,
                     size_t n, json_t *(*element)(const void *context, size_t i),
                     const void *context, struct tt_error *e);

#endif
