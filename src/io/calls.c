/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a call was to do and did not. A later transfer of the same bytes makes it good: libraries go
 * on after a short or interrupted call. After a failed sync or close nothing does. */
struct debt {
    enum tt_call_kind kind;
    pthread_t thread;
    const char *call;
    int error;   /* 0: it was too short */
    bool hidden; /* the library was told that all is well */
    dev_t device;
    ino_t inode;
    uint64_t at, bytes;
};

#define MOST_DEBTS 64 /* the first ones tell enough */
#define MOST_FILES 64 /* of more than that the rest is not looked at */

static struct {
    pthread_mutex_t lock;
    struct debt list[MOST_DEBTS];
    struct debt not_opened; /* the last one that was refused, if none was opened since */
    const char *not_opened_path;
    struct {
        const char *path;
        bool inside; /* a file in the directory that path is */
        bool known;  /* which file it is; from the first time it is opened */
        bool hides;  /* what is refused from the library */
        dev_t device;
        ino_t inode;
    } files[MOST_FILES];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct tt_calls tt_calls;

_Thread_local bool tt_calls_unseen;

void tt_calls_begin(const char *path)
{
    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < MOST_FILES; i++)
        if (!seen.files[i].path) {
            seen.files[i].path = path;
            seen.files[i].known = seen.files[i].inside = seen.files[i].hides = false;
            break;
        }
    tt_calls.files++;
    pthread_mutex_unlock(&seen.lock);
}

void tt_calls_end(const char *path)
{
    bool found = false;

    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < MOST_FILES; i++)
        if (seen.files[i].path == path && (seen.files[i].inside || !found)) {
            found = found || !seen.files[i].inside;
            seen.files[i].path = NULL;
        }
    if (seen.not_opened_path == path)
        seen.not_opened_path = NULL;
    if (--tt_calls.files == 0)
        tt_calls.debts = 0;
    pthread_mutex_unlock(&seen.lock);
}

/* A layer has a copy of the path of its own. */
void tt_calls_hide(const char *path)
{
    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < MOST_FILES; i++)
        if (seen.files[i].path && !strcmp(seen.files[i].path, path))
            seen.files[i].hides = true;
    pthread_mutex_unlock(&seen.lock);
}

/* ---- debts; with the lock, and without a look at storage, which may hang ---- */

/* Files of others, such as what the kernel counts, end as they like: -1. */
static int find(dev_t device, ino_t inode)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (seen.files[i].path && seen.files[i].known && seen.files[i].device == device &&
            seen.files[i].inode == inode)
            return i;
    return -1;
}

static const char *path_of(dev_t device, ino_t inode)
{
    int i = find(device, inode);

    return i < 0 ? NULL : seen.files[i].path;
}

static void drop(unsigned i)
{
    seen.list[i] = seen.list[tt_calls.debts - 1];
    tt_calls.debts--;
}

static void pay(const struct stat *st, enum tt_call_kind kind, uint64_t at, uint64_t bytes)
{
    for (unsigned i = tt_calls.debts; i-- > 0;) {
        struct debt *d = &seen.list[i];
        uint64_t end = at + bytes;

        if (d->kind != kind || d->hidden || d->device != st->st_dev || d->inode != st->st_ino ||
            at > d->at || end <= d->at)
            continue; /* after what was hidden, a descriptor goes on at the same place */
        if (end >= d->at + d->bytes) {
            drop(i);
        } else {
            d->bytes -= end - d->at;
            d->at = end;
        }
    }
}

/* Returns whether the library is told that all is well. The first that is hidden of a file speaks
 * for those that follow; what has no place is not hidden. */
