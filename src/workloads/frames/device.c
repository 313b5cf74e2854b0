/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames in a device's memory: made, converted, computed on and checked by its kernels
 * (device.cu). */
#include "engine/content.h"
#include "engine/device_move.h"
#include "workloads/frames/frames.h"

extern const char tt_frames_source[]; /* device.cu */

/* As device.cu declares them; addresses stand at the beginning. */
struct visit {
    void *data;
    uint64_t *found; /* check: where the first wrong value is, counted from the end */
    struct tt_frames_shape shape;
    uint64_t seed, frame;
    double loss;
    uint32_t doubles;
};
struct conversion {
    const double *from;
    float *to;
    uint64_t n;
};
struct field {
    double *now, *next;
    uint64_t n;
};

/* ---- the kernels, by the host ---- */

static void fill(const void *arguments)
{
    const struct visit *v = arguments;

    if (v->doubles)
        tt_frames_fill_doubles(&v->shape, v->seed, v->frame, v->data);
    else
        tt_frames_fill_floats(&v->shape, v->seed, v->frame, v->data);
}

static void check(const void *arguments)
{
    const struct visit *v = arguments;
    uint64_t wrong, i = 0;

    if (tt_frames_matches(&v->shape, v->seed, v->frame, v->data, v->loss, &wrong))
        return;
    while (tt_frames_place(&v->shape, i) != wrong)
        i++;
    *v->found = v->shape.values - i;
}

static void convert(const void *arguments)
{
    const struct conversion *c = arguments;

    tt_frames_convert(c->from, c->to, c->n);
}

static void begin(const void *arguments)
{
    const struct field *f = arguments;

    tt_frames_begin(f->now, f->next, f->n);
}

static void step(const void *arguments)
{
    const struct field *f = arguments;

    tt_frames_step(f->now, f->next, f->n);
}

#define KERNEL(function, type) \
    { \
        .name = #function, .source = tt_frames_source, .arguments_size = sizeof(struct type), \
        .naddresses = 2, .addresses = {0, 8}, .by_host = function \
    }
static const struct tt_kernel filling = KERNEL(fill, visit), checking = KERNEL(check, visit),
                              converting = KERNEL(convert, conversion),
                              beginning = KERNEL(begin, field), stepping = KERNEL(step, field);

int tt_frames_prepare_on(struct tt_device *d, struct tt_error *e)
{
    const struct tt_kernel *const all[] = {&filling, &checking, &converting, &beginning, &stepping};
    int rc = tt_content_prepare_on(d, e);

    return rc == TT_OK ? tt_device_prepare(d, sizeof all / sizeof *all, all, e) : rc;
}

/* ---- content ---- */

int tt_frames_fill_on(struct tt_device *d, const struct tt_frames_shape *s, uint64_t seed,
                      uint64_t frame, bool doubles, void *values, struct tt_error *e)
{
    const struct visit v = {values, NULL, *s, seed, frame, 0, doubles};
    int rc = tt_device_launch(d, &filling, s->values, &v, e);

    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

int tt_frames_convert_on(struct tt_device *d, const double *from, float *to, uint64_t n,
                         struct tt_error *e)
{
    const struct conversion c = {from, to, n};
    int rc = tt_device_launch(d, &converting, n, &c, e);

    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

int tt_frames_matches_on(struct tt_device *d, const struct tt_frames_shape *s, uint64_t seed,
                         uint64_t frame, float *values, double loss, uint64_t *found,
                         bool *is_right, uint64_t *wrong, struct tt_error *e)
{
    const struct visit v = {values, found, *s, seed, frame, loss, false};
    uint64_t rest;
    int rc = tt_device_find(d, &checking, s->values, &v, found, &rest, e);

    *is_right = rest == 0;
    if (rest > 0)
        *wrong = tt_frames_place(s, s->values - rest);
    return rc;
}

/* ---- what stands for the simulation ---- */

int tt_frames_field_make_on(struct tt_frames_field *f, struct tt_device *d, struct tt_error *e)
{
    int rc = tt_device_work_make(&f->work, d, 2 * f->n * sizeof *f->now, e);

    if (rc != TT_OK)
        return rc;
    f->now = f->work.data;
    f->next = f->now + f->n;
    rc = tt_device_launch(d, &beginning, f->n, &(struct field){f->now, f->next, f->n}, e);
    if (rc == TT_OK) /* it is compiled then */
        rc = tt_device_work_begin(&f->work, e);
    return rc == TT_OK ? tt_device_work_end(&f->work, e) : rc;
}

int tt_frames_field_steps_on(struct tt_frames_field *f, uint64_t n, struct tt_error *e)
{
    int rc = tt_device_work_begin(&f->work, e);

    for (uint64_t i = 0; rc == TT_OK && i < n; i++) {
        double *next = f->now;

        rc = tt_device_launch(f->work.device, &stepping, f->n,
                              &(struct field){f->now, f->next, f->n}, e);
        f->now = f->next;
        f->next = next;
    }
    return rc == TT_OK ? tt_device_work_end(&f->work, e) : rc;
}
