/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which way a metric is better, and how a difference of it is said. */
#ifndef TT_ANALYSIS_DIRECTION_H
#define TT_ANALYSIS_DIRECTION_H

#include <stdbool.h>

#include "analysis/metrics.h"
#include "analysis/statistics.h"

enum tt_better { TT_BETTER_NEITHER, TT_BETTER_LOWER, TT_BETTER_HIGHER };

struct tt_direction {
    enum tt_metric_id metric;
    enum tt_better better;
    enum tt_effect effect; /* a difference for what has no natural zero */
    const char *up, *down; /* what a higher and a lower value are called */
    bool usual;            /* compared unless metrics are named */
};
/* Of any metric; one that is not in the table is neither better higher nor lower. */
struct tt_direction tt_direction_of(enum tt_metric_id metric);

#endif
