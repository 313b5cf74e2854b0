/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "build_info.h"

/* Open MPI puts path, ".locktest." and the rank into so many bytes, and looks no further. */
#define LOCK_FILE_NAME 256
#define LOCK_FILE_ENDING ".locktest."

int tt_disk_check_name(const struct tt_file *file, struct tt_error *e)
{
    const char *path = file->spec->path;
    int most = LOCK_FILE_NAME - 1 - snprintf(NULL, 0, LOCK_FILE_ENDING "%d", file->size - 1);

    if (TT_OPEN_MPI && strlen(path) > (size_t)most)
        return tt_fail(e, TT_FAILED,
                       "MPI-IO of Open MPI takes paths of at most %d characters, and this one has "
                       "%zu; choose a shorter data directory or path, or --backend posix: '%s'",
                       most, strlen(path), path);
    if (!strchr(path, ':'))
        return TT_OK;
    return tt_fail(
        e, TT_FAILED,
        "'%s': libraries over MPI-IO may take what stands before ':' for the name of a "
        "file system; choose a data directory and a path without ':', or --backend posix",
        path);
}

/* Open MPI locks a semaphore of the whole node for every file it opens, named by the last part of
 * its path only. A job that was killed in an open has left it locked, and every later open of a
 * file of that name waits for ever. What is ours and nobody's any more is removed. */
static void remove_stale_lock(const char *path)
{
    const char *name = strrchr(path, '/');
    char lock[PATH_MAX];
    struct stat st;

    snprintf(lock, sizeof lock, "/dev/shm/sem.OMPIO_%s", name ? name + 1 : path);
    if (lstat(lock, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        !tt_sys_is_mapped(lock))
        unlink(lock);
}

void tt_disk_keep_made(struct tt_file *file, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0)
        file->made = (struct tt_file_identity){st.st_dev, st.st_ino};
}

void tt_disk_share_made(struct tt_file *file)
{
    if (file->size > 1)
        MPI_Bcast(&file->made, (int)sizeof file->made, MPI_BYTE, 0, file->spec->comm);
}

