/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rate_fit.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>

/* Of a column's length: what is left of it beside the others, below which it is one of them. The
 * same as in R's lm. */
#define COLLINEAR 1e-7
#define DID_NOT_VARY "it did not vary"
#define BESIDE 0.01  /* off the line on which regressors grew together */
#define AS_GOOD 1e-3 /* forms whose errors differ by no more than this are equally good */

const char *const tt_rate_forms[] = {"linear", "linear+intercept", "log", "log+intercept", NULL};

static bool has_intercept(enum tt_rate_form form)
{
    return form == TT_RATE_LINEAR_INTERCEPT || form == TT_RATE_LOG_INTERCEPT;
}

static double regressor(enum tt_rate_form form, double x)
{
    return form == TT_RATE_LOG || form == TT_RATE_LOG_INTERCEPT ? log(x) : x;
}

size_t tt_rate_rows_needed(enum tt_rate_form form)
{
    return TT_NREGRESSORS + (has_intercept(form) ? 1 : 0) + 1;
}

static bool is_positive(double x)
{
    return isfinite(x) && x > 0;
}

/* Range, centre and length of each column. One that is always the same has length 0 in every form:
 * without an intercept it would stand for one, and pass for an effect. Returns the mean rate, or
 * NaN for bad rows. */
static double look_at(const struct tt_rate_row *rows, size_t n, struct tt_rate_fit *f)
{
    double sum = 0;

    for (int c = 0; c < TT_NREGRESSORS; c++) {
        double mean = 0, squares = 0, around = 0;

        f->least[c] = f->most[c] = rows[0].of[c];
        for (size_t i = 0; i < n; i++) {
            double x = regressor(f->form, rows[i].of[c]);

            if (!is_positive(rows[i].of[c]))
                return NAN;
            f->least[c] = fmin(f->least[c], rows[i].of[c]);
            f->most[c] = fmax(f->most[c], rows[i].of[c]);
            mean += (x - mean) / (double)(i + 1);
            squares += x * x;
        }
        f->centre[c] = has_intercept(f->form) ? mean : 0;
        for (size_t i = 0; i < n; i++)
            around += pow(regressor(f->form, rows[i].of[c]) - f->centre[c], 2);
        f->scale[c] =
            f->least[c] < f->most[c] && around > COLLINEAR * COLLINEAR * squares ? sqrt(around) : 0;
        f->dropped[c] = f->scale[c] > 0 ? NULL : DID_NOT_VARY;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_positive(rows[i].rate))
            return NAN;
        sum += rows[i].rate;
    }
    return sum / (double)n;
}

/* The column of a regressor, scaled. */
static double scaled(const struct tt_rate_fit *f, unsigned c, double x)
{
    return (regressor(f->form, x) - f->centre[c]) / f->scale[c];
}

/* How much a point at x draws on the line, without the noise of its own: x (X'X)^-1 x'. */
static double leverage(const struct tt_rate_fit *f, const double of[TT_NREGRESSORS])
{
    double h = has_intercept(f->form) ? 1 / (double)f->n : 0, z[TT_NREGRESSORS];

    for (size_t k = 0; k < f->kept; k++) {
        z[k] = scaled(f, f->at[k], of[f->at[k]]);
        for (size_t j = 0; j < k; j++)
            z[k] -= f->r[j][k] * z[j];
        z[k] /= f->r[k][k];
        h += z[k] * z[k];
    }
    return h;
}

static double line_at(const struct tt_rate_fit *f, const double of[TT_NREGRESSORS])
{
    double y = f->intercept;

    for (int c = 0; c < TT_NREGRESSORS; c++)
        y += f->slope[c] * regressor(f->form, of[c]);
    return y;
}

/* What the library needs, of n rows and k columns. */
struct work {
    gsl_matrix *a;
    gsl_vector *y, *tau, *norm, *x, *residual;
    gsl_permutation *order;
};

