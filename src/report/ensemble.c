/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/ensemble.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/json.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/parameter.h"
#include "report/plot.h"
#include "report/table.h"
#include "spec/units.h"

#define CHART_WIDTH 44

static const char *plural(long long n)
{
    return n == 1 ? "" : "s";
}

/* ---- who runs ---- */

static const json_t *find_spec(const json_t *answer, const char *name)
{
    const json_t *spec;
    size_t i;

    json_array_foreach(json_object_get(answer, "jobs"), i, spec)
    {
        if (!strcmp(tt_text_of(spec, "name"), name))
            return spec;
    }
    return NULL;
}

static void print_spec(FILE *out, const json_t *spec)
{
    const json_t *parameters = json_object_get(spec, "parameters"), *shown;
    const char *workload = tt_text_of(spec, "workload");
    size_t i, n = strlen(workload);
    struct tt_paragraph p = {0};
    char compute[80], text[256];

    tt_paragraph_add(&p, "%s", workload);
    json_array_foreach(json_object_get(spec, "shown"), i, shown)
    {
        const char *key = json_is_string(shown) ? json_string_value(shown) : "";
        bool own = !strncmp(key, workload, n) && key[n] == '.';

        if (*tt_text_of(parameters, key))
            tt_paragraph_add(&p, ", %s %s", own ? key + n + 1 : key, tt_text_of(parameters, key));
    }
    snprintf(compute, sizeof compute, "%.60s.compute", workload);
    if (strchr(tt_text_of(parameters, compute), '=')) { /* it was calibrated */
        tt_parameter_format(NULL, compute, tt_text_of(parameters, compute), text, sizeof text);
        tt_paragraph_add(&p, ", compute %s", text);
    }
    tt_paragraph_print(&p, out, tt_text_of(spec, "name"));
}

static void print_shares(FILE *out, const json_t *answer)
{
    const json_t *repetitions = json_object_get(answer, "repetitions"), *r, *longest = NULL, *job;
    struct tt_paragraph p = {0};
    size_t i;

    json_array_foreach(repetitions, i, r)
    {
        const json_t *jobs = json_object_get(r, "jobs");

        if (json_array_size(jobs) > json_array_size(longest))
            longest = jobs;
    }
    json_array_foreach(longest, i, job)
    {
        const char *where =
            *tt_text_of(job, "cpus") ? tt_text_of(job, "cpus") : tt_text_of(job, "nodes");

        if (*where)
            tt_paragraph_add(&p, "%s%s %s%s%s%s", i ? "; " : "", tt_text_of(job, "role"), where,
                             *tt_text_of(job, "place") ? " (" : "", tt_text_of(job, "place"),
                             *tt_text_of(job, "place") ? ")" : "");
    }
    tt_paragraph_print(&p, out, "places");
}

/* ---- the table ---- */

static bool same_kind(const json_t *a, const json_t *b)
{
    const json_t *x = json_array_get(json_object_get(a, "loads"), 0);
    const json_t *y = json_array_get(json_object_get(b, "loads"), 0);

    return !strcmp(tt_text_of(a, "reference"), tt_text_of(b, "reference")) &&
           (!x || !y || json_equal(x, y));
}

static void add_number(struct tt_table *t, double value)
{
    if (isfinite(value))
        tt_table_add(t, "%.3g", value);
    else
        tt_table_add(t, "-");
}

static void add_interval(struct tt_table *t, const json_t *slowdown)
{
    const json_t *range = json_object_get(slowdown, "range");
    double low = tt_number_or_nan(slowdown, "low"), high = tt_number_or_nan(slowdown, "high");

    if (low == high)
        tt_table_add(t, "by definition");
    else if (isfinite(low))
        tt_table_add(t, "%.3g to %.3g", low, high);
    else if (json_is_array(range))
        tt_table_add(t, "(%.3g to %.3g)", json_number_value(json_array_get(range, 0)),
                     json_number_value(json_array_get(range, 1)));
    else
        tt_table_add(t, "-");
}

