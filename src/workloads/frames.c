/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of a simulation as mpiiotester and PACE3D write them: a header, then frame after frame the
 * same block of every rank between two pieces of metadata. Its parts are in frames/. */
#include "engine/engine.h"
#include "engine/stripe.h"
#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/frames/frames.h"

static const char *const elements[] = {"float", "vector", "block", NULL};
static const char *const decompositions[] = {"1d", "3d", NULL};
static const char *const styles[] = {"single", "file", "file+open", NULL};

#define AT(member) offsetof(struct tt_frames_options, member)
static const struct tt_param params[] = {
    {"edge", TT_PARAM_COUNT, AT(edge), "160", NULL,
     "the block that a rank has of a frame is edge x edge x edge x 8 bytes: 20 makes 64 KB, 200 "
     "64 MB",
     1, 1 << 20},
    {"dims", TT_PARAM_COUNTS, AT(dims), NULL, "elements",
     "three dimensions of a rank's block, slowest first; instead of edge"},
    {"element", TT_PARAM_CHOICE, AT(element), "float", NULL,
     "of 4 bytes, a vector of three (12 bytes), or a block of 16 (64 bytes)", .choices = elements},
    {"frames", TT_PARAM_COUNT, AT(frames), "20", NULL, "how many are written", 1, 1000000},
    {"decomposition", TT_PARAM_CHOICE, AT(decomposition), "1d", NULL,
     "ranks lie along the slowest axis, or along all three", .choices = decompositions},
    {"style", TT_PARAM_CHOICE, AT(style), "single", NULL,
     "one file for all frames, kept open; a file for each; the same, and opening it counts",
     .choices = styles},
    {"header", TT_PARAM_BYTES, AT(header), "256", "B",
     "at the start of a file, written by rank 0; 0: none", 0, 1 << 30},
    {"metadata", TT_PARAM_BYTES, AT(metadata), "64", "B",
     "before the data of a frame, and as much after it, written by rank 0; 0: none", 0, 1 << 30},
    {"convert", TT_PARAM_BOOL, AT(convert), "no", NULL,
     "the data is computed in double precision and converted to float in a buffer"},
    {"timed_convert", TT_PARAM_BOOL, AT(timed_convert), "no", NULL,
     "the conversion counts as writing, as in PACE3D"},
    {"compute", TT_PARAM_PASSES, AT(compute), "1", "passes",
     "steps of an explicit kernel on the rank's block between two frames; or for how long, which "
     "is "
     "calibrated once",
     0, 1000000000},
    {"drop_first", TT_PARAM_COUNT, AT(drop_first), "1", "frames",
     "at the beginning, left out of the statistics", 0, 1000000},
    {"write", TT_PARAM_BOOL, AT(write), "yes", NULL, "write the frames"},
    {"read", TT_PARAM_BOOL, AT(read), "no", NULL,
     "read them all, and compare every byte outside of any timing"},
    {"cold", TT_PARAM_BOOL, AT(cold), "yes", NULL,
     "evict files from the page cache before they are read"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file to write, or that an earlier run with the same options and seed has kept, relative "
     "to --dir; default: "
     "a new one in --dir",
     .placeholder = "FILE"},
    {NULL},
};

static const char *const uses[] = {"stripe", NULL};

static int check_reading(const struct tt_config *config, const struct tt_frames_options *o,
                         struct tt_error *e)
{
    if (!o->write && !o->read)
        return tt_fail(e, TT_USAGE,
                       "frames.write and frames.read are both off: nothing is left to do");
    if (!o->write && !o->path)
        return tt_fail(e, TT_USAGE, "frames.write is off: frames.path has to name what to read");
    if (o->read && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE, "%s keeps nothing that could be read: use --read no",
                       config->run->backend);
    return o->read ? tt_stack_check_loss(&config->stack, "frames.read=no", e) : TT_OK;
}

