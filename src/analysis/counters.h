/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the nodes counted in a window of time, and what of it says that a resource was used up. */
#ifndef TT_ANALYSIS_COUNTERS_H
#define TT_ANALYSIS_COUNTERS_H

#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

/* Every DIRECTORY/counters/HOST.csv (node/counters.h), as untrusted input:
 *   {"hosts": {HOST: {"covered", "cpu_busy", ..., "devices": {NAME: {...}}, ...}},
 *    "saturated": [{"host", "resource", "text"}],
 *    "unreadable": {HOST: why}}
 * What a node does not have is not there. docs/counters.md defines every number and threshold. No
 * directory of counters gives no hosts, which is no error. */
int tt_counters_summary(const char *directory, int64_t from_wall_ns, int64_t to_wall_ns,
                        json_t **out, struct tt_error *e);

#endif
