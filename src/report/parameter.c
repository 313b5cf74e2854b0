/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/parameter.h"

#include <stdio.h>
#include <string.h>

#include "plan/config.h"
#include "plan/registry.h"
#include "spec/units.h"

static const struct tt_param *find_in(const char *name, const struct tt_param *p,
                                      const char *component, const char *key)
{
    if (strcmp(name, component) != 0)
        return NULL;
    while (p && p->key && strcmp(p->key, key) != 0)
        p++;
    return p && p->key ? p : NULL;
}

/* NULL if this build has no such parameter. */
static const struct tt_param *find(const char *component, const char *key)
{
    const struct tt_component *const parts[] = {&tt_run_component,      &tt_write_component,
                                                &tt_read_component,     &tt_collective_component,
                                                &tt_counters_component, &tt_stripe_component};
    const struct tt_param *p = NULL;

    for (size_t i = 0; !p && i < sizeof parts / sizeof *parts; i++)
        p = find_in(parts[i]->name, parts[i]->params, component, key);
    for (size_t i = 0; !p && tt_workloads[i]; i++)
        p = find_in(tt_workloads[i]->name, tt_workloads[i]->params, component, key);
    for (size_t i = 0; !p && tt_backends[i]; i++)
        p = find_in(tt_backends[i]->name, tt_backends[i]->params, component, key);
    for (size_t i = 0; !p && tt_layers[i]; i++)
        p = find_in(tt_layers[i]->name, tt_layers[i]->params, component, key);
    return p;
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

void tt_parameter_format(const char *component, const char *key, const char *value, char *out,
                         size_t size)
{
    const struct tt_param *p = find(component, key);
    char text[TT_UNIT_TEXT];
    double number;

    if (p && parse(p, value, &number))
        snprintf(out, size, "%s", tt_format_value(number, p->unit ? p->unit : "1", text));
    else if (p && p->unit && !strcmp(p->unit, "1/s"))
        snprintf(out, size, "%s/s", value);
    else
        snprintf(out, size, "%s", value);
}

bool tt_parameter_is_silent(const char *component, const char *key, const char *value)
{
    const struct tt_param *p = find(component, key);
    const char *fallback = p && p->fallback ? p->fallback : "";
    double a, b;

    if (!p || (p->type == TT_PARAM_CHOICE && strcmp(value, "default") != 0))
        return false;
    if (parse(p, value, &a) && parse(p, fallback, &b))
        return a == b;
    return !strcmp(value, fallback);
}
