/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/slowdown.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "analysis/metrics.h"
#include "analysis/statistics.h"
#include "base/json.h"
#include "record/phases.h"

/* Below this the reference waits for a CPU no more than it does alone. */
#define CPU_WAIT_RISE 0.05
/* Below this nobody calls it slower. */
#define LEAST_SLOWDOWN 1.02
/* Jobs that started further apart than this were not quite under the same load. */
#define LARGE_SKEW 0.02
#define SHORT_RUN 1.0
/* More than daemons use. */
#define BUSY_CPUS 0.2

/* ---- one number a run ---- */

struct values {
    size_t n, capacity;
    double *list;
};

static int add(struct values *v, const json_t *number)
{
    double *longer;

    if (!json_is_number(number) || !isfinite(json_number_value(number)))
        return 0;
    if (v->n == v->capacity) {
        v->capacity = v->capacity ? 2 * v->capacity : 16;
        longer = realloc(v->list, v->capacity * sizeof *longer);
        if (!longer)
            return -1;
        v->list = longer;
    }
    v->list[v->n++] = json_number_value(number);
    return 0;
}

static struct tt_sample sorted(struct values *v)
{
    if (v->n > 0)
        gsl_sort(v->list, 1, v->n);
    return (struct tt_sample){v->n, v->list};
}

/* ---- the repetitions of a step ---- */

struct step {
    const json_t *plan;  /* its entry there */
    const json_t **list; /* complete repetitions */
    size_t n;
    json_t *left_out;
};

static bool belongs(const json_t *repetition, const json_t *plan)
{
    return json_equal(json_object_get(repetition, "reference"),
                      json_object_get(plan, "reference")) &&
           json_equal(json_object_get(repetition, "others"), json_object_get(plan, "others")) &&
           json_equal(json_object_get(repetition, "loads"), json_object_get(plan, "loads"));
}

static int select_step(const json_t *plan, const json_t *repetitions, struct step *s)
{
    const json_t *r;
    size_t i;

    *s = (struct step){.plan = plan,
                       .list = calloc(json_array_size(repetitions) + 1, sizeof *s->list),
                       .left_out = json_array()};
    if (!s->list || !s->left_out)
        return -1;
    json_array_foreach(repetitions, i, r)
    {
        if (!belongs(r, plan))
            continue;
        if (tt_is_true(r, "complete"))
            s->list[s->n++] = r;
        else
            json_array_append_new(s->left_out,
                                  json_pack("{s:O?, s:O?}", "number", json_object_get(r, "number"),
                                            "why", json_object_get(r, "why")));
    }
    return 0;
}

static const json_t *reference_of(const json_t *repetition)
{
    return json_array_get(json_object_get(repetition, "jobs"), 0);
}

/* repetition.jobs[0][group][name], or with a third name below that. */
static int collect(const struct step *s, const char *group, const char *name, const char *below,
                   struct values *out)
{
    *out = (struct values){0};
    for (size_t i = 0; i < s->n; i++) {
        const json_t *value = json_object_get(reference_of(s->list[i]), group);

        value = name ? json_object_get(value, name) : value;
        value = below ? json_object_get(value, below) : value;
        if (add(out, value) != 0)
            return -1;
    }
    return 0;
}

/* ---- effects ---- */

/* "low" and "high" of an object; null where there are too few runs for an interval. */
static json_t *with_interval(json_t *o, const struct tt_interval *i)
{
    json_object_set_new(o, "low", i->known ? tt_json_real(i->low) : json_null());
    json_object_set_new(o, "high", i->known ? tt_json_real(i->high) : json_null());
    return o;
}

/* Median of b over median of a, {"value", "low", "high"}; null if either has none. */
static json_t *effect(struct values *a, struct values *b, uint64_t seed)
{
    struct tt_sample x = sorted(a), y = sorted(b);
    struct tt_interval interval = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (x.n == 0 || y.n == 0 || x.values[0] <= 0)
        return json_null();
    tt_bootstrap_effect(TT_RATIO, &x, &y, TT_LEVEL, seed, &interval, &ignored);
    return with_interval(json_pack("{s:f}", "value", tt_effect(TT_RATIO, &x, &y)), &interval);
}

static json_t *runtime_json(struct values *v)
{
    struct tt_sample s = sorted(v);
    struct tt_interval i = tt_median_interval(&s, TT_LEVEL);
    json_t *values = json_array();

    for (size_t k = 0; k < s.n; k++)
        json_array_append_new(values, json_real(s.values[k]));
    return with_interval(json_pack("{s:o, s:o}", "values", values, "median",
                                   s.n ? json_real(tt_sample_median(&s)) : json_null()),
                         &i);
}

