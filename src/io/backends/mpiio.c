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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/file.h"
#include "io/backends/mpiio/hints.h"
#include "io/backends/mpiio/shape.h"

enum method { INDEPENDENT, COLLECTIVE, SPLIT, NONBLOCKING };
static const char *const methods[] = {"independent", "collective", "split", "nonblocking", NULL};

struct mpiio_opts {
    int method;
    struct tt_mpi_hints hints;
};

/* The view of a handle: a piece of a shape, at a place in the file; serial 0 is the plain file. */
struct view {
    uint64_t serial, piece, place;
};

/* A transfer that was started and has not been completed. */
struct flight {
    struct flight *next;
    MPI_File handle;
    MPI_Request request; /* MPI_REQUEST_NULL: a split collective call */
    enum tt_direction direction;
    void *data;
    uint64_t bytes, offset;
    struct mpiio_ticket *ticket;
};

struct mpiio_ticket {
    struct flight *flights; /* one per piece */
    int rc;
    struct tt_error error;
};

struct mpiio_state {
    MPI_File shared, own; /* own: on MPI_COMM_SELF, opened when first needed */
    MPI_Info info;
    struct view shared_view, own_view;
    struct flight *flying; /* oldest first */
    struct tt_shape_cache shapes;
    struct tt_mpi_proof proof;
    uint64_t end; /* behind everything this rank has written */
    bool failed;  /* a write of this rank: its library may not be in step with the others' */
};

static const char *const call_names[2][4] = {
    {"MPI_File_write_at", "MPI_File_write_at_all", "MPI_File_write_all_end", "MPI_File_iwrite_at"},
    {"MPI_File_read_at", "MPI_File_read_at_all", "MPI_File_read_all_end", "MPI_File_iread_at"},
};

/* Open MPI's nonblocking file calls crash when another thread makes MPI progress meanwhile, so in a
 * helper their blocking siblings do the work; the helper is what overlaps then. */
static enum method method_of(const struct tt_file *file)
{
    enum method method = (enum method)((const struct mpiio_opts *)file->opts)->method;

    if (file->spec->in_helper && method == NONBLOCKING)
        return INDEPENDENT;
    if (file->spec->in_helper && method == SPLIT)
        return COLLECTIVE;
    return method;
}

static bool is_collective(const struct tt_file *file)
{
    return method_of(file) == COLLECTIVE || method_of(file) == SPLIT;
}

static const char *call_name(const struct tt_file *file, enum tt_direction direction)
{
    return call_names[direction == TT_READING][method_of(file)];
}

/* ---- errors ---- */

static bool is_full(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && fs.f_blocks > 0 && fs.f_bavail == 0;
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
    return is_full(file->spec->path) ? ENOSPC : 0;
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
static int fail_io(const struct tt_file *file, int mpi_code, int left, const char *call,
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
        return fail_io(file, mpi_code, left, call_name(file, direction), (long long)offset, e);
    MPI_Get_elements_x(status, MPI_BYTE, &moved);
    if (bytes > 0 && moved != (MPI_Count)bytes)
        return fail_short(file, direction, left, (long long)moved, bytes, offset, e);
    if (direction == TT_WRITING && is_write_errno(left))
        return tt_fail_call(e, left, call_name(file, direction), file->spec->path,
                            (long long)offset);
    return TT_OK;
}

/* What became of a call. */
static int check_result(struct tt_file *file, enum tt_direction direction, int mpi_code, int left,
                        const MPI_Status *status, uint64_t bytes, uint64_t offset,
                        struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc = judge_result(file, direction, mpi_code, left, status, bytes, offset, e);

    s->failed = s->failed || (rc != TT_OK && direction == TT_WRITING);
    return rc;
}

/* ---- opening ---- */

static int access_mode(const struct tt_file *file, bool first)
{
    if (file->spec->access == TT_READ_ONLY)
        return MPI_MODE_RDONLY;
    return first ? MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL : MPI_MODE_RDWR;
}

static int open_handle(struct tt_file *file, MPI_Comm comm, bool first, MPI_File *handle,
                       struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc = MPI_File_open(comm, file->spec->path, access_mode(file, first), s->info, handle);

    if (rc == MPI_SUCCESS) {
        MPI_File_set_errhandler(*handle, MPI_ERRORS_RETURN);
        return TT_OK;
    }
    *handle = MPI_FILE_NULL;
    return fail_io(file, rc, 0, "MPI_File_open", -1, e);
}

/* Closing is collective: where a handle could not be opened by all, it stays open at the others. */
static int mpiio_open(struct tt_file *file, struct tt_error *e)
{
    const struct mpiio_opts *o = file->opts;
    struct mpiio_state *s = file->state;
    int rc;

    s->own = MPI_FILE_NULL;
    s->info = MPI_INFO_NULL;
    s->proof.process = method_of(file) == SPLIT || method_of(file) == NONBLOCKING;
    rc = tt_fail_mpi(e, tt_mpi_hints_info(&o->hints, &s->info), "MPI_Info_set", NULL);
    rc = tt_agree(file->spec->comm, rc, e);
    if (rc == TT_OK)
        rc =
            tt_agree(file->spec->comm, open_handle(file, file->spec->comm, true, &s->shared, e), e);
    if (rc != TT_OK && s->info != MPI_INFO_NULL)
        MPI_Info_free(&s->info);
    return rc;
}

static int mpiio_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    (void)file, (void)step, (void)e;
    return TT_OK;
}

