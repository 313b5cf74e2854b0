/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "workloads/frames/frames.h"

int tt_frames_field_make(struct tt_frames_field *f, uint64_t n, struct tt_error *e)
{
    f->n = n;
    f->now = malloc(n * sizeof *f->now);
    f->next = malloc(n * sizeof *f->next);
    if (!f->now || !f->next)
        return tt_fail_nomem(e, "the field to compute on");
    for (uint64_t i = 0; i < n; i++)
        f->now[i] = f->next[i] = (double)(i % 97);
    return TT_OK;
}

void tt_frames_field_step(struct tt_frames_field *f)
{
    const double *restrict now = f->now;
    double *restrict next = f->next;

    for (uint64_t i = 1; i + 1 < f->n; i++)
        next[i] = 0.25 * now[i - 1] + 0.5 * now[i] + 0.25 * now[i + 1];
    f->next = f->now;
    f->now = next;
}

void tt_frames_field_free(struct tt_frames_field *f)
{
    free(f->now);
    free(f->next);
}
