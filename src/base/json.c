/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *tt_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

double tt_number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

double tt_number_or_nan(const json_t *object, const char *key)
{
    return tt_has_number(object, key) ? tt_number_of(object, key) : NAN;
}

json_int_t tt_integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

bool tt_is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

bool tt_has_number(const json_t *object, const char *key)
{
    return json_is_number(json_object_get(object, key));
}

json_t *tt_member_at(const json_t *object, const char *path)
{
    json_t *at = (json_t *)object;

    while (at && *path) {
        char key[64];
        size_t n = strcspn(path, "/");

        snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = json_object_get(at, key);
        path += n + (path[n] == '/');
    }
    return at;
}

json_t *tt_json_unless(int failed, json_t *value)
{
    if (!failed)
        return value;
    json_decref(value);
    return NULL;
}

json_t *tt_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