/* ---- completing what was started ---- */

/* Not by MPI_Wait, in which ompio crashes if the request has failed. A failed request shows by its
 * count, since the status here carries no error, and is not freed: system calls of it may still be
 * under way. */
static int complete_request(MPI_Request *request, MPI_Status *status, uint64_t bytes)
{
    MPI_Count moved = 0;
    int done = 0, rc;

    do
        rc = MPI_Request_get_status(*request, &done, status);
    while (rc == MPI_SUCCESS && !done);
    if (rc == MPI_SUCCESS)
        rc = MPI_Get_elements_x(status, MPI_BYTE, &moved);
    return rc == MPI_SUCCESS && moved == (MPI_Count)bytes ? MPI_Request_free(request) : rc;
}

/* Complete the oldest flight; its ticket keeps what became of it. */
static void land(struct tt_file *file)
{
    struct mpiio_state *s = file->state;
    struct flight *f = s->flying;
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    int rc, result;

    s->flying = f->next;
    errno = 0;
    if (f->request != MPI_REQUEST_NULL)
        rc = complete_request(&f->request, &status, f->bytes);
    else if (f->direction == TT_WRITING)
        rc = MPI_File_write_at_all_end(f->handle, f->data, &status);
    else
        rc = MPI_File_read_at_all_end(f->handle, f->data, &status);
    result = check_result(file, f->direction, rc, errno, &status, f->bytes, f->offset,
                          &f->ticket->error);
    if (f->ticket->rc == TT_OK)
        f->ticket->rc = result;
}

static void land_all(struct tt_file *file)
{
    struct mpiio_state *s = file->state;

    while (s->flying)
        land(file);
}

static void take_off(struct tt_file *file, struct flight *f)
{
    struct mpiio_state *s = file->state;
    struct flight **last = &s->flying;

    while (*last)
        last = &(*last)->next;
    f->next = NULL;
    *last = f;
}

/* ---- transfers ---- */

/* Everything about one call. */
struct call {
    enum tt_direction direction;
    MPI_File handle;
    MPI_Offset offset; /* for the library: in the view */
    uint64_t place;    /* for messages: in the file */
    void *data;
    int count;
    MPI_Datatype type;
    uint64_t bytes;
};

static int set_view(struct tt_file *file, MPI_File handle, struct view *now, struct view wanted,
                    MPI_Datatype type, struct tt_error *e)
{
    MPI_Datatype filetype = wanted.serial ? type : MPI_BYTE;
    int rc;

    land_all(file); /* MPI forbids to change a view under pending transfers */
    rc = MPI_File_set_view(handle, (MPI_Offset)wanted.place, MPI_BYTE, filetype, "native",
                           MPI_INFO_NULL);
    if (rc != MPI_SUCCESS)
        return fail_io(file, rc, 0, "MPI_File_set_view", -1, e);
    *now = wanted;
    return TT_OK;
}

