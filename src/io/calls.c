/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dynamic linker looks names up in the executable, in what is preloaded and in this library
 * before it comes to libc, also for libraries that are loaded later; from here a call goes on to
 * libc. Calls that libc makes itself are not seen (aio, stdio), nor those of io_uring, whose
 * results the backend looks at. */
#undef _FORTIFY_SOURCE /* it has inline functions of these names */
#include "io/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { MOVED_OUT, MOVED_IN, ENDED, CLOSED };

/* What a call was to do and did not. A later transfer of the same bytes makes it good: libraries go
 * on after a short or interrupted call. After a failed sync or close nothing does. */
struct debt {
    enum kind kind;
    pthread_t thread;
    const char *call;
    int error; /* 0: it was too short */
    dev_t device;
    ino_t inode; /* of a closed descriptor nobody knows the file any more: both are 0 */
    uint64_t at, bytes;
};

#define MOST_DEBTS 64 /* the first ones tell enough */
#define MOST_FILES 64 /* of more than that the rest is not looked at */

static struct {
    pthread_mutex_t lock;
    atomic_uint open, n; /* files; debts */
    struct debt list[MOST_DEBTS];
    const char *paths[MOST_FILES];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tt_calls_begin(const char *path)
{
    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < MOST_FILES; i++)
        if (!seen.paths[i]) {
            seen.paths[i] = path;
            break;
        }
    seen.open++;
    pthread_mutex_unlock(&seen.lock);
}

void tt_calls_end(const char *path)
{
    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < MOST_FILES; i++)
        if (seen.paths[i] == path) {
            seen.paths[i] = NULL;
            break;
        }
    if (--seen.open == 0)
        seen.n = 0;
    pthread_mutex_unlock(&seen.lock);
}

/* ---- debts; with the lock ---- */

/* Files of others, such as what the kernel counts, end as they like. */
static bool is_ours(const struct stat *st)
{
    struct stat ours;

    for (int i = 0; i < MOST_FILES; i++)
        if (seen.paths[i] && stat(seen.paths[i], &ours) == 0 && ours.st_dev == st->st_dev &&
            ours.st_ino == st->st_ino)
            return true;
    return false;
}

static void drop(unsigned i)
{
    seen.list[i] = seen.list[seen.n - 1];
    seen.n--;
}

static void pay(const struct stat *st, enum kind kind, uint64_t at, uint64_t bytes)
{
    for (unsigned i = seen.n; i-- > 0;) {
        struct debt *d = &seen.list[i];
        uint64_t end = at + bytes;

        if (d->kind != kind || d->device != st->st_dev || d->inode != st->st_ino || at > d->at ||
            end <= d->at)
            continue;
        if (end >= d->at + d->bytes) {
            drop(i);
        } else {
            d->bytes -= end - d->at;
            d->at = end;
        }
    }
}

static void owe(struct debt d)
{
    if (seen.n < MOST_DEBTS)
        seen.list[seen.n++] = d;
}

/* ---- calls ---- */

/* A transfer that did not move everything, or one that may make another good. at is -1 where the
 * descriptor's own position counts. */
static void look_at_transfer(const char *call, enum kind kind, int fd, off_t at, size_t wanted,
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
            (error || kind == MOVED_OUT || (uint64_t)at + moved < (uint64_t)st.st_size) &&
            is_ours(&st))
            owe((struct debt){kind, pthread_self(), call, error, st.st_dev, st.st_ino,
                              (uint64_t)at + moved, wanted - moved});
        pthread_mutex_unlock(&seen.lock);
    }
    errno = before;
}

static void look_at_end(const char *call, enum kind kind, int fd)
{
    int error = errno;
    struct stat st = {0};

    if (error != EBADF && (kind == CLOSED || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))) {
        pthread_mutex_lock(&seen.lock);
        if (kind == CLOSED || is_ours(&st))
            owe((struct debt){kind, pthread_self(), call, error, st.st_dev, st.st_ino});
        pthread_mutex_unlock(&seen.lock);
    }
    errno = error;
}

/* ---- judgement ---- */

/* Takes the first debt of a file out of the list, and all others of it: those of this thread, since
 * another one may just be about to make its own good, and when the file is closed all of them.
 * While a file is written a read may have met its end, which is elsewhere a moment later. */
static bool take(const struct tt_file_spec *spec, bool closed, struct debt *first)
{
    bool found = false, grows = spec->access != TT_READ_ONLY;
    struct stat st;

    if (stat(spec->path, &st) != 0)
        memset(&st, 0, sizeof st);
    pthread_mutex_lock(&seen.lock);
    for (unsigned i = 0; i < seen.n;) {
        struct debt *d = &seen.list[i];

        if ((!closed && !pthread_equal(d->thread, pthread_self())) ||
            (d->kind != CLOSED && (d->device != st.st_dev || d->inode != st.st_ino))) {
            i++;
            continue;
        }
        if (d->kind != MOVED_IN || d->error || !grows) {
            if (!found || d->error > first->error)
                *first = *d;
            found = true;
        }
        drop(i);
    }
    pthread_mutex_unlock(&seen.lock);
    return found;
}

