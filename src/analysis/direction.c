/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/direction.h"

#include <stddef.h>

/* With the same plan, update and flop rate are the runtime over again, so they are not usual. */
static const struct tt_direction directions[] = {
    {TT_METRIC_runtime, TT_BETTER_LOWER, TT_RATIO, "slower", "faster", true},
    {TT_METRIC_update_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", false},
    {TT_METRIC_flop_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", false},
    {TT_METRIC_communication_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", false},
    {TT_METRIC_frame_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", true},
    {TT_METRIC_frame_read_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", true},
    {TT_METRIC_write_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", true},
    {TT_METRIC_read_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", true},
    {TT_METRIC_application_rate, TT_BETTER_HIGHER, TT_RATIO, "faster", "slower", true},
    {TT_METRIC_hidden_fraction, TT_BETTER_HIGHER, TT_DIFFERENCE, "higher", "lower", true},
    {TT_METRIC_inflation, TT_BETTER_LOWER, TT_RATIO, "higher", "lower", true},
    {TT_METRIC_epoch_time, TT_BETTER_LOWER, TT_RATIO, "slower", "faster", true},
    {TT_METRIC_compute_only, TT_BETTER_LOWER, TT_RATIO, "slower", "faster", true},
    {TT_METRIC_io_only, TT_BETTER_LOWER, TT_RATIO, "slower", "faster", true},
    {TT_METRIC_copy_time, TT_BETTER_LOWER, TT_RATIO, "slower", "faster", true},
    {TT_METRIC_cpu_time, TT_BETTER_LOWER, TT_RATIO, "higher", "lower", true},
    {TT_METRIC_cpu_wait, TT_BETTER_LOWER, TT_DIFFERENCE, "higher", "lower", true},
    {TT_METRIC_cpu_others, TT_BETTER_LOWER, TT_DIFFERENCE, "higher", "lower", true},
    {TT_METRIC_peak_memory, TT_BETTER_LOWER, TT_RATIO, "higher", "lower", true},
    {TT_METRIC_imbalance, TT_BETTER_LOWER, TT_RATIO, "higher", "lower", true},
};

struct tt_direction tt_direction_of(enum tt_metric_id metric)
{
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++)
        if (directions[i].metric == metric)
            return directions[i];
    return (struct tt_direction){metric, TT_BETTER_NEITHER, TT_RATIO, "higher", "lower", false};
}
