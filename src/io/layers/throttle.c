/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A store of known speed: calls below are made at once, and return when the slow store would have.
 *
 * The limits hold for all ranks of a file together; each has an equal share, also when the others
 * are idle. Every file has a store of its own, so a file per process or per step has the whole rate
 * each. Reads queue behind what the buffer still has to drain; close does not wait for it.
 * submit and wait are left out: sleeping belongs into the helper thread. */
#include "base/clock.h"
#include "io/file.h"
#include "io/throttle.h"

#define MIN_RATE 1e-3 /* less is no store, and soon no number */

struct throttle_opts {
    double rate, ops;
    uint64_t buffer;
};

static const struct tt_param params[] = {
    {"rate", TT_PARAM_RATE, offsetof(struct throttle_opts, rate), "0", "B/s",
     "bytes per second over all ranks of a file; 0: no limit"},
    {"ops", TT_PARAM_REAL, offsetof(struct throttle_opts, ops), "0", "1/s",
     "writes and reads per second over all ranks of a file; 0: no limit"},
    {"buffer", TT_PARAM_BYTES, offsetof(struct throttle_opts, buffer), "0", "B",
     "a fast tier over all ranks that drains at the rate; sync waits until it is empty"},
    {NULL},
};

static int throttle_check(const void *opts, struct tt_error *e)
{
    const struct throttle_opts *o = opts;

    if (o->rate < 0 || o->ops < 0)
        return tt_fail(e, TT_USAGE, "throttle.rate and throttle.ops cannot be negative");
    if ((o->rate > 0 && o->rate < MIN_RATE) || (o->ops > 0 && o->ops < MIN_RATE))
        return tt_fail(e, TT_USAGE,
                       "throttle.rate and throttle.ops are 0 (no limit) or at least %g", MIN_RATE);
    if (o->buffer > 0 && o->rate <= 0)
        return tt_fail(e, TT_USAGE, "throttle.buffer needs throttle.rate, at which it drains");
    return TT_OK;
}

static int throttle_open(struct tt_file *file, struct tt_error *e)
{
    const struct throttle_opts *o = file->opts;
    struct tt_throttle *t = file->state;

    t->rate = o->rate / file->size;
    t->ops = o->ops / file->size;
    t->buffer = (double)o->buffer / file->size;
    return tt_below_open(file, file->spec, e);
}

static int throttle_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    return tt_file_define(file->below, step, e);
}

static uint64_t bytes_of(const struct tt_file *file, const struct tt_block *b)
{
    return tt_selection_count(&b->file) *
           tt_block_moved_size(b, &file->spec->variables[b->variable]);
}

static int throttle_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                          struct tt_error *e)
{
    uint64_t bytes = bytes_of(file, b);
    int64_t now = tt_now_ns();
    int rc = tt_file_write(file->below, step, b, e);

    if (bytes > 0)
        tt_sleep_until(tt_throttle_write(file->state, now, bytes));
    return rc;
}

static int throttle_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    uint64_t bytes = bytes_of(file, b);
    int64_t now = tt_now_ns();
    int rc = tt_file_read(file->below, step, b, e);

    if (bytes > 0)
        tt_sleep_until(tt_throttle_read(file->state, now, bytes));
    return rc;
}

static int throttle_sync(struct tt_file *file, struct tt_error *e)
{
    int64_t now = tt_now_ns();
    int rc = tt_file_sync(file->below, e);

    tt_sleep_until(tt_throttle_sync(file->state, now));
    return rc;
}

static int throttle_close(struct tt_file *file, struct tt_error *e)
{
    return tt_below_close(file, e);
}

const struct tt_backend tt_layer_throttle = {
    .name = "throttle",
    .summary = "a store of known bytes/s and operations/s, with an optional write buffer",
    .kind = TT_REQUEST_LAYER,
    .caps = TT_CAP_UPDATES | TT_CAP_GROWS | TT_CAP_CONVERTS,
    .state_size = sizeof(struct tt_throttle),
    .opts_size = sizeof(struct throttle_opts),
    .params = params,
    .check = throttle_check,
    .open = throttle_open,
    .define = throttle_define,
    .write = throttle_write,
    .read = throttle_read,
    .sync = throttle_sync,
    .close = throttle_close,
};
