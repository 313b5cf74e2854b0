/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/dialects/mdtest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct mdtest {
    char *branch, *depth, *per_directory, *items, *write, *read, *shift, *deadline, *count_file;
    char *repetitions, *shuffle, *seed, *signature, *directory, *api;
    bool leaves_only, own_directories, fsync, sync_phases, shared, mknod, check, check_write;
    bool files, directories, create, stat, open, rename, remove;
    uint64_t verbose, first, last, step;
};

/* A key with a dot is the setting that the option becomes; the others are looked at below. */
#define TEXT(key, member, letter, value, text) \
    { \
        key, TT_PARAM_TEXT, offsetof(struct mdtest, member), NULL, NULL, text, \
            .flag = letter, .placeholder = value \
    }
#define SWITCH(key, member, letter, text) \
    { \
        key, TT_PARAM_BOOL, offsetof(struct mdtest, member), NULL, NULL, text, .flag = letter \
    }
static const struct tt_param params[] = {
    TEXT("metadata.items", items, "-n", "ITEMS", "files and directories per task, in all"),
    TEXT("metadata.per_directory", per_directory, "-I", "ITEMS",
         "files and directories per task in each directory of the tree"),
    TEXT("metadata.branch", branch, "-b", "N",
         "directories below each directory of the tree [default 1]"),
    TEXT("metadata.depth", depth, "-z", "N", "depth of the tree [default 0]"),
    SWITCH("metadata.leaves_only", leaves_only, "-L", "items only in the leaves of the tree"),
    SWITCH("files", files, "-F", "files only"),
    SWITCH("directories", directories, "-D", "directories only"),
    SWITCH("metadata.own_directories", own_directories, "-u", "a tree for each task"),
    TEXT("metadata.write", write, "-w", "BYTES", "bytes written to each file"),
    TEXT("metadata.read", read, "-e", "BYTES", "bytes read from each file"),
    SWITCH("metadata.fsync", fsync, "-y", "fsync each file after writing it"),
    SWITCH("metadata.sync_phases", sync_phases, "-Y", "sync after each phase"),
    SWITCH("create", create, "-C", "only create; the tree stays in DIR/tutti-mdtest"),
    SWITCH("stat", stat, "-T", "only stat"),
    SWITCH("open", open, "-E", "only read"),
    SWITCH("remove", remove, "-r", "only remove"),
    SWITCH("rename", rename, "-U", "rename directories; always done without -C, -T, -E and -r"),
    SWITCH("metadata.shared", shared, "-S", "all tasks use the same files; no directories"),
    SWITCH("metadata.mknod", mknod, "-k", "make files by mknod"),
    SWITCH("check", check, "-X", "compare what is read with what was written"),
    SWITCH("verify-read", check, NULL, "the same"),
    SWITCH("verify-write", check_write, NULL, "read back and compare each file after writing it"),
    {"first", TT_PARAM_COUNT, offsetof(struct mdtest, first), "1", NULL,
     "first number of tasks to run on, with -l", 1, INT32_MAX, .flag = "-f"},
    {"last", TT_PARAM_COUNT, offsetof(struct mdtest, last), NULL, NULL,
     "last number of tasks to run on; 0: all tasks, once", 0, INT32_MAX, .flag = "-l"},
    {"step", TT_PARAM_COUNT, offsetof(struct mdtest, step), "1", NULL,
     "step from one number of tasks to the next", 1, INT32_MAX, .flag = "-s"},
    TEXT("metadata.shift", shift, "-N", "N",
         "stat, read and remove what the task N ranks away has made"),
    TEXT("shuffle", shuffle, "-R", "[SEED]", "stat, read and remove in random order"),
    TEXT("random-seed", seed, NULL, "SEED", "seed of -R"),
    TEXT("metadata.signature", signature, "-G", "N", "makes the data of files repeatable"),
    TEXT("metadata.deadline", deadline, "-W", "SECONDS", "stop creating after this time"),
    TEXT("metadata.count_file", count_file, "-x", "FILE",
         "where the number of items created by -W is kept"),
    TEXT("directory", directory, "-d", "DIR", "the directory to work in"),
    TEXT("metadata.repetitions", repetitions, "-i", "N", "number of iterations"),
    TEXT("api", api, "-a", "API", "the interface: POSIX or DUMMY"),
    {"verbose", TT_PARAM_COUNT, offsetof(struct mdtest, verbose), NULL, NULL,
     "has no effect: everything is in the run directory", .flag = "-v", .placeholder = ""},
    {NULL},
};

static const char gpu[] = "tutti mdtest keeps its buffers in the host's memory";
static const char commands[] =
    "no commands are run between phases: use a call for each of -C, -T, -E and -r";
