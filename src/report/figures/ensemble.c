/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An ensemble: how much slower a job is with others around it, and what of it grew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "record/phases.h"
#include "report/ensemble.h"
#include "report/figures.h"
#include "spec/units.h"

#define GROUP "With others around it"
#define MOST_STEPS 256

/* The steps of one reference under one kind of load, by number of others; the one alone belongs to
 * all of them. */
struct curve {
    const json_t *steps[MOST_STEPS];
    size_t n;
    const char *reference, *load; /* load: "" if there is only the reference alone */
};

static const char *load_of(const json_t *step)
{
    const char *load = json_string_value(json_array_get(json_object_get(step, "loads"), 0));

    return load ? load : "";
}

static bool is_of(const struct curve *c, const json_t *step)
{
    return !strcmp(tt_text_of(step, "reference"), c->reference) &&
           (!*load_of(step) || !strcmp(load_of(step), c->load));
}

static int compare_steps(const void *a, const void *b)
{
    double x = tt_number_of(*(const json_t *const *)a, "others"),
           y = tt_number_of(*(const json_t *const *)b, "others");

    return (x > y) - (x < y);
}

/* The curve that begins with this step; false: an earlier one did, or it is one alone of a
 * reference that has others. */
static bool find_curve(const json_t *steps, size_t index, struct curve *c)
{
    const json_t *first = json_array_get(steps, index), *step;
    size_t i;

    *c = (struct curve){.reference = tt_text_of(first, "reference"), .load = load_of(first)};
    json_array_foreach(steps, i, step)
    {
        if (!*c->load && !strcmp(tt_text_of(step, "reference"), c->reference) && *load_of(step))
            return false;
        if (!is_of(c, step))
            continue;
        if (i < index && *load_of(step))
            return false;
        if (c->n < MOST_STEPS)
            c->steps[c->n++] = step;
    }
    qsort(c->steps, c->n, sizeof *c->steps, compare_steps);
    return c->n > 0;
}

static const json_t *last_of(const struct curve *c)
{
    return c->steps[c->n - 1];
}

static void name_curve(const struct curve *c, bool single, char *out, size_t size)
{
    if (single || !*c->load)
        snprintf(out, size, "%s", c->reference);
    else
        snprintf(out, size, "%s under %s", c->reference, c->load);
}

/* ---- the answer ---- */

/* "With 9 others the reference is 2.5 x slower [2.3, 2.7]; sync grew most; the disk was
 * saturated." */
static void say_curve(struct tt_document *d, const struct curve *c, bool single)
{
    const json_t *step = last_of(c), *slowdown = json_object_get(step, "slowdown"),
                 *saturated = json_object_get(step, "saturated"), *one;
    const char *who = strcmp(c->reference, "reference") ? c->reference : "the reference";
    long long others = (long long)tt_number_of(step, "others");
    struct tt_paragraph p = {0};
    size_t i;

    if (!tt_has_number(slowdown, "value"))
        return;
    if (others == 0) {
        char text[TT_UNIT_TEXT];

        tt_document_say(
            d, "Alone %s takes %s (median of %lld runs).", who,
            tt_format_seconds(tt_number_of(json_object_get(step, "runtime"), "median"), text),
            (long long)tt_integer_of(step, "runs"));
        return;
    }
    if (single)
        tt_paragraph_add(&p, "With %lld other%s %s takes %.3g x as long", others,
                         others == 1 ? "" : "s", who, tt_number_of(slowdown, "value"));
    else
        tt_paragraph_add(&p, "%s beside %lld %s takes %.3g x as long", who, others, c->load,
                         tt_number_of(slowdown, "value"));
    if (tt_has_number(slowdown, "low"))
        tt_paragraph_add(&p, " [%.3g, %.3g]%s", tt_number_of(slowdown, "low"),
                         tt_number_of(slowdown, "high"),
                         tt_number_of(slowdown, "low") <= 1 && tt_number_of(slowdown, "high") >= 1
                             ? ", which may be chance"
                             : "");
    else
        tt_paragraph_add(&p, " (%lld rounds are too few for an interval)",
                         (long long)tt_integer_of(slowdown, "rounds"));
    if (*tt_text_of(json_object_get(step, "grew"), "phase"))
        tt_paragraph_add(&p, "; %s grew most", tt_text_of(json_object_get(step, "grew"), "phase"));
    json_array_foreach(saturated, i, one)
        tt_paragraph_add(&p, "%s %s", i ? "," : "; saturated:", json_string_value(one));
    tt_document_say(d, "%s.", p.text);
}

