/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw files through MPI-IO: variables lie where tt_raw_offset() says, so a file of one array is the
 * plain array.
 *
 * What is contiguous goes out by plain offsets. Otherwise a file view is needed, and setting one is
 * collective. The collective methods agree by one small reduction on views and on the number of
 * calls; the independent ones must not wait for each other, so each rank has a second handle on
 * MPI_COMM_SELF for its views.
 *
 * Libraries lose errors here: ompio reports success after a short write, its MPI_Wait crashes on a
 * failed request, and its nonblocking read behind the end of a file never ends. So counts, errno
 * and file size are checked, requests are tested and freed instead of waited for, and nothing is
 * read behind the end.
 *
 * Left out: nonblocking collective calls (they aggregate nothing in ompio and crash in romio; the
 * engine's helper thread with write_at_all is better) and shared file pointers. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/backends/mpiio/parts.h"
#include "io/disk.h"

static const char *const methods[] = {"independent", "collective", "split", "nonblocking", NULL};

/* Open MPI's nonblocking file calls crash when another thread makes MPI progress meanwhile, so in a
 * helper their blocking siblings do the work; the helper is what overlaps then. */
enum mpiio_method tt_mpiio_method(const struct tt_file *file)
{
    enum mpiio_method method = (enum mpiio_method)((const struct mpiio_opts *)file->opts)->method;

    if (file->spec->in_helper && method == NONBLOCKING)
        return INDEPENDENT;
    if (file->spec->in_helper && method == SPLIT)
        return COLLECTIVE;
    return method;
}

bool tt_mpiio_is_collective(const struct tt_file *file)
{
    return tt_mpiio_method(file) == COLLECTIVE || tt_mpiio_method(file) == SPLIT;
}

/* ---- opening ---- */

int tt_mpiio_open_handle(struct tt_file *file, MPI_Comm comm, MPI_File *handle, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int mode = file->spec->access == TT_READ_ONLY ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
    int rc = MPI_File_open(comm, file->spec->path, mode, s->info, handle);

    if (rc == MPI_SUCCESS) {
        MPI_File_set_errhandler(*handle, MPI_ERRORS_RETURN);
        return TT_OK;
    }
    *handle = MPI_FILE_NULL;
    return tt_mpiio_fail(file, rc, 0, "MPI_File_open", -1, e);
}

/* Libraries spread a file over servers when they make it, and only then. Rank 0. */
static int make_alone(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    MPI_File alone;
    int rc = tt_disk_check_name(file, e);

    if (rc != TT_OK || file->rank != 0)
        return rc;
    errno = 0;
    rc = MPI_File_open(MPI_COMM_SELF, file->spec->path,
                       MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, s->info, &alone);
    if (rc != MPI_SUCCESS)
        return tt_mpiio_fail(file, rc, errno, "MPI_File_open", -1, e);
    MPI_File_close(&alone);
    return TT_OK;
}

/* Closing is collective: where a handle could not be opened by all, it stays open at the others. */
/* Nothing is left of a file that could not be opened. */
static int given_up(struct tt_file *file, int rc)
{
    struct mpiio_state *s = file->state;

    if (rc != TT_OK && s->info != MPI_INFO_NULL)
        MPI_Info_free(&s->info);
    if (rc != TT_OK)
        tt_disk_unmake(file);
    return rc;
}

static int mpiio_prepare(struct tt_file *file, struct tt_error *e)
{
    const struct mpiio_opts *o = file->opts;
    struct mpiio_state *s = file->state;
    bool makes = file->spec->access == TT_CREATE &&
                 (o->hints.striping_factor || o->hints.striping_unit || o->hints.others.n);
    int rc;

    s->own = MPI_FILE_NULL;
    s->info = MPI_INFO_NULL;
    s->proof.process = tt_mpiio_method(file) == SPLIT || tt_mpiio_method(file) == NONBLOCKING;
    rc = tt_fail_mpi(e, tt_mpi_hints_info(&o->hints, &s->info), "MPI_Info_set", NULL);
    if (rc == TT_OK && makes)
        rc = make_alone(file, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_disk_open_first(file, makes, e);
    return given_up(file, rc);
}

static int mpiio_open(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc = tt_mpiio_open_handle(file, file->spec->comm, &s->shared, e);

    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_disk_check_made(file, -1, e), e);
    return given_up(file, rc);
}

/* ---- the end ---- */

static int sync_handle(struct tt_file *file, MPI_File handle, struct tt_error *e)
{
    int rc;

    errno = 0;
    rc = MPI_File_sync(handle);
    return rc == MPI_SUCCESS ? TT_OK : tt_mpiio_fail(file, rc, errno, "MPI_File_sync", -1, e);
}

static int sync_together(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int failed = s->failed, rc = TT_OK, result;

    tt_file_max(file, 1, &failed);
    if (failed)
        return TT_OK; /* the rank that failed has said so */
    if (s->own != MPI_FILE_NULL)
        rc = sync_handle(file, s->own, e);
    result = sync_handle(file, s->shared, e);
    return rc == TT_OK ? result : rc;
}

static int mpiio_sync(struct tt_file *file, struct tt_error *e)
{
    const struct mpiio_state *s = file->state;
    int rc;

    if (file->spec->access == TT_READ_ONLY)
        return TT_OK;
    tt_mpiio_land_all(file);
    /* ompio's MPI_File_sync refuses while any nonblocking request of this process is pending, also
     * on another file, and ranks that are refused leave the others in a barrier. */
    if (tt_mpiio_method(file) == SPLIT || tt_mpiio_method(file) == NONBLOCKING)
        rc = tt_disk_sync(file->spec->path, e);
    else
        rc = sync_together(file, e);
    return rc == TT_OK ? tt_disk_check_complete(file->spec->path, s->end, e) : rc;
}

static int mpiio_close(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc, mpi;

    tt_mpiio_land_all(file);
    rc = tt_disk_check_complete(file->spec->path, s->end, e);
    tt_shape_cache_free(&s->shapes);
    mpi = s->own == MPI_FILE_NULL ? MPI_SUCCESS : MPI_File_close(&s->own);
    if (mpi != MPI_SUCCESS)
        rc = tt_mpiio_fail(file, mpi, errno, "MPI_File_close", -1, e);
    mpi = MPI_File_close(&s->shared);
    if (mpi != MPI_SUCCESS)
        rc = tt_mpiio_fail(file, mpi, errno, "MPI_File_close", -1, e);
    if (s->info != MPI_INFO_NULL)
        MPI_Info_free(&s->info);
    return rc;
}

static int mpiio_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct mpiio_opts *o = file->opts;
    struct mpiio_state *s = file->state;
    MPI_Info info;
    int rc;

    if (MPI_File_get_info(s->shared, &info) != MPI_SUCCESS)
        info = MPI_INFO_NULL;
    rc = tt_mpi_hints_query(file, info, &o->hints, &s->proof, tt_mpiio_is_collective(file), facts,
                            e);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return rc;
}

