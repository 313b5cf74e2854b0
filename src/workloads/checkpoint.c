/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoints of training: the sharded state of a model and its optimizer saved by all ranks now
 * and then, and restored by as many or by others. Its parts are in checkpoint/. */
#include <string.h>

#include "engine/engine.h"
#include "plan/config.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/training/training.h"

static const char *const models[] = {"custom", "8b", "70b", "405b", "1t", NULL};
static const char *const shardings[] = {"full", "parallel", NULL};
static const char *const phases[] = {"save", "restore", "both", NULL};

#define AT(member) offsetof(struct tt_checkpoint_options, member)
static const struct tt_param params[] = {
    {"model", TT_PARAM_CHOICE, AT(model), "custom", NULL,
     "a transformer of a published size, or one of the five sizes that follow", .choices = models},
    {"width", TT_PARAM_COUNT, AT(hidden), "256", NULL, "of the model: its hidden size", 8, 1 << 20},
    {"ffn", TT_PARAM_COUNT, AT(ffn), "1024", NULL, "width of its feed-forward networks", 8,
     1 << 22},
    {"depth", TT_PARAM_COUNT, AT(layers), "8", "layers",
     "each of attention and a feed-forward network", 1, 1 << 14},
    {"vocabulary", TT_PARAM_COUNT, AT(vocabulary), "16384", NULL, "rows of its embeddings", 1,
     1 << 24},
    {"kv", TT_PARAM_COUNT, AT(kv), "0", NULL, "width of keys and values; 0: that of the model", 0,
     1 << 20},
    {"sharding", TT_PARAM_CHOICE, AT(sharding), "full", NULL,
     "every rank holds a slice of every tensor, or ranks are parallel by tensors, layers and data",
     .choices = shardings},
    {"tensor", TT_PARAM_COUNT, AT(tensor), "1", "ranks", "that share each tensor, with parallel", 1,
     1 << 20},
    {"pipeline", TT_PARAM_COUNT, AT(pipeline), "1", "stages", "of layers, with parallel", 1,
     1 << 14},
    {"checkpoints", TT_PARAM_COUNT, AT(checkpoints), "3", NULL,
     "saved; the last one is restored, or the one of this number with phase=restore", 1, 1 << 20},
    {"every", TT_PARAM_COUNT, AT(every), "10", "steps", "from one checkpoint to the next", 1,
     1 << 30},
    {"keep_newest", TT_PARAM_COUNT, AT(keep_newest), "2", "checkpoints",
     "that stay when one more is in place; older ones are removed", 1, 1 << 20},
    {"compute", TT_PARAM_PASSES, AT(compute), "50ms", "passes",
     "computation of a step, each pass a product of 64 x 64 matrices; or for how long, which is "
     "calibrated once",
     0, INT64_C(1) << 40},
    {"phase", TT_PARAM_CHOICE, AT(phase), "both", NULL,
     "save, restore what an earlier run has kept at path, or save and then restore",
     .choices = phases},
    {"restore_ranks", TT_PARAM_COUNT, AT(restore_ranks), "0", "ranks",
     "that restore all of it, each its own share; 0: all", 0, INT32_MAX},
    {"saved_by", TT_PARAM_COUNT, AT(saved_by), "0", "ranks",
     "that saved what phase=restore finds; 0: as many as there are now", 0, 1 << 20},
    {"cold", TT_PARAM_BOOL, AT(cold), "yes", NULL,
     "evict the files from the page cache before they are read, outside of the measured time"},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL,
     "check every restored byte after the measured time"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "what names of files begin with, relative to --dir; default: new ones there",
     .placeholder = "FILE"},
    {NULL},
};

/* A restore has the keys of what it restores. */
static int check_idle(const struct tt_checkpoint_options *o, struct tt_error *e)
{
    const struct tt_idle idle[] = {
        {o->model != TT_CHECKPOINT_CUSTOM, "width ffn depth vocabulary kv",
         "with a checkpoint.model of a published size"},
        {o->sharding == TT_CHECKPOINT_FULL, "tensor pipeline",
         "without checkpoint.sharding=parallel"},
        {o->phase == TT_CHECKPOINT_SAVE, "restore_ranks", "with checkpoint.phase=save"},
    };

    return tt_params_check_idle("checkpoint", params, o, idle, sizeof idle / sizeof *idle, e);
}