static const char elsewhere[] = "it belongs to an interface that makes no files here";
static const char layout[] = "a layout would change the number: set it for the directory";
static const char slow[] = "time that is not spent in calls would be in the number";
static const struct tt_other_option others[] = {
    {"-B", NULL, false, false, "phases always begin and end with a barrier"},
    {"-p", NULL, true, false, "iterations follow each other at once"},
    {"-P", NULL, false, false, "rates and times are both in every result: see --json"},
    {"-q", NULL, false, false, "every error ends the run"},
    {"-t", NULL, false, false, "making and removing the trees of -u are phases of their own"},
    {"-V", NULL, true, false, "everything is in the run directory"},
    {"-Z", NULL, false, false, "the summary has rates; times are in every result: see --json"},
    {NULL, "dataPacketType", true, false, "what files hold is random"},
    {NULL, "print-all-procs", false, false, "ranks are in the run directory"},
    {NULL, "showRankStatistics", false, false, "ranks are in the run directory"},
    {NULL, "saveRankPerformanceDetails", true, false, "ranks are in the run directory"},
    {NULL, "savePerOpDataCSV", true, false, "calls are in the run directory: see tutti export"},
    {NULL, "warningAsErrors", false, false, "warnings are in the result: see tutti show"},
    {NULL, "GPUid", true, false, gpu},
    {NULL, "mpiio.showHints", false, false, elsewhere},
    {NULL, "mpiio.preallocate", false, false, elsewhere},
    {NULL, "mpiio.useStridedDatatype", false, false, elsewhere},
    {NULL, "mpiio.useFileView", false, false, elsewhere},
    {NULL, "mpiio.hintsFileName", true, false, elsewhere},
    {NULL, "hdf5.showHints", false, false, elsewhere},
    {NULL, "hdf5.collectiveMetadata", false, false, elsewhere},
    {NULL, "hdf5.individualDataSets", false, false, elsewhere},
    {NULL, "hdf5.noFill", false, false, elsewhere},
    {NULL, "hdf5.chunkSize", true, false, elsewhere},
    {NULL, "hdf5.hintsFileName", true, false, elsewhere},
    {NULL, "hdf5.setAlignment", true, false, elsewhere},
    {NULL, "mmap.madv_dont_need", false, false, elsewhere},
    {NULL, "mmap.madv_pattern", false, false, elsewhere},
    {"-c", NULL, false, true, "one task would make the files of all: use -S, or one task"},
    {"-g", NULL, false, true, "directories keep the layout that they inherit: see lfs setstripe"},
    {NULL, "run-cmd-before-phase", true, true, commands},
    {NULL, "run-cmd-after-phase", true, true, commands},
    {NULL, "allocateBufferOnGPU", true, true, gpu},
    {NULL, "gpuDirect", false, true, gpu},
    {NULL, "posix.odirect", false, true, "files are written through the page cache"},
    {NULL, "posix.rangelocks", false, true, "files are written without locks"},
    {NULL, "posix.lustre.stripecount", true, true, layout},
    {NULL, "posix.lustre.stripesize", true, true, layout},
    {NULL, "posix.lustre.startost", true, true, layout},
    {NULL, "posix.lustre.pool", true, true, layout},
    {NULL, "posix.beegfs.NumTargets", true, true, layout},
    {NULL, "posix.beegfs.ChunkSize", true, true, layout},
    {NULL, "dummy.delay-create", true, true, slow},
    {NULL, "dummy.delay-close", true, true, slow},
    {NULL, "dummy.delay-sync", true, true, slow},
    {NULL, "dummy.delay-xfer", true, true, slow},
    {NULL, "dummy.delay-only-rank0", false, true, slow},
    {0},
};

const struct tt_options tt_mdtest_options = {params, sizeof(struct mdtest), TT_OPTIONS_LETTERS,
                                             others};

static const char *yes(bool value)
{
    return value ? "yes" : "no";
}

/* Options that are a setting each. */
static void put_settings(const struct mdtest *o, struct tt_settings *s)
{
    for (const struct tt_param *p = params; p->key; p++) {
        const void *at = (const char *)o + p->offset;

        if (!strchr(p->key, '.'))
            continue;
        if (p->type == TT_PARAM_BOOL && *(const bool *)at)
            tt_settings_put(s, p->flag, p->key, "yes");
        else if (p->type == TT_PARAM_TEXT && *(char *const *)at)
            tt_settings_put(s, p->flag, p->key, "%s", *(char *const *)at);
    }
}

/* Only some phases: the tree stays where a later call finds it. */
static void put_phases(const struct mdtest *o, struct tt_settings *s)
{
    tt_settings_put(s, "-d", "metadata.path", "tutti-mdtest");
    tt_settings_put(s, "-C", "metadata.create", "%s", yes(o->create));
    tt_settings_put(s, "-T", "metadata.stat", "%s", yes(o->stat));
    tt_settings_put(s, "-E", "metadata.open", "%s", yes(o->open));
    tt_settings_put(s, "-r", "metadata.remove", "%s", yes(o->remove));
    if (o->create && !o->remove)
        tt_settings_put(s, "-r", "keep", "yes");
}