static bool take_work(struct work *w, size_t n, size_t k)
{
    *w = (struct work){.a = gsl_matrix_alloc(n, k),
                       .y = gsl_vector_alloc(n),
                       .tau = gsl_vector_alloc(k),
                       .norm = gsl_vector_alloc(k),
                       .x = gsl_vector_alloc(k),
                       .residual = gsl_vector_alloc(n),
                       .order = gsl_permutation_alloc(k)};
    return w->a && w->y && w->tau && w->norm && w->x && w->residual && w->order;
}

static void free_work(struct work *w)
{
    gsl_matrix_free(w->a);
    gsl_vector_free(w->y);
    gsl_vector_free(w->tau);
    gsl_vector_free(w->norm);
    gsl_vector_free(w->x);
    gsl_vector_free(w->residual);
    gsl_permutation_free(w->order);
}

/* The columns that vary, of which columns[] says the regressors; then which of them are kept, and
 * the slopes of these. */
static int decompose(const struct tt_rate_row *rows, double mean, const unsigned *columns, size_t k,
                     struct tt_rate_fit *f, struct work *w)
{
    double offset = has_intercept(f->form) ? mean : 0;
    int sign;

    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < k; j++)
            gsl_matrix_set(w->a, i, j, scaled(f, columns[j], rows[i].of[columns[j]]));
        gsl_vector_set(w->y, i, rows[i].rate - offset);
    }
    if (gsl_linalg_QRPT_decomp(w->a, w->tau, w->order, &sign, w->norm) != GSL_SUCCESS)
        return -1;
    for (f->kept = 0; f->kept < k; f->kept++) {
        if (fabs(gsl_matrix_get(w->a, f->kept, f->kept)) < COLLINEAR)
            break;
        for (size_t j = 0; j < k; j++)
            f->r[f->kept][j] = gsl_matrix_get(w->a, f->kept, j);
    }
    for (size_t j = 0; j < k; j++) {
        f->at[j] = columns[gsl_permutation_get(w->order, j)];
        if (j >= f->kept)
            f->dropped[f->at[j]] = "it grew together with the other";
    }
    if (gsl_linalg_QRPT_lssolve2(w->a, w->tau, w->order, w->y, f->kept, w->x, w->residual) !=
        GSL_SUCCESS)
        return -1;
    for (size_t j = 0; j < k; j++)
        if (!f->dropped[columns[j]])
            f->slope[columns[j]] = gsl_vector_get(w->x, j) / f->scale[columns[j]];
    return 0;
}

/* How good the line is, by its own rows and by each row without it. */
static void judge(const struct tt_rate_row *rows, double mean, struct tt_rate_fit *f)
{
    double about = has_intercept(f->form) ? mean : 0, total = 0, rest = 0, left_out = 0;

    for (size_t i = 0; i < f->n; i++) {
        double off = rows[i].rate - line_at(f, rows[i].of);

        total += pow(rows[i].rate - about, 2);
        rest += off * off;
        left_out += pow(off / fmax(1 - leverage(f, rows[i].of), COLLINEAR), 2);
    }
    /* The rounding of equal rates is no spread that anything could explain. */
    f->r2_known = total > 1e-24 * mean * mean * (double)f->n;
    f->r2 = f->r2_known ? 1 - rest / total : 0;
    f->sigma = sqrt(rest / (double)f->freedom);
    f->left_out = sqrt(left_out / (double)f->n) / mean;
}

int tt_rate_fit(const struct tt_rate_row *rows, size_t n, enum tt_rate_form form,
                struct tt_rate_fit *out, struct tt_error *e)
{
    struct tt_rate_fit f = {.form = form, .n = n};
    unsigned columns[TT_NREGRESSORS];
    struct work w;
    double mean;
    size_t k = 0, hidden;
    int rc = TT_OK;