static int call_blocking(const struct tt_file *file, struct call *c, MPI_Status *status)
{
    bool writing = c->direction == TT_WRITING;
    MPI_Request request;
    int rc;

    switch (method_of(file)) {
    case INDEPENDENT:
        return writing ? MPI_File_write_at(c->handle, c->offset, c->data, c->count, c->type, status)
                       : MPI_File_read_at(c->handle, c->offset, c->data, c->count, c->type, status);
    case COLLECTIVE:
        return writing
                   ? MPI_File_write_at_all(c->handle, c->offset, c->data, c->count, c->type, status)
                   : MPI_File_read_at_all(c->handle, c->offset, c->data, c->count, c->type, status);
    case SPLIT:
        rc = writing ? MPI_File_write_at_all_begin(c->handle, c->offset, c->data, c->count, c->type)
                     : MPI_File_read_at_all_begin(c->handle, c->offset, c->data, c->count, c->type);
        if (rc != MPI_SUCCESS)
            return rc;
        return writing ? MPI_File_write_at_all_end(c->handle, c->data, status)
                       : MPI_File_read_at_all_end(c->handle, c->data, status);
    case NONBLOCKING:
        rc = writing
                 ? MPI_File_iwrite_at(c->handle, c->offset, c->data, c->count, c->type, &request)
                 : MPI_File_iread_at(c->handle, c->offset, c->data, c->count, c->type, &request);
        return rc == MPI_SUCCESS ? complete_request(&request, status, c->bytes) : rc;
    }
    return MPI_ERR_OTHER;
}

static int run_blocking(struct tt_file *file, struct call *c, struct tt_error *e)
{
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    int rc;

    if (method_of(file) == SPLIT)
        land_all(file); /* one split call at a time on a handle */
    errno = 0;
    rc = call_blocking(file, c, &status);
    return check_result(file, c->direction, rc, errno, &status, c->bytes, c->place, e);
}

static int start(struct tt_file *file, struct call *c, struct flight *f, struct tt_error *e)
{
    bool writing = c->direction == TT_WRITING;
    int rc;

    f->handle = c->handle;
    f->request = MPI_REQUEST_NULL;
    f->direction = c->direction;
    f->data = c->data;
    f->bytes = c->bytes;
    f->offset = c->place;
    errno = 0;
    if (method_of(file) == NONBLOCKING)
        rc = writing
                 ? MPI_File_iwrite_at(c->handle, c->offset, c->data, c->count, c->type, &f->request)
                 : MPI_File_iread_at(c->handle, c->offset, c->data, c->count, c->type, &f->request);
    else {
        land_all(file);
        rc = writing ? MPI_File_write_at_all_begin(c->handle, c->offset, c->data, c->count, c->type)
                     : MPI_File_read_at_all_begin(c->handle, c->offset, c->data, c->count, c->type);
    }
    if (rc != MPI_SUCCESS)
        return fail_io(file, rc, errno, call_name(file, c->direction), (long long)c->place, e);
    take_off(file, f);
    return TT_OK;
}

static struct view view_of(const struct tt_shape *shape, uint64_t piece, uint64_t base)
{
    if (!shape || piece >= shape->npieces || shape->pieces[piece].file == MPI_DATATYPE_NULL)
        return (struct view){0};
    return (struct view){shape->serial, piece, base + shape->pieces[piece].file_offset};
}

static bool views_differ(struct view a, struct view b)
{
    return a.serial != b.serial || a.piece != b.piece || a.place != b.place;
}

/* What all ranks must do alike in the collective methods. */
struct agreement {
    int pieces; /* number of calls */
    int change; /* somebody's view has to be set */
    int failed; /* somebody's write has */
};

static struct agreement agree_on(struct tt_file *file, const struct tt_shape *shape, uint64_t base)
{
    struct mpiio_state *s = file->state;
    struct agreement a;

