/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data files: where they are, whose they are. A file that tutti made carries an extended attribute,
 * so that a later run knows that it may be replaced; any other file is left alone. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/note.h"
#include "base/sys.h"
#include "engine/private.h"
#include "engine/spot_check.h"
#include "io/node_cache.h"
#include "node/page_cache.h"
#include "plan/directory.h"

char *tt_data_path(struct tt_engine *engine, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", engine->p->data_directory, name) < 0 ? NULL : path;
}

/* ---- the list of what this rank made ---- */

/* A rank may have made very many. */
static size_t slot_of(const struct tt_engine_private *p, const char *path)
{
    return XXH3_64bits(path, strlen(path)) % (sizeof p->made_alike / sizeof *p->made_alike);
}

static struct tt_made_file *find_made(const struct tt_engine_private *p, enum tt_made_kind kind,
                                      const char *path)
{
    struct tt_made_file *file = p->made_alike[slot_of(p, path)];

    while (file && (file->withdrawn || file->kind != kind || strcmp(file->path, path) != 0))
        file = file->next_alike;
    return file;
}

/* The first path of a target, which is a file or a directory that stands for one. */
static struct tt_made_file *find_target(const struct tt_engine_private *p, const char *path)
{
    struct tt_made_file *file = find_made(p, TT_MADE_FILE, path);

    return file ? file : find_made(p, TT_MADE_BUNDLE, path);
}

struct tt_made tt__made(const struct tt_made_file *file)
{
    struct tt_made made = {.kind = file->kind, .path = (char *)file->path};

    if (file->identified)
        made.identity = file->identity;
    return made;
}

/* Entries stay where they are until the end: a handler may walk the list at any moment, in another
 * thread than the one that opens files. */
static int remember(struct tt_engine_private *p, enum tt_made_kind kind, const char *path)
{
    struct tt_made_file *file = calloc(1, sizeof *file + strlen(path) + 1);
    struct tt_made_file **alike = &p->made_alike[slot_of(p, path)];

    if (!file)
        return TT_NOMEM;
    file->next_alike = *alike;
    *alike = file;
    memcpy(file->path, path, strlen(path) + 1);
    file->kind = kind;
    file->pass = p->played;
    file->next = p->made;
    p->made = file;
    return TT_OK;
}

/* In the list and in the manifest, before it is made; also a file of an earlier pass, which will be
 * another one from now on. */
static int claim(struct tt_engine *engine, enum tt_made_kind kind, const char *path,
                 struct tt_error *e)
{
    struct tt_made_file *made = find_made(engine->p, kind, path);
    int rc = tt_manifest_claim(engine->p->directory, kind, path, e);

    if (rc == TT_OK && !made && remember(engine->p, kind, path) != TT_OK)
        rc = tt_fail_nomem(e, "the list of files");
    if (rc == TT_OK && made) {
        made->identified = false;
        made->pass = engine->p->played;
    }
    engine->p->nfiles += rc == TT_OK && !made && (kind == TT_MADE_FILE || kind == TT_MADE_BUNDLE);
    return rc;
}

/* What was claimed is there now: what it is, for those who may have to remove it. */
static int identify(struct tt_engine *engine, enum tt_made_kind kind, const char *path,
                    uint64_t inode, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt_made_file *made = find_made(p, kind, path);
    struct tt_identity identity;

    if (!made || made->identified)
        return TT_OK;
    if (tt_identify(path, kind, p->owner.id, p->owner.place, inode, &identity) != TT_OK)
        return tt_fail_call(e, errno, "stat", path, -1);
    made->identity = identity;
    made->identified = true;
    return tt_manifest_made(p->directory, kind, path, &identity, e);
}

static int remove_made(struct tt_engine *engine, const struct tt_made_file *file,
                       struct tt_error *e)
{
    struct tt_made made = tt__made(file);

    if (made.kind == TT_MADE_TREE || made.kind == TT_MADE_BUNDLE || made.kind == TT_MADE_CACHE)
        return tt_remove_tree(&engine->p->owner, &made, e);
    return tt_removal_check(tt_remove_made(&engine->p->owner, &made), file->path, e);
}

/* ---- files ---- */

int tt_data_claim(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    const struct tt_made_file *made = find_made(p, TT_MADE_FILE, path);
    int rc;

    if (!(tt_stack_caps(&p->stack) & TT_CAP_STORES))
        return TT_OK;
    if (made) { /* it may just be closed in the background */
        rc = tt_stack_settle(&p->stack, p->costs, e);
        if (rc != TT_OK)
            return rc;
    }
    /* One of this pass may be open. */
    rc = made && made->pass != p->played ? remove_made(engine, made, e)
                                         : tt_remove_finished(path, e);
    return rc == TT_OK ? claim(engine, TT_MADE_FILE, path, e) : rc;
}

