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
/* Whether a parameter says nothing: it has its default and is not one of a few choices. */
bool tt_parameter_is_silent(const json_t *plan, const char *key, const char *value);

#endif