    a.pieces = shape ? (int)shape->npieces : 0;
    a.change = a.pieces > 1 || views_differ(view_of(shape, 0, base), s->shared_view);
    a.failed = s->failed;
    if (is_collective(file) && file->size > 1)
        MPI_Allreduce(MPI_IN_PLACE, &a, 3, MPI_INT, MPI_MAX, file->spec->comm);
    if (a.failed)
        a.pieces = 0; /* further calls might crash or never return */
    return a;
}

/* Choose the handle and set its view, together with all ranks if change is set. */
static int prepare_handle(struct tt_file *file, struct view wanted, MPI_Datatype type, bool change,
                          struct call *c, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc = TT_OK;

    c->handle = s->shared;
    if (is_collective(file))
        return change ? set_view(file, s->shared, &s->shared_view, wanted, type, e) : TT_OK;
    if (wanted.serial == 0)
        return TT_OK;
    if (s->own == MPI_FILE_NULL)
        rc = open_handle(file, MPI_COMM_SELF, false, &s->own, e);
    if (rc == TT_OK && views_differ(wanted, s->own_view))
        rc = set_view(file, s->own, &s->own_view, wanted, type, e);
    c->handle = s->own;
    return rc;
}

/* One call, with nothing if this rank has no such piece. It is made even if something failed
 * before: others may be waiting in it. */
static int move_piece(struct tt_file *file, enum tt_direction direction,
                      const struct tt_piece *piece, uint64_t base, struct view view, bool change,
                      char *data, struct flight *f, struct tt_error *e)
{
    struct call c = {.direction = direction, .type = MPI_BYTE};
    int rc = prepare_handle(file, view, piece ? piece->file : MPI_DATATYPE_NULL, change, &c, e);
    int result;

    if (rc != TT_OK && !is_collective(file))
        return rc;
    if (piece && rc == TT_OK) {
        c.place = base + piece->file_offset;
        c.offset = view.serial ? 0 : (MPI_Offset)c.place;
        c.data = data + piece->memory_offset;
        c.count = piece->memory == MPI_DATATYPE_NULL ? (int)piece->bytes : 1;
        c.type = piece->memory == MPI_DATATYPE_NULL ? MPI_BYTE : piece->memory;
        c.bytes = piece->bytes;
    }
    result = f ? start(file, &c, f, e) : run_blocking(file, &c, e);
    return rc != TT_OK ? rc : result;
}

/* Reading behind the end is caught here: not every library comes back from it. */
static int check_end(struct tt_file *file, uint64_t end, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    MPI_Offset size = 0;
    int rc = MPI_File_get_size(s->shared, &size);

    if (rc != MPI_SUCCESS)
        return fail_io(file, rc, 0, "MPI_File_get_size", -1, e);
    if ((uint64_t)size < end)
        return tt_fail(e, TT_FAILED, "'%s' ends at offset %lld, before the data asked for",
                       file->spec->path, (long long)size);
    return TT_OK;
}

static int move_pieces(struct tt_file *file, enum tt_direction direction,
                       const struct tt_shape *shape, uint64_t base, struct agreement a, char *data,
                       struct mpiio_ticket *ticket, struct tt_error *e)
{
    int rc = TT_OK;

    for (int i = 0; i < a.pieces; i++) {
        const struct tt_piece *piece =
            shape && (size_t)i < shape->npieces ? &shape->pieces[i] : NULL;
        struct flight *f = ticket ? &ticket->flights[i] : NULL;
        int result = move_piece(file, direction, piece, base, view_of(shape, (uint64_t)i, base),
                                a.change, data, f, e);

        if (rc == TT_OK)
            rc = result;
    }
    return rc;
}

