/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: where its time went, its iterations, its rates and calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/result.h"
#include "analysis/tables.h"
#include "analysis/times.h"
#include "base/json.h"
#include "record/phases.h"
#include "report/figures.h"
#include "report/report.h"

#define GROUP "The run"
#define OVER_TIME "Over time"
#define MOST_SAMPLES 500000 /* dots of a figure; of more only the slowest rank's */
#define MOST_RANKS 8        /* that are groups of their own */
#define MOST_ROWS 2000      /* of a table */

/* ---- the answer ---- */

struct said {
    struct tt_paragraph first, rest; /* what was moved, and how long it took; what overlap gained */
};

static void take_answer(void *context, const char *label, const struct tt_paragraph *p)
{
    struct said *s = context;
    bool gain = !strcmp(label, "gain") || !strcmp(label, "auto");

    if (gain)
        tt_paragraph_add(&s->rest, "%s%s", s->rest.n ? "; " : "", p->text);
    else
        tt_paragraph_add(&s->first, "%s%s %s", s->first.n ? "; " : "", label, p->text);
}

/* "stencil on 2 ranks: write 312 MiB/s, 78 IOPS; runtime 4.31 s." */
static void say_answer(struct tt_document *d, const json_t *result)
{
    const json_t *plan = json_object_get(result, "plan");
    long long ranks = (long long)tt_integer_of(plan, "ranks");
    struct said s = {0};

    tt_report_answers(result, take_answer, &s);
    tt_document_say(d, "%s on %lld rank%s: %s.", tt_text_of(plan, "workload"), ranks,
                    ranks == 1 ? "" : "s", s.first.n ? s.first.text : "nothing was measured");
    if (s.rest.n)
        tt_document_say(d, "Overlap is %s.", s.rest.text);
}

static void say_status(struct tt_document *d, const json_t *result)
{
    const char *status = tt_text_of(result, "status"), *error = tt_text_of(result, "error");

    if (strcmp(status, "done") != 0)
        tt_document_say(d, "The run did not end well: %s%s%s.", status, *error ? "; " : "", error);
    else if (!tt_is_true(result, "valid"))
        tt_document_say(d, "The run is not valid%s%s.", *error ? ": " : "", error);
}

/* ---- phases ---- */

static void add_phases(struct tt_document *d, const json_t *result)
{
    double median[TT_NPHASES], min[TT_NPHASES], max[TT_NPHASES];
    const json_t *all = json_object_get(result, "phases");
    json_t *figure, *x;
    size_t n = 0;

    for (int i = 0; i < TT_NPHASES; i++)
        n += tt_number_of(json_object_get(all, tt_phase_names[i]), "max") > 0;
    if (n == 0)
        return;
    figure = tt_figure(d, "bars", "phases", GROUP, "Where the time went",
                       "Seconds of a rank in each phase: the median over ranks, from the rank with "
                       "the least to the one with the most. io_* are calls of any thread, inside "
                       "of other phases or beside them.");
    x = tt_figure_axis(d, figure, "x", "phase", "", "category");
    tt_figure_axis(d, figure, "y", "time of a rank", "s", "linear");
    n = 0;
    for (int i = 0; i < TT_NPHASES; i++) {
        const json_t *phase = json_object_get(all, tt_phase_names[i]);

        if (!(tt_number_of(phase, "max") > 0))
            continue;
        tt_axis_category(d, x, tt_phase_names[i]);
        median[n] = tt_number_of(phase, "median");
        min[n] = tt_number_of(phase, "min");
        max[n++] = tt_number_of(phase, "max");
    }
    tt_figure_series(d, figure, "median over ranks",
                     &(struct tt_points){n, .y = median, .low = min, .high = max});
}

/* ---- iterations ---- */

struct iterations {
    struct tt_times times;
    double *slowest; /* rank's of every frame; NULL: there are no frames */
    double *numbers; /* of the iterations */
};

