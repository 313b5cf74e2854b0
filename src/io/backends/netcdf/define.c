/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups, types, dimensions and variables. */
#include "io/backends/netcdf/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/chunk.h"

static const nc_type types[] = {
    [TT_U8] = NC_UBYTE,   [TT_I32] = NC_INT,   [TT_U32] = NC_UINT,   [TT_I64] = NC_INT64,
    [TT_U64] = NC_UINT64, [TT_F32] = NC_FLOAT, [TT_F64] = NC_DOUBLE, [TT_CHAR] = NC_CHAR,
};

/* ---- groups ---- */

static int subgroup(int parent, const char *name, bool create, int *group)
{
    int rc = nc_inq_grp_ncid(parent, name, group);

    return rc == NC_ENOGRP && create ? nc_def_grp(parent, name, group) : rc;
}

/* From a group to one inside it; path is cut. */
static int descend(int from, char *path, bool create, int *group)
{
    int rc = NC_NOERR;
    char *name;

    *group = from;
    while (rc == NC_NOERR && (name = strsep(&path, "/")) != NULL)
        if (*name)
            rc = subgroup(*group, name, create, group);
    return rc;
}

/* The group of the step, or the file. */
static int step_group(const struct tt_file *file, bool own, uint64_t step, bool create, int *group)
{
    const struct netcdf_state *s = file->state;
    char text[TT_STEP_GROUP] = "";

    if (own)
        tt_step_group(file->spec, step, text);
    return descend(s->file, text, create, group);
}

/* The group of the step, whose dimensions the variable uses, the group of the variable, and its
 * name there. path is cut. */
static int home(const struct tt_file *file, const struct tt_variable *v, uint64_t step, bool create,
                char *path, int *top, int *group, const char **name)
{
    char *last = strrchr(path, '/');
    int rc = step_group(file, tt_container_has_own(file->spec, v), step, create, top);

    *name = last ? last + 1 : path;
    *group = *top;
    if (!last || rc != NC_NOERR)
        return rc;
    *last = '\0';
    return descend(*top, path, create, group);
}

/* ---- types ---- */

/* Keeps the offsets, which the slot owns from here on, if the layout is not that of the element. */
static void set_layout(struct netcdf_slot *slot, const struct tt_element *r, size_t *offsets,
                       size_t size)
{
    bool alike = size == r->size;

    for (unsigned i = 0; i < r->nfields; i++)
        alike &= offsets[i] == r->fields[i].offset;
    free(slot->offsets);
    slot->offsets = NULL;
    slot->size = size;
    if (alike)
        free(offsets);
    else
        slot->offsets = offsets;
}

static size_t align(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* As a C compiler would. */
static int lay_out(struct netcdf_slot *slot, const struct tt_element *r)
{
    size_t *offsets = calloc(r->nfields ? r->nfields : 1, sizeof *offsets), size = 0, widest = 1;

    if (!offsets)
        return NC_ENOMEM;
    for (unsigned i = 0; i < r->nfields; i++) {
        size_t value = tt_kind_size(r->fields[i].kind);

        offsets[i] = align(size, value);
        size = offsets[i] + value * r->fields[i].count;
        widest = value > widest ? value : widest;
    }
    set_layout(slot, r, offsets, align(size, widest));
    return NC_NOERR;
}

static int insert_fields(int file, const struct netcdf_slot *slot, const struct tt_element *r)
{
    int rc = NC_NOERR;

    for (unsigned i = 0; rc == NC_NOERR && i < r->nfields; i++) {
        const struct tt_field *f = &r->fields[i];
        size_t offset = slot->offsets ? slot->offsets[i] : f->offset;
        int n = (int)f->count;

        rc = f->count > 1 ? nc_insert_array_compound(file, slot->type, f->name, offset,
                                                     types[f->kind], 1, &n)
                          : nc_insert_compound(file, slot->type, f->name, offset, types[f->kind]);
    }
    return rc;
}

/* Called as the first variable that has it. */
static int define_record(struct tt_file *file, unsigned variable)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct netcdf_state *s = file->state;
    struct netcdf_slot *slot = &s->slots[variable];
    char name[NC_MAX_NAME + 1];
    int rc = lay_out(slot, v->element);

    if (rc != NC_NOERR)
        return rc;
    for (unsigned i = 0; i < variable; i++)
        if (file->spec->variables[i].element == v->element) {
            slot->type = s->slots[i].type;
            return NC_NOERR;
        }
    snprintf(name, sizeof name, "%s_t", v->path);
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '.';
    rc = nc_def_compound(s->file, slot->size, name, &slot->type);
    return rc == NC_NOERR ? insert_fields(s->file, slot, v->element) : rc;
}

