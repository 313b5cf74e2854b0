/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics.h"

#include <string.h>

/* The directions that rows name. With the same plan a rate over the whole run is the runtime over
 * again, so it is not usual. */
/* clang-format off */
#define TIME {TT_BETTER_LOWER, TT_RATIO, "slower", "faster", true}
#define RATE {TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", true}
#define RATE_OF_RUNTIME {TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", false}
#define COST {TT_BETTER_LOWER, TT_RATIO, "higher", "lower", true}
#define SHARE_WANTED {TT_BETTER_HIGHER, TT_DIFFERENCE, "higher", "lower", true}
#define SHARE_LOST {TT_BETTER_LOWER, TT_DIFFERENCE, "higher", "lower", true}
#define COUNT {TT_BETTER_NEITHER, TT_RATIO, "higher", "lower", false}

/* clang-format on */

const struct tt_metric tt_metrics[TT_NMETRICS] = {
#define X(name, unit, label, direction, definition) {#name, unit, label, definition, direction},
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
