/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work through numbered tasks: each task once, handed out in the order of the numbers,
 * as many at the same time as there are members. Nobody calls MPI from them. */
#ifndef TT_ENGINE_CREW_H
#define TT_ENGINE_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct tt_crew;

/* member counts from 0, and no other thread has the same number: it may index state of its own. */
typedef int tt_crew_task(void *context, struct tt_crew *crew, unsigned member, uint64_t task,
                         struct tt_error *e);
/* By a task: it has done so much more, in whatever unit tt_crew_wait() counts. */
void tt_crew_advance(struct tt_crew *crew, uint64_t amount);
/* By a long task, now and then: whether to return early. */
bool tt_crew_should_stop(const struct tt_crew *crew);

/* *out is NULL, which the others accept, if there is nothing to do or it fails. */
int tt_crew_start(struct tt_crew **out, unsigned members, uint64_t tasks, tt_crew_task *act,
                  void *context, struct tt_error *e);
/* Until all tasks together have advanced so far, all are done, or one has failed. */
void tt_crew_wait(struct tt_crew *crew, uint64_t amount);
/* Waits for all tasks, or with now for those that have begun, after asking them to stop. Frees.
 * Returns what the first task that failed returned; the others are asked to stop by that, too. */
int tt_crew_end(struct tt_crew *crew, bool now, struct tt_error *e);

#endif