/* Where the curve begins whose last step is slowest: the answer leads with it. */
static size_t find_worst(const json_t *steps)
{
    struct curve c;
    size_t worst = 0;
    double most = 0;

    for (size_t i = 0; i < json_array_size(steps); i++) {
        double slowdown = find_curve(steps, i, &c)
                              ? tt_number_of(json_object_get(last_of(&c), "slowdown"), "value")
                              : 0;

        if (slowdown > most) {
            most = slowdown;
            worst = i;
        }
    }
    return worst;
}

static void say_more(struct tt_document *d, const struct curve *c, bool single)
{
    char name[256];

    name_curve(c, single, name, sizeof name);
    for (size_t i = 0; i < c->n; i++) {
        struct tt_paragraph p = {0};

        tt_ensemble_conclude(c->steps[i], &p);
        if (p.n && single)
            tt_document_say(d, "%s", p.text);
        else if (p.n)
            tt_document_say(d, "%s: %s", name, p.text);
    }
}

static void warn(struct tt_document *d, const json_t *steps)
{
    const json_t *step, *one;
    size_t i, k;

    json_array_foreach(steps, i, step) json_array_foreach(json_object_get(step, "warnings"), k, one)
    {
        double others = tt_number_of(step, "others");
        char with[64], where[256];

        snprintf(with, sizeof with, "with %.0f other%s", others, others == 1 ? "" : "s");
        snprintf(where, sizeof where, "%.120s %s%s%.60s", tt_text_of(step, "reference"),
                 others > 0 ? with : "alone", *load_of(step) ? ", " : "", load_of(step));
        tt_document_warn(d, json_string_value(one), where, -1);
    }
}

/* ---- slowdown ---- */

static void add_slowdown(struct tt_document *d, json_t *figure, const struct curve *c, bool single)
{
    double x[MOST_STEPS], y[MOST_STEPS], low[MOST_STEPS], high[MOST_STEPS];
    bool ranges = false;
    char name[256];

    for (size_t i = 0; i < c->n; i++) {
        const json_t *slowdown = json_object_get(c->steps[i], "slowdown"),
                     *range = json_object_get(slowdown, "range");
        bool known = tt_has_number(slowdown, "low");

        x[i] = tt_number_of(c->steps[i], "others");
        y[i] = tt_number_or_nan(slowdown, "value");
        ranges |= !known && json_is_array(range);
        low[i] = known                  ? tt_number_of(slowdown, "low")
                 : json_is_array(range) ? json_number_value(json_array_get(range, 0))
                                        : NAN;
        high[i] = known                  ? tt_number_of(slowdown, "high")
                  : json_is_array(range) ? json_number_value(json_array_get(range, 1))
                                         : NAN;
    }
    name_curve(c, single, name, sizeof name);
    tt_figure_series(d, figure, name, &(struct tt_points){c->n, x, y, low, high});
    if (ranges && !json_object_get(figure, "notes"))
        tt_figure_note(d, figure,
                       "With too few rounds for an interval the range of the rounds is shown "
                       "instead.");
}

/* Two runs alone differ by so much: what lies within is no slowdown. */
static void mark_noise(struct tt_document *d, json_t *figure, const json_t *steps)
{
    const json_t *noise = NULL, *step;
    double most = NAN;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        noise = json_object_get(step, "noise");
        if (tt_has_number(noise, "value"))
            most = fmax(most, tt_number_of(noise, "value"));
    }
    if (isfinite(most))
        tt_figure_mark(d, figure, "y", 1 / (1 + most), 1 + most,
                       "A/A floor: two runs alone differ by this much");
}

/* ---- phases ---- */

