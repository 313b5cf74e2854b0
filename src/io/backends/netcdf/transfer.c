/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks as calls of NetCDF: one with start, count and stride where the selection is like that.
 *
 * NetCDF knows no lists, so these become a call per box. Ranks have different numbers of them, and
 * collective calls padded to the same number would make every tiny run wait for all ranks: lists
 * are always transferred independently. */
#include "io/backends/netcdf/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One transfer on its way. */
struct job {
    struct tt_file *file;
    enum tt_direction direction;
    struct netcdf_slot *slot;
    uint64_t step;
    const struct tt_block *block;
    const struct tt_variable *variable;
};

static bool is_collective(const struct tt_file *file)
{
    return ((const struct netcdf_opts *)file->opts)->method != 0;
}

static int reserve(struct netcdf_state *s, size_t bytes, struct tt_error *e)
{
    if (bytes > s->staging_size) {
        free(s->staging);
        s->staging = malloc(bytes);
        s->staging_size = s->staging ? bytes : 0;
    }
    return s->staging || bytes == 0 ? TT_OK : tt_fail_nomem(e, "a staging buffer");
}

static int set_access(const struct tt_file *file, struct netcdf_slot *slot, int access,
                      struct tt_error *e)
{
    int rc = slot->access == access ? NC_NOERR : nc_var_par_access(slot->group, slot->id, access);

    if (rc != NC_NOERR)
        return tt_netcdf_fail(file, rc, "nc_var_par_access", NULL, e);
    slot->access = access;
    return TT_OK;
}

/* Numbers of the variable's own dimensions between those of the step and of the characters. */
static void widen(const struct job *j, const uint64_t *own, uint64_t step, uint64_t bytes,
                  size_t *out)
{
    const struct tt_variable *v = j->variable;
    int lead = tt_netcdf_has_step_dim(j->file->spec, v);

    out[0] = (size_t)step;
    for (int i = 0; i < v->ndims; i++)
        out[lead + i] = (size_t)own[i];
    if (tt_netcdf_has_byte_dim(v->element))
        out[lead + v->ndims] = (size_t)bytes;
}

static int call(const struct job *j, const size_t *start, const size_t *count,
                const ptrdiff_t *stride, void *data)
{
    int group = j->slot->group, id = j->slot->id;

    if (j->direction == TT_WRITING)
        return stride ? nc_put_vars(group, id, start, count, stride, data)
                      : nc_put_vara(group, id, start, count, data);
    return stride ? nc_get_vars(group, id, start, count, stride, data)
                  : nc_get_vara(group, id, start, count, data);
}

/* Between n records of ours and n of NetCDF's layout. */
static void convert(const struct job *j, size_t n, char *ours, char *theirs)
{
    const struct tt_element *r = j->variable->element;
    const struct netcdf_slot *slot = j->slot;

    for (size_t i = 0; i < n; i++, ours += r->size, theirs += slot->size)
        for (unsigned f = 0; f < r->nfields; f++) {
            size_t bytes = r->fields[f].count * tt_kind_size(r->fields[f].kind);
            char *mine = ours + r->fields[f].offset, *other = theirs + slot->offsets[f];

            if (j->direction == TT_WRITING)
                memcpy(other, mine, bytes);
            else
                memcpy(mine, other, bytes);
        }
}

static int call_converting(const struct job *j, const size_t *start, const size_t *count,
                           const ptrdiff_t *stride, void *data)
{
    int dims = tt_netcdf_has_step_dim(j->file->spec, j->variable) + j->variable->ndims, rc;
    size_t n = 1;
    char *buffer;

    for (int i = 0; i < dims; i++)
        n *= count[i];
    buffer = calloc(n ? n : 1, j->slot->size);
    if (!buffer) {
        static const size_t nothing[NETCDF_DIMS];

        if (is_collective(j->file))
            call(j, nothing, nothing, NULL, data);
        return NC_ENOMEM;
    }
    if (j->direction == TT_WRITING)
        convert(j, n, data, buffer);
    rc = call(j, start, count, stride, buffer);
    if (rc == NC_NOERR && j->direction == TT_READING)
        convert(j, n, data, buffer);
    free(buffer);
    return rc;
}

/* MPI-IO may leave errno as the only trace of a write that was too short. */
static int move(const struct job *j, const size_t *start, const size_t *count,
                const ptrdiff_t *stride, void *data, struct tt_error *e)
{
    static const char *const names[2][2] = {{"nc_put_vara", "nc_put_vars"},
                                            {"nc_get_vara", "nc_get_vars"}};
    bool writing = j->direction == TT_WRITING;
    int rc;

    errno = 0;
    rc = (j->slot->offsets ? call_converting : call)(j, start, count, stride, data);
    if (rc == NC_NOERR && writing && (errno == ENOSPC || errno == EDQUOT))
        rc = errno;
    return rc == NC_NOERR
               ? TT_OK
               : tt_netcdf_fail(j->file, rc, names[!writing][stride != NULL], j->variable->path, e);
}

/* Nobody may miss a collective call, least of all a rank that has failed on the way to it. */
static int move_nothing(const struct job *j, struct tt_error *e)
{
    static const size_t nothing[NETCDF_DIMS];
    char nowhere = 0;

    return is_collective(j->file) ? move(j, nothing, nothing, NULL, &nowhere, e) : TT_OK;
}

