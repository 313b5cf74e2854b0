/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls that move or end data, by the names under which libraries make them; io/calls.h has the
 * why. The dynamic linker looks names up in the executable first, also for libraries that are
 * loaded later; from here a call goes on to whoever is next: a preloaded library, or libc. Calls
 * that libc makes itself are not seen (aio, stdio), nor those of io_uring, whose results the
 * backend looks at. And the one by which MPI waits (base/yield.h).
 */
#undef _FORTIFY_SOURCE /* it has inline functions of these names */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/yield.h"
#include "io/calls.h"

static size_t sum(const struct iovec *parts, int n)
{
    size_t bytes = n > 0 ? parts[0].iov_len : 0;

    for (int i = 1; i < n; i++)
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

static bool is_seen(void)
{
    return tt_calls.files && !tt_calls_unseen;
}

/* Keeps errno. */
static bool stat_of(int fd, struct stat *st)
{
    int before = errno;
    bool found = fstat(fd, st) == 0;

    errno = before;
    return found;
}

#define NEXT(name) \
    ({ \
        static _Atomic(void *) found; \
        (typeof(&name))next(&found, #name); \
    })
#define TRANSFER(name, kind, fd, at, wanted, ...) \
    { \
        ssize_t done = NEXT(name)(__VA_ARGS__); \
        if ((tt_calls.debts || done != (ssize_t)(wanted)) && is_seen()) \
            done = tt_calls_transfer(#name, kind, fd, at, wanted, done); \
        return done; \
    }
/* After a close nobody could tell which file it was. */
#define END(name, kind, fd, ...) \
    { \
        struct stat st; \
        bool looked = is_seen() && kind == TT_CLOSED && fstat(fd, &st) == 0; \
        int rc = NEXT(name)(__VA_ARGS__); \
        if (rc != 0 && is_seen() && (looked || (kind != TT_CLOSED && stat_of(fd, &st)))) \
            rc = tt_calls_refused(#name, kind, &st, rc); \
        return rc; \
    }

/* Their third argument is there only if a file may be made. */
#define OPEN(name, path, flags, ...) \
    { \
        mode_t mode = 0; \
        int fd; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        fd = NEXT(name)(__VA_ARGS__, mode); \
        if (is_seen()) \
            fd = tt_calls_opened(#name, path, flags, fd); \
        return fd; \
    }

/* clang-format off */
int open(const char *path, int flags, ...)
    OPEN(open, path, flags, path, flags)
int open64(const char *path, int flags, ...)
    OPEN(open64, path, flags, path, flags)
int openat(int at, const char *path, int flags, ...)
    OPEN(openat, path, flags, at, path, flags)
int openat64(int at, const char *path, int flags, ...)
    OPEN(openat64, path, flags, at, path, flags)
ssize_t write(int fd, const void *data, size_t n)
    TRANSFER(write, TT_MOVED_OUT, fd, -1, n, fd, data, n)
ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
    TRANSFER(pwrite, TT_MOVED_OUT, fd, at, n, fd, data, n, at)
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
    TRANSFER(pwrite64, TT_MOVED_OUT, fd, at, n, fd, data, n, at)
ssize_t writev(int fd, const struct iovec *v, int n)
    TRANSFER(writev, TT_MOVED_OUT, fd, -1, sum(v, n), fd, v, n)
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
    TRANSFER(pwritev, TT_MOVED_OUT, fd, at, sum(v, n), fd, v, n, at)
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at)
    TRANSFER(pwritev64, TT_MOVED_OUT, fd, at, sum(v, n), fd, v, n, at)
ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags)
    TRANSFER(pwritev2, TT_MOVED_OUT, fd, at, sum(v, n), fd, v, n, at, flags)
ssize_t pwritev64v2(int fd, const struct iovec *v, int n, off64_t at, int flags)
    TRANSFER(pwritev64v2, TT_MOVED_OUT, fd, at, sum(v, n), fd, v, n, at, flags)
ssize_t read(int fd, void *data, size_t n)
    TRANSFER(read, TT_MOVED_IN, fd, -1, n, fd, data, n)
ssize_t pread(int fd, void *data, size_t n, off_t at)
    TRANSFER(pread, TT_MOVED_IN, fd, at, n, fd, data, n, at)
ssize_t pread64(int fd, void *data, size_t n, off64_t at)
    TRANSFER(pread64, TT_MOVED_IN, fd, at, n, fd, data, n, at)
ssize_t readv(int fd, const struct iovec *v, int n)
    TRANSFER(readv, TT_MOVED_IN, fd, -1, sum(v, n), fd, v, n)
ssize_t preadv(int fd, const struct iovec *v, int n, off_t at)
    TRANSFER(preadv, TT_MOVED_IN, fd, at, sum(v, n), fd, v, n, at)
ssize_t preadv64(int fd, const struct iovec *v, int n, off64_t at)
    TRANSFER(preadv64, TT_MOVED_IN, fd, at, sum(v, n), fd, v, n, at)
ssize_t preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
    TRANSFER(preadv2, TT_MOVED_IN, fd, at, sum(v, n), fd, v, n, at, flags)
ssize_t preadv64v2(int fd, const struct iovec *v, int n, off64_t at, int flags)
    TRANSFER(preadv64v2, TT_MOVED_IN, fd, at, sum(v, n), fd, v, n, at, flags)
int ftruncate(int fd, off_t size)
    END(ftruncate, TT_ENDED, fd, fd, size)
int ftruncate64(int fd, off64_t size)
    END(ftruncate64, TT_ENDED, fd, fd, size)
int fsync(int fd)
    END(fsync, TT_ENDED, fd, fd)
int fdatasync(int fd)
    END(fdatasync, TT_ENDED, fd, fd)
int close(int fd)
    END(close, TT_CLOSED, fd, fd)

int sched_yield(void)
{
    if (!tt_yield_should_sleep())
        return NEXT(sched_yield)();
    tt_yield_asleep();
    return 0;
}
/* clang-format on */