/* With a ticket the transfer is only started; without memory for that it is done at once. */
static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct mpiio_ticket *ticket, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    uint64_t base = tt_raw_offset(file->spec, b->variable, step, 1);
    const struct tt_shape *shape;
    struct agreement a;
    int rc, result;

    rc = tt_shape_get(&s->shapes, b, file->spec->variables[b->variable].element->size, &shape, e);
    if (rc == TT_OK && direction == TT_READING && shape->npieces > 0)
        rc = check_end(file, base + shape->end, e);
    if (rc == TT_OK && s->failed)
        rc = tt_fail(e, TT_FAILED, "an earlier write to '%s' has failed", file->spec->path);
    if (rc != TT_OK)
        shape = NULL;
    a = agree_on(file, shape, base);
    if (ticket && a.pieces > 0) {
        ticket->flights = calloc((size_t)a.pieces, sizeof *ticket->flights);
        for (int i = 0; ticket->flights && i < a.pieces; i++)
            ticket->flights[i].ticket = ticket;
    }
    result = move_pieces(file, direction, shape, base, a, b->data,
                         ticket && ticket->flights ? ticket : NULL, e);
    if (rc == TT_OK)
        rc = result;
    if (rc == TT_OK && direction == TT_WRITING && shape->npieces > 0 && base + shape->end > s->end)
        s->end = base + shape->end;
    return rc;
}

static int mpiio_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    const struct tt_element *element = file->spec->variables[b->variable].element;
    struct mpiio_state *s = file->state;
    int rc;

    tt_mpi_proof_before(&s->proof);
    rc = transfer(file, TT_WRITING, step, b, NULL, e);
    tt_mpi_proof_after(&s->proof, tt_selection_count(&b->file) * element->size);
    return rc;
}

static int mpiio_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, NULL, e);
}

static int mpiio_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                        const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    struct mpiio_ticket *ticket = t->state;

    if (method_of(file) != NONBLOCKING && method_of(file) != SPLIT)
        return tt_fail(e, TT_UNSUPPORTED, "mpiio.method %s has no nonblocking transfers",
                       methods[method_of(file)]);
    ticket->flights = NULL;
    ticket->rc = TT_OK;
    tt_error_clear(&ticket->error);
    return transfer(file, direction, step, b, ticket, e);
}

static bool is_flying(const struct mpiio_state *s, const struct mpiio_ticket *ticket)
{
    for (const struct flight *f = s->flying; f; f = f->next)
        if (f->ticket == ticket)
            return true;
    return false;
}

static int mpiio_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    struct mpiio_ticket *ticket = t->state;

    while (is_flying(file->state, ticket))
        land(file);
    free(ticket->flights);
    ticket->flights = NULL;
    if (ticket->rc != TT_OK && e->code == TT_OK)
        *e = ticket->error;
    return ticket->rc;
}

/* ---- the end ---- */

/* A short write by an aggregator is reported to nobody: the file is too short, or its file system
 * has no room left. */
static int check_complete(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    MPI_Offset size = 0;
    int rc = MPI_File_get_size(s->shared, &size);

    if (rc != MPI_SUCCESS)
        return fail_io(file, rc, 0, "MPI_File_get_size", -1, e);
    if (s->end > 0 && is_full(file->spec->path))
        return tt_fail_call(e, ENOSPC, "MPI_File_write", file->spec->path, -1);
    if ((uint64_t)size < s->end)
        return tt_fail(e, TT_CORRUPT, "'%s' has %lld bytes, but %llu were written to it",
                       file->spec->path, (long long)size, (unsigned long long)s->end);
    return TT_OK;
}

/* What ompio's MPI_File_sync does, but without its refusal while any nonblocking request of this
 * process is pending, also on another file; ranks that are refused leave the others in a barrier.
 */
static int sync_descriptor(struct tt_file *file, struct tt_error *e)
{
    int fd = open(file->spec->path, O_WRONLY | O_CLOEXEC), rc = TT_OK;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", file->spec->path, -1);
    if (fsync(fd) != 0)
        rc = tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    close(fd);
    return rc;
}

static int sync_handle(struct tt_file *file, MPI_File handle, struct tt_error *e)
{
    int rc;

    errno = 0;
    rc = MPI_File_sync(handle);
    return rc == MPI_SUCCESS ? TT_OK : fail_io(file, rc, errno, "MPI_File_sync", -1, e);
}

static int sync_together(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int failed = s->failed, rc = TT_OK, result;

    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, file->spec->comm);
    if (failed)
        return TT_OK; /* the rank that failed has said so */
    if (s->own != MPI_FILE_NULL)
        rc = sync_handle(file, s->own, e);
    result = sync_handle(file, s->shared, e);
    return rc == TT_OK ? result : rc;
}