static void describe_slowdown(json_t *o, size_t alone, size_t loaded)
{
    double value = tt_number_of(o, "value");
    const json_t *low = json_object_get(o, "low"), *high = json_object_get(o, "high");
    size_t needed = tt_runs_for_interval(TT_LEVEL);
    char text[160];

    if (json_is_number(low))
        snprintf(text, sizeof text, "%.3g times as long (%.0f %% interval %.3g to %.3g)%s", value,
                 100 * TT_LEVEL, json_number_value(low), json_number_value(high),
                 json_number_value(low) <= 1 && json_number_value(high) >= 1
                     ? ", which may be chance"
                     : "");
    else
        snprintf(text, sizeof text,
                 "%.3g times as long; %zu and %zu runs are too few for an interval, %zu are needed",
                 value, alone, loaded, needed);
    json_object_set_new(o, "text", json_string(text));
}

static json_t *slowdown_json(struct values *alone, struct values *loaded, uint64_t seed)
{
    json_t *o = effect(alone, loaded, seed);
    struct tt_sample a = sorted(alone), b = sorted(loaded);
    double median = tt_sample_median(&a);

    if (!json_is_object(o))
        return o;
    json_object_set_new(o, "range",
                        json_pack("[f, f]", b.values[0] / median, b.values[b.n - 1] / median));
    describe_slowdown(o, a.n, b.n);
    return o;
}

/* ---- parts of a step ---- */

static json_t *phase_json(const struct step *alone, const struct step *loaded, const char *phase,
                          uint64_t seed)
{
    static const char *const kinds[] = {"median", "p99", "total"};
    json_t *o = json_object();

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct values a = {0}, b = {0};

        if (collect(alone, "phases", phase, kinds[k], &a) == 0 &&
            collect(loaded, "phases", phase, kinds[k], &b) == 0) {
            json_object_set_new(o, kinds[k], effect(&a, &b, seed));
            if (k == 2 && b.n > 0) {
                struct tt_sample x = sorted(&a), y = sorted(&b);

                json_object_set_new(
                    o, "growth",
                    json_real(tt_sample_median(&y) - (x.n ? tt_sample_median(&x) : 0)));
                json_object_set_new(o, "seconds", json_real(tt_sample_median(&y)));
            }
        }
        free(a.list);
        free(b.list);
    }
    return o;
}

static json_t *phases_json(const struct step *alone, const struct step *loaded, uint64_t seed)
{
    json_t *all = json_object();

    for (int p = 0; p < TT_NPHASES; p++) {
        json_t *one = phase_json(alone, loaded, tt_phase_names[p], seed);

        if (tt_has_number(one, "growth"))
            json_object_set(all, tt_phase_names[p], one);
        json_decref(one);
    }
    return all;
}

/* Of a difference that could as well be chance no cause is sought: where runs are too few for an
 * interval, all of them must have taken longer than it usually does alone. */
static bool is_slower(const json_t *slowdown)
{
    const json_t *low = json_object_get(slowdown, "low");

    if (!json_is_number(low))
        low = json_array_get(json_object_get(slowdown, "range"), 0);
    return tt_number_of(slowdown, "value") >= LEAST_SLOWDOWN &&
           (!json_is_number(low) || json_number_value(low) > 1);
}

/* What the main thread was in when it took longer; work of the helper is hidden behind it. */
static json_t *grew_json(const json_t *phases, const json_t *slowdown)
{
    const char *name = NULL;
    double most = 0;

    if (!is_slower(slowdown))
        return json_null();

    for (int p = 0; p < TT_NPHASES; p++) {
        const json_t *one = json_object_get(phases, tt_phase_names[p]);
        double growth = tt_number_of(one, "growth");

        if (!tt_phase_is_main(p) || growth <= most)
            continue;
        most = growth;
        name = tt_phase_names[p];
    }
    return name ? json_pack("{s:s, s:f}", "phase", name, "seconds", most) : json_null();
}

