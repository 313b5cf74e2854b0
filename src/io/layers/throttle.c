/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A store of known speed: calls below are made at once, and return when the slow store would have.
 *
 * The limits hold for all ranks of a file together; each has an equal share, also when the others
 * are idle. Every file has a store of its own, so a file per process or per step has the whole rate
 * each. Reads queue behind what the buffer still has to drain; close does not wait for it.
 * With a log of the burst buffer it is a write buffer as flash stores have it: what is in it is
 * safe, and is read at full speed until enough has been written after it, also by later runs.
 * submit and wait are left out: sleeping belongs into the helper thread. */
#include "base/clock.h"
#include "base/note.h"
#include "io/file.h"
#include "io/layers/throttle/rate.h"
#include "io/layers/throttle/burst_buffer.h"

#define MIN_RATE 1e-3 /* less is no store, and soon no number */

struct throttle_opts {
    double rate, ops;
    uint64_t buffer;
    char *buffer_log;
};

struct throttle_state {
    struct tt_throttle store;
    uint64_t written; /* by this rank */
    bool is_buffered; /* the file, when it was opened to be read */
};

static const struct tt_param params[] = {
    {"rate", TT_PARAM_RATE, offsetof(struct throttle_opts, rate), "0", "B/s",
     "bytes per second over all ranks of a file; 0: no limit"},
    {"ops", TT_PARAM_REAL, offsetof(struct throttle_opts, ops), "0", "1/s",
     "writes and reads per second over all ranks of a file; 0: no limit"},
    {"buffer", TT_PARAM_BYTES, offsetof(struct throttle_opts, buffer), "0", "B",
     "a burst buffer over all ranks that drains at the rate; sync waits until it is empty"},
    {"buffer_log", TT_PARAM_TEXT, offsetof(struct throttle_opts, buffer_log), NULL, NULL,
     "a log that makes the buffer one for all files and runs: what is in it is durable, and is "
     "read "
     "without limits until as much has been written after it",
     .placeholder = "FILE"},
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
    if (o->buffer_log && o->buffer == 0)
        return tt_fail(e, TT_USAGE, "throttle.buffer_log needs throttle.buffer, its size");
    return TT_OK;
}

static int throttle_open(struct tt_file *file, struct tt_error *e)
{
    const struct throttle_opts *o = file->opts;
    struct throttle_state *s = file->state;
    int rc = TT_OK, below;

    s->store.rate = o->rate / file->size;
    s->store.ops = o->ops / file->size;
    s->store.buffer = (double)o->buffer / file->size;
    if (o->buffer_log && file->spec->access == TT_READ_ONLY)
        rc = tt_burst_buffer_holds(o->buffer_log, file->spec->path, o->buffer, &s->is_buffered, e);
    else if (o->buffer_log) /* found before anything is written */
        rc = tt_burst_buffer_check(o->buffer_log, e);
    below = tt_below_open(file, file->spec, e);
    return rc == TT_OK ? below : rc;
}

static uint64_t bytes_of(const struct tt_file *file, const struct tt_block *b)
{
    return tt_selection_count(&b->file) *
           tt_block_moved_size(b, &file->spec->variables[b->variable]);
}

/* However slow the store is meant to be, that is no rank that is stuck. */
static void sleep_until(int64_t instant_ns)
{
    const int64_t slice = 100000000;

    for (int64_t now = tt_now_ns(); now < instant_ns; now = tt_now_ns()) {
        tt_sleep_until(instant_ns - now > slice ? now + slice : instant_ns);
        tt_note_step();
    }
}

static int throttle_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                          struct tt_error *e)
{
    struct throttle_state *s = file->state;
    uint64_t bytes = bytes_of(file, b);
    int64_t now = tt_now_ns();
    int rc = tt_file_write(file->below, step, b, e);

    if (bytes > 0)
        sleep_until(tt_throttle_write(&s->store, now, bytes));
    s->written += bytes;
    return rc;
}

static int throttle_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    struct throttle_state *s = file->state;
    uint64_t bytes = bytes_of(file, b);
    int64_t now = tt_now_ns();
    int rc = tt_file_read(file->below, step, b, e);

    if (bytes > 0 && !s->is_buffered)
        sleep_until(tt_throttle_read(&s->store, now, bytes));
    return rc;
}

static int throttle_sync(struct tt_file *file, struct tt_error *e)
{
    const struct throttle_opts *o = file->opts;
    struct throttle_state *s = file->state;
    int64_t now = tt_now_ns();
    int rc = tt_file_sync(file->below, e);

    if (!o->buffer_log)
        sleep_until(tt_throttle_sync(&s->store, now));
    return rc;
}

static int throttle_close(struct tt_file *file, struct tt_error *e)
{
    const struct throttle_opts *o = file->opts;
    const struct throttle_state *s = file->state;
    int rc = TT_OK, below;

    if (o->buffer_log && s->written > 0)
        rc = tt_burst_buffer_note(o->buffer_log, file->spec->path, s->written, e);
    below = tt_below_close(file, e);
    return rc == TT_OK ? below : rc;
}

const struct tt_backend tt_layer_throttle = {
    .name = "throttle",
    .summary = "a store of known bytes/s and operations/s, with an optional write buffer",
    .kind = TT_REQUEST_LAYER,
    .caps = TT_CAP_UPDATES | TT_CAP_GROWS | TT_CAP_CONVERTS,
    .state_size = sizeof(struct throttle_state),
    .opts_size = sizeof(struct throttle_opts),
    .params = params,
    .check = throttle_check,
    .open = throttle_open,
    .write = throttle_write,
    .read = throttle_read,
    .sync = throttle_sync,
    .close = throttle_close,
};