int tt_netcdf_define_types(struct tt_file *file, bool again, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    int rc = NC_NOERR;

    for (unsigned i = 0; !again && i < file->spec->nvariables; i++) {
        const struct tt_variable *v = &file->spec->variables[i];

        if (v->element->kind == TT_RECORD)
            rc = define_record(file, i);
        else
            s->slots[i].type = types[v->element->kind];
        if (rc != NC_NOERR)
            return tt_netcdf_fail(file, rc, "nc_def_compound", v->path, e);
    }
    return TT_OK;
}

/* ---- dimensions ---- */

static int dimension(int group, const char *name, size_t length, int *id)
{
    int rc = nc_def_dim(group, name, length, id);

    return rc == NC_ENAMEINUSE ? nc_inq_dimid(group, name, id) : rc;
}

/* Dimensions are shared by all variables of a step for which they are equally long, but not by
 * steps: HDF5 keeps a list of users at each, of 64 KiB at most. */
static int define_dimensions(const struct tt_file *file, const struct tt_variable *v, int group,
                             int *ids, int *n)
{
    int lead = tt_container_has_step(file->spec, v), rc = NC_NOERR;
    uint64_t dims[TT_CONTAINER_DIMS];

    *n = tt_container_dims(file, v, dims);
    if (lead)
        rc = tt_container_step_grows(file->spec, v)
                 ? dimension(group, "step", NC_UNLIMITED, &ids[0])
                 : dimension(group, "steps", file->spec->steps, &ids[0]);
    for (int i = lead; rc == NC_NOERR && i < *n; i++) {
        bool own = i < lead + v->ndims, grows = i == lead && v->unlimited;
        char name[64];

        snprintf(name, sizeof name, "%s_%" PRIu64,
                 grows ? "unlimited"
                 : own ? "dim"
                       : "bytes",
                 own ? v->dims[i - lead] : dims[i]);
        rc = dimension(group, name, grows ? NC_UNLIMITED : dims[i], &ids[i]);
    }
    return rc;
}

/* ---- variables ---- */

static int set_storage(const struct tt_file *file, const struct tt_variable *v,
                       const struct netcdf_slot *slot)
{
    const struct netcdf_opts *o = file->opts;
    int lead = tt_container_has_step(file->spec, v), rc;
    bool grows = v->unlimited || tt_container_step_grows(file->spec, v);
    uint64_t sides[TT_CONTAINER_DIMS];
    size_t chunk[TT_CONTAINER_DIMS];
    bool chunked = tt_chunk_choose(&o->chunk, v, lead, grows, sides);

    sides[lead + v->ndims] = v->element->size; /* used by strings only */
    for (int i = 0; chunked && i <= lead + v->ndims; i++)
        chunk[i] = (size_t)sides[i];
    rc = nc_def_var_chunking(slot->group, slot->id, chunked ? NC_CHUNKED : NC_CONTIGUOUS,
                             chunked ? chunk : NULL);
    return rc == NC_NOERR ? nc_def_var_fill(slot->group, slot->id, !o->fill, NULL) : rc;
}

static int add_attribute(int group, int id, const struct tt_attribute *a)
{
    const char *text = a->text ? a->text : "";
    long long integer = a->integer;

    if (a->kind == TT_RECORD) { /* a list of its values */
        enum tt_kind kind = a->record->fields[0].kind;

        return nc_put_att(group, id, a->name, types[kind],
                          (a->n ? a->n : 1) * a->record->size / tt_kind_size(kind), a->values);
    }
    if (a->n)
        return nc_put_att(group, id, a->name, a->kind == TT_CHAR ? NC_STRING : types[a->kind], a->n,
                          a->values);
    if (a->kind == TT_CHAR)
        return nc_put_att_text(group, id, a->name, strlen(text), text);
    return a->kind == TT_F64 ? nc_put_att_double(group, id, a->name, NC_DOUBLE, 1, &a->real)
                             : nc_put_att_longlong(group, id, a->name, types[a->kind], 1, &integer);
}

int tt_netcdf_define_group(struct tt_file *file, const struct tt_group *g, uint64_t step,
                           struct tt_error *e)
{
    char *path = strdup(g->path);
    int top, group, rc;

    if (!path)
        return tt_fail_nomem(e, "a path");
    rc = step_group(file, tt_container_group_is_own(file->spec, g), step, true, &top);
    if (rc == NC_NOERR)
        rc = descend(top, path, true, &group);
    for (unsigned i = 0; rc == NC_NOERR && i < g->nattributes; i++) {
        struct tt_attribute a = tt_container_attribute(file->spec, &g->attributes[i], step);

        rc = add_attribute(group, NC_GLOBAL, &a);
    }
    free(path);
    return rc == NC_NOERR ? TT_OK : tt_netcdf_fail(file, rc, "nc_put_att", g->path, e);
}

