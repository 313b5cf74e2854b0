/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that run tasks while the main thread goes on. Nothing here calls MPI, so the thread
 * sanitizer runs on all of it. */
#ifndef TT_BASE_POOL_H
#define TT_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct tt_pool;

struct tt_tasks {
    struct tt_task *first, *last;
};

/* Stays the caller's, and must live until it was waited for. */
struct tt_task {
    int (*run)(void *argument, struct tt_error *e);
    void *argument;
    struct tt_tasks *ended; /* where it goes when it has ended; NULL: nowhere */
    int rc;                 /* valid once done */
    struct tt_error error;
    bool done;
    struct tt_task *next;
};

/* Each thread calls begin first, unless it is NULL. A pool of one thread runs its tasks in the
 * order they were given, so that collective calls of different ranks meet. */
int tt_pool_start(struct tt_pool **out, unsigned threads, void (*begin)(void), struct tt_error *e);
void tt_pool_submit(struct tt_pool *pool, struct tt_task *task);
/* Returns the task's rc, with its error in *e. */
int tt_pool_wait(struct tt_pool *pool, struct tt_task *task, struct tt_error *e);
/* Whether that would not wait. */
bool tt_pool_has_ended(struct tt_pool *pool, const struct tt_task *task);
/* Takes the task of this list that ended first; waits for one, and there must be one under way. */
struct tt_task *tt_pool_wait_any(struct tt_pool *pool, struct tt_tasks *ended);
/* Submit and wait; without a pool (NULL) the caller runs it. */
int tt_pool_call(struct tt_pool *pool, int (*run)(void *, struct tt_error *), void *argument,
                 struct tt_error *e);
/* Finishes all tasks and ends the threads. NULL is fine. */
void tt_pool_stop(struct tt_pool *pool);

/* ---- numbered items ---- */
/* Items that a pool of their own works through: each once, handed out in the order of their
 * numbers, as many at the same time as there are workers. */
struct tt_work;
/* worker counts from 0, and no other thread has the same number: it may index state of its own. */
typedef int tt_work_item(void *context, struct tt_work *work, unsigned worker, uint64_t item,
                         struct tt_error *e);

/* *out is NULL, which the others accept, if there is nothing to do or it fails. */
int tt_work_start(struct tt_work **out, unsigned workers, uint64_t items, tt_work_item *act,
                  void *context, struct tt_error *e);
/* By an item: it has done so much more, in whatever unit tt_work_wait() counts. */
void tt_work_advance(struct tt_work *work, uint64_t amount);
/* By a long item, now and then: whether to return early. */
bool tt_work_should_stop(const struct tt_work *work);
/* Until all items together have advanced so far, all are done, or one has failed. */
void tt_work_wait(struct tt_work *work, uint64_t amount);
/* Waits for all items, or with now for those that have begun, after asking them to stop. Frees.
 * Returns what the first item that failed returned; the others are asked to stop by that, too. */
int tt_work_end(struct tt_work *work, bool now, struct tt_error *e);

/* ---- now and then ---- */
/* A thread that does the same again and again. tick returns the instant (tt_now_ns) of the next
 * time; with last set, which comes once, it is being stopped. */
struct tt_ticker;
typedef int64_t tt_tick(void *argument, bool last);

/* It has ticked once when this returns. */
int tt_ticker_start(struct tt_ticker **out, tt_tick *tick, void *argument, struct tt_error *e);
/* Ticks for the last time, at once. NULL is fine. */
void tt_ticker_stop(struct tt_ticker *ticker);

#endif
