/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unlike h5bench, "16M" is the same as "16 M", and "5000us" as "5000 us". As there, "5 sec" is "5
 * s", and "1024 Ks" is "1024 K". */
#include "spec/dialects/h5bench/parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/units.h"

/* Without the blanks around a number and before its unit; "1 6" stays what it is, and is wrong. */
static char *squeeze(const char *value)
{
    char *text = strdup(value), *to = text;

    for (const char *at = text; at && *at; at++) {
        const char *next = at + strspn(at, " \t\r\n\v\f");

        if (next == at)
            *to++ = *at;
        else if (to > text && isdigit((unsigned char)*next) && isdigit((unsigned char)to[-1]))
            *to++ = ' ';
    }
    if (text)
        *to = '\0';
    return text;
}

static void shorten_unit(char *value, enum tt_param_type type)
{
    char *unit = value + strspn(value, "0123456789.");

    if (type == TT_PARAM_DURATION && !strncasecmp(unit, "sec", 3))
        unit[1] = '\0';
    if (type == TT_PARAM_BYTES && *unit && tolower((unsigned char)unit[1]) == 's' && !unit[2])
        unit[1] = '\0';
    if (type == TT_PARAM_BYTES && !strcmp(unit, "B"))
        *unit = '\0';
}

static int set(void *options, const struct tt_param *param, const struct tt_setting *s,
               struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    bool is_text = param->type == TT_PARAM_TEXT;
    char *value = is_text ? strdup(s->value) : squeeze(s->value);
    int rc;

    if (!value)
        return tt_fail_nomem(e, "a value");
    if (is_text && param->default_text && !*value) { /* which would leave it without any */
        free(value);
        return tt_fail(e, TT_USAGE, "%.200s: '%s' is empty", s->place, s->key);
    }
    shorten_unit(value, param->type);
    rc = tt_param_set(param, options, value, &inner);
    free(value);
    return rc == TT_OK ? TT_OK : tt_fail(e, rc, "%.200s: %s", s->place, inner.text);
}

static int read_all(const struct tt_settings *keys, const struct tt_param *params, void *options,
                    bool takes_empty, struct tt_error *e)
{
    int rc = tt_params_default(params, options, e);

    for (size_t i = 0; rc == TT_OK && i < keys->n; i++) {
        const struct tt_param *p = params;

        if (!takes_empty && !*keys->list[i].value)
            continue;
        while (p->key && strcmp(p->key, keys->list[i].key) != 0)
            p++;
        if (!p->key)
            return tt_fail(e, TT_USAGE, "%.200s: '%.80s' is not a key of h5bench%s",
                           keys->list[i].place, keys->list[i].key,
                           TT_DID_YOU_MEAN(tt_nearest_key(keys->list[i].key, params)));
        rc = set(options, p, &keys->list[i], e);
    }
    return rc;
}

int tt_h5bench_read_keys(const struct tt_settings *keys, const struct tt_param *params,
                         void *options, struct tt_error *e)
{
    return read_all(keys, params, options, true, e);
}

int tt_h5bench_read_given(const struct tt_settings *keys, const struct tt_param *params,
                          void *options, struct tt_error *e)
{
    return read_all(keys, params, options, false, e);
}

uint64_t tt_h5bench_ranks(const struct tt_settings *s)
{
    const struct tt_setting *given = tt_settings_find(s, "ranks");
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t ranks = 0;

    if (given)
        tt_parse_count(given->value, &ranks, &ignored);
    return ranks;
}

const char *tt_h5bench_place(const struct tt_h5bench_translation *t, const char *name)
{
    const struct tt_setting *s = tt_settings_find(t->keys, name);

    return s ? s->place : t->b->place;
}

void tt_h5bench_put(struct tt_h5bench_translation *t, const char *name, const char *key,
                    const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tt_settings_vput(&t->b->settings, tt_h5bench_place(t, name), key, fmt, args);
    va_end(args);
}

void tt_h5bench_put_counts(struct tt_h5bench_translation *t, const char *name, const char *key,
                           const uint64_t *values, uint64_t n)
{
    char text[4 * 24] = "";
    size_t used = 0;

    for (uint64_t i = 0; i < n && i < 4; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, i ? ":" : "",
                                 values[i]);
    tt_h5bench_put(t, name, key, "%s", text);
}
