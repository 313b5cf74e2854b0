/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holding a command until its instant has come, and recording how long it took. */
#ifndef TT_LAUNCH_HOLD_H
#define TT_LAUNCH_HOLD_H

#include <jansson.h>

#include "engine/perform.h"
#include "launch/words.h"

/* What a launcher has to start for each rank of a job: tutti perform, or tutti hold with the words
 * of a command. */
int tt_worker_command(const struct tt_config *config, const char *directory,
                      struct tt_perform_how how, struct tt_command_line *out, struct tt_error *e);

/* Runs a command as this process of the job that is planned in the directory; rank and size are
 * what the launcher announced. Leaves records and, on rank 0, outcome.json as tt_perform does. */
int tt_hold(const char *directory, const struct tt_config *config, struct tt_perform_how how,
            char **words, json_t *environment, struct tt_error *e);

#endif
