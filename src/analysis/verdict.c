/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

/* An estimate above this is a guess. */
#define MOST_RUNS 1000

/* Everything about one metric on its way into JSON. */
struct judged {
    const struct tt_metric *metric;
    double margin;
    struct tt_sample a, b;
    bool compared; /* there are an interval and tests */
    bool has_effect;
    double effect;
    struct tt_interval interval;
    struct tt_test permutation, ranks;
    const char *verdict;
    double needed; /* 0: nothing to be decided */
    char text[160];
};

/* ---- words ---- */

static void decide(struct judged *j, const char *verdict, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void decide(struct judged *j, const char *verdict, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(j->text, sizeof j->text, fmt, args);
    va_end(args);
    j->verdict = verdict;
}

/* Two digits: "12", "8.3", "0.43"; what is smaller than the last of them is 0. */
static const char *digits(double x, bool sign, char out[24])
{
    double rounded = round(x * 1e4) / 1e4 + 0.0; /* never -0 */

    if (fabs(rounded) < 99.5)
        snprintf(out, 24, sign ? "%+.2g" : "%.2g", rounded);
    else
        snprintf(out, 24, sign ? "%+.0f" : "%.0f", rounded);
    return out;
}

/* The effect as a change: in percent for a ratio. */
static double change(const struct judged *j, double effect)
{
    return j->metric->direction.effect == TT_RATIO ? 100 * (effect - 1) : effect;
}

static const char *unit(const struct judged *j)
{
    return j->metric->direction.effect == TT_RATIO ? " %" : "";
}

/* "slower by 12 % (8 to 16 %)" */
static void say_different(struct judged *j)
{
    double value = change(j, j->effect), low = change(j, j->interval.low),
           high = change(j, j->interval.high);
    const struct tt_metric_direction *d = &j->metric->direction;
    bool up = value > 0;
    char t[3][24];

    decide(j,
           d->better == TT_BETTER_NEITHER          ? "different"
           : up == (d->better == TT_BETTER_HIGHER) ? "better"
                                                   : "worse",
           "%s by %s%s (%s to %s%s)", up ? d->up : d->down, digits(fabs(value), false, t[0]),
           unit(j), digits(up ? low : -high, false, t[1]), digits(up ? high : -low, false, t[2]),
           unit(j));
}

static void say_equivalent(struct judged *j)
{
    bool ratio = j->metric->direction.effect == TT_RATIO;
    char t[24];

    decide(j, "equivalent", "equivalent within %s%s",
           digits(ratio ? 100 * j->margin : j->margin, false, t), unit(j));
}

/* An estimate has two digits. */
static double round_up(double runs)
{
    double unit = pow(10, fmax(0, floor(log10(runs)) - 1));

    return ceil(runs / unit) * unit;
}

/* "cannot tell (-4 to +12 %; about 20 runs each needed)" */
static void say_unclear(struct judged *j, bool excludes)
{
    size_t most = j->a.n > j->b.n ? j->a.n : j->b.n;
    char low[24], high[24], why[40] = "", runs[40];

    j->needed = round_up(
        fmax(tt_runs_to_decide(j->metric->direction.effect, &j->a, &j->b, &j->interval, j->margin),
             (double)most + 1));
    if (j->needed > MOST_RUNS)
        snprintf(runs, sizeof runs, "more than %d", MOST_RUNS);
    else
        snprintf(runs, sizeof runs, "about %.0f", j->needed);
    if (excludes) /* only the test keeps it from being a difference */
        snprintf(why, sizeof why, ", but p = %.2f", j->permutation.p);
    decide(j, "cannot tell", "cannot tell (%s to %s%s%s; %s runs each needed)",
           digits(change(j, j->interval.low), true, low),
           digits(change(j, j->interval.high), true, high), unit(j), why, runs);
}

/* ---- the verdict ---- */

static int measure(struct judged *j, uint64_t seed, struct tt_error *e)
{
    enum tt_effect kind = j->metric->direction.effect;
    int rc = tt_bootstrap_effect(kind, &j->a, &j->b, TT_LEVEL, seed, &j->interval, e);

    if (rc == TT_OK)
        rc = tt_permutation_test(&j->a, &j->b, seed, &j->permutation, e);
    if (rc == TT_OK)
        rc = tt_mann_whitney(&j->a, &j->b, &j->ranks, e);
    j->compared = rc == TT_OK;
    return rc;
}

static int judge(struct judged *j, uint64_t seed, struct tt_error *e)
{
    size_t few = tt_runs_for_interval(TT_LEVEL), na = j->a.n, nb = j->b.n;
    double none = j->metric->direction.effect == TT_RATIO ? 1 : 0;
    bool excludes;

    if (na == 0 || nb == 0) {
        decide(j, "not measured", "not measured%s", nb ? " in A" : na ? " in B" : "");
        return TT_OK;
    }
    j->has_effect = j->metric->direction.effect != TT_RATIO || tt_sample_median(&j->a) > 0;
    if (j->has_effect)
        j->effect = tt_effect(j->metric->direction.effect, &j->a, &j->b);
    if (na < few || nb < few) {
        j->needed = (double)few;
        decide(j, "too few", "too few for an interval (%zu and %zu runs; six each are needed)", na,
               nb);
        return TT_OK;
    }
    if (j->a.values[0] == j->b.values[nb - 1] && j->b.values[0] == j->a.values[na - 1]) {
        decide(j, "equivalent", "the same in all runs");
        return TT_OK;
    }
    if (j->metric->direction.effect == TT_RATIO && fmin(j->a.values[0], j->b.values[0]) <= 0) {
        decide(j, "cannot tell", "cannot tell (not all values are above 0)");
        return TT_OK;
    }
    if (measure(j, seed, e) != TT_OK)
        return e->code;
    excludes = j->interval.low > none || j->interval.high < none;
    if (tt_is_equivalent(j->metric->direction.effect, &j->interval, j->margin))
        say_equivalent(j);
    else if (excludes && j->permutation.p <= 1 - TT_LEVEL)
        say_different(j);
    else
        say_unclear(j, excludes);
    return TT_OK;
}

/* ---- as JSON; a value that is NULL for lack of memory makes json_pack fail ---- */

static json_t *sample_json(const struct tt_values *v, const struct tt_sample *s)
{
    struct tt_interval i = tt_median_estimate(s, TT_LEVEL);
    json_t *values = json_array();

    for (size_t k = 0; k < v->n; k++)
        if (json_array_append_new(values, json_real(v->values[k])) != 0) {
            json_decref(values);
            return NULL;
        }
    if (v->n == 0)
        return json_pack("{s:i, s:o}", "n", 0, "values", values);
    return json_pack("{s:I, s:o, s:f, s:f, s:f, s:o}", "n", (json_int_t)v->n, "values", values,
                     "median", tt_sample_median(s), "min", s->values[0], "max", s->values[s->n - 1],
                     "interval", i.known ? json_pack("[f, f]", i.low, i.high) : json_null());
}

static json_t *judged_json(const struct judged *j, const struct tt_values *a,
                           const struct tt_values *b)
{
    static const char *const better[] = {"neither", "lower", "higher"};
    const struct tt_metric *m = j->metric;
    bool countable = j->needed > 0 && j->needed <= MOST_RUNS;
    json_t *effect = json_null(), *permutation = json_null(), *ranks = json_null();

    if (j->has_effect)
        effect = json_pack("{s:f, s:o, s:o}", "value", j->effect, "low",
                           j->compared ? json_real(j->interval.low) : json_null(), "high",
                           j->compared ? json_real(j->interval.high) : json_null());
    if (j->compared) {
        permutation = json_pack("{s:f, s:b}", "p", j->permutation.p, "exact", j->permutation.exact);
        ranks = json_pack("{s:f, s:f, s:b}", "u", j->ranks.statistic, "p", j->ranks.p, "exact",
                          j->ranks.exact);
    }
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:s, s:o}", "metric", m->name,
        "label", m->label, "unit", m->unit, "better", better[m->direction.better], "a",
        sample_json(a, &j->a), "b", sample_json(b, &j->b), "kind",
        m->direction.effect == TT_RATIO ? "ratio" : "difference", "effect", effect, "permutation",
        permutation, "mann_whitney", ranks, "verdict", j->verdict, "text", j->text, "runs_needed",
        countable ? json_integer((json_int_t)j->needed) : json_null());
}

static double *sorted(const struct tt_values *v)
{
    double *copy = malloc((v->n + 1) * sizeof *copy);

    if (copy && v->n) {
        memcpy(copy, v->values, v->n * sizeof *copy);
        gsl_sort(copy, 1, v->n);
    }
    return copy;
}

int tt_verdict(enum tt_metric_id metric, const struct tt_values *a, const struct tt_values *b,
               double margin, uint64_t seed, json_t **out, struct tt_error *e)
{
    struct judged j = {.metric = &tt_metrics[metric], .margin = margin};
    double *sa = sorted(a), *sb = sorted(b);
    int rc = TT_OK;

    j.a = (struct tt_sample){a->n, sa};
    j.b = (struct tt_sample){b->n, sb};
    *out = NULL;
    if (sa && sb)
        rc = judge(&j, seed, e);
    if (sa && sb && rc == TT_OK)
        *out = judged_json(&j, a, b);
    if (rc == TT_OK && !*out)
        rc = tt_fail_nomem(e, "a comparison");
    free(sa);
    free(sb);
    return rc;
}
