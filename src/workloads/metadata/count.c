/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A deadline leaves a number of items that nobody knows before. It stays in a file of the tree, so
 * that a later run finds what is there, and where count_file says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/counts.h"
#include "workloads/metadata/metadata.h"

#define OF_DIRECTORIES ".directories"

static char *with_ending(const char *path, bool directories)
{
    char *out;

    return asprintf(&out, "%s%s", path, directories ? OF_DIRECTORIES : "") < 0 ? NULL : out;
}

static char *path_in(const char *root, bool directories)
{
    char *path;

    return asprintf(&path, "%s/" TT_METADATA_COUNT_FILE "%s", root,
                    directories ? OF_DIRECTORIES : "") < 0
               ? NULL
               : path;
}

static int save(char *path, uint64_t items, struct tt_error *e)
{
    int rc = path ? tt_counts_save(path, items, e) : tt_fail_nomem(e, "a path");

    free(path);
    return rc;
}

int tt_metadata_count_save(const struct tt_metadata_options *o, const char *root, bool directories,
                           uint64_t items, struct tt_error *e)
{
    int rc = o->count_file ? save(with_ending(o->count_file, directories), items, e) : TT_OK;

    if (rc != TT_OK || o->remove || o->deadline <= 0)
        return rc;
    return save(path_in(root, directories), items, e);
}

int tt_metadata_count_load(const struct tt_metadata_options *o, const char *root, bool directories,
                           uint64_t *items, struct tt_error *e)
{
    char *path =
        o->count_file ? with_ending(o->count_file, directories) : path_in(root, directories);
    uint64_t most = *items;
    int rc = TT_OK;

    if (!path)
        return tt_fail_nomem(e, "a path");
    if (o->count_file || access(path, F_OK) == 0)
        rc = tt_counts_load(path, items, e);
    if (!o->count_file && *items > most) /* fewer were asked for than are there */
        *items = most;
    if (rc == TT_OK && *items > most)
        rc = tt_fail(e, TT_USAGE, "'%s' says %llu items, more than metadata.items", path,
                     (unsigned long long)*items);
    free(path);
    return rc;
}

void tt_metadata_count_remove(const char *root)
{
    for (int directories = 0; directories < 2; directories++) {
        struct tt_error ignored = TT_ERROR_CLEAR;
        char *path = path_in(root, directories);
        uint64_t items;

        if (path && tt_counts_load(path, &items, &ignored) == TT_OK)
            unlink(path);
        free(path);
    }
}
