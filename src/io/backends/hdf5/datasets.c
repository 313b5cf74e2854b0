/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Datasets of variables: made, found again, and grown. */
#include "io/backends/hdf5/parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/chunk.h"

/* The dataset's creation properties and dataspace. */
static int shape(const struct tt_file *file, const struct tt_variable *v, hid_t properties,
                 hid_t *space, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    const struct tt_file_spec *spec = file->spec;
    int lead = tt_hdf5_has_step_dim(spec, v);
    bool open_end = lead && (spec->steps == 0 || v->unlimited);
    hsize_t dims[TT_MAX_DIMS] = {0}, most[TT_MAX_DIMS] = {H5S_UNLIMITED}, chunk[TT_MAX_DIMS];
    uint64_t sides[TT_MAX_DIMS];
    bool chunked =
        tt_chunk_choose(&o->chunk, v, lead, open_end || v->unlimited || o->compress, sides);

    for (int i = 0; chunked && i < lead + v->ndims; i++)
        chunk[i] = sides[i];
    if (lead && !open_end)
        dims[0] = most[0] = spec->steps;
    for (int i = 0; i < v->ndims; i++)
        dims[lead + i] = most[lead + i] = v->dims[i];
    if (v->unlimited)
        most[lead] = H5S_UNLIMITED;
    *space = H5Screate_simple(lead + v->ndims, dims, most);
    if (*space < 0)
        return tt_hdf5_fail(file, "H5Screate_simple", v->path, e);
    if (H5Pset_fill_time(properties, o->fill ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER) < 0 ||
        (chunked && H5Pset_chunk(properties, lead + v->ndims, chunk) < 0))
        return tt_hdf5_fail(file, "H5Pset_chunk", v->path, e);
    if (o->compress && H5Pset_deflate(properties, (unsigned)o->compress) < 0)
        return tt_hdf5_fail(file, "H5Pset_deflate", v->path, e);
    return TT_OK;
}

/* Where the variable's dataset is; the caller frees. NULL: no memory. */
static char *place(const struct tt_file *file, const struct tt_variable *v, uint64_t step)
{
    char *path, group[TT_STEP_GROUP];
    int n;

    tt_step_group(file->spec, step, group);
    if (v->per_step && file->spec->policy == TT_GROUP)
        n = asprintf(&path, "/%s/%s", group, v->path);
    else
        n = asprintf(&path, "/%s", v->path);
    return n < 0 ? NULL : path;
}

void tt_hdf5_close_slot(struct hdf5_slot *slot)
{
    if (slot->space >= 0)
        H5Sclose(slot->space);
    if (slot->dataset >= 0)
        H5Dclose(slot->dataset);
    slot->space = slot->dataset = -1;
}

void tt_hdf5_close_late(struct hdf5_slot *slot, uint64_t n)
{
    for (uint64_t i = 0; slot->late && i < n; i++)
        if (slot->late[i] > 0)
            H5Dclose(slot->late[i]);
    free(slot->late);
    slot->late = NULL;
}

/* The step before is over, but its dataset may have to stay open for a while. */
static void retire(struct hdf5_slot *slot, uint64_t late)
{
    if (slot->dataset >= 0 && late > 0) {
        hid_t *place = &slot->late[slot->nlate++ % late];

        if (*place > 0)
            H5Dclose(*place);
        *place = slot->dataset;
        slot->dataset = -1;
    }
    tt_hdf5_close_slot(slot);
}

int tt_hdf5_create(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    char *path = place(file, v, step);
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    retire(slot, ((const struct hdf5_opts *)file->opts)->delayed_close);
    slot->step = step;
    H5Pset_create_intermediate_group(links, 1);
    if (rc == TT_OK)
        rc = shape(file, v, properties, &slot->space, e);
    if (rc == TT_OK) {
        slot->dataset =
            H5Dcreate2(s->file, path, slot->type, slot->space, links, properties, H5P_DEFAULT);
        if (slot->dataset < 0)
            rc = tt_hdf5_fail(file, "H5Dcreate", v->path, e);
    }
    for (unsigned i = 0; rc == TT_OK && i < v->nattributes; i++)
        if (tt_hdf5_add_attribute(slot->dataset, &v->attributes[i]) < 0)
            rc = tt_hdf5_fail(file, "H5Acreate", v->path, e);
    free(path);
    H5Pclose(links);
    H5Pclose(properties);
    return rc;
}

