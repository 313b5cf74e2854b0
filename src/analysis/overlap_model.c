/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/overlap_model.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"

const char *const tt_model_rates[] = {"storage", "staging", "copy"};

/* ---- fitting ---- */

static size_t take_rows(const struct tt_history *h, int rate, struct tt_rate_row *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++) {
        const struct tt_past_run *r = &h->runs[i];
        double value = rate == TT_MODEL_STORAGE   ? r->storage_rate
                       : rate == TT_MODEL_STAGING ? r->staging_rate
                                                  : r->copy_rate;
        bool is_of_mode = rate == TT_MODEL_STAGING ||
                          r->mode == (rate == TT_MODEL_STORAGE ? TT_CHOICE_SYNC : TT_CHOICE_ASYNC);

        if (is_of_mode && isfinite(value) && value > 0)
            rows[n++] = (struct tt_rate_row){{r->size, r->ranks}, value};
    }
    return n;
}

static int fit_rate(const struct tt_history *h, int rate, int form, struct tt_rate_row *rows,
                    struct tt_overlap_model *m, struct tt_error *e)
{
    size_t needed = tt_rate_rows_needed(form < 0 ? TT_RATE_LINEAR : (enum tt_rate_form)form);
    size_t n = m->rows[rate] = take_rows(h, rate, rows);
    struct tt_error why = TT_ERROR_CLEAR;
    int best = tt_rate_fit_all(rows, n, m->fits[rate], &why);

    m->chosen[rate] = best < 0 ? -1 : form < 0 ? best : m->fits[rate][form].n > 0 ? form : -1;
    if (m->chosen[rate] >= 0 || rate != TT_MODEL_STORAGE)
        return TT_OK;
    if (n >= needed)
        return tt_fail(e, TT_FAILED,
                       "all %zu synchronous runs have the same size and ranks, which only a form "
                       "with a constant fits: take --fit best, or vary them",
                       n);
    return tt_fail(
        e, TT_FAILED,
        "%zu synchronous run%s with a storage rate, and a fit needs %zu: run %zu more with "
        "--mode sync+imm, of several sizes or ranks",
        n, n == 1 ? "" : "s", needed, needed > n ? needed - n : 1);
}

/* Median and range over the runs of a mode of one member, or of the ratio of two; NaN: none has
 * it. */
static struct tt_range spread_of(const struct tt_history *h, int mode, size_t member,
                                 size_t divisor, double *values)
{
    struct tt_range r = {NAN, NAN, NAN};
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++) {
        const char *run = (const char *)&h->runs[i];
        double x = *(const double *)(run + member);

        if (divisor)
            x /= *(const double *)(run + divisor);
        if (h->runs[i].mode == mode && isfinite(x))
            values[n++] = x;
    }
    if (n > 0) {
        r.value = tt_median(values, n);
        r.low = values[0];
        r.high = values[n - 1];
    }
    return r;
}

#define AT(member) offsetof(struct tt_past_run, member)
int tt_overlap_model_fit(const struct tt_history *h, int form, struct tt_overlap_model *out,
                         struct tt_error *e)
{
    struct tt_rate_row *rows = malloc((h->n + 1) * sizeof *rows);
    double *values = malloc((h->n + 1) * sizeof *values);
    int rc = rows && values ? TT_OK : tt_fail_nomem(e, "a fit");

    *out = (struct tt_overlap_model){.chosen = {-1, -1, -1}};
    for (int rate = 0; rc == TT_OK && rate < TT_NMODEL_RATES; rate++)
        rc = fit_rate(h, rate, form, rows, out, e);
    if (rc == TT_OK)
        out->inflation = spread_of(h, TT_CHOICE_ASYNC, AT(compute), AT(alone), values);
    if (rc == TT_OK && out->rows[TT_MODEL_STAGING] > 0)
        out->waited = spread_of(h, TT_CHOICE_ASYNC, AT(waited), 0, values).value;
    for (int mode = 0; rc == TT_OK && mode < TT_NCHOICES; mode++) {
        out->init[mode] = spread_of(h, mode, AT(init), 0, values).value;
        out->term[mode] = spread_of(h, mode, AT(term), 0, values).value;
    }
    free(rows);
    free(values);
    return rc;
}

/* ---- predicting ---- */

