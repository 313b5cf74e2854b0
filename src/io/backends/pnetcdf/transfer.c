/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks as requests of PnetCDF: one call with start, count and stride where the selection is like
 * that, else lists of boxes (varn), in rounds that keep memory small. Data that does not lie in one
 * piece is gathered first. PnetCDF takes boxes in any order and sorts them itself. */
#include "io/backends/pnetcdf/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/disk.h"

enum {
    ROUND_BOXES = 1 << 16,
    BOXES_PER_RUN = 2 * TT_MAX_DIMS,
};
static const uint64_t ROUND_BYTES = UINT64_C(8) << 20, /* of data that must be gathered first */
    CALL_BYTES = UINT64_C(1) << 30;                    /* PnetCDF refuses 2 GiB in one call */

/* One transfer on its way. */
struct job {
    struct tt_file *file;
    enum tt_direction direction;
    const struct pnetcdf_slot *slot;
    uint64_t step;
    const struct tt_block *block;
    const struct tt_variable *variable;
    bool collect; /* into PnetCDF's buffer */
    /* walking through lists */
    struct tt_extent_iter iter;
    struct tt_extent rest; /* not taken by the last round */
};

/* What one call moves. */
struct round {
    size_t boxes;
    uint64_t memory, bytes;
    bool packed; /* lies at memory in one piece */
};

static int reserve(struct pnetcdf_state *s, size_t bytes, struct tt_error *e)
{
    if (bytes > s->staging_size) {
        free(s->staging);
        s->staging = malloc(bytes);
        s->staging_size = s->staging ? bytes : 0;
    }
    return s->staging || bytes == 0 ? TT_OK : tt_fail_nomem(e, "a staging buffer");
}

static int reserve_boxes(struct pnetcdf_state *s, size_t n, struct tt_error *e)
{
    MPI_Offset *numbers;
    MPI_Offset **boxes;

    if (n <= s->boxes_size)
        return TT_OK;
    numbers = realloc(s->numbers, n * 2 * PNETCDF_DIMS * sizeof *numbers);
    if (numbers)
        s->numbers = numbers;
    boxes = realloc(s->boxes, n * 2 * sizeof *boxes);
    if (boxes)
        s->boxes = boxes;
    if (!numbers || !boxes)
        return tt_fail_nomem(e, "a list of boxes");
    s->boxes_size = n;
    for (size_t i = 0; i < 2 * n; i++)
        s->boxes[i] = s->numbers + i * PNETCDF_DIMS;
    return TT_OK;
}

static bool is_collective(const struct tt_file *file)
{
    return ((const struct pnetcdf_opts *)file->opts)->method != PNETCDF_INDEPENDENT;
}

/* ---- calls ---- */

/* start, count and stride, or a list of boxes if there is no stride. */
struct request {
    int boxes;
    MPI_Offset *start, *count, *stride; /* of the one */
    MPI_Offset **starts, **counts;      /* of the list */
    void *data;
    uint64_t bytes;
};

static int put(const struct job *j, const struct request *r, MPI_Offset n, MPI_Datatype type)
{
    int file = ((struct pnetcdf_state *)j->file->state)->file, id = j->slot->id;

    if (j->collect)
        return r->stride ? ncmpi_bput_vars(file, id, r->start, r->count, r->stride, r->data, n,
                                           type, NULL)
                         : ncmpi_bput_varn(file, id, r->boxes, r->starts, r->counts, r->data, n,
                                           type, NULL);
    if (is_collective(j->file))
        return r->stride
                   ? ncmpi_put_vars_all(file, id, r->start, r->count, r->stride, r->data, n, type)
                   : ncmpi_put_varn_all(file, id, r->boxes, r->starts, r->counts, r->data, n, type);
    return r->stride ? ncmpi_put_vars(file, id, r->start, r->count, r->stride, r->data, n, type)
                     : ncmpi_put_varn(file, id, r->boxes, r->starts, r->counts, r->data, n, type);
}

