/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_REPORT_PARAMETER_H
#define TT_REPORT_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* A parameter's canonical value with its unit, for people: "52428800" of throttle.rate becomes
 * "50.0 MiB/s". The plan describes parameters of modules. One that neither it nor this build knows
 * stays as it is. */
void tt_parameter_format(const json_t *plan, const char *key, const char *value, char *out,
                         size_t size);
/* The same for machines: a number, a boolean, a list of numbers or text; null if it has none. */
json_t *tt_parameter_json(const json_t *plan, const char *key, const char *value);
/* {"key": "value"} with such values; the plan describes parameters of modules, NULL: nobody does. A
 * new reference, NULL: no memory. */
json_t *tt_parameters_json(const json_t *plan, const json_t *parameters);
/* Whether a parameter has its default; false if neither the plan nor this build knows it. */
bool tt_parameter_is_default(const json_t *plan, const char *key, const char *value);

#endif