int tt_data_made(struct tt_engine *engine, const char *path, uint64_t inode, struct tt_error *e)
{
    return identify(engine, TT_MADE_FILE, path, inode, e);
}

void tt_data_mark(struct tt_engine *engine, const char *path)
{
    for (const struct tt_made_file *f = find_target(engine->p, path); f; f = f->next_part) {
        struct tt_made made = tt__made(f);

        tt_mark_finished(&engine->p->owner, &made);
    }
}

void tt__data_closed(struct tt_engine *engine, const char *path)
{
    if (!tt_stack_has_thread(&engine->p->stack))
        tt_data_mark(engine, path);
    else
        for (struct tt_made_file *f = find_target(engine->p, path); f; f = f->next_part)
            f->closed = true;
}

void tt__data_mark_settled(struct tt_engine *engine)
{
    for (struct tt_made_file *f = engine->p->made; f; f = f->next) {
        struct tt_made made = tt__made(f);

        if (f->closed && !f->withdrawn)
            tt_mark_finished(&engine->p->owner, &made);
        f->closed = false;
    }
}

int tt__data_check_mark(const char *path, struct tt_error *e)
{
    char id[TT_ID_LENGTH + 1];

    tt_mark_read(path, TT_MADE_FILE, id);
    return id[0] ? TT_OK
                 : tt_fail(e, TT_FAILED,
                           "'%s' does not look like a file that tutti made; no other is changed",
                           path);
}

int tt_data_remove(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    int rc = tt_stack_settle(&engine->p->stack, engine->p->costs, e);

    for (const struct tt_made_file *f = find_target(engine->p, path); f && rc == TT_OK;
         f = f->next_part)
        rc = remove_made(engine, f, e);
    return rc == TT_OK ? tt__spot_check_move(engine, path, NULL, e) : rc;
}

void tt_data_leave(struct tt_engine *engine, const char *path)
{
    struct tt_made_file *file = find_target(engine->p, path);
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (!file)
        tt_manifest_leave(engine->p->directory, TT_MADE_FILE, path, &ignored);
    for (; file; file = file->next_part) {
        file->withdrawn = true;
        tt_manifest_leave(engine->p->directory, file->kind, file->path, &ignored);
    }
}

/* Two runs may have found the place empty; the one that could not make its file deletes nothing. */
void tt_data_withdraw(struct tt_engine *engine, const char *path)
{
    const struct tt_made_file *file = find_made(engine->p, TT_MADE_FILE, path);

    for (const struct tt_made_file *f = file; f; f = f->next_part)
        engine->p->nfiles--;
    if (file)
        tt_data_leave(engine, path);
}

/* An earlier run may have made other paths for the same target. What carries its mark goes with
 * the first path, which tells of them. */
static void remove_earlier(struct tt_engine *engine, const char *path)
{
    char id[TT_ID_LENGTH + 1], of_part[TT_ID_LENGTH + 1];
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_target target;

    tt_mark_read(path, TT_MADE_FILE, id);
    if (!id[0])
        return;
    if (tt_stack_target_at(&engine->p->stack, path, &target, &ignored) == TT_OK)
        for (size_t i = 1; i < target.n; i++) {
            tt_mark_read(target.list[i].path, TT_MADE_FILE, of_part);
            if (!strcmp(id, of_part))
                tt_remove_finished(target.list[i].path, &ignored);
        }
    tt_target_free(&target);
}

/* One inode, listed under both names while it may stand at either: the name at which nothing stands
 * is passed over by whoever removes. */
static int rename_one(struct tt_engine *engine, const struct tt_made_file *source, const char *to,
                      struct tt_made_file **out, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt_made_file *target;
    struct stat st;
    int rc;

    if (source->kind == TT_MADE_FILE)
        rc = tt_data_claim(engine, to, e);
    else if (lstat(to, &st) == 0)
        rc = tt_fail(e, TT_FAILED, "'%s' exists; remove it or choose another path", to);
    else
        rc = claim(engine, source->kind, to, e);
    if (rc != TT_OK)
        return rc;
    *out = target = find_made(p, source->kind, to);
    target->next_part = NULL;
    target->identity = source->identity;
    target->identified = source->identified;
    target->closed = source->closed;
    p->nfiles--; /* it has been counted */
    if (target->identified)
        rc = tt_manifest_made(p->directory, source->kind, to, &target->identity, e);
    if (rc == TT_OK && tt_sys_move(source->path, to) != 0) {
        rc = tt_fail_call(e, errno, "rename", to, -1);
        tt_data_leave(engine, to);
    }
    return rc;
}

