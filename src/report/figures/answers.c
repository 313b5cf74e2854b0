/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers that are mostly tables: a search, a survey, a comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/figures.h"
#include "report/paragraph.h"
#include "report/survey.h"
#include "spec/units.h"

#define MOST_TRIED 500

/* ---- advise, tune ---- */

static void add_tried(struct tt_document *d, const json_t *answer)
{
    const struct tt_metric *metric = tt_find_metric(tt_text_of(answer, "metric"));
    const json_t *tried = json_object_get(answer, "tried"), *one;
    json_t *figure = tt_figure(d, "bars", "tried", "The search", "Settings that were tried",
                               "Medians over runs, best first."),
           *x;
    double y[MOST_TRIED];
    size_t i, n = 0;

    x = tt_figure_axis(d, figure, "x", "setting", "", "category");
    if (metric)
        tt_figure_metric_axis(d, figure, "y", metric, "linear");
    else
        tt_figure_axis(d, figure, "y", tt_text_of(answer, "label"), tt_text_of(answer, "unit"),
                       "linear");
    json_array_foreach(tried, i, one)
    {
        if (n == MOST_TRIED)
            break;
        tt_axis_category(d, x, tt_text_of(one, "setting"));
        y[n++] = tt_number_or_nan(one, "median");
    }
    if (n < json_array_size(tried))
        tt_figure_note(d, figure, "The first %zu of %zu settings.", n, json_array_size(tried));
    tt_figure_series(d, figure, tt_text_of(answer, "label"), &(struct tt_points){n, .y = y});
}

/* How many runs a median is of: a search spends few on what looks bad. */
static void add_settings(struct tt_document *d, const json_t *answer)
{
    const json_t *one;
    json_t *figure = tt_figure(d, "table", "settings", "The search", "Every setting",
                               "The search makes few runs of what looks bad, so look at their "
                               "number before you trust a median.");
    size_t i;

    tt_figure_head(d, figure, "setting", "", false);
    tt_figure_head(d, figure, tt_text_of(answer, "label"), tt_text_of(answer, "unit"), true);
    tt_figure_head(d, figure, "runs", "", true);
    json_array_foreach(json_object_get(answer, "tried"), i, one)
    {
        json_t *row = i < MOST_TRIED ? tt_figure_row(d, figure) : NULL;

        if (!row)
            break;
        tt_row_text(d, row, tt_text_of(one, "setting"));
        tt_row_number(d, row, tt_number_or_nan(one, "median"));
        tt_row_number(d, row, tt_number_or_nan(one, "runs"));
    }
}

static void add_keys(struct tt_document *d, const json_t *answer)
{
    const json_t *one;
    json_t *figure = tt_figure(d, "table", "keys", "The search", "Which keys mattered",
                               "How many times better the best value of a key is than its worst, "
                               "with all else alike.");
    size_t i;

    tt_figure_head(d, figure, "key", "", false);
    tt_figure_head(d, figure, "times", "", true);
    tt_figure_head(d, figure, "mattered", "", false);
    json_array_foreach(json_object_get(answer, "keys"), i, one)
    {
        json_t *row = tt_figure_row(d, figure);

        tt_row_text(d, row, tt_text_of(one, "key"));
        tt_row_number(d, row, tt_number_or_nan(one, "times"));
        tt_row_text(d, row, tt_is_true(one, "matters") ? "yes" : "no");
    }
}

static void add_ways(struct tt_document *d, const json_t *answer)
{
    const json_t *ways = tt_member_at(answer, "best/ways"), *one;
    json_t *figure;
    size_t i;

    if (!tt_is_true(answer, "recommended") || json_array_size(ways) == 0)
        return;
    figure = tt_figure(d, "table", "advice", "The search", "How to set it",
                       "What an application has to do to get the best setting.");
    tt_figure_head(d, figure, "way", "", false);
    tt_figure_head(d, figure, "text", "", false);
    json_array_foreach(ways, i, one)
    {
        json_t *row = tt_figure_row(d, figure);

        tt_row_text(d, row, tt_text_of(one, "way"));
        tt_row_text(d, row, tt_text_of(one, "text"));
    }
}

