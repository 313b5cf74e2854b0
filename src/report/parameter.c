/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/parameter.h"

#include <stdio.h>
#include <string.h>

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

void tt_parameter_format(const json_t *plan, const char *key, const char *value, char *out,
                         size_t size)
{
    struct tt_param p = find(plan, key);
    char text[TT_UNIT_TEXT];
    double number;

    if (p.key && parse(&p, value, &number))
        snprintf(out, size, "%s", tt_format_value(number, p.unit && *p.unit ? p.unit : "1", text));
    else if (p.key && p.unit && !strcmp(p.unit, "1/s"))
        snprintf(out, size, "%s/s", value);
    else
        snprintf(out, size, "%s", value);
}

bool tt_parameter_is_silent(const json_t *plan, const char *key, const char *value)
{
    struct tt_param p = find(plan, key);
    const char *usual = p.default_text ? p.default_text : "";
    double a, b;

    if (!p.key || (p.type == TT_PARAM_CHOICE && strcmp(value, "default") != 0))
        return false;
    if (parse(&p, value, &a) && parse(&p, usual, &b))
        return a == b;
    return !strcmp(value, usual);
}
