/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands for an application's computation, on a device: memory, and kernels that the device's
 * own clock times. */
#ifndef TT_ENGINE_DEVICE_WORK_H
#define TT_ENGINE_DEVICE_WORK_H

#include "engine/engine.h"

struct tt_device_work {
    struct tt_device *device;
    void *data; /* of the device's memory */
    struct tt_device_event *begun, *ended;
    double seconds; /* of all kernels so far */
    bool is_ready;
};

/* If it fails, tt_device_work_free. */
int tt_device_work_make(struct tt_device_work *w, struct tt_device *d, size_t bytes,
                        struct tt_error *e);
void tt_device_work_free(struct tt_device_work *w); /* also if it is all zeros */
/* What is queued on TT_STREAM_COMPUTE between the two is the work; the second waits for it. The
 * first time is a rehearsal, which compiles kernels and does not count. */
int tt_device_work_begin(struct tt_device_work *w, struct tt_error *e);
int tt_device_work_end(struct tt_device_work *w, struct tt_error *e);
/* The metric kernel_time, of the slowest rank. Collective. */
void tt_device_work_report(const struct tt_device_work *w, struct tt_engine *engine,
                           uint64_t iterations);
/* What a rank does on its device may fail there alone, before all ranks join the next dump: without
 * a device nothing is agreed. */
int tt_device_agree(const struct tt_engine *engine, int rc, struct tt_error *e);

#endif
