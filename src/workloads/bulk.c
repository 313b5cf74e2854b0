/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of transfers, as IOR has them: written, checked and read, shared or by file, in order or
 * at random, one at a time or many in flight. Its parts are in bulk/. */
#include <string.h>

#include "engine/engine.h"
#include "engine/stripe.h"
#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/bulk/bulk.h"

static const char *const placements[] = {"shared", "process", NULL};
static const char *const orders[] = {"sequential", "strided", "random", "repeated", NULL};
static const char *const reorders[] = {"none", "constant", "random", "permutation", NULL};
static const char *const kinds[] = {"random", "timestamp", "offset", "scatter", NULL};

#define AT(member) offsetof(struct tt_bulk_options, member)
static const struct tt_param params[] = {
    {"block", TT_PARAM_BYTES, AT(block), "512m", "B", "contiguous bytes of a rank in a segment", 8,
     INT64_C(1) << 60},
    {"transfer", TT_PARAM_BYTES, AT(transfer), "256k", "B", "of a single request", 8,
     INT64_C(1) << 40},
    {"segments", TT_PARAM_COUNT, AT(segments), "1", NULL,
     "each holds a block of every rank; a file has so many of them", 1, INT64_C(1) << 50},
    {"files", TT_PARAM_CHOICE, AT(files), "shared", NULL, "one file for all ranks, or one each",
     .choices = placements},
    {"order", TT_PARAM_CHOICE, AT(order), "sequential", NULL,
     "of a rank's transfers: block by block; every rank in turn (strided); each place of the whole "
     "file once, at random; any place at random, also several times (repeated)",
     .choices = orders},
    {"write", TT_PARAM_BOOL, AT(write), "yes", NULL, "write the file"},
    {"read", TT_PARAM_BOOL, AT(read), "yes", NULL, "read it"},
    {"check_write", TT_PARAM_BOOL, AT(check_write), "no", NULL,
     "read it after writing and compare every byte, outside of any timing"},
    {"check_read", TT_PARAM_BOOL, AT(check_read), "no", NULL, "compare every byte that is read"},
    {"timed_check", TT_PARAM_BOOL, AT(timed_check), "no", NULL,
     "count the comparing of check_read as reading, as IOR does; with a depth above 1 it always "
     "is: "
     "transfers go on meanwhile"},
    {"reorder", TT_PARAM_CHOICE, AT(reorder), "none", NULL,
     "whose data a rank reads: its own, that of the rank a constant distance away, of a random "
     "one, or of another each (permutation)",
     .choices = reorders},
    {"reorder_distance", TT_PARAM_COUNT, AT(reorder_distance), "1", "nodes",
     "how far away that rank is, at least", 0, INT32_MAX},
    {"reorder_seed", TT_PARAM_COUNT, AT(reorder_seed), "0", NULL,
     "of random readers and of permutations; 0: the run's seed"},
    {"reorder_anew", TT_PARAM_BOOL, AT(reorder_anew), "yes", NULL,
     "other random readers in every repetition"},
    {"depth", TT_PARAM_COUNT, AT(depth), "1", "transfers", "in flight at the same time", 1, 65536},
    {"repetitions", TT_PARAM_COUNT, AT(repetitions), "1", NULL, "how often all of it is done", 1,
     100000},
    {"barriers", TT_PARAM_BOOL, AT(barriers), "no", NULL,
     "ranks wait for each other after opening and before closing"},
    {"deadline", TT_PARAM_DURATION, AT(deadline), "0", "s",
     "stop writing or reading after this time, at the end of a transfer; 0: never"},
    {"wear_out", TT_PARAM_BOOL, AT(wear_out), "no", NULL,
     "after the deadline every rank goes on until it has made as many transfers as the fastest"},
    {"count_file", TT_PARAM_TEXT, AT(count_file), NULL, NULL,
     "keeps the number of transfers that a deadline left, for a later run that reads",
     .placeholder = "FILE"},
    {"paths", TT_PARAM_WORDS, AT(paths), NULL, NULL,
     "files to write or read, relative to --dir, instead of new ones there; with a file per "
     "process ranks take them in turn"},
    {"numbered", TT_PARAM_BOOL, AT(numbered), "no", NULL,
     "a new file for every repetition, all of them left until the end"},
    {"keep_wrong", TT_PARAM_BOOL, AT(keep_wrong), "no", NULL,
     "leave a file in which a wrong byte was found, also without --keep"},
    {"own_directories", TT_PARAM_BOOL, AT(own_directories), "no", NULL,
     "with a file per process: a directory for each"},
    {"data", TT_PARAM_CHOICE, AT(data), "random", NULL,
     "what is written: random, or as IOR has it: the same in every transfer (timestamp), with the "
     "offset every 4 KiB (offset), random once with the offset every 4 KiB (scatter)",
     .choices = kinds},
    {"signature", TT_PARAM_COUNT, AT(signature), "0", NULL,
     "of the data, so that a later run can check it; 0: the seed"},
    {"compressible", TT_PARAM_REAL, AT(compressible), "0", NULL,
     "share of random data that compresses to nothing", 0, 1},
    {"duplicate", TT_PARAM_REAL, AT(duplicate), "0", NULL,
     "share of the 4 KiB chunks of random data that occur again and again", 0, 1},
    {"cold", TT_PARAM_BOOL, AT(cold), "yes", NULL,
     "evict the file from the page cache before it is read"},
    {"ballast", TT_PARAM_SPACE, AT(ballast), "0", NULL,
     "memory of every node that is held, so that less is left to cache files in"},
    {NULL},
};