static void add_phases(struct tt_document *d, const struct curve *c, bool single)
{
    const json_t *last = json_object_get(last_of(c), "phases");
    double y[MOST_STEPS + 1];
    json_t *figure, *x;
    char name[256], title[300];
    size_t first = tt_number_of(c->steps[0], "others") == 0;

    if (json_object_size(last) == 0 || c->n <= first)
        return;
    name_curve(c, single, name, sizeof name);
    snprintf(title, sizeof title, "Phases alone and with others: %s", name);
    figure = tt_figure(d, "stack", "phases", GROUP, title,
                       "Time of a run in each phase of the main thread: the last rank to arrive "
                       "counts. Alone is the median of the same rounds.");
    x = tt_figure_axis(d, figure, "x", "others", "", "category");
    tt_figure_axis(d, figure, "y", "time", "s", "linear");
    tt_axis_category(d, x, "alone");
    for (size_t i = first; i < c->n; i++) {
        snprintf(title, sizeof title, "with %.0f", tt_number_of(c->steps[i], "others"));
        tt_axis_category(d, x, title);
    }
    for (int p = 0; p <= TT_OTHER; p++) {
        const json_t *phase = json_object_get(last, tt_phase_names[p]);
        size_t n = 1;

        if (!phase)
            continue;
        y[0] = tt_number_of(phase, "seconds") - tt_number_of(phase, "growth");
        for (size_t i = first; i < c->n; i++)
            y[n++] = tt_number_of(
                json_object_get(json_object_get(c->steps[i], "phases"), tt_phase_names[p]),
                "seconds");
        tt_document_set(
            d, tt_figure_series(d, figure, tt_phase_names[p], &(struct tt_points){n, .y = y}),
            "colour", json_integer(tt_phase_colours[p]));
    }
}

/* ---- every repetition ---- */

/* The answer's: of runs alone the unit is the round, in which there may be two. */
static void correct_median(struct tt_document *d, json_t *group, const json_t *runtime)
{
    static const char *const members[] = {"median", "low", "high"};

    for (size_t i = 0; i < 3; i++)
        tt_document_set(d, group, members[i], tt_json_real(tt_number_or_nan(runtime, members[i])));
}

static void add_runtimes(struct tt_document *d, const struct curve *c, bool single)
{
    char name[256], title[300];
    json_t *figure;

    name_curve(c, single, name, sizeof name);
    snprintf(title, sizeof title, "Runtimes, every repetition: %s", name);
    figure = tt_figure(d, "samples", "runtimes", GROUP, title,
                       "Each dot is a run of the reference, with the median and its 95 % "
                       "interval from six runs on.");
    tt_figure_metric_axis(d, figure, "y", &tt_metrics[TT_METRIC_runtime], "linear");
    for (size_t i = 0; i < c->n; i++) {
        const json_t *values = json_object_get(json_object_get(c->steps[i], "runtime"), "values"),
                     *one;
        double *numbers = malloc((json_array_size(values) + 1) * sizeof *numbers);
        double others = tt_number_of(c->steps[i], "others");
        size_t k;

        d->failed |= !numbers;
        json_array_foreach(values, k, one) if (numbers) numbers[k] = json_number_value(one);
        snprintf(name, sizeof name, others > 0 ? "with %.0f" : "alone", others);
        if (numbers)
            correct_median(
                d, tt_figure_samples(d, figure, name, json_array_size(values), numbers, NULL),
                json_object_get(c->steps[i], "runtime"));
        free(numbers);
    }
}

/* ---- tables ---- */

static void add_ratio(struct tt_document *d, json_t *row, const json_t *effect)
{
    tt_row_number(d, row, tt_number_or_nan(effect, "value"));
    tt_row_number(d, row, tt_number_or_nan(effect, "low"));
    tt_row_number(d, row, tt_number_or_nan(effect, "high"));
}

static void head_ratio(struct tt_document *d, json_t *figure, const char *what)
{
    tt_figure_head(d, figure, what, "", true);
    tt_figure_head(d, figure, "from", "", true);
    tt_figure_head(d, figure, "to", "", true);
}

static void add_steps(struct tt_document *d, const json_t *steps)
{
    json_t *figure = tt_figure(d, "table", "steps", GROUP, "Steps",
                               "The reference with each number of others: median runtime, slowdown "
                               "with its 95 % interval, what all jobs wrote together.");
    const json_t *step;
    size_t i;

    tt_figure_head(d, figure, "reference", "", false);
    tt_figure_head(d, figure, "under", "", false);
    tt_figure_head(d, figure, "others", "", true);
    tt_figure_head(d, figure, "runs", "", true);
    tt_figure_head(d, figure, "runtime", "s", true);
    head_ratio(d, figure, "slowdown");
    tt_figure_head(d, figure, "all write", "B/s", true);
    tt_figure_head(d, figure, "what grew", "", false);
    json_array_foreach(steps, i, step)
    {
        json_t *row = tt_figure_row(d, figure);

        tt_row_text(d, row, tt_text_of(step, "reference"));
        tt_row_text(d, row, load_of(step));
        tt_row_number(d, row, tt_number_of(step, "others"));
        tt_row_number(d, row, tt_number_of(step, "runs"));
        tt_row_number(d, row, tt_number_or_nan(json_object_get(step, "runtime"), "median"));
        add_ratio(d, row, json_object_get(step, "slowdown"));
        tt_row_number(d, row, tt_number_or_nan(step, "total_write_rate"));
        tt_row_text(d, row, tt_text_of(json_object_get(step, "grew"), "phase"));
    }
}

