/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A node's own counters as time series: DIRECTORY/counters/HOST.csv, written by a thread of its
 * own.
 *
 * The first line names the columns, "GROUP.INSTANCE.FIELD[UNIT]" or "GROUP.FIELD[UNIT]"; an
 * instance may itself hold dots. Every further line is one sample; its first column is the wall
 * clock in ns. Counters are written as the kernel counts them, from whenever it began; a cell is
 * empty where nothing could be read. docs/counters.md lists the columns. Readers treat the file as
 * untrusted.
 *
 * Uses no MPI: anything that starts processes can have its nodes watched. */
#ifndef TT_NODE_COUNTERS_H
#define TT_NODE_COUNTERS_H

#include "base/error.h"
#include "spec/param.h"

#define TT_COUNTERS_DIRECTORY "counters"

struct tt_counters_options {
    double interval;       /* seconds between samples; 0: no counters */
    struct tt_words watch; /* NAME=PATH: the first number in the file is a series of the user's */
};

struct tt_counters;
/* Take the first sample before returning. pids: the processes on this node whose CPU time is the
 * job's. *out stays NULL, without an error, if the interval is 0. */
int tt_counters_start(const char *directory, const struct tt_counters_options *o, size_t npids,
                      const int *pids, struct tt_counters **out, struct tt_error *e);
/* Take a last sample, write everything out and free; NULL is fine. */
void tt_counters_stop(struct tt_counters *c);

/* The options make sense; needs nothing of the node. */
int tt_counters_check(const void *options, struct tt_error *e);

#endif
