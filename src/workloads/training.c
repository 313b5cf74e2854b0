/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples read as training reads them: in another random order every epoch, in batches, ahead of a
 * computation, by ranks that meet after each step. Its parts are in training/. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/config.h"
#include "workloads/training/training.h"

static const char *const shuffles[] = {"none", "files", "samples", NULL};

#define AT(member) offsetof(struct tt_training_options, member)
static const struct tt_param params[] = {
    {"files", TT_PARAM_COUNT, AT(files), "512", NULL,
     "files over all ranks, made before the measured time", 1, INT64_C(1) << 28},
    {"per_file", TT_PARAM_COUNT, AT(per_file), "1", "samples", "in each file", 1, 4096},
    {"size", TT_PARAM_BYTES, AT(size), "1m", "B", "mean of the samples", 1, INT64_C(1) << 34},
    {"deviation", TT_PARAM_BYTES, AT(deviation), "64k", "B",
     "standard deviation of their sizes, normally distributed", 0, INT64_C(1) << 34},
    {"align", TT_PARAM_BYTES, AT(align), "1", "B",
     "sizes are multiples of this; O_DIRECT needs 4k, as a rule", 1, 1 << 20},
    {"batch", TT_PARAM_COUNT, AT(batch), "4", "samples", "that a rank uses in a step", 1, 1 << 20},
    {"epochs", TT_PARAM_COUNT, AT(epochs), "3", NULL, "how often all samples are used", 1, 1 << 20},
    {"workers", TT_PARAM_COUNT, AT(workers), "2", "threads",
     "of a rank that load batches ahead; 0: the rank loads a batch when it needs it", 0, 256},
    {"prefetch", TT_PARAM_COUNT, AT(prefetch), "2", "batches",
     "of a rank that are loaded ahead, rounded up to a multiple of workers", 1, 4096},
    {"shuffle", TT_PARAM_CHOICE, AT(shuffle), "samples", NULL,
     "a new random order every epoch: of files, or of all samples", .choices = shuffles},
    {"compute", TT_PARAM_PASSES, AT(compute), "5ms", "passes",
     "computation of a step, each pass a product of 64 x 64 matrices; or for how long, which is "
     "calibrated once",
     0, INT64_C(1) << 40},
    {"pause", TT_PARAM_DURATION, AT(pause), "0", "s",
     "sleep in each step, as an accelerator would compute: a rank that sleeps needs no core", 0,
     1000000},
    {"cold", TT_PARAM_BOOL, AT(cold), "yes", NULL,
     "evict the files from the page cache before each epoch, outside of the measured time"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "make the files in this new directory, or use those that an earlier run with the same keys "
     "and seed has made and kept there; relative to --dir",
     .placeholder = "DIRECTORY"},
    {NULL},
};

/* Samples are files of a tree, which knows no directories inside. */
static bool makes_directories(const struct tt_stack *stack)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_target target;
    bool found = tt_stack_target_at(stack, "sample", &target, &ignored) == TT_OK &&
                 target.list[0].is_directory;

    tt_target_free(&target);
    return found;
}

static int check_run(const struct tt_config *config, const struct tt_training_options *o,
                     struct tt_error *e)
{
    const struct tt_run_options *run = config->run;
    bool alone = tt_stack_is_reentrant(&config->stack);

    if (!(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE, "training is not possible on %s, because it keeps nothing",
                       run->backend);
    if (makes_directories(&config->stack))
        return tt_fail(e, TT_USAGE,
                       "training is not possible on %s, because every file of it is a directory",
                       run->backend);
    if (!alone && o->workers > 1)
        return tt_fail(e, TT_USAGE,
                       "training.workers %llu: only one thread at a time may call %s; use "
                       "--workers 1 --mode async, or --workers 0",
                       (unsigned long long)o->workers,
                       config->stack.n > 1 ? "layers" : run->backend);
    if (!alone && o->workers == 1 && run->overlap == TT_OVERLAP_NONE)
        return tt_fail(e, TT_USAGE,
                       "training.workers 1: %s may call MPI in that thread; add --mode async, "
                       "or use --workers 0",
                       config->stack.n > 1 ? "layers" : run->backend);
    return TT_OK;
}

static int training_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_training_options *o = tt_config_opts(config, "training");
    const struct tt_idle idle = {o->workers == 0, "prefetch", "with training.workers=0"};
    uint64_t ranks = config->run->ranks;

