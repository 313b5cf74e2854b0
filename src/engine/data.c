/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data files: where they are, whose they are. A file that tutti made carries an extended attribute,
 * so that a later run knows that it may be replaced; any other file is left alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "engine/private.h"
#include "plan/folder.h"
#include "plan/tree.h"

char *tt_data_path(struct tt_engine *engine, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", engine->p->data_folder, name) < 0 ? NULL : path;
}

static struct tt_made_file *find_made(const struct tt_engine_private *p, const char *path)
{
    struct tt_made_file *file = p->made;

    while (file && (file->withdrawn || strcmp(file->path, path) != 0))
        file = file->next;
    return file;
}

/* *made: this run made what was there, in an earlier pass. Where the file system knows no
 * attributes, nothing but the list tells. */
static int make_room(const struct tt_engine_private *p, const char *path,
                     struct tt_made_file **made, struct tt_error *e)
{
    struct stat st;

    *made = NULL;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? TT_OK : tt_fail_call(e, errno, "stat", path, -1);
    if (S_ISREG(st.st_mode))
        *made = find_made(p, path);
    if (*made && (*made)->pass == p->played) /* it may be open */
        *made = NULL;
    if (!*made && (!S_ISREG(st.st_mode) || getxattr(path, TT_DATA_MARK, NULL, 0) < 0))
        return tt_fail(e, TT_FAILED,
                       "'%s' exists and does not look like a file that tutti made; remove it or "
                       "choose another path",
                       path);
    if (unlink(path) != 0)
        return tt_fail_call(e, errno, "unlink", path, -1);
    return TT_OK;
}

/* Entries stay where they are until the end: a handler may walk the list at any moment, in another
 * thread than the one that opens files. */
static int remember(struct tt_engine_private *p, const char *path)
{
    struct tt_made_file *file = malloc(sizeof *file + strlen(path) + 1);

    if (!file)
        return TT_NOMEM;
    memcpy(file->path, path, strlen(path) + 1);
    file->withdrawn = false;
    file->pass = p->played;
    file->next = p->made;
    p->made = file;
    return TT_OK;
}

int tt_data_claim(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    struct tt_made_file *made;
    int rc;

    if (!(tt_stack_caps(&engine->p->stack) & TT_CAP_STORES))
        return TT_OK;
    rc = make_room(engine->p, path, &made, e);
    if (rc == TT_OK && !made)
        made = find_made(engine->p, path); /* removed since */
    if (rc == TT_OK && made) {
        made->pass = engine->p->played;
        return TT_OK;
    }
    if (rc == TT_OK)
        rc = tt_manifest_add(engine->p->folder, path, e);
    if (rc == TT_OK && remember(engine->p, path) != TT_OK)
        rc = tt_fail_nomem(e, "the list of files");
    engine->p->nfiles += rc == TT_OK;
    return rc;
}

/* In the manifest a tree is a path that ends in a slash. */
static int claim_tree(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    char *tree;
    int rc = TT_OK;

    if (asprintf(&tree, "%s/", path) < 0)
        return tt_fail_nomem(e, "a path");
    if (find_made(engine->p, tree)) /* in an earlier pass */
        rc = tt_tree_remove(path, e);
    else if (remember(engine->p, tree) != TT_OK)
        rc = tt_fail_nomem(e, "the list of files");
    else
        rc = tt_manifest_add(engine->p->folder, tree, e);
    free(tree);
    return rc;
}

int tt_data_make_tree(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    struct stat st;
    int rc;

    if (engine->p->played == 0 && lstat(path, &st) == 0)
        return tt_fail(e, TT_FAILED,
                       "'%s' exists already; remove it or choose another path for the tree", path);
    rc = claim_tree(engine, path, e);
    if (rc == TT_OK && mkdir(path, 0777) != 0) /* without our mark it is left alone */
        rc = tt_fail_call(e, errno, "mkdir", path, -1);
    else if (rc == TT_OK)
        tt_data_mark(engine, path);
    return rc;
}

int tt_data_check_tree(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    struct stat st;

    (void)engine;
    if (stat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    if (S_ISDIR(st.st_mode) && getxattr(path, TT_DATA_MARK, NULL, 0) > 0)
        return TT_OK;
    return tt_fail(e, TT_FAILED, "'%s' does not look like a tree that tutti made", path);
}

int tt_data_own_folder(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    tt_data_mark(engine, path);
    return tt_manifest_add(engine->p->folder, path, e);
}

void tt_data_leave(struct tt_engine *engine, const char *path)
{
    struct tt_made_file *file = find_made(engine->p, path);
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (file)
        file->withdrawn = true;
    tt_manifest_withdraw(engine->p->folder, path, &ignored);
}

int tt_data_remove(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    if (find_made(engine->p, path) && unlink(path) != 0 && errno != ENOENT)
        return tt_fail_call(e, errno, "unlink", path, -1);
    return TT_OK;
}

/* Two runs may have found the place empty; the one that could not make its file deletes nothing. */
void tt_data_withdraw(struct tt_engine *engine, const char *path)
{
    struct tt_made_file *file = find_made(engine->p, path);
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (!file)
        return;
    file->withdrawn = true;
    engine->p->nfiles--;
    tt_manifest_withdraw(engine->p->folder, path, &ignored);
}

void tt_data_remove_orphans(struct tt_engine *engine)
{
    struct tt_engine_private *p = engine->p;
    char *manifest = tt_folder_path(p->folder, "manifest");

    if (manifest && access(manifest, F_OK) != 0)
        for (const struct tt_made_file *f = p->made; f; f = f->next)
            if (!f->withdrawn)
                unlink(f->path);
    free(manifest);
}

int tt_data_check_mark(const char *path, struct tt_error *e)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    if (S_ISREG(st.st_mode) && getxattr(path, TT_DATA_MARK, NULL, 0) >= 0)
        return TT_OK;
    return tt_fail(e, TT_FAILED,
                   "'%s' does not look like a file that tutti made; no other is changed", path);
}

void tt_data_mark(struct tt_engine *engine, const char *path)
{
    const char *id = tt_folder_id(engine->p->folder);

    /* Where attributes are not supported, a later run will refuse to replace the file. */
    (void)!setxattr(path, TT_DATA_MARK, id, strlen(id), 0);
}
