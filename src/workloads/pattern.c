/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables, selections and series of any shape, written and read back with every byte checked: for
 * conformance of backends and stacks, and for trying shapes of one's own. Its parts are in
 * pattern/.
 *
 * Content is a function of seed, variable, step and element, so a later run can check it, too. */
#include <stdlib.h>

#include "engine/engine.h"
#include "plan/config.h"
#include "workloads/pattern/pattern.h"

static const char *const selections[] = {"slab", "columns", "strided", "runs", NULL};
static const char *const orders[] = {"sorted", "shuffled", NULL};
static const char *const balances[] = {"even", "uneven", "some-empty", NULL};
static const char *const memories[] = {"packed", "gaps", "scattered", NULL};
static const char *const policies[] = {"overwrite", "append", "group", "file", NULL};
static const char *const files[] = {"shared", "process", NULL};
static const char *const phases[] = {"both", "write", "read", NULL};

#define AT(member) offsetof(struct tt_pattern_options, member)
static const struct tt_param params[] = {
    {"variables", TT_PARAM_COUNT, AT(variables), "2", NULL, "variables in the file", 1, 4096},
    {"fixed", TT_PARAM_COUNT, AT(fixed), "0", NULL,
     "how many of them are written once, in the first step", 0, 4096},
    {"element", TT_PARAM_TEXT, AT(element), "f64", NULL,
     "u8, i32, u32, i64, u64, f32, f64, char, or a record: x:f64,id:i64,tag:char*8"},
    {"dims", TT_PARAM_COUNTS, AT(dims), "64:32", "elements",
     "dimensions of a variable, 1 to 4, slowest first; with a file per process of all together"},
    {"unlimited", TT_PARAM_BOOL, AT(unlimited), "no", NULL, "the first dimension may grow"},
    {"selection", TT_PARAM_CHOICE, AT(selection), "slab", NULL,
     "what a rank has: a range of the first or (columns) of the last dimension, every so many "
     "elements, or runs",
     .choices = selections},
    {"runs", TT_PARAM_COUNT, AT(runs), "100", NULL, "runs per rank", 1, 200000},
    {"run_min", TT_PARAM_COUNT, AT(run_min), "1", "elements", "shortest run", 1, 1 << 30},
    {"run_max", TT_PARAM_COUNT, AT(run_max), "8", "elements", "longest run", 1, 1 << 30},
    {"order", TT_PARAM_CHOICE, AT(order), "sorted", NULL, "order of the runs in their list",
     .choices = orders},
    {"balance", TT_PARAM_CHOICE, AT(balance), "even", NULL,
     "ranks have as much, up to three times as much as others, or every second nothing",
     .choices = balances},
    {"blocks", TT_PARAM_COUNT, AT(blocks), "1", NULL, "blocks of a variable in a dump", 1, 65536},
    {"memory", TT_PARAM_CHOICE, AT(memory), "packed", NULL,
     "where elements lie in memory: one after the other, with gaps, or in scattered runs",
     .choices = memories},
    {"steps", TT_PARAM_COUNT, AT(steps), "3", NULL, "dumps", 1, INT64_C(1) << 32},
    {"series", TT_PARAM_CHOICE, AT(series), "overwrite", NULL,
     "a step replaces the one before, is appended, or has a group or a file of its own",
     .choices = policies},
    {"files", TT_PARAM_CHOICE, AT(files), "shared", NULL, "one file, or one per process",
     .choices = files},
    {"phase", TT_PARAM_CHOICE, AT(phase), "both", NULL,
     "write, or read what an earlier run has kept at pattern.path with the same options and seed",
     .choices = phases},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; default: a new one there", .placeholder = "FILE"},
    {"reopen", TT_PARAM_BOOL, AT(reopen), "no", NULL, "close the file before it is read"},
    {"shift", TT_PARAM_BOOL, AT(shift), "no", NULL,
     "read what the next rank has written; needs reopen, or phase read"},
    {"prefetch", TT_PARAM_BOOL, AT(prefetch), "no", NULL, "start reads in the background"},
    {NULL},
};

