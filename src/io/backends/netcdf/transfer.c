/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxes as calls of NetCDF.
 *
 * NetCDF knows no lists, so these become a call per box. Ranks have different numbers of them, and
 * collective calls padded to the same number would make every tiny run wait for all ranks: lists
 * are always transferred independently. */
#include "io/backends/netcdf/parts.h"

#include <stdlib.h>
#include <string.h>

/* Variables are collective only during collective calls: NetCDF reduces over all ranks to learn how
 * long an unlimited dimension is, as often as it finds a collective variable that has it, whichever
 * is read. */
static int set_access(const struct tt_file *file, unsigned variable, int access, struct tt_error *e)
{
    const struct netcdf_slot *slot = &((const struct netcdf_state *)file->state)->slots[variable];
    int rc = nc_var_par_access(slot->group, slot->id, access);

    return rc == NC_NOERR ? TT_OK : tt_netcdf_fail(file, rc, "nc_var_par_access", NULL, e);
}

/* What one call is told. */
struct request {
    const struct netcdf_slot *slot;
    enum tt_direction direction;
    size_t start[TT_CONTAINER_DIMS], count[TT_CONTAINER_DIMS];
    ptrdiff_t stride[TT_CONTAINER_DIMS];
    bool strided;
};

static int call(const struct request *r, void *data)
{
    int group = r->slot->group, id = r->slot->id;

    if (r->direction == TT_WRITING)
        return r->strided ? nc_put_vars(group, id, r->start, r->count, r->stride, data)
                          : nc_put_vara(group, id, r->start, r->count, data);
    return r->strided ? nc_get_vars(group, id, r->start, r->count, r->stride, data)
                      : nc_get_vara(group, id, r->start, r->count, data);
}

/* Between n records of ours and n of NetCDF's layout. */
static void convert(const struct request *q, const struct tt_element *r, size_t n, char *ours,
                    char *theirs)
{
    const struct netcdf_slot *slot = q->slot;

    for (size_t i = 0; i < n; i++, ours += r->size, theirs += slot->size)
        for (unsigned f = 0; f < r->nfields; f++) {
            size_t bytes = r->fields[f].count * tt_kind_size(r->fields[f].kind);
            char *mine = ours + r->fields[f].offset, *other = theirs + slot->offsets[f];

            if (q->direction == TT_WRITING)
                memcpy(other, mine, bytes);
            else
                memcpy(mine, other, bytes);
        }
}

static int call_converting(const struct request *q, const struct tt_element *r, size_t n,
                           bool collective, void *data)
{
    struct request nothing = *q;
    char *buffer = calloc(n ? n : 1, q->slot->size);
    int rc;

    if (!buffer) {
        memset(nothing.count, 0, sizeof nothing.count);
        if (collective)
            call(&nothing, data);
        return NC_ENOMEM;
    }
    if (q->direction == TT_WRITING)
        convert(q, r, n, data, buffer);
    rc = call(q, buffer);
    if (rc == NC_NOERR && q->direction == TT_READING)
        convert(q, r, n, data, buffer);
    free(buffer);
    return rc;
}

int tt_netcdf_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e)
{
    static const char *const names[2][2] = {{"nc_put_vara", "nc_put_vars"},
                                            {"nc_get_vara", "nc_get_vars"}};
    const struct tt_variable *v = &file->spec->variables[p->variable];
    struct netcdf_state *s = file->state;
    const struct netcdf_slot *slot = &s->slots[p->variable];
    struct request q = {.slot = slot, .direction = p->direction};
    int dims = tt_container_has_step(file->spec, v) + v->ndims + tt_container_has_bytes(file, v);
    int rc = TT_OK;

    s->transfers += p->first;
    s->lists += p->first && p->listed;
    for (int i = 0; i < dims; i++) {
        q.start[i] = (size_t)p->starts[0][i];
        q.count[i] = (size_t)p->counts[0][i];
        q.stride[i] = p->listed ? 1 : (ptrdiff_t)p->stride[i];
        q.strided |= q.stride[i] > 1;
    }
    p->call = names[p->direction == TT_READING][q.strided];
    if (p->collective)
        rc = set_access(file, p->variable, NC_COLLECTIVE, e);
    if (rc != TT_OK)
        return rc;
    rc = slot->offsets
             ? call_converting(&q, v->element, p->bytes / v->element->size, p->collective, p->data)
             : call(&q, p->data);
    rc = rc == NC_NOERR ? TT_OK : tt_netcdf_fail(file, rc, p->call, v->path, e);
    return p->collective && set_access(file, p->variable, NC_INDEPENDENT, e) != TT_OK ? e->code
                                                                                      : rc;
}

/* Rank 0 writes the last element, and everybody takes part: transfers of single ranks cannot make a
 * dimension longer. */
int tt_netcdf_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct tt_block block = {.variable = variable};
    MPI_Offset start[TT_CONTAINER_DIMS] = {0}, count[TT_CONTAINER_DIMS] = {0};
    MPI_Offset stride[TT_CONTAINER_DIMS] = {1, 1, 1, 1, 1, 1};
    MPI_Offset *starts = start, *counts = count;
    struct tt_piece p = {TT_WRITING, variable, step, &block, .collective = true};
    int lead = tt_container_has_step(file->spec, v), rc;

    if (tt_variable_elements(v) == 0)
        return TT_OK;
    rc = tt_container_find(file, variable, step, e);
    p.data = calloc(1, v->element->size);
    if (rc == TT_OK && !p.data)
        rc = tt_fail_nomem(e, "an element");
    rc = tt_file_agree(file, rc, e); /* the writing is collective */
    start[0] = (MPI_Offset)step;
    start[lead] = (MPI_Offset)v->dims[0] - 1;
    for (int i = 0; file->rank == 0 && i < lead + v->ndims; i++)
        count[i] = 1;
    if (file->rank == 0 && tt_container_has_bytes(file, v))
        count[lead + v->ndims] = (MPI_Offset)v->element->size;
    p.n = file->rank == 0;
    p.bytes = p.n * v->element->size;
    p.starts = &starts;
    p.counts = &counts;
    p.stride = stride;
    if (rc == TT_OK)
        rc = tt_container_move(file, &p, e);
    free(p.data);
    return rc;
}