/* What else a target has is called like its first path, with an ending; that goes last, so that
 * nobody finds the new one before it is whole. */
static int rename_parts(struct tt_engine *engine, const struct tt_made_file *first, const char *to,
                        struct tt_made_file **parts, struct tt_error *e)
{
    size_t length = strlen(first->path);
    int rc = TT_OK;

    for (const struct tt_made_file *f = first->next_part; f && rc == TT_OK; f = f->next_part) {
        char *name;

        if (asprintf(&name, "%s%s", to, f->path + length) < 0)
            return tt_fail_nomem(e, "a path");
        rc = rename_one(engine, f, name, parts, e);
        if (rc == TT_OK)
            parts = &(*parts)->next_part;
        free(name);
    }
    return rc;
}

int tt_data_rename(struct tt_engine *engine, const char *from, const char *to, struct tt_error *e)
{
    const struct tt_made_file *source = find_target(engine->p, from);
    struct tt_made_file *target, *parts = NULL;
    int rc;

    if (!source)
        return tt_data_claim(engine, to, e);
    rc = tt_stack_settle(&engine->p->stack, engine->p->costs, e);
    if (rc == TT_OK && source->next_part)
        remove_earlier(engine, to);
    if (rc == TT_OK)
        rc = rename_parts(engine, source, to, &parts, e);
    if (rc == TT_OK)
        rc = rename_one(engine, source, to, &target, e);
    if (rc != TT_OK)
        return rc;
    target->next_part = parts;
    tt_data_leave(engine, from);
    return tt__spot_check_move(engine, from, to, e);
}

void tt__data_remove_own(struct tt_engine *engine)
{
    bool listed = tt_directory_has(engine->p->directory, "manifest");
    const struct tt_made_file *f = engine->p->made;
    int all = 1;

    if (listed && engine->rank == 0) /* it removes what its manifest lists */
        f = NULL;
    for (; f; f = f->next) {
        struct tt_error ignored = TT_ERROR_CLEAR;

        if (f->withdrawn)
            continue;
        tt_note_step();
        if (listed && f->kind != TT_MADE_FILE)
            all = 0;
        else
            all = remove_made(engine, f, &ignored) == TT_OK && all;
    }
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, engine->p->node);
    if (listed && all && engine->p->node_rank == 0)
        tt_manifest_drop(engine->p->directory);
}

/* ---- directories ---- */

/* *there: it was made by somebody else, and is theirs. */
static int make_directory(struct tt_engine *engine, enum tt_made_kind kind, const char *path,
                          bool *there, struct tt_error *e)
{
    int rc = claim(engine, kind, path, e), why;

    *there = false;
    if (rc == TT_OK && mkdir(path, 0777) == 0)
        return identify(engine, kind, path, 0, e);
    why = errno;
    if (rc == TT_OK) {
        find_made(engine->p, kind, path)->withdrawn = true;
        rc = tt_manifest_leave(engine->p->directory, kind, path, e);
        *there = why == EEXIST;
    }
    return rc == TT_OK ? tt_fail_call(e, why, "mkdir", path, -1) : rc;
}

int tt__data_make_directory(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    bool there;
    int rc = make_directory(engine, TT_MADE_DIRECTORY, p->data_directory, &there, e);

    if (rc == TT_OK) {
        p->data = tt__made(find_made(p, TT_MADE_DIRECTORY, p->data_directory));
        p->owner.data = &p->data;
    }
    return rc;
}

/* One that is there may have been made by another first rank of this run on the same machine, since
 * nodes may have the same name. */
static int check_cache(const char *path, const char *id, struct tt_error *e)
{
    char of[TT_ID_LENGTH + 1];
    struct stat st;

    tt_mark_read(path, TT_MADE_CACHE, of);
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        (!strcmp(of, id) || lgetxattr(path, TT_DATA_MARK, NULL, 0) < 0))
        return TT_OK;
    return tt_fail(e, TT_FAILED, "'%s' exists and is not a directory that this run has made", path);
}

/* What is acknowledged in it must be found after a loss of power. */
static int sync_name(const char *path, struct tt_error *e)
{
    int why = tt_sys_sync_name(path);

    return why ? tt_fail_call(e, why, "fsync of the directory", path, -1) : TT_OK;
}

