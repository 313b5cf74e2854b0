/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holding a command until its instant has come, and recording how long it took. */
#ifndef TT_LAUNCH_HOLD_H
#define TT_LAUNCH_HOLD_H

#include <jansson.h>

#include "engine/perform.h"

/* Plays the command of a planned folder as this process of the job; rank and size are what the
 * launcher announced. Leaves records and, on rank 0, outcome.json as tt_perform does. */
int tt_hold(const char *folder, const struct tt_config *config, struct tt_perform_how how,
            json_t *environment, struct tt_error *e);

#endif