/* A point of the box in which the three unknowns lie. waited: of the I/O, what is in the copy. */
struct point {
    double io, copy, inflation, waited;
};
typedef double figure(const struct tt_overlap_question *q, const struct point *p);

static double epoch_sync(const struct tt_overlap_question *q, const struct point *p)
{
    return tt_epoch_sync(q->compute, p->io);
}

static double epoch_async(const struct tt_overlap_question *q, const struct point *p)
{
    return tt_epoch_async(q->form, q->compute * p->inflation, p->io - p->waited, p->copy);
}

/* Both grow with the I/O, and in the end nothing else counts. */
static double speedup(const struct tt_overlap_question *q, const struct point *p)
{
    return isinf(p->io) ? 1 : epoch_sync(q, p) / epoch_async(q, p);
}

/* From here on computation is long enough to pay for the copy; NaN: it never is. In the physical
 * form I/O + c = I/O - waited + copy; in that of the paper I/O + c = I/O - waited - f c + copy.
 * Either only while I/O is what an epoch waits for. */
static double least_compute(const struct tt_overlap_question *q, const struct point *p)
{
    bool paper = q->form == TT_EPOCH_PAPER;
    double io = p->io - p->waited, cost = fmax(0, p->copy - p->waited);
    double c = paper ? cost / (1 + p->inflation) : cost;

    return p->inflation * c < (paper ? io / 2 : io) ? c : NAN;
}

/* From here on what I/O does to the computation costs more than is hidden of it: I/O + c = f c +
 * copy. */
static double most_compute(const struct tt_overlap_question *q, const struct point *p)
{
    if (!isfinite(least_compute(q, p)))
        return NAN;
    return p->inflation > 1 ? (p->io - p->copy) / (p->inflation - 1) : INFINITY;
}

static double least_interval(const struct tt_overlap_question *q, const struct point *p)
{
    return p->io + least_compute(q, p);
}

static double least_steps(const struct tt_overlap_question *q, const struct point *p)
{
    return ceil(least_compute(q, p) / (q->compute / q->steps));
}

/* The figure in the middle, and its least and most in the box: at a corner, or where computation
 * and I/O are equally long. */
static struct tt_range over_box(const struct tt_overlap_question *q, const struct tt_range box[3],
                                double waited, figure *f)
{
    double bend = q->compute * (q->form == TT_EPOCH_PAPER ? 2 : 1);
    struct point middle = {box[0].value, box[1].value, box[2].value, waited};
    struct tt_range r = {.value = f(q, &middle), .low = INFINITY, .high = -INFINITY};

    for (int i = 0; i < 12; i++) {
        struct point p = {.copy = i & 1 ? box[1].high : box[1].low,
                          .inflation = i & 2 ? box[2].high : box[2].low,
                          .waited = waited};
        double at = bend * p.inflation + waited, y;

        p.io = i >> 2 == 0 ? box[0].low : i >> 2 == 1 ? box[0].high : at;
        if (p.io < box[0].low || p.io > box[0].high)
            continue;
        y = f(q, &p);
        if (isnan(y)) { /* somewhere in the box it is beyond all bounds */
            r.high = INFINITY;
            continue;
        }
        r.low = fmin(r.low, y);
        r.high = fmax(r.high, y);
    }
    if (isnan(r.value))
        r.low = r.high = NAN;
    return r;
}

/* Equation 3, with the ends exchanged. */
static struct tt_range time_of(double size, const struct tt_rate_guess *g)
{
    if (!g->known)
        return (struct tt_range){NAN, NAN, NAN};
    return (struct tt_range){size / g->value, size / g->high,
                             g->low > 0 ? size / g->low : INFINITY};
}

static struct tt_range sum_of(const struct tt_range *a, const struct tt_range *b)
{
    return (struct tt_range){a->value + b->value, a->low + b->low, a->high + b->high};
}

/* Equation 1. */
static struct tt_range whole_run(const struct tt_overlap_model *m,
                                 const struct tt_overlap_question *q, int mode,
                                 const struct tt_range *epoch)
{
    double around = (isfinite(m->init[mode]) ? m->init[mode] : 0) +
                    (isfinite(m->term[mode]) ? m->term[mode] : 0);

    return (struct tt_range){around + q->epochs * epoch->value, around + q->epochs * epoch->low,
                             around + q->epochs * epoch->high};
}

