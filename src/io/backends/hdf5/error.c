/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors: one line from HDF5's stack of them, which names everything but the reason at its top,
 * and what the layers below HDF5 hide. */
#include "io/backends/hdf5/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int tt_hdf5_fail(const struct tt_file *file, const char *call, const char *variable,
                 struct tt_error *e)
{
    int rc = tt_hdf5_fail_of(file, H5E_DEFAULT, call, variable, e);

    H5Eclear2(H5E_DEFAULT);
    return rc;
}

int tt_hdf5_fail_of(const struct tt_file *file, hid_t stack, const char *call, const char *variable,
                    struct tt_error *e)
{
    struct reason r = {"", 0};

    H5Ewalk2(stack, H5E_WALK_UPWARD, look_at, &r);
    for (char *c = r.text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return tt_container_fail(file, r.sys_errno, call, variable,
                             r.text[0] ? r.text : "HDF5 gives no reason", e);
}
