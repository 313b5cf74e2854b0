/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A single job with repetitions is an ensemble without others. */
#ifndef TT_CLI_ENSEMBLE_H
#define TT_CLI_ENSEMBLE_H

#include <stdbool.h>

#include "spec/settings.h"

/* Whether the settings of a run hold repeat, stop_when or require. */
bool tt_asks_for_repetitions(const struct tt_settings *settings);
/* Returns as a command does. */
int tt_run_repeatedly(const char *workload, const struct tt_settings *job, struct tt_error *e);

#endif