static int get(const struct job *j, const struct request *r, MPI_Offset n, MPI_Datatype type)
{
    int file = ((struct pnetcdf_state *)j->file->state)->file, id = j->slot->id;

    if (is_collective(j->file))
        return r->stride
                   ? ncmpi_get_vars_all(file, id, r->start, r->count, r->stride, r->data, n, type)
                   : ncmpi_get_varn_all(file, id, r->boxes, r->starts, r->counts, r->data, n, type);
    return r->stride ? ncmpi_get_vars(file, id, r->start, r->count, r->stride, r->data, n, type)
                     : ncmpi_get_varn(file, id, r->boxes, r->starts, r->counts, r->data, n, type);
}

/* MPI-IO may leave errno as the only trace of a write that was too short. */
static int move(const struct job *j, const struct request *r, struct tt_error *e)
{
    static const char *const names[2][2] = {{"ncmpi_put_varn", "ncmpi_put_vars"},
                                            {"ncmpi_get_varn", "ncmpi_get_vars"}};
    struct pnetcdf_state *s = j->file->state;
    MPI_Datatype type = tt_pnetcdf_memory_type(j->variable->element);
    bool writing = j->direction == TT_WRITING;
    int size = 1, rc;

    MPI_Type_size(type, &size);
    errno = 0;
    rc = (writing ? put : get)(j, r, (MPI_Offset)(r->bytes / (uint64_t)size), type);
    if (rc == NC_NOERR && writing && (errno == ENOSPC || errno == EDQUOT))
        rc = errno == ENOSPC ? NC_ENO_SPACE : NC_EQUOTA;
    if (rc != NC_NOERR)
        return tt_pnetcdf_fail(j->file, rc, names[!writing][r->stride != NULL], j->variable->path,
                               e);
    s->transfers++;
    return TT_OK;
}

/* Nobody may miss a collective call, least of all a rank that has failed on the way to it. */
static int move_nothing(const struct job *j, bool listed, struct tt_error *e)
{
    MPI_Offset start[PNETCDF_DIMS] = {0}, count[PNETCDF_DIMS] = {0},
               stride[PNETCDF_DIMS] = {1, 1, 1, 1, 1, 1};
    MPI_Offset *starts = start, *counts = count;
    char nowhere = 0;
    struct request r = {0, start, count, listed ? NULL : stride, &starts, &counts, &nowhere, 0};

    return j->collect || !is_collective(j->file) ? TT_OK : move(j, &r, e);
}

/* ---- selections ---- */

/* Numbers of the variable's own dimensions between those of the step and of the bytes. */
static void widen(const struct job *j, const uint64_t *own, uint64_t step, uint64_t bytes,
                  MPI_Offset *out)
{
    const struct tt_variable *v = j->variable;
    int lead = tt_pnetcdf_has_step_dim(j->file->spec, v);

    if (lead)
        out[0] = (MPI_Offset)step;
    for (int i = 0; i < v->ndims; i++)
        out[lead + i] = (MPI_Offset)own[i];
    if (tt_pnetcdf_has_byte_dim(v->element))
        out[lead + v->ndims] = (MPI_Offset)bytes;
}

static int move_strided(const struct job *j, struct tt_error *e)
{
    struct pnetcdf_state *s = j->file->state;
    size_t size = j->variable->element->size;
    MPI_Offset start[PNETCDF_DIMS], count[PNETCDF_DIMS], stride[PNETCDF_DIMS];
    struct request r = {.start = start, .count = count, .stride = stride};
    struct tt_strided own;
    struct tt_run run;
    bool packed = tt_selection_is_contiguous(&j->block->memory, &run);
    int rc = TT_OK;

    r.bytes = tt_selection_count(&j->block->file) * size;
    tt_selection_is_strided(&j->block->file, &own);
    widen(j, own.start, j->step, 0, start);
    widen(j, own.count, 1, size, count);
    widen(j, own.stride, 1, 1, stride);
    if (packed)
        r.data = (char *)j->block->data + run.start * size;
    else {
        rc = reserve(s, r.bytes, e);
        r.data = s->staging;
        if (rc == TT_OK && j->direction == TT_WRITING)
            tt_block_pack(j->block, size, r.data);
    }
    if (rc == TT_OK)
        rc = move(j, &r, e);
    else
        move_nothing(j, false, e);
    if (rc == TT_OK && !packed && j->direction == TT_READING)
        tt_block_unpack(j->block, size, r.data);
    return rc;
}