static json_t *metrics_json(const struct step *alone, const struct step *loaded, uint64_t seed)
{
    json_t *all = json_object();

    for (int m = 0; m < TT_NMETRICS; m++) {
        struct values a = {0}, b = {0};

        if (collect(alone, "metrics", tt_metrics[m].name, NULL, &a) == 0 &&
            collect(loaded, "metrics", tt_metrics[m].name, NULL, &b) == 0 && b.n > 0) {
            struct tt_sample x = sorted(&a), y = sorted(&b);
            struct tt_interval i = tt_median_interval(&y, TT_LEVEL);
            json_t *one = with_interval(json_pack("{s:f}", "median", tt_sample_median(&y)), &i);

            json_object_set_new(one, "alone", x.n ? json_real(tt_sample_median(&x)) : json_null());
            json_object_set_new(one, "ratio", effect(&a, &b, seed));
            json_object_set_new(all, tt_metrics[m].name, one);
        }
        free(a.list);
        free(b.list);
    }
    return all;
}

/* The median, or NAN if there is no value; frees them. */
static double median_once(struct values *v)
{
    struct tt_sample sample = sorted(v);
    double median = v->n > 0 ? tt_sample_median(&sample) : NAN;

    free(v->list);
    return median;
}

/* Over repetitions: of a number at their top level, and of a metric of the reference. */
static double median_of(const struct step *s, const char *name)
{
    struct values v = {0};

    for (size_t i = 0; i < s->n; i++)
        add(&v, json_object_get(s->list[i], name));
    return median_once(&v);
}

static double median_metric(const struct step *s, const char *metric)
{
    struct values v;

    collect(s, "metrics", metric, NULL, &v);
    return median_once(&v);
}

/* A repetition has one vote for a resource, on however many nodes it was saturated. */
static void vote(const json_t *repetition, size_t number, json_t *votes, json_t *last)
{
    const json_t *one;
    size_t k;

    json_array_foreach(json_object_get(reference_of(repetition), "saturated"), k, one)
    {
        const char *name = tt_text_of(one, "resource");

        if (!*name || tt_integer_of(last, name) == (json_int_t)number)
            continue;
        json_object_set_new(last, name, json_integer((json_int_t)number));
        json_object_set_new(votes, name, json_integer(tt_integer_of(votes, name) + 1));
    }
}

/* A resource that was saturated in more than half of the repetitions, as the counters say. */
static json_t *saturated_json(const struct step *s)
{
    json_t *votes = json_object(), *last = json_object(), *list = json_array(), *count;
    const char *text;

    for (size_t i = 0; i < s->n; i++)
        vote(s->list[i], i + 1, votes, last);
    json_decref(last);
    json_object_foreach(votes, text, count)
    {
        if (2 * (size_t)json_integer_value(count) > s->n)
            json_array_append_new(list, json_string(text));
    }
    json_decref(votes);
    return list;
}

/* "cpu" also for "cpu pressure". */
static bool is_saturated(const struct step *s, const char *resource)
{
    json_t *list = saturated_json(s);
    const json_t *one;
    bool found = false;
    size_t i;

    json_array_foreach(list, i, one) found |=
        !strncmp(json_string_value(one), resource, strlen(resource));
    json_decref(list);
    return found;
}

/* Slower because there were too few CPUs says nothing about storage. */
static json_t *contention_json(const struct step *alone, const struct step *loaded)
{
    double before = median_metric(alone, "cpu_wait"), now = median_metric(loaded, "cpu_wait");
    char text[300];

    for (size_t i = 0; i < loaded->n; i++) {
        const char *note = tt_text_of(loaded->list[i], "exceeded");

        if (*note) {
            snprintf(text, sizeof text,
                     "%.200s: this shows contention for CPUs and says nothing "
                     "about storage",
                     note);
            return json_string(text);
        }
    }
    if (is_saturated(loaded, "cpu") && !is_saturated(alone, "cpu"))
        return json_string("the CPUs were used up, which they were not alone: this shows "
                           "contention for CPUs and says nothing about storage");
    if (!isfinite(before) || !isfinite(now) || now - before < CPU_WAIT_RISE)
        return json_null();
    snprintf(text, sizeof text,
             "the reference waited for a CPU in %.0f %% of its time (alone %.0f %%): this shows "
             "contention for CPUs and says nothing about storage",
             100 * now, 100 * before);
    return json_string(text);
}

