/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/param.h"

static void free_setting(struct tt_setting *s)
{
    free(s->key);
    free(s->value);
    free(s->place);
}

int tt_settings_add(struct tt_settings *s, const char *key, const char *value, const char *place,
                    struct tt_error *e)
{
    struct tt_setting new;

    if (!s->lost && s->n == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 16;
        struct tt_setting *list = reallocarray(s->list, capacity, sizeof *list);

        s->lost = !list;
        if (list) {
            s->list = list;
            s->capacity = capacity;
        }
    }
    if (s->lost)
        return tt_settings_check(s, e);
    new = (struct tt_setting){strdup(key), value ? strdup(value) : NULL, strdup(place)};
    if (!new.key || (value && !new.value) || !new.place) {
        free_setting(&new);
        s->lost = true;
    } else {
        s->list[s->n++] = new;
    }
    return tt_settings_check(s, e);
}

void tt_settings_vput(struct tt_settings *s, const char *place, const char *key, const char *fmt,
                      va_list args)
{
    struct tt_error kept_by_s = TT_ERROR_CLEAR;
    char *value;

    if (vasprintf(&value, fmt, args) < 0) {
        s->lost = true;
        return;
    }
    tt_settings_add(s, key, value, place, &kept_by_s);
    free(value);
}

void tt_settings_put(struct tt_settings *s, const char *place, const char *key, const char *fmt,
                     ...)
{
    va_list args;

    va_start(args, fmt);
    tt_settings_vput(s, place, key, fmt, args);
    va_end(args);
}

int tt_settings_check(const struct tt_settings *s, struct tt_error *e)
{
    return s->lost ? tt_fail_nomem(e, "settings") : TT_OK;
}

int tt_settings_append(struct tt_settings *s, const struct tt_settings *more, struct tt_error *e)
{
    int rc = tt_settings_check(more, e);

    for (size_t i = 0; i < more->n && rc == TT_OK; i++)
        rc = tt_settings_add(s, more->list[i].key, more->list[i].value, more->list[i].place, e);
    return rc;
}

const struct tt_setting *tt_settings_find(const struct tt_settings *s, const char *key)
{
    for (size_t i = s->n; i-- > 0;)
        if (tt_same_key(s->list[i].key, key))
            return &s->list[i];
    return NULL;
}

void tt_settings_free(struct tt_settings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free_setting(&s->list[i]);
    free(s->list);
    memset(s, 0, sizeof *s);
}
