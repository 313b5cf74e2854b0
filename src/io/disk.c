/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int tt_disk_check_name(const char *path, struct tt_error *e)
{
    if (!strchr(path, ':'))
        return TT_OK;
    return tt_fail(e, TT_FAILED,
                   "'%s': libraries over MPI-IO may take what stands before ':' for the name of a "
                   "file system; choose a data folder and a path without ':', or --backend posix",
                   path);
}

int tt_disk_touch(const struct tt_file *file, struct tt_error *e)
{
    const char *path = file->spec->path;
    bool create = file->spec->access == TT_CREATE, update = file->spec->access == TT_UPDATE;
    int fd;

    if (tt_disk_check_name(path, e) != TT_OK)
        return e->code;
    if (create && file->rank != 0)
        return TT_OK;
    fd = create ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                : open(path, (update ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return tt_fail_call(e, errno, "open", path, -1);
    close(fd);
    return TT_OK;
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
