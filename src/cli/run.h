/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running a job from its settings: shared by `tutti run` and the dialects. */
#ifndef TT_CLI_RUN_H
#define TT_CLI_RUN_H

#include <jansson.h>
#include <stdio.h>

#include "spec/settings.h"

/* How the result is shown on stdout. */
typedef void tt_print_result(FILE *out, const json_t *result);

/* Checks, plans, launches (or performs, if this process is a rank), analyses, prints by `print`.
 * Returns the exit status; errors have been printed. */
int tt_run_settings(const char *workload, struct tt_settings *settings, tt_print_result *print);

#endif
