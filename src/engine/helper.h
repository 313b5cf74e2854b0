/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread that makes all calls into an I/O library while computation goes on. Jobs run in the
 * order they were given, so collective calls of different ranks meet. */
#ifndef TT_ENGINE_HELPER_H
#define TT_ENGINE_HELPER_H

#include <stdbool.h>

#include "base/error.h"

struct tt_helper;

struct tt_job {
    int (*run)(void *argument, struct tt_error *e);
    void *argument;
    int rc; /* valid once done */
    struct tt_error error;
    bool done;
    struct tt_job *next;
};

int tt_helper_start(struct tt_helper **out, struct tt_error *e);
/* The job stays the caller's and must live until it was waited for. */
void tt_helper_submit(struct tt_helper *h, struct tt_job *job);
/* Returns the job's rc, with its error in *e. */
int tt_helper_wait(struct tt_helper *h, struct tt_job *job, struct tt_error *e);
/* Submit and wait; without a helper (NULL) the caller runs it. */
int tt_helper_call(struct tt_helper *h, int (*run)(void *, struct tt_error *), void *argument,
                   struct tt_error *e);
/* Finishes all jobs and ends the thread. NULL is fine. */
void tt_helper_stop(struct tt_helper *h);

#endif
