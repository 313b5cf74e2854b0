/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/device_work.h"

#include "base/agree.h"
#include "engine/device_move.h"
#include "record/trace.h"

int tt_device_work_make(struct tt_device_work *w, struct tt_device *d, size_t bytes,
                        struct tt_error *e)
{
    int rc;

    *w = (struct tt_device_work){.device = d};
    rc = d->type->allocate(d, bytes, &w->data, e);
    if (rc == TT_OK)
        rc = d->type->make_event(d, &w->begun, e);
    return rc == TT_OK ? d->type->make_event(d, &w->ended, e) : rc;
}

void tt_device_work_free(struct tt_device_work *w)
{
    struct tt_device *d = w->device;

    if (!d)
        return;
    tt_device_settle(d);
    if (w->data)
        d->type->release(d, w->data);
    if (w->begun)
        d->type->free_event(d, w->begun);
    if (w->ended)
        d->type->free_event(d, w->ended);
    *w = (struct tt_device_work){0};
}

int tt_device_work_begin(struct tt_device_work *w, struct tt_error *e)
{
    return w->device->type->record(w->device, w->begun, TT_STREAM_COMPUTE, e);
}

int tt_device_work_end(struct tt_device_work *w, struct tt_error *e)
{
    struct tt_device *d = w->device;
    double seconds = 0;
    int64_t now_ns;
    int rc = d->type->record(d, w->ended, TT_STREAM_COMPUTE, e);

    if (rc == TT_OK)
        rc = d->type->drain(d, TT_STREAM_COMPUTE, e);
    now_ns = tt_now_ns();
    if (rc == TT_OK)
        rc = d->type->elapsed(d, w->begun, w->ended, &seconds, e);
    if (rc != TT_OK || !w->is_ready) {
        w->is_ready = rc == TT_OK;
        return rc;
    }
    w->seconds += seconds;
    tt_trace_device(TT_TRACK_KERNELS, TT_COMPUTE, now_ns - (int64_t)(1e9 * seconds), now_ns);
    return TT_OK;
}

void tt_device_work_report(const struct tt_device_work *w, struct tt_engine *engine,
                           uint64_t iterations)
{
    double mine = w->seconds / (double)iterations, slowest;

    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, engine->comm);
    tt_result(engine, "kernel_time", TT_RESULT_SAME, slowest);
}

int tt_device_agree(const struct tt_engine *engine, int rc, struct tt_error *e)
{
    return engine->device ? tt_agree(engine->comm, rc, e) : rc;
}