/* Of each layer that keeps files on the node, by its first rank. */
int tt__data_make_caches(struct tt_engine *engine, struct tt_error *e)
{
    const struct tt_stack *stack = &engine->p->stack;
    int rc = TT_OK;

    for (unsigned i = 0; i < stack->n && rc == TT_OK; i++) {
        const struct tt_backend *x = stack->elements[i];
        char *path;
        bool there = false;

        if (!x->local)
            continue;
        if (access(x->local(stack->opts[i]), F_OK) != 0 && errno == ENOENT) {
            char host[65] = "";

            gethostname(host, sizeof host - 1);
            return tt_fail(
                e, TT_FAILED,
                "%s.dir: '%s' does not exist on node %s; create it or choose another directory",
                x->name, x->local(stack->opts[i]), host);
        }
        path = tt_node_cache_directory(x->local(stack->opts[i]),
                                       tt_directory_id(engine->p->directory));
        rc = path ? make_directory(engine, TT_MADE_CACHE, path, &there, e)
                  : tt_fail_nomem(e, "a path");
        if (rc == TT_OK)
            rc = sync_name(path, e);
        if (there) {
            tt_error_clear(e);
            rc = check_cache(path, engine->p->owner.id, e);
        }
        free(path);
    }
    return rc;
}

static bool is_cache(const struct tt_made_file *f)
{
    return f->kind == TT_MADE_CACHE && !f->withdrawn;
}