static int put_api(const char *api, struct tt_settings *s, struct tt_error *e)
{
    if (!api || !strcasecmp(api, "POSIX"))
        return TT_OK;
    if (strcasecmp(api, "DUMMY") != 0)
        return tt_fail(e, TT_USAGE, "-a: '%.40s' is not one of POSIX, DUMMY", api);
    tt_settings_put(s, "-a", "backend", "discard");
    return TT_OK;
}

static void put_what(const struct mdtest *o, bool all_phases, struct tt_settings *s)
{
    bool both = o->files == o->directories && !o->shared;
    bool files = o->files || o->shared;

    tt_settings_put(s, "-F", "metadata.what", "%s",
                    both    ? "both"
                    : files ? "files"
                            : "directories");
    if ((both || !files) && (all_phases || o->rename))
        tt_settings_put(s, "-U", "metadata.rename", "yes");
    tt_settings_put(s, "-X", "metadata.check", "%s", yes(o->check));
    if (o->check_write)
        tt_settings_put(s, "--verify-write", "metadata.check_write", "yes");
}

static void put_order(const struct mdtest *o, struct tt_settings *s)
{
    const char *seed = o->seed                                               ? o->seed
                       : o->shuffle && isdigit((unsigned char)o->shuffle[0]) ? o->shuffle
                                                                             : NULL;

    if (o->shuffle)
        tt_settings_put(s, "-R", "metadata.shuffle", "yes");
    if (o->shuffle && seed)
        tt_settings_put(s, "-R", "seed", "%s", seed);
}

static int put_all(const struct mdtest *o, uint64_t tasks, const struct tt_settings *own,
                   struct tt_settings *s, struct tt_error *e)
{
    bool all_phases = !o->create && !o->stat && !o->open && !o->rename && !o->remove;
    int rc = put_api(o->api, s, e);

    if (rc != TT_OK)
        return rc;
    put_settings(o, s);
    put_order(o, s);
    put_what(o, all_phases, s);
    if (o->directory)
        tt_settings_put(s, "-d", "dir", "%s", o->directory);
    if (!all_phases)
        put_phases(o, s);
    if (tasks)
        tt_settings_put(s, "-l", "metadata.tasks", "%" PRIu64, tasks);
    return tt_settings_append(s, own, e);
}

static int check(const struct mdtest *o, struct tt_error *e)
{
    if (o->last && o->first > o->last)
        return tt_fail(e, TT_USAGE, "-f %" PRIu64 " is more than -l %" PRIu64, o->first, o->last);
    if (o->last && (o->last - o->first) / o->step >= TT_MDTEST_MAX_TESTS)
        return tt_fail(e, TT_USAGE, "-f, -l and -s ask for more than %d tests",
                       TT_MDTEST_MAX_TESTS);
    if (o->rename && !o->remove && (o->create || o->stat || o->open))
        return tt_fail(e, TT_USAGE,
                       "-U: a later call would not find the renamed directories: add -r");
    if (o->api && !strcasecmp(o->api, "DUMMY") && (o->check || o->check_write))
        return tt_fail(e, TT_USAGE, "-a DUMMY keeps nothing that could be checked: leave out %s",
                       o->check ? "-X" : "--verify-write");
    if (o->shared && o->directories)
        return tt_fail(e, TT_USAGE,
                       "-S has one file for all tasks and no directories: leave out -D");
    if (o->directory && strchr(o->directory, '@'))
        return tt_fail(e, TT_USAGE, "-d: several directories are not used at once: name one");
    return TT_OK;
}

int tt_mdtest_translate(const void *opts, const struct tt_settings *own,
                        struct tt_mdtest_tests *tests, struct tt_error *e)
{
    const struct mdtest *o = opts;
    uint64_t first = o->last ? o->first : 0;
    int rc = check(o, e);

    if (rc != TT_OK)
        return rc;
    tests->n = (size_t)((o->last - first) / o->step + 1);
    tests->list = calloc(tests->n, sizeof *tests->list);
    if (!tests->list)
        return tt_fail_nomem(e, "tests");
    for (size_t i = 0; rc == TT_OK && i < tests->n; i++)
        rc = put_all(o, first + i * o->step, own, &tests->list[i], e);
    return rc;
}

void tt_mdtest_free(struct tt_mdtest_tests *tests)
{
    for (size_t i = 0; tests->list && i < tests->n; i++)
        tt_settings_free(&tests->list[i]);
    free(tests->list);
}