static int load_iterations(const char *directory, struct iterations *out, struct tt_error *e)
{
    struct tt_times *t = &out->times;
    int rc = tt_times_load(directory, TT_TIMES_SPAN, 0, t, e);

    if (rc != TT_OK || t->nframes == 0 || t->nranks == 0)
        return rc;
    out->slowest = malloc(t->nframes * sizeof *out->slowest);
    out->numbers = malloc(t->nframes * sizeof *out->numbers);
    if (!out->slowest || !out->numbers)
        return tt_fail_nomem(e, "iterations");
    for (size_t f = 0; f < t->nframes; f++) {
        out->numbers[f] = (double)t->frames[f];
        out->slowest[f] = NAN;
        for (size_t r = 0; r < t->nranks; r++)
            out->slowest[f] = fmax(out->slowest[f], t->values[r * t->nframes + f]);
    }
    return TT_OK;
}

static void free_iterations(struct iterations *i)
{
    free(i->slowest);
    free(i->numbers);
    tt_times_free(&i->times);
}

/* Dots in groups: ranks if they are few, the slowest of them if there would be too many dots. */
static void add_samples(struct tt_document *d, const struct iterations *i)
{
    const struct tt_times *t = &i->times;
    size_t n = t->nranks * t->nframes;
    json_t *figure = tt_figure(d, "samples", "iterations", GROUP, "How long iterations took",
                               "Wall time of every iteration of every rank outside of baseline "
                               "epochs, with the median and its 95 % interval.");

    tt_figure_axis(d, figure, "y", "iteration", "s", "linear");
    if (n > MOST_SAMPLES && t->nranks > 1) {
        tt_figure_note(d, figure, "Of %zu samples only the slowest rank's of each iteration.", n);
        tt_figure_samples(d, figure, "slowest rank", t->nframes, i->slowest, NULL);
    } else if (t->nranks > MOST_RANKS) {
        tt_figure_samples(d, figure, "all ranks", n, t->values, NULL);
    } else {
        for (size_t r = 0; r < t->nranks; r++) {
            char name[32];

            snprintf(name, sizeof name, "rank %u", t->ranks[r]);
            tt_figure_samples(d, figure, name, t->nframes, t->values + r * t->nframes, NULL);
        }
    }
    if (t->left_out)
        tt_figure_note(d, figure,
                       "%zu ranks are left out: of their late iterations only sums were kept.",
                       t->left_out);
}

static void add_order(struct tt_document *d, const struct iterations *i)
{
    json_t *figure =
        tt_figure(d, "dots", "iterations-over-time", OVER_TIME, "Iterations, one after another",
                  "The slowest rank's wall time of each iteration: drift, jumps and "
                  "repeating stalls show here.");

    tt_figure_axis(d, figure, "x", "iteration", "", "count");
    tt_figure_axis(d, figure, "y", "slowest rank", "s", "linear");
    tt_figure_series(d, figure, "slowest rank",
                     &(struct tt_points){i->times.nframes, i->numbers, i->slowest});
}

/* ---- rates and calls ---- */

static void add_rates(struct tt_document *d, const json_t *result)
{
    static const char *const directions[] = {"write", "read"};
    const json_t *rates = json_object_get(result, "rates"), *rows = json_object_get(rates, "rows");
    double interval = tt_number_of(rates, "interval");
    size_t n = json_array_size(rows);
    double *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    json_t *figure = NULL;

    d->failed |= !x || !y;
    for (size_t k = 0; k < 2 && x && y && interval > 0; k++) {
        double sum = 0;

        for (size_t i = 0; i < n; i++) {
            const json_t *row = json_array_get(rows, i);

            x[i] = json_number_value(json_array_get(row, 0));
            y[i] = json_number_value(json_array_get(row, 1 + 2 * k)) / interval;
            sum += y[i];
        }
        if (!(sum > 0))
            continue;
        if (!figure) {
            figure = tt_figure(d, "lines", "rates", OVER_TIME, "Rates over time",
                               "Bytes that all ranks moved in each interval / its length.");
            tt_figure_axis(d, figure, "x", "time since the start", "s", "time");
            tt_figure_axis(d, figure, "y", "rate", "B/s", "linear");
            tt_document_set_text(d, figure, "linked", "time");
            tt_figure_note(d, figure, "Intervals of %.3g s.", interval);
        }
        tt_figure_series(d, figure, directions[k], &(struct tt_points){n, x, y});
    }
    free(x);
    free(y);
}

