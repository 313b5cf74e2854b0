/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/settings.h"

#include <stdlib.h>
#include <string.h>

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

    if (s->n == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 16;
        struct tt_setting *list = reallocarray(s->list, capacity, sizeof *list);

        if (!list)
            return tt_fail_nomem(e, "settings");
        s->list = list;
        s->capacity = capacity;
    }
    new.key = strdup(key);
    new.value = value ? strdup(value) : NULL;
    new.place = strdup(place);
    if (!new.key || (value && !new.value) || !new.place) {
        free_setting(&new);
        return tt_fail_nomem(e, "settings");
    }
    s->list[s->n++] = new;
    return TT_OK;
}

void tt_settings_free(struct tt_settings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free_setting(&s->list[i]);
    free(s->list);
    memset(s, 0, sizeof *s);
}
