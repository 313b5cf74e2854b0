/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/settings_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/directory.h"
#include "spec/param.h"

/* Where it is shown, and for how long, is not part of it. */
static bool is_of_this_call(const char *key)
{
    static const char *const keys[] = {"json",    "csv",    "junit",   "quiet",
                                       "dry_run", "resume", "max_time"};

    const char *last = strrchr(key, '.');

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (tt_same_key(keys[i], key))
            return true;
    /* No directory says which module is opened, not even by a job's own key. */
    return !strcmp(last ? last + 1 : key, "module");
}

json_t *tt_settings_to_json(const struct tt_settings *settings)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < settings->n; i++) {
        const struct tt_setting *s = &settings->list[i];

        if (!is_of_this_call(s->key))
            json_array_append_new(list, json_pack("[o, o, o]", tt_json_bytes(s->key),
                                                  s->value ? tt_json_bytes(s->value) : json_null(),
                                                  tt_json_text(s->place)));
    }
    return list;
}

int tt_settings_from_list(const json_t *list, const char *where, struct tt_settings *settings,
                          struct tt_error *e)
{
    int rc = json_is_array(list) ? TT_OK : tt_fail(e, TT_CORRUPT, "%s holds no settings", where);
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        const char *key = json_string_value(json_array_get(one, 0));
        char *value = tt_bytes_of_json(json_array_get(one, 1));
        const char *place = json_string_value(json_array_get(one, 2));

        if (rc == TT_OK && (!key || !place))
            rc = tt_fail(e, TT_CORRUPT, "%s: setting %zu is none", where, i);
        if (rc == TT_OK && !is_of_this_call(key))
            rc = tt_settings_add(settings, key, value, place, e);
        free(value);
    }
    return rc;
}

int tt_settings_from_directory(const char *directory, const char *name, int format, json_t **object,
                               struct tt_settings *settings, struct tt_error *e)
{
    char where[512];
    int rc = tt_directory_read_json(directory, name, object, e);

    snprintf(where, sizeof where, "%s/%s", directory, name);
    if (rc == TT_OK)
        rc = tt_directory_check_format(directory, name, *object, format, e);
    return rc == TT_OK
               ? tt_settings_from_list(json_object_get(*object, "settings"), where, settings, e)
               : rc;
}

static bool has(const struct tt_settings *all, const struct tt_setting *one)
{
    for (size_t i = 0; i < all->n; i++) {
        const char *a = all->list[i].value, *b = one->value;

        if (tt_same_key(all->list[i].key, one->key) && (a && b ? !strcmp(a, b) : a == b))
            return true;
    }
    return false;
}

static int check_same(const struct tt_resume *r, const struct tt_settings *stored,
                      const struct tt_settings *given, struct tt_error *e)
{
    size_t hidden = r->hidden ? strlen(r->hidden) : 0;

    for (size_t i = 0; i < given->n; i++) {
        const char *key = given->list[i].key;
        size_t k = 0;

        while (r->may_differ[k] && !tt_same_key(r->may_differ[k], key))
            k++;
        if (!r->may_differ[k] && !has(stored, &given->list[i]))
            return tt_fail(e, TT_USAGE,
                           "%.80s: %.80s would change what is measured by a resumed %s; start a "
                           "new one",
                           given->list[i].place,
                           hidden && !strncmp(key, r->hidden, hidden) ? key + hidden : key,
                           r->what);
    }
    return TT_OK;
}

/* One of the words of a dotted key says so: reference.command, load.2.launch.by, launch, and
 * cuda.nvrtc, a library that every rank opens. */
static bool starts_programs(const char *key)
{
    static const char *const words[] = {"launch", "command", "words", "nvrtc"};

    for (; *key; key += strcspn(key, ".") + (key[strcspn(key, ".")] == '.'))
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == strcspn(key, ".") && !strncmp(key, words[i], strcspn(key, ".")))
                return true;
    return false;
}

const char *tt_settings_programs(const struct tt_settings *settings)
{
    for (size_t i = 0; i < settings->n; i++)
        if (starts_programs(settings->list[i].key))
            return settings->list[i].key;
    return NULL;
}

int tt_settings_check_resumed(const struct tt_resume *r, const struct tt_settings *stored,
                              const struct tt_settings *words, const struct tt_settings *file,
                              bool made, struct tt_error *e)
{
    int rc = check_same(r, stored, words, e);

    if (rc == TT_OK && !made)
        rc = check_same(r, stored, file, e);
    for (size_t i = 0; i < stored->n && rc == TT_OK; i++) {
        const struct tt_setting *s = &stored->list[i];

        if (starts_programs(s->key) && !has(file, s) && !has(words, s))
            rc = tt_fail(e, TT_USAGE,
                         "%.80s says what is executed, and a directory is not believed in that: "
                         "give the file again, and the option if it was one: %s",
                         s->key, r->how);
    }
    return rc;
}