/* A histogram as quantiles: p of the calls took no longer. */
static void add_call(struct tt_document *d, json_t *figure, const char *name, const json_t *call)
{
    const json_t *histogram = json_object_get(call, "histogram"), *row;
    double count = tt_number_of(call, "count"), before = 0;
    size_t i, n = json_array_size(histogram);
    double *p = malloc((n + 1) * sizeof *p), *took = malloc((n + 1) * sizeof *took);

    json_t *series;
    char calls[48];

    d->failed |= !p || !took;
    if (p && took && count > 0) {
        json_array_foreach(histogram, i, row)
        {
            p[i] = fmin(before / count, 1 - 1e-12);
            took[i] =
                fmin(1e-9 * json_number_value(json_array_get(row, 1)), tt_number_of(call, "max"));
            before += json_number_value(json_array_get(row, 2));
        }
        series = tt_figure_series(d, figure, name, &(struct tt_points){n, p, took});
        snprintf(calls, sizeof calls, "%.0f calls", count);
        tt_document_set_text(d, series, "text", calls);
        tt_document_set(d, series, "n", tt_json_real(count));
        tt_document_word(d, name);
    }
    free(p);
    free(took);
}

static void add_calls(struct tt_document *d, const json_t *result)
{
    json_t *figure = NULL;

    for (int i = 0; i < TT_NCALLS; i++) {
        const json_t *call = tt_member_at(json_object_get(result, "calls"), tt_call_names[i]);

        if (!(tt_number_of(call, "count") > 0) ||
            json_array_size(json_object_get(call, "histogram")) == 0)
            continue;
        if (!figure) {
            figure = tt_figure(d, "lines", "latencies", GROUP, "How long single calls took",
                               "Percentiles over the calls of all ranks: this share of them took "
                               "no longer.");
            tt_figure_axis(d, figure, "x", "share of calls", "", "percentile");
            tt_figure_axis(d, figure, "y", "latency", "s", "log");
            tt_figure_note(d, figure, "From histograms whose bins are a few percent wide.");
        }
        add_call(d, figure, tt_call_names[i], call);
    }
}

/* ---- overlap ---- */

/* What an epoch takes, and its parts by themselves. */
static void add_epochs(struct tt_document *d, const json_t *result)
{
    static const struct {
        enum tt_metric_id metric;
        const char *name;
    } parts[] = {{TT_METRIC_compute_only, "computation alone"},
                 {TT_METRIC_io_only, "I/O alone"},
                 {TT_METRIC_epoch_copy, "copying"},
                 {TT_METRIC_epoch_time, "epoch with overlap"}};
    double values[4];
    json_t *figure, *x;

    if (!(tt_result_metric(result, "epoch_time") > 0 && tt_result_metric(result, "io_only") > 0))
        return;
    figure = tt_figure(d, "bars", "overlap", GROUP, "What overlap hides",
                       "An epoch with overlap, beside computation and I/O of baseline epochs, in "
                       "which each had the machine for itself. Without overlap an epoch takes the "
                       "sum of both.");
    x = tt_figure_axis(d, figure, "x", "part", "", "category");
    tt_figure_axis(d, figure, "y", "mean time per epoch", "s", "linear");
    for (size_t i = 0; i < 4; i++) {
        tt_axis_category(d, x, parts[i].name);
        values[i] = tt_result_metric(result, tt_metrics[parts[i].metric].name);
    }
    tt_figure_series(d, figure, "seconds", &(struct tt_points){4, .y = values});
}

static void add_decisions(struct tt_document *d, const json_t *result)
{
    static const char *const members[] = {"sync", "async", "compute", "io", "copy", "staging"};
    static const char *const heads[] = {"if sync", "if async", "computation",
                                        "I/O",     "copy",     "staging"};
    const json_t *output, *decision;
    size_t i, k;

    json_array_foreach(tt_member_at(result, "overlap/auto"), i, output)
    {
        bool staged = tt_number_of(json_array_get(json_object_get(output, "decisions"), 0),
                                   "staging") > 0; /* on a device */
        size_t n = sizeof members / sizeof *members - !staged;
        json_t *figure = tt_figure(d, "table", "decisions", GROUP, "Decisions of overlap=auto",
                                   "From which epoch on dumps were asynchronous, or one of them as "
                                   "a probe, and what was predicted then.");

        tt_figure_head(d, figure, "epoch", "", true);
        tt_figure_head(d, figure, "decision", "", false);
        tt_figure_head(d, figure, "why", "", false);
        for (k = 0; k < n; k++)
            tt_figure_head(d, figure, heads[k], "s", true);
        json_array_foreach(json_object_get(output, "decisions"), k, decision)
        {
            json_t *row = k < MOST_ROWS ? tt_figure_row(d, figure) : NULL;

            if (!row)
                break;
            tt_row_number(d, row, tt_number_of(decision, "epoch"));
            tt_row_text(d, row, tt_text_of(decision, "mode"));
            tt_row_text(d, row, tt_text_of(decision, "why"));
            for (size_t m = 0; m < n; m++)
                tt_row_number(d, row, tt_number_or_nan(decision, members[m]));
        }
    }
}

