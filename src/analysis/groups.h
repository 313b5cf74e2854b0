/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values in several groups: do the groups differ, which of them, by how much, and how many runs it
 * takes to see it. */
#ifndef TT_ANALYSIS_GROUPS_H
#define TT_ANALYSIS_GROUPS_H

#include "analysis/statistics.h"

/* Value i belongs to a group, and to a block within which alone values are compared: a run for what
 * varies within runs, runs with all else alike for what varies between them. */
struct tt_grouped {
    size_t n, ngroups, nblocks;
    const double *values;
    const size_t *group; /* below ngroups */
    const size_t *block; /* below nblocks; NULL: all in one */
};

/* The places of n values, class after class, each in order: class c has members[begins[c]] up to
 * before begins[c + 1]. begins has room for nclasses + 2; classes NULL: all are in one. */
void tt_sort_by_class(const size_t *classes, size_t n, size_t nclasses, size_t *members,
                      size_t *begins);

struct tt_group_test {
    bool known;     /* false: nothing varies, or there are too many groups to be solved */
    bool varies;    /* some block has different values, and more than one group */
    double h, p;    /* chi-squared with df degrees of freedom */
    size_t df, n;   /* n: values that could be compared */
    size_t blocks;  /* that they are in */
    double epsilon; /* squared: share of the ranks' variance that the groups explain, 0 to 1 */
};
/* Ranks within blocks, summed by groups (Prentice, 1979), with ties. One block: Kruskal and
 * Wallis's H, and epsilon-squared is H / (n - 1). Blocks with one value of each group: Friedman's
 * test, and epsilon-squared is Kendall's W. Ranks of a block are divided by its size + 1 (van
 * Elteren). Blocks that differ in which groups they have may have 300 of them at most. */
int tt_rank_test(const struct tt_grouped *g, struct tt_group_test *out, struct tt_error *e);

/* Two groups, a before b. */
struct tt_pair {
    size_t a, b;
    double z, p; /* two-sided */
    double adjusted;
};
/* Dunn's test (1964) of all pairs, k (k - 1) / 2 of them, by the ranks of all values and without
 * blocks; adjusted as Holm does. z is above 0 where b is larger. */
int tt_dunn(const struct tt_grouped *g, struct tt_pair *pairs, struct tt_error *e);

/* Corrections of n values of p for being n, in place: Holm's keeps the chance of a single false
 * one, Benjamini and Hochberg's the share of false ones among those that are called different. */
int tt_adjust_holm(double *p, size_t n, struct tt_error *e);
int tt_adjust_bh(double *p, size_t n, struct tt_error *e);

/* Cliff's delta: share of pairs in which b is larger, less that in which it is smaller; -1 to 1.
 * Vargha and Delaney's A is (delta + 1) / 2. */
double tt_cliffs_delta(const struct tt_sample *a, const struct tt_sample *b);

/* Runs in each of two sets with which a change by this ratio (1.05: 5 % more) is seen by Mann and
 * Whitney's test with this probability (Noether, 1987), from values that were measured under the
 * same conditions; at least tt_runs_for_interval(). 0: fewer than two values, or nothing to be
 * seen. Values are above 0. */
double tt_runs_to_see(const struct tt_sample *s, double ratio, double power);

#endif
