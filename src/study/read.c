/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the repetitions of a study have measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "base/json.h"
#include "ensemble/run.h"
#include "study/private.h"

/* A repetition belongs to the row of its step; the same again, to that which it repeats. */
static size_t row_of(const struct tt_study *s, size_t point)
{
    const struct tt_step *step = &s->steps[point % s->nsteps];
    size_t k = step->again ? step->base : point % s->nsteps;

    return TT_ROW(s, point / s->nsteps, k);
}

static int take_repetition(const struct tt_repetition *r, const json_t *o, size_t row,
                           struct tt_measured *out, struct tt_error *e)
{
    const json_t *job = json_array_get(json_object_get(o, "jobs"), 0);
    const json_t *metrics = json_object_get(job, "metrics");
    const char *id = tt_text_of(job, "directory");

    *out =
        (struct tt_measured){.row = row, .number = r->number, .round = r->round, .slowdown = NAN};
    for (int m = 0; m < TT_NMETRICS; m++)
        out->values[m] = tt_number_or_nan(metrics, tt_metrics[m].name);
    return asprintf(&out->directory, "%s/%s", r->directory, strchr(id, '/') ? "" : id) < 0
               ? (out->directory = NULL, tt_fail_nomem(e, "a path"))
               : TT_OK;
}

/* By row; within one they stay in the order in which they were run. */
static int sort_by_row(const struct tt_study *s, struct tt_measurements *m, struct tt_error *e)
{
    size_t nrows = s->npoints * s->nrows;
    struct tt_measured *sorted = calloc(m->n + 1, sizeof *sorted);
    size_t *next = calloc(nrows + 1, sizeof *next);
    int rc;

    m->first = calloc(nrows + 1, sizeof *m->first);
    rc = sorted && next && m->first ? TT_OK : tt_fail_nomem(e, "the repetitions");
    for (size_t i = 0; i < m->n && rc == TT_OK; i++)
        m->first[m->list[i].row + 1]++;
    for (size_t r = 0; r < nrows && rc == TT_OK; r++) {
        m->first[r + 1] += m->first[r];
        next[r] = m->first[r];
    }
    for (size_t i = 0; i < m->n && rc == TT_OK; i++)
        sorted[next[m->list[i].row]++] = m->list[i];
    free(next);
    if (rc != TT_OK) {
        free(sorted);
        return rc;
    }
    free(m->list);
    m->list = sorted;
    return TT_OK;
}

/* Mean runtime of the reference alone in a round of the point. */
static double alone_in(const struct tt_measurements *m, size_t row, uint64_t round)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = m->first[row]; i < m->first[row + 1]; i++)
        if (m->list[i].round == round && isfinite(m->list[i].values[TT_METRIC_runtime])) {
            sum += m->list[i].values[TT_METRIC_runtime];
            n++;
        }
    return n && sum > 0 ? sum / (double)n : NAN;
}

static void add_slowdowns(const struct tt_study *s, struct tt_measurements *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct tt_measured *one = &m->list[i];
        size_t k = one->row % s->nrows;

        if (s->steps[k].others > 0)
            one->slowdown = one->values[TT_METRIC_runtime] /
                            alone_in(m, one->row - k + s->steps[k].base, one->round);
    }
}

int tt_study_read(const struct tt_study *s, const char *directory, struct tt_measurements *out,
                  struct tt_error *e)
{
    struct tt_runner_report report = {0};
    int rc = tt_study_journal(s, directory, &report, e);

    *out = (struct tt_measurements){.list = calloc(report.n + 1, sizeof *out->list)};
    if (rc == TT_OK && !out->list)
        rc = tt_fail_nomem(e, "the repetitions");
    for (size_t i = 0; i < report.n && rc == TT_OK; i++) {
        const struct tt_repetition *r = &report.list[i];
        json_t *o = NULL;

        if (!r->complete)
            continue;
        rc = tt_repetition_read(directory, r, &o, e);
        if (o)
            rc = take_repetition(r, o, row_of(s, r->point), &out->list[out->n], e);
        out->n += o && rc == TT_OK;
        json_decref(o);
    }
    free(report.list);
    if (rc == TT_OK)
        rc = sort_by_row(s, out, e);
    if (rc == TT_OK)
        add_slowdowns(s, out);
    return rc;
}

void tt_measurements_free(struct tt_measurements *m)
{
    for (size_t i = 0; m->list && i < m->n; i++)
        free(m->list[i].directory);
    free(m->list);
    free(m->first);
    *m = (struct tt_measurements){0};
}

double tt_measured_value(const struct tt_measured *one, int metric)
{
    return metric == TT_METRIC_SLOWDOWN ? one->slowdown : one->values[metric];
}

struct tt_sample tt_row_sample(const struct tt_measurements *m, size_t row, int metric,
                               double *values)
{
    struct tt_sample s = {0, values};

    for (size_t i = m->first[row]; i < m->first[row + 1]; i++)
        if (isfinite(tt_measured_value(&m->list[i], metric)))
            values[s.n++] = tt_measured_value(&m->list[i], metric);
    gsl_sort(values, 1, s.n);
    return s;
}
