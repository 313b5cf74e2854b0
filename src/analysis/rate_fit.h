/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rate as a line over the size of a transfer and the number of ranks, or over their logarithms:
 * least squares by QR with column pivoting, after columns have been scaled to the same length, so
 * that what cannot be told apart is seen and not divided by. Pure functions. */
#ifndef TT_ANALYSIS_RATE_FIT_H
#define TT_ANALYSIS_RATE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum tt_rate_form {
    TT_RATE_LINEAR,
    TT_RATE_LINEAR_INTERCEPT,
    TT_RATE_LOG,
    TT_RATE_LOG_INTERCEPT,
    TT_NRATE_FORMS
};
extern const char *const tt_rate_forms[]; /* names, up to NULL */

enum { TT_OF_SIZE, TT_OF_RANKS, TT_NREGRESSORS };

struct tt_rate_row {
    double of[TT_NREGRESSORS]; /* bytes over all ranks, and ranks: above 0 */
    double rate;               /* bytes per second: above 0 */
};

struct tt_rate_fit {
    enum tt_rate_form form;
    size_t n, freedom; /* rows; rows less coefficients */
    double intercept, slope[TT_NREGRESSORS];
    const char *dropped[TT_NREGRESSORS]; /* why a regressor has no slope; NULL: it has one */
    bool r2_known;                       /* not if all rates are the same */
    double r2;       /* 1 - SSres / SStot, about the mean with an intercept, else about zero */
    double sigma;    /* standard deviation of the residuals */
    double left_out; /* root mean square error of each rate by a fit without it, of the mean rate */
    double least[TT_NREGRESSORS], most[TT_NREGRESSORS]; /* the data's range */
    /* of the decomposition: regressors that vary, in order of pivoting, those kept first, and
     * their triangle */
    size_t varied, kept;
    unsigned at[TT_NREGRESSORS];
    double centre[TT_NREGRESSORS], scale[TT_NREGRESSORS], r[TT_NREGRESSORS][TT_NREGRESSORS];
};

/* Rows that are enough for a fit of this form: one more than it may have coefficients. Fewer are
 * enough where regressors are dropped, but without an intercept one that did not vary counts. */
size_t tt_rate_rows_needed(enum tt_rate_form form);
/* TT_FAILED with no more rows than coefficients, with no coefficient at all, and with a value that
 * is not finite and above 0. */
int tt_rate_fit(const struct tt_rate_row *rows, size_t n, enum tt_rate_form form,
                struct tt_rate_fit *out, struct tt_error *e);
/* All forms that there are rows for; returns the one whose left_out is least; among equals one with
 * an intercept, then the first. Others have n = 0. A negative code: there is none. */
int tt_rate_fit_all(const struct tt_rate_row *rows, size_t n,
                    struct tt_rate_fit out[TT_NRATE_FORMS], struct tt_error *e);

struct tt_rate_guess {
    bool known;              /* false: the line gives no rate above 0 there */
    double value, low, high; /* low 0: the interval has no lower end above it */
    bool outside;            /* of the data's range, or beside it where regressors grew together */
    bool
        untold[TT_NREGRESSORS]; /* it did not vary and is another one here: its effect is unknown */
    double widened;             /* width of the interval, of that inside of the data */
};
/* The rate of one more transfer, with a prediction interval. */
struct tt_rate_guess tt_rate_predict(const struct tt_rate_fit *fit, double size, double ranks,
                                     double level);

#endif
