// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A preloaded library that fails, delays, stops or kills the n-th system call of a kind on one
 * rank:
 *
 *   LD_PRELOAD=$FAULTS TUTTI_FAULT="rank=1 call=write nth=3 count=1 match=out do=EIO" tutti run ...
 *
 * Several faults are separated by ';'. The words of a fault, all but do= optional:
 * - rank: a number, * (every rank), driver (tutti itself), launcher (what it starts before ranks
 * are)
 * - call: open read write fsync close unlink rename mkdir ftruncate stat xattr unmark lock, or any;
 *   each covers the family of libc's functions, see the tables below
 * - nth: which call, from 1, counted in every process over the calls that match
 * - count: how many from there on, or all
 * - match: a part of the path; that of a descriptor is what /proc/self/fd says
 * - do: the name of an errno, delay:SECONDS, stop (SIGSTOP), kill (SIGKILL), short (half of the
 * bytes)
 *
 * Each fault that is met appends a line to the file that TUTTI_FAULT_LOG names.
 *
 * A close that fails has closed, as Linux has it. Every other call that fails was not made.
 *
 * io_uring: completions are read by inline code from memory shared with the kernel, which nothing
 * can be put before. A request is therefore spoilt when it is submitted (its descriptor becomes -1,
 * so the kernel ends it at once), and the result is replaced before the submitting call returns.
 *
 * Not covered: what libc does inside itself (the writes of stdio, the pwrite of aio's threads),
 * memory maps.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef FAULTS_URING
#include <liburing.h>
#endif

enum kind {
    OPEN,
    READ,
    WRITE,
    FSYNC,
    CLOSE,
    UNLINK,
    RENAME,
    MKDIR,
    FTRUNCATE,
    STAT,
    XATTR,
    UNMARK,
    LOCK,
    ANY
};
static const char *const kinds[] = {"open",   "read",   "write", "fsync",     "close",
                                    "unlink", "rename", "mkdir", "ftruncate", "stat",
                                    "xattr",  "unmark", "lock",  "any"};
enum action { FAIL, DELAY, STOP, KILL, SHORT };

static struct fault {
    enum kind call;
    enum action action;
    int error;
    long nth;
    long count;
    double seconds;
    char match[256];
    char what[64];
    atomic_long seen;
} faults[16];
static int n_faults; // of this process
static char rank_name[16];
static const char *log_path;

/* What the call at hand shall do. */
struct verdict {
    int error;
    bool cut;
};

static void note(const struct fault *f, const char *call, long nth, const char *path)
{
    char line[4600];
    int fd;
    int n = snprintf(line, sizeof line, "rank=%s call=%s nth=%ld do=%s path=%s\n", rank_name, call,
                     nth, f->what, path);

    if (!log_path)
        return;
    fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                      0666);
    if (fd < 0)
        return;
    if (n >= (int)sizeof line)
        n = sizeof line - 1;
    (void)!syscall(SYS_write, fd, line, n);
    syscall(SYS_close, fd);
}

static void place_of(int fd, const char *path, char *out, size_t size)
{
    char link[32];
    ssize_t n = 0;

    if (!path || (path[0] != '/' && fd >= 0)) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, out, size - 1);
        if (n < 0)
            n = 0;
    }
    snprintf(out + n, size - n, "%s%s", path && n ? "/" : "", path ? path : "");
}