static void add_step(struct tt_table *t, const json_t *step)
{
    const json_t *slowdown = json_object_get(step, "slowdown");
    const json_t *grew = json_object_get(step, "grew");
    double median = tt_number_or_nan(json_object_get(step, "runtime"), "median");
    double rate = tt_number_of(step, "total_write_rate");
    char text[TT_UNIT_TEXT];

    tt_table_add(t, "%lld", (long long)tt_number_of(step, "others"));
    tt_table_add(t, "%lld", (long long)tt_number_of(step, "runs"));
    tt_table_add(t, "%s", isfinite(median) ? tt_format_seconds(median, text) : "-");
    add_number(t, tt_number_or_nan(slowdown, "value"));
    add_interval(t, slowdown);
    tt_table_add(t, "%s", rate > 0 ? tt_format_rate(rate, text) : "-");
    if (json_is_object(grew))
        tt_table_add(t, "%s +%s", tt_text_of(grew, "phase"),
                     tt_format_seconds(tt_number_of(grew, "seconds"), text));
    else
        tt_table_add(t, "%s", "");
}

/* Few runs give a range, in brackets, and no interval. */
static bool has_interval(const json_t *steps, const json_t *kind)
{
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        if (same_kind(step, kind) && tt_number_of(step, "others") > 0 &&
            tt_has_number(json_object_get(step, "slowdown"), "low"))
            return true;
    }
    return false;
}

