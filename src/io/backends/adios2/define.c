/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, types and attributes. ADIOS2 knows neither groups nor records: a name is the whole path
 * from the root, as openPMD's files have it, and a record is a variable for each of its fields. */
#include "io/backends/adios2/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const adios2_type types[] = {
    [TT_U8] = adios2_type_uint8_t,   [TT_I32] = adios2_type_int32_t,
    [TT_U32] = adios2_type_uint32_t, [TT_I64] = adios2_type_int64_t,
    [TT_U64] = adios2_type_uint64_t, [TT_F32] = adios2_type_float,
    [TT_F64] = adios2_type_double,   [TT_CHAR] = adios2_type_int8_t,
};

unsigned tt_adios2_parts(const struct tt_element *element)
{
    return element->kind == TT_RECORD ? element->nfields : 1;
}

struct adios2_part tt_adios2_part(const struct tt_element *element, unsigned i)
{
    const struct tt_field *f;

    if (element->kind != TT_RECORD)
        return (struct adios2_part){types[element->kind], 0, element->size,
                                    element->size / tt_kind_size(element->kind)};
    f = &element->fields[i];
    return (struct adios2_part){types[f->kind], f->offset, f->count * tt_kind_size(f->kind),
                                f->count};
}

size_t tt_adios2_shape(const struct tt_variable *v, const struct adios2_part *part, size_t *shape)
{
    size_t n = 0;

    while (n < (size_t)v->ndims) {
        shape[n] = v->dims[n];
        n++;
    }
    if (part->width > 1)
        shape[n++] = part->width;
    return n;
}

/* ---- names ---- */

/* /GROUP OF THE STEP/PATH/LAST, where each may be missing. */
static char *name_of(const struct tt_file *file, bool own, uint64_t step, const char *path,
                     const char *last)
{
    char group[TT_STEP_GROUP] = "", *name;
    int n;

    if (own)
        tt_step_group(file->spec, step, group);
    n = asprintf(&name, "%s%s%s%s%s%s", own ? "/" : "", group, path[0] ? "/" : "", path,
                 last ? "/" : "", last ? last : "");
    return n < 0 ? NULL : name;
}

static char *part_name(const struct tt_file *file, unsigned variable, uint64_t step, unsigned part)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    const char *field = v->element->kind == TT_RECORD ? v->element->fields[part].name : NULL;

    return name_of(file, tt_container_has_own(file->spec, v), step, v->path, field);
}

/* ---- attributes ---- */

static adios2_attribute *add_array(adios2_io *io, const char *name, const struct tt_attribute *a)
{
    enum tt_kind kind = a->kind == TT_RECORD ? a->record->fields[0].kind : a->kind;
    size_t n = a->n ? a->n : 1;

    if (a->kind == TT_RECORD) /* a list of its values */
        n = n * a->record->size / tt_kind_size(kind);
    return adios2_define_attribute_array(
        io, name, kind == TT_CHAR ? adios2_type_string : types[kind], a->values, n);
}

static adios2_attribute *add_value(adios2_io *io, const char *name, const struct tt_attribute *a)
{
    int32_t i32 = (int32_t)a->integer;
    uint32_t u32 = (uint32_t)a->integer;

    switch (a->kind) {
    case TT_CHAR:
        return adios2_define_attribute(io, name, adios2_type_string, a->text ? a->text : "");
    case TT_F64:
        return adios2_define_attribute(io, name, adios2_type_double, &a->real);
    case TT_I32:
        return adios2_define_attribute(io, name, adios2_type_int32_t, &i32);
    case TT_U32:
        return adios2_define_attribute(io, name, adios2_type_uint32_t, &u32);
    default:
        return adios2_define_attribute(io, name, types[a->kind], &a->integer);
    }
}

static int add_attribute(const struct tt_file *file, bool own, uint64_t step, const char *path,
                         const struct tt_attribute *a, struct tt_error *e)
{
    const struct adios2_state *s = file->state;
    char *name = name_of(file, own, step, path, a->name);
    const adios2_attribute *made = NULL;
    int rc = TT_OK;

    if (!name)
        return tt_fail_nomem(e, "a name");
    made = a->n || a->kind == TT_RECORD ? add_array(s->io, name, a) : add_value(s->io, name, a);
    if (!made)
        rc = tt_adios2_fail(file, "adios2_define_attribute", name, e);
    free(name);
    return rc;
}

