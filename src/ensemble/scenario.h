/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ensembles that need no file, sized to the machine by running parts of them first. */
#ifndef TT_ENSEMBLE_SCENARIO_H
#define TT_ENSEMBLE_SCENARIO_H

#include "ensemble/ensemble.h"

bool tt_is_scenario(const char *name);

/* The settings of a scenario, without those of the command line (words), which win and are heeded
 * while it is sized. Says what it chose. */
int tt_scenario_make(const char *name, const struct tt_settings *words, struct tt_settings *out,
                     struct tt_error *e);

#endif
