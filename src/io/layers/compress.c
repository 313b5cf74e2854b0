/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout layer: a log whose blocks are packed. A packed block has no fixed size, so it cannot lie
 * at a fixed place, and ranks whose selections share a block could not write it at the same time; a
 * log needs neither. */
#include "io/logged.h"

struct compress_opts {
    int codec;
    double bound;
    uint64_t level, block, threads, segment;
};

#define AT(field) offsetof(struct compress_opts, field)
static const struct tt_param params[] = {
    {"codec", TT_PARAM_CHOICE, AT(codec), "lz4", NULL, "how blocks are packed",
     .choices = (const char *const *)tt_codec_names},
    {"level", TT_PARAM_COUNT, AT(level), "0", NULL,
     "of codec zstd: higher is smaller and slower; 0: its own default", 0, 19},
    {"bound", TT_PARAM_REAL, AT(bound), "0", NULL,
     "of codec zfp: how far values of f32 and f64 may be from what was written; 0: every bit is "
     "kept"},
    {"block", TT_PARAM_BYTES, AT(block), "256k", "B",
     "bytes that are packed together, and unpacked to read any of them", 512, 1 << 30},
    {"threads", TT_PARAM_COUNT, AT(threads), "1", NULL, "threads of each rank that pack and unpack",
     1, 1024},
    {"segment", TT_PARAM_BYTES, AT(segment), "0", "B",
     "packed bytes that lie together in the file of each rank; 0: a rank's share of a step, from "
     "64 KiB to 64 MiB",
     0, INT64_C(1) << 40},
    {NULL},
};

static int compress_check(const void *opts, struct tt_error *e)
{
    const struct compress_opts *o = opts;
    const struct tt_codec *codec = tt_codecs[o->codec];

    if (codec->package)
        return tt_fail(e, TT_USAGE,
                       "compress.codec %s is not in this build; package %s brings its library",
                       codec->name, codec->package);
    if (!(o->bound >= 0))
        return tt_fail(e, TT_USAGE,
                       "compress.bound is how far values may change: a number of at least "
                       "0, not %g",
                       o->bound);
    if (o->bound > 0 && !codec->has_bound)
        return tt_fail(e, TT_USAGE, "compress.bound is for zfp: codec %s keeps every bit",
                       codec->name);
    if (codec->has_bound && o->block % sizeof(double))
        return tt_fail(e, TT_USAGE,
                       "compress.block must be a multiple of 8 for codec %s, which packs whole "
                       "values",
                       codec->name);
    if (o->level > 0 && codec->levels == 0)
        return tt_fail(e, TT_USAGE, "compress.level is for zstd: codec %s has no levels",
                       codec->name);
    return TT_OK;
}

static int compress_open(struct tt_file *file, struct tt_error *e)
{
    const struct compress_opts *o = file->opts;
    const struct tt_logged_opts opts = {
        .segment = o->segment,
        .block = o->block,
        .codec = tt_codecs[o->codec],
        .level = (int)o->level,
        .bound = o->bound,
        .threads = (unsigned)o->threads,
    };

    return tt_logged_open(file, &opts, e);
}

static double compress_loss(const void *opts)
{
    return ((const struct compress_opts *)opts)->bound;
}

const struct tt_backend tt_layer_compress = {
    .name = "compress",
    .summary = "each rank appends its requests to its own part of a container, packed in blocks",
    .kind = TT_LAYOUT_LAYER,
    .caps = TT_CAP_CONVERTIBLE,
    .state_size = sizeof(struct tt_logged),
    .opts_size = sizeof(struct compress_opts),
    .params = params,
    .check = compress_check,
    .loss = compress_loss,
    .open = compress_open,
    .define = tt_logged_define,
    .write = tt_logged_write,
    .read = tt_logged_read,
    .sync = tt_logged_sync,
    .close = tt_logged_close,
};