int tt_adios2_define_group(struct tt_file *file, const struct tt_group *g, uint64_t step,
                           struct tt_error *e)
{
    bool own = tt_container_group_is_own(file->spec, g);
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < g->nattributes; i++) {
        struct tt_attribute a = tt_container_attribute(file->spec, &g->attributes[i], step);

        rc = add_attribute(file, own, step, g->path, &a, e);
    }
    return rc;
}

/* ---- variables ---- */

int tt_adios2_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct adios2_state *s = file->state;
    struct adios2_slot *slot = &s->slots[variable];
    bool own = tt_container_has_own(file->spec, v);
    unsigned n = tt_adios2_parts(v->element);
    int rc = TT_OK;

    free(slot->written);
    slot->written = calloc(n + 1, sizeof *slot->written);
    if (!slot->written)
        return tt_fail_nomem(e, "the variables");
    for (unsigned i = 0; rc == TT_OK && i < n; i++) {
        struct adios2_part part = tt_adios2_part(v->element, i);
        size_t shape[TT_CONTAINER_DIMS], zeros[TT_CONTAINER_DIMS] = {0};
        size_t ndims = tt_adios2_shape(v, &part, shape);
        char *name = part_name(file, variable, step, i);

        if (!name)
            return tt_fail_nomem(e, "a name");
        slot->written[i] = adios2_define_variable(s->io, name, part.type, ndims, shape, zeros,
                                                  shape, adios2_constant_dims_false);
        if (!slot->written[i])
            rc = tt_adios2_fail(file, "adios2_define_variable", name, e);
        free(name);
    }
    for (unsigned i = 0; rc == TT_OK && i < v->nattributes; i++)
        rc = add_attribute(file, own, step, v->path, &v->attributes[i], e);
    return rc;
}

static bool matches(const adios2_variable *there, const struct tt_variable *v,
                    const struct adios2_part *part)
{
    size_t wanted[TT_CONTAINER_DIMS], found[16], n = 0;
    size_t ndims = tt_adios2_shape(v, part, wanted);
    adios2_type type;

    bool same = adios2_variable_type(&type, there) == adios2_error_none && type == part->type &&
                adios2_variable_ndims(&n, there) == adios2_error_none && n == ndims &&
                adios2_variable_shape(found, there) == adios2_error_none;

    for (size_t i = 0; same && i < n; i++)
        same = found[i] == wanted[i] || (i == 0 && v->unlimited && found[i] >= wanted[i]);
    return same;
}

static int find_part(struct tt_file *file, unsigned variable, uint64_t step, unsigned i,
                     struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct adios2_state *s = file->state;
    struct adios2_part part = tt_adios2_part(v->element, i);
    char *name = part_name(file, variable, step, i);
    adios2_variable *there;

    if (!name)
        return tt_fail_nomem(e, "a name");
    there = adios2_inquire_variable(s->reader.io, name);
    free(name);
    s->slots[variable].read[i] = there;
    if (!there)
        return tt_fail(e, TT_FAILED, "'%s' has no variable '%s' at step %llu", file->spec->path,
                       v->path, (unsigned long long)step);
    if (!matches(there, v, &part))
        return tt_fail(e, TT_FAILED, "'%s': variable '%s' has another type or shape there",
                       file->spec->path, v->path);
    return TT_OK;
}

int tt_adios2_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct adios2_state *s = file->state;
    struct adios2_slot *slot = &s->slots[variable];
    unsigned n = tt_adios2_parts(v->element);
    int rc = TT_OK;

    if (slot->read && slot->reader == s->reader.opened &&
        (slot->found == step || !tt_container_has_own(file->spec, v)))
        return TT_OK;
    if (!slot->read)
        slot->read = calloc(n + 1, sizeof *slot->read);
    if (!slot->read)
        return tt_fail_nomem(e, "the variables");
    slot->reader = 0;
    for (unsigned i = 0; rc == TT_OK && i < n; i++)
        rc = find_part(file, variable, step, i, e);
    if (rc == TT_OK) {
        slot->reader = s->reader.opened;
        slot->found = step;
    }
    return rc;
}
