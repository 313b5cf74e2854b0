/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates of single frames: bytes over the median of all ranks' times, then their median. */
#include <math.h>
#include <stdlib.h>

#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"

/* Beyond so many a bootstrap takes long and tells no more than order statistics. */
#define MOST_RESAMPLED 1000

/* Rates of the frames that count, ascending; *n of them. NULL: no memory. */
static double *frame_rates(const struct tt_run_data *run, bool reading, size_t *n)
{
    struct tt_rows t = tt_rows_of(run->plan, run->tables, "frames");
    double *rates = malloc((t.n + 1) * sizeof *rates);

    *n = 0;
    for (size_t i = 0; rates && i < t.n; i++) {
        double rate = tt_cell(&t, i, "bytes") / tt_cell(&t, i, "median");

        if ((tt_cell(&t, i, "access") > 0) == reading && tt_cell(&t, i, "counted") > 0 &&
            isfinite(rate))
            rates[(*n)++] = rate;
    }
    if (rates)
        tt_median(rates, *n); /* which sorts */
    return rates;
}

struct tt_value tt_frame_rate(const struct tt_run_data *run, bool reading)
{
    struct tt_value v = {.note = TT_NOT_REPORTED};
    size_t n;
    double *rates = frame_rates(run, reading, &n);

    if (rates && n > 0)
        v = (struct tt_value){.known = true,
                              .value = tt_median(rates, n),
                              .note = run->finished ? NULL : "until the run ended early"};
    free(rates);
    return v;
}

struct tt_value tt_frame_rate_bound(const struct tt_run_data *run, bool upper)
{
    struct tt_value v = {.note = TT_NOT_REPORTED};
    struct tt_interval interval = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;
    size_t n;
    double *rates = frame_rates(run, false, &n);
    struct tt_sample sample = {n, rates};

    if (n > MOST_RESAMPLED)
        interval = tt_median_interval(&sample, TT_LEVEL);
    if (rates && n > 0 &&
        (n > MOST_RESAMPLED ||
         tt_bootstrap_median(&sample, TT_LEVEL, 1, &interval, &ignored) == TT_OK)) {
        v.known = interval.known;
        v.value = upper ? interval.high : interval.low;
        v.note = interval.known ? NULL : "too few frames for an interval";
    }
    free(rates);
    return v;
}