static bool owe(struct debt d)
{
    int i = find(d.device, d.inode);

    d.hidden = i >= 0 && seen.files[i].hides && (d.kind == TT_MOVED_OUT || d.kind == TT_CLOSED) &&
               d.error && d.error != EINTR && d.error != EAGAIN;
    for (unsigned k = 0; d.hidden && k < tt_calls.debts; k++)
        if (seen.list[k].hidden && seen.list[k].device == d.device && seen.list[k].inode == d.inode)
            return true;
    if (i < 0 || tt_calls.debts == MOST_DEBTS)
        return false;
    seen.list[tt_calls.debts++] = d;
    return d.hidden;
}

/* ---- calls ---- */

ssize_t tt_calls_transfer(const char *call, enum tt_call_kind kind, int fd, off_t at, size_t wanted,
                          ssize_t done)
{
    int error = done < 0 ? errno : 0, before = errno;
    uint64_t moved = done > 0 ? (uint64_t)done : 0;
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        if (at < 0)
            at = lseek(fd, 0, SEEK_CUR) - (off_t)moved;
        pthread_mutex_lock(&seen.lock);
        pay(&st, kind, (uint64_t)at, moved);
        /* a read may reach beyond the end of the file */
        if (moved < wanted &&
            (error || kind == TT_MOVED_OUT || (uint64_t)at + moved < (uint64_t)st.st_size) &&
            owe((struct debt){kind, pthread_self(), call, error, false, st.st_dev, st.st_ino,
                              (uint64_t)at + moved, wanted - moved}))
            done = (ssize_t)wanted;
        pthread_mutex_unlock(&seen.lock);
    }
    errno = before;
    return done;
}

int tt_calls_refused(const char *call, enum tt_call_kind kind, const struct stat *st, int rc)
{
    int error = errno;

    if (error != EBADF && error != EINTR) {
        pthread_mutex_lock(&seen.lock);
        if (owe((struct debt){kind, pthread_self(), call, error, false, st->st_dev, st->st_ino}))
            rc = 0;
        pthread_mutex_unlock(&seen.lock);
    }
    errno = error;
    return rc;
}

/* A file of a library that fills a directory: it counts as the directory's. */
static void add_inside(const char *path, bool hides, const struct stat *st)
{
    int free = -1;

    for (int i = 0; i < MOST_FILES; i++) {
        if (!seen.files[i].path && free < 0)
            free = i;
        if (seen.files[i].path == path && seen.files[i].inside &&
            seen.files[i].device == st->st_dev && seen.files[i].inode == st->st_ino)
            return;
    }
    if (free < 0)
        return;
    seen.files[free].path = path;
    seen.files[free].inside = seen.files[free].known = true;
    seen.files[free].hides = hides;
    seen.files[free].device = st->st_dev;
    seen.files[free].inode = st->st_ino;
}

