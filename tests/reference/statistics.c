/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines "GROUP BLOCK VALUE" on stdin, groups and blocks counted from 0: prints "NAME NUMBER" of
 * every statistic that GNU R has, too, for statistics.R to compare. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "analysis/groups.h"
#include "analysis/series.h"

#define MOST 20000

static double values[MOST], sorted[MOST], part[2][MOST];
static size_t group[MOST], block[MOST];
static struct tt_grouped g = {.values = values, .group = group, .block = block};
static struct tt_error e = TT_ERROR_CLEAR;

static void say(const char *name, double number)
{
    printf("%s %.17g\n", name, number);
}

static void print_shape(const struct tt_sample *s)
{
    struct tt_shape_test normal;
    struct tt_density d;
    struct tt_summary m;
    char name[40];

    tt_summarize(s, &m, &e);
    tt_shapiro_wilk(s, &normal, &e);
    tt_density(s, 64, &d, &e);
    say("median", m.median);
    say("q05", m.q05);
    say("q25", m.q25);
    say("q75", m.q75);
    say("q95", m.q95);
    say("iqr", m.iqr);
    say("mad", m.mad);
    say("mean", m.mean);
    say("deviation", m.deviation);
    say("ecdf", tt_ecdf(s, m.mean));
    say("bandwidth", d.bandwidth);
    for (size_t i = 0; i < d.n; i++) {
        snprintf(name, sizeof name, "at%zu", i);
        say(name, d.at[i]);
        snprintf(name, sizeof name, "density%zu", i);
        say(name, d.density[i]);
    }
    if (normal.known) {
        say("shapiro", normal.statistic);
        say("shapiro_p", normal.p);
    }
    free(d.at);
}

static struct tt_sample take_group(size_t which, double *room)
{
    struct tt_sample s = {0, room};

    for (size_t i = 0; i < g.n; i++)
        if (group[i] == which)
            room[s.n++] = values[i];
    tt_median(room, s.n); /* sorts */
    return s;
}

static void print_pairs(void)
{
    size_t n = g.ngroups * (g.ngroups - 1) / 2;
    struct tt_pair *pairs = calloc(n + 1, sizeof *pairs);
    double *p = calloc(2 * n + 1, sizeof *p);
    char name[40];

    tt_dunn(&g, pairs, &e);
    for (size_t i = 0; i < n; i++) {
        struct tt_sample a = take_group(pairs[i].a, part[0]), b = take_group(pairs[i].b, part[1]);
        struct tt_test test;

        tt_mann_whitney(&a, &b, &test, &e);
        p[i] = p[n + i] = test.p;
        snprintf(name, sizeof name, "u%zu_%zu", pairs[i].a, pairs[i].b);
        say(name, test.statistic);
        snprintf(name, sizeof name, "delta%zu_%zu", pairs[i].a, pairs[i].b);
        say(name, tt_cliffs_delta(&a, &b));
        snprintf(name, sizeof name, "z%zu_%zu", pairs[i].a, pairs[i].b);
        say(name, pairs[i].z);
        snprintf(name, sizeof name, "dunn%zu_%zu", pairs[i].a, pairs[i].b);
        say(name, pairs[i].adjusted);
    }
    tt_adjust_holm(p, n, &e);
    tt_adjust_bh(p + n, n, &e);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "holm%zu_%zu", pairs[i].a, pairs[i].b);
        say(name, p[i]);
        snprintf(name, sizeof name, "bh%zu_%zu", pairs[i].a, pairs[i].b);
        say(name, p[n + i]);
    }
    free(pairs);
    free(p);
}

int main(void)
{
    struct tt_group_test friedman, kruskal;
    struct tt_drift drift;

    while (g.n < MOST && scanf("%zu %zu %lf", &group[g.n], &block[g.n], &values[g.n]) == 3) {
        g.ngroups = group[g.n] >= g.ngroups ? group[g.n] + 1 : g.ngroups;
        g.nblocks = block[g.n] >= g.nblocks ? block[g.n] + 1 : g.nblocks;
        g.n++;
    }
    memcpy(sorted, values, g.n * sizeof *sorted);
    tt_median(sorted, g.n);
    print_shape(&(struct tt_sample){g.n, sorted});
    tt_drift(values, g.n, &drift, &e);
    say("tau", drift.tau);
    say("tau_p", drift.p);
    if (g.ngroups > 1 && g.nblocks > 1) {
        tt_rank_test(&g, &friedman, &e);
        say("friedman", friedman.h);
        say("friedman_p", friedman.p);
        say("kendall_w", friedman.epsilon);
    }
    if (g.ngroups > 1) {
        g.block = NULL;
        g.nblocks = 1;
        tt_rank_test(&g, &kruskal, &e);
        say("kruskal", kruskal.h);
        say("kruskal_p", kruskal.p);
        say("epsilon", kruskal.epsilon);
        print_pairs();
    }
    return e.code != TT_OK;
}
