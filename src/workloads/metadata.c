/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees of small files and directories, as mdtest has them: made, looked up, read, renamed and
 * removed, by other ranks than those that made them. Its parts are in metadata/.
 *
 * What is measured is the file system's own calls, so there are no other backends than posix, and
 * no layers. On discard the calls are left out: what remains is the cost of tutti itself. */
#include <string.h>

#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/metadata/metadata.h"

static const char *const whats[] = {"files", "directories", "both", NULL};

#define AT(member) offsetof(struct tt_metadata_options, member)
static const struct tt_param params[] = {
    {"items", TT_PARAM_COUNT, AT(items), "60000", NULL, "files or directories that a rank makes", 1,
     INT64_C(1) << 40},
    {"per_directory", TT_PARAM_COUNT, AT(per_directory), "0", NULL,
     "of every rank in each directory of the tree, instead of items; 0: items are spread over them",
     0, INT64_C(1) << 40},
    {"what", TT_PARAM_CHOICE, AT(what), "files", NULL,
     "the items: files, directories, or one and then "
     "the other",
     .choices = whats},
    {"branch", TT_PARAM_COUNT, AT(branch), "1", NULL, "directories in each directory of the tree",
     1, 1 << 20},
    {"depth", TT_PARAM_COUNT, AT(depth), "0", NULL, "of the tree; 0: one directory", 0,
     TT_METADATA_MAX_DEPTH},
    {"leaves_only", TT_PARAM_BOOL, AT(leaves_only), "no", NULL,
     "items only in the lowest directories of the tree"},
    {"own_directories", TT_PARAM_BOOL, AT(own_directories), "no", NULL, "a tree for every rank"},
    {"write", TT_PARAM_BYTES, AT(write), "0", "B", "written into each file when it is made", 0,
     1 << 30},
    {"read", TT_PARAM_BYTES, AT(read), "0", "B", "read from each file", 0, 1 << 30},
    {"check", TT_PARAM_BOOL, AT(check), "yes", NULL,
     "compare what is read with what was written, inside the timing"},
    {"check_write", TT_PARAM_BOOL, AT(check_write), "no", NULL,
     "read each file back after writing it and compare, inside the timing"},
    {"signature", TT_PARAM_COUNT, AT(signature), "0", NULL,
     "of the data, so that a later run can check it; 0: the seed"},
    {"shared", TT_PARAM_BOOL, AT(shared), "no", NULL,
     "all ranks make, look up and read the same files; rank 0 removes them"},
    {"mknod", TT_PARAM_BOOL, AT(mknod), "no", NULL, "make files by mknod, without opening them"},
    {"tasks", TT_PARAM_COUNT, AT(tasks), "0", "ranks",
     "so many ranks do the work and the others wait; 0: all work", 0, INT32_MAX},
    {"fsync", TT_PARAM_BOOL, AT(fsync), "no", NULL, "make each file durable when it was written"},
    {"sync_phases", TT_PARAM_BOOL, AT(sync_phases), "no", NULL,
     "sync the whole file system at the end of each phase, inside the timing"},
    {"create", TT_PARAM_BOOL, AT(create), "yes", NULL, "make the items"},
    {"stat", TT_PARAM_BOOL, AT(stat), "yes", NULL, "look them up"},
    {"open", TT_PARAM_BOOL, AT(open), "yes", NULL, "open and read the files"},
    {"rename", TT_PARAM_BOOL, AT(rename), "no", NULL, "give the directories another name"},
    {"remove", TT_PARAM_BOOL, AT(remove), "yes", NULL, "remove the items"},
    {"shift", TT_PARAM_COUNT, AT(shift), "0", "ranks",
     "look up the items of the rank so far away, read those of twice and remove those of three "
     "times the distance",
     0, INT32_MAX},
    {"shuffle", TT_PARAM_BOOL, AT(shuffle), "no", NULL, "look up and read in random order"},
    {"deadline", TT_PARAM_DURATION, AT(deadline), "0", "s",
     "stop making items after this time; then all ranks make as many as the fastest; 0: never"},
    {"count_file", TT_PARAM_TEXT, AT(count_file), NULL, NULL,
     "keeps the number of items that a deadline left, for a later run", .placeholder = "FILE"},
    {"repetitions", TT_PARAM_COUNT, AT(repetitions), "1", NULL, "how often all of it is done", 1,
     100000},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "make the tree in this new directory, or use the one that an earlier run has made and kept "
     "there; relative to --dir",
     .placeholder = "DIRECTORY"},
    {NULL},
};

static int check_tree(const struct tt_metadata_options *o, uint64_t ranks, struct tt_error *e)
{
    uint64_t items = tt_metadata_items(o);

    if (tt_metadata_directories(o) == 0 || items == 0 ||
        (double)items * (double)(o->write + 1) * (double)ranks * (double)o->repetitions >= 0x1p63)
        return tt_fail(e, TT_USAGE, "metadata: the tree or its items are more than can be counted");
    return TT_OK;
}

