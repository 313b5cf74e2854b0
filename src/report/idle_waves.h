/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Idle waves of a result (analysis/idle_waves.h), in words. */
#ifndef TT_REPORT_IDLE_WAVES_H
#define TT_REPORT_IDLE_WAVES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/paragraph.h"

/* "An idle wave began on rank 5 in iteration 40 (0.41 s) and travelled ...", without the full stop.
 */
void tt_idle_wave_sentence(const json_t *wave, struct tt_paragraph *p);
/* The wave that waited longest, if that is a notable part of the runtime; else NULL. */
const json_t *tt_notable_idle_wave(const json_t *result);
/* The one that waited longest, if that is a notable part of the runtime; with all set every one
 * that was found, and stalls. */
void tt_report_idle_waves(FILE *out, const json_t *result, bool all);

#endif