/* With spare, only if all of them have been moved, on all nodes: a conversion asks for all. */
int tt__data_remove_caches(struct tt_engine *engine, bool spare, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = TT_OK, spared;

    for (struct tt_made_file *f = spare ? engine->p->made : NULL; f && rc == TT_OK; f = f->next)
        rc = is_cache(f) ? tt_node_cache_check_moved(f->path, true, e) : TT_OK;
    spared = rc != TT_OK;
    MPI_Allreduce(MPI_IN_PLACE, &spared, 1, MPI_INT, MPI_MAX, engine->comm);
    for (struct tt_made_file *f = spared ? NULL : engine->p->made; f; f = f->next) {
        int now = is_cache(f) ? remove_made(engine, f, e) : TT_OK;

        if (is_cache(f) && now == TT_OK) {
            f->withdrawn = true;
            tt_manifest_leave(engine->p->directory, f->kind, f->path, &ignored);
        }
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

int tt__data_adopt_dir(struct tt_engine *engine, struct tt_error *e)
{
    const char *dir = engine->config->run->dir;
    int rc = claim(engine, TT_MADE_PARENT, dir, e);

    return rc == TT_OK ? identify(engine, TT_MADE_PARENT, dir, 0, e) : rc;
}

int tt_data_make_tree(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    const struct tt_made_file *before = find_made(engine->p, TT_MADE_TREE, path);
    struct stat st;
    bool there;
    int rc = before ? remove_made(engine, before, e) : TT_OK;

    if (rc == TT_OK && lstat(path, &st) == 0)
        return tt_fail(e, TT_FAILED,
                       "'%s' exists already; remove it or choose another path for the tree", path);
    return rc == TT_OK ? make_directory(engine, TT_MADE_TREE, path, &there, e) : rc;
}

int tt_data_check_tree(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    char id[TT_ID_LENGTH + 1];
    struct stat st;

    (void)engine;
    if (stat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    tt_mark_read(path, TT_MADE_TREE, id);
    return id[0] ? TT_OK
                 : tt_fail(e, TT_FAILED, "'%s' does not look like a tree that tutti made", path);
}

int tt_data_own_directory(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    bool there;
    int rc;

    if (find_made(engine->p, TT_MADE_DIRECTORY, path)) /* in an earlier pass */
        return TT_OK;
    rc = make_directory(engine, TT_MADE_DIRECTORY, path, &there, e);
    if (!there)
        return rc;
    tt_error_clear(e);
    return TT_OK;
}

/* ---- targets ---- */

static int claim_path(struct tt_engine *engine, const struct tt_target_path *x, struct tt_error *e)
{
    const struct tt_made_file *before = find_made(engine->p, TT_MADE_BUNDLE, x->path);
    struct stat st;
    bool there;
    int rc;

    if (!x->is_directory)
        return tt_data_claim(engine, x->path, e);
    rc = before ? remove_made(engine, before, e) : TT_OK;
    if (rc == TT_OK && lstat(x->path, &st) == 0)
        return tt_fail(e, TT_FAILED, "'%s' exists; remove it or choose another path", x->path);
    return rc == TT_OK ? make_directory(engine, TT_MADE_BUNDLE, x->path, &there, e) : rc;
}

int tt__data_claim_target(struct tt_engine *engine, const struct tt_target *target,
                          struct tt_error *e)
{
    struct tt_made_file *last = NULL;
    int rc = TT_OK;

    if (target->n > 1)
        remove_earlier(engine, target->list[0].path);
    for (size_t i = 0; rc == TT_OK && i < target->n; i++) {
        struct tt_made_file *now;

        rc = claim_path(engine, &target->list[i], e);
        now = rc == TT_OK ? find_target(engine->p, target->list[i].path) : NULL;
        if (now)
            now->next_part = NULL;
        if (last)
            last->next_part = now;
        last = now;
    }
    return rc;
}

int tt__data_made_target(struct tt_engine *engine, const struct tt_target *target,
                         const struct tt_file *file, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < target->n; i++)
        if (!target->list[i].is_directory)
            rc = tt_data_made(engine, target->list[i].path, tt_file_made(file, i).inode, e);
    return rc;
}

/* ---- all of what is there ---- */

struct look {
    bool only_sizes, cold;
    uint64_t bytes;
    int64_t resident;
};

static int look_at_file(struct look *l, const char *path, struct tt_error *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc = TT_OK;
    int64_t here = -1;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        rc = tt_fail_call(e, errno, "open", path, -1);
    if (rc == TT_OK && l->cold)
        rc = tt_cache_evict(fd, path, e);
    if (rc == TT_OK) {
        l->bytes += (uint64_t)st.st_size;
        here = l->only_sizes ? 0 : tt_cache_resident(fd, (uint64_t)st.st_size);
    }
    l->resident = here < 0 || l->resident < 0 ? -1 : l->resident + here;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int look_at_directory(struct look *l, const char *path, struct tt_error *e)
{
    char *roots[] = {(char *)path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *x;
    int rc = walk ? TT_OK : tt_fail_call(e, errno, "opendir", path, -1);

    while (rc == TT_OK && (x = fts_read(walk)))
        if (x->fts_info == FTS_F)
            rc = look_at_file(l, x->fts_path, e);
    if (walk)
        fts_close(walk);
    return rc;
}

static int look_at_target(struct tt_engine *engine, struct look *l, const char *path,
                          struct tt_error *e)
{
    struct tt_target target = {0};
    int rc = l->only_sizes ? TT_OK : tt_stack_settle(&engine->p->stack, engine->p->costs, e);

    if (rc == TT_OK)
        rc = tt_stack_target_at(&engine->p->stack, path, &target, e);
    for (size_t i = 0; rc == TT_OK && i < target.n; i++)
        rc = target.list[i].is_directory ? look_at_directory(l, target.list[i].path, e)
                                         : look_at_file(l, target.list[i].path, e);
    tt_target_free(&target);
    return rc;
}

int tt_data_cached(struct tt_engine *engine, const char *path, bool cold, uint64_t *bytes,
                   int64_t *resident, struct tt_error *e)
{
    struct look l = {.cold = cold};
    int rc = look_at_target(engine, &l, path, e);

    *bytes = l.bytes;
    *resident = l.resident;
    return rc;
}

uint64_t tt_data_size(struct tt_engine *engine, const char *path)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct look l = {.only_sizes = true};

    return look_at_target(engine, &l, path, &ignored) == TT_OK ? l.bytes : 0;
}

/* ---- what MPI libraries make beside a file ---- */

int tt__data_check_beside(struct tt_engine *engine, const char *path, int rank, bool speaks,
                          struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    size_t n = strlen(p->data_directory);
    struct stat st;
    char *beside;
    int rc = TT_OK;

    /* In the data directory there is nobody's. */
    if (!(tt_stack_caps(&p->stack) & TT_CAP_BESIDE) ||
        (!strncmp(path, p->data_directory, n) && path[n] == '/'))
        return TT_OK;
    if (asprintf(&beside, "%s.locktest.%d", path, rank) < 0)
        return tt_fail_nomem(e, "a path");
    if (lstat(beside, &st) == 0)
        rc = tt_fail(e, TT_FAILED,
                     "'%s' exists: an MPI library makes and removes a file of that name beside the "
                     "one it opens; move it away, or choose another path",
                     beside);
    else if (speaks && !find_made(p, TT_MADE_BESIDE, path))
        rc = claim(engine, TT_MADE_BESIDE, path, e);
    free(beside);
    return rc;
}
