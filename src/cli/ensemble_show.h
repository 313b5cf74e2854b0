/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Showing the answers of ensembles that have been run. */
#ifndef TT_CLI_ENSEMBLE_SHOW_H
#define TT_CLI_ENSEMBLE_SHOW_H

#include "ensemble/ensemble.h"

/* Analyse, judge, print and export as the options of the ensemble say. *status is the exit status;
 * *kept (may be NULL) is a new reference to the answer. */
int tt_ensemble_show_answer(const struct tt_ensemble *x, const char *directory, json_t **kept,
                            int *status, struct tt_error *e);

/* tutti ensemble show DIRECTORY ... [--limit X] [--json FILE] [--csv FILE]; argv[0] is "show". */
int tt_ensemble_show(int argc, char **argv);

#endif