/* ---- what the workload left ---- */

static void add_table(struct tt_document *d, const json_t *result, const char *name)
{
    struct tt_rows t = tt_result_rows(result, name);
    size_t n = t.n < MOST_ROWS ? t.n : MOST_ROWS;
    bool named = t.described && t.described->rows;
    json_t *figure;

    if (!t.described || t.n == 0)
        return;
    figure =
        tt_figure(d, "table", name, "Tables of the workload", name,
                  "What the workload tells of itself; the columns are explained in the notes.");
    if (named)
        tt_figure_head(d, figure, "name", "", false);
    for (const struct tt_workload_column *c = t.described->columns; c->name; c++) {
        tt_figure_head(d, figure, c->name, c->unit ? c->unit : "", true);
        tt_figure_note(d, figure, "%s: %s", c->name, c->text ? c->text : "");
    }
    for (size_t i = 0; i < n; i++) {
        json_t *row = tt_figure_row(d, figure);

        if (named)
            tt_row_text(d, row, tt_row_name(json_object_get(result, "plan"), name, i));
        for (const struct tt_workload_column *c = t.described->columns; c->name; c++)
            tt_row_number(d, row, tt_cell(&t, i, c->name));
    }
    if (n < t.n)
        tt_figure_note(d, figure, "The first %zu of %zu rows.", n, t.n);
}

static void add_metrics(struct tt_document *d, const json_t *result)
{
    json_t *figure = tt_figure(d, "table", "metrics", GROUP, "Metrics",
                               "Every metric that the run measured, in its unit.");

    tt_figure_head(d, figure, "metric", "", false);
    tt_figure_head(d, figure, "value", "", true);
    tt_figure_units(d, figure);
    for (int i = 0; i < TT_NMETRICS; i++) {
        const json_t *m = json_object_get(json_object_get(result, "metrics"), tt_metrics[i].name);
        json_t *row = tt_has_number(m, "value") ? tt_figure_row(d, figure) : NULL;

        if (!row)
            continue;
        tt_row_text(d, row, tt_metrics[i].label);
        tt_row_number(d, row, tt_number_of(m, "value"));
        tt_row_text(d, row, tt_metrics[i].unit);
        tt_document_metric(d, &tt_metrics[i]);
    }
}

int tt_figures_run(struct tt_document *d, const json_t *result, const char *directory,
                   struct tt_error *e)
{
    struct iterations i = {0};
    const char *name;
    char why[1024];
    json_t *rows;
    int rc;

    say_status(d, result);
    say_answer(d, result);
    tt_describe_run(d, result);
    add_phases(d, result);
    rc = load_iterations(directory, &i, e);
    if (rc != TT_OK && rc != TT_NOMEM) { /* the result can still be shown */
        tt_error_format(e, why, sizeof why);
        tt_document_warn(d, "single iterations cannot be shown", why, -1);
        tt_error_clear(e);
        rc = TT_OK;
    }
    if (rc == TT_OK && i.slowest)
        add_samples(d, &i);
    add_calls(d, result);
    add_epochs(d, result);
    add_decisions(d, result);
    add_metrics(d, result);
    if (rc == TT_OK && i.slowest)
        add_order(d, &i);
    add_rates(d, result);
    if (rc == TT_OK)
        rc = tt_figures_resources(d, result, directory, e);
    if (rc == TT_OK)
        rc = tt_figures_timelines(d, result, directory, e);
    json_object_foreach(json_object_get(result, "tables"), name, rows) add_table(d, result, name);
    free_iterations(&i);
    return rc;
}
