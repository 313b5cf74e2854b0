/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors: one line from HDF5's stack of them, which names everything but the reason at its top,
 * what the layers below HDF5 hide, and how to get rid of a file that cannot be written. */
#include "io/backends/hdf5/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { METADATA_RESERVE = 64 << 10 };

struct reason {
    char text[256];
    int sys_errno;
};

static const struct {
    const char *word;
    int sys_errno;
} mpi_words[] = {
    {"MPI_ERR_NO_SPACE", ENOSPC},    {"MPI_ERR_QUOTA", EDQUOT},        {"MPI_ERR_ACCESS", EACCES},
    {"MPI_ERR_READ_ONLY", EROFS},    {"MPI_ERR_NO_SUCH_FILE", ENOENT}, {"MPI_ERR_NO_MEM", ENOMEM},
    {"MPI_ERR_FILE_EXISTS", EEXIST},
};

static int errno_in(const char *text)
{
    const char *at = strstr(text, "errno = ");

    if (at)
        return (int)strtol(at + strlen("errno = "), NULL, 10);
    for (size_t i = 0; i < sizeof mpi_words / sizeof *mpi_words; i++)
        if (strstr(text, mpi_words[i].word))
            return mpi_words[i].sys_errno;
    return 0;
}

/* The walk begins at the innermost message. */
static herr_t look_at(unsigned n, const H5E_error2_t *entry, void *data)
{
    struct reason *r = data;
    const char *text = entry->desc ? entry->desc : "";

    (void)n;
    if (!r->text[0])
        snprintf(r->text, sizeof r->text, "%s", text);
    if (!r->sys_errno)
        r->sys_errno = errno_in(text);
    return 0;
}

static uint64_t free_bytes(const char *path)
{
    struct statvfs fs;

    if (statvfs(path, &fs) != 0)
        return UINT64_MAX;
    return (uint64_t)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * fs.f_frsize;
}

int tt_hdf5_check_full(const struct tt_file *file, struct tt_error *e)
{
    const char *path = file->spec->path;
    struct stat s;

    if (stat(path, &s) == 0 && s.st_blocks * 512 < s.st_size && free_bytes(path) == 0)
        return tt_fail_call(e, ENOSPC, "write", path, -1);
    return TT_OK;
}

int tt_hdf5_check_space(const struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_state *s = file->state;
    size_t most = 0, clean = 0, held = 0;
    int entries = 0;

    H5Fget_mdc_size(s->file, &most, &clean, &held, &entries);
    if (free_bytes(file->spec->path) < held + METADATA_RESERVE)
        return tt_fail_call(e, ENOSPC, "H5Fflush", file->spec->path, -1);
    return TT_OK;
}

void tt_hdf5_divert(const char *path)
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

int tt_hdf5_fail(const struct tt_file *file, const char *call, const char *variable,
                 struct tt_error *e)
{
    struct reason r = {"", 0};
    int code;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at, &r);
    H5Eclear2(H5E_DEFAULT);
    for (char *c = r.text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    /* Open MPI says at best that a write failed. */
    if (!r.sys_errno && file->spec->access != TT_READ_ONLY && free_bytes(file->spec->path) == 0)
        r.sys_errno = ENOSPC;
    if (e->code != TT_OK)
        return e->code;
    code = tt_fail_call(e, r.sys_errno, call, file->spec->path, -1);
    snprintf(e->text, sizeof e->text, "%s%s%s%s", variable ? "variable '" : "",
             variable ? variable : "", variable ? "': " : "",
             r.text[0] ? r.text : "HDF5 gives no reason");
    return code;
}
