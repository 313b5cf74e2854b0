/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU must not masquerade as storage: every job of a local ensemble has a fixed share of the CPUs,
 * the same alone and with others. */
#ifndef TT_ENSEMBLE_SHARES_H
#define TT_ENSEMBLE_SHARES_H

#include <sched.h>

#include "ensemble/ensemble.h"

struct tt_share {
    double cpus;
    cpu_set_t set;
    char cgroup[512]; /* empty: none */
    char text[64];    /* "CPUs 0-1", "0.50 of CPUs 0-1" */
};
struct tt_shares {
    size_t n; /* the reference's first, then the loads' */
    struct tt_share *list;
    bool exceeded;  /* together they are more than the machine has */
    char note[160]; /* why, if they are */
};

/* CPUs that this process may use. */
int tt_cores(void);
/* What a job is to have of so many: its own share, the ensemble's, or the machine divided by the
 * most jobs at once. */
double tt_share_wanted(const struct tt_ensemble *x, const struct tt_job_spec *p, int cores);

/* Shares of the jobs of a step; id makes the names of control groups unique. Shares below one CPU
 * need control groups; without them jobs share CPUs, which counts as exceeded. */
int tt_shares_make(const struct tt_ensemble *x, const struct tt_step *s, const char *id,
                   struct tt_shares *out, struct tt_error *e);
/* After the jobs have ended: removes the control groups. */
void tt_shares_free(struct tt_shares *s);
/* Removes control groups of drivers that were killed. */
void tt_shares_tidy(void);

#endif