static void print_steps(FILE *out, const json_t *steps, const json_t *first)
{
    const struct tt_column columns[] = {
        {.title = "others", .right = true},
        {.title = "runs", .right = true},
        {.title = "runtime", .right = true, .width = 9},
        {.title = "slowdown", .right = true},
        {.title = has_interval(steps, first) ? "95 % interval" : "(least to most)", .width = 15},
        {.title = "all write", .right = true, .width = 10},
        {.title = "what grew"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step) if (same_kind(step, first)) add_step(&t, step);
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

static void print_bar(FILE *out, const json_t *step, double longest)
{
    double value = tt_number_or_nan(json_object_get(step, "slowdown"), "value");
    double low = tt_number_or_nan(json_object_get(step, "slowdown"), "low");
    double high = tt_number_or_nan(json_object_get(step, "slowdown"), "high");
    char bar[CHART_WIDTH + 1];

    if (!isfinite(value))
        return;
    tt_plot_bar(value, low, high, longest, CHART_WIDTH, bar);
    fprintf(out, "  %6lld |%s\n", (long long)tt_number_or_nan(step, "others"), bar);
}

/* Steps of one reference under one kind of load; the one alone belongs to all of them. */
static void print_chart(FILE *out, const json_t *steps, const json_t *first)
{
    const json_t *step;
    double longest = 1;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        double value = tt_number_or_nan(json_object_get(step, "slowdown"), "value");
        double high = tt_number_or_nan(json_object_get(step, "slowdown"), "high");

        if (same_kind(step, first))
            longest = fmax(longest, fmax(isfinite(value) ? value : 0, isfinite(high) ? high : 0));
    }
    fprintf(out, "\n  others   slowdown, from 0 to %.3g; = and - mark the interval\n", longest);
    json_array_foreach(steps, i, step) if (same_kind(step, first)) print_bar(out, step, longest);
}

/* ---- phases ---- */

static const char *times(const json_t *effect, char *out, size_t size)
{
    if (!isfinite(tt_number_or_nan(effect, "value")))
        return "-";
    if (tt_has_number(effect, "low"))
        snprintf(out, size, "%.3g (%.3g-%.3g)", tt_number_or_nan(effect, "value"),
                 tt_number_or_nan(effect, "low"), tt_number_or_nan(effect, "high"));
    else
        snprintf(out, size, "%.3g", tt_number_or_nan(effect, "value"));
    return out;
}

static void print_phases(FILE *out, const json_t *step)
{
    long long others = (long long)tt_number_of(step, "others");
    char title[32], text[48], seconds[TT_UNIT_TEXT];
    const struct tt_column columns[] = {{.title = title, .width = 15},
                                        {.title = "total", .right = true, .width = 10},
                                        {.title = "more", .right = true, .width = 9},
                                        {.title = "median, times", .width = 19},
                                        {.title = "p99, times"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    const char *name;
    json_t *phase;

    snprintf(title, sizeof title, "with %2lld other%s", others, plural(others));
    json_object_foreach(json_object_get(step, "phases"), name, phase)
    {
        tt_table_add(&t, "%s", name);
        tt_table_add(&t, "%s", tt_format_seconds(tt_number_of(phase, "seconds"), seconds));
        tt_table_add(&t, "%s", tt_format_seconds(tt_number_of(phase, "growth"), seconds));
        tt_table_add(&t, "%s", times(json_object_get(phase, "median"), text, sizeof text));
        tt_table_add(&t, "%s", times(json_object_get(phase, "p99"), text, sizeof text));
    }
    if (t.n)
        fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

static void explain_phases(FILE *out, const json_t *steps)
{
    const json_t *step;
    bool shown = false;
    size_t i;

    json_array_foreach(steps, i, step) shown |=
        tt_number_of(step, "others") > 0 && json_object_size(json_object_get(step, "phases")) > 0;
    if (!shown)
        return;
    fprintf(out, "\n");
    tt_say_marked(
        out, "  ",
        "Phases: total in a run; more than alone; median and 99th percentile of "
        "iterations, as multiples of those alone (-: no time alone). io_* is the "
        "I/O itself, inside of other phases or in threads of its own. The slowdown is the "
        "median over rounds of ratios, so it need not be the ratio of the two runtimes.");
}

/* Without overlap nothing can be hidden. */
static bool overlaps(const json_t *answer, const json_t *step)
{
    const json_t *spec = find_spec(answer, tt_text_of(step, "reference"));

    return strcmp(tt_text_of(json_object_get(spec, "parameters"), "overlap"), "none") != 0;
}

/* What else of the reference changed, of the metrics that most ask for. */
static void print_metrics(FILE *out, const json_t *answer, const json_t *step)
{
    char title[32], text[48], value[TT_UNIT_TEXT];
    const struct tt_column columns[] = {{.title = "reference", .width = 17},
                                        {.title = "alone", .right = true, .width = 12},
                                        {.title = title, .right = true, .width = 12},
                                        {.title = "times"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};

    snprintf(title, sizeof title, "with %2lld", (long long)tt_number_of(step, "others"));
    for (int i = 0; i < TT_NMETRICS; i++) {
        const struct tt_metric *metric = &tt_metrics[i];
        const json_t *m = json_object_get(json_object_get(step, "metrics"), metric->name);

        if (!(metric->shown & TT_SHOWN_ENSEMBLE) || !tt_has_number(m, "median") ||
            !tt_has_number(m, "alone") ||
            (i == TT_METRIC_hidden_fraction && !overlaps(answer, step)))
            continue;
        tt_table_add(&t, "%s", metric->label);
        tt_table_add(&t, "%s", tt_format_value(tt_number_of(m, "alone"), metric->unit, value));
        tt_table_add(&t, "%s", tt_format_value(tt_number_of(m, "median"), metric->unit, value));
        tt_table_add(&t, "%s", times(json_object_get(m, "ratio"), text, sizeof text));
    }
    if (t.n)
        fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

/* ---- the others ---- */

/* How much slower the loads were than alone, and what that makes of all jobs together. */
static void print_cost(FILE *out, const json_t *step)
{
    const json_t *cost = json_object_get(step, "cost");
    char title[32], text[48], worst[48], fairness[48];
    long long others = (long long)tt_number_of(step, "others");
    const struct tt_column columns[] = {{.title = title, .width = 17},
                                        {.title = "jobs", .right = true},
                                        {.title = "slowdown, times"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    const char *name;
    json_t *one;

    snprintf(title, sizeof title, "other%s of %lld", plural(others), others);
    json_object_foreach(json_object_get(cost, "jobs"), name, one)
    {
        tt_table_add(&t, "%.30s", name);
        tt_table_add(&t, "%lld", (long long)tt_integer_of(one, "jobs"));
        tt_table_add(&t, "%s", times(one, text, sizeof text));
    }
    if (t.n)
        fputc('\n', out);
    tt_table_print(&t, out, NULL);
    if (!json_is_object(json_object_get(cost, "throughput")))
        return;
    fputc('\n', out);
    if (!tt_has_number(json_object_get(cost, "throughput"), "low")) {
        tt_say_marked(out, "  ",
                      "What all jobs together get done cannot be told from %lld round%s.",
                      (long long)tt_integer_of(json_object_get(cost, "throughput"), "rounds"),
                      plural(tt_integer_of(json_object_get(cost, "throughput"), "rounds")));
        return;
    }
    tt_say_marked(out, "  ",
                  "All %lld jobs together get done as much as %s jobs alone. The slowest takes %s "
                  "times as long as alone. Fairness: %s (1: all are slowed down alike).",
                  others + 1, times(json_object_get(cost, "throughput"), text, sizeof text),
                  times(json_object_get(cost, "worst"), worst, sizeof worst),
                  times(json_object_get(cost, "fairness"), fairness, sizeof fairness));
}

/* ---- what can be said ---- */

static void add_grown(struct tt_paragraph *p, const json_t *phases)
{
    char value[TT_UNIT_TEXT], low[TT_UNIT_TEXT], high[TT_UNIT_TEXT];
    const json_t *one;
    size_t i;

    json_array_foreach(phases, i, one) tt_paragraph_add(
        p, "%s %s (+%s, %s to %s)", i ? (i == 1 ? ", or" : ",") : " It was in",
        tt_text_of(one, "phase"), tt_format_seconds(tt_number_of(one, "seconds"), value),
        tt_format_seconds(tt_number_of(one, "low"), low),
        tt_format_seconds(tt_number_of(one, "high"), high));
    tt_paragraph_add(p, " that it spent more time.");
}

/* Nothing is claimed of what nobody looked at. */
static void add_unsaturated(struct tt_paragraph *p, const json_t *waits)
{
    const char *name;
    json_t *one;
    size_t n = 0;

    json_object_foreach((json_t *)waits, name, one)
    {
        (void)one;
        tt_paragraph_add(p, "%s %s",
                         n++ ? "," : " It did not wait much longer than alone for:", name);
    }
    if (n == 0)
        tt_paragraph_add(p, " What it waited for was not observed");
    tt_paragraph_add(p, ".");
}

void tt_ensemble_conclude(const json_t *step, struct tt_paragraph *p)
{
    const json_t *saturated = json_object_get(step, "saturated"), *one;
    const char *contention = tt_text_of(step, "contention");
    const json_t *grew = json_object_get(step, "grew");
    long long others = (long long)tt_number_or_nan(step, "others");
    size_t i;

    if (others == 0 || tt_integer_of(step, "runs") == 0)
        return;
    tt_paragraph_add(p, "With %lld other%s: ", others, plural(others));
    if (*contention)
        tt_paragraph_add(p, "%s.", contention);
    else if (json_is_object(json_object_get(step, "slowdown")))
        tt_paragraph_add(p, "%s.", tt_text_of(json_object_get(step, "slowdown"), "text"));
    else
        tt_paragraph_add(p, "no run alone to compare with.");
    if (!*contention && json_is_object(grew))
        add_grown(p, json_object_get(grew, "phases"));
    json_array_foreach(saturated, i, one)
        tt_paragraph_add(p, "%s %s", i ? "," : " Saturated, unlike alone:", json_string_value(one));
    if (json_array_size(saturated) > 0)
        tt_paragraph_add(p, ".");
    else if (!*contention && json_is_object(grew))
        add_unsaturated(p, json_object_get(step, "waits"));
}

static void conclude_step(FILE *out, const json_t *step)
{
    struct tt_paragraph p = {0};

    tt_ensemble_conclude(step, &p);
    if (p.n)
        tt_paragraph_print_marked(&p, out, "  ");
}

/* How much of a difference is none. */
static void print_noise(FILE *out, const json_t *noise)
{
    long long rounds = (long long)tt_integer_of(noise, "rounds");

    if (!tt_has_number(noise, "value"))
        return;
    tt_say_marked(out, "  ",
                  rounds > 1 ? "Noise: two runs alone differ by %.3g %% (median of %lld rounds, at "
                               "most %.3g %%)."
                             : "Noise: two runs alone differ by %.3g %% (%lld round).",
                  100 * tt_number_of(noise, "value"), rounds, 100 * tt_number_of(noise, "most"));
}

static void print_warnings(FILE *out, const json_t *step)
{
    long long others = (long long)tt_number_or_nan(step, "others");
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(step, "warnings"), i, one)
    {
        if (others > 0)
            tt_say_marked(out, "  ! ", "with %lld other%s: %s", others, plural(others),
                          json_string_value(one));
        else
            tt_say_marked(out, "  ! ", "alone: %s", json_string_value(one));
    }
}

static void add_counts(struct tt_paragraph *p, const char *what, const json_t *counts)
{
    const json_t *one;
    size_t i;

    if (json_array_size(counts) > 0)
        tt_paragraph_add(p, "; %s:", what);
    json_array_foreach(counts, i, one)
        tt_paragraph_add(p, "%s %lld", i ? "," : "", (long long)json_integer_value(one));
}

static void print_verdicts(FILE *out, const json_t *answer)
{
    const json_t *one, *limit = json_object_get(answer, "limit");
    size_t i;

    if (json_is_object(limit)) {
        struct tt_paragraph p = {0};

        tt_paragraph_add(&p, "%s", tt_text_of(limit, "text"));
        add_counts(&p, "undecided, more runs may tell", json_object_get(limit, "undecided"));
        add_counts(&p, "not tested", json_object_get(limit, "not_tested"));
        tt_paragraph_print(&p, out, "limit");
    }
    json_array_foreach(json_object_get(answer, "stop_when"), i, one)
        tt_say(out, "stop_when", "%s", tt_text_of(one, "text"));
    json_array_foreach(json_object_get(answer, "require"), i, one)
        tt_say(out, "require", "%s: %s; %s", tt_text_of(one, "condition"),
               tt_text_of(one, "verdict"), tt_text_of(one, "text"));
}

/* A job that was only repeated: what it measured, with intervals. */
static void print_alone(FILE *out, const json_t *step)
{
    char title[64], median[TT_UNIT_TEXT], low[TT_UNIT_TEXT], high[TT_UNIT_TEXT];
    const struct tt_column columns[] = {{.title = "metric", .width = 22},
                                        {.title = "median", .right = true, .width = 12},
                                        {.title = title}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};

    snprintf(title, sizeof title, "95 %% interval of the median, %lld runs",
             (long long)tt_number_of(step, "runs"));
    for (int i = 0; i < TT_NMETRICS; i++) {
        const json_t *m = json_object_get(json_object_get(step, "metrics"), tt_metrics[i].name);
        const char *unit = tt_metrics[i].unit;

        if (!tt_has_number(m, "median") ||
            (tt_metrics[i].shown & (TT_SHOWN_CALLS | TT_SHOWN_COMPARED)) == TT_SHOWN_CALLS)
            continue;
        tt_table_add(&t, "%s", tt_metrics[i].label);
        tt_table_add(&t, "%s", tt_format_value(tt_number_of(m, "median"), unit, median));
        if (tt_has_number(m, "low"))
            tt_table_add(&t, "%s to %s", tt_format_value(tt_number_of(m, "low"), unit, low),
                         tt_format_value(tt_number_of(m, "high"), unit, high));
        else
            tt_table_add(&t, "too few runs");
    }
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

static void print_group(FILE *out, const json_t *answer, const json_t *first)
{
    const json_t *steps = json_object_get(answer, "steps"), *step, *last = first;
    size_t i;

    if (tt_number_or_nan(first, "others") == 0) {
        print_alone(out, first);
        fprintf(out, "\n");
        print_warnings(out, first);
        return;
    }
    print_steps(out, steps, first);
    json_array_foreach(steps, i, step)
    {
        if (same_kind(step, first) && tt_number_of(step, "others") > tt_number_of(last, "others"))
            last = step;
    }
    print_chart(out, steps, first);
    print_phases(out, last);
    print_metrics(out, answer, last);
    print_cost(out, last);
    fprintf(out, "\n");
    print_noise(out, json_object_get(first, "noise"));
    json_array_foreach(steps, i, step) if (same_kind(step, first)) conclude_step(out, step);
    json_array_foreach(steps, i, step) if (same_kind(step, first)) print_warnings(out, step);
}

/* A step with others begins a group unless an earlier one of its kind did; one alone only if its
 * reference has no others. */
static bool begins_group(const json_t *steps, size_t index)
{
    const json_t *this = json_array_get(steps, index), *other;
    bool is_alone = tt_number_or_nan(this, "others") == 0;
    size_t i;

    json_array_foreach(steps, i, other)
    {
        if (i == index || !same_kind(this, other) || tt_number_or_nan(other, "others") == 0)
            continue;
        if (is_alone || i < index)
            return false;
    }
    return true;
}

static void print_pair(FILE *out, const json_t *step)
{
    const char *load = json_string_value(json_array_get(json_object_get(step, "loads"), 0));

    fprintf(out, "\n  %s %s%s\n", tt_text_of(step, "reference"), load ? "under " : "alone",
            load ? load : "");
}

/* ---- everybody against everybody ---- */

#define MOST_IN_MATRIX 6

static double slowdown_under(const json_t *steps, const char *reference, const char *load,
                             double others)
{
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        const char *first = json_string_value(json_array_get(json_object_get(step, "loads"), 0));

        if (tt_number_or_nan(step, "others") == others && first && !strcmp(first, load) &&
            !strcmp(tt_text_of(step, "reference"), reference))
            return tt_number_or_nan(json_object_get(step, "slowdown"), "value");
    }
    return NAN;
}

/* With the largest number of others; a set that is too wide for a line has its groups alone. */
static void print_matrix(FILE *out, const json_t *answer)
{
    const json_t *specs = json_object_get(answer, "jobs");
    const json_t *steps = json_object_get(answer, "steps"), *step, *row;
    struct tt_column columns[MOST_IN_MATRIX + 1] = {{.title = "", .width = 10}};
    size_t i, k, n = json_array_size(specs);
    struct tt_table t = {columns, n + 1, .indent = 2};
    char titles[MOST_IN_MATRIX][11];
    double most = 0;

    json_array_foreach(steps, i, step) most = fmax(most, tt_number_or_nan(step, "others"));
    if (most == 0 || n > MOST_IN_MATRIX)
        return;
    for (k = 0; k < n; k++) {
        columns[k + 1] = (struct tt_column){.title = titles[k], .right = true, .width = 10};
        snprintf(titles[k], sizeof titles[k], "%s", tt_text_of(json_array_get(specs, k), "name"));
    }
    json_array_foreach(specs, i, row)
    {
        tt_table_add(&t, "%.10s", tt_text_of(row, "name"));
        for (k = 0; k < n; k++)
            add_number(&t, slowdown_under(steps, tt_text_of(row, "name"),
                                          tt_text_of(json_array_get(specs, k), "name"), most));
    }
    fprintf(out, "\n  slowdown of each row's job beside %.0f of the column's\n", most);
    tt_table_print(&t, out, NULL);
}

void tt_report_ensemble(FILE *out, const json_t *answer)
{
    const json_t *steps = json_object_get(answer, "steps"), *step, *spec;
    size_t i;

    fprintf(out, "tutti ensemble %s%s%s\n\n", tt_text_of(answer, "id"),
            *tt_text_of(answer, "label") ? ", " : "", tt_text_of(answer, "label"));
    json_array_foreach(json_object_get(answer, "jobs"), i, spec) print_spec(out, spec);
    print_shares(out, answer);
    json_array_foreach(steps, i, step)
    {
        if (!begins_group(steps, i))
            continue;
        if (find_spec(answer, "reference") == NULL)
            print_pair(out, step);
        print_group(out, answer, step);
    }
    explain_phases(out, steps);
    if (find_spec(answer, "reference") == NULL)
        print_matrix(out, answer);
    fprintf(out, "\n");
    print_verdicts(out, answer);
    fprintf(out, "  directory  %s\n", tt_text_of(answer, "directory"));
}

void tt_report_systems(FILE *out, const json_t *systems, double limit)
{
    long long others = (long long)tt_number_or_nan(json_array_get(systems, 0), "others");
    const json_t *one;
    size_t i;

    if (others == 0) {
        fprintf(out, "\n  Which suffices? No number of others is in all of these ensembles.\n");
        return;
    }
    fprintf(out, "\n  slowdown of at most %.3g with %lld other%s?\n", limit, others,
            plural(others));
    json_array_foreach(systems, i, one)
    {
        const char *name =
            *tt_text_of(one, "label") ? tt_text_of(one, "label") : tt_text_of(one, "id");

        tt_say_marked(out, "  ", "%s: %s; %s", name, tt_text_of(one, "verdict"),
                      tt_text_of(one, "text"));
    }
}

/* ---- files ---- */

static void write_row(struct tt_outfile *f, const json_t *repetition, const json_t *job)
{
    const json_t *metrics = json_object_get(job, "metrics");

    tt_csv_text(f, tt_text_of(repetition, "reference"));
    tt_csv_number(f, tt_number_or_nan(repetition, "others"), 0);
    tt_csv_number(f, tt_number_or_nan(repetition, "number"), 0);
    tt_csv_number(f, tt_is_true(repetition, "complete"), 0);
    tt_csv_text(f, tt_text_of(job, "role"));
    tt_csv_text(f, tt_text_of(job, "job"));
    tt_csv_text(f, tt_text_of(job, "workload"));
    tt_csv_number(f, tt_number_or_nan(job, "runtime"), 9);
    tt_csv_number(f, tt_number_or_nan(job, "late"), 9);
    tt_csv_number(f, fmax(0, tt_number_of(metrics, "bytes_written")), 0);
    tt_csv_number(f, fmax(0, tt_number_of(metrics, "bytes_read")), 0);
    tt_csv_number(f, fmax(0, tt_number_of(json_object_get(job, "window"), "bytes_written")), 0);
    tt_csv_text(f, tt_text_of(job, "directory"));
    tt_csv_end_row(f);
}

int tt_report_ensemble_csv(const char *path, const json_t *answer, struct tt_error *e)
{
    const json_t *repetition, *job;
    struct tt_outfile f;
    int rc = tt_outfile_open(&f, path, e);
    size_t i, k;

    if (rc != TT_OK)
        return rc;
    fprintf(f.stream, "# tutti ensemble %s\n", tt_text_of(answer, "id"));
    fprintf(f.stream, "reference,others,repetition,complete,role,job,workload,runtime_s,late_s,"
                      "written_B,read_B,written_in_window_B,directory\n");
    json_array_foreach(json_object_get(answer, "repetitions"), i, repetition)
        json_array_foreach(json_object_get(repetition, "jobs"), k, job)
            write_row(&f, repetition, job);
    return tt_outfile_close(&f, e);
}