int tt_disk_check_made(const struct tt_file *file, int fd, struct tt_error *e)
{
    const char *path = file->spec->path;
    struct stat st;

    if (file->made.inode == 0)
        return TT_OK;
    if ((fd < 0 ? lstat(path, &st) : fstat(fd, &st)) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    /* Nodes may number the same device differently. */
    return st.st_ino == file->made.inode
               ? TT_OK
               : tt_fail(e, TT_FAILED, "'%s' was replaced by another file while it was opened",
                         path);
}

void tt_disk_unmake(const struct tt_file *file)
{
    struct stat st;

    if (file->rank == 0 && file->made.inode && lstat(file->spec->path, &st) == 0 &&
        st.st_ino == file->made.inode && st.st_dev == file->made.device)
        unlink(file->spec->path);
}

/* A library needs more than one descriptor for a file. */
static int open_here(struct tt_file *file, int flags, struct tt_error *e)
{
    const char *path = file->spec->path;
    int64_t t = tt_now_ns();
    int fds[4] = {open(path, flags | O_CLOEXEC, 0666), -1, -1, -1}, rc = TT_OK;

    if (flags & O_CREAT)
        file->made_ns = tt_now_ns() - t;
    for (int i = 0; i < 4 && rc == TT_OK; i++) {
        if (i > 0)
            fds[i] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
        if (fds[i] < 0)
            rc = tt_fail_call(e, errno, "open", path, -1);
    }
    if (file->spec->access == TT_CREATE && file->rank == 0 && fds[0] >= 0)
        tt_disk_keep_made(file, fds[0]);
    else if (rc == TT_OK)
        rc = tt_disk_check_made(file, fds[0], e);
    for (int i = 0; i < 4; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

int tt_disk_open_first(struct tt_file *file, bool is_made, struct tt_error *e)
{
    bool create = file->spec->access == TT_CREATE;
    int rc = tt_disk_check_name(file, e);

    if (rc == TT_OK && create && file->rank == 0)
        rc = open_here(file, O_RDWR | O_NOFOLLOW | (is_made ? 0 : O_CREAT | O_EXCL), e);
    if (file->rank == 0)
        remove_stale_lock(file->spec->path);
    if (create && file->size > 1)
        rc = tt_file_agree(file, rc, e);
    if (create && rc == TT_OK)
        tt_disk_share_made(file);
    if (rc == TT_OK && (!create || file->rank != 0))
        rc = open_here(file,
                       create                               ? O_RDWR | O_NOFOLLOW
                       : file->spec->access == TT_READ_ONLY ? O_RDONLY
                                                            : O_RDWR,
                       e);
    rc = tt_file_agree(file, rc, e);
    if (rc != TT_OK)
        tt_disk_unmake(file);
    return rc;
}

static int check_empty(int fd, const char *path, struct tt_error *e)
{
    DIR *all = fdopendir(dup(fd));
    const struct dirent *x;
    bool empty = true;

    while (all && empty && (x = readdir(all)))
        empty = !strcmp(x->d_name, ".") || !strcmp(x->d_name, "..");
    if (!all)
        return tt_fail_call(e, errno, "opendir", path, -1);
    closedir(all);
    return empty ? TT_OK : tt_fail_call(e, EEXIST, "open", path, -1);
}

int tt_disk_open_bundle(struct tt_file *file, struct tt_error *e)
{
    bool create = file->spec->access == TT_CREATE;
    const char *path = file->spec->path;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (create ? O_NOFOLLOW : 0));
    int rc = fd < 0 ? tt_fail_call(e, errno, "open", path, -1) : TT_OK;

    if (rc == TT_OK && create && file->rank == 0) {
        tt_disk_keep_made(file, fd);
        rc = check_empty(fd, path, e);
    }
    rc = tt_file_agree(file, rc, e);
    if (create && rc == TT_OK) {
        tt_disk_share_made(file);
        rc = tt_file_agree(file, tt_disk_check_made(file, fd, e), e);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

uint64_t tt_disk_free(const char *path)
{
    struct statvfs fs;

    if (statvfs(path, &fs) != 0 || fs.f_blocks == 0)
        return UINT64_MAX;
    return (uint64_t)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * fs.f_frsize;
}

int tt_disk_check_full(const char *path, struct tt_error *e)
{
    struct stat s;

    if (stat(path, &s) == 0 && s.st_blocks * 512 < s.st_size && tt_disk_free(path) == 0)
        return tt_fail_call(e, ENOSPC, "write", path, -1);
    return TT_OK;
}

int tt_disk_check_complete(const char *path, uint64_t end, struct tt_error *e)
{
    struct stat st;

    if (end == 0)
        return TT_OK;
    if (stat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    if (tt_disk_check_full(path, e) != TT_OK)
        return e->code;
    if ((uint64_t)st.st_size >= end)
        return TT_OK;
    if (tt_disk_free(path) == 0)
        return tt_fail_call(e, ENOSPC, "write", path, -1);
    return tt_fail(e, TT_CORRUPT, "'%s' has %lld bytes, but %llu were written to it", path,
                   (long long)st.st_size, (unsigned long long)end);
}

int tt_disk_sync(const char *path, struct tt_error *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc = TT_OK;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", path, -1);
    if (fsync(fd) != 0)
        rc = tt_fail_call(e, errno, "fsync", path, -1);
    close(fd);
    return rc;
}

void tt_disk_divert(const char *path)
{
    DIR *fds = opendir("/proc/self/fd");
    int nowhere = memfd_create("tutti", MFD_CLOEXEC);
    struct stat file, other;
    struct dirent *entry;

    while (fds && nowhere >= 0 && stat(path, &file) == 0 && (entry = readdir(fds))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);

        if (entry->d_name[0] != '.' && fstat(fd, &other) == 0 && other.st_dev == file.st_dev &&
            other.st_ino == file.st_ino && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
            dup3(nowhere, fd, O_CLOEXEC);
    }
    if (nowhere >= 0)
        close(nowhere);
    if (fds)
        closedir(fds);
}
