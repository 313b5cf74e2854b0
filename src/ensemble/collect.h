/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_ENSEMBLE_COLLECT_H
#define TT_ENSEMBLE_COLLECT_H

#include "ensemble/trial.h"

#define TT_REPETITION "repetition.json"

/* After the jobs have ended: make their results, remove what they left, see whether the repetition
 * can be used, and write repetition.json. Fills complete, why and bytes of *r. */
int tt_collect(struct tt_trial *s, struct tt_repetition *r, struct tt_error *e);
/* Of a repetition that was broken off: only remove what its jobs left. */
void tt_collect_nothing(struct tt_trial *s);

#endif
