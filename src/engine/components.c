/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the engine that a workload may use, as parameter tables. */
#include "node/counters.h"
#include "engine/engine.h"
#include "engine/stripe.h"

/* In the order of enum tt_policy. */
static const char *const policies[] = {"overwrite", "append", "group", "file", NULL};
static const char *const files[] = {"shared", "process", NULL};
static const char *const completions[] = {"needed", "early", NULL};
static const char *const kinds[] = {"allgather", "allreduce", "alltoall", NULL};

#define AT(member) offsetof(struct tt_write_options, member)
static const struct tt_param write_params[] = {
    {"every", TT_PARAM_COUNT, AT(every), "0", "iterations",
     "dump at the end of every so many iterations; 0: never"},
    {"pattern", TT_PARAM_COUNTS, AT(pattern), "1", "files",
     "files written per dump over the run, such as 10:0:1: ten in its first third, none in its "
     "second, one in its last"},
    {"series", TT_PARAM_CHOICE, AT(series), "overwrite", NULL,
     "where the next dump goes: over the one before, behind it, to a group or to a file of its own",
     .choices = policies},
    {"files", TT_PARAM_CHOICE, AT(files), "shared", NULL,
     "one file for all processes, or one for each", .choices = files},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; default: a new one there", .placeholder = "FILE"},
    {"completion", TT_PARAM_CHOICE, AT(completion), "needed", NULL,
     "with overlap: wait when the buffer is needed again, or an iteration early as numio does",
     .choices = completions},
    {0},
};
#undef AT
const struct tt_component tt_write_component = {
    .name = "write",
    .summary = "periodic output",
    .params = write_params,
    .opts_size = sizeof(struct tt_write_options),
};

#define AT(member) offsetof(struct tt_read_options, member)
static const struct tt_param read_params[] = {
    {"every", TT_PARAM_COUNT, AT(every), "0", "iterations",
     "read at the start of every so many iterations; 0: never"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; default: what this run has written", .placeholder = "FILE"},
    {"restart", TT_PARAM_BOOL, AT(restart), "no", NULL, "continue from what was read"},
    {0},
};
#undef AT
const struct tt_component tt_read_component = {
    .name = "read",
    .summary = "periodic input",
    .params = read_params,
    .opts_size = sizeof(struct tt_read_options),
};

#define AT(member) offsetof(struct tt_collective_options, member)
static const struct tt_param collective_params[] = {
    {"every", TT_PARAM_COUNT, AT(every), "0", "iterations",
     "a collective operation in every so many iterations; 0: never"},
    {"size", TT_PARAM_BYTES, AT(size), "1m", "B", "bytes per rank, as many as MPI can count", 0,
     INT32_MAX},
    {"kind", TT_PARAM_CHOICE, AT(kind), "allgather", NULL, "which operation", .choices = kinds},
    {0},
};
#undef AT
const struct tt_component tt_collective_component = {
    .name = "collective",
    .summary = "collective communication as filler",
    .params = collective_params,
    .opts_size = sizeof(struct tt_collective_options),
};

#define AT(member) offsetof(struct tt_counters_options, member)
static const struct tt_param counters_params[] = {
    {"interval", TT_PARAM_DURATION, AT(interval), "100ms", NULL,
     "time between two samples of a node's counters; 0: none"},
    {"watch", TT_PARAM_WORDS, AT(watch), NULL, NULL,
     "series of your own, NAME=PATH: the first number in the file is sampled, on every node"},
    {0},
};
#undef AT
const struct tt_component tt_counters_component = {
    .name = "counters",
    .summary = "the nodes' own counters during the run, as time series",
    .params = counters_params,
    .opts_size = sizeof(struct tt_counters_options),
    .check = tt_counters_check,
};

#define AT(member) offsetof(struct tt_stripe_options, member)
static const struct tt_param stripe_params[] = {
    {"count", TT_PARAM_COUNT, AT(count), "0", "servers",
     "over how many of them (Lustre: targets; CephFS: objects) a file is cut; 0: as it is", 0,
     100000},
    {"size", TT_PARAM_BYTES, AT(size), "0", "B", "of a piece, a multiple of 64 KiB; 0: as it is", 0,
     INT64_C(1) << 32},
    {0},
};
#undef AT
const struct tt_component tt_stripe_component = {
    .name = "stripe",
    .summary = "how Lustre or CephFS cut the files that a run makes in the data directory",
    .params = stripe_params,
    .opts_size = sizeof(struct tt_stripe_options),
    .check = tt_stripe_check,
};