int tt_netcdf_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct netcdf_state *s = file->state;
    struct netcdf_slot *slot = &s->slots[variable];
    char *path = strdup(v->path);
    const char *name;
    int ids[TT_CONTAINER_DIMS], n, top, rc;

    if (!path)
        return tt_fail_nomem(e, "a path");
    rc = home(file, v, step, true, path, &top, &slot->group, &name);
    if (rc == NC_NOERR)
        rc = define_dimensions(file, v, top, ids, &n);
    if (rc == NC_NOERR)
        rc = nc_def_var(slot->group, name, slot->type, n, ids, &slot->id);
    if (rc == NC_NOERR)
        rc = set_storage(file, v, slot);
    for (unsigned i = 0; rc == NC_NOERR && i < v->nattributes; i++)
        rc = add_attribute(slot->group, slot->id, &v->attributes[i]);
    free(path);
    s->variables++;
    return rc == NC_NOERR ? TT_OK : tt_netcdf_fail(file, rc, "nc_def_var", v->path, e);
}

/* ---- finding ---- */

static bool is_same_field(int file, nc_type type, int index, const struct tt_field *f,
                          size_t *offset)
{
    char name[NC_MAX_NAME + 1];
    nc_type kind = NC_NAT;
    int ndims = 0, n = 1;

    return nc_inq_compound_field(file, type, index, name, offset, &kind, &ndims, NULL) ==
               NC_NOERR &&
           !strcmp(name, f->name) && kind == types[f->kind] && ndims == (f->count > 1) &&
           (ndims == 0 || nc_inq_compound_fielddim_sizes(file, type, index, &n) == NC_NOERR) &&
           (uint32_t)n == f->count;
}

/* Also finds out how NetCDF lays it out in memory. */
static bool is_same_record(const struct tt_file *file, nc_type type, const struct tt_element *r,
                           struct netcdf_slot *slot)
{
    const struct netcdf_state *s = file->state;
    size_t size = 0, nfields = 0, *offsets;
    bool same =
        nc_inq_compound(s->file, type, NULL, &size, &nfields) == NC_NOERR && nfields == r->nfields;

    offsets = same ? calloc(r->nfields ? r->nfields : 1, sizeof *offsets) : NULL;
    same = offsets != NULL;
    for (unsigned i = 0; same && i < r->nfields; i++)
        same = is_same_field(s->file, type, (int)i, &r->fields[i], &offsets[i]);
    if (same)
        set_layout(slot, r, offsets, size);
    else
        free(offsets);
    return same;
}

static bool is_same_type(const struct tt_file *file, nc_type type, const struct tt_element *element,
                         struct netcdf_slot *slot)
{
    return element->kind == TT_RECORD ? is_same_record(file, type, element, slot)
                                      : type == types[element->kind];
}

/* A file that is being made holds what was defined. */
static bool matches(const struct tt_file *file, const struct tt_variable *v,
                    struct netcdf_slot *slot)
{
    int n = 0, ids[NC_MAX_VAR_DIMS];
    uint64_t dims[NC_MAX_VAR_DIMS];
    size_t length = 0;
    nc_type type = NC_NAT;
    bool same = nc_inq_varndims(slot->group, slot->id, &n) == NC_NOERR &&
                nc_inq_vartype(slot->group, slot->id, &type) == NC_NOERR &&
                is_same_type(file, type, v->element, slot) &&
                nc_inq_vardimid(slot->group, slot->id, ids) == NC_NOERR;

    for (int i = 0; same && i < n; i++) {
        same = nc_inq_dimlen(slot->group, ids[i], &length) == NC_NOERR;
        dims[i] = length;
    }
    return same && tt_container_matches(file, v, n, dims);
}

int tt_netcdf_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct netcdf_state *s = file->state;
    struct netcdf_slot *slot = &s->slots[variable], found = *slot;
    char *path = strdup(v->path);
    const char *name;
    int top, rc;
    bool same;

    if (!path)
        return tt_fail_nomem(e, "a path");
    rc = home(file, v, step, false, path, &top, &found.group, &name);
    if (rc == NC_NOERR)
        rc = nc_inq_varid(found.group, name, &found.id);
    free(path);
    if (rc != NC_NOERR)
        return tt_netcdf_fail(file, rc, "nc_inq_varid", v->path, e);
    same = file->spec->access == TT_CREATE || matches(file, v, &found);
    slot->offsets = found.offsets;
    if (!same)
        return tt_fail(e, TT_FAILED, "'%s': variable '%s' has another type or shape there",
                       file->spec->path, v->path);
    *slot = found;
    return TT_OK;
}
