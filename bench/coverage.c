/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the interval of the median that reports show (tt_median_estimate) covers the true
 * median, on simulated runs: normal, lognormal, bimodal and heavy-tailed values, sets of 6 to 100,
 * from a fixed seed. Prints as JSON few   {"least", "most"} over all distributions and sets of 6 to
 * 19 many  the same from 20 on */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

#include "analysis/statistics.h"

#define TRIALS 20000
#define MOST 100

static double normal(gsl_rng *rng)
{
    return 1 + gsl_ran_gaussian(rng, 0.05);
}
static double lognormal(gsl_rng *rng)
{
    return gsl_ran_lognormal(rng, 0, 0.5);
}
/* Seven in ten runs are fast: the median is that of the 5 / 7 of these that are below it. */
static double bimodal(gsl_rng *rng)
{
    return gsl_rng_uniform(rng) < 0.7 ? 1 + gsl_ran_gaussian(rng, 0.05)
                                      : 2 + gsl_ran_gaussian(rng, 0.1);
}
/* Nearly as many are slow: the median lies beside a gap. */
static double halves(gsl_rng *rng)
{
    return gsl_rng_uniform(rng) < 0.52 ? 1 + gsl_ran_gaussian(rng, 0.05)
                                       : 2 + gsl_ran_gaussian(rng, 0.1);
}
static double heavy(gsl_rng *rng)
{
    return 1 + 0.05 * gsl_ran_tdist(rng, 2);
}

static double covered(double (*draw)(gsl_rng *), double median, size_t n, gsl_rng *rng)
{
    size_t hits = 0;

    for (int i = 0; i < TRIALS; i++) {
        double values[MOST];
        struct tt_sample s = {n, values};
        struct tt_interval found;

        for (size_t k = 0; k < n; k++)
            values[k] = draw(rng);
        tt_median(values, n);
        found = tt_median_estimate(&s, TT_LEVEL);
        hits += found.known && found.low <= median && median <= found.high;
    }
    return (double)hits / TRIALS;
}

int main(void)
{
    static const size_t sizes[] = {6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 21, 24, 25, 30, 50, 100};
    const struct {
        const char *name;
        double (*draw)(gsl_rng *);
        double median;
    } of[] = {{"normal", normal, 1},
              {"lognormal", lognormal, 1},
              {"bimodal", bimodal, 1 + 0.05 * gsl_cdf_ugaussian_Pinv(5.0 / 7)},
              {"halves", halves, 1 + 0.05 * gsl_cdf_ugaussian_Pinv(0.5 / 0.52)},
              {"heavy", heavy, 1}};
    gsl_rng *rng = tt_make_rng(1);
    double least[2] = {1, 1}, most[2] = {0, 0};

    for (size_t d = 0; rng && d < sizeof of / sizeof *of; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            double share = covered(of[d].draw, of[d].median, sizes[i], rng);
            int many = sizes[i] >= 20;

            fprintf(stderr, "%-9s %3zu runs: %.4f\n", of[d].name, sizes[i], share);
            least[many] = fmin(least[many], share);
            most[many] = fmax(most[many], share);
        }
    printf("{\"few\": {\"least\": %.4f, \"most\": %.4f}, \"many\": {\"least\": %.4f, \"most\": "
           "%.4f}}\n",
           least[0], most[0], least[1], most[1]);
    gsl_rng_free(rng);
    return rng == NULL;
}