static int check_dims(const struct tt_pattern_options *o, struct tt_error *e)
{
    uint64_t bytes = 1u << 20; /* room for any element */

    if (o->dims.n < 1 || o->dims.n > 4)
        return tt_fail(e, TT_USAGE, "pattern.dims: 1 to 4 dimensions, not %zu", o->dims.n);
    for (size_t d = 0; d < o->dims.n; d++)
        if (o->dims.values[d] == 0 || __builtin_mul_overflow(bytes, o->dims.values[d], &bytes))
            return tt_fail(e, TT_USAGE, "pattern.dims: a dimension is 0, or all are too large");
    return TT_OK;
}

static int pattern_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_pattern_options *o = tt_config_opts(config, "pattern");
    struct tt_field fields[TT_PATTERN_MAX_FIELDS];
    struct tt_element element;
    char *names;
    int rc;

    if (!o->element)
        return tt_fail(e, TT_USAGE, "pattern.element is empty");
    rc = tt_pattern_element(o->element, &element, fields, &names, e);
    free(names);
    if (rc == TT_OK)
        rc = check_dims(o, e);
    if (rc != TT_OK)
        return rc;
    if (o->fixed > o->variables)
        return tt_fail(e, TT_USAGE, "pattern.fixed is more than pattern.variables");
    if (o->run_min > o->run_max)
        return tt_fail(e, TT_USAGE, "pattern.run_min is more than pattern.run_max");
    if (o->shift && o->files)
        return tt_fail(e, TT_USAGE, "pattern.shift needs a shared file");
    if (o->shift && !o->reopen && o->phase != TT_PATTERN_READ)
        return tt_fail(e, TT_USAGE, "pattern.shift needs pattern.reopen or pattern.phase=read");
    if (o->phase == TT_PATTERN_READ && !o->path)
        return tt_fail(e, TT_USAGE, "pattern.phase=read needs pattern.path");
    if (o->phase != TT_PATTERN_WRITE && tt_stack_loss(&config->stack) > 0)
        return tt_fail(e, TT_USAGE,
                       "pattern compares every bit that it reads, but a layer or filter below may "
                       "change values; leave out its bound, or use pattern.phase=write");
    if (o->phase == TT_PATTERN_READ && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE, "pattern.phase=read needs a backend that keeps data");
    return tt_pattern_shape_check(o, config->run->ranks ? (int)config->run->ranks : 1, e);
}

static int pattern_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    const struct tt_pattern_options *o = tt_config_opts(config, "pattern");
    uint64_t per_step = o->variables - o->fixed, total = 0, largest = 0, kept;
    int size = config->run->ranks ? (int)config->run->ranks : 1, fullest = 0, rc;
    struct tt_field fields[TT_PATTERN_MAX_FIELDS];
    struct tt_element element;
    char *names;

    rc = tt_pattern_element(o->element, &element, fields, &names, e);
    free(names);
    for (int rank = 0; rank < size; rank++) {
        uint64_t bytes = tt_pattern_shape_count(o, rank, size) * element.size;

        total += bytes;
        if (bytes > largest) {
            largest = bytes;
            fullest = rank;
        }
    }
    kept = o->series == TT_OVERWRITE ? 1 : o->steps;
    if (o->phase != TT_PATTERN_READ) {
        out->bytes_written = total * (o->fixed + per_step * o->steps);
        out->bytes_on_disk = total * (o->fixed + per_step * kept);
        out->files = (o->files ? (uint64_t)size : 1) * (o->series == TT_FILE_PER_STEP ? kept : 1);
        out->dumps = o->steps;
    }
    if (o->phase != TT_PATTERN_WRITE && (tt_stack_caps(&config->stack) & TT_CAP_STORES))
        out->bytes_read = total * (o->fixed + per_step * kept);
    out->memory_per_rank = largest * o->variables * (o->memory == TT_PATTERN_PACKED ? 1 : 2);
    if (rc == TT_OK && config->device)
        rc = tt_pattern_device_memory(config, &element, fullest, size, &out->device_memory, e);
    return rc;
}

static const char *const shown[] = {"steps", NULL};

const struct tt_workload tt_workload_pattern = {
    .name = "pattern",
    .summary = "any shape of variables, selections and series, read back and checked",
    .on_device = true,
    .params = params,
    .opts_size = sizeof(struct tt_pattern_options),
    .shown = shown,
    .check = pattern_check,
    .estimate = pattern_estimate,
    .run = tt_pattern_run,
};
