/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates over time, and what single files were asked for. */
#ifndef TT_ANALYSIS_RATES_H
#define TT_ANALYSIS_RATES_H

#include "analysis/run_data.h"

/* In bytes per second, over intervals in which something was moved, as in the one before and the
 * one after: so transfers that begin or end within an interval make no rate too low. */
struct tt_rate_summary {
    unsigned intervals;
    double min, median, max;
    double head, tail; /* of the first and the last quarter of the bytes */
};

/* False if there are fewer than 3 such intervals. */
bool tt_rate_summarize(const struct tt_timeline *t, struct tt_rate_summary *out);
/* Of result.json: {"interval", "columns", "rows", "write": {"min", ...}, "read"}, or null. */
json_t *tt_rates_json(const struct tt_run_data *run);
/* Likewise: [{"path", "write": [[from_bytes, below_bytes, requests]], "read", "stripe_count",
 * "stripe_size"}] of some files; one without a path is all others. */
json_t *tt_files_json(const struct tt_run_data *run);
/* Adds the requests of one more rank to those of all files. */
int tt_files_add(json_t *all, const json_t *requests);

#endif
