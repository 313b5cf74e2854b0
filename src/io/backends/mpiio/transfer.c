/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/backends/mpiio/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "build_info.h"

struct mpiio_request {
    struct mpiio_request *next;
    MPI_File handle;
    MPI_Request request; /* MPI_REQUEST_NULL: a split collective call */
    enum tt_direction direction;
    void *data;
    uint64_t bytes, offset;
    struct mpiio_ticket *ticket;
};

/* ---- completing what was started ---- */

/* Neither in MPI_Wait nor in MPI_Test does ompio survive a request that has failed. MPICH in turn
 * makes progress with files in these alone. Where the status carries no error, a failed request
 * shows by its count, and is not freed: system calls of it may still be under way. */
static int complete_request(MPI_Request *request, MPI_Status *status, uint64_t bytes)
{
    MPI_Count moved = 0;
    int done = 0, rc;

    do
        rc = TT_OPEN_MPI ? MPI_Request_get_status(*request, &done, status)
                         : MPI_Test(request, &done, status);
    while (rc == MPI_SUCCESS && !done);
    if (rc == MPI_SUCCESS)
        rc = MPI_Get_elements_x(status, MPI_BYTE, &moved);
    if (rc == MPI_SUCCESS && moved == (MPI_Count)bytes && *request != MPI_REQUEST_NULL)
        rc = MPI_Request_free(request);
    return rc;
}

static int end_call(MPI_File handle, enum tt_direction direction, void *data, uint64_t bytes,
                    MPI_Request *request, MPI_Status *status)
{
    if (*request != MPI_REQUEST_NULL)
        return complete_request(request, status, bytes);
    return direction == TT_WRITING ? MPI_File_write_at_all_end(handle, data, status)
                                   : MPI_File_read_at_all_end(handle, data, status);
}

/* Complete the oldest request; its ticket keeps what became of it. */
static void land(struct tt_file *file)
{
    struct mpiio_state *s = file->state;
    struct mpiio_request *f = s->flying;
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    int rc, result;

    s->flying = f->next;
    errno = 0;
    rc = end_call(f->handle, f->direction, f->data, f->bytes, &f->request, &status);
    result = tt_mpiio_check_result(file, f->direction, rc, errno, &status, f->bytes, f->offset,
                                   &f->ticket->error);
    if (f->ticket->rc == TT_OK)
        f->ticket->rc = result;
}