static const char *const uses[] = {"stripe", NULL};

static int check_sizes(const struct tt_bulk_options *o, uint64_t ranks, struct tt_error *e)
{
    if (o->block % o->transfer != 0)
        return tt_fail(e, TT_USAGE,
                       "bulk.block (%llu bytes) is not a multiple of bulk.transfer (%llu bytes)",
                       (unsigned long long)o->block, (unsigned long long)o->transfer);
    if (o->transfer % 8 != 0)
        return tt_fail(e, TT_USAGE, "bulk.transfer: %llu bytes are not a multiple of 8",
                       (unsigned long long)o->transfer);
    if ((double)o->block * (double)o->segments * (double)ranks * (double)o->repetitions >= 0x1p62)
        return tt_fail(e, TT_USAGE,
                       "bulk.block x bulk.segments x ranks x bulk.repetitions is too large");
    return TT_OK;
}

static int check_combination(const struct tt_config *config, const struct tt_bulk_options *o,
                             struct tt_error *e)
{
    const struct tt_stack *stack = &config->stack;
    bool collective = !o->files && tt_stack_is_collective(stack);
    bool by_layer = stack->n > 1 && stack->elements[stack->n - 2]->is_collective;

    if (!o->write && !o->read && !o->check_read)
        return tt_fail(e, TT_USAGE, "bulk.write and bulk.read are both off: nothing is left to do");
    if (!o->write && o->paths.n == 0)
        return tt_fail(e, TT_USAGE, "bulk.write is off: bulk.paths has to name the files to read");
    if (o->order == TT_BULK_STRIDED && o->files)
        return tt_fail(e, TT_USAGE,
                       "bulk.order strided: a file per process has no other ranks' transfers "
                       "between; use bulk.files shared");
    if (o->wear_out && o->deadline <= 0)
        return tt_fail(e, TT_USAGE, "bulk.wear_out needs bulk.deadline");
    if (o->count_file && o->deadline <= 0 && o->write)
        return tt_fail(e, TT_USAGE, "bulk.count_file needs bulk.deadline when writing");
    if (o->own_directories && !o->files)
        return tt_fail(e, TT_USAGE, "bulk.own_directories needs bulk.files process");
    if (o->paths.n > 1 && !o->files)
        return tt_fail(e, TT_USAGE, "several bulk.paths need bulk.files process");
    if ((o->compressible > 0 || o->duplicate > 0) && o->data != 0)
        return tt_fail(e, TT_USAGE,
                       "bulk.compressible and bulk.duplicate are for bulk.data random only");
    if (o->order == TT_BULK_REPEATED && !o->files && o->data != 0 &&
        (o->check_read || o->check_write))
        return tt_fail(e, TT_USAGE,
                       "bulk.order repeated: ranks write the same places of a shared file, and "
                       "bulk.data %s holds their numbers; check it with bulk.data random",
                       kinds[o->data]);
    if (config->run->sync == TT_SYNC_WRITE && !o->files && !collective && config->run->ranks > 1 &&
        !(tt_stack_caps(&config->stack) & TT_CAP_SYNCS_ALONE))
        return tt_fail(e, TT_USAGE,
                       "bulk: sync write on a shared file: %s syncs with all ranks together, and "
                       "they do not make the same transfers; use bulk.files process",
                       config->run->backend);
    if (collective && (o->deadline > 0 || o->depth > 1 || o->order == TT_BULK_REPEATED))
        return tt_fail(e, TT_USAGE,
                       "bulk: with collective transfers all ranks go in step: no deadline, a depth "
                       "of 1, no repeated order; use --%s%s, or bulk.files process",
                       by_layer ? "layers without subfile" : config->run->backend,
                       by_layer ? "" : ".method independent");
    return TT_OK;
}