    if (n == 0)
        return tt_fail(e, TT_FAILED, "there are no runs to be fitted");
    mean = look_at(rows, n, &f);
    if (!isfinite(mean))
        return tt_fail(e, TT_FAILED, "sizes, ranks and rates of a fit must be numbers above 0");
    for (unsigned c = 0; c < TT_NREGRESSORS; c++)
        if (!f.dropped[c])
            columns[k++] = c;
    f.varied = k;
    if (k > 0) {
        if (!take_work(&w, n, k))
            rc = tt_fail_nomem(e, "a fit");
        else if (decompose(rows, mean, columns, k, &f, &w) != 0)
            rc = tt_fail(e, TT_FAILED, "the runs could not be fitted");
        free_work(&w);
    }
    if (rc != TT_OK)
        return rc;
    k = f.kept + has_intercept(form);
    if (k == 0)
        return tt_fail(e, TT_FAILED,
                       "neither size nor ranks vary: only a form with an intercept can be fitted");
    /* Without an intercept, what did not vary may hide one: that takes a run more. */
    hidden = has_intercept(form) ? 0 : TT_NREGRESSORS - f.varied;
    if (n <= k + hidden)
        return tt_fail(e, TT_FAILED, "a fit of %zu coefficients needs %zu runs, and has %zu", k,
                       k + hidden + 1, n);
    if (has_intercept(form)) {
        f.intercept = mean;
        for (int c = 0; c < TT_NREGRESSORS; c++)
            f.intercept -= f.slope[c] * f.centre[c];
    }
    f.freedom = n - k;
    judge(rows, mean, &f);
    *out = f;
    return TT_OK;
}

int tt_rate_fit_all(const struct tt_rate_row *rows, size_t n,
                    struct tt_rate_fit out[TT_NRATE_FORMS], struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    double least = INFINITY;
    int best = -1;

    for (int form = 0; form < TT_NRATE_FORMS; form++) {
        out[form] = (struct tt_rate_fit){.form = (enum tt_rate_form)form};
        if (tt_rate_fit(rows, n, (enum tt_rate_form)form, &out[form], &why) == TT_OK)
            least = fmin(least, out[form].left_out);
    }
    for (int form = 0; form < TT_NRATE_FORMS; form++)
        if (out[form].n > 0 && out[form].left_out <= least + AS_GOOD &&
            (best < 0 || (has_intercept(out[form].form) && !has_intercept(out[best].form))))
            best = form;
    return best < 0 ? tt_fail(e, why.code, "%s", why.text) : best;
}

/* Where a regressor was dropped since it grew with the other, and here it has not. */
static bool is_beside(const struct tt_rate_fit *f, const double of[TT_NREGRESSORS])
{
    for (size_t j = f->kept; j < f->varied; j++) {
        double x = scaled(f, f->at[j], of[f->at[j]]);
        double along = f->r[0][j] / f->r[0][0] * scaled(f, f->at[0], of[f->at[0]]);

        if (fabs(x - along) > BESIDE * fmax(fabs(x), fabs(along)))
            return true;
    }
    return false;
}

struct tt_rate_guess tt_rate_predict(const struct tt_rate_fit *f, double size, double ranks,
                                     double level)
{
    const double of[TT_NREGRESSORS] = {size, ranks};
    double half = gsl_cdf_tdist_Pinv(0.5 + level / 2, (double)f->freedom) * f->sigma;
    double spread = sqrt(1 + leverage(f, of));
    struct tt_rate_guess g = {.value = line_at(f, of), .outside = is_beside(f, of)};

    for (int c = 0; c < TT_NREGRESSORS; c++) {
        g.untold[c] = f->least[c] == f->most[c] && of[c] != f->least[c];
        g.outside = g.outside || (!g.untold[c] && (of[c] < f->least[c] || of[c] > f->most[c]));
    }
    g.known = is_positive(g.value);
    g.low = fmax(0, g.value - half * spread);
    g.high = g.value + half * spread;
    g.widened = spread / sqrt(1 + (double)(f->n - f->freedom) / (double)f->n);
    return g;
}
