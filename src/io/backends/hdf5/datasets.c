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
    int lead = tt_container_has_step(spec, v);
    bool open_end = tt_container_step_grows(spec, v);
    hsize_t dims[TT_MAX_DIMS] = {0}, most[TT_MAX_DIMS] = {H5S_UNLIMITED}, chunk[TT_MAX_DIMS];
    uint64_t sides[TT_MAX_DIMS];
    bool chunked = tt_chunk_choose(&o->chunk, v, lead,
                                   open_end || v->unlimited || tt_hdf5_is_filtered(file), sides);

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
    return tt_hdf5_filters_set(file, v->path, properties, e);
}

/* Where a dataset or a group is, in the group of the step if that is its own; the caller frees.
 * NULL: no memory. */
static char *place(const struct tt_file *file, bool own, const char *inside, uint64_t step)
{
    char *path, group[TT_STEP_GROUP];
    int n;

    tt_step_group(file->spec, step, group);
    if (own)
        n = asprintf(&path, "/%s%s%s", group, *inside ? "/" : "", inside);
    else
        n = asprintf(&path, "/%s", inside);
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

/* The step before is over, but its dataset may have to stay open for a while. */
static void retire(const struct tt_file *file, struct hdf5_slot *slot)
{
    const struct hdf5_opts *o = file->opts;

    if (slot->dataset >= 0 && o->delayed_close > 0) {
        hid_t *place = &slot->late[slot->nlate++ % o->delayed_close];

        if (*place > 0)
            H5Dclose(*place);
        *place = slot->dataset;
        slot->dataset = -1;
    }
    tt_hdf5_close_slot(slot);
}

int tt_hdf5_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    char *path = place(file, tt_container_has_own(file->spec, v), v->path, step);
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    retire(file, slot);
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

int tt_hdf5_define_group(struct tt_file *file, const struct tt_group *g, uint64_t step,
                         struct tt_error *e)
{
    const struct hdf5_state *s = file->state;
    hid_t links = H5Pcreate(H5P_LINK_CREATE), group;
    char *path = place(file, tt_container_group_is_own(file->spec, g), g->path, step);
    int rc = TT_OK;

    H5Pset_create_intermediate_group(links, 1);
    group = !path     ? -1
            : path[1] ? H5Gcreate2(s->file, path, links, H5P_DEFAULT, H5P_DEFAULT)
                      : H5Gopen2(s->file, path, H5P_DEFAULT);
    if (group < 0)
        rc = path ? tt_hdf5_fail(file, "H5Gcreate", path, e) : tt_fail_nomem(e, "a path");
    for (unsigned i = 0; rc == TT_OK && i < g->nattributes; i++) {
        struct tt_attribute a = tt_container_attribute(file->spec, &g->attributes[i], step);

        if (tt_hdf5_add_attribute(group, &a) < 0)
            rc = tt_hdf5_fail(file, "H5Acreate", path, e);
    }
    if (group >= 0)
        H5Gclose(group);
    H5Pclose(links);
    free(path);
    return rc;
}

static bool matches(const struct tt_file *file, const struct tt_variable *v,
                    const struct hdf5_slot *slot)
{
    hsize_t dims[H5S_MAX_RANK];
    uint64_t there[H5S_MAX_RANK];
    hid_t type = H5Dget_type(slot->dataset);
    int n = H5Sget_simple_extent_dims(slot->space, dims, NULL);
    bool same = type >= 0 && H5Tequal(type, slot->type) > 0;

    for (int i = 0; i < n; i++)
        there[i] = dims[i];
    if (type >= 0)
        H5Tclose(type);
    return same && tt_container_matches(file, v, n, there);
}

int tt_hdf5_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    char *path = place(file, tt_container_has_own(file->spec, v), v->path, step);
    int rc = TT_OK;

    if (!path)
        return tt_fail_nomem(e, "a path");
    retire(file, slot);
    slot->dataset = H5Dopen2(s->file, path, H5P_DEFAULT);
    slot->space = slot->dataset < 0 ? -1 : H5Dget_space(slot->dataset);
    if (slot->space < 0)
        rc = tt_hdf5_fail(file, "H5Dopen", path, e);
    else if (!matches(file, v, slot))
        rc = tt_fail(e, TT_FAILED, "'%s': variable '%s' has another type or shape there",
                     file->spec->path, path);
    free(path);
    if (rc != TT_OK)
        tt_hdf5_close_slot(slot);
    return rc;
}

/* By a step, or as long as the variable is now. */
int tt_hdf5_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[variable];
    const struct tt_variable *v = &file->spec->variables[variable];
    int lead = tt_container_has_step(file->spec, v);
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
    bool more = false;

    if (H5Sget_simple_extent_dims(slot->space, dims, most) < 0)
        return tt_hdf5_fail(file, "H5Sget_simple_extent_dims", v->path, e);
    for (int i = 0; i <= lead; i++) {
        uint64_t wanted = i < lead ? step + 1 : v->dims[0];

        if (dims[i] >= wanted)
            continue;
        if (most[i] != H5S_UNLIMITED)
            return tt_fail(e, TT_FAILED,
                           "'%s': variable '%s' cannot grow, for it was not written as unlimited",
                           file->spec->path, v->path);
        dims[i] = wanted;
        more = true;
    }
    if (!more)
        return TT_OK;
    if (H5Dset_extent(slot->dataset, dims) < 0)
        return tt_hdf5_fail(file, "H5Dset_extent", v->path, e);
    H5Sclose(slot->space);
    slot->space = H5Dget_space(slot->dataset);
    return slot->space < 0 ? tt_hdf5_fail(file, "H5Dget_space", v->path, e) : TT_OK;
}
