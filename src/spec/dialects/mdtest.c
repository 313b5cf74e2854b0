/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/dialects/mdtest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct mdtest {
    char *branch, *depth, *per_directory, *items, *write, *read, *shift, *deadline, *count_file;
    char *repetitions, *shuffle, *directory, *api;
    bool leaves_only, own_directories, fsync, sync_phases;
    bool files, directories, create, stat, open, remove;
    uint64_t verbose;
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
    TEXT("metadata.shift", shift, "-N", "N",
         "stat, read and remove what the task N ranks away has made"),
    TEXT("shuffle", shuffle, "-R", "[SEED]", "stat, read and remove in random order"),
    TEXT("metadata.deadline", deadline, "-W", "SECONDS", "stop creating files after this time"),
    TEXT("metadata.count_file", count_file, "-x", "FILE",
         "where the number of files created by -W is kept"),
    TEXT("directory", directory, "-d", "DIR", "the directory to work in"),
    TEXT("metadata.repetitions", repetitions, "-i", "N", "number of iterations"),
    TEXT("api", api, "-a", "POSIX", "the interface; only POSIX is measured"),
    {"verbose", TT_PARAM_COUNT, offsetof(struct mdtest, verbose), NULL, NULL,
     "has no effect: everything is in the run directory", .flag = "-v", .placeholder = ""},
    {NULL},
};

static const struct tt_refused_option refused[] = {
    {"-B", "phases always begin with a barrier"},
    {"-c", "one task makes the shared tree, every task its own"},
    {"-f", "the launcher says how many tasks there are"},
    {"-G", "data is a function of the seed: use --seed"},
    {"-k", "use mknod in a program of your own"},
    {"-l", "the launcher says how many tasks there are"},
    {"-p", "there is no delay between phases"},
    {"-P", "rates and times are both in every result: see --json"},
    {"-q", "every error ends the run"},
    {"-s", "the launcher says how many tasks there are"},
    {"-S", "a file shared by all tasks is what tutti run bulk does"},
    {"-t", "one tree is used at a time"},
    {"-V", "use -v"},
    {"-X", "what is read is always compared with what was written"},
    {"-Z", "times are in every result: see --json"},
    {NULL, NULL},
};

const struct tt_options tt_mdtest_options = {params, sizeof(struct mdtest), TT_OPTIONS_LETTERS,
                                             refused};

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

int tt_mdtest_translate(const void *opts, const struct tt_settings *own, struct tt_settings *s,
                        struct tt_error *e)
{
    const struct mdtest *o = opts;
    bool both = o->files == o->directories;
    bool all_phases = !o->create && !o->stat && !o->open && !o->remove;

    if (o->api && strcasecmp(o->api, "POSIX") != 0)
        return tt_fail(e, TT_USAGE, "-a: '%.40s' is not POSIX, the only interface that is measured",
                       o->api);
    put_settings(o, s);
    if (o->shuffle)
        tt_settings_put(s, "-R", "metadata.shuffle", "yes");
    if (o->shuffle && isdigit((unsigned char)o->shuffle[0]))
        tt_settings_put(s, "-R", "seed", "%s", o->shuffle);
    tt_settings_put(s, "-F", "metadata.what", "%s",
                    both       ? "both"
                    : o->files ? "files"
                               : "directories");
    if ((both || o->directories) && all_phases)
        tt_settings_put(s, "-D", "metadata.rename", "yes");
    if (o->directory)
        tt_settings_put(s, "-d", "dir", "%s", o->directory);
    if (!all_phases)
        put_phases(o, s);
    return tt_settings_append(s, own, e);
}
