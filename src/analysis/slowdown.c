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
/* A share of its time that the reference waits longer for something than alone, for that to count
 * as saturated. */
#define LEAST_RISE 0.1
/* Jobs that started further apart than this were not quite under the same load. */
#define LARGE_SKEW 0.02
#define SHORT_RUN 1.0
/* More than daemons use. */
#define BUSY_CPUS 0.2

/* ---- one number a round ---- */

struct values {
    size_t n, capacity;
    double *list;
};

static int add(struct values *v, double number)
{
    double *longer;

    if (!isfinite(number))
        return 0;
    if (v->n == v->capacity) {
        v->capacity = v->capacity ? 2 * v->capacity : 16;
        longer = realloc(v->list, v->capacity * sizeof *longer);
        if (!longer)
            return -1;
        v->list = longer;
    }
    v->list[v->n++] = number;
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
    const json_t **list; /* complete repetitions, in the order of their rounds */
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

/* Before there were rounds every step was run once before any was run again. */
static json_int_t round_of(const json_t *repetition)
{
    json_int_t round = tt_integer_of(repetition, "round");

    return round > 0 ? round : tt_integer_of(repetition, "number");
}

static int by_round(const void *a, const void *b)
{
    json_int_t x = round_of(*(const json_t *const *)a), y = round_of(*(const json_t *const *)b);

    return (x > y) - (x < y);
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
    qsort(s->list, s->n, sizeof *s->list, by_round);
    return 0;
}

static const json_t *reference_of(const json_t *repetition)
{
    return json_array_get(json_object_get(repetition, "jobs"), 0);
}

/* A number of the reference: jobs[0][group][name][below], or fewer names. */
struct path {
    const char *group, *name, *below;
};
static const struct path runtime = {"runtime"};

static double value_of(const json_t *repetition, const struct path *p)
{
    const json_t *value = json_object_get(reference_of(repetition), p->group);

    value = p->name ? json_object_get(value, p->name) : value;
    value = p->below ? json_object_get(value, p->below) : value;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The mean of the round that begins at *i, which may have two runs; NAN: it has no number. *i is
 * then where the next round begins. */
static double take_round(const struct step *s, size_t *i, const struct path *p)
{
    json_int_t round = round_of(s->list[*i]);
    double sum = 0;
    size_t n = 0;

    for (; *i < s->n && round_of(s->list[*i]) == round; ++*i) {
        double value = value_of(s->list[*i], p);

        if (isfinite(value)) {
            sum += value;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

static int collect(const struct step *s, const struct path *p, struct values *out)
{
    int bad = 0;

    *out = (struct values){0};
    for (size_t i = 0; i < s->n && !bad;)
        bad = add(out, take_round(s, &i, p));
    return bad;
}

/* Loaded against alone, both of the same round: what a round has in common cancels. A ratio needs
 * numbers above 0: without there is none at all. A phase that did not happen took no time. */
static int compare(enum tt_effect kind, const struct step *alone, const struct step *loaded,
                   const struct path *p, struct values *out)
{
    bool happened = strcmp(p->group, "phases") != 0;
    int bad = 0;

    *out = (struct values){0};
    for (size_t i = 0, k = 0; i < loaded->n && k < alone->n && !bad;) {
        json_int_t round = round_of(loaded->list[i]), other = round_of(alone->list[k]);
        double a, b;

        if (round != other) {
            ++*(round < other ? &i : &k);
            continue;
        }
        a = take_round(alone, &k, p);
        b = take_round(loaded, &i, p);
        if (kind == TT_DIFFERENCE) {
            if (!strcmp(p->group, "phases")) {
                happened = happened || isfinite(a) || isfinite(b);
                b = isfinite(b) ? b : 0;
            }
            bad = add(out, b - (isfinite(a) ? a : 0));
        } else if (a <= 0) {
            out->n = 0;
            break;
        } else {
            bad = add(out, b / a);
        }
    }
    out->n = kind == TT_DIFFERENCE && !happened ? 0 : out->n;
    return bad;
}

/* ---- effects ---- */

/* "low" and "high" of an object; null where there are too few rounds for an interval. */
static json_t *with_interval(json_t *o, const struct tt_interval *i)
{
    json_object_set_new(o, "low", i->known ? tt_json_real(i->low) : json_null());
    json_object_set_new(o, "high", i->known ? tt_json_real(i->high) : json_null());
    return o;
}

/* {"value", "low", "high"}: the median over rounds; null if there is none. Frees the values. */
static json_t *effect_of(struct values *v)
{
    json_t *o = NULL;

    if (v->n > 0) {
        struct tt_sample s = sorted(v);
        struct tt_interval i = tt_median_interval(&s, TT_LEVEL);

        o = with_interval(json_pack("{s:f}", "value", tt_sample_median(&s)), &i);
        json_object_set_new(o, "range", json_pack("[f, f]", s.values[0], s.values[s.n - 1]));
        json_object_set_new(o, "rounds", json_integer((json_int_t)s.n));
    }
    free(v->list);
    return o ? o : json_null();
}

static json_t *effect(enum tt_effect kind, const struct step *alone, const struct step *loaded,
                      const struct path *p)
{
    struct values v;

    compare(kind, alone, loaded, p, &v); /* without memory it has fewer */
    return effect_of(&v);
}

/* Of every run, in the order of the rounds. */
static json_t *values_json(const struct step *s, const struct path *p)
{
    json_t *values = json_array();

    for (size_t i = 0; i < s->n; i++)
        if (isfinite(value_of(s->list[i], p)))
            json_array_append_new(values, json_real(value_of(s->list[i], p)));
    return values;
}

static json_t *runtime_json(const struct step *s)
{
    struct values v;
    json_t *o = json_pack("{s:o, s:n}", "values", values_json(s, &runtime), "median");

    if (collect(s, &runtime, &v) == 0) {
        struct tt_sample sample = sorted(&v);
        struct tt_interval i = tt_median_estimate(&sample, TT_LEVEL);

        if (v.n > 0)
            json_object_set_new(o, "median", json_real(tt_sample_median(&sample)));
        with_interval(o, &i);
    }
    free(v.list);
    return o;
}

/* By what share of the shorter one two runs alone of the same round differ: {"value": the median
 * over rounds, "most", "rounds"}; null if no round has two. */
static json_t *noise_json(const struct step *alone)
{
    struct values v = {0};
    json_t *o = NULL;

    for (size_t i = 1; i < alone->n; i++) {
        double a = value_of(alone->list[i - 1], &runtime), b = value_of(alone->list[i], &runtime);

        if (round_of(alone->list[i - 1]) == round_of(alone->list[i]) && a > 0 && b > 0)
            add(&v, fmax(a, b) / fmin(a, b) - 1);
    }
    if (v.n > 0) {
        struct tt_sample s = sorted(&v);

        o = json_pack("{s:f, s:f, s:I}", "value", tt_sample_median(&s), "most", s.values[s.n - 1],
                      "rounds", (json_int_t)s.n);
    }
    free(v.list);
    return o ? o : json_null();
}

static void describe_slowdown(json_t *o, double noise)
{
    double value = tt_number_of(o, "value"), low = tt_number_or_nan(o, "low"),
           high = tt_number_or_nan(o, "high");
    const json_t *range = json_object_get(o, "range");
    bool within = isfinite(noise) && fmax(value, 1 / value) - 1 <= noise;
    char text[200], why[80] = "";

    if (low <= 1 && high >= 1)
        snprintf(why, sizeof why, ", which may be chance");
    else if (within)
        snprintf(why, sizeof why, ", no more than two runs alone differ by (%.2g %%)", 100 * noise);
    if (isfinite(low))
        snprintf(text, sizeof text, "%.3g times as long (%.0f %% interval %.3g to %.3g)%s", value,
                 100 * TT_LEVEL, low, high, why);
    else
        snprintf(text, sizeof text,
                 "cannot be told: %.3g times as long, %.3g to %.3g in %lld round%s; %zu are needed",
                 value, json_number_value(json_array_get(range, 0)),
                 json_number_value(json_array_get(range, 1)), (long long)tt_integer_of(o, "rounds"),
                 tt_integer_of(o, "rounds") == 1 ? "" : "s", tt_runs_for_interval(TT_LEVEL));
    json_object_set_new(o, "within_noise", isfinite(noise) ? json_boolean(within) : json_null());
    json_object_set_new(o, "text", json_string(text));
}

static json_t *slowdown_json(const struct step *alone, const struct step *loaded, double noise)
{
    json_t *o;

    if (alone == loaded && loaded->n > 0) /* by definition */
        return json_pack("{s:f, s:f, s:f, s:s}", "value", 1.0, "low", 1.0, "high", 1.0, "text",
                         "alone");
    o = effect(TT_RATIO, alone, loaded, &runtime);
    if (json_is_object(o))
        describe_slowdown(o, noise);
    return o;
}

/* ---- parts of a step ---- */

static json_t *phase_json(const struct step *alone, const struct step *loaded, const char *phase)
{
    static const char *const kinds[] = {"median", "p99", "total"};
    const struct path total = {"phases", phase, "total"};
    json_t *o = json_object(), *growth = effect(TT_DIFFERENCE, alone, loaded, &total);
    struct values b;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        json_object_set_new(
            o, kinds[k],
            effect(TT_RATIO, alone, loaded, &(struct path){"phases", phase, kinds[k]}));
    if (collect(loaded, &total, &b) == 0 && b.n > 0) {
        struct tt_sample y = sorted(&b);

        json_object_set(o, "growth", json_object_get(growth, "value"));
        json_object_set(o, "growth_low", json_object_get(growth, "low"));
        json_object_set(o, "growth_high", json_object_get(growth, "high"));
        json_object_set_new(o, "seconds", json_real(tt_sample_median(&y)));
    }
    json_decref(growth);
    free(b.list);
    return o;
}

static json_t *phases_json(const struct step *alone, const struct step *loaded)
{
    json_t *all = json_object();

    for (int p = 0; p < TT_NPHASES; p++) {
        json_t *one = phase_json(alone, loaded, tt_phase_names[p]);

        if (tt_has_number(one, "growth"))
            json_object_set(all, tt_phase_names[p], one);
        json_decref(one);
    }
    return all;
}

/* Of a difference that could as well be chance, or of which nothing can be told, no cause is
 * sought. */
static bool is_slower(const json_t *slowdown)
{
    return tt_number_or_nan(slowdown, "low") > 1 && !tt_is_true(slowdown, "within_noise") &&
           tt_number_of(slowdown, "value") >= LEAST_SLOWDOWN;
}

static json_t *grown(const json_t *phases, int p)
{
    const json_t *one = json_object_get(phases, tt_phase_names[p]);

    return json_pack("{s:s, s:f, s:f, s:f}", "phase", tt_phase_names[p], "seconds",
                     tt_number_of(one, "growth"), "low", tt_number_of(one, "growth_low"), "high",
                     tt_number_of(one, "growth_high"));
}

/* What the main thread was in when it took longer; work of the helper is hidden behind it. All
 * phases are named that grew and of which the intervals do not tell that they grew less. */
static json_t *grew_json(const json_t *phases, const json_t *slowdown)
{
    json_t *list = json_array();
    int first = -1;
    double most = 0;

    for (int p = 0; p < TT_NPHASES && is_slower(slowdown); p++) {
        const json_t *one = json_object_get(phases, tt_phase_names[p]);
        double growth = tt_number_of(one, "growth");

        if (tt_phase_is_main(p) && growth > most && tt_number_or_nan(one, "growth_low") > 0) {
            most = growth;
            first = p;
        }
    }
    if (first >= 0)
        json_array_append_new(list, grown(phases, first));
    for (int p = 0; p < TT_NPHASES && first >= 0; p++) {
        const json_t *one = json_object_get(phases, tt_phase_names[p]);

        if (p != first && tt_phase_is_main(p) && tt_number_or_nan(one, "growth_low") > 0 &&
            tt_number_or_nan(one, "growth_high") >=
                tt_number_or_nan(json_array_get(list, 0), "low"))
            json_array_append_new(list, grown(phases, p));
    }
    if (first >= 0)
        return json_pack("{s:s, s:f, s:o}", "phase", tt_phase_names[first], "seconds", most,
                         "phases", list);
    json_decref(list);
    return json_null();
}

static json_t *metrics_json(const struct step *alone, const struct step *loaded)
{
    json_t *all = json_object();

    for (int m = 0; m < TT_NMETRICS; m++) {
        const struct path p = {"metrics", tt_metrics[m].name};
        struct values a = {0}, b = {0};

        if (collect(alone, &p, &a) == 0 && collect(loaded, &p, &b) == 0 && b.n > 0) {
            struct tt_sample x = sorted(&a), y = sorted(&b);
            struct tt_interval i = tt_median_interval(&y, TT_LEVEL);
            json_t *one = with_interval(json_pack("{s:f}", "median", tt_sample_median(&y)), &i);

            json_object_set_new(one, "values", values_json(loaded, &p));
            json_object_set_new(one, "alone", x.n ? json_real(tt_sample_median(&x)) : json_null());
            json_object_set_new(one, "ratio", effect(TT_RATIO, alone, loaded, &p));
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
        add(&v, tt_number_or_nan(s->list[i], name));
    return median_once(&v);
}

static double median_metric(const struct step *s, const char *metric)
{
    struct values v;

    collect(s, &(struct path){"metrics", metric}, &v);
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

/* Resources of its nodes that the counters show saturated in more than half of the repetitions. The
 * node's CPUs and memory are everybody's: what the reference itself waited for tells more. */
static json_t *busy_json(const struct step *s)
{
    json_t *votes = json_object(), *last = json_object(), *list = json_array(), *count;
    const char *text;

    for (size_t i = 0; i < s->n; i++)
        vote(s->list[i], i + 1, votes, last);
    json_decref(last);
    json_object_foreach(votes, text, count)
    {
        if (2 * (size_t)json_integer_value(count) > s->n && strncmp(text, "cpu", 3) != 0 &&
            strcmp(text, "memory") != 0)
            json_array_append_new(list, json_string(text));
    }
    json_decref(votes);
    return list;
}

/* What the reference's own processes waited for, as shares of its time. */
static const struct {
    const char *name, *text;
    struct path path;
} waits[] = {
#define X(name, text) {#name, text, {"waits", #name}},
    TT_WAITS(X)
#undef X
        {"run_queue", "a CPU in the run queue", {"metrics", "cpu_wait"}}};

static json_t *waits_json(const struct step *alone, const struct step *loaded)
{
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        json_t *rise = effect(TT_DIFFERENCE, alone, loaded, &waits[i].path);
        struct values a = {0}, b = {0};

        collect(alone, &waits[i].path, &a);
        collect(loaded, &waits[i].path, &b);
        if (a.n > 0 && b.n > 0) {
            json_object_set_new(all, waits[i].name,
                                json_pack("{s:f, s:f, s:O}", "alone", median_once(&a), "loaded",
                                          median_once(&b), "rise", rise));
        } else {
            free(a.list);
            free(b.list);
        }
        json_decref(rise);
    }
    return all;
}

/* Only what is a difference from alone, and sure. */
static json_t *saturated_json(const struct step *alone, const struct step *loaded,
                              const json_t *waited)
{
    json_t *list = json_array(), *before = busy_json(alone), *now = busy_json(loaded);
    const json_t *one;
    size_t i, k;

    for (i = 0; i < sizeof waits / sizeof *waits; i++) {
        const json_t *its = json_object_get(waited, waits[i].name);
        const json_t *rise = json_object_get(its, "rise");

        if (tt_number_of(rise, "value") >= LEAST_RISE && tt_number_or_nan(rise, "low") > 0)
            json_array_append_new(list,
                                  json_sprintf("%s (waited for in %.0f %% of the time, alone %.0f "
                                               "%%)",
                                               waits[i].text, 100 * tt_number_of(its, "loaded"),
                                               100 * tt_number_of(its, "alone")));
    }
    json_array_foreach(now, i, one)
    {
        for (k = 0; k < json_array_size(before); k++)
            if (json_equal(one, json_array_get(before, k)))
                break;
        if (alone != loaded && k == json_array_size(before))
            json_array_append(list, (json_t *)one);
    }
    json_decref(before);
    json_decref(now);
    return list;
}

/* Slower because there were too few CPUs says nothing about storage. */
static json_t *contention_json(const struct step *loaded, const json_t *waited)
{
    const json_t *queue = json_object_get(waited, "run_queue");
    const json_t *rise = json_object_get(queue, "rise");
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
    if (tt_number_of(rise, "value") < CPU_WAIT_RISE || tt_number_or_nan(rise, "low") <= 0)
        return json_null();
    snprintf(text, sizeof text,
             "the reference waited for a CPU in %.0f %% of its time (alone %.0f %%): this shows "
             "contention for CPUs and says nothing about storage",
             100 * tt_number_of(queue, "loaded"), 100 * tt_number_of(queue, "alone"));
    return json_string(text);
}

static void __attribute__((format(printf, 2, 3))) warn(json_t *list, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    json_array_append_new(list, json_vsprintf(fmt, args));
    va_end(args);
}

/* What all steps are compared with. */
static void warn_alone(const struct step *s, json_t *list)
{
    double seconds = median_metric(s, "runtime"), strangers = median_metric(s, "cpu_others");

    if (seconds < SHORT_RUN)
        warn(list,
             "the reference takes only %.0f ms: what is measured may be how it starts; let it do "
             "more",
             1e3 * seconds);
    if (strangers > BUSY_CPUS)
        warn(list,
             "the machine was busy: processes that are no part of this used %.1f CPUs, and slow "
             "down what is measured",
             strangers);
}

/* What earlier repetitions had left may have been written in the time of these. */
static void warn_restless(const struct step *s, json_t *list)
{
    const char *why = "";
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const char *one = tt_text_of(json_object_get(s->list[i], "settle"), "gave_up");

        why = *one ? one : why;
        n += *one != '\0';
    }
    if (n > 0)
        warn(list, "%zu of %zu repetitions began although the machine was not at rest (settle): %s",
             n, s->n, why);
}

/* Clocks between which the driver's control files could tell a difference; once a step. */
static void warn_clocks(const json_t *repetition, json_t *list)
{
    static const char start[] = "the wall clock of";
    const json_t *job, *last = json_array_get(list, json_array_size(list) - 1);
    size_t i;

    if (last && !strncmp(json_string_value(last), start, sizeof start - 1))
        return;
    json_array_foreach(json_object_get(repetition, "jobs"), i, job)
    {
        const json_t *clock = json_object_get(job, "clock");

        if (tt_number_of(clock, "offset") != 0) {
            warn(list,
                 "%s %s is %.3g s off the driver's (within %.2g s): what jobs did at the same time "
                 "is "
                 "corrected by that",
                 start, tt_text_of(job, "role"), tt_number_of(clock, "offset"),
                 tt_number_of(clock, "uncertainty"));
            return;
        }
    }
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
    warn_restless(s, list);
    for (size_t i = 0; i < s->n; i++)
        warn_clocks(s->list[i], list);
    if (s->n > 0 && tt_is_true(s->list[0], "share_cores"))
        warn(list, "jobs have CPUs of the same cores, since there are too few cores for their "
                   "shares: they slow each other down");
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

/* ---- what it costs the others ---- */

/* What a job got done a second, in the time that it and the reference have in common; bytes, if it
 * has no iterations. Of iterations only the time in them counts: a load that is run again and again
 * opens and closes its files in between, and alone it was run once. NAN: nothing tells. */
static double rate_of(const json_t *repetition, const json_t *job, bool in_bytes)
{
    const json_t *reference = reference_of(repetition), *work = json_object_get(job, "window");
    double from = fmax(tt_number_of(job, "start_ns"), tt_number_of(reference, "start_ns"));
    double to = fmin(tt_number_of(job, "stop_ns"), tt_number_of(reference, "stop_ns"));
    double done = in_bytes ? tt_number_of(work, "bytes_written") + tt_number_of(work, "bytes_read")
                           : tt_number_of(work, "iterations");

    double seconds = in_bytes || !tt_has_number(work, "seconds") ? 1e-9 * (to - from)
                                                                 : tt_number_of(work, "seconds");

    return to > from && done > 0 && seconds > 0 ? done / seconds : NAN;
}

/* Of a job in the given round, or of what runs alone for it; the mean if there are two. */
static double rate_alone(const json_t *repetitions, const char *name, json_int_t round,
                         bool in_bytes)
{
    const json_t *r;
    double sum = 0;
    size_t i, n = 0;

    json_array_foreach(repetitions, i, r)
    {
        double rate = NAN;

        if (!strcmp(tt_text_of(r, "reference"), name) && tt_integer_of(r, "others") == 0 &&
            tt_is_true(r, "complete") && round_of(r) == round)
            rate = rate_of(r, reference_of(r), in_bytes);
        if (isfinite(rate)) {
            sum += rate;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

/* The speed of a job in a mix as a share of its speed alone; NAN: not known. */
static double speed_of(const json_t *plan, const json_t *repetitions, const json_t *repetition,
                       const json_t *job)
{
    const char *name = tt_text_of(job, "job"), *alone = "";
    json_int_t round = round_of(repetition);
    const json_t *spec;
    double rate;
    size_t i;

    json_array_foreach(json_object_get(plan, "jobs"), i, spec)
    {
        if (!strcmp(tt_text_of(spec, "name"), name))
            alone = tt_text_of(spec, "alone");
    }
    rate = rate_alone(repetitions, alone, round, false);
    return isfinite(rate)
               ? rate_of(repetition, job, false) / rate
               : rate_of(repetition, job, true) / rate_alone(repetitions, alone, round, true);
}

struct cost {
    struct values throughput, worst, fairness;
};

/* One round: the sum of all speeds, the largest slowdown, and Jain's index of the speeds. */
static void add_round(const double *speeds, size_t n, struct cost *c)
{
    double sum = 0, squares = 0, least = INFINITY;

    for (size_t i = 0; i < n; i++) {
        sum += speeds[i];
        squares += speeds[i] * speeds[i];
        least = fmin(least, speeds[i]);
    }
    if (n < 2 || !(sum > 0) || !(least > 0)) /* also if one is not known */
        return;
    add(&c->throughput, sum);
    add(&c->worst, 1 / least);
    add(&c->fairness, sum * sum / ((double)n * squares));
}

/* The slowdown of all jobs of one name: their mean in each round. */
static json_t *slowdown_of(const struct step *s, const char *name, double *const *speeds)
{
    struct values v = {0};
    size_t most = 0;
    json_t *o;

    for (size_t i = 0; i < s->n; i++) {
        const json_t *jobs = json_object_get(s->list[i], "jobs"), *job;
        double sum = 0;
        size_t k, n = 0;

        json_array_foreach(jobs, k, job)
        {
            if (k > 0 && !strcmp(tt_text_of(job, "job"), name)) {
                sum += 1 / speeds[i][k];
                n++;
            }
        }
        most = n > most ? n : most;
        add(&v, n ? sum / (double)n : NAN);
    }
    o = effect_of(&v);
    if (json_is_object(o))
        json_object_set_new(o, "jobs", json_integer((json_int_t)most));
    return o;
}

static json_t *cost_of(const struct step *s, double *const *speeds)
{
    json_t *jobs = json_object(), *name;
    struct cost c = {0};
    size_t k;

    for (size_t i = 0; i < s->n; i++)
        add_round(speeds[i], json_array_size(json_object_get(s->list[i], "jobs")), &c);
    json_array_foreach(json_object_get(s->plan, "loads"), k, name)
    {
        const char *text = json_string_value(name);
        json_t *one = text && !json_object_get(jobs, text) ? slowdown_of(s, text, speeds) : NULL;

        if (json_is_object(one))
            json_object_set(jobs, text, one);
        json_decref(one);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "jobs", jobs, "throughput", effect_of(&c.throughput),
                     "worst", effect_of(&c.worst), "fairness", effect_of(&c.fairness));
}

static json_t *cost_json(const json_t *plan, const json_t *repetitions, const struct step *s)
{
    double **speeds = calloc(s->n + 1, sizeof *speeds);
    json_t *o = NULL;
    bool bad = !speeds;

    for (size_t i = 0; i < s->n && !bad; i++) {
        const json_t *jobs = json_object_get(s->list[i], "jobs"), *job;
        size_t k;

        speeds[i] = calloc(json_array_size(jobs) + 1, sizeof **speeds);
        bad = !speeds[i];
        json_array_foreach(jobs, k, job)
        {
            if (!bad)
                speeds[i][k] = speed_of(plan, repetitions, s->list[i], job);
        }
    }
    if (!bad && tt_integer_of(s->plan, "others") > 0)
        o = cost_of(s, speeds);
    for (size_t i = 0; speeds && i < s->n; i++)
        free(speeds[i]);
    free(speeds);
    return o ? o : json_null();
}

/* ---- all of it ---- */

static json_t *step_json(const struct step *alone, const struct step *s)
{
    json_t *o = json_object(), *phases = phases_json(alone, s), *noise = noise_json(alone);
    json_t *slowdown = slowdown_json(alone, s, tt_number_or_nan(noise, "value"));
    json_t *waited = waits_json(alone, s);
    struct values rounds = {0};

    compare(TT_RATIO, alone, s, &runtime, &rounds);
    json_object_update((json_t *)o, (json_t *)s->plan);
    json_object_set_new(o, "runs", json_integer((json_int_t)s->n));
    json_object_set_new(o, "rounds", json_integer((json_int_t)rounds.n));
    json_object_set(o, "left_out", s->left_out);
    json_object_set_new(o, "runtime", runtime_json(s));
    json_object_set_new(o, "slowdown", slowdown);
    json_object_set_new(o, "noise", noise);
    json_object_set_new(o, "grew", grew_json(phases, slowdown));
    json_object_set_new(o, "phases", phases);
    json_object_set_new(o, "metrics", metrics_json(alone, s));
    json_object_set_new(o, "total_write_rate", tt_json_real(median_of(s, "total_write_rate")));
    json_object_set_new(o, "total_read_rate", tt_json_real(median_of(s, "total_read_rate")));
    json_object_set_new(o, "waits", waited);
    json_object_set_new(o, "saturated", saturated_json(alone, s, waited));
    json_object_set_new(o, "contention", alone == s ? json_null() : contention_json(s, waited));
    json_object_set_new(o, "warnings", warnings_json(s));
    free(rounds.list);
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

int tt_slowdown(const json_t *plan, const json_t *repetitions, json_t **out, struct tt_error *e)
{
    const json_t *steps = json_object_get(plan, "steps");
    size_t n = json_array_size(steps);
    struct step *all = calloc(n + 1, sizeof *all);
    json_t *list = json_array();
    int bad = !all || !list;

    for (size_t i = 0; i < n && !bad; i++)
        bad = select_step(json_array_get(steps, i), repetitions, &all[i]);
    for (size_t i = 0; i < n && !bad; i++) {
        json_t *one = step_json(&all[alone_of(all, n, all[i].plan)], &all[i]);

        json_object_set_new(one, "cost", cost_json(plan, repetitions, &all[i]));
        bad = json_array_append_new(list, one);
    }
    for (size_t i = 0; all && i < n; i++) {
        free(all[i].list);
        json_decref(all[i].left_out);
    }
    free(all);
    *out = bad ? NULL : json_pack("{s:O}", "steps", list);
    json_decref(list);
    return *out ? TT_OK : tt_fail_nomem(e, "the answer");
}
