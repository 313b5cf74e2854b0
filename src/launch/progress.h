/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress bar of a run, from what its rank 0 leaves in the run directory. */
#ifndef TT_LAUNCH_PROGRESS_H
#define TT_LAUNCH_PROGRESS_H

#include <stdio.h>

/* Nothing unless out is a terminal. */
void tt_progress_draw(FILE *out, const char *directory);
void tt_progress_clear(FILE *out);

#endif
