/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One-shot and per thread: armed by the fault layer just before it passes a request on. */
static _Thread_local enum { NOTHING, INTERRUPT, SHORTEN } armed;

void tt_sys_arm_eintr(void)
{
    armed = INTERRUPT;
}

void tt_sys_arm_short(void)
{
    armed = SHORTEN;
}

void tt_sys_disarm(void)
{
    armed = NOTHING;
}

typedef ssize_t vector_call(int, const struct iovec *, int, off_t);

static ssize_t misbehave(vector_call *call, int fd, const struct iovec *iov, off_t offset)
{
    struct iovec half = iov[0];
    int what = armed;

    armed = NOTHING;
    if (what == INTERRUPT) {
        errno = EINTR;
        return -1;
    }
    half.iov_len = (half.iov_len + 1) / 2;
    return call(fd, &half, 1, offset);
}

ssize_t tt_sys_pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
    return armed ? misbehave(pwritev, fd, iov, offset) : pwritev(fd, iov, n, offset);
}

ssize_t tt_sys_preadv(int fd, const struct iovec *iov, int n, off_t offset)
{
    return armed ? misbehave(preadv, fd, iov, offset) : preadv(fd, iov, n, offset);
}

ssize_t tt_sys_read_at(int fd, void *to, size_t n, off_t offset)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)to + done, n - done, offset + (off_t)done);

        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return -1;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

int tt_sys_write_at(int fd, const void *from, size_t n, off_t offset)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(fd, (const char *)from + done, n - done, offset + (off_t)done);

        if (put == 0)
            return ENOSPC;
        if (put < 0 && errno != EINTR)
            return errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static bool maps(const char *pid, const char *file)
{
    char path[300], *line = NULL;
    bool found = false;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    f = fopen(path, "re");
    while (f && !found && getline(&line, &room, f) > 0)
        found = strstr(line, file) != NULL;
    free(line);
    if (f)
        fclose(f);
    return found;
}

bool tt_sys_is_mapped(const char *file)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    bool found = !processes;

    while (processes && !found && (entry = readdir(processes)))
        found = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && maps(entry->d_name, file);
    if (processes)
        closedir(processes);
    return found;
}

int tt_sys_move(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EINVAL || errno == ENOSYS ? rename(from, to) : -1;
}

int tt_sys_sync_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int why = fd >= 0 && fsync(fd) == 0 ? 0 : errno;

    if (fd >= 0)
        close(fd);
    free(directory);
    return why == EINVAL ? 0 : why; /* a file system that cannot sync a directory */
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

void tt_sys_remove_private(const char *directory)
{
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
