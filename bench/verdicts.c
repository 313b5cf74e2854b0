/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the comparison of runs is wrong, on runtimes that were measured: one number a line on
 * stdin, in the order of the runs. Prints as JSON
 *   fresh     pairs of groups of 12 interleaved runs, no run in two groups, and the share of them
 *             that is called better or worse: the runs were all the same
 *   resampled the same for groups drawn at random from all of them
 *   found     the share in which 10 % more, put upon one of two drawn groups, is called worse */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict.h"

#define GROUP 12
#define DRAWS 400
#define INJECTED 1.10
#define MARGIN 0.05
#define MOST 4096

static double runtimes[MOST];
static size_t n;

static const char *compare(double *a, double *b, uint64_t seed)
{
    const struct tt_values x = {GROUP, a}, y = {GROUP, b};
    struct tt_error e = TT_ERROR_CLEAR;
    static char verdict[40];
    json_t *out = NULL;

    *verdict = '\0';
    if (tt_verdict(TT_METRIC_runtime, &x, &y, MARGIN, seed, &out, &e) == TT_OK)
        snprintf(verdict, sizeof verdict, "%s", json_string_value(json_object_get(out, "verdict")));
    json_decref(out);
    return verdict;
}

static bool is_different(const char *verdict)
{
    return !strcmp(verdict, "worse") || !strcmp(verdict, "better");
}

/* Every other run of 2 x GROUP neighbours is of the second group. */
static double fresh(size_t *pairs)
{
    size_t wrong = 0;

    for (*pairs = 0; (*pairs + 1) * 2 * GROUP <= n; ++*pairs) {
        const double *from = runtimes + *pairs * 2 * GROUP;
        double a[GROUP], b[GROUP];

        for (size_t i = 0; i < GROUP; i++) {
            a[i] = from[2 * i + *pairs % 2];
            b[i] = from[2 * i + 1 - *pairs % 2];
        }
        wrong += is_different(compare(a, b, *pairs));
    }
    return *pairs ? (double)wrong / (double)*pairs : 0;
}

static void draw(double *out, double factor)
{
    for (size_t i = 0; i < GROUP; i++)
        out[i] = factor * runtimes[(size_t)random() % n];
}

static double drawn(double factor, bool worse_only)
{
    size_t count = 0;

    for (unsigned k = 0; k < DRAWS; k++) {
        double a[GROUP], b[GROUP];
        const char *verdict;

        draw(a, 1);
        draw(b, factor);
        verdict = compare(a, b, k);
        count += worse_only ? !strcmp(verdict, "worse") : is_different(verdict);
    }
    return (double)count / DRAWS;
}

int main(void)
{
    size_t pairs;
    double share;

    srandom(1);
    while (n < MOST && scanf("%lf", &runtimes[n]) == 1)
        n++;
    if (n < (size_t)2 * GROUP) {
        fprintf(stderr, "verdicts: needs at least %d runtimes on stdin\n", 2 * GROUP);
        return 1;
    }
    share = fresh(&pairs);
    printf("{\"pairs\": %zu, \"fresh\": %.4f, \"resampled\": %.4f, \"found\": %.4f}\n", pairs,
           share, drawn(1, false), drawn(INJECTED, true));
    return 0;
}
