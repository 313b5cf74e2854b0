/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/canary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "analysis/series.h"
#include "analysis/statistics.h"

/* Parts of the false alarms that the rules may give; what is left is for a single night. */
#define PART_OF_TWO 0.3
#define PART_OF_THREE 0.4
#define PART_OF_LEVEL 0.2
/* Robust standard deviations from the median that one night by itself has to be away; more of them
 * by a short history, which tells the deviation badly. Of two kinds of nights the deviation is only
 * that within the more frequent one, so that it also has to be worse than all nights before. */
#define FAR(n) (8 * (1 + 10 / (double)(n)))

/* A night after the other, where higher is worse. Logarithms, if all values are above 0: a rate
 * that is halved is as far away as a time that is doubled. */
struct nights {
    size_t n;
    double *worse;
    bool logarithms;
    double sign;
};

static int take_nights(const double *values, size_t n, enum tt_better better, struct nights *v,
                       struct tt_error *e)
{
    *v = (struct nights){n, malloc((n + 1) * sizeof *v->worse), true,
                         better == TT_BETTER_HIGHER ? -1 : 1};
    if (!v->worse)
        return tt_fail_nomem(e, "the history");
    for (size_t i = 0; i < n; i++)
        v->logarithms &= values[i] > 0;
    for (size_t i = 0; i < n; i++)
        v->worse[i] = v->sign * (v->logarithms ? log(values[i]) : values[i]);
    return TT_OK;
}

static double as_value(const struct nights *v, double worse)
{
    return v->logarithms ? exp(v->sign * worse) : v->sign * worse;
}

/* What is no change yet. */
static double beyond_margin(const struct nights *v, double median, double margin)
{
    return median + (v->logarithms ? log1p(margin) : margin * fabs(median));
}

/* The chance that w nights are all among the w + j worst of n + w, if nothing has changed. */
static double chance(size_t w, size_t j, size_t n)
{
    return exp(gsl_sf_lnchoose((unsigned)(w + j), (unsigned)w) -
               gsl_sf_lnchoose((unsigned)(n + w), (unsigned)w));
}

/* Which of the n values of the history, from the worst, w nights have to be worse than; 0: the
 * history is too short for any. */
static size_t rank_of_limit(size_t w, size_t n, double alarm)
{
    size_t j = 0;

    while (j < n && chance(w, j, n) <= alarm)
        j++;
    return j;
}

/* Nights before the last three that the rule of three needs. */
static size_t shortest_history(double alarm)
{
    size_t n = 1;

    while (rank_of_limit(3, n, PART_OF_THREE * alarm) == 0)
        n++;
    return n;
}

/* Ascending copy of a part; NULL: no memory. */
static double *sorted_part(const struct nights *v, size_t from, size_t n)
{
    double *copy = malloc((n + 1) * sizeof *copy);

    if (copy) {
        memcpy(copy, v->worse + from, n * sizeof *copy);
        gsl_sort(copy, 1, n);
    }
    return copy;
}

static bool are_all_beyond(const struct nights *v, size_t w, double limit)
{
    for (size_t i = v->n - w; i < v->n; i++)
        if (v->worse[i] <= limit)
            return false;
    return true;
}

/* Qn of the sorted values; 0: no memory, or most are equal. */
static double robust_deviation(const double *sorted, size_t n)
{
    double *work = malloc(3 * n * sizeof *work), q = 0;
    int *indices = malloc(5 * n * sizeof *indices);

    if (work && indices)
        q = gsl_stats_Qn_from_sorted_data(sorted, 1, n, work, indices);
    free(work);
    free(indices);
    return q;
}

/* What the last w nights have to be beyond, by the nights before them. Two nights after a history
 * that is too short for their ranks are both to be as far as one. */
static double limit_of(const struct nights *v, const double *history, size_t n, size_t w,
                       double median, const struct tt_canary_options *o)
{
    double q = robust_deviation(history, n);
    double far = fmax(median + FAR(n) * q, history[n - 1] + q);
    size_t rank =
        w == 1 ? 0 : rank_of_limit(w, n, (w == 2 ? PART_OF_TWO : PART_OF_THREE) * o->alarm);

    return fmax(beyond_margin(v, median, o->margin), rank ? history[n - rank] : far);
}

