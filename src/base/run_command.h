/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Another program's answer. The command is a list of words; no shell ever sees it. */
#ifndef TT_BASE_RUN_COMMAND_H
#define TT_BASE_RUN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* What a command prints, on stdout and stderr, as far as there is room. False if it cannot be run
 * or fails; then the answer says why, if anything does. */
bool tt_run_command(char *const words[], char *answer, size_t size);

#endif
