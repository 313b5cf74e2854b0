/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indexed runs shown: a line, an object or a row each. */
#ifndef TT_REPORT_RUNS_H
#define TT_REPORT_RUNS_H

#include <stdio.h>

#include "store/store.h"

/* The keys of filters that columns lists, or if it is NULL date, duration, rates and what was
 * varied between the runs, as far as it fits 80 columns. */
int tt_report_runs(FILE *out, struct tt_store *s, const struct tt_run_rows *runs,
                   const char *columns, struct tt_error *e);
/* {"runs": [...]}: what the list shows, or everything. path "-" is stdout. */
int tt_report_runs_json(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                        bool everything, struct tt_error *e);
/* All parameters and metrics, with their units in the names of the columns. */
int tt_report_runs_csv(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                       struct tt_error *e);
/* Metrics of the newest run of each workload, label, plan, host and context, in the text format of
 * Prometheus. */
int tt_report_runs_prometheus(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                              struct tt_error *e);

#endif
