/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics.h"

#include <string.h>

/* The directions that rows name. */
/* clang-format off */
#define TIME {TT_BETTER_LOWER, TT_RATIO, "slower", "faster"}
#define RATE {TT_BETTER_HIGHER, TT_RATIO, "faster", "slower"}
#define COST {TT_BETTER_LOWER, TT_RATIO, "higher", "lower"}
#define SHARE_WANTED {TT_BETTER_HIGHER, TT_DIFFERENCE, "higher", "lower"}
/* What the job needed, or what went on beside it, is not the system's that is measured. */
#define NEED {TT_BETTER_NEITHER, TT_RATIO, "higher", "lower"}
#define SHARE {TT_BETTER_NEITHER, TT_DIFFERENCE, "higher", "lower"}
#define COUNT {TT_BETTER_NEITHER, TT_RATIO, "higher", "lower"}
/* clang-format on */

const struct tt_metric tt_metrics[TT_NMETRICS] = {
#define X(name, unit, label, direction, source, shown, definition) \
    {#name, unit, label, definition, direction, TT_FROM_##source, shown},
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