static void add_metrics(struct tt_document *d, const struct curve *c, bool single)
{
    json_t *figure;
    char name[256], title[300];

    if (tt_number_of(last_of(c), "others") == 0)
        return;
    name_curve(c, single, name, sizeof name);
    snprintf(title, sizeof title, "What else changed with %.0f other%s: %s",
             tt_number_of(last_of(c), "others"), tt_number_of(last_of(c), "others") == 1 ? "" : "s",
             name);
    figure = tt_figure(d, "table", "changed", GROUP, title,
                       "Metrics of the reference, medians over rounds; times: loaded / alone.");
    tt_figure_head(d, figure, "metric", "", false);
    tt_figure_head(d, figure, "alone", "", true);
    tt_figure_head(d, figure, "loaded", "", true);
    tt_figure_units(d, figure);
    head_ratio(d, figure, "times");
    for (int i = 0; i < TT_NMETRICS; i++) {
        const json_t *m =
            json_object_get(json_object_get(last_of(c), "metrics"), tt_metrics[i].name);
        json_t *row;

        if (!(tt_metrics[i].shown & (TT_SHOWN_ENSEMBLE | TT_SHOWN_COMPARED)) ||
            !tt_has_number(m, "median") || !tt_has_number(m, "alone"))
            continue;
        row = tt_figure_row(d, figure);
        tt_row_text(d, row, tt_metrics[i].label);
        tt_row_number(d, row, tt_number_of(m, "alone"));
        tt_row_number(d, row, tt_number_of(m, "median"));
        tt_row_text(d, row, tt_metrics[i].unit);
        add_ratio(d, row, json_object_get(m, "ratio"));
    }
}

/* How much slower the loads were than alone. */
static void add_cost(struct tt_document *d, const struct curve *c)
{
    const json_t *jobs = tt_member_at(last_of(c), "cost/jobs");
    json_t *figure, *row, *one;
    const char *name;

    if (json_object_size(jobs) == 0)
        return;
    figure = tt_figure(d, "table", "cost", GROUP, "What the others lost",
                       "Time of the others / the same work alone, with the most others.");
    tt_figure_head(d, figure, "job", "", false);
    tt_figure_head(d, figure, "jobs", "", true);
    head_ratio(d, figure, "slowdown");
    json_object_foreach((json_t *)jobs, name, one)
    {
        row = tt_figure_row(d, figure);
        tt_row_text(d, row, name);
        tt_row_number(d, row, tt_number_of(one, "jobs"));
        add_ratio(d, row, one);
    }
}

/* ---- everybody against everybody ---- */

static const json_t *find_step(const json_t *steps, const char *reference, const char *load,
                               double others)
{
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step) if (tt_number_of(step, "others") == others &&
                                           !strcmp(tt_text_of(step, "reference"), reference) &&
                                           !strcmp(load_of(step), load)) return step;
    return NULL;
}

static json_t *names_of(const json_t *specs)
{
    json_t *list = json_array();
    const json_t *spec;
    size_t i;

    json_array_foreach(specs, i, spec)
        json_array_append_new(list, tt_json_text(tt_text_of(spec, "name")));
    return list;
}

static void add_matrix(struct tt_document *d, const json_t *answer)
{
    const json_t *specs = json_object_get(answer, "jobs"),
                 *steps = json_object_get(answer, "steps"), *row, *column, *step;
    double most = 0;
    json_t *figure;
    char title[96];
    size_t i, k;

    json_array_foreach(steps, i, step) most = fmax(most, tt_number_of(step, "others"));
    snprintf(title, sizeof title, "Slowdown of each job beside %.0f of another", most);
    figure = tt_figure(d, "matrix", "matrix", GROUP, title,
                       "The row's job is measured, the column's is run beside it. 1: no slower "
                       "than alone.");
    tt_figure_axis(d, figure, "value", "slowdown", "", "linear");
    tt_figure_matrix(d, figure, names_of(specs), "the reference", names_of(specs), "the others", 1);
    json_array_foreach(specs, i, row) json_array_foreach(specs, k, column)
    {
        const json_t *slowdown = json_object_get(
            find_step(steps, tt_text_of(row, "name"), tt_text_of(column, "name"), most),
            "slowdown");

        tt_matrix_cell(d, figure, tt_number_or_nan(slowdown, "value"),
                       tt_number_or_nan(slowdown, "low"), tt_number_or_nan(slowdown, "high"));
    }
}