static bool mpiio_is_collective(const void *opts)
{
    int method = ((const struct mpiio_opts *)opts)->method;

    return method == COLLECTIVE || method == SPLIT;
}

/* A file has at most one split collective call under way. */
static unsigned mpiio_most_submitted(const void *opts)
{
    int method = ((const struct mpiio_opts *)opts)->method;

    return method == NONBLOCKING ? UINT_MAX : method == SPLIT;
}

static int mpiio_check(const void *opts, struct tt_error *e)
{
    return tt_mpi_hints_check(&((const struct mpiio_opts *)opts)->hints, "mpiio", e);
}

#define AT(field) offsetof(struct mpiio_opts, field)
static const struct tt_param params[] = {
    {"method", TT_PARAM_CHOICE, AT(method), "collective", NULL,
     "write_at, write_at_all, write_at_all_begin and _end, or iwrite_at", .choices = methods},
    TT_MPI_HINT_PARAMS(struct mpiio_opts),
    {NULL}};

const struct tt_backend tt_backend_mpiio = {
    .name = "mpiio",
    .summary = "raw files through MPI-IO: independent, collective, split or nonblocking",
    .caps = TT_CAP_STORES | TT_CAP_RAW | TT_CAP_CARRIES_LAYOUT | TT_CAP_NONBLOCKING |
            TT_CAP_UPDATES | TT_CAP_BESIDE,
    .library = "mpi",
    .state_size = sizeof(struct mpiio_state),
    .ticket_size = sizeof(struct mpiio_ticket),
    .opts_size = sizeof(struct mpiio_opts),
    .params = params,
    .check = mpiio_check,
    .most_submitted = mpiio_most_submitted,
    .is_collective = mpiio_is_collective,
    .prepare = mpiio_prepare,
    .open = mpiio_open,
    .write = tt_mpiio_write,
    .read = tt_mpiio_read,
    .submit = tt_mpiio_submit,
    .wait = tt_mpiio_wait,
    .sync = mpiio_sync,
    .close = mpiio_close,
    .query = mpiio_query,
};
