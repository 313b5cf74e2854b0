/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates of single frames: bytes over the median of all ranks' times, then their median. */
#include <math.h>
#include <stdlib.h>

#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "workloads/frames/frames.h"

/* Beyond so many a bootstrap takes long and tells no more than order statistics. */
#define MOST_RESAMPLED 1000

static const char not_reported[] = "this workload does not report it";

static double cell(const json_t *row, enum tt_frames_column column)
{
    return json_number_value(json_array_get(row, column));
}

/* Rates of the frames that count, ascending; *n of them. NULL: no memory. */
static double *frame_rates(const struct tt_run_data *run, bool reading, size_t *n)
{
    const json_t *rows = json_object_get(run->tables, "frames");
    double *rates = malloc((json_array_size(rows) + 1) * sizeof *rates);

    *n = 0;
    for (size_t i = 0; rates && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double rate = cell(row, TT_FRAMES_BYTES) / cell(row, TT_FRAMES_MEDIAN_S);

        if ((cell(row, TT_FRAMES_ACCESS) > 0) == reading && cell(row, TT_FRAMES_COUNTED) > 0 &&
            isfinite(rate))
            rates[(*n)++] = rate;
    }
    if (rates)
        tt_median(rates, *n); /* which sorts */
    return rates;
}

struct tt_value tt_frame_rate(const struct tt_run_data *run, bool reading)
{
    struct tt_value v = {.note = not_reported};
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
    struct tt_value v = {.note = not_reported};
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
