/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting the ranks of a job, and knowing whether this process is one of them. */
#ifndef TT_LAUNCH_LAUNCH_H
#define TT_LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "base/error.h"

/* Size announced by a launcher's environment (mpirun, mpiexec, srun); 0 if nobody launched us. */
int tt_launched_size(void);
/* This process's rank as the launcher announced it; 0 if nobody launched us. Messages before MPI is
 * up come from rank 0 only. */
int tt_launched_rank(void);

/* Run argv as `ranks` ranks through mpiexec, its stdout and stderr in the folder; draws progress on
 * a terminal unless quiet. Ctrl-C ends the ranks and is reported as TT_INTERRUPTED. *status is the
 * launcher's exit status (128 + signal if it was killed). */
int tt_launch_local(const char *folder, unsigned ranks, char *const argv[], bool quiet, int *status,
                    struct tt_error *e);

#endif