static int move_strided(const struct job *j, struct tt_error *e)
{
    struct netcdf_state *s = j->file->state;
    size_t size = j->variable->element->size;
    size_t start[NETCDF_DIMS], count[NETCDF_DIMS], stride[NETCDF_DIMS];
    ptrdiff_t signed_stride[NETCDF_DIMS];
    struct tt_strided own;
    struct tt_run run;
    bool packed = tt_selection_is_contiguous(&j->block->memory, &run), dense = true;
    char *data = (char *)j->block->data + run.start * size;
    int rc = TT_OK;

    tt_selection_is_strided(&j->block->file, &own);
    widen(j, own.start, j->step, 0, start);
    widen(j, own.count, 1, size, count);
    memset(stride, 0, sizeof stride);
    widen(j, own.stride, 1, 1, stride);
    for (int i = 0; i < NETCDF_DIMS; i++) {
        signed_stride[i] = (ptrdiff_t)stride[i];
        dense &= stride[i] <= 1;
    }
    if (!packed) {
        rc = reserve(s, tt_selection_count(&j->block->file) * size, e);
        data = s->staging;
        if (rc == TT_OK && j->direction == TT_WRITING)
            tt_block_pack(j->block, size, data);
    }
    if (rc == TT_OK)
        rc = move(j, start, count, dense ? NULL : signed_stride, data, e);
    else
        move_nothing(j, e);
    if (rc == TT_OK && !packed && j->direction == TT_READING)
        tt_block_unpack(j->block, size, data);
    return rc;
}

static int move_list(const struct job *j, struct tt_error *e)
{
    size_t size = j->variable->element->size, start[NETCDF_DIMS], count[NETCDF_DIMS];
    struct tt_extent_iter it;
    struct tt_extent x;
    int rc = TT_OK;

    tt_extents_begin(&it, j->block, size);
    while (rc == TT_OK && tt_extents_next(&it, &x)) {
        struct tt_run run = {x.file_offset / size, x.length / size};
        uint64_t from = run.start;

        while (rc == TT_OK && run.length > 0) {
            uint64_t first[TT_MAX_DIMS], n[TT_MAX_DIMS], at = run.start - from;

            tt_run_take_box(&run, j->variable->ndims, j->variable->dims, first, n);
            widen(j, first, j->step, 0, start);
            widen(j, n, 1, size, count);
            rc = move(j, start, count, NULL, (char *)j->block->data + x.memory_offset + at * size,
                      e);
        }
    }
    return rc;
}

/* What all ranks must do alike. */
enum { ANY, LISTED, FAILED, AGREED };

static int move_block(const struct job *j, const int *agreed, bool has_data, struct tt_error *e)
{
    struct netcdf_state *s = j->file->state;
    bool together = is_collective(j->file) && !agreed[LISTED];
    int rc = set_access(j->file, j->slot, together ? NC_COLLECTIVE : NC_INDEPENDENT, e);

    s->transfers++;
    s->lists += agreed[LISTED] != 0;
    if (rc != TT_OK)
        return rc;
    if (agreed[LISTED])
        return has_data ? move_list(j, e) : TT_OK;
    return has_data ? move_strided(j, e) : move_nothing(j, e);
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    struct job j = {file, direction, NULL, step, b, &file->spec->variables[b->variable]};
    int rc = tt_netcdf_find(file, b->variable, step, &j.slot, e), result = TT_OK;
    bool has_data = rc == TT_OK && tt_selection_count(&b->file) > 0;
    struct tt_strided strided;
    int agreed[AGREED] = {
        [ANY] = has_data,
        [LISTED] = has_data && !tt_selection_is_strided(&b->file, &strided),
        [FAILED] = s->failed || rc != TT_OK, /* who finds nothing cannot take part */
    };

    if (is_collective(file))
        tt_file_max(file, AGREED, agreed);
    if (s->failed)
        return tt_fail(e, TT_FAILED, "an earlier write to '%s' has failed", file->spec->path);
    if (j.slot && agreed[ANY] && !agreed[FAILED]) /* the file is the same for all ranks */
        result = move_block(&j, agreed, has_data, e);
    rc = rc == TT_OK ? result : rc;
    s->failed |= rc != TT_OK && direction == TT_WRITING;
    return rc;
}

int tt_netcdf_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct job j = {.file = file, .direction = TT_WRITING, .step = step, .variable = v};
    uint64_t last[TT_MAX_DIMS] = {v->dims[0] - 1}, one[TT_MAX_DIMS] = {1, 1, 1, 1, 1};
    size_t start[NETCDF_DIMS], count[NETCDF_DIMS];
    void *element;
    int rc;

    if (tt_variable_elements(v) == 0)
        return TT_OK;
    rc = tt_netcdf_find(file, variable, step, &j.slot, e);
    if (rc == TT_OK)
        rc = set_access(file, j.slot, NC_COLLECTIVE, e);
    element = calloc(1, v->element->size);
    if (rc == TT_OK && !element)
        rc = tt_fail_nomem(e, "an element");
    rc = tt_file_agree(file, rc, e); /* the writing is collective */
    if (rc != TT_OK) {
        free(element);
        return rc;
    }
    widen(&j, last, step, 0, start);
    widen(&j, one, 1, v->element->size, count);
    if (file->rank != 0)
        memset(count, 0, sizeof count);
    rc = move(&j, start, count, NULL, element, e);
    free(element);
    return rc;
}

int tt_netcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e)
{
    const struct tt_element *element = file->spec->variables[b->variable].element;
    struct netcdf_state *s = file->state;
    int rc;

    tt_mpi_proof_before(&s->proof);
    rc = transfer(file, TT_WRITING, step, b, e);
    tt_mpi_proof_after(&s->proof, tt_selection_count(&b->file) * element->size);
    return rc;
}

int tt_netcdf_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                   struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}
