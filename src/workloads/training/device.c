/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A step of training on a device, all of whose multiprocessors are busy with it (device.cu). */
#include <stdlib.h>
#include <string.h>

#include "engine/device_move.h"
#include "engine/device_work.h"
#include "workloads/training/training.h"

extern const char tt_training_source[]; /* device.cu */

/* As device.cu declares it. */
struct products {
    float *matrices; /* a, b, and then the result of every group */
    uint64_t passes, groups;
};

static void multiply(const void *arguments)
{
    const struct products *p = arguments;
    const size_t n = TT_TRAINING_MATRIX * TT_TRAINING_MATRIX;

    for (uint64_t i = 0; i < p->groups; i++)
        tt_training_products(p->matrices, p->matrices + n, p->matrices + (2 + i) * n, p->passes);
}

static const struct tt_kernel multiplying = {.name = "multiply",
                                             .source = tt_training_source,
                                             .arguments_size = sizeof(struct products),
                                             .naddresses = 1,
                                             .addresses = {0},
                                             .by_host = multiply};

int tt_training_work_do_on(struct tt_device_work *w, uint64_t passes, struct tt_error *e)
{
    struct tt_device *d = w->device;
    const struct products p = {w->data, passes, d->multiprocessors};
    const struct tt_kernel_grid how = {{d->multiprocessors, 1, 1}, {256, 1, 1}};
    int rc = tt_device_work_begin(w, e);

    if (rc == TT_OK)
        rc = d->type->launch(d, TT_STREAM_COMPUTE, &multiplying, &how, &p, e);
    return rc == TT_OK ? tt_device_work_end(w, e) : rc;
}

int tt_training_work_make_on(struct tt_device *d, uint64_t seed, struct tt_device_work *w,
                             struct tt_error *e)
{
    const size_t bytes = TT_TRAINING_MATRIX * TT_TRAINING_MATRIX * sizeof(float);
    struct tt_training_work *host = tt_training_work_make(seed);
    size_t all = (2 + d->multiprocessors) * bytes;
    int rc = host ? TT_OK : tt_fail_nomem(e, "the matrices to compute on");

    if (rc == TT_OK)
        rc = tt_device_work_make(w, d, all, e);
    if (rc == TT_OK)
        rc = d->type->clear(d, TT_STREAM_COMPUTE, w->data, all, e);
    if (rc == TT_OK) /* the result is the third of a host's matrices */
        rc = tt_device_copy_now(d, TT_TO_DEVICE, w->data, host, 2 * bytes, e);
    if (rc == TT_OK) /* it is compiled then */
        rc = tt_training_work_do_on(w, 0, e);
    free(host);
    return rc;
}
