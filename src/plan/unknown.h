/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_PLAN_UNKNOWN_H
#define TT_PLAN_UNKNOWN_H

#include "plan/config.h"

/* A key that no part of the configuration has: say whether its component exists but is not used, or
 * which key is nearest. Always TT_USAGE, without the place. */
int tt_fail_unknown_key(const struct tt_config *c, const char *key, struct tt_error *e);

#endif