    if (tt_params_check_idle("training", params, o, &idle, 1, e) != TT_OK)
        return TT_USAGE;
    if ((double)tt_training_most(o) * (double)tt_training_samples(o) * (double)o->epochs >= 0x1p62)
        return tt_fail(e, TT_USAGE,
                       "training.files x per_file x size x epochs is more than can be counted");
    if (tt_training_memory(o) >= 0x1p46)
        return tt_fail(e, TT_USAGE,
                       "training.batch x prefetch x size is more than a rank can have in memory");
    if (tt_training_steps(o, ranks) == 0)
        return tt_fail(
            e, TT_USAGE,
            "training: %llu samples are less than a batch of %llu for each of %llu ranks",
            (unsigned long long)tt_training_samples(o), (unsigned long long)o->batch,
            (unsigned long long)ranks);
    return check_run(config, o, e);
}

static int training_estimate(const struct tt_config *config, struct tt_estimate *out,
                             struct tt_error *e)
{
    const struct tt_training_options *o = tt_config_opts(config, "training");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1;
    uint64_t bytes = tt_training_bytes(o, config->run->seed);
    uint64_t steps = tt_training_steps(o, ranks);
    char *path = o->path ? tt_config_path(config, o->path) : NULL;
    struct stat st;

    if (o->path && !path)
        return tt_fail_nomem(e, "a path");
    if (!path || lstat(path, &st) != 0) {
        out->bytes_written = out->bytes_on_disk = bytes;
        out->files = o->files;
        out->dumps = 1;
    }
    free(path);
    out->bytes_read = (uint64_t)((double)bytes / (double)tt_training_samples(o) *
                                 (double)(steps * o->batch * ranks) * (double)o->epochs);
    out->memory_per_rank = (uint64_t)tt_training_memory(o);
    out->sleep_seconds = o->pause * (double)steps * (double)o->epochs;
    out->compute_seconds =
        out->sleep_seconds + tt_passes_seconds(&o->compute) * (double)steps * (double)o->epochs;
    return TT_OK;
}

static bool training_makes(const struct tt_config *config, const char *path, bool is_directory)
{
    return !is_directory && tt_training_makes(tt_config_opts(config, "training"), path);
}

static const struct tt_workload_column epoch_columns[] = {
    [TT_TRAINING_EPOCH] = {"epoch", "1", "counts from 0"},
    [TT_TRAINING_SECONDS] = {"seconds", "s", "from the end of its first step to that of its last"},
    [TT_TRAINING_COMPUTING] = {"computing", "s", "rank 0's computation in that time"},
    [TT_TRAINING_WAITING] = {"waiting", "s", "rank 0's waiting for batches in that time"},
    [TT_TRAINING_COUNT] = {"samples", "1", "of all ranks in that time"},
    [TT_TRAINING_NCOLUMNS] = {NULL, NULL, NULL},
};
static const struct tt_workload_table tables[] = {{"epochs", epoch_columns, NULL},
                                                  {NULL, NULL, NULL}};
static const char *const shown[] = {"files", "batch", "workers", NULL};

const struct tt_workload tt_workload_training = {
    .name = "training",
    .summary = "samples read in random order and in batches beside a computation, as training does",
    .params = params,
    .opts_size = sizeof(struct tt_training_options),
    .shown = shown,
    .computation = &tt_training_computation,
    .tables = tables,
    .check = training_check,
    .estimate = training_estimate,
    .run = tt_training_run,
    .makes = training_makes,
};
