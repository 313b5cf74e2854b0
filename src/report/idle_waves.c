/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/idle_waves.h"

#include <math.h>

#include "analysis/result.h"
#include "base/json.h"

#define NOTABLE 0.05 /* of the runtime */

static double speed_of(const json_t *front)
{
    return tt_number_of(front, "speed");
}

/* "1.0 ranks per iteration to higher ranks, up to rank 15": the way of one front. */
static void add_front(struct tt_paragraph *p, const json_t *front, const char *before,
                      const char *way)
{
    if (speed_of(front) > 0)
        tt_paragraph_add(p, "%s%.2f ranks per iteration to %s ranks, as far as rank %.0f", before,
                         speed_of(front), way, tt_number_of(front, "last_rank"));
}

void tt_idle_wave_sentence(const json_t *wave, struct tt_paragraph *p)
{
    const json_t *up = json_object_get(wave, "up"), *down = json_object_get(wave, "down");

    tt_paragraph_add(p, "An idle wave began on rank %.0f in iteration %.0f (%.3g s)",
                     tt_number_of(wave, "rank"), tt_number_of(wave, "iteration"),
                     tt_number_of(wave, "seconds"));
    if (speed_of(up) > 0 && fabs(speed_of(up) - speed_of(down)) < 0.1 * speed_of(up)) {
        tt_paragraph_add(
            p, " and travelled %.2f ranks per iteration both ways, as far as ranks %.0f and %.0f",
            speed_of(up), tt_number_of(down, "last_rank"), tt_number_of(up, "last_rank"));
        return;
    }
    add_front(p, up, " and travelled ", "higher");
    add_front(p, down, speed_of(up) > 0 ? " and " : " and travelled ", "lower");
}

const json_t *tt_notable_idle_wave(const json_t *result)
{
    const json_t *first =
        json_array_get(json_object_get(json_object_get(result, "idle_waves"), "waves"), 0);

    return tt_number_of(first, "seconds") > NOTABLE * tt_result_metric(result, "runtime") ? first
                                                                                          : NULL;
}

void tt_report_idle_waves(FILE *out, const json_t *result, bool all)
{
    const json_t *found = json_object_get(result, "idle_waves"), *one;
    bool any = false;
    size_t i;

    json_array_foreach(json_object_get(found, "waves"), i, one)
    {
        struct tt_paragraph p = {0};

        if (!all && one != tt_notable_idle_wave(result))
            break;
        if (!any)
            fputc('\n', out);
        any = true;
        tt_idle_wave_sentence(one, &p);
        tt_paragraph_print(&p, out, "idle wave");
    }
    json_array_foreach(json_object_get(found, "stalls"), i, one)
    {
        if (!all)
            break;
        if (!any)
            fputc('\n', out);
        any = true;
        tt_say(out, "stall", "%.0f ranks waited %.3g s at once, in iteration %.0f",
               tt_number_of(one, "ranks"), tt_number_of(one, "seconds"),
               tt_number_of(one, "iteration"));
    }
}
