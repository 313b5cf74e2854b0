/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the caller gets its buffer back, and when and by whom data is made durable. */
#ifndef TT_PLAN_MODE_H
#define TT_PLAN_MODE_H

#include "plan/config.h"

/* Let run->mode set overlap and sync; an unknown mode is a usage error with the nearest one. */
int tt_mode_apply(struct tt_run_options *run, struct tt_error *e);
/* Refuse combinations of overlap and sync that cannot do what they say. */
int tt_mode_check(const struct tt_run_options *run, struct tt_error *e);

#endif