static void __attribute__((format(printf, 2, 3))) warn(json_t *list, const char *fmt, ...)
{
    char text[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_array_append_new(list, json_string(text));
}

/* What all steps are compared with. */
static void warn_alone(const struct step *s, json_t *list)
{
    double runtime = median_metric(s, "runtime"), strangers = median_metric(s, "cpu_others");

    if (runtime < SHORT_RUN)
        warn(list,
             "the reference takes only %.0f ms: what is measured may be how it starts; let it do "
             "more",
             1e3 * runtime);
    if (strangers > BUSY_CPUS)
        warn(list,
             "the machine was busy: processes that are no part of this used %.1f CPUs, and slow "
             "down what is measured",
             strangers);
}

static json_t *warnings_json(const struct step *s)
{
    double skew = median_of(s, "skew"), covered = median_of(s, "covered");
    size_t unused = json_array_size(s->left_out);
    json_t *list = json_array();

    if (tt_integer_of(s->plan, "others") == 0)
        warn_alone(s, list);
    if (skew > LARGE_SKEW)
        warn(list, "jobs started up to %.0f ms after the common instant", 1e3 * skew);
    if (covered < 0.99)
        warn(list, "loads that run once had ended after %.0f %% of the reference's time",
             100 * covered);
    if (unused > 0) {
        const char *why = tt_text_of(json_array_get(s->left_out, 0), "why");

        warn(list, "%zu of %zu repetitions are not used: %s", unused, unused + s->n,
             *why ? why : "nothing says why");
    }
    return list;
}

/* ---- all of it ---- */

static json_t *step_json(const struct step *alone, const struct step *s, uint64_t seed)
{
    struct values a = {0}, b = {0};
    json_t *o = json_object(), *phases = phases_json(alone, s, seed);

    collect(alone, "runtime", NULL, NULL, &a);
    collect(s, "runtime", NULL, NULL, &b);
    json_object_update((json_t *)o, (json_t *)s->plan);
    json_object_set_new(o, "runs", json_integer((json_int_t)s->n));
    json_object_set(o, "left_out", s->left_out);
    json_object_set_new(o, "runtime", runtime_json(&b));
    json_object_set_new(o, "slowdown",
                        alone == s && s->n > 0
                            ? json_pack("{s:f, s:f, s:f, s:s}", "value", 1.0, "low", 1.0, "high",
                                        1.0, "text", "alone") /* by definition */
                            : slowdown_json(&a, &b, seed));
    json_object_set_new(o, "grew", grew_json(phases, json_object_get(o, "slowdown")));
    json_object_set_new(o, "phases", phases);
    json_object_set_new(o, "metrics", metrics_json(alone, s, seed));
    json_object_set_new(o, "total_write_rate", tt_json_real(median_of(s, "total_write_rate")));
    json_object_set_new(o, "total_read_rate", tt_json_real(median_of(s, "total_read_rate")));
    json_object_set_new(o, "fairness", tt_json_real(median_of(s, "fairness")));
    json_object_set_new(o, "saturated", saturated_json(s));
    json_object_set_new(o, "contention", alone == s ? json_null() : contention_json(alone, s));
    json_object_set_new(o, "warnings", warnings_json(s));
    free(a.list);
    free(b.list);
    return o;
}

/* The place after the last step is of one without repetitions. */
static size_t alone_of(const struct step *steps, size_t n, const json_t *plan)
{
    for (size_t i = 0; i < n; i++)
        if (tt_integer_of(steps[i].plan, "others") == 0 &&
            json_equal(json_object_get(steps[i].plan, "reference"),
                       json_object_get(plan, "reference")))
            return i;
    return n;
}

int tt_slowdown(const json_t *plan, const json_t *repetitions, uint64_t seed, json_t **out,
                struct tt_error *e)
{
    const json_t *steps = json_object_get(plan, "steps");
    size_t n = json_array_size(steps);
    struct step *all = calloc(n + 1, sizeof *all);
    json_t *list = json_array();
    int bad = !all || !list;

    for (size_t i = 0; i < n && !bad; i++)
        bad = select_step(json_array_get(steps, i), repetitions, &all[i]);
    for (size_t i = 0; i < n && !bad; i++)
        bad = json_array_append_new(list,
                                    step_json(&all[alone_of(all, n, all[i].plan)], &all[i], seed));
    for (size_t i = 0; all && i < n; i++) {
        free(all[i].list);
        json_decref(all[i].left_out);
    }
    free(all);
    *out = bad ? NULL : json_pack("{s:O}", "steps", list);
    json_decref(list);
    return *out ? TT_OK : tt_fail_nomem(e, "the answer");
}

/* ---- how many others are possible ---- */

/* The first step with so many others; NULL: they were not tested. */
static const json_t *step_with(const json_t *steps, json_int_t others)
{
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        if (tt_integer_of(step, "others") == others)
            return step;
    }
    return NULL;
}

