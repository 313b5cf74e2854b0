/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout layer: each rank appends what it writes to its own part of the container, so that
 * storage sees large contiguous writes whatever the selections are. See io/log.h. */
#include "io/logged.h"

enum { BLOCK = 64 << 10 }; /* has a checksum, and is read as a whole */

struct log_opts {
    uint64_t segment;
};

static const struct tt_param params[] = {
    {"segment", TT_PARAM_BYTES, offsetof(struct log_opts, segment), "0", "B",
     "bytes that lie together in the file of each rank; 0: a rank's share of a step, from 64 KiB "
     "to 64 MiB",
     0, INT64_C(1) << 40},
    {NULL},
};

static int log_open(struct tt_file *file, struct tt_error *e)
{
    const struct log_opts *o = file->opts;
    const struct tt_logged_opts opts = {.segment = o->segment, .block = BLOCK, .threads = 1};

    return tt_logged_open(file, &opts, e);
}

const struct tt_backend tt_layer_log = {
    .name = "log",
    .summary = "each rank appends its requests to its own part of a container, with an index",
    .kind = TT_LAYOUT_LAYER,
    .caps = TT_CAP_CONVERTIBLE,
    .state_size = sizeof(struct tt_logged),
    .opts_size = sizeof(struct log_opts),
    .params = params,
    .open = log_open,
    .define = tt_logged_define,
    .write = tt_logged_write,
    .read = tt_logged_read,
    .sync = tt_logged_sync,
    .close = tt_logged_close,
};
