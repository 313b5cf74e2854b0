/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A benchmark is a loaded gun: what it may use is checked before it does. */
#ifndef TT_PLAN_LIMITS_H
#define TT_PLAN_LIMITS_H

#include "plan/config.h"
#include "plan/workload.h"

/* TT_LIMIT if writing that many more bytes would leave less than min_free. */
int tt_limits_check_space(const char *dir, const struct tt_space *min_free, uint64_t bytes,
                          struct tt_error *e);
/* The same for the files of a job, wherever its configuration puts them. A directory that cannot be
 * looked at, or not any more, is the writing's to tell of. */
int tt_limits_check_room(const struct tt_config *config, uint64_t bytes, struct tt_error *e);
/* How many bytes may still be written there; 0 also if that is not known. */
uint64_t tt_limits_room(const struct tt_config *config);
/* The whole run against --max-bytes and --min-free, before anything is written. */
int tt_limits_check_plan(const struct tt_config *config, const struct tt_estimate *estimate,
                         struct tt_error *e);

#endif
