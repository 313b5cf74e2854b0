/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_NODE_CPU_H
#define TT_NODE_CPU_H

/* Seconds; not a number where the kernel does not tell. */
struct tt_cpu_time {
    double own;     /* user and system time of this process and its children */
    double waiting; /* the main thread was ready, but had no CPU */
    double node;    /* all CPUs of the node were taken, by whomever */
};

struct tt_cpu_time tt_cpu_now(void);
struct tt_cpu_time tt_cpu_since(struct tt_cpu_time then);

#endif
