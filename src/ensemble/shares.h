/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU must not masquerade as storage: every job of a local ensemble has a fixed share of the CPUs,
 * the same alone and with others. */
#ifndef TT_ENSEMBLE_SHARES_H
#define TT_ENSEMBLE_SHARES_H

#include <sched.h>

#include "analysis/slowdown.h"
#include "ensemble/ensemble.h"

struct tt_share {
    double cpus;
    cpu_set_t set;
    char cgroup[512];  /* with its quota; empty: none */
    char watched[512]; /* the reference: whose pressure is its own; empty: there is none */
    char text[64];     /* "CPUs 0-1", "0.50 of CPUs 0-1" */
    char place[64];    /* "2 cores of NUMA node 0" */
};
struct tt_shares {
    size_t n; /* the reference's first, then the loads' */
    struct tt_share *list;
    bool exceeded;    /* together they are more than the machine has */
    bool share_cores; /* CPUs of one core are different jobs' */
    char note[160];   /* why, if they are */
};

/* What the processes of a job waited for, as the kernel says of its control groups: seconds, not a
 * number where it does not. */
struct tt_waits {
    int64_t at_ns;
    double seconds[TT_NWAITS];
};
/* Since ever, and since an earlier reading, which is replaced; at_ns then is the time between. */
void tt_waits_read(const struct tt_share *s, struct tt_waits *out);
void tt_waits_since(const struct tt_share *s, struct tt_waits *io);

/* CPUs that this process may use. */
int tt_cores(void);
/* What a job is to have of so many CPUs on so many cores: its own share, the ensemble's, or the
 * machine divided by the most jobs at once, in whole cores as long as there are as many. */
double tt_share_wanted(const struct tt_ensemble *x, const struct tt_job_spec *p, int cpus,
                       int cores);
/* The same of this machine. */
int tt_share_here(const struct tt_ensemble *x, const struct tt_job_spec *p, double *cpus,
                  struct tt_error *e);

/* Shares of the jobs of a step; id makes the names of control groups unique. Shares below one CPU
 * need control groups; without them jobs share CPUs, which counts as exceeded. */
int tt_shares_make(const struct tt_ensemble *x, const struct tt_step *s, const char *id,
                   struct tt_shares *out, struct tt_error *e);
/* After the jobs have ended: removes the control groups. */
void tt_shares_free(struct tt_shares *s);
/* Removes control groups of drivers that were killed. */
void tt_shares_tidy(void);

#endif
