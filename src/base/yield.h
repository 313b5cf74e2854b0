/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a helper thread waits inside a library. MPI waits by polling, and yields between two polls
 * where it was asked to. On a full node that is not enough: helper and computation then hand one
 * core back and forth. So a yield of the helper sleeps while the main thread is at work.
 * src/interpose.c has the function that libraries call. */
#ifndef TT_BASE_YIELD_H
#define TT_BASE_YIELD_H

#include <stdbool.h>

/* Before MPI_Init, where there will be a helper thread. What the user has set wins. */
void tt_yield_ask_mpi(void);
/* By the helper thread, when it begins. */
void tt_yield_as_helper(void);

/* Whether a yield of this thread should sleep now. */
bool tt_yield_should_sleep(void);
/* Longer each time, up to a limit, until the thread has done something between two yields. */
void tt_yield_asleep(void);

#endif
