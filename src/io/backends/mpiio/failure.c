/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/backends/mpiio/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/disk.h"

static const char *call_name(const struct tt_file *file, enum tt_direction direction)
{
    static const char *const names[2][4] = {
        {"MPI_File_write_at", "MPI_File_write_at_all", "MPI_File_write_at_all_end",
         "MPI_File_iwrite_at"},
        {"MPI_File_read_at", "MPI_File_read_at_all", "MPI_File_read_at_all_end",
         "MPI_File_iread_at"},
    };

    return names[direction == TT_READING][tt_mpiio_method(file)];
}

static bool is_write_errno(int left)
{
    return left == ENOSPC || left == EDQUOT || left == EFBIG || left == EIO;
}

/* The cause of a failed or short write: left in errno by the library, or seen in the file system.
 */
static int write_errno(const struct tt_file *file, int left)
{
    if (is_write_errno(left))
        return left;
    return tt_disk_free(file->spec->path) == 0 ? ENOSPC : 0;
}

static int class_errno(int mpi_code)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(mpi_code, &class);
    switch (class) {
    case MPI_ERR_NO_SPACE:
        return ENOSPC;
    case MPI_ERR_NO_SUCH_FILE:
        return ENOENT;
    case MPI_ERR_ACCESS:
        return EACCES;
    case MPI_ERR_FILE_EXISTS:
        return EEXIST;
    case MPI_ERR_READ_ONLY:
        return EROFS;
    case MPI_ERR_QUOTA:
        return EDQUOT;
    default:
        return 0;
    }
}

/* left: errno after the call. */
int tt_mpiio_fail(const struct tt_file *file, int mpi_code, int left, const char *call,
                  long long offset, struct tt_error *e)
{
    int cause = class_errno(mpi_code);
    bool fresh = e->code == TT_OK;

    if (cause == 0)
        cause = write_errno(file, left);
    if (cause != 0)
        return tt_fail_call(e, cause, call, file->spec->path, offset);
    tt_fail_mpi(e, mpi_code, call, file->spec->path);
    if (fresh)
        e->offset = offset;
    return TT_FAILED;
}

static int fail_short(const struct tt_file *file, enum tt_direction direction, int left,
                      long long moved, uint64_t bytes, uint64_t offset, struct tt_error *e)
{
    int cause = direction == TT_WRITING ? write_errno(file, left) : 0;

    if (cause != 0)
        return tt_fail_call(e, cause, call_name(file, direction), file->spec->path,
                            (long long)offset);
    return tt_fail(e, TT_FAILED, "'%s': only %lld of %llu bytes at offset %llu were %s",
                   file->spec->path, moved, (unsigned long long)bytes, (unsigned long long)offset,
                   direction == TT_WRITING ? "written" : "read");
}

/* An aggregator may fail with other ranks' data: hence errno. */
static int judge_result(const struct tt_file *file, enum tt_direction direction, int mpi_code,
                        int left, const MPI_Status *status, uint64_t bytes, uint64_t offset,
                        struct tt_error *e)
{
    MPI_Count moved = 0;

    if (mpi_code != MPI_SUCCESS)
        return tt_mpiio_fail(file, mpi_code, left, call_name(file, direction), (long long)offset,
                             e);
    MPI_Get_elements_x(status, MPI_BYTE, &moved);
    if (bytes > 0 && moved != (MPI_Count)bytes)
        return fail_short(file, direction, left, (long long)moved, bytes, offset, e);
    if (direction == TT_WRITING && is_write_errno(left))
        return tt_fail_call(e, left, call_name(file, direction), file->spec->path,
                            (long long)offset);
    return TT_OK;
}

/* A write that failed in romio keeps its lock on the file, and the other ranks wait for it. Locks
 * of this kind end when any descriptor of the file is closed. */
static void free_locks(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
}

/* What became of a call. */
int tt_mpiio_check_result(struct tt_file *file, enum tt_direction direction, int mpi_code, int left,
                          const MPI_Status *status, uint64_t bytes, uint64_t offset,
                          struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc = judge_result(file, direction, mpi_code, left, status, bytes, offset, e);

    if (rc != TT_OK && direction == TT_WRITING) {
        s->failed = true;
        free_locks(file->spec->path);
    }
    return rc;
}

/* Reading behind the end is caught here: not every library comes back from it. Asked only for what
 * was not there before: the call costs as much as a small read. */
int tt_mpiio_check_end(const struct tt_file *file, uint64_t end, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    MPI_Offset size = 0;
    int rc;

    if (end <= s->size)
        return TT_OK;
    rc = MPI_File_get_size(s->shared, &size);
    if (rc == MPI_SUCCESS)
        s->size = (uint64_t)size;
    if (rc != MPI_SUCCESS)
        return tt_mpiio_fail(file, rc, 0, "MPI_File_get_size", -1, e);
    if ((uint64_t)size < end)
        return tt_fail(e, TT_FAILED, "'%s' ends at offset %lld, before the data asked for",
                       file->spec->path, (long long)size);
    return TT_OK;
}