void tt_overlap_predict(const struct tt_overlap_model *m, const struct tt_overlap_question *q,
                        struct tt_overlap_answer *out)
{
    static const struct tt_range unknown = {NAN, NAN, NAN}, undisturbed = {1, 1, 1};
    bool stages = m->rows[TT_MODEL_STAGING] > 0;
    double level = 1 - (1 - TT_LEVEL) / (stages ? TT_NMODEL_RATES : TT_NMODEL_RATES - 1), waited;
    struct tt_overlap_answer a = {.copy = unknown};
    struct tt_range box[3], storage;

    for (int i = 0; i < TT_NMODEL_RATES; i++)
        if (m->chosen[i] >= 0)
            a.rates[i] = tt_rate_predict(&m->fits[i][m->chosen[i]], q->size, q->ranks, level);
    if (stages)
        a.staging = time_of(q->size, &a.rates[TT_MODEL_STAGING]);
    storage = time_of(q->size, &a.rates[TT_MODEL_STORAGE]);
    a.io = box[0] = sum_of(&storage, &a.staging);
    waited = stages && isfinite(m->waited) ? m->waited * a.staging.value : 0;
    a.copy = box[1] = time_of(q->size, &a.rates[TT_MODEL_COPY]);
    box[2] = isfinite(m->inflation.value) ? m->inflation : undisturbed;
    a.epoch[TT_CHOICE_SYNC] = (struct tt_range){tt_epoch_sync(q->compute, a.io.value),
                                                tt_epoch_sync(q->compute, a.io.low),
                                                tt_epoch_sync(q->compute, a.io.high)};
    a.epoch[TT_CHOICE_ASYNC] = a.speedup = a.least_compute = a.most_compute = unknown;
    a.interval = a.steps = unknown;
    if (isfinite(a.io.value) && isfinite(a.copy.value)) {
        a.epoch[TT_CHOICE_ASYNC] = over_box(q, box, waited, epoch_async);
        a.speedup = over_box(q, box, waited, speedup);
        a.least_compute = over_box(q, box, waited, least_compute);
        a.most_compute = over_box(q, box, waited, most_compute);
        a.interval = over_box(q, box, waited, least_interval);
        if (q->steps > 0 && q->compute > 0)
            a.steps = over_box(q, box, waited, least_steps);
    }
    for (int mode = 0; mode < TT_NCHOICES; mode++)
        a.runtime[mode] = q->epochs > 0 ? whole_run(m, q, mode, &a.epoch[mode]) : unknown;
    *out = a;
}

/* ---- checking ---- */

#define MOST_FOLDS 20

/* A run and what was predicted of it. */
struct held_out {
    const struct tt_past_run *run;
    size_t configuration;
    struct tt_range predicted; /* NaN: it could not be */
};

static int by_configuration(const void *a, const void *b)
{
    const struct tt_past_run *x = ((const struct held_out *)a)->run;
    const struct tt_past_run *y = ((const struct held_out *)b)->run;

    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->mode - y->mode;
}

/* Runs in order, and which configuration each is of. Returns how many there are. */
static size_t sort_runs(const struct tt_history *h, struct held_out *held)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        held[i] = (struct held_out){.run = &h->runs[i], .predicted = {NAN, NAN, NAN}};
    qsort(held, h->n, sizeof *held, by_configuration);
    for (size_t i = 0; i < h->n; i++) {
        if (i > 0 && (held[i].run->ranks != held[i - 1].run->ranks ||
                      held[i].run->size != held[i - 1].run->size))
            n++;
        held[i].configuration = n;
    }
    return h->n ? n + 1 : 0;
}

static void predict_run(const struct tt_overlap_model *m, enum tt_epoch_form form,
                        struct held_out *x)
{
    struct tt_overlap_answer answer;

    if (!(x->run->alone >= 0) || !(x->run->epoch > 0))
        return;
    tt_overlap_predict(
        m,
        &(struct tt_overlap_question){
            .ranks = x->run->ranks, .size = x->run->size, .compute = x->run->alone, .form = form},
        &answer);
    x->predicted = answer.epoch[x->run->mode];
}

/* One fold: a fit to all runs but its own, which it then predicts. A fit that has too few runs left
 * predicts nothing. */
