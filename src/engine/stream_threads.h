/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that run jobs side by side, handed back in the order in which they end. */
#ifndef TT_ENGINE_STREAM_THREADS_H
#define TT_ENGINE_STREAM_THREADS_H

#include "engine/helper.h"

struct tt_stream_threads;

int tt_stream_threads_start(unsigned n, struct tt_stream_threads **out, struct tt_error *e);
/* The job stays the caller's and must live until it was taken. */
void tt_stream_threads_give(struct tt_stream_threads *t, struct tt_job *job);
/* Waits for a job that has ended; there must be one under way. */
struct tt_job *tt_stream_threads_take(struct tt_stream_threads *t);
/* Every job has been taken. NULL is fine. */
void tt_stream_threads_stop(struct tt_stream_threads *t);

#endif