/* A longer row tells better when it began, and so it overrules a shorter one. */
static int judge_last(const struct nights *v, size_t w, size_t from,
                      const struct tt_canary_options *o, struct tt_canary *out, struct tt_error *e)
{
    static const enum tt_canary_rule rules[] = {TT_CANARY_QUIET, TT_CANARY_FAR, TT_CANARY_TWO,
                                                TT_CANARY_THREE};
    size_t n = v->n - w - from, since = v->n - w;
    double *history = sorted_part(v, from, n), median, limit, limit_of_one;
    bool beyond;

    if (!history)
        return tt_fail_nomem(e, "the history");
    median = gsl_stats_median_from_sorted_data(history, 1, n);
    limit = limit_of(v, history, n, w, median, o);
    limit_of_one = w == 1 ? limit : out->limit_of_one;
    free(history);
    beyond = are_all_beyond(v, w, limit);
    while (beyond && since > from && v->worse[since - 1] > limit)
        since--;
    if (beyond || (w == 3 && out->rule == TT_CANARY_QUIET))
        *out = (struct tt_canary){.kind = beyond ? TT_FAIL : TT_PASS,
                                  .rule = beyond ? rules[w] : TT_CANARY_QUIET,
                                  .from = from,
                                  .n = n,
                                  .since = since,
                                  .median = median,
                                  .limit = limit};
    out->limit_of_one = limit_of_one;
    return TT_OK;
}

/* The last change of level, if it was one to worse: it tells best when it began. */
static void judge_level(const struct nights *v, const struct tt_changes *changes,
                        const struct tt_canary_options *o, struct tt_canary *out)
{
    const struct tt_change *last = changes->n ? &changes->items[changes->n - 1] : NULL;
    size_t from = changes->n > 1 ? changes->items[changes->n - 2].at : 0;
    double limit = last ? beyond_margin(v, last->before, o->margin) : 0;

    if (last && last->after > limit)
        *out = (struct tt_canary){.kind = TT_FAIL,
                                  .rule = TT_CANARY_LEVEL,
                                  .from = from,
                                  .n = last->at - from,
                                  .since = last->at,
                                  .median = last->before,
                                  .limit = limit,
                                  .limit_of_one = NAN};
}

static int judge(const struct nights *v, const struct tt_canary_options *o, size_t least,
                 struct tt_canary *out, struct tt_error *e)
{
    struct tt_changes changes = {0};
    size_t from = 0;
    int rc = tt_change_points(v->worse, v->n, PART_OF_LEVEL * o->alarm, o->seed, &changes, e);

    if (rc == TT_OK && changes.n && v->n - changes.items[changes.n - 1].at >= least + 3)
        from = changes.items[changes.n - 1].at;
    for (size_t w = 1; w <= 3 && rc == TT_OK; w++)
        rc = judge_last(v, w, from, o, out, e);
    if (rc == TT_OK)
        judge_level(v, &changes, o, out);
    free(changes.items);
    return rc;
}

size_t tt_canary_least(double alarm)
{
    return shortest_history(alarm) + 3;
}

int tt_canary_judge(const double *values, size_t n, enum tt_better better,
                    const struct tt_canary_options *o, struct tt_canary *out, struct tt_error *e)
{
    size_t least = shortest_history(o->alarm);
    struct nights v;
    int rc;

    *out = (struct tt_canary){.kind = TT_UNDECIDED};
    if (n < tt_canary_least(o->alarm)) {
        out->more = tt_canary_least(o->alarm) - n;
        return TT_OK;
    }
    rc = take_nights(values, n, better, &v, e);
    if (rc == TT_OK)
        rc = judge(&v, o, least, out, e);
    out->median = as_value(&v, out->median);
    out->limit = as_value(&v, out->limit);
    out->limit_of_one = as_value(&v, out->limit_of_one);
    free(v.worse);
    return rc;
}