static void check_fold(struct held_out *held, size_t n, size_t fold, size_t folds, bool by_run,
                       int form, enum tt_epoch_form epochs, struct tt_past_run *rest)
{
    struct tt_overlap_model m;
    struct tt_history h = {.runs = rest};
    struct tt_error ignored = TT_ERROR_CLEAR;

    for (size_t i = 0; i < n; i++)
        if ((by_run ? i : held[i].configuration) % folds != fold)
            rest[h.n++] = *held[i].run;
    if (tt_overlap_model_fit(&h, form, &m, &ignored) != TT_OK)
        return;
    for (size_t i = 0; i < n; i++)
        if ((by_run ? i : held[i].configuration) % folds == fold)
            predict_run(&m, epochs, &held[i]);
}

/* held[0..n) are of one configuration and mode. */
static struct tt_checked join(const struct held_out *held, size_t n, double *values)
{
    struct tt_checked c = {.ranks = held->run->ranks,
                           .size = held->run->size,
                           .mode = held->run->mode,
                           .n = n,
                           .measured = NAN,
                           .predicted = NAN,
                           .error = NAN};
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(held[i].run->epoch))
            values[k++] = held[i].run->epoch;
    if (k > 0)
        c.measured = tt_median(values, k);
    k = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(held[i].predicted.value)) {
            values[k++] = held[i].predicted.value;
            c.inside += held[i].run->epoch >= held[i].predicted.low &&
                        held[i].run->epoch <= held[i].predicted.high;
        }
    if (k > 0) {
        c.predicted = tt_median(values, k);
        for (size_t i = k = 0; i < n; i++)
            if (isfinite(held[i].predicted.value))
                values[k++] = held[i].predicted.value / held[i].run->epoch - 1;
        c.error = tt_median(values, k);
    }
    return c;
}

static void sum_up(const struct held_out *held, size_t n, double *values, struct tt_check *out)
{
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && held[next].configuration == held[i].configuration &&
                           held[next].run->mode == held[i].run->mode;)
            next++;
        out->rows[out->n] = join(held + i, next - i, values);
        out->inside += out->rows[out->n++].inside;
    }
    for (int mode = 0; mode < TT_NCHOICES; mode++) {
        size_t k = 0;

        for (size_t i = 0; i < n; i++)
            if (held[i].run->mode == mode && isfinite(held[i].predicted.value))
                values[k++] = fabs(held[i].predicted.value / held[i].run->epoch - 1);
        out->error[mode] = k > 0 ? tt_median(values, k) : NAN;
        out->predicted += k;
    }
    for (size_t i = 0; i < n; i++)
        out->unbounded += isinf(held[i].predicted.high) != 0;
}

int tt_overlap_check(const struct tt_history *h, int form, enum tt_epoch_form epochs,
                     struct tt_check *out, struct tt_error *e)
{
    struct held_out *held = malloc((h->n + 1) * sizeof *held);
    struct tt_past_run *rest = malloc((h->n + 1) * sizeof *rest);
    double *values = malloc((h->n + 1) * sizeof *values);
    struct tt_overlap_model all;
    size_t configurations;
    int rc = TT_OK;

    *out = (struct tt_check){.rows = malloc((h->n + 1) * sizeof *out->rows)};
    if (!held || !rest || !values || !out->rows)
        rc = tt_fail_nomem(e, "a check");
    if (rc == TT_OK)
        rc = tt_overlap_model_fit(h, form, &all, e); /* what is missing is said before folds are */
    if (rc == TT_OK) {
        configurations = sort_runs(h, held);
        out->by_run = configurations == 1;
        out->folds = out->by_run ? h->n : configurations;
        if (out->folds > MOST_FOLDS)
            out->folds = MOST_FOLDS;
        for (size_t fold = 0; fold < out->folds; fold++)
            check_fold(held, h->n, fold, out->folds, out->by_run, form, epochs, rest);
        sum_up(held, h->n, values, out);
        if (out->predicted == 0)
            rc = tt_fail(e, TT_FAILED,
                         "no run can be predicted by the others: runs of one more configuration "
                         "(size and ranks), sync+imm and async+bg, are needed");
    }
    free(held);
    free(rest);
    free(values);
    if (rc != TT_OK) {
        free(out->rows);
        out->rows = NULL;
    }
    return rc;
}
