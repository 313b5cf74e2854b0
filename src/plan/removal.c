/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/removal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/note.h"
#include "base/notice.h"
#include "io/node_cache.h"
#include "plan/directory.h"
#include "plan/workload.h"

#define DATA_PREFIX "tutti-"
#define CACHE_SUFFIX ".cache"
#define OPEN_SUFFIX " open"
#define LOCK_SUFFIX ".locktest."

bool tt_id_is_valid(const char *id)
{
    static const char form[] = "dddddddd"
                               "Tdddddd"
                               "Z-xxxxxxxx";

    for (size_t i = 0; i <= TT_ID_LENGTH; i++) {
        char c = id[i];
        bool fits = form[i] == 'd'   ? c >= '0' && c <= '9'
                    : form[i] == 'x' ? (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')
                                     : c == form[i];

        if (!fits)
            return false;
    }
    return true;
}

const char *tt_plan_id(const char *directory, const json_t *plan, struct tt_error *e)
{
    const char *id = json_string_value(json_object_get(plan, "id"));

    if (id && tt_id_is_valid(id))
        return id;
    tt_fail(e, TT_CORRUPT, "%.200s/plan.json: '%.60s' is not the id of a run", directory,
            id ? id : "");
    return NULL;
}

uint64_t tt_place_here(void)
{
    char boot[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, boot, sizeof boot);

    if (fd >= 0)
        close(fd);
    return XXH3_64bits(boot, n > 0 ? (size_t)n : 0) | 1;
}

/* ---- looking at an entry ---- */

/* An entry and its directory, by handles. */
struct entry {
    int parent, fd; /* O_PATH; -1: could not be opened, for the reason errno had */
    int why;
    const char *name;
    struct statx st;
    char mark[TT_MARK_SIZE]; /* "": none */
    bool has_marks;          /* the file system knows them */
};

/* "/proc/self/fd/N": attributes of what is behind an O_PATH handle. snprintf is not safe in a
 * handler of signals. */
static const char *handle_path(int fd, char path[32])
{
    char digits[12], *at = path + sizeof "/proc/self/fd/" - 1;
    int n = 0;

    memcpy(path, "/proc/self/fd/", sizeof "/proc/self/fd/" - 1);
    do
        digits[n++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n > 0)
        *at++ = digits[--n];
    *at = '\0';
    return path;
}

static void look(struct entry *x)
{
    char path[32];
    ssize_t n;

    x->fd = openat(x->parent, x->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (x->fd >= 0 && statx(x->fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
                            STATX_BASIC_STATS | STATX_BTIME, &x->st) != 0) {
        x->why = errno;
        close(x->fd);
        x->fd = -1;
        return;
    }
    if (x->fd < 0) {
        x->why = errno;
        return;
    }
    n = getxattr(handle_path(x->fd, path), TT_DATA_MARK, x->mark, sizeof x->mark - 1);
    x->mark[n > 0 ? n : 0] = '\0';
    if (n < 0 && errno == ERANGE)
        x->mark[0] = '?'; /* somebody's */
    x->has_marks = n >= 0 || errno == ENODATA || errno == ERANGE;
}

static void close_entry(struct entry *x)
{
    if (x->fd >= 0)
        close(x->fd);
    if (x->parent >= 0)
        close(x->parent);
}

static void open_entry(const char *path, struct entry *x)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    char parent[PATH_MAX];

    *x = (struct entry){.parent = -1, .fd = -1, .name = slash ? slash + 1 : path};
    x->why = ENAMETOOLONG;
    if (length + 2 > sizeof parent)
        return;
    memcpy(parent, slash ? path : ".", slash ? length : 1);
    parent[slash ? length : 1] = '\0';
    if (slash == path)
        memcpy(parent, "/", 2);
    x->why = ENOENT; /* a manifest may be anybody's */
    if (!*x->name || !strcmp(x->name, ".") || !strcmp(x->name, ".."))
        return;
    x->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    x->why = errno;
    if (x->parent >= 0)
        look(x);
}

static bool is_of_kind(const struct entry *x, enum tt_made_kind kind)
{
    return kind == TT_MADE_FILE ? S_ISREG(x->st.stx_mode) : S_ISDIR(x->st.stx_mode);
}

static struct tt_identity identity_of(const struct entry *x, uint64_t place)
{
    struct tt_identity id = {
        .place = place,
        .device = (uint64_t)x->st.stx_dev_major << 32 | x->st.stx_dev_minor,
        .inode = x->st.stx_ino,
    };

    if (x->st.stx_mask & STATX_BTIME)
        id.born_ns = x->st.stx_btime.tv_sec * INT64_C(1000000000) + x->st.stx_btime.tv_nsec;
    return id;
}

/* Network file systems get another device number with every mount; where a mark and the time of
 * birth tell, it need not. */
static bool is_same(const struct tt_identity *a, const struct tt_identity *b, bool marked)
{
    bool born = a->born_ns && b->born_ns;

    if (a->inode != b->inode || (born && a->born_ns != b->born_ns))
        return false;
    return (marked && born) || a->place != b->place || a->device == b->device;
}

/* "ID INODE", and " open" behind it until the file is finished: a copy takes the attribute along,
 * but not the inode. */
static bool parse_mark(const struct entry *x, char id[TT_ID_LENGTH + 1], bool *open)
{
    uint64_t inode = 0;
    const char *at = x->mark + TT_ID_LENGTH;

    if (strlen(x->mark) <= TT_ID_LENGTH + 1 || *at++ != ' ')
        return false;
    memcpy(id, x->mark, TT_ID_LENGTH);
    id[TT_ID_LENGTH] = '\0';
    for (; *at >= '0' && *at <= '9'; at++)
        inode = 10 * inode + (uint64_t)(*at - '0');
    *open = !strcmp(at, OPEN_SUFFIX);
    return (*open || !*at) && inode == x->st.stx_ino && tt_id_is_valid(id);
}

static bool is_mark_of(const struct entry *x, const char *id)
{
    char marked[TT_ID_LENGTH + 1];
    bool open;

    return parse_mark(x, marked, &open) && !strcmp(marked, id);
}

/* "tutti-ID" */
static bool is_data_name(const char *name, size_t length, const char *id)
{
    size_t prefix = sizeof DATA_PREFIX - 1;

    return length == prefix + strlen(id) && !strncmp(name, DATA_PREFIX, prefix) &&
           !strncmp(name + prefix, id, length - prefix);
}

/* "tutti-ID.HOST.cache" */
static bool is_cache_name(const char *name, const char *id)
{
    size_t n = strlen(name), data = sizeof DATA_PREFIX - 1 + strlen(id);

    return n > data + sizeof CACHE_SUFFIX && name[data] == '.' && is_data_name(name, data, id) &&
           !strcmp(name + n - (sizeof CACHE_SUFFIX - 1), CACHE_SUFFIX);
}

/* No other run and no other program gives this name. */
static bool is_named_by(const char *id, enum tt_made_kind kind, const struct entry *x)
{
    return kind == TT_MADE_CACHE
               ? is_cache_name(x->name, id)
               : kind == TT_MADE_DIRECTORY && is_data_name(x->name, strlen(x->name), id);
}

/* ---- deciding ---- */

enum place_of_it { ELSEWHERE, IN_DATA_DIRECTORY };

static enum tt_removal judge(const struct tt_owner *o, const struct tt_made *made,
                             const struct entry *x, enum place_of_it where)
{
    struct tt_identity now = identity_of(x, o->place);
    bool known = made->identity.place != 0;

    if (x->fd < 0)
        return x->why == ENOENT || x->why == ENOTDIR ? TT_GONE : TT_REMOVAL_FAILED;
    if (!is_of_kind(x, made->kind) || (x->mark[0] && !is_mark_of(x, o->id)) ||
        (known && !is_same(&made->identity, &now, x->mark[0])))
        return TT_NOT_OURS;
    if (known && !o->anybodys)
        return TT_REMOVED;
    if (x->mark[0]) /* whoever the server says that it belongs to */
        return TT_REMOVED;
    if (x->st.stx_uid != geteuid())
        return TT_NOT_OURS;
    if (where == IN_DATA_DIRECTORY)
        return TT_REMOVED;
    if (is_named_by(o->id, made->kind, x) && (!o->anybodys || (known && !x->has_marks)))
        return TT_REMOVED;
    return TT_UNPROVEN;
}

static bool lies_in(const char *path, const struct tt_made *directory)
{
    const char *slash = strrchr(path, '/');
    size_t n = directory ? strlen(directory->path) : 0;

    return directory && slash && (size_t)(slash - path) == n && !strncmp(path, directory->path, n);
}

/* The handle of a file's directory is replaced by that of the data directory, which is no link and
 * the one that was made; else it stays what it is. */
static enum tt_removal enter_data(const struct tt_owner *o, struct entry *x)
{
    struct entry data;
    enum tt_removal how;

    open_entry(o->data->path, &data);
    how = judge(o, o->data, &data, ELSEWHERE);
    if (how == TT_REMOVED) { /* it may be: so it is ours */
        close_entry(x);
        x->parent = data.fd;
        data.fd = -1;
        look(x);
    }
    close_entry(&data);
    errno = data.why;
    return how;
}

/* Decides, and leaves both handles open. */
static enum tt_removal decide(const struct tt_owner *o, const struct tt_made *made, struct entry *x)
{
    bool inside = lies_in(made->path, o->data);

    open_entry(made->path, x);
    if (inside) {
        enum tt_removal how = enter_data(o, x);

        if (how != TT_REMOVED)
            return how == TT_UNPROVEN ? TT_NOT_OURS : how;
    }
    return judge(o, made, x, inside ? IN_DATA_DIRECTORY : ELSEWHERE);
}

/* A directory whose run was killed before it could mark it: it goes if it is empty. */
static bool is_begun(const struct tt_owner *o, const struct tt_made *made, const struct entry *x,
                     enum tt_removal how)
{
    return how == TT_UNPROVEN && x->st.stx_uid == geteuid() && is_named_by(o->id, made->kind, x);
}

enum tt_removal tt_remove_made(const struct tt_owner *owner, const struct tt_made *made)
{
    bool directory = made->kind != TT_MADE_FILE;
    struct entry x;
    enum tt_removal how = decide(owner, made, &x);

    if (how == TT_REMOVAL_FAILED)
        errno = x.why;
    if (is_begun(owner, made, &x, how))
        how = TT_REMOVED;
    if (how == TT_REMOVED && unlinkat(x.parent, x.name, directory ? AT_REMOVEDIR : 0) != 0) {
        struct stat st; /* a server that lost track answers ENOENT for what it still lists */
        bool listed;

        x.why = errno;
        listed = fstatat(x.parent, x.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        how = x.why == ENOENT && !listed                             ? TT_GONE
              : directory && (x.why == ENOTEMPTY || x.why == EEXIST) ? TT_NOT_EMPTY
                                                                     : TT_REMOVAL_FAILED;
    }
    close_entry(&x);
    errno = x.why;
    return how;
}

int tt_removal_check(enum tt_removal how, const char *path, struct tt_error *e)
{
    struct stat st;

    switch (how) {
    case TT_REMOVED:
    case TT_GONE:
        return TT_OK;
    case TT_NOT_OURS:
        return tt_fail(e, TT_FAILED, "'%s' is left alone: it %s", path,
                       lstat(path, &st) == 0 && st.st_uid != geteuid()
                           ? "belongs to another user, who can clean it"
                           : "is not what this run made there");
    case TT_UNPROVEN:
        return tt_fail(e, TT_FAILED,
                       "'%s' is left alone: it carries no mark of this run; if it is of this run, "
                       "remove it yourself",
                       path);
    case TT_NOT_EMPTY:
        return tt_fail(e, TT_BUSY,
                       "'%s' is left alone: it holds something that this run did not make", path);
    case TT_REMOVAL_FAILED:
        break;
    }
    return tt_fail_call(e, errno, "unlink", path, -1);
}

/* ---- marks ---- */

int tt_identify(const char *path, enum tt_made_kind kind, const char *id, uint64_t place,
                uint64_t inode, struct tt_identity *out)
{
    char handle[32], mark[TT_MARK_SIZE];
    struct entry x;
    int rc = TT_FAILED;

    open_entry(path, &x);
    if (x.fd >= 0 && is_of_kind(&x, kind) && (!inode || x.st.stx_ino == inode)) {
        *out = identity_of(&x, place);
        snprintf(mark, sizeof mark, "%s %llu%s", id, (unsigned long long)out->inode,
                 kind == TT_MADE_FILE ? OPEN_SUFFIX : "");
        /* Where attributes are not known, a later run will refuse to replace the file. */
        (void)!setxattr(handle_path(x.fd, handle), TT_DATA_MARK, mark, strlen(mark), 0);
        rc = TT_OK;
    }
    close_entry(&x);
    errno = x.fd >= 0 ? ENOENT : x.why;
    return rc;
}

void tt_mark_finished(const struct tt_owner *owner, const struct tt_made *made)
{
    char handle[32], mark[TT_MARK_SIZE];
    struct entry x;

    if (decide(owner, made, &x) == TT_REMOVED) {
        snprintf(mark, sizeof mark, "%s %llu", owner->id, (unsigned long long)x.st.stx_ino);
        (void)!setxattr(handle_path(x.fd, handle), TT_DATA_MARK, mark, strlen(mark), 0);
    }
    close_entry(&x);
}

void tt_mark_read(const char *path, enum tt_made_kind kind, char id[TT_ID_LENGTH + 1])
{
    struct entry x;
    bool open;

    open_entry(path, &x);
    if (x.fd < 0 || !is_of_kind(&x, kind) || !parse_mark(&x, id, &open) || open)
        id[0] = '\0';
    close_entry(&x);
}

/* Under another name first, where nobody looks for it: what was looked at may have been replaced
 * since. File systems that cannot do that get the shorter way. */
static int take_away(const struct entry *x, const char *path, struct tt_error *e)
{
    char aside[64];
    struct stat st;

    snprintf(aside, sizeof aside, ".tutti-replaced-%llx", (unsigned long long)x->st.stx_ino);
    if (renameat2(x->parent, x->name, x->parent, aside, RENAME_NOREPLACE) != 0) {
        if (errno == ENOENT || unlinkat(x->parent, x->name, 0) == 0)
            return TT_OK;
        return tt_fail_call(e, errno, "unlink", path, -1);
    }
    if (fstatat(x->parent, aside, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == x->st.stx_ino)
        return unlinkat(x->parent, aside, 0) == 0 ? TT_OK
                                                  : tt_fail_call(e, errno, "unlink", path, -1);
    if (renameat2(x->parent, aside, x->parent, x->name, RENAME_NOREPLACE) == 0)
        return tt_fail(e, TT_FAILED, "'%s' was replaced while it was looked at; it is left alone",
                       path);
    return tt_fail(e, TT_FAILED, "'%s' was replaced while it was looked at; it is called %s now",
                   path, aside);
}

int tt_remove_finished(const char *path, struct tt_error *e)
{
    char id[TT_ID_LENGTH + 1];
    bool open = false, marked;
    struct entry x;
    int rc = TT_OK;

    open_entry(path, &x);
    marked = x.fd >= 0 && S_ISREG(x.st.stx_mode) && parse_mark(&x, id, &open);
    if (x.fd < 0)
        rc = x.why == ENOENT ? TT_OK : tt_fail_call(e, x.why, "stat", path, -1);
    else if (marked && open)
        rc = tt_fail(e, TT_FAILED,
                     "'%s' is a file that run %.*s has not finished; wait for it, or tutti clean "
                     "its directory, or choose another path",
                     path, TT_ID_LENGTH, id);
    else if (!marked)
        rc = tt_fail(e, TT_FAILED,
                     "'%s' exists and does not look like a file that tutti made; remove it or "
                     "choose another path",
                     path);
    else
        rc = tt_node_cache_check_spared(path, e) == TT_OK ? take_away(&x, path, e) : e->code;
    close_entry(&x);
    return rc;
}

int tt_check_data(const char *id, const char *path, struct tt_error *e)
{
    const char *slash = strrchr(path, '/'), *before = slash;
    struct entry x;
    bool inside = false;
    int rc = TT_OK;

    while (before && before > path && before[-1] != '/')
        before--;
    if (before)
        inside = is_data_name(before, (size_t)(slash - before), id);
    open_entry(path, &x);
    if (x.fd < 0)
        rc = tt_fail_call(e, x.why, "open", path, -1);
    else if ((!S_ISREG(x.st.stx_mode) && !S_ISDIR(x.st.stx_mode)) ||
             (x.mark[0] && !is_mark_of(&x, id)) ||
             (!x.mark[0] && !inside && (x.has_marks || x.st.stx_uid != geteuid())))
        rc = tt_fail(e, TT_CORRUPT, "'%s' is not a file that run %s has made", path, id);
    close_entry(&x);
    return rc;
}

/* ---- trees ---- */

struct felling {
    const struct tt_owner *owner;
    const char *root;
    char relative[PATH_MAX]; /* of the entry, below the root */
    bool whole;              /* of a bundle: whatever its name */
    bool cache;              /* only what the layer makes */
    dev_t device;
    struct tt_error *e;
    int rc;
};

static void fell_fail(struct felling *f, int why, const char *call)
{
    char path[2 * PATH_MAX];
    int now;

    snprintf(path, sizeof path, "%s/%s", f->root, f->relative);
    now = why ? tt_fail_call(f->e, why, call, path, -1) : tt_removal_check(TT_NOT_OURS, path, f->e);
    f->rc = f->rc == TT_OK ? now : f->rc;
}

static void fell(struct felling *f, int directory);

static void fell_entry(struct felling *f, int directory, const char *name)
{
    const struct tt_config *config = f->owner->config;
    size_t length = strlen(f->relative);
    bool fits = length + strlen(name) + 2 <= sizeof f->relative, is_directory;
    struct stat st;

    if (!fits)
        return;
    tt_note_step(); /* a tree may have millions */
    snprintf(f->relative + length, sizeof f->relative - length, "%s%s", length ? "/" : "", name);
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            fell_fail(f, errno, "stat");
    } else {
        is_directory = S_ISDIR(st.st_mode);
        if ((!is_directory && !S_ISREG(st.st_mode)) || st.st_dev != f->device ||
            (f->cache    ? is_directory || !tt_node_cache_makes(name)
             : !f->whole ? !config->workload->makes(config, f->relative, is_directory)
                         : false)) {
            fell_fail(f, 0, NULL);
        } else if (is_directory) {
            int rc = f->rc, below;

            f->rc = TT_OK;
            below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (below < 0)
                fell_fail(f, errno, "opendir");
            else
                fell(f, below);
            /* What is in it has been told. */
            if (f->rc == TT_OK && unlinkat(directory, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
                fell_fail(f, errno, "rmdir");
            f->rc = rc != TT_OK ? rc : f->rc;
        } else if (unlinkat(directory, name, 0) != 0 && errno != ENOENT) {
            fell_fail(f, errno, "unlink");
        }
    }
    f->relative[length] = '\0';
}

/* Takes the handle. */
static void fell(struct felling *f, int directory)
{
    DIR *list = fdopendir(directory);
    struct dirent *entry;

    if (!list) {
        fell_fail(f, errno, "opendir");
        close(directory);
        return;
    }
    while ((entry = readdir(list)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            fell_entry(f, dirfd(list), entry->d_name);
    closedir(list);
}

int tt_remove_tree(const struct tt_owner *owner, const struct tt_made *made, struct tt_error *e)
{
    bool cache = made->kind == TT_MADE_CACHE, whole = cache || made->kind == TT_MADE_BUNDLE;
    struct felling *f = NULL;
    struct entry x;
    enum tt_removal how = decide(owner, made, &x);
    struct stat st;
    int rc = TT_OK, root = -1;

    errno = x.why;
    if (is_begun(owner, made, &x, how) && unlinkat(x.parent, x.name, AT_REMOVEDIR) == 0)
        how = TT_GONE;
    if (how != TT_REMOVED)
        rc = tt_removal_check(how, made->path, e);
    else if (!whole && (!owner->config || !owner->config->workload->makes))
        rc = tt_removal_check(TT_UNPROVEN, made->path, e);
    else if (!(f = calloc(1, sizeof *f)))
        rc = tt_fail_nomem(e, "a path");
    else if ((root = openat(x.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
             fstat(root, &st) != 0)
        rc = tt_fail_call(e, errno, "opendir", made->path, -1);
    if (rc == TT_OK && f) {
        *f = (struct felling){.owner = owner,
                              .root = made->path,
                              .whole = whole,
                              .cache = cache,
                              .device = st.st_dev,
                              .e = e};
        fell(f, root);
        rc = f->rc;
        if (rc == TT_OK && unlinkat(x.parent, x.name, AT_REMOVEDIR) != 0 && errno != ENOENT)
            rc = tt_fail_call(e, errno, "rmdir", made->path, -1);
    } else if (root >= 0) {
        close(root);
    }
    close_entry(&x);
    free(f);
    return rc;
}

/* ---- files beside ours ---- */

#define MOST_LOCK_BYTES 16 /* in our data directory; elsewhere only an empty one */
/* File systems round their clocks, and servers have their own. */
#define CLOCK_SLACK_NS INT64_C(2000000000)

/* Of no more bytes than that, ours, and not older than our first look at the place, at which it was
 * not there. */
static int remove_lock(const struct tt_owner *o, const char *path, uint64_t bytes,
                       int64_t claimed_ns, struct tt_error *e)
{
    struct tt_identity now;
    struct entry x;
    int rc = TT_OK;

    open_entry(path, &x);
    now = identity_of(&x, o->place);
    if (x.fd >= 0 && S_ISREG(x.st.stx_mode) && x.st.stx_size <= bytes &&
        x.st.stx_uid == geteuid() && (!now.born_ns || now.born_ns >= claimed_ns - CLOCK_SLACK_NS) &&
        unlinkat(x.parent, x.name, 0) != 0 && errno != ENOENT)
        rc = tt_fail_call(e, errno, "unlink", path, -1);
    close_entry(&x);
    return rc;
}

/* "NAME-NUMBER-NUMBER.lock", for shared file pointers. */
static bool is_pointer_lock(const char *name)
{
    const char *end = strrchr(name, '.'), *at = end;

    if (!end || strcmp(end, ".lock") != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        const char *number = at;

        while (at > name && at[-1] >= '0' && at[-1] <= '9')
            at--;
        if (at == number || at == name || *--at != '-')
            return false;
    }
    return true;
}

/* NAME.locktest.NUMBER in a directory, of one name or (NULL: our data directory) of any. */
static int remove_locks(const struct tt_owner *o, const char *directory, const char *name,
                        int64_t claimed_ns, struct tt_error *e)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    int rc = TT_OK;

    while (list && rc == TT_OK && (entry = readdir(list))) {
        const char *lock = strstr(entry->d_name, LOCK_SUFFIX);
        const char *number = lock ? lock + strlen(LOCK_SUFFIX) : "";
        char *path = NULL;

        if (((!name && is_pointer_lock(entry->d_name)) ||
             (*number && !number[strspn(number, "0123456789")])) &&
            (!name || (strlen(name) == (size_t)(lock - entry->d_name) &&
                       !strncmp(name, entry->d_name, strlen(name)))) &&
            asprintf(&path, "%s/%s", directory, entry->d_name) >= 0)
            rc = remove_lock(o, path, name ? 0 : MOST_LOCK_BYTES, claimed_ns, e);
        free(path);
    }
    if (list)
        closedir(list);
    return rc;
}

/* If the manifest may be anybody's, only beside a file that carries our mark. */
static int remove_beside(const struct tt_owner *o, const struct tt_made *made, struct tt_error *e)
{
    const char *slash = strrchr(made->path, '/');
    char *directory = strndup(made->path, slash > made->path ? (size_t)(slash - made->path) : 1);
    struct entry x;
    bool proven;
    int rc = directory ? TT_OK : tt_fail_nomem(e, "a path");

    open_entry(made->path, &x);
    proven = !o->anybodys || (x.fd >= 0 && is_mark_of(&x, o->id));
    close_entry(&x);
    if (rc == TT_OK && proven)
        rc = remove_locks(o, directory, slash + 1, made->claimed_ns, e);
    free(directory);
    return rc;
}

/* ---- all of it ---- */

static int remove_one(const struct tt_owner *o, const struct tt_made *made, uint64_t *removed,
                      struct tt_error *e)
{
    enum tt_removal how;
    int rc, why;

    if (made->kind == TT_MADE_BESIDE)
        return remove_beside(o, made, e);
    if (made->kind == TT_MADE_TREE || made->kind == TT_MADE_BUNDLE || made->kind == TT_MADE_CACHE) {
        struct stat st;
        bool there = lstat(made->path, &st) == 0;

        rc = tt_remove_tree(o, made, e);
        *removed += rc == TT_OK && there && made->kind != TT_MADE_CACHE;
        return rc;
    }
    how = tt_remove_made(o, made);
    if (how == TT_NOT_EMPTY && made == o->data) { /* there they need no line of their own */
        struct tt_error ignored = TT_ERROR_CLEAR;

        remove_locks(o, made->path, NULL, made->claimed_ns, &ignored);
        how = tt_remove_made(o, made);
    }
    why = errno;
    *removed += how == TT_REMOVED && made->kind == TT_MADE_FILE;
    if (how == TT_NOT_EMPTY && made->kind == TT_MADE_PARENT)
        return TT_OK;
    errno = why;
    return tt_removal_check(how, made->path, e);
}

/* What a cache has is completed by what is in the target: if one is spared, so are the others. */
static int check_caches(const struct tt_made_list *all, bool kept, struct tt_error *e)
{
    bool unseen = false; /* it may be on another node */
    struct stat st;
    int rc = TT_OK;

    for (size_t i = 0; i < all->n && rc == TT_OK; i++)
        if (all->list[i].kind == TT_MADE_CACHE) {
            if (lstat(all->list[i].path, &st) == 0)
                rc = tt_node_cache_check_moved(all->list[i].path, kept, e);
            else
                unseen = true;
        }
    for (size_t i = 0; i < all->n && rc == TT_OK && unseen; i++)
        if (all->list[i].kind == TT_MADE_FILE)
            rc = tt_node_cache_check_spared(all->list[i].path, e);
    return rc;
}

void tt_tell_caches(const char *directory)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_config config = {0};
    struct tt_made_list all;
    bool kept =
        tt_directory_load_plan(directory, TT_PLAN_TO_LOOK, &config, NULL, &ignored) != TT_OK ||
        config.run->keep;

    tt_manifest_read(directory, &all, &ignored);
    for (size_t i = 0; i < all.n; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        char text[1024];

        if (all.list[i].kind != TT_MADE_CACHE ||
            tt_node_cache_check_moved(all.list[i].path, kept, &e) == TT_OK)
            continue;
        tt_error_format(&e, text, sizeof text);
        tt_notice("%s", text);
    }
    tt_config_free(&config);
    tt_manifest_free(&all);
}

/* An unfinished manifest, or one with lines that are none, is used as far as it goes. */
static int remove_all(const char *directory, struct tt_owner *o, uint64_t *removed,
                      struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR, why_spared = TT_ERROR_CLEAR;
    struct tt_made_list all;
    struct tt_config config = {0};
    int rc = tt_manifest_read(directory, &all, e), spared;

    if (all.n > 0 &&
        tt_directory_load_plan(directory, TT_PLAN_TO_LOOK, &config, NULL, &ignored) == TT_OK)
        o->config = &config;
    o->place = tt_place_here();
    spared =
        o->anybodys ? check_caches(&all, !o->config || o->config->run->keep, &why_spared) : TT_OK;
    if (spared != TT_OK) { /* that decides, also where the manifest is damaged */
        *e = why_spared;
        rc = spared;
    }
    for (size_t i = 0; i < all.n; i++) {
        const char *slash = strrchr(all.list[i].path, '/');

        if (all.list[i].kind == TT_MADE_DIRECTORY &&
            is_data_name(slash + 1, strlen(slash + 1), o->id))
            o->data = &all.list[i];
    }
    for (size_t i = 0; i < all.n && spared == TT_OK; i++) {
        const struct tt_made *made = &all.list[i];
        struct tt_error why = TT_ERROR_CLEAR;
        int now = remove_one(o, made, removed, &why);

        tt_note_step();
        /* What is not ours will never be; what was only not empty may be so later. */
        if (now != TT_OK && now != TT_BUSY && why.sys_errno == 0 && !o->anybodys)
            tt_manifest_leave(directory, made->kind, made->path, &ignored);
        if (now != TT_OK && e->code == TT_OK)
            *e = why;
        rc = rc == TT_OK ? now : rc;
    }
    tt_config_free(&config);
    tt_manifest_free(&all);
    return rc;
}

int tt_manifest_remove(const char *directory, struct tt_error *e)
{
    struct tt_owner owner = {.id = tt_directory_id(directory)};
    uint64_t removed = 0;

    return remove_all(directory, &owner, &removed, e);
}

int tt_clean_data(const char *directory, uint64_t *removed, struct tt_error *e)
{
    struct tt_owner owner = {.anybodys = true};
    json_t *plan = NULL;
    int rc = tt_directory_read_json(directory, "plan.json", &plan, e);

    if (rc == TT_OK && !(owner.id = tt_plan_id(directory, plan, e)))
        rc = TT_CORRUPT;
    if (rc == TT_OK)
        rc = remove_all(directory, &owner, removed, e);
    json_decref(plan);
    return rc;
}