/* Steps stand in the order of the file. */
static json_t *not_tested_json(const json_t *steps)
{
    json_t *list = json_array();
    json_int_t most = 0;
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        json_int_t others = tt_integer_of(step, "others");

        most = others > most ? others : most;
    }
    for (json_int_t k = 0; k < most && json_array_size(list) < 1000; k++)
        if (!step_with(steps, k))
            json_array_append_new(list, json_integer(k));
    return list;
}

enum reach { WITHIN, UNDECIDED, BEYOND };

static enum reach reach_of(const json_t *step, double limit)
{
    const json_t *slowdown = json_object_get(step, "slowdown");
    const json_t *low = json_object_get(slowdown, "low"), *high = json_object_get(slowdown, "high");

    if (tt_integer_of(step, "others") == 0 ||
        (json_is_number(high) && json_number_value(high) <= limit))
        return WITHIN;
    return json_is_number(low) && json_number_value(low) > limit ? BEYOND : UNDECIDED;
}

/* So many others are possible only if they are for every reference and every kind of load. */
static enum reach reach_with(const json_t *steps, json_int_t others, double limit)
{
    enum reach worst = WITHIN;
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        enum reach one = tt_integer_of(step, "others") == others ? reach_of(step, limit) : WITHIN;

        worst = one > worst ? one : worst;
    }
    return worst;
}

static bool holds(const json_t *list, json_int_t number)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_integer_value(one) == number)
            return true;
    }
    return false;
}

int tt_slowdown_limit(const json_t *steps, double limit, json_t **out, struct tt_error *e)
{
    json_t *undecided = json_array(), *not_tested = not_tested_json(steps);
    json_int_t largest = -1;
    const json_t *step;
    char text[400];
    size_t i;

    json_array_foreach(steps, i, step)
    {
        json_int_t others = tt_integer_of(step, "others");
        enum reach reach = reach_with(steps, others, limit);

        if (reach == WITHIN && others > largest)
            largest = others;
        if (reach == UNDECIDED && !holds(undecided, others))
            json_array_append_new(undecided, json_integer(others));
    }
    snprintf(text, sizeof text,
             "largest tested number of others with a slowdown of at most %.3g: %lld", limit,
             (long long)largest);
    *out = json_pack("{s:f, s:I, s:o, s:o, s:s}", "limit", limit, "largest", largest, "not_tested",
                     not_tested, "undecided", undecided, "text", text);
    return *out ? TT_OK : tt_fail_nomem(e, "the limit");
}

/* ---- which system suffices ---- */

/* The largest number of others that every answer has; 0 if there is none but that. */
static json_int_t largest_common(const json_t *answers)
{
    const json_t *answer, *step;
    json_int_t largest = 0;
    size_t i, k;

    json_array_foreach(json_object_get(json_array_get(answers, 0), "steps"), i, step)
    {
        json_int_t others = tt_integer_of(step, "others");
        bool everywhere = true;

        json_array_foreach(answers, k, answer) everywhere &=
            step_with(json_object_get(answer, "steps"), others) != NULL;
        if (everywhere && others > largest)
            largest = others;
    }
    return largest;
}

static json_t *system_json(const json_t *answer, json_int_t others, double limit)
{
    static const char *const verdicts[] = {
        [WITHIN] = "suffices", [UNDECIDED] = "cannot tell", [BEYOND] = "does not suffice"};
    const json_t *slowdown =
        json_object_get(step_with(json_object_get(answer, "steps"), others), "slowdown");
    const char *text = tt_text_of(slowdown, "text");
    enum reach reach = reach_with(json_object_get(answer, "steps"), others, limit);

    if (others == 0) { /* which says nothing about a system */
        reach = UNDECIDED;
        text = "no number of others was tested on all systems";
    }
    return json_pack("{s:O?, s:O?, s:I, s:s, s:s}", "id", json_object_get(answer, "id"), "label",
                     json_object_get(answer, "label"), "others", others, "verdict", verdicts[reach],
                     "text", *text ? text : "not measured");
}

int tt_slowdown_suffices(const json_t *answers, double limit, json_t **out, struct tt_error *e)
{
    json_int_t others = largest_common(answers);
    const json_t *answer;
    size_t i;

    *out = json_array();
    json_array_foreach(answers, i, answer)
        json_array_append_new(*out, system_json(answer, others, limit));
    return *out ? TT_OK : tt_fail_nomem(e, "the systems");
}