static int bulk_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_bulk_options *o = tt_config_opts(config, "bulk");
    int rc = check_sizes(o, config->run->ranks, e);

    if (rc == TT_OK && !(tt_stack_caps(&config->stack) & TT_CAP_STORES) &&
        (o->check_write || o->check_read))
        rc =
            tt_fail(e, TT_USAGE, "%s keeps nothing that could be checked: use --bulk.check-read no",
                    config->run->backend);
    if (rc == TT_OK)
        rc = check_combination(config, o, e);
    if (rc == TT_OK)
        rc = tt_stripe_check_path(config, o->paths.n > 0, "bulk.paths", e);
    return rc == TT_OK ? tt_stream_check_depth(config, (unsigned)o->depth, e) : rc;
}

static int bulk_estimate(const struct tt_config *config, struct tt_estimate *out,
                         struct tt_error *e)
{
    const struct tt_bulk_options *o = tt_config_opts(config, "bulk");
    uint64_t ranks = config->run->ranks, file = o->block * o->segments * ranks;
    uint64_t reads = (uint64_t)(o->read || o->check_read) + (o->write && o->check_write);

    (void)e;
    if (o->write) {
        out->bytes_written = file * o->repetitions;
        out->bytes_on_disk = file * (o->numbered ? o->repetitions : 1);
        out->files = (o->files ? ranks : 1) * (o->numbered ? o->repetitions : 1);
        out->dumps = o->repetitions;
        out->at_most = o->deadline > 0;
    }
    out->bytes_read = file * o->repetitions * reads;
    out->memory_per_rank = out->device_memory = o->depth * o->transfer;
    return TT_OK;
}

static const struct tt_workload_column access_columns[] = {
    [TT_BULK_ACCESS] = {"access", "1", "0: write, 1: check of what was written, 2: read"},
    [TT_BULK_REPETITION] = {"repetition", "1", "counts from 0"},
    [TT_BULK_BYTES] = {"bytes", "B", "moved by all ranks"},
    [TT_BULK_TRANSFERS] = {"transfers", "1", "of all ranks"},
    [TT_BULK_OPEN_S] = {"open", "s", "the slowest rank's own calls that open the file"},
    [TT_BULK_TRANSFER_S] = {"transfer", "s", "from the first transfer of any rank to the last"},
    [TT_BULK_CLOSE_S] = {"close", "s", "the slowest rank's own call that closes the file"},
    [TT_BULK_TOTAL_S] = {"total", "s", "open, transfer and close together"},
    [TT_BULK_LATENCY_S] = {"latency", "s", "mean of a transfer"},
    [TT_BULK_DEADLINE_S] = {"deadline", "s", "when the first rank stopped; 0: no deadline"},
    [TT_BULK_DEADLINE_BYTES] = {"deadline_bytes", "B", "moved by all ranks until their deadline"},
    [TT_BULK_LEAST_TRANSFERS] = {"least_transfers", "1", "of a rank"},
    [TT_BULK_MOST_TRANSFERS] = {"most_transfers", "1", "of a rank"},
    [TT_BULK_NCOLUMNS] = {NULL, NULL, NULL},
};
static const struct tt_workload_table tables[] = {{"accesses", access_columns, NULL},
                                                  {NULL, NULL, NULL}};
static const char *const shown[] = {"files", "order", "block", "transfer", NULL};

const struct tt_workload tt_workload_bulk = {
    .name = "bulk",
    .summary = "blocks of transfers written and read as IOR does, in any order and at any depth",
    .uses = uses,
    .on_device = true,
    .params = params,
    .opts_size = sizeof(struct tt_bulk_options),
    .shown = shown,
    .tables = tables,
    .check = bulk_check,
    .estimate = bulk_estimate,
    .run = tt_bulk_run,
};
