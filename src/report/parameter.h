/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_REPORT_PARAMETER_H
#define TT_REPORT_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

/* A parameter's canonical value with its unit, for people: "52428800" of throttle.rate becomes
 * "50.0 MiB/s". One that this build does not know stays as it is. */
void tt_parameter_format(const char *component, const char *key, const char *value, char *out,
                         size_t size);
/* Whether a parameter says nothing: it has its default and is not one of a few choices. */
bool tt_parameter_is_silent(const char *component, const char *key, const char *value);

#endif
