/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A deadline leaves a number of items that nobody knows before. It stays in a file of the tree, so
 * that a later run finds what is there, and where count_file says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/counts.h"
#include "workloads/metadata/metadata.h"

static char *path_in(const char *root)
{
    char *path;

    return asprintf(&path, "%s/" TT_METADATA_COUNT_FILE, root) < 0 ? NULL : path;
}

int tt_metadata_count_save(const struct tt_metadata_options *o, const char *root, uint64_t items,
                           struct tt_error *e)
{
    char *inside;
    int rc = o->count_file ? tt_counts_save(o->count_file, items, e) : TT_OK;

    if (rc != TT_OK || o->remove || o->deadline <= 0)
        return rc;
    inside = path_in(root);
    rc = inside ? tt_counts_save(inside, items, e) : tt_fail_nomem(e, "a path");
    free(inside);
    return rc;
}

int tt_metadata_count_load(const struct tt_metadata_options *o, const char *root, uint64_t *items,
                           struct tt_error *e)
{
    char *inside = path_in(root);
    const char *path = o->count_file ? o->count_file : inside;
    uint64_t most = *items;
    int rc = TT_OK;

    if (!inside)
        return tt_fail_nomem(e, "a path");
    if (o->count_file || access(inside, F_OK) == 0)
        rc = tt_counts_load(path, items, e);
    if (!o->count_file && *items > most) /* fewer were asked for than are there */
        *items = most;
    if (rc == TT_OK && *items > most)
        rc = tt_fail(e, TT_USAGE, "'%s' says %llu items, more than metadata.items", path,
                     (unsigned long long)*items);
    free(inside);
    return rc;
}

void tt_metadata_count_remove(const char *root)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *inside = path_in(root);
    uint64_t items;

    if (inside && tt_counts_load(inside, &items, &ignored) == TT_OK)
        unlink(inside);
    free(inside);
}