/* Adds a piece to the round; without boxes they are only counted. */
static void add_piece(const struct job *j, struct round *r, const struct tt_extent *x,
                      MPI_Offset **boxes, size_t most)
{
    size_t size = j->variable->element->size;
    struct tt_run run = {x->file_offset / size, x->length / size};

    while (run.length > 0) {
        uint64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS];

        tt_run_take_box(&run, j->variable->ndims, j->variable->dims, start, count);
        if (boxes) {
            widen(j, start, j->step, 0, boxes[r->boxes]);
            widen(j, count, 1, size, boxes[most + r->boxes]);
        }
        r->boxes++;
    }
    r->bytes += x->length;
}

/* How much of the next extent fits into the round. */
static uint64_t room(const struct job *j, const struct round *r, bool follows)
{
    uint64_t size = j->variable->element->size, most = follows ? CALL_BYTES : ROUND_BYTES;

    if (r->boxes + BOXES_PER_RUN > ROUND_BOXES)
        return 0;
    if (r->bytes == 0 && most < size)
        return size;
    return most > r->bytes ? (most - r->bytes) / size * size : 0;
}

/* Walks on by one round. each, where given, is told of its pieces. False at the end. */
static bool next_round(struct job *j, struct round *r, MPI_Offset **boxes, size_t most,
                       void (*each)(const struct job *, const struct round *,
                                    const struct tt_extent *))
{
    *r = (struct round){.packed = true};
    while (j->rest.length > 0 || tt_extents_next(&j->iter, &j->rest)) {
        struct tt_extent piece = j->rest;
        bool follows = r->packed && (r->bytes == 0 || piece.memory_offset == r->memory + r->bytes);
        uint64_t fit = room(j, r, follows);

        if (fit == 0)
            break;
        if (piece.length > fit)
            piece.length = fit;
        if (r->bytes == 0)
            r->memory = piece.memory_offset;
        r->packed = follows;
        if (each)
            each(j, r, &piece);
        add_piece(j, r, &piece, boxes, most);
        j->rest.file_offset += piece.length;
        j->rest.memory_offset += piece.length;
        j->rest.length -= piece.length;
    }
    return r->bytes > 0;
}

static void walk(struct job *j)
{
    tt_extents_begin(&j->iter, j->block, j->variable->element->size);
    j->rest.length = 0;
}

static void gather(const struct job *j, const struct round *r, const struct tt_extent *x)
{
    const struct pnetcdf_state *s = j->file->state;

    memcpy((char *)s->staging + r->bytes, (char *)j->block->data + x->memory_offset, x->length);
}

static void scatter(const struct job *j, const struct round *r, const struct tt_extent *x)
{
    const struct pnetcdf_state *s = j->file->state;

    memcpy((char *)j->block->data + x->memory_offset, (char *)s->staging + r->bytes, x->length);
}

/* The walk is made twice: to see what the round holds, and with the memory for it. */
static int move_round(struct job *j, struct tt_error *e)
{
    struct pnetcdf_state *s = j->file->state;
    struct job ahead = *j, again = *j;
    struct round r;
    struct request q = {0};
    int rc;

    next_round(&ahead, &r, NULL, 0, NULL);
    rc = reserve_boxes(s, r.boxes, e);
    if (rc == TT_OK && !r.packed)
        rc = reserve(s, r.bytes, e);
    if (rc != TT_OK) {
        move_nothing(j, true, e);
        return rc;
    }
    next_round(j, &r, s->boxes, s->boxes_size,
               !r.packed && j->direction == TT_WRITING ? gather : NULL);
    q.boxes = (int)r.boxes;
    q.starts = s->boxes;
    q.counts = s->boxes + s->boxes_size;
    q.data = r.packed ? (char *)j->block->data + r.memory : s->staging;
    q.bytes = r.bytes;
    rc = move(j, &q, e);
    if (rc == TT_OK && !r.packed && j->direction == TT_READING)
        next_round(&again, &r, NULL, 0, scatter);
    return rc;
}

