/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running a job from its settings: shared by `tutti run` and the dialects. */
#ifndef TT_CLI_RUN_H
#define TT_CLI_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "spec/settings.h"

/* How the result is shown on stdout. */
typedef void tt_print_function(FILE *out, const json_t *result, void *context);
struct tt_printer {
    tt_print_function *print;
    void *context;
    bool always;  /* also where nothing is to be printed: it only takes the result */
    bool new_dir; /* on the driver or one of the ranks: --dir was made for this run */
};

/* Checks, plans, launches (or performs, if this process is a rank), analyses, prints.
 * Returns the exit status; errors have been printed. */
int tt_run_settings(const char *workload, struct tt_settings *settings, struct tt_printer printer);
/* The same for several runs of n settings, one after the other, until one fails. */
int tt_run_sequence(const char *workload, size_t n, struct tt_settings *list,
                    struct tt_printer printer);

#endif
