/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics.h"

#include <string.h>

const struct tt_metric tt_metrics[TT_NMETRICS] = {
#define X(name, unit, label, definition) {#name, unit, label, definition},
    TT_METRICS(X)
#undef X
};

const struct tt_metric *tt_find_metric(const char *name)
{
    for (int i = 0; i < TT_NMETRICS; i++)
        if (!strcmp(tt_metrics[i].name, name))
            return &tt_metrics[i];
    return NULL;
}