static int frames_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_frames_options *o = tt_config_opts(config, "frames");
    struct tt_frames_shape shape;
    int rc = tt_frames_shape_make(&shape, o, config->run->ranks ? config->run->ranks : 1, 0, e);

    if (rc == TT_OK)
        rc = check_reading(config, o, e);
    if (rc != TT_OK)
        return rc;
    if (o->drop_first >= o->frames)
        return tt_fail(
            e, TT_USAGE,
            "frames.drop_first %llu leaves none of frames.frames %llu for the statistics",
            (unsigned long long)o->drop_first, (unsigned long long)o->frames);
    if (o->timed_convert && !o->convert)
        return tt_fail(e, TT_USAGE, "frames.timed_convert needs frames.convert");
    return tt_stripe_check_path(config, o->path != NULL, "frames.path", e);
}

static int frames_estimate(const struct tt_config *config, struct tt_estimate *out,
                           struct tt_error *e)
{
    const struct tt_frames_options *o = tt_config_opts(config, "frames");
    uint64_t files = o->style == TT_FRAMES_SINGLE ? 1 : o->frames, bytes;
    struct tt_frames_shape shape;
    int rc = tt_frames_shape_make(&shape, o, config->run->ranks ? config->run->ranks : 1, 0, e);

    if (rc != TT_OK)
        return rc;
    bytes = o->frames * tt_frames_frame_bytes(&shape, o) + files * o->header;
    if (o->write) {
        out->bytes_written = out->bytes_on_disk = bytes;
        out->files = files;
        out->dumps = o->frames;
        out->memory_per_rank = o->convert ? shape.values * sizeof(double) : 0;
        if (tt_frames_computes(o))
            out->memory_per_rank += 2 * shape.values / shape.width * sizeof(double);
    }
    out->bytes_read = o->read ? bytes : 0;
    out->memory_per_rank += tt_frames_block_bytes(&shape);
    if (config->device) { /* the host has the staging buffers only */
        out->device_memory =
            out->memory_per_rank +
            (o->write ? tt_device_snapshots(config, tt_frames_block_bytes(&shape), false) : 0) *
                tt_frames_block_bytes(&shape);
        out->memory_per_rank =
            tt_frames_block_bytes(&shape) *
            (config->run->overlap == TT_OVERLAP_NONE ? 1 : config->run->inflight);
    }
    return TT_OK;
}

static const struct tt_workload_column frame_columns[] = {
    [TT_FRAMES_ACCESS] = {"access", "1", "0: written, 1: read"},
    [TT_FRAMES_FRAME] = {"frame", "1", "its number"},
    [TT_FRAMES_BYTES] = {"bytes", "B", "of all ranks"},
    [TT_FRAMES_COUNTED] = {"counted", "1", "0: dropped from the statistics"},
    [TT_FRAMES_MEDIAN_S] = {"median", "s", "over ranks, of the parts that count"},
    [TT_FRAMES_LEAST_S] = {"least", "s", "of any rank"},
    [TT_FRAMES_MOST_S] = {"most", "s", "of any rank"},
    [TT_FRAMES_CONVERT_S] = {"convert", "s", "converting; median over ranks"},
    [TT_FRAMES_OPEN_S] = {"open", "s", "opening and closing; median over ranks"},
    [TT_FRAMES_TRANSFER_S] = {"transfer", "s", "write or read calls; median over ranks"},
    [TT_FRAMES_SYNC_S] = {"sync", "s", "sync calls; median over ranks"},
    [TT_FRAMES_NCOLUMNS] = {NULL, NULL, NULL},
};
static const struct tt_workload_table tables[] = {{"frames", frame_columns, NULL},
                                                  {NULL, NULL, NULL}};
static const char *const shown[] = {"edge", "element", "frames", NULL};

const struct tt_workload tt_workload_frames = {
    .name = "frames",
    .summary = "frames of a simulation written collectively, as mpiiotester and PACE3D do",
    .uses = uses,
    .on_device = true,
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_frames_options),
    .shown = shown,
    .computation = &tt_frames_computation,
    .tables = tables,
    .check = frames_check,
    .estimate = frames_estimate,
    .run = tt_frames_run,
};