void tt_mpiio_land_all(struct tt_file *file)
{
    struct mpiio_state *s = file->state;

    while (s->flying)
        land(file);
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

static int set_view(struct tt_file *file, MPI_File handle, struct mpiio_view *now,
                    struct mpiio_view wanted, MPI_Datatype type, struct tt_error *e)
{
    MPI_Datatype filetype = wanted.serial ? type : MPI_BYTE;
    int rc;

    tt_mpiio_land_all(file); /* MPI forbids to change a view under pending transfers */
    rc = MPI_File_set_view(handle, (MPI_Offset)wanted.place, MPI_BYTE, filetype, "native",
                           MPI_INFO_NULL);
    if (rc != MPI_SUCCESS)
        return tt_mpiio_fail(file, rc, 0, "MPI_File_set_view", -1, e);
    *now = wanted;
    return TT_OK;
}

/* Nonblocking, or the first half of a split collective call: there is one at a time on a handle. */
static int begin_call(struct tt_file *file, const struct call *c, MPI_Request *request)
{
    bool writing = c->direction == TT_WRITING;

    *request = MPI_REQUEST_NULL;
    if (tt_mpiio_method(file) == SPLIT)
        tt_mpiio_land_all(file);
    errno = 0;
    if (tt_mpiio_method(file) == NONBLOCKING)
        return writing
                   ? MPI_File_iwrite_at(c->handle, c->offset, c->data, c->count, c->type, request)
                   : MPI_File_iread_at(c->handle, c->offset, c->data, c->count, c->type, request);
    return writing ? MPI_File_write_at_all_begin(c->handle, c->offset, c->data, c->count, c->type)
                   : MPI_File_read_at_all_begin(c->handle, c->offset, c->data, c->count, c->type);
}

static int run_blocking(struct tt_file *file, const struct call *c, struct tt_error *e)
{
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    bool writing = c->direction == TT_WRITING;
    MPI_Request request;
    int rc;

    errno = 0;
    if (tt_mpiio_method(file) == INDEPENDENT)
        rc = writing ? MPI_File_write_at(c->handle, c->offset, c->data, c->count, c->type, &status)
                     : MPI_File_read_at(c->handle, c->offset, c->data, c->count, c->type, &status);
    else if (tt_mpiio_method(file) == COLLECTIVE)
        rc = writing
                 ? MPI_File_write_at_all(c->handle, c->offset, c->data, c->count, c->type, &status)
                 : MPI_File_read_at_all(c->handle, c->offset, c->data, c->count, c->type, &status);
    else {
        rc = begin_call(file, c, &request);
        if (rc == MPI_SUCCESS)
            rc = end_call(c->handle, c->direction, c->data, c->bytes, &request, &status);
    }
    return tt_mpiio_check_result(file, c->direction, rc, errno, &status, c->bytes, c->place, e);
}

static int start(struct tt_file *file, const struct call *c, struct mpiio_request *f,
                 struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    struct mpiio_request **last = &s->flying;
    int rc;

    f->handle = c->handle;
    f->direction = c->direction;
    f->data = c->data;
    f->bytes = c->bytes;
    f->offset = c->place;
    f->next = NULL;
    rc = begin_call(file, c, &f->request);
    if (rc != MPI_SUCCESS)
        return tt_mpiio_check_result(file, c->direction, rc, errno, NULL, c->bytes, c->place, e);
    while (*last)
        last = &(*last)->next;
    *last = f;
    return TT_OK;
}

static struct mpiio_view view_of(const struct tt_shape *shape, uint64_t piece, uint64_t base)
{
    if (!shape || piece >= shape->npieces || shape->pieces[piece].file == MPI_DATATYPE_NULL)
        return (struct mpiio_view){0};
    return (struct mpiio_view){shape->serial, piece, base + shape->pieces[piece].file_offset};
}

static bool views_differ(struct mpiio_view a, struct mpiio_view b)
{
    return a.serial != b.serial || a.piece != b.piece || a.place != b.place;
}

/* What all ranks must do alike in the collective methods. Plain blocks need one call without a
 * view, and a rank with nothing, or whose write has failed, makes it with nothing. */
struct agreement {
    int pieces; /* number of calls */
    int change; /* somebody's view has to be set */
    int failed; /* somebody's write has */
};

static struct agreement agree_on(struct tt_file *file, const struct tt_shape *shape, uint64_t base)
{
    struct mpiio_state *s = file->state;
    int pieces = shape ? (int)shape->npieces : 0;
    int change = pieces > 1 || views_differ(view_of(shape, 0, base), s->shared_view);
    int values[] = {pieces, change, s->failed};

    if (file->spec->plain && tt_mpiio_is_collective(file))
        return (struct agreement){.pieces = 1};
    if (tt_mpiio_is_collective(file) && file->size > 1)
        tt_file_max(file, 3, values);
    if (values[2])
        values[0] = 0; /* further calls might crash or never return */
    return (struct agreement){values[0], values[1], values[2]};
}

/* Choose the handle and set its view, together with all ranks if change is set. */
static int prepare_handle(struct tt_file *file, struct mpiio_view wanted, MPI_Datatype type,
                          bool change, struct call *c, struct tt_error *e)
{
    struct mpiio_state *s = file->state;
    int rc = TT_OK;

    c->handle = s->shared;
    if (tt_mpiio_is_collective(file))
        return change ? set_view(file, s->shared, &s->shared_view, wanted, type, e) : TT_OK;
    if (wanted.serial == 0)
        return TT_OK;
    if (s->own == MPI_FILE_NULL)
        rc = tt_mpiio_open_handle(file, MPI_COMM_SELF, &s->own, e);
    if (rc == TT_OK && views_differ(wanted, s->own_view))
        rc = set_view(file, s->own, &s->own_view, wanted, type, e);
    c->handle = s->own;
    return rc;
}

/* One call, with nothing if this rank has no such piece. It is made even if something failed
 * before: others may be waiting in it. */
static int move_piece(struct tt_file *file, enum tt_direction direction,
                      const struct tt_shape_piece *piece, uint64_t base, struct mpiio_view view,
                      bool change, char *data, struct mpiio_request *f, struct tt_error *e)
{
    struct call c = {.direction = direction, .type = MPI_BYTE};
    int rc = prepare_handle(file, view, piece ? piece->file : MPI_DATATYPE_NULL, change, &c, e);
    int result;

    if (rc != TT_OK && !tt_mpiio_is_collective(file))
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

static int move_pieces(struct tt_file *file, enum tt_direction direction,
                       const struct tt_shape *shape, uint64_t base, struct agreement a, char *data,
                       struct mpiio_ticket *ticket, struct tt_error *e)
{
    int rc = TT_OK;

    for (int i = 0; i < a.pieces; i++) {
        const struct tt_shape_piece *piece =
            shape && (size_t)i < shape->npieces ? &shape->pieces[i] : NULL;
        struct mpiio_request *f = ticket ? &ticket->requests[i] : NULL;
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
    uint64_t base = tt_file_raw_offset(file, b->variable, step);
    const struct tt_shape *shape;
    struct agreement a;
    int rc, result;

    rc = tt_shape_get(&s->shapes, b, file->spec->variables[b->variable].element->size, &shape, e);
    if (rc == TT_OK && direction == TT_READING && shape->npieces > 0)
        rc = tt_mpiio_check_end(file, base + shape->end, e);
    if (rc == TT_OK && s->failed)
        rc = tt_fail(e, TT_FAILED, "an earlier write to '%s' has failed", file->spec->path);
    if (rc != TT_OK)
        shape = NULL;
    /* A failed write of ompio 5 keeps its lock on the file until it is looked at; others may wait
     * for it where this rank is not to be met. */
    if (tt_mpiio_method(file) == SPLIT)
        tt_mpiio_land_all(file);
    a = agree_on(file, shape, base);
    if (ticket && a.pieces > 0) {
        ticket->requests = calloc((size_t)a.pieces, sizeof *ticket->requests);
        for (int i = 0; ticket->requests && i < a.pieces; i++)
            ticket->requests[i].ticket = ticket;
    }
    result = move_pieces(file, direction, shape, base, a, b->data,
                         ticket && ticket->requests ? ticket : NULL, e);
    if (rc == TT_OK)
        rc = result;
    if (rc == TT_OK && direction == TT_WRITING && shape->npieces > 0 && !a.failed &&
        base + shape->end > s->end)
        s->end = base + shape->end;
    return rc;
}

int tt_mpiio_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
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

int tt_mpiio_read(struct tt_file *file, uint64_t step, const struct tt_block *b, struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, NULL, e);
}

int tt_mpiio_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    struct mpiio_ticket *ticket = t->state;

    if (tt_mpiio_method(file) != NONBLOCKING && tt_mpiio_method(file) != SPLIT)
        return tt_fail(e, TT_UNSUPPORTED, "mpiio.method %s has no nonblocking transfers",
                       tt_mpiio_method(file) == COLLECTIVE ? "collective" : "independent");
    ticket->requests = NULL;
    ticket->rc = TT_OK;
    tt_error_clear(&ticket->error);
    return transfer(file, direction, step, b, ticket, e);
}

static bool is_flying(const struct mpiio_state *s, const struct mpiio_ticket *ticket)
{
    for (const struct mpiio_request *f = s->flying; f; f = f->next)
        if (f->ticket == ticket)
            return true;
    return false;
}

int tt_mpiio_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    struct mpiio_ticket *ticket = t->state;

    while (is_flying(file->state, ticket))
        land(file);
    free(ticket->requests);
    ticket->requests = NULL;
    if (ticket->rc != TT_OK && e->code == TT_OK)
        *e = ticket->error;
    return ticket->rc;
}