/* ---- a block ---- */

/* The end of what a block reaches, in bytes from the start of the variable's instance. */
static uint64_t reach(const struct tt_block *b, const struct tt_variable *v)
{
    const struct tt_selection *s = &b->file;
    uint64_t last = 0;

    if (tt_selection_count(s) == 0)
        return 0;
    if (s->kind == TT_SELECT_ALL)
        return tt_variable_bytes(v);
    for (size_t i = 0; s->kind == TT_SELECT_RUNS && i < s->nruns; i++)
        if (s->runs[i].length > 0 && s->runs[i].start + s->runs[i].length > last)
            last = s->runs[i].start + s->runs[i].length;
    for (int d = 0; s->kind == TT_SELECT_SLAB && d < s->ndims; d++)
        last = last * s->dims[d] + s->start[d] + (s->count[d] - 1) * s->stride[d] + s->block[d] - 1;
    return (s->kind == TT_SELECT_SLAB ? last + 1 : last) * v->element->size;
}

/* Of the block, in the file; 0 if it reaches nowhere. */
static uint64_t block_end(const struct job *j)
{
    const struct pnetcdf_state *s = j->file->state;
    const struct tt_variable *v = j->variable;
    uint64_t end = reach(j->block, v), stride = 0;

    if (end == 0)
        return 0;
    if (tt_pnetcdf_has_step_dim(j->file->spec, v))
        stride = s->step_id >= 0 && (j->file->spec->steps == 0 || v->unlimited)
                     ? (uint64_t)s->record_size
                     : tt_variable_bytes(v);
    return (uint64_t)j->slot->offset + j->step * stride + end;
}

/* PnetCDF returns whatever memory held where the file ends too early. */
static int check_end(const struct job *j, struct tt_error *e)
{
    struct pnetcdf_state *s = j->file->state;
    uint64_t end = block_end(j);
    struct stat st;

    if (j->file->spec->access != TT_READ_ONLY || end <= s->size)
        return TT_OK;
    if (stat(j->file->spec->path, &st) != 0)
        return tt_fail_call(e, errno, "stat", j->file->spec->path, -1);
    s->size = (uint64_t)st.st_size;
    return end <= s->size
               ? TT_OK
               : tt_fail(e, TT_FAILED, "'%s' ends before the data asked for", j->file->spec->path);
}

/* What all ranks must do alike in the collective methods. */
struct agreement {
    int mine, rounds; /* calls with data of this rank, and of the rank with most */
    bool listed;      /* by lists of boxes */
    bool full, large; /* what was collected has to be written first; or this is too much for that */
    bool failed;      /* somebody's write has */
};

/* In PnetCDF's buffer, which rounds up every call's bytes. */
static uint64_t collected_size(uint64_t bytes)
{
    return bytes + bytes / 64 + 4096;
}

static int count_rounds(struct job *j)
{
    struct round r;
    int n = 0;

    walk(j);
    while (next_round(j, &r, NULL, 0, NULL))
        n++;
    return n;
}

static struct agreement agree_on(struct job *j, uint64_t bytes)
{
    const struct pnetcdf_opts *o = j->file->opts;
    const struct pnetcdf_state *s = j->file->state;
    struct tt_strided strided;
    struct agreement a = {.mine = bytes > 0};
    int values[] = {
        a.mine,
        bytes > CALL_BYTES || (bytes > 0 && !tt_selection_is_strided(&j->block->file, &strided)),
        collected_size(bytes) > o->buffer - s->collected,
        collected_size(bytes) > o->buffer,
        s->failed || !j->slot, /* who finds nothing cannot take part */
    };