/* Options of every run that have no effect here are refused where they ask for something. */
static int check_run(const struct tt_run_options *run, struct tt_error *e)
{
    const char *given = run->mode                         ? "mode"
                        : run->overlap != TT_OVERLAP_NONE ? "overlap"
                        : run->sync != TT_SYNC_DUMP       ? "sync"
                        : run->inflight != 1              ? "inflight"
                                                          : NULL;

    if (strcmp(run->backend, "posix") != 0 && strcmp(run->backend, "discard") != 0)
        return tt_fail(e, TT_USAGE,
                       "metadata measures the calls of the file system itself: not possible on "
                       "backend %s, because it stores variables; use --backend posix",
                       run->backend);
    if (run->layers.n > 0)
        return tt_fail(e, TT_USAGE,
                       "metadata measures the calls of the file system itself, which layers do not "
                       "see: leave out --layers %s",
                       run->layers.words[0]);
    if (given)
        return tt_fail(e, TT_USAGE,
                       "--%s has no effect on metadata, which makes no dumps: leave it out; "
                       "metadata.fsync makes files durable",
                       given);
    return TT_OK;
}

static int check_choices(const struct tt_metadata_options *o, uint64_t ranks, struct tt_error *e)
{
    if (!o->create && !o->path)
        return tt_fail(e, TT_USAGE,
                       "metadata.create is off: metadata.path has to name a tree that was kept");
    if (!o->create && o->repetitions > 1)
        return tt_fail(e, TT_USAGE, "metadata.repetitions needs metadata.create");
    if (o->create && !o->remove && o->repetitions > 1)
        return tt_fail(e, TT_USAGE, "metadata.repetitions needs metadata.remove");
    if (o->rename && o->what == TT_METADATA_FILES)
        return tt_fail(e, TT_USAGE,
                       "metadata.rename is for directories: use metadata.what directories");
    if (o->shared && (o->own_directories || o->what != TT_METADATA_FILES))
        return tt_fail(e, TT_USAGE,
                       "metadata.shared needs metadata.what files and one tree for all ranks");
    if (o->mknod && (o->write > 0 || o->fsync))
        return tt_fail(e, TT_USAGE,
                       "metadata.mknod opens no file: leave out metadata.write and "
                       "metadata.fsync");
    if (o->tasks > ranks)
        return tt_fail(e, TT_USAGE, "metadata.tasks is %llu, but there are %llu ranks",
                       (unsigned long long)o->tasks, (unsigned long long)ranks);
    if (o->count_file && o->create && o->deadline <= 0)
        return tt_fail(e, TT_USAGE,
                       "metadata.count_file needs metadata.deadline when making files");
    return TT_OK;
}

static int metadata_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_metadata_options *o = tt_config_opts(config, "metadata");
    int rc = check_run(config->run, e);

    if (rc == TT_OK)
        rc = check_choices(o, config->run->ranks, e);
    return rc == TT_OK ? check_tree(o, config->run->ranks, e) : rc;
}

static int metadata_estimate(const struct tt_config *config, struct tt_estimate *out,
                             struct tt_error *e)
{
    const struct tt_metadata_options *o = tt_config_opts(config, "metadata");
    uint64_t tasks = tt_metadata_tasks(o, config->run->ranks);
    uint64_t written = tt_metadata_items(o) * (o->shared ? 1 : tasks);
    uint64_t items = tt_metadata_items(o) * tasks;
    bool files = o->what != TT_METADATA_DIRECTORIES;

    (void)e;
    if (o->create) {
        out->bytes_written = files ? items * o->write * o->repetitions : 0;
        out->bytes_on_disk = files ? written * o->write : 0;
        out->files = files ? written : 0;
        out->dumps = o->repetitions;
        out->at_most = o->deadline > 0;
    }
    out->bytes_read = files && o->open ? items * o->read * o->repetitions : 0;
    out->memory_per_rank = o->write > o->read ? o->write : o->read;
    return TT_OK;
}

static bool metadata_makes(const struct tt_config *config, const char *path, bool is_directory)
{
    return tt_metadata_makes(tt_config_opts(config, "metadata"), config->run->ranks, path,
                             is_directory);
}

static const struct tt_workload_column operation_columns[] = {
    [TT_METADATA_OPERATION] = {"operation", "1",
                               "0: make the tree, 1: create, 2: stat, 3: open, 4: rename, "
                               "5: remove, 6: remove the tree"},
    [TT_METADATA_OF_DIRECTORIES] = {"directories", "1", "1: the items are directories"},
    [TT_METADATA_REPETITION] = {"repetition", "1", "counts from 0"},
    [TT_METADATA_COUNT] = {"count", "1", "items of all ranks"},
    [TT_METADATA_SECONDS] = {"seconds", "s", "of the slowest rank, with the barrier at the end"},
    [TT_METADATA_NCOLUMNS] = {NULL, NULL, NULL},
};
static const struct tt_workload_table tables[] = {{"operations", operation_columns, NULL},
                                                  {NULL, NULL, NULL}};
static const char *const shown[] = {"what", "items", NULL};

const struct tt_workload tt_workload_metadata = {
    .name = "metadata",
    .summary =
        "trees of small files and directories made, looked up, read and removed as mdtest does",
    .params = params,
    .opts_size = sizeof(struct tt_metadata_options),
    .shown = shown,
    .tables = tables,
    .check = metadata_check,
    .estimate = metadata_estimate,
    .run = tt_metadata_run,
    .makes = metadata_makes,
};