void tt_figures_search(struct tt_document *d, const json_t *answer)
{
    const json_t *one;
    size_t i;

    tt_document_say(d, "%s", tt_text_of(answer, "text"));
    if (tt_is_true(answer, "cut_short"))
        tt_document_warn(d, "the budget ended the search early",
                         "others may be better; more --max-time tries more", -1);
    json_array_foreach(json_object_get(answer, "refused"), i, one)
        tt_document_warn(d, tt_text_of(one, "setting"), tt_text_of(one, "why"), -1);
    add_tried(d, answer);
    add_settings(d, answer);
    add_keys(d, answer);
    add_ways(d, answer);
}

/* ---- survey ---- */

/* "bandwidth, aged: write 84.3 MiB/s, read 175 MiB/s at best." */
static void say_best(struct tt_document *d, const json_t *summary, const struct tt_survey_table *t)
{
    static const char *const accesses[] = {"write", "read"};
    struct tt_paragraph p = {0};
    const json_t *row;
    size_t i;

    for (int k = 0; k < 2; k++) {
        char text[TT_UNIT_TEXT];
        double best = -INFINITY;

        json_array_foreach(summary, i, row) if (!strcmp(tt_text_of(row, "table"), t->title) &&
                                                !strcmp(tt_text_of(row, "access"), accesses[k]))
            best = fmax(best, tt_number_or_nan(row, "mean"));
        if (isfinite(best))
            tt_paragraph_add(&p, "%s%s %s", p.n ? ", " : "", accesses[k],
                             tt_format_value(best, t->unit, text));
    }
    if (p.n)
        tt_document_say(d, "%s: %s, as the highest mean.", t->title, p.text);
}

static void add_survey_table(struct tt_document *d, const json_t *summary,
                             const struct tt_survey_table *t)
{
    const json_t *row;
    json_t *figure = NULL;
    size_t i;

    json_array_foreach(summary, i, row)
    {
        json_t *cells;

        if (strcmp(tt_text_of(row, "table"), t->title) != 0)
            continue;
        if (!figure) {
            figure = tt_figure(d, "table", t->title, "The survey", t->title,
                               "Means over all transfer sizes and repetitions with as many "
                               "processes (N x p), with their standard deviation; CV: deviation / "
                               "mean.");
            tt_figure_head(d, figure, t->over_size ? "size" : "N x p", t->over_size ? "B" : "",
                           true);
            tt_figure_head(d, figure, "access", "", false);
            tt_figure_head(d, figure, "runs", "", true);
            tt_figure_head(d, figure, "mean", t->unit, true);
            tt_figure_head(d, figure, "deviation", t->unit, true);
            tt_figure_head(d, figure, "CV", "1", true);
        }
        cells = tt_figure_row(d, figure);
        tt_row_number(d, cells, tt_number_or_nan(row, t->over_size ? "size" : "ranks"));
        tt_row_text(d, cells, tt_text_of(row, "access"));
        tt_row_number(d, cells, tt_number_of(row, "n"));
        tt_row_number(d, cells, tt_number_or_nan(row, "mean"));
        tt_row_number(d, cells, tt_number_or_nan(row, "deviation"));
        tt_row_number(d, cells, tt_number_or_nan(row, "variation"));
    }
}

void tt_figures_survey(struct tt_document *d, const json_t *answer)
{
    const json_t *summary = json_object_get(answer, "summary"), *warning;
    size_t i;

    if (json_array_size(summary) == 0)
        tt_document_say(d, "Nothing has been measured so far.");
    for (i = 0; i < TT_SURVEY_NTABLES; i++)
        say_best(d, summary, &tt_survey_tables[i]);
    for (i = 0; i < TT_SURVEY_NTABLES; i++)
        add_survey_table(d, summary, &tt_survey_tables[i]);
    json_array_foreach(json_object_get(answer, "warnings"), i, warning)
        tt_warn_of(d, tt_text_of(warning, "text"), -1);
}

/* ---- comparison ---- */

static size_t copy_values(const json_t *side, double *out, size_t most)
{
    const json_t *one;
    size_t i, n = 0;

    json_array_foreach(json_object_get(side, "values"), i, one) if (n < most) out[n++] =
        json_number_value(one);
    return n;
}

