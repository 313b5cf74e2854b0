/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What single calls took, over all ranks: percentiles, rates of calls, histograms. A percentile q
 * is told only of at least 1 / (1 - q) calls: of fewer it would be the longest of them. */
#ifndef TT_ANALYSIS_LATENCY_H
#define TT_ANALYSIS_LATENCY_H

#include "analysis/run_data.h"

/* The note of a percentile of calls of which there were none; results leave it out. */
#define TT_NO_SUCH_CALL "no such call was made"

/* A metric whose source is CALLS. */
struct tt_value tt_percentile(const struct tt_run_data *run, enum tt_metric_id id);
/* Calls per second of the time that the rate of bytes uses; both metrics are known already. */
struct tt_value tt_iops(const struct tt_run_data *run, enum tt_call call, enum tt_metric_id rate,
                        enum tt_metric_id bytes);
/* Of result.json: {"write": {"count", "min", "mean", "p50", ..., "histogram"}, ...} of calls that
 * were made. */
json_t *tt_calls_json(const struct tt_run_data *run);

#endif