/* A file that nobody sees takes what the library writes. -1: there is none. */
static int open_nowhere(const char *call, const char *known, int error)
{
    int fd = memfd_create("tutti", MFD_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        add_inside(known, true, &st);
        if (owe((struct debt){TT_CLOSED, pthread_self(), call, error, false, st.st_dev, st.st_ino}))
            return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

int tt_calls_opened(const char *call, const char *path, int flags, int fd)
{
    int error = errno;
    bool opened, writes = (flags & O_ACCMODE) != O_RDONLY;
    struct stat st;

    opened = fd >= 0 && fstat(fd, &st) == 0;
    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < MOST_FILES; i++) {
        const char *known = seen.files[i].inside ? NULL : seen.files[i].path;
        size_t n = known ? strlen(known) : 0;

        if (!known || strncmp(path, known, n) != 0 || (path[n] && path[n] != '/'))
            continue;
        /* Also without O_CREAT: ranks of ADIOS2 open what another one has made, or failed to. */
        if (fd < 0 && error != EEXIST && error != EINTR && writes && seen.files[i].hides) {
            fd = open_nowhere(call, known, error);
            if (fd >= 0)
                break;
        }
        if (fd < 0 && error != EEXIST) {
            seen.not_opened = (struct debt){.call = call, .error = error};
            seen.not_opened_path = known;
        } else if (opened && path[n]) {
            add_inside(known, seen.files[i].hides, &st);
            seen.not_opened_path = NULL;
        } else if (opened) {
            seen.files[i].known = true;
            seen.files[i].device = st.st_dev;
            seen.files[i].inode = st.st_ino;
            seen.not_opened_path = NULL;
        }
    }
    pthread_mutex_unlock(&seen.lock);
    errno = error;
    return fd;
}

/* One that fell short, or was interrupted, may just be under way again. Who asks must not wait. */
bool tt_calls_owed(struct tt_error *e)
{
    if (pthread_mutex_trylock(&seen.lock) != 0)
        return false;
    if (seen.not_opened_path)
        tt_fail_call(e, seen.not_opened.error, seen.not_opened.call, seen.not_opened_path, -1);
    for (unsigned i = 0; i < tt_calls.debts && e->code == TT_OK; i++) {
        const struct debt *d = &seen.list[i];
        bool transfer = d->kind == TT_MOVED_OUT || d->kind == TT_MOVED_IN;
        const char *path = path_of(d->device, d->inode);

        if (path && d->error && d->error != EINTR && d->error != EAGAIN)
            tt_fail_call(e, d->error, d->call, path, transfer ? (long long)d->at : -1);
    }
    pthread_mutex_unlock(&seen.lock);
    return e->code != TT_OK;
}

/* ---- judgement ---- */

/* Takes the first debt of a file out of the list, and all others of it: those of this thread, since
 * another one may just be about to make its own good, and when the file is closed all of them. What
 * was hidden nobody makes good.
 * While a file is written a read may have met its end, which is elsewhere a moment later. */
static bool take(const struct tt_file_spec *spec, bool closed, struct debt *first)
{
    bool found = false, grows = spec->access != TT_READ_ONLY;
    const char *path;
    struct stat st;

    if (stat(spec->path, &st) != 0)
        memset(&st, 0, sizeof st);
    pthread_mutex_lock(&seen.lock);
    for (unsigned i = 0; i < tt_calls.debts;) {
        struct debt *d = &seen.list[i];

        path = path_of(d->device, d->inode); /* maybe another copy: a layer has one of its own */
        if ((!closed && !d->hidden && !pthread_equal(d->thread, pthread_self())) ||
            ((d->device != st.st_dev || d->inode != st.st_ino) &&
             (!path || strcmp(path, spec->path) != 0))) {
            i++;
            continue;
        }
        if (d->kind != TT_MOVED_IN || d->error || !grows) {
            if (!found || d->error > first->error)
                *first = *d;
            found = true;
        }
        drop(i);
    }
    pthread_mutex_unlock(&seen.lock);
    return found;
}

int tt__calls_judge(const struct tt_file *file, int rc, bool closed, struct tt_error *e)
{
    const char *name = file->backend->name, *path = file->spec->path;
    bool transfer;
    struct debt d = {.error = 0}; /* gcc 14 does not see that take() fills it */

    if (!take(file->spec, closed, &d))
        return rc;
    transfer = d.kind == TT_MOVED_OUT || d.kind == TT_MOVED_IN;
    if (rc != TT_OK && (e->sys_errno || !d.error))
        return rc;
    if (rc != TT_OK) { /* the library had lost the cause */
        e->sys_errno = d.error;
        e->offset = transfer ? (long long)d.at : -1;
        return rc;
    }
    rc = tt_fail_call(e, d.error, d.call, path, transfer ? (long long)d.at : -1);
    if (d.hidden)
        return rc;
    if (d.error)
        snprintf(e->text, sizeof e->text, "%s reported success; do not trust it here", name);
    else
        snprintf(e->text, sizeof e->text,
                 "%llu bytes are missing, but %s reported success; do not trust it here",
                 (unsigned long long)d.bytes, name);
    return rc;
}
