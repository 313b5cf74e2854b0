/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an ensemble is, in one line of a terminal. */
#ifndef TT_ENSEMBLE_DISPLAY_H
#define TT_ENSEMBLE_DISPLAY_H

#include "ensemble/trial.h"

/* Nothing unless stderr is a terminal, or if the ensemble is to be quiet. */
void tt_display_draw(const struct tt_trial *s);
void tt_display_clear(const struct tt_trial *s);

#endif