int tt_calls_judge(const struct tt_file *file, int rc, bool closed, struct tt_error *e)
{
    const char *name = file->backend->name, *path = file->spec->path;
    bool transfer;
    struct debt d;

    if (seen.n == 0 || !take(file->spec, closed, &d))
        return rc;
    transfer = d.kind == MOVED_OUT || d.kind == MOVED_IN;
    if (rc != TT_OK && (e->sys_errno || !d.error))
        return rc;
    if (rc != TT_OK) { /* the library had lost the cause */
        e->sys_errno = d.error;
        e->offset = transfer ? (long long)d.at : -1;
        return rc;
    }
    rc = tt_fail_call(e, d.error, d.call, path, transfer ? (long long)d.at : -1);
    if (d.error)
        snprintf(e->text, sizeof e->text, "%s reported success; do not trust it here", name);
    else
        snprintf(e->text, sizeof e->text,
                 "%llu bytes are missing, but %s reported success; do not trust it here",
                 (unsigned long long)d.bytes, name);
    return rc;
}

/* ---- the names ---- */

static size_t sum(const struct iovec *parts, int n)
{
    size_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* The first call of a process looks the next function up. Those that a signal handler makes have
 * been made by MPI_Init already. */
static void *next(_Atomic(void *) *found, const char *name)
{
    if (!*found)
        *found = dlsym(RTLD_NEXT, name);
    return *found;
}

#define NEXT(name) \
    ({ \
        static _Atomic(void *) found; \
        (typeof(&name))next(&found, #name); \
    })
#define TRANSFER(name, kind, fd, at, wanted, ...) \
    { \
        ssize_t done = NEXT(name)(__VA_ARGS__); \
        if (seen.open && (seen.n || done != (ssize_t)(wanted))) \
            look_at_transfer(#name, kind, fd, at, wanted, done); \
        return done; \
    }
#define END(name, kind, fd, ...) \
    { \
        int rc = NEXT(name)(__VA_ARGS__); \
        if (rc != 0 && seen.open) \
            look_at_end(#name, kind, fd); \
        return rc; \
    }

/* clang-format off */
ssize_t write(int fd, const void *data, size_t n)
    TRANSFER(write, MOVED_OUT, fd, -1, n, fd, data, n)
ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
    TRANSFER(pwrite, MOVED_OUT, fd, at, n, fd, data, n, at)
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
    TRANSFER(pwrite64, MOVED_OUT, fd, at, n, fd, data, n, at)
ssize_t writev(int fd, const struct iovec *v, int n)
    TRANSFER(writev, MOVED_OUT, fd, -1, sum(v, n), fd, v, n)
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
    TRANSFER(pwritev, MOVED_OUT, fd, at, sum(v, n), fd, v, n, at)
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at)
    TRANSFER(pwritev64, MOVED_OUT, fd, at, sum(v, n), fd, v, n, at)
ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags)
    TRANSFER(pwritev2, MOVED_OUT, fd, at, sum(v, n), fd, v, n, at, flags)
ssize_t pwritev64v2(int fd, const struct iovec *v, int n, off64_t at, int flags)
    TRANSFER(pwritev64v2, MOVED_OUT, fd, at, sum(v, n), fd, v, n, at, flags)
ssize_t read(int fd, void *data, size_t n)
    TRANSFER(read, MOVED_IN, fd, -1, n, fd, data, n)
ssize_t pread(int fd, void *data, size_t n, off_t at)
    TRANSFER(pread, MOVED_IN, fd, at, n, fd, data, n, at)
ssize_t pread64(int fd, void *data, size_t n, off64_t at)
    TRANSFER(pread64, MOVED_IN, fd, at, n, fd, data, n, at)
ssize_t readv(int fd, const struct iovec *v, int n)
    TRANSFER(readv, MOVED_IN, fd, -1, sum(v, n), fd, v, n)
ssize_t preadv(int fd, const struct iovec *v, int n, off_t at)
    TRANSFER(preadv, MOVED_IN, fd, at, sum(v, n), fd, v, n, at)
ssize_t preadv64(int fd, const struct iovec *v, int n, off64_t at)
    TRANSFER(preadv64, MOVED_IN, fd, at, sum(v, n), fd, v, n, at)
ssize_t preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
    TRANSFER(preadv2, MOVED_IN, fd, at, sum(v, n), fd, v, n, at, flags)
ssize_t preadv64v2(int fd, const struct iovec *v, int n, off64_t at, int flags)
    TRANSFER(preadv64v2, MOVED_IN, fd, at, sum(v, n), fd, v, n, at, flags)
int ftruncate(int fd, off_t size)
    END(ftruncate, ENDED, fd, fd, size)
int ftruncate64(int fd, off64_t size)
    END(ftruncate64, ENDED, fd, fd, size)
int fsync(int fd)
    END(fsync, ENDED, fd, fd)
int fdatasync(int fd)
    END(fdatasync, ENDED, fd, fd)
int close(int fd)
    END(close, CLOSED, fd, fd)
    /* clang-format on */
