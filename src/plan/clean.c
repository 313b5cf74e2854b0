/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/clean.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "plan/folder.h"
#include "plan/tree.h"

struct cleaning {
    const char *id;
    uint64_t *removed;
};

/* "tutti-ID" */
static bool is_data_folder(const char *id, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat st;

    return !strncmp(name, "tutti-", 6) && !strcmp(name + 6, id) && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode);
}

bool tt_data_is_ours(const char *id, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char mark[256] = "", *parent;
    ssize_t n = lgetxattr(path, TT_DATA_MARK, mark, sizeof mark - 1);
    bool ours;

    if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) /* a manifest may be anybody's */
        return false;
    if (n > 0)
        return !strcmp(mark, id);
    parent = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    ours = parent && is_data_folder(id, parent); /* it was not finished, so it has no mark yet */
    free(parent);
    return ours;
}

/* A path that ends in a slash: a folder that went with everything in it. */
static int clean_tree(struct cleaning *c, const char *path, struct tt_error *e)
{
    char *plain = strndup(path, strlen(path) - 1);
    int rc;

    if (!plain)
        return tt_fail_nomem(e, "a path");
    rc = tt_data_is_ours(c->id, plain)
             ? tt_tree_remove(plain, e)
             : tt_fail(e, TT_FAILED, "'%s' is left alone: it carries no mark of this run", plain);
    *c->removed += rc == TT_OK;
    free(plain);
    return rc;
}

static int clean_one(void *context, const char *path, struct tt_error *e)
{
    struct cleaning *c = context;
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? TT_OK
                                                   : tt_fail_call(e, errno, "stat", path, -1);
    if (S_ISDIR(st.st_mode) && path[strlen(path) - 1] == '/')
        return clean_tree(c, path, e);
    if (is_data_folder(c->id, path))
        return rmdir(path) == 0 ? TT_OK : tt_fail_call(e, errno, "rmdir", path, -1);
    if (S_ISDIR(st.st_mode) && tt_data_is_ours(c->id, path))
        return rmdir(path) == 0 ? TT_OK : tt_fail_call(e, errno, "rmdir", path, -1);
    if (!S_ISREG(st.st_mode) || !tt_data_is_ours(c->id, path))
        return tt_fail(e, TT_FAILED,
                       "'%s' is left alone: it carries no mark of this run; if it is of this run, "
                       "remove it yourself",
                       path);
    if (unlink(path) != 0)
        return tt_fail_call(e, errno, "unlink", path, -1);
    (*c->removed)++;
    return TT_OK;
}

int tt_clean_data(const char *folder, uint64_t *removed, struct tt_error *e)
{
    struct cleaning c = {.removed = removed};
    json_t *plan = NULL;
    int rc = tt_folder_read_json(folder, "plan.json", &plan, e);

    c.id = json_string_value(json_object_get(plan, "id"));
    if (rc == TT_OK && (!c.id || !*c.id || strchr(c.id, '/')))
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json has no id", folder);
    if (rc == TT_OK)
        rc = tt_manifest_each(folder, clean_one, &c, e);
    json_decref(plan);
    return rc;
}