static int checkpoint_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_checkpoint_options *o = tt_config_opts(config, "checkpoint");
    struct tt_checkpoint_shape s = tt_checkpoint_shape(o);
    uint64_t ranks = config->run->ranks;
    bool only_restores = o->phase == TT_CHECKPOINT_RESTORE;
    int rc;

    if (check_idle(o, e) != TT_OK)
        return TT_USAGE;
    if (14.0 * (double)tt_checkpoint_parameters(&s) * (double)o->checkpoints >= 0x1p62)
        return tt_fail(e, TT_USAGE,
                       "checkpoint: all checkpoints together are more than can be counted");
    if (config->run->sync == TT_SYNC_NEVER)
        return tt_fail(e, TT_USAGE,
                       "checkpoint: what is not durable is no checkpoint: leave out --sync never");
    if (only_restores && !o->path)
        return tt_fail(e, TT_USAGE, "checkpoint.phase=restore needs checkpoint.path");
    if (only_restores && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE,
                       "checkpoint.phase=restore is not possible on %s, because it "
                       "keeps nothing",
                       config->run->backend);
    if (!only_restores && o->saved_by)
        return tt_fail(e, TT_USAGE, "checkpoint.saved_by needs checkpoint.phase=restore");
    if (o->restore_ranks > ranks)
        return tt_fail(e, TT_USAGE, "checkpoint.restore_ranks is %llu, but there are %llu ranks",
                       (unsigned long long)o->restore_ranks, (unsigned long long)ranks);
    rc = tt_checkpoint_check_ranks(o, o->saved_by ? o->saved_by : ranks, e);
    return rc == TT_OK
               ? tt_checkpoint_check_ranks(o, o->restore_ranks ? o->restore_ranks : ranks, e)
               : rc;
}

static int checkpoint_estimate(const struct tt_config *config, struct tt_estimate *out,
                               struct tt_error *e)
{
    const struct tt_checkpoint_options *o = tt_config_opts(config, "checkpoint");
    struct tt_checkpoint_shape s = tt_checkpoint_shape(o);
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1;
    uint64_t state = 14 * tt_checkpoint_parameters(&s), there = o->keep_newest + 1;
    uint64_t part;
    uint64_t restored = tt_checkpoint_memory(o, o->restore_ranks ? o->restore_ranks : ranks, &part);

    (void)e;
    if (o->phase != TT_CHECKPOINT_RESTORE) {
        uint64_t saved = tt_checkpoint_memory(o, ranks, NULL);
        uint64_t model = saved / 7, optimizer = saved - model; /* files of their own */

        there = o->checkpoints < there ? o->checkpoints : there;
        out->bytes_written = state * o->checkpoints;
        out->bytes_on_disk = state * there;
        out->files = TT_CHECKPOINT_KINDS * ranks * o->checkpoints;
        out->dumps = o->checkpoints;
        /* With a device the host has the copies only. */
        out->memory_per_rank =
            saved * (config->run->overlap == TT_OVERLAP_NONE || config->device ? 1 : 2);
        out->device_memory = saved + model * tt_device_snapshots(config, model, false) +
                             optimizer * tt_device_snapshots(config, optimizer, false);
        out->compute_seconds = tt_passes_seconds(&o->compute) * (double)tt_checkpoint_steps(o);
    }
    if (o->phase != TT_CHECKPOINT_SAVE && tt_stack_caps(&config->stack) & TT_CAP_STORES) {
        out->bytes_read = state;
        if (restored + o->verify * part > out->device_memory)
            out->device_memory = restored + o->verify * part;
        if (config->device)
            restored = 2 * TT_CHECKPOINT_PART;
        if (restored > out->memory_per_rank)
            out->memory_per_rank = restored;
    }
    return TT_OK;
}

static const struct tt_workload_column checkpoint_columns[] = {
    [TT_CHECKPOINT_NUMBER] = {"number", "1", "counts from 1"},
    [TT_CHECKPOINT_SECONDS] = {"seconds", "s", "until it stands in its place; of the slowest rank"},
    [TT_CHECKPOINT_STALL] = {"stall", "s",
                             "in which a rank did not compute because of it; of the slowest rank"},
    [TT_CHECKPOINT_NCOLUMNS] = {NULL, NULL, NULL},
};
static const struct tt_workload_table tables[] = {{"checkpoints", checkpoint_columns, NULL},
                                                  {NULL, NULL, NULL}};
static const char *const shown[] = {"model", "every", "phase", NULL};

const struct tt_workload tt_workload_checkpoint = {
    .name = "checkpoint",
    .summary = "sharded state of a model and its optimizer saved now and then, and restored",
    .on_device = true,
    .params = params,
    .opts_size = sizeof(struct tt_checkpoint_options),
    .shown = shown,
    .computation = &tt_training_computation,
    .tables = tables,
    .check = checkpoint_check,
    .estimate = checkpoint_estimate,
    .run = tt_checkpoint_run,
};
