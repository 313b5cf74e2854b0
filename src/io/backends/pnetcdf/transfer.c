/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces as requests of PnetCDF: one call with start, count and stride, or a list of boxes (varn),
 * which PnetCDF takes in any order and sorts itself. */
#include "io/backends/pnetcdf/parts.h"

#include <errno.h>
#include <sys/stat.h>

/* What ranks tell each other about the method aggregated: what was collected has to be written
 * first; or this is too much for that. */
enum { FULL, LARGE };

/* ---- where a block ends ---- */

/* Of the block, in the file; 0 if it reaches nowhere. */
static uint64_t block_end(const struct tt_file *file, const struct tt_block *b, uint64_t step)
{
    const struct pnetcdf_state *s = file->state;
    const struct tt_variable *v = &file->spec->variables[b->variable];
    uint64_t end = tt_selection_end(&b->file) * v->element->size, stride = 0;

    if (end == 0)
        return 0;
    if (tt_container_has_step(file->spec, v))
        stride = s->step_id >= 0 && tt_container_step_grows(file->spec, v)
                     ? (uint64_t)s->record_size
                     : tt_variable_bytes(v);
    return (uint64_t)s->slots[b->variable].offset + step * stride + end;
}

/* PnetCDF returns whatever memory held where the file ends too early. */
static int check_end(const struct tt_file *file, uint64_t end, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    struct stat st;

    if (file->spec->access != TT_READ_ONLY || end <= s->size)
        return TT_OK;
    if (stat(file->spec->path, &st) != 0)
        return tt_fail_call(e, errno, "stat", file->spec->path, -1);
    s->size = (uint64_t)st.st_size;
    return end <= s->size
               ? TT_OK
               : tt_fail(e, TT_FAILED, "'%s' ends before the data asked for", file->spec->path);
}

/* ---- collecting ---- */

static uint64_t block_bytes(const struct tt_file *file, const struct tt_block *b)
{
    return tt_selection_count(&b->file) * file->spec->variables[b->variable].element->size;
}

/* In PnetCDF's buffer, which rounds up every call's bytes. */
static uint64_t collected_size(uint64_t bytes)
{
    return bytes + bytes / 64 + 4096;
}

static bool collects(const struct tt_file *file, const struct tt_piece *p)
{
    const struct pnetcdf_opts *o = file->opts;

    return o->method == PNETCDF_AGGREGATED && p->direction == TT_WRITING && !p->words[LARGE];
}

int tt_pnetcdf_check(struct tt_file *file, struct tt_piece *p, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    const struct pnetcdf_state *s = file->state;

    if (o->method == PNETCDF_AGGREGATED && p->direction == TT_WRITING) {
        uint64_t size = collected_size(block_bytes(file, p->block));

        p->words[FULL] = size > o->buffer - s->collected;
        p->words[LARGE] = size > o->buffer;
    }
    return p->direction == TT_READING ? check_end(file, block_end(file, p->block, p->step), e)
                                      : TT_OK;
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
    s->container.failed |= rc != NC_NOERR;
    return tt_pnetcdf_judge(file, rc, "ncmpi_wait_all", NULL, e);
}

/* ---- calls ---- */

static int move_slab(const struct tt_file *file, const struct tt_piece *p, MPI_Offset n,
                     MPI_Datatype type)
{
    const struct pnetcdf_state *s = file->state;
    const MPI_Offset *start = p->starts[0], *count = p->counts[0], *stride = p->stride;
    int id = s->slots[p->variable].id;

    if (collects(file, p))
        return ncmpi_bput_vars(s->file, id, start, count, stride, p->data, n, type, NULL);
    if (p->direction == TT_WRITING)
        return (p->collective ? ncmpi_put_vars_all : ncmpi_put_vars)(s->file, id, start, count,
                                                                     stride, p->data, n, type);
    return (p->collective ? ncmpi_get_vars_all : ncmpi_get_vars)(s->file, id, start, count, stride,
                                                                 p->data, n, type);
}

static int move_list(const struct tt_file *file, const struct tt_piece *p, MPI_Offset n,
                     MPI_Datatype type)
{
    const struct pnetcdf_state *s = file->state;
    int id = s->slots[p->variable].id, boxes = (int)p->n;

    if (collects(file, p))
        return ncmpi_bput_varn(s->file, id, boxes, p->starts, p->counts, p->data, n, type, NULL);
    if (p->direction == TT_WRITING)
        return (p->collective ? ncmpi_put_varn_all : ncmpi_put_varn)(s->file, id, boxes, p->starts,
                                                                     p->counts, p->data, n, type);
    return (p->collective ? ncmpi_get_varn_all : ncmpi_get_varn)(s->file, id, boxes, p->starts,
                                                                 p->counts, p->data, n, type);
}

int tt_pnetcdf_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e)
{
    static const char *const names[2][2] = {{"ncmpi_put_vars", "ncmpi_put_varn"},
                                            {"ncmpi_get_vars", "ncmpi_get_varn"}};
    const struct tt_variable *v = &file->spec->variables[p->variable];
    MPI_Datatype type = tt_pnetcdf_memory_type(v->element);
    struct pnetcdf_state *s = file->state;
    int size = 1, rc = TT_OK, nc;

    p->call = names[p->direction == TT_READING][p->listed];
    MPI_Type_size(type, &size);
    if (p->first && p->words[FULL])
        rc = tt_pnetcdf_flush(file, e);
    if (p->first && collects(file, p)) {
        uint64_t bytes = block_bytes(file, p->block);

        s->is_collecting = true;
        s->collected += bytes ? collected_size(bytes) : 0;
        s->waiting += bytes;
    }
    if (collects(file, p) && (p->n == 0 || rc != TT_OK))
        return rc;
    nc =
        (p->listed ? move_list : move_slab)(file, p, (MPI_Offset)(p->bytes / (uint64_t)size), type);
    return rc == TT_OK ? tt_pnetcdf_judge(file, nc, p->call, v->path, e) : rc;
}

int tt_pnetcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    bool plain = o->method != PNETCDF_AGGREGATED;
    int rc;

    if (plain)
        tt_mpi_proof_before(&s->proof);
    rc = tt_container_write(file, step, b, e);
    if (plain)
        tt_mpi_proof_after(&s->proof, block_bytes(file, b));
    if (rc == TT_OK) {
        uint64_t end = block_end(file, b, step);

        s->end = end > s->end ? end : s->end;
    }
    return rc;
}

int tt_pnetcdf_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e)
{
    int rc = tt_pnetcdf_flush(file, e), result = tt_container_read(file, step, b, e);

    return rc == TT_OK ? result : rc;
}