    if (is_collective(j->file))
        tt_file_max(j->file, 5, values);
    a.rounds = values[0];
    a.listed = values[1];
    a.full = values[2];
    a.large = values[3];
    a.failed = values[4];
    if (a.listed)
        a.mine = a.rounds = bytes > 0 ? count_rounds(j) : 0;
    if (a.listed && is_collective(j->file))
        tt_file_max(j->file, 1, &a.rounds);
    if (a.failed)
        a.rounds = 0; /* further calls might crash or never return */
    return a;
}

static int move_block(struct job *j, const struct agreement *a, struct tt_error *e)
{
    int rc = TT_OK;

    walk(j);
    for (int i = 0; i < a->rounds; i++) {
        int result;

        if (rc != TT_OK || i >= a->mine)
            result = move_nothing(j, a->listed, e);
        else
            result = a->listed ? move_round(j, e) : move_strided(j, e);
        if (rc == TT_OK)
            rc = result;
    }
    return rc;
}

static int prepare(struct job *j, struct tt_error *e)
{
    const struct pnetcdf_state *s = j->file->state;
    int rc = tt_pnetcdf_find(j->file, j->block->variable, j->step, &j->slot, e);

    if (rc == TT_OK && j->direction == TT_READING)
        rc = check_end(j, e);
    if (rc == TT_OK && s->failed)
        rc = tt_fail(e, TT_FAILED, "an earlier write to '%s' has failed", j->file->spec->path);
    return rc;
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    struct job j = {file, direction, NULL, step, b, &file->spec->variables[b->variable]};
    int rc = prepare(&j, e), result = TT_OK;
    uint64_t bytes = rc == TT_OK ? tt_selection_count(&b->file) * j.variable->element->size : 0;
    struct agreement a = agree_on(&j, bytes);

    j.collect = direction == TT_WRITING && o->method == PNETCDF_AGGREGATED && !a.large;
    if (direction == TT_WRITING && a.full && !a.failed)
        result = tt_pnetcdf_flush(file, e);
    rc = rc == TT_OK ? result : rc;
    if (j.slot) { /* the header, and so what is found in it, is the same on all ranks */
        a.mine = rc == TT_OK ? a.mine : 0;
        result = move_block(&j, &a, e);
        rc = rc == TT_OK ? result : rc;
    }
    if (j.collect) {
        s->is_collecting = true;
        s->collected += bytes ? collected_size(bytes) : 0;
        s->waiting += bytes;
    }
    if (rc == TT_OK && direction == TT_WRITING && block_end(&j) > s->end)
        s->end = block_end(&j);
    s->failed |= rc != TT_OK && direction == TT_WRITING;
    return rc;
}

int tt_pnetcdf_flush(struct tt_file *file, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    uint64_t bytes = s->waiting;
    int rc;

    if (!s->is_collecting)
        return TT_OK;
    s->is_collecting = false;
    s->collected = s->waiting = 0;
    tt_mpi_proof_before(&s->proof);
    errno = 0;
    rc = ncmpi_wait_all(s->file, NC_PUT_REQ_ALL, NULL, NULL);
    if (rc == NC_NOERR && (errno == ENOSPC || errno == EDQUOT))
        rc = errno == ENOSPC ? NC_ENO_SPACE : NC_EQUOTA;
    tt_mpi_proof_after(&s->proof, bytes);
    s->flushes++;
    if (rc == NC_NOERR)
        return TT_OK;
    s->failed = true;
    return tt_pnetcdf_fail(file, rc, "ncmpi_wait_all", NULL, e);
}

int tt_pnetcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    uint64_t bytes =
        tt_selection_count(&b->file) * file->spec->variables[b->variable].element->size;
    bool plain = o->method != PNETCDF_AGGREGATED;
    int rc;

    if (plain)
        tt_mpi_proof_before(&s->proof);
    rc = transfer(file, TT_WRITING, step, b, e);
    if (plain)
        tt_mpi_proof_after(&s->proof, bytes);
    return rc;
}

int tt_pnetcdf_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e)
{
    int rc = tt_pnetcdf_flush(file, e), result = transfer(file, TT_READING, step, b, e);

    return rc == TT_OK ? result : rc;
}