static void add_compared(struct tt_document *d, const json_t *plan, const json_t *m)
{
    const struct tt_metric *metric = tt_find_metric(tt_text_of(m, "metric"));
    static const char *const sides[] = {"a", "b"}, *const names[] = {"A", "B"};
    json_t *figure;

    if (!metric || !strcmp(tt_text_of(m, "verdict"), "not measured"))
        return;
    figure = tt_figure(d, "samples", metric->name, tt_text_of(plan, "workload"), metric->label,
                       tt_text_of(m, "text"));
    tt_figure_metric_axis(d, figure, "y", metric, "linear");
    for (int i = 0; i < 2; i++) {
        const json_t *side = json_object_get(m, sides[i]);
        size_t n = json_array_size(json_object_get(side, "values"));
        double *values = malloc((n + 1) * sizeof *values);

        d->failed |= !values;
        if (values)
            tt_figure_samples(d, figure, names[i], copy_values(side, values, n), values, NULL);
        free(values);
    }
}

static void add_verdicts(struct tt_document *d, const json_t *plan)
{
    const json_t *m, *effect;
    json_t *figure = tt_figure(d, "table", "verdicts", tt_text_of(plan, "workload"), "B against A",
                               "The effect with its 95 % interval, and what it "
                               "means. It is B / A, or B - A where the table says difference.");
    size_t i;

    tt_figure_head(d, figure, "metric", "", false);
    tt_figure_head(d, figure, "A", "", true);
    tt_figure_head(d, figure, "B", "", true);
    tt_figure_units(d, figure);
    tt_figure_head(d, figure, "effect", "", true);
    tt_figure_head(d, figure, "kind", "", false);
    tt_figure_head(d, figure, "from", "", true);
    tt_figure_head(d, figure, "to", "", true);
    tt_figure_head(d, figure, "B against A", "", false);
    json_array_foreach(json_object_get(plan, "metrics"), i, m)
    {
        json_t *row = tt_figure_row(d, figure);

        effect = json_object_get(m, "effect");
        tt_row_text(d, row, tt_text_of(m, "label"));
        tt_row_number(d, row, tt_number_or_nan(json_object_get(m, "a"), "median"));
        tt_row_number(d, row, tt_number_or_nan(json_object_get(m, "b"), "median"));
        tt_row_text(d, row, tt_text_of(m, "unit"));
        tt_row_number(d, row, tt_number_or_nan(effect, "value"));
        tt_row_text(d, row, tt_text_of(m, "kind"));
        tt_row_number(d, row, tt_number_or_nan(effect, "low"));
        tt_row_number(d, row, tt_number_or_nan(effect, "high"));
        tt_row_text(d, row, tt_text_of(m, "text"));
    }
}

static void add_differences(struct tt_document *d, const json_t *plan, const char *what,
                            const char *title)
{
    const json_t *one;
    json_t *figure;
    size_t i;

    if (json_array_size(json_object_get(plan, what)) == 0)
        return;
    figure = tt_figure(d, "table", what, tt_text_of(plan, "workload"), title,
                       "Values that occur in A and in B.");
    tt_figure_head(d, figure, "key", "", false);
    tt_figure_head(d, figure, "A", "", false);
    tt_figure_head(d, figure, "B", "", false);
    json_array_foreach(json_object_get(plan, what), i, one)
    {
        json_t *row = tt_figure_row(d, figure);

        tt_row_text(d, row, tt_text_of(one, "key"));
        for (int k = 0; k < 2; k++) {
            char *text =
                json_dumps(json_object_get(one, k ? "b" : "a"), JSON_ENCODE_ANY | JSON_COMPACT);

            tt_row_text(d, row, text ? text : "");
            free(text);
        }
    }
}

void tt_figures_comparison(struct tt_document *d, const json_t *comparison)
{
    const json_t *plan, *m;
    size_t i, k;

    json_array_foreach(json_object_get(comparison, "plans"), i, plan)
        json_array_foreach(json_object_get(plan, "metrics"), k, m)
    {
        const char *verdict = tt_text_of(m, "verdict");

        if (!strcmp(verdict, "worse") || !strcmp(verdict, "better") || k == 0)
            tt_document_say(d, "%s, %s: %s.", tt_text_of(plan, "workload"), tt_text_of(m, "label"),
                            tt_text_of(m, "text"));
    }
    json_array_foreach(json_object_get(comparison, "plans"), i, plan)
    {
        add_verdicts(d, plan);
        json_array_foreach(json_object_get(plan, "metrics"), k, m) add_compared(d, plan, m);
        add_differences(d, plan, "parameters", "Parameters that differ");
        add_differences(d, plan, "environment", "Facts of the system that differ");
    }
}
