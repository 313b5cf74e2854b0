/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/parameter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "plan/registry.h"
#include "spec/units.h"

/* The parameter with a full key, built in or described by the plan; its key is NULL if there is
 * none. */
static struct tt_param find(const json_t *plan, const char *key)
{
    const json_t *described = json_object_get(json_object_get(plan, "described"), key);
    const char *value = json_string_value(json_object_get(described, "value"));
    const struct tt_param *known = tt_find_param(key);
    struct tt_param p = {.key = key,
                         .unit = json_string_value(json_object_get(described, "unit")),
                         .default_text = json_string_value(json_object_get(described, "default"))};

    if (known)
        return *known;
    for (int i = 0; value && tt_param_values[i]; i++)
        if (!strcmp(tt_param_values[i], value)) {
            p.type = (enum tt_param_type)i;
            return p;
        }
    return (struct tt_param){0};
}

/* The number of a parameter that has a unit to be scaled. */
static bool parse(const struct tt_param *p, const char *text, double *number)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t bytes;

    switch (p->type) {
    case TT_PARAM_SPACE: /* a share has no unit */
    case TT_PARAM_BYTES:
        if (tt_parse_bytes(text, &bytes, &ignored) != TT_OK)
            return false;
        *number = (double)bytes;
        return true;
    case TT_PARAM_RATE:
        return tt_parse_rate(text, number, &ignored) == TT_OK;
    case TT_PARAM_DURATION:
        return tt_parse_duration(text, number, &ignored) == TT_OK;
    default:
        return false;
    }
}

/* "50.0 ms asked, 50.4 ms alone (12 passes)"; a count that was given stays as it is. */
static void format_passes(const char *value, char *out, size_t size)
{
    char asked[TT_UNIT_TEXT], alone[TT_UNIT_TEXT];
    struct tt_passes p;

    if (tt_passes_read(value, &p) && p.each > 0)
        snprintf(out, size, "%s asked, %s alone (%llu pass%s)", tt_format_seconds(p.seconds, asked),
                 tt_format_seconds(tt_passes_seconds(&p), alone), (unsigned long long)p.count,
                 p.count == 1 ? "" : "es");
    else
        snprintf(out, size, "%s", value);
}

static const char *unit_of(const struct tt_param *p)
{
    return p->type == TT_PARAM_SPACE ? "B" : p->unit && *p->unit ? p->unit : "1";
}

void tt_parameter_format(const json_t *plan, const char *key, const char *value, char *out,
                         size_t size)
{
    struct tt_param p = find(plan, key);
    char text[TT_UNIT_TEXT];
    double number;

    if (p.key && p.type == TT_PARAM_PASSES)
        format_passes(value, out, size);
    else if (p.key && parse(&p, value, &number))
        snprintf(out, size, "%s", tt_format_value(number, unit_of(&p), text));
    else if (p.key && p.unit && !strcmp(p.unit, "1/s"))
        snprintf(out, size, "%s/s", value);
    else
        snprintf(out, size, "%s", value);
}

bool tt_parameter_is_default(const json_t *plan, const char *key, const char *value)
{
    struct tt_param p = find(plan, key);
    const char *usual = p.default_text ? p.default_text : "";
    double a, b;

    if (!p.key)
        return false;
    if ((parse(&p, value, &a) && parse(&p, usual, &b)) ||
        (p.type == TT_PARAM_REAL && tt_parse_real(value, &a, NULL) == TT_OK &&
         tt_parse_real(usual, &b, NULL) == TT_OK))
        return a == b;
    if (p.type == TT_PARAM_SPACE && strtod(value, NULL) == 0)
        return strtod(usual, NULL) == 0;
    if (!*usual && p.type == TT_PARAM_BOOL)
        usual = "no";
    else if (!*usual && p.type == TT_PARAM_COUNT)
        usual = "0";
    return !strcmp(value, usual);
}

/* JSON has no whole numbers above 2^63. */
static json_t *whole_json(uint64_t n)
{
    return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

/* A list, or the only number of it. */
static json_t *counts_json(const char *text)
{
    json_t *list = json_array(), *only;

    while (*text) {
        char *end;
        unsigned long long n = strtoull(text, &end, 10);

        if (end == text || (*end && *end != ':') ||
            json_array_append_new(list, whole_json(n)) != 0) {
            json_decref(list);
            return NULL;
        }
        text = end + (*end == ':');
    }
    if (json_array_size(list) != 1)
        return list;
    only = json_incref(json_array_get(list, 0));
    json_decref(list);
    return only;
}

/* Of a parameter that nobody knows, by what it looks like. */
static json_t *guess_json(const char *value)
{
    double number;

    if (!strcmp(value, "yes") || !strcmp(value, "no"))
        return json_boolean(!strcmp(value, "yes"));
    if (tt_parse_real(value, &number, NULL) != TT_OK)
        return tt_json_text(value);
    return number == floor(number) && fabs(number) < 9e15 ? json_integer((json_int_t)number)
                                                          : json_real(number);
}

json_t *tt_parameter_json(const json_t *plan, const char *key, const char *value)
{
    struct tt_param p = find(plan, key);
    uint64_t count = 0;
    double number = 0;
    json_t *made = NULL;

    if (!*value)
        return p.key && (p.type == TT_PARAM_TEXT || p.type == TT_PARAM_WORDS) ? json_string("")
                                                                              : json_null();
    if (!p.key)
        return guess_json(value);
    if (p.type == TT_PARAM_BOOL)
        made = json_boolean(!strcmp(value, "yes"));
    else if (p.type == TT_PARAM_COUNT && tt_parse_count(value, &count, NULL) == TT_OK)
        made = whole_json(count);
    else if ((p.type == TT_PARAM_BYTES || p.type == TT_PARAM_SPACE) && parse(&p, value, &number))
        made = number < 0x1p63 ? json_integer((json_int_t)number) : json_real(number);
    else if (p.type == TT_PARAM_COUNTS)
        made = counts_json(value);
    else if (parse(&p, value, &number) ||
             (p.type == TT_PARAM_REAL && tt_parse_real(value, &number, NULL) == TT_OK))
        made = json_real(number);
    return made ? made : tt_json_text(value);
}

json_t *tt_parameters_json(const json_t *plan, const json_t *parameters)
{
    json_t *all = json_object(), *value;
    const char *key;
    int bad = 0;

    json_object_foreach((json_t *)parameters, key, value)
    {
        const char *text = json_string_value(value);

        bad |= text ? json_object_set_new(all, key, tt_parameter_json(plan, key, text))
                    : json_object_set(all, key, value);
    }
    return tt_json_unless(bad, all);
}