/* A file that is there must hold what the variable says; what is unlimited may have grown, or is to
 * grow now. */
static bool matches(const struct tt_file *file, const struct tt_variable *v,
                    const struct hdf5_slot *slot)
{
    int lead = tt_hdf5_has_step_dim(file->spec, v);
    hsize_t dims[H5S_MAX_RANK];
    hid_t type = H5Dget_type(slot->dataset);
    bool same = type >= 0 && H5Tequal(type, slot->type) > 0 &&
                H5Sget_simple_extent_dims(slot->space, dims, NULL) == lead + v->ndims;

    for (int i = 0; same && i < v->ndims; i++)
        same = dims[lead + i] == v->dims[i] ||
               (i == 0 && v->unlimited &&
                (dims[lead] > v->dims[0] || file->spec->access == TT_UPDATE));
    if (type >= 0)
        H5Tclose(type);
    return same;
}

static int open_dataset(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    char *path = place(file, v, step);
    int rc = TT_OK;

    if (!path)
        return tt_fail_nomem(e, "a path");
    retire(slot, ((const struct hdf5_opts *)file->opts)->delayed_close);
    slot->step = step;
    slot->dataset = H5Dopen2(s->file, path, H5P_DEFAULT);
    slot->space = slot->dataset < 0 ? -1 : H5Dget_space(slot->dataset);
    if (slot->space < 0)
        rc = tt_hdf5_fail(file, "H5Dopen", path, e);
    else if (!matches(file, v, slot))
        rc = tt_fail(e, TT_FAILED, "'%s': variable '%s' has another type or shape there",
                     file->spec->path, path);
    free(path);
    return rc;
}

/* A rank that cannot open it would leave the others alone in collective transfers. */
int tt_hdf5_open_together(struct tt_file *file, unsigned variable, uint64_t step,
                          struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    int rc = open_dataset(file, variable, step, e);

    if (o->method && file->size > 1)
        rc = tt_file_agree(file, rc, e);
    if (rc != TT_OK)
        tt_hdf5_close_slot(&s->slots[variable]);
    return rc;
}

static int set_extent(const struct tt_file *file, struct hdf5_slot *slot, const hsize_t *dims,
                      const char *variable, struct tt_error *e)
{
    if (H5Dset_extent(slot->dataset, dims) < 0)
        return tt_hdf5_fail(file, "H5Dset_extent", variable, e);
    H5Sclose(slot->space);
    slot->space = H5Dget_space(slot->dataset);
    return slot->space < 0 ? tt_hdf5_fail(file, "H5Dget_space", variable, e) : TT_OK;
}

int tt_hdf5_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    hsize_t dims[TT_MAX_DIMS], most[TT_MAX_DIMS];

    if (H5Sget_simple_extent_dims(slot->space, dims, most) < 0)
        return tt_hdf5_fail(file, "H5Sget_simple_extent_dims", v->path, e);
    if (step < dims[0])
        return TT_OK;
    if (most[0] != H5S_UNLIMITED)
        return tt_fail(
            e, TT_FAILED, "'%s': step %llu of variable '%s', but only %llu were announced",
            file->spec->path, (unsigned long long)step, v->path, (unsigned long long)dims[0]);
    dims[0] = step + 1;
    return set_extent(file, slot, dims, v->path, e);
}

/* What is there already, longer than it was if need be. */
int tt_hdf5_grow(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    int lead = tt_hdf5_has_step_dim(file->spec, v);
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
    int rc = open_dataset(file, variable, step, e);

    /* to grow is collective, whatever the method */
    rc = tt_file_agree(file, rc, e);
    if (rc != TT_OK)
        return rc;
    if (H5Sget_simple_extent_dims(slot->space, dims, most) < 0)
        return tt_hdf5_fail(file, "H5Sget_simple_extent_dims", v->path, e);
    if (dims[lead] >= v->dims[0])
        return TT_OK;
    if (most[lead] != H5S_UNLIMITED)
        return tt_fail(e, TT_FAILED,
                       "'%s': variable '%s' cannot grow, for it was not written as unlimited",
                       file->spec->path, v->path);
    dims[lead] = v->dims[0];
    return set_extent(file, slot, dims, v->path, e);
}