static void sleep_through(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

/* `bytes` is what the call would move, -1 if it moves nothing: only a transfer can be cut short. */
static struct verdict judge(enum kind kind, const char *call, int fd, const char *path,
                            ssize_t bytes)
{
    struct verdict v = {0};
    char place[4200];
    int before = errno;

    place[0] = '\0';
    for (int i = 0; i < n_faults; i++) {
        struct fault *f = &faults[i];
        long nth;

        if ((f->call != ANY && f->call != kind) || (f->action == SHORT && bytes < 2))
            continue;
        if (!place[0])
            place_of(fd, path, place, sizeof place);
        if (!strstr(place, f->match))
            continue;
        nth = ++f->seen;
        if (nth < f->nth || nth - f->nth >= f->count)
            continue;
        note(f, call, nth, place);
        if (f->action == STOP || f->action == KILL)
            kill(getpid(), f->action == STOP ? SIGSTOP : SIGKILL);
        else if (f->action == DELAY)
            sleep_through(f->seconds);
        else if (f->action == SHORT)
            v.cut = true;
        else if (!v.error)
            v.error = f->error;
    }
    errno = before;
    return v;
}

/* Every function below has a name of its own in C and libc's name in the object: headers, which
   declare some of them with "...", do not mind then. What "..." hands over sits in the same
   registers. */
#define AT(dir, path) dir, path
#define PATH(path) -1, path
#define FD(fd) fd, NULL

// kind, result, on failure, name, parameters, arguments, place
#define PLAIN_CALLS(X) \
    X(OPEN, int, -1, open, (const char *p, int f, int m), (p, f, m), PATH(p)) \
    X(OPEN, int, -1, open64, (const char *p, int f, int m), (p, f, m), PATH(p)) \
    X(OPEN, int, -1, __open_2, (const char *p, int f), (p, f), PATH(p)) \
    X(OPEN, int, -1, __open64_2, (const char *p, int f), (p, f), PATH(p)) \
    X(OPEN, int, -1, openat, (int d, const char *p, int f, int m), (d, p, f, m), AT(d, p)) \
    X(OPEN, int, -1, openat64, (int d, const char *p, int f, int m), (d, p, f, m), AT(d, p)) \
    X(OPEN, int, -1, __openat_2, (int d, const char *p, int f), (d, p, f), AT(d, p)) \
    X(OPEN, int, -1, __openat64_2, (int d, const char *p, int f), (d, p, f), AT(d, p)) \
    X(OPEN, int, -1, creat, (const char *p, int m), (p, m), PATH(p)) \
    X(OPEN, int, -1, creat64, (const char *p, int m), (p, m), PATH(p)) \
    X(OPEN, FILE *, NULL, fopen, (const char *p, const char *m), (p, m), PATH(p)) \
    X(OPEN, FILE *, NULL, fopen64, (const char *p, const char *m), (p, m), PATH(p)) \
    X(OPEN, DIR *, NULL, opendir, (const char *p), (p), PATH(p)) \
    X(FSYNC, int, -1, fsync, (int d), (d), FD(d)) \
    X(FSYNC, int, -1, fdatasync, (int d), (d), FD(d)) \
    X(FSYNC, int, -1, syncfs, (int d), (d), FD(d)) \
    X(FSYNC, int, -1, sync_file_range, (int d, off_t o, off_t n, unsigned f), (d, o, n, f), FD(d)) \
    X(UNLINK, int, -1, unlink, (const char *p), (p), PATH(p)) \
    X(UNLINK, int, -1, unlinkat, (int d, const char *p, int f), (d, p, f), AT(d, p)) \
    X(UNLINK, int, -1, rmdir, (const char *p), (p), PATH(p)) \
    X(UNLINK, int, -1, remove, (const char *p), (p), PATH(p)) \
    X(RENAME, int, -1, rename, (const char *p, const char *q), (p, q), PATH(p)) \
    X(RENAME, int, -1, renameat, (int d, const char *p, int e, const char *q), (d, p, e, q), \
      AT(d, p)) \
    X(RENAME, int, -1, renameat2, (int d, const char *p, int e, const char *q, int f), \
      (d, p, e, q, f), AT(d, p)) \
    X(RENAME, int, -1, link, (const char *p, const char *q), (p, q), PATH(p)) \
    X(RENAME, int, -1, linkat, (int d, const char *p, int e, const char *q, int f), \
      (d, p, e, q, f), AT(d, p)) \
    X(MKDIR, int, -1, mkdir, (const char *p, int m), (p, m), PATH(p)) \
    X(MKDIR, int, -1, mkdirat, (int d, const char *p, int m), (d, p, m), AT(d, p)) \
    X(FTRUNCATE, int, -1, ftruncate, (int d, off_t n), (d, n), FD(d)) \
    X(FTRUNCATE, int, -1, ftruncate64, (int d, off_t n), (d, n), FD(d)) \
    X(FTRUNCATE, int, -1, truncate, (const char *p, off_t n), (p, n), PATH(p)) \
    X(FTRUNCATE, int, -1, truncate64, (const char *p, off_t n), (p, n), PATH(p)) \
    X(FTRUNCATE, int, -1, fallocate, (int d, int m, off_t o, off_t n), (d, m, o, n), FD(d)) \
    X(FTRUNCATE, int, -1, fallocate64, (int d, int m, off_t o, off_t n), (d, m, o, n), FD(d)) \
    X(FTRUNCATE, int, errno, posix_fallocate, (int d, off_t o, off_t n), (d, o, n), FD(d)) \
    X(FTRUNCATE, int, errno, posix_fallocate64, (int d, off_t o, off_t n), (d, o, n), FD(d)) \
    X(STAT, int, -1, stat, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, stat64, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, lstat, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, lstat64, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, fstat, (int d, void *s), (d, s), FD(d)) \
    X(STAT, int, -1, fstat64, (int d, void *s), (d, s), FD(d)) \
    X(STAT, int, -1, fstatat, (int d, const char *p, void *s, int f), (d, p, s, f), AT(d, p)) \
    X(STAT, int, -1, fstatat64, (int d, const char *p, void *s, int f), (d, p, s, f), AT(d, p)) \
    X(STAT, int, -1, statx, (int d, const char *p, int f, unsigned m, void *s), (d, p, f, m, s), \
      AT(d, p)) \
    X(STAT, int, -1, access, (const char *p, int m), (p, m), PATH(p)) \
    X(STAT, int, -1, faccessat, (int d, const char *p, int m, int f), (d, p, m, f), AT(d, p)) \
    X(STAT, int, -1, statfs, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, statfs64, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, fstatfs, (int d, void *s), (d, s), FD(d)) \
    X(STAT, int, -1, fstatfs64, (int d, void *s), (d, s), FD(d)) \
    X(STAT, int, -1, statvfs, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, statvfs64, (const char *p, void *s), (p, s), PATH(p)) \
    X(STAT, int, -1, fstatvfs, (int d, void *s), (d, s), FD(d)) \
    X(STAT, int, -1, fstatvfs64, (int d, void *s), (d, s), FD(d)) \
    X(XATTR, int, -1, setxattr, (const char *p, const char *k, void *v, size_t n, int f), \
      (p, k, v, n, f), PATH(p)) \
    X(XATTR, int, -1, lsetxattr, (const char *p, const char *k, void *v, size_t n, int f), \
      (p, k, v, n, f), PATH(p)) \
    X(XATTR, int, -1, fsetxattr, (int d, const char *k, void *v, size_t n, int f), \
      (d, k, v, n, f), FD(d)) \
    X(XATTR, ssize_t, -1, getxattr, (const char *p, const char *k, void *v, size_t n), \
      (p, k, v, n), PATH(p)) \
    X(XATTR, ssize_t, -1, lgetxattr, (const char *p, const char *k, void *v, size_t n), \
      (p, k, v, n), PATH(p)) \
    X(XATTR, ssize_t, -1, fgetxattr, (int d, const char *k, void *v, size_t n), (d, k, v, n), \
      FD(d)) \
    X(UNMARK, int, -1, removexattr, (const char *p, const char *k), (p, k), PATH(p)) \
    X(LOCK, int, -1, flock, (int d, int f), (d, f), FD(d))

// kind, name, parameters behind the number of bytes, arguments behind it
#define BYTE_CALLS(X) \
    X(READ, read, , ) \
    X(READ, __read_chk, X_COMMA size_t room, X_COMMA room) \
    X(READ, pread, X_COMMA off_t o, X_COMMA o) \
    X(READ, pread64, X_COMMA off_t o, X_COMMA o) \
    X(READ, __pread_chk, X_COMMA off_t o X_COMMA size_t room, X_COMMA o X_COMMA room) \
    X(READ, __pread64_chk, X_COMMA off_t o X_COMMA size_t room, X_COMMA o X_COMMA room) \
    X(WRITE, write, , ) \
    X(WRITE, pwrite, X_COMMA off_t o, X_COMMA o) \
    X(WRITE, pwrite64, X_COMMA off_t o, X_COMMA o)
#define VECTOR_CALLS(X) \
    X(READ, readv, , ) \
    X(READ, preadv, X_COMMA off_t o, X_COMMA o) \
    X(READ, preadv64, X_COMMA off_t o, X_COMMA o) \
    X(READ, preadv2, X_COMMA off_t o X_COMMA int f, X_COMMA o X_COMMA f) \
    X(READ, preadv64v2, X_COMMA off_t o X_COMMA int f, X_COMMA o X_COMMA f) \
    X(WRITE, writev, , ) \
    X(WRITE, pwritev, X_COMMA off_t o, X_COMMA o) \
    X(WRITE, pwritev64, X_COMMA off_t o, X_COMMA o) \
    X(WRITE, pwritev2, X_COMMA off_t o X_COMMA int f, X_COMMA o X_COMMA f) \
    X(WRITE, pwritev64v2, X_COMMA off_t o X_COMMA int f, X_COMMA o X_COMMA f)
#define X_COMMA ,

/* Found by the constructor: dlsym takes locks, and some of these are called in signal handlers. */
#define DECLARE_PLAIN(kind, type, bad, name, parameters, ...) static type(*real_##name) parameters;
#define DECLARE_BYTES(kind, name, parameters, ...) \
    static ssize_t (*real_##name)(int, void *, size_t parameters);
#define DECLARE_VECTOR(kind, name, parameters, ...) \
    static ssize_t (*real_##name)(int, const struct iovec *, int parameters);
PLAIN_CALLS(DECLARE_PLAIN)
BYTE_CALLS(DECLARE_BYTES)
VECTOR_CALLS(DECLARE_VECTOR)
static int (*real_close)(int);
static int (*real_fcntl)(int, int, void *);
static int (*real_fcntl64)(int, int, void *);

static void *find(void *known, const char *name)
{
    return known ? known : dlsym(RTLD_NEXT, name);
}
#define REAL(name) ((__typeof__(real_##name))find((void *)real_##name, #name))

#define DEFINE_PLAIN(kind, type, bad, name, parameters, arguments, ...) \
    type faulty_##name parameters __asm__(#name); \
    type faulty_##name parameters \
    { \
        struct verdict verdict = judge(kind, #name, __VA_ARGS__, -1); \
\
        if (!verdict.error) \
            return REAL(name) arguments; \
        errno = verdict.error; \
        return bad; \
    }
PLAIN_CALLS(DEFINE_PLAIN)

#define DEFINE_BYTES(kind, name, parameters, arguments) \
    ssize_t faulty_##name(int fd, void *to, size_t n parameters) __asm__(#name); \
    ssize_t faulty_##name(int fd, void *to, size_t n parameters) \
    { \
        struct verdict v = judge(kind, #name, fd, NULL, (ssize_t)n); \
\
        errno = v.error ? v.error : errno; \
        return v.error ? -1 : REAL(name)(fd, to, v.cut ? n / 2 : n arguments); \
    }
BYTE_CALLS(DEFINE_BYTES)

static ssize_t bytes_of(const struct iovec *list, int n)
{
    ssize_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += (ssize_t)list[i].iov_len;
    return sum;
}

/* Cut short, a list moves half of its first part. */
#define DEFINE_VECTOR(kind, name, parameters, arguments) \
    ssize_t faulty_##name(int fd, const struct iovec *list, int n parameters) __asm__(#name); \
    ssize_t faulty_##name(int fd, const struct iovec *list, int n parameters) \
    { \
        struct verdict v = judge(kind, #name, fd, NULL, n > 0 ? bytes_of(list, n) : 0); \
        struct iovec half; \
\
        errno = v.error ? v.error : errno; \
        if (v.error) \
            return -1; \
        if (v.cut && list->iov_len > 1) { \
            half = (struct iovec){list->iov_base, list->iov_len / 2}; \
            list = &half; \
            n = 1; \
        } \
        return REAL(name)(fd, list, n arguments); \
    }
VECTOR_CALLS(DEFINE_VECTOR)

int faulty_close(int fd) __asm__("close");
int faulty_close(int fd)
{
    struct verdict v = judge(CLOSE, "close", fd, NULL, -1);
    int rc = REAL(close)(fd);

    if (!v.error || rc)
        return rc;
    errno = v.error;
    return -1;
}

static bool locks(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
           command == F_OFD_SETLKW;
}

#define DEFINE_FCNTL(name) \
    int faulty_##name(int fd, int command, void *argument) __asm__(#name); \
    int faulty_##name(int fd, int command, void *argument) \
    { \
        struct verdict v = {0}; \
\
        if (locks(command)) \
            v = judge(LOCK, #name, fd, NULL, -1); \
        if (!v.error) \
            return REAL(name)(fd, command, argument); \
        errno = v.error; \
        return -1; \
    }
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

#ifdef FAULTS_URING
static atomic_int fixed_file = -1; // registered last: tutti registers one file a ring
static int (*real_register_files)(struct io_uring *, const int *, unsigned);
static int (*real_submit)(struct io_uring *);
static int (*real_submit_and_wait)(struct io_uring *, unsigned);

struct spoilt {
    __u64 who;
    int error;
};

static enum kind kind_of(const struct io_uring_sqe *sqe)
{
    switch (sqe->opcode) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
        return READ;
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
        return WRITE;
    case IORING_OP_FSYNC:
        return FSYNC;
    default:
        return ANY;
    }
}

static void halve(struct io_uring_sqe *sqe)
{
    const struct iovec *list =
        (const struct iovec *)(uintptr_t)sqe->addr; // NOLINT: the kernel's type

    if (sqe->opcode != IORING_OP_READV && sqe->opcode != IORING_OP_WRITEV) {
        sqe->len /= 2;
        return;
    }
    sqe->opcode = sqe->opcode == IORING_OP_READV ? IORING_OP_READ : IORING_OP_WRITE;
    sqe->addr = (uintptr_t)list->iov_base;
    sqe->len = list->iov_len > 1 ? list->iov_len / 2 : 1;
}

static int spoil(struct io_uring *ring, struct spoilt *list, int room)
{
    int n = 0;

    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail && n < room; i++) {
        struct io_uring_sqe *sqe = &ring->sq.sqes[i & *ring->sq.kring_mask];
        enum kind kind = kind_of(sqe);
        bool vector = sqe->opcode == IORING_OP_READV || sqe->opcode == IORING_OP_WRITEV;
        struct verdict v;

        if (kind == ANY)
            continue;
        v = judge(kind,
                  kind == READ    ? "uring_read"
                  : kind == WRITE ? "uring_write"
                                  : "uring_fsync",
                  sqe->flags & IOSQE_FIXED_FILE ? fixed_file : sqe->fd, NULL,
                  kind == FSYNC ? -1
                  : vector ? bytes_of((const struct iovec *)(uintptr_t)sqe->addr, (int)sqe->len)
                           : (ssize_t)sqe->len);
        if (v.cut)
            halve(sqe);
        if (!v.error)
            continue;
        sqe->flags &= (__u8)~IOSQE_FIXED_FILE;
        sqe->fd = -1;
        list[n++] = (struct spoilt){sqe->user_data, v.error};
    }
    return n;
}

static void replace(struct io_uring *ring, const struct spoilt *list, int n)
{
    unsigned head;
    struct io_uring_cqe *cqe;

    io_uring_for_each_cqe(ring, head, cqe)
    {
        for (int i = 0; i < n; i++) {
            if (cqe->user_data == list[i].who && cqe->res == -EBADF)
                cqe->res = -list[i].error;
        }
    }
}

int faulty_submit(struct io_uring *ring) __asm__("io_uring_submit");
int faulty_submit(struct io_uring *ring)
{
    struct spoilt list[64];
    int n = spoil(ring, list, 64);
    int rc = real_submit(ring);

    replace(ring, list, n);
    return rc;
}

int faulty_submit_and_wait(struct io_uring *ring,
                           unsigned wait) __asm__("io_uring_submit_and_wait");
int faulty_submit_and_wait(struct io_uring *ring, unsigned wait)
{
    struct spoilt list[64];
    int n = spoil(ring, list, 64);
    int rc = real_submit_and_wait(ring, wait);

    replace(ring, list, n);
    return rc;
}

int faulty_register_files(struct io_uring *ring, const int *files,
                          unsigned n) __asm__("io_uring_register_files");
int faulty_register_files(struct io_uring *ring, const int *files, unsigned n)
{
    if (n > 0)
        fixed_file = files[0];
    return real_register_files(ring, files, n);
}
#endif

/* Whether this process is the one meant. */
static bool meant(const char *rank)
{
    bool a_rank = rank_name[0] >= '0' && rank_name[0] <= '9';

    return strcmp(rank, rank_name) == 0 || (a_rank && strcmp(rank, "*") == 0);
}

static void know_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    const char *rank = NULL;

    for (int i = 0; i < 4 && !rank; i++)
        rank = getenv(names[i]);
    if (!rank)
        rank = strcmp(program_invocation_short_name, "tutti") == 0 ? "driver" : "launcher";
    snprintf(rank_name, sizeof rank_name, "%s", rank);
}

static void refuse(const char *word)
{
    dprintf(2, "faults: TUTTI_FAULT has a wrong word '%s'\n", word);
    _exit(99);
}

static void read_action(struct fault *f, const char *value)
{
    snprintf(f->what, sizeof f->what, "%s", value);
    if (sscanf(value, "delay:%lf", &f->seconds) == 1) {
        f->action = DELAY;
    } else if (strcmp(value, "stop") == 0) {
        f->action = STOP;
    } else if (strcmp(value, "kill") == 0) {
        f->action = KILL;
    } else if (strcmp(value, "short") == 0) {
        f->action = SHORT;
    } else {
        f->action = FAIL;
        for (int i = 1; i < 134 && !f->error; i++) {
            const char *name = strerrorname_np(i);

            if (name && strcmp(name, value) == 0)
                f->error = i;
        }
        if (!f->error)
            refuse(value);
    }
}

static void read_word(struct fault *f, const char *word, bool *here)
{
    const char *value = strchr(word, '=');
    size_t length = value ? (size_t)(value - word) : 0;

#define IS(key) (length == strlen(key) && strncmp(word, key, length) == 0)
    if (!value++)
        refuse(word);
    if (IS("rank")) {
        *here = meant(value);
    } else if (IS("call")) {
        for (f->call = 0; f->call <= ANY && strcmp(kinds[f->call], value) != 0;)
            f->call++;
        if (f->call > ANY)
            refuse(word);
    } else if (IS("nth")) {
        f->nth = strtol(value, NULL, 10);
    } else if (IS("count")) {
        f->count = strcmp(value, "all") == 0 ? 1L << 40 : strtol(value, NULL, 10);
    } else if (IS("match")) {
        snprintf(f->match, sizeof f->match, "%s", value);
    } else if (IS("do")) {
        read_action(f, value);
    } else {
        refuse(word);
    }
#undef IS
}

static void read_faults(const char *text)
{
    char copy[2048];
    char *rest = copy, *one, *word;

    snprintf(copy, sizeof copy, "%s", text);
    while ((one = strsep(&rest, ";")) && n_faults < 16) {
        struct fault f = {.call = ANY, .nth = 1, .count = 1};
        bool here = meant("*");

        while ((word = strsep(&one, " \n"))) {
            if (*word)
                read_word(&f, word, &here);
        }
        if (here && f.what[0])
            faults[n_faults++] = f;
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("TUTTI_FAULT");

#define KNOW(kind, type, bad, name, ...) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
    PLAIN_CALLS(KNOW)
#undef KNOW
#define KNOW(kind, name, ...) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
    BYTE_CALLS(KNOW)
    VECTOR_CALLS(KNOW)
    KNOW(CLOSE, close)
    KNOW(LOCK, fcntl)
    KNOW(LOCK, fcntl64)
#ifdef FAULTS_URING
    *(void **)&real_submit = dlsym(RTLD_NEXT, "io_uring_submit");
    *(void **)&real_submit_and_wait = dlsym(RTLD_NEXT, "io_uring_submit_and_wait");
    *(void **)&real_register_files = dlsym(RTLD_NEXT, "io_uring_register_files");
#endif
    log_path = getenv("TUTTI_FAULT_LOG");
    know_rank();
    if (text)
        read_faults(text);
}
