/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job that reads many files at once and checksums them, as archiving and post-processing do: the
 * load that congests the network of everybody else. Its parts are in reader/.
 *
 * Files are read by threads, which the I/O stack does not allow, so plain system calls read them:
 * there are no other backends than posix, and no layers. */
#include <stdlib.h>
#include <string.h>

#include "io/raw.h"
#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/reader/reader.h"

static const char *const checksums[] = {"none", "xxhash", NULL};

#define AT(member) offsetof(struct tt_reader_options, member)
static const struct tt_param params[] = {
    {"files", TT_PARAM_COUNT, AT(files), "64", NULL,
     "files over all ranks, made before the measured time", 1, 1 << 24},
    {"size", TT_PARAM_BYTES, AT(size), "16m", "B", "of a file, or of the smallest", 1,
     INT64_C(1) << 50},
    {"size_max", TT_PARAM_BYTES, AT(size_max), "0", "B",
     "of the largest; sizes between are spread evenly over orders of magnitude; 0: all are alike",
     0, INT64_C(1) << 50},
    {"concurrency", TT_PARAM_COUNT, AT(concurrency), "8", NULL,
     "files that a rank reads at the same time, each by a thread", 1, 4096},
    {"transfer", TT_PARAM_BYTES, AT(transfer), "1m", "B", "of a read call", 8, 1 << 30},
    {"passes", TT_PARAM_COUNT, AT(passes), "5", NULL, "how often all files are read", 1,
     INT64_C(1) << 30},
    {"portion", TT_PARAM_BYTES, AT(portion), "64m", "B",
     "that a rank reads in an iteration; the run can be stopped after each", 1, INT64_C(1) << 50},
    {"checksum", TT_PARAM_CHOICE, AT(checksum), "xxhash", NULL,
     "computed of every file, and compared with what was written or read before",
     .choices = checksums},
    {"cold", TT_PARAM_BOOL, AT(cold), "yes", NULL,
     "evict a file from the page cache before it is read"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "read the files in this directory and below instead of making some; nothing there is changed; "
     "relative to --dir",
     .placeholder = "DIRECTORY"},
    {NULL},
};

static int reader_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_reader_options *o = tt_config_opts(config, "reader");
    uint64_t largest = o->size_max > o->size ? o->size_max : o->size;

    if (strcmp(config->run->backend, "posix") != 0)
        return tt_fail(e, TT_USAGE,
                       "reader reads with many threads, by plain system calls: use --backend posix "
                       "instead of %s",
                       config->run->backend);
    if (((const struct tt_raw_opts *)tt_config_opts(config, "posix"))->odirect)
        return tt_fail(e, TT_USAGE,
                       "reader reads by itself, and through the page cache: leave out "
                       "posix.odirect, and see reader.cold");
    if (config->run->layers.n > 0)
        return tt_fail(e, TT_USAGE,
                       "reader reads with many threads, which layers do not allow: leave out "
                       "--layers %s",
                       config->run->layers.words[0]);
    if (o->size_max > 0 && o->size_max < o->size)
        return tt_fail(e, TT_USAGE, "reader.size_max is less than reader.size");
    if ((double)largest * (double)o->files * (double)o->passes >= 0x1p63)
        return tt_fail(e, TT_USAGE, "reader.files x reader.size x reader.passes is too large");
    return TT_OK;
}

static int reader_estimate(const struct tt_config *config, struct tt_estimate *out,
                           struct tt_error *e)
{
    const struct tt_reader_options *o = tt_config_opts(config, "reader");
    uint64_t ranks = config->run->ranks, files = o->files, bytes = 0, each;
    struct tt_reader_list list = {0};
    int rc;

    if (o->path) {
        rc = tt_reader_list_of(config, &list, e);
        free(list.paths);
        if (rc != TT_OK)
            return rc;
        files = list.n;
        bytes = list.bytes;
    } else {
        for (uint64_t i = 0; i < files; i++)
            bytes += tt_reader_size(o, config->run->seed, i);
        out->bytes_written = out->bytes_on_disk = bytes;
        out->files = files;
        out->dumps = 1;
    }
    each = (files + ranks - 1) / ranks;
    out->bytes_read = bytes * o->passes;
    out->memory_per_rank = (each < o->concurrency ? each : o->concurrency) * o->transfer;
    return TT_OK;
}

static const char *const shown[] = {"files", "size", NULL};

const struct tt_workload tt_workload_reader = {
    .name = "reader",
    .summary = "many files read at once and checksummed, as post-processing does",
    .params = params,
    .opts_size = sizeof(struct tt_reader_options),
    .shown = shown,
    .check = reader_check,
    .estimate = reader_estimate,
    .run = tt_reader_run,
};