static int mpiio_sync(struct tt_file *file, struct tt_error *e)
{
    int rc;

    if (file->spec->access == TT_READ_ONLY)
        return TT_OK;
    land_all(file);
    if (method_of(file) == SPLIT || method_of(file) == NONBLOCKING)
        rc = sync_descriptor(file, e);
    else
        rc = sync_together(file, e);
    return rc == TT_OK ? check_complete(file, e) : rc;
}

static int mpiio_close(struct tt_file *file, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc, mpi;

    land_all(file);
    rc = check_complete(file, e);
    tt_shape_cache_free(&s->shapes);
    mpi = s->own == MPI_FILE_NULL ? MPI_SUCCESS : MPI_File_close(&s->own);
    if (mpi != MPI_SUCCESS)
        rc = fail_io(file, mpi, errno, "MPI_File_close", -1, e);
    mpi = MPI_File_close(&s->shared);
    if (mpi != MPI_SUCCESS)
        rc = fail_io(file, mpi, errno, "MPI_File_close", -1, e);
    if (s->info != MPI_INFO_NULL)
        MPI_Info_free(&s->info);
    return rc;
}

static int mpiio_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct mpiio_opts *o = file->opts;
    struct mpiio_state *s = file->state;

    return tt_mpi_hints_query(file, s->shared, &o->hints, &s->proof, is_collective(file), facts, e);
}

static int mpiio_check(const void *opts, struct tt_error *e)
{
    return tt_mpi_hints_check(&((const struct mpiio_opts *)opts)->hints, e);
}

#define AT(field) offsetof(struct mpiio_opts, field)
static const struct tt_param params[] = {
    {"method", TT_PARAM_CHOICE, AT(method), "collective", NULL,
     "write_at, write_at_all, write_at_all_begin and _end, or iwrite_at", .choices = methods},
    {"cb_nodes", TT_PARAM_COUNT, AT(hints.cb_nodes), "0", "ranks",
     "hint: ranks that write for the others in collective calls; 0: not given"},
    {"cb_buffer_size", TT_PARAM_BYTES, AT(hints.cb_buffer_size), "0", "B",
     "hint: buffer of such a rank; 0: not given"},
    {"striping_factor", TT_PARAM_COUNT, AT(hints.striping_factor), "0", "servers",
     "hint: storage servers a new file is spread over; 0: not given"},
    {"striping_unit", TT_PARAM_BYTES, AT(hints.striping_unit), "0", "B",
     "hint: bytes on one server before the next; 0: not given"},
    {"romio_cb_write", TT_PARAM_CHOICE, AT(hints.romio_cb_write), "default", NULL,
     "hint for romio: collective buffering of writes", .choices = tt_mpi_switches},
    {"romio_cb_read", TT_PARAM_CHOICE, AT(hints.romio_cb_read), "default", NULL,
     "hint for romio: collective buffering of reads", .choices = tt_mpi_switches},
    {"romio_ds_write", TT_PARAM_CHOICE, AT(hints.romio_ds_write), "default", NULL,
     "hint for romio: data sieving of writes", .choices = tt_mpi_switches},
    {"hints", TT_PARAM_WORDS, AT(hints.others), NULL, NULL, "other hints, each key=value"},
    {NULL}};

const struct tt_backend tt_backend_mpiio = {
    .name = "mpiio",
    .summary = "raw files through MPI-IO: independent, collective, split or nonblocking",
    .caps = TT_CAP_STORES | TT_CAP_CONTAINER | TT_CAP_NONBLOCKING,
    .library = "mpi",
    .state_size = sizeof(struct mpiio_state),
    .ticket_size = sizeof(struct mpiio_ticket),
    .opts_size = sizeof(struct mpiio_opts),
    .params = params,
    .check = mpiio_check,
    .open = mpiio_open,
    .define = mpiio_define,
    .write = mpiio_write,
    .read = mpiio_read,
    .submit = mpiio_submit,
    .wait = mpiio_wait,
    .sync = mpiio_sync,
    .close = mpiio_close,
    .query = mpiio_query,
};