/* ---- runs ---- */

static const json_t *find_spec(const json_t *answer, const char *name)
{
    const json_t *spec;
    size_t i;

    json_array_foreach(json_object_get(answer, "jobs"), i,
                       spec) if (!strcmp(tt_text_of(spec, "name"), name)) return spec;
    return NULL;
}

/* The reference's run of a repetition. */
static void add_run(struct tt_document *d, const json_t *answer, const json_t *repetition,
                    const json_t *job)
{
    const json_t *spec = find_spec(answer, tt_text_of(job, "job"));
    char *repeat = *tt_text_of(job, "workload")
                       ? tt_repeat_command(NULL, tt_text_of(job, "workload"),
                                           json_object_get(spec, "parameters"))
                       : strdup("");
    bool complete = tt_is_true(repetition, "complete");
    char others[32], round[32], start[TT_TIME_TEXT];

    snprintf(others, sizeof others, "%.0f", tt_number_of(repetition, "others"));
    snprintf(round, sizeof round, "%.0f", tt_number_of(repetition, "round"));
    tt_format_time(1e-9 * tt_number_of(job, "start_ns"), start);
    tt_document_run(
        d,
        json_pack("{s:o, s:o, s:s, s:s, s:b, s:{s:o, s:o, s:s, s:s}, s:o, s:{s:o, s:o}}", "id",
                  tt_json_text(tt_text_of(job, "directory")), "label",
                  tt_json_text(tt_text_of(job, "job")), "start", start, "status",
                  complete ? "done" : "not complete", "valid", complete, "keys", "reference",
                  tt_json_text(tt_text_of(job, "job")), "load", tt_json_text(load_of(repetition)),
                  "others", others, "round", round, "repeat", repeat ? tt_json_text(repeat) : NULL,
                  "facts", "workload", tt_json_text(tt_text_of(job, "workload")), "place",
                  tt_json_text(tt_text_of(job, "place"))));
    free(repeat);
}

void tt_figures_ensemble(struct tt_document *d, const json_t *answer)
{
    const json_t *steps = json_object_get(answer, "steps"), *repetition, *job;
    bool single = find_spec(answer, "reference") != NULL;
    json_t *figure = NULL;
    struct curve c;
    size_t i, k, worst;

    worst = find_worst(steps);
    if (find_curve(steps, worst, &c))
        say_curve(d, &c, single);
    for (i = 0; i < json_array_size(steps); i++)
        if (i != worst && find_curve(steps, i, &c))
            say_curve(d, &c, single);
    for (i = 0; i < json_array_size(steps); i++) {
        if (!find_curve(steps, i, &c))
            continue;
        say_more(d, &c, single);
        if (!*c.load)
            continue;
        if (!figure) {
            figure = tt_figure(d, "lines", "slowdown", GROUP, "Slowdown over others",
                               "Runtime with others / runtime alone in the same round: the median "
                               "over rounds with its 95 % interval.");
            tt_figure_axis(d, figure, "x", "others", "", "count");
            tt_figure_axis(d, figure, "y", "slowdown", "", "linear");
            mark_noise(d, figure, steps);
        }
        add_slowdown(d, figure, &c, single);
    }
    if (!single && figure)
        add_matrix(d, answer);
    for (i = 0; i < json_array_size(steps); i++)
        if (find_curve(steps, i, &c)) {
            add_phases(d, &c, single);
            add_runtimes(d, &c, single);
            add_metrics(d, &c, single);
            add_cost(d, &c);
        }
    add_steps(d, steps);
    warn(d, steps);
    json_array_foreach(json_object_get(answer, "repetitions"), i, repetition)
        json_array_foreach(json_object_get(repetition, "jobs"), k,
                           job) if (!strcmp(tt_text_of(job, "role"), "reference"))
            add_run(d, answer, repetition, job);
    tt_document_find_varied(d);
}
