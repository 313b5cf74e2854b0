/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a survey may write, and how long it may take, before anything is written. */
#include "plan/limits.h"
#include "spec/units.h"
#include "survey/survey.h"

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void add_to(uint64_t *sum, uint64_t amount)
{
    if (__builtin_add_overflow(*sum, amount, sum))
        *sum = UINT64_MAX;
}

static uint64_t point_bytes(const struct tt_survey_point *p)
{
    return times(times(p->nodes, p->processes), p->size);
}

uint64_t tt_survey_stage_bytes(const struct tt_survey_stage *stage)
{
    uint64_t bytes = 0;

    for (size_t k = 0; stage->write && k < stage->n; k++)
        add_to(&bytes, times(point_bytes(&stage->points[k]), stage->repeat));
    return bytes;
}

static void add_stage_estimate(const struct tt_survey *s, const struct tt_survey_stage *stage,
                               struct tt_survey_estimate *out, uint64_t *kept, uint64_t *most)
{
    double accesses = stage->write + stage->read;

    add_to(&out->bytes_written, tt_survey_stage_bytes(stage));
    for (size_t k = 0; k < stage->n; k++) {
        uint64_t bytes = point_bytes(&stage->points[k]), nodes = stage->points[k].nodes;

        out->runs += stage->repeat;
        out->nodes = nodes > out->nodes ? nodes : out->nodes;
        if (!stage->flushes)
            out->seconds += (double)stage->repeat * s->o.deadline * accesses;
        if (!stage->write)
            continue;
        add_to(kept, stage->keep ? bytes : 0);
        *most = bytes > *most ? bytes : *most;
    }
}

/* What stages keep is there until a stage has read it, beside what others write meanwhile. */
void tt_survey_estimate(const struct tt_survey *s, struct tt_survey_estimate *out)
{
    uint64_t live = 0;

    *out = (struct tt_survey_estimate){0};
    for (size_t i = 0; i < s->nstages; i++) {
        uint64_t kept = 0, most = 0, peak = live;

        add_stage_estimate(s, &s->stages[i], out, &kept, &most);
        add_to(&peak, s->stages[i].keep ? kept : most);
        add_to(&live, kept);
        if (peak > out->bytes_on_disk)
            out->bytes_on_disk = peak;
        if (s->stages[i].data) /* the last reader may come later: never too little */
            live = i + 1 < s->nstages && s->stages[i + 1].data == s->stages[i].data ? live : 0;
    }
}

int tt_survey_check_room(const struct tt_survey *s, struct tt_error *e)
{
    const struct tt_param space = {.key = "min_free", .type = TT_PARAM_SPACE};
    struct tt_survey_estimate x;
    struct tt_space min_free = {0};
    char need[TT_UNIT_TEXT], cap[TT_UNIT_TEXT];
    int rc = tt_param_set(&space, &min_free, s->o.min_free, e);

    tt_survey_estimate(s, &x);
    if (rc == TT_OK && s->o.max_bytes > 0 && x.bytes_written > s->o.max_bytes)
        rc = tt_fail(e, TT_LIMIT,
                     "the survey may write %s, more than --max-bytes %s; lower size, repeat, "
                     "flushes, or the numbers of nodes and processes",
                     tt_format_bytes((double)x.bytes_written, need),
                     tt_format_bytes((double)s->o.max_bytes, cap));
    return rc == TT_OK ? tt_limits_check_space(s->o.dir, &min_free, x.bytes_on_disk, e) : rc;
}
