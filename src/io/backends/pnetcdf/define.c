/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, types, dimensions and variables. */
#include "io/backends/pnetcdf/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types and names ---- */

static const struct {
    nc_type file;
    MPI_Datatype memory;
} types[] = {
    [TT_U8] = {NC_UBYTE, MPI_UNSIGNED_CHAR},
    [TT_I32] = {NC_INT, MPI_INT},
    [TT_U32] = {NC_UINT, MPI_UNSIGNED},
    [TT_I64] = {NC_INT64, MPI_LONG_LONG_INT},
    [TT_U64] = {NC_UINT64, MPI_UNSIGNED_LONG_LONG},
    [TT_F32] = {NC_FLOAT, MPI_FLOAT},
    [TT_F64] = {NC_DOUBLE, MPI_DOUBLE},
    [TT_CHAR] = {NC_CHAR, MPI_CHAR},
    [TT_RECORD] = {NC_UBYTE, MPI_UNSIGNED_CHAR},
};

MPI_Datatype tt_pnetcdf_memory_type(const struct tt_element *element)
{
    return types[element->kind].memory;
}

/* The caller frees; NULL: no memory. */
static char *name_of(const struct tt_file *file, bool own, const char *path, uint64_t step)
{
    char *name, group[TT_STEP_GROUP];
    int n;

    tt_step_group(file->spec, step, group);
    if (own)
        n = asprintf(&name, "%s%s%s", group, *path ? "." : "", path);
    else
        n = asprintf(&name, "%s", path);
    for (char *c = name; n >= 0 && *c; c++)
        if (*c == '/')
            *c = '.';
    return n < 0 ? NULL : name;
}

/* ---- defining ---- */

/* Dimensions are shared by all variables for which they are equally long. */
static int dimension(struct pnetcdf_state *s, const char *name, uint64_t length, int *id)
{
    int rc = ncmpi_inq_dimid(s->file, name, id);

    return rc == NC_EBADDIM ? ncmpi_def_dim(s->file, name, (MPI_Offset)length, id) : rc;
}

static int define_dimensions(struct tt_file *file, const struct tt_variable *v, int *ids, int *n)
{
    const struct tt_file_spec *spec = file->spec;
    struct pnetcdf_state *s = file->state;
    int lead = tt_container_has_step(spec, v), rc = NC_NOERR;
    uint64_t dims[TT_CONTAINER_DIMS];

    *n = tt_container_dims(file, v, dims);
    if (lead)
        rc = tt_container_step_grows(spec, v) ? dimension(s, "step", NC_UNLIMITED, &ids[0])
                                              : dimension(s, "steps", spec->steps, &ids[0]);
    for (int i = lead; rc == NC_NOERR && i < *n; i++) {
        bool own = i < lead + v->ndims;
        char name[64];

        snprintf(name, sizeof name, "%s_%" PRIu64, own ? "dim" : "bytes",
                 own ? v->dims[i - lead] : dims[i]);
        rc = dimension(s, name, dims[i], &ids[i]);
    }
    return rc;
}

static int add_attribute(int file, int id, const struct tt_attribute *a)
{
    long long integer = a->integer;
    char words[NC_MAX_NAME] = "";
    const char *const *texts = a->values, *text = a->text ? a->text : "";

    for (unsigned i = 0; a->kind == TT_CHAR && i < a->n; i++) {
        size_t end = strlen(words);

        snprintf(words + end, sizeof words - end, "%s%s", i ? " " : "", texts[i]);
        text = words;
    }
    if (a->kind == TT_CHAR)
        return ncmpi_put_att_text(file, id, a->name, (MPI_Offset)strlen(text), text);
    if (a->kind == TT_RECORD) { /* a list of its values */
        enum tt_kind kind = a->record->fields[0].kind;
        size_t n = (a->n ? a->n : 1) * a->record->size / tt_kind_size(kind);

        return ncmpi_put_att(file, id, a->name, types[kind].file, (MPI_Offset)n, a->values);
    }
    if (a->n)
        return ncmpi_put_att(file, id, a->name, types[a->kind].file, a->n, a->values);
    return a->kind == TT_F64
               ? ncmpi_put_att_double(file, id, a->name, NC_DOUBLE, 1, &a->real)
               : ncmpi_put_att_longlong(file, id, a->name, types[a->kind].file, 1, &integer);
}

/* The format has attributes of the file only: those of a group have its path before their name. */
int tt_pnetcdf_define_group(struct tt_file *file, const struct tt_group *g, uint64_t step,
                            struct tt_error *e)
{
    const struct pnetcdf_state *s = file->state;
    char *path = name_of(file, tt_container_group_is_own(file->spec, g), g->path, step);
    int rc = NC_NOERR;

    if (!path)
        return tt_fail_nomem(e, "a name");
    for (unsigned i = 0; rc == NC_NOERR && i < g->nattributes; i++) {
        struct tt_attribute a = tt_container_attribute(file->spec, &g->attributes[i], step);
        char name[NC_MAX_NAME];

        snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", a.name);
        a.name = name;
        rc = add_attribute(s->file, NC_GLOBAL, &a);
    }
    free(path);
    return tt_pnetcdf_judge(file, rc, "ncmpi_put_att", g->path, e);
}

/* "x f64 at 0, id i64 at 8, tag char*5 at 16" */
static int describe_fields(int file, int id, const struct tt_element *element)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int rc;

    if (!out)
        return NC_ENOMEM;
    for (unsigned i = 0; i < element->nfields; i++) {
        const struct tt_field *f = &element->fields[i];

        fprintf(out, "%s%s %s", i ? ", " : "", f->name, tt_kind_name(f->kind));
        if (f->count > 1)
            fprintf(out, "*%" PRIu32, f->count);
        fprintf(out, " at %zu", f->offset);
    }
    rc = fclose(out) != 0 ? NC_ENOMEM
                          : ncmpi_put_att_text(file, id, "fields", (MPI_Offset)size, text);
    free(text);
    return rc;
}

int tt_pnetcdf_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct pnetcdf_state *s = file->state;
    int ids[TT_CONTAINER_DIMS], n, id = -1, rc;
    char *name = name_of(file, tt_container_has_own(file->spec, v), v->path, step);

    if (!name)
        return tt_fail_nomem(e, "a name");
    rc = define_dimensions(file, v, ids, &n);
    if (rc == NC_NOERR)
        rc = ncmpi_def_var(s->file, name, types[v->element->kind].file, n, ids, &id);
    if (rc == NC_NOERR && v->element->kind == TT_RECORD)
        rc = describe_fields(s->file, id, v->element);
    for (unsigned i = 0; rc == NC_NOERR && i < v->nattributes; i++)
        rc = add_attribute(s->file, id, &v->attributes[i]);
    free(name);
    return tt_pnetcdf_judge(file, rc, "ncmpi_def_var", v->path, e);
}

int tt_pnetcdf_define_step(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct pnetcdf_state *s = file->state;
    bool grows = false;
    int nc, id;

    for (unsigned i = 0; i < spec->nvariables; i++)
        grows |= tt_container_step_grows(spec, &spec->variables[i]);
    if (!grows)
        return TT_OK;
    nc = dimension(s, "step", NC_UNLIMITED, &id);
    if (nc == NC_NOERR)
        nc = ncmpi_def_var(s->file, "step", NC_INT64, 1, &id, &s->step_id);
    return tt_pnetcdf_judge(file, nc, "ncmpi_def_var", "step", e);
}

/* ---- finding ---- */

/* What is unlimited was reserved, and is as long as it was said to be. */
static bool matches(const struct tt_file *file, const struct tt_variable *v, int id)
{
    const struct pnetcdf_state *s = file->state;
    struct tt_variable reserved = *v;
    int n = 0, ids[TT_CONTAINER_DIMS];
    uint64_t dims[TT_CONTAINER_DIMS];
    MPI_Offset length = 0;
    nc_type type;
    bool same = ncmpi_inq_varndims(s->file, id, &n) == NC_NOERR && n <= TT_CONTAINER_DIMS &&
                ncmpi_inq_vartype(s->file, id, &type) == NC_NOERR &&
                type == types[v->element->kind].file &&
                ncmpi_inq_vardimid(s->file, id, ids) == NC_NOERR;

    for (int i = 0; same && i < n; i++) {
        same = ncmpi_inq_dimlen(s->file, ids[i], &length) == NC_NOERR;
        dims[i] = (uint64_t)length;
    }
    reserved.unlimited = false;
    return same && tt_container_matches(file, &reserved, n, dims);
}

int tt_pnetcdf_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[variable];
    struct pnetcdf_state *s = file->state;
    struct pnetcdf_slot *slot = &s->slots[variable];
    char *name = name_of(file, tt_container_has_own(file->spec, v), v->path, step);
    int rc;

    if (!name)
        return tt_fail_nomem(e, "a name");
    rc = ncmpi_inq_varid(s->file, name, &slot->id);
    if (rc == NC_NOERR)
        rc = ncmpi_inq_varoffset(s->file, slot->id, &slot->offset);
    rc = tt_pnetcdf_judge(file, rc, "ncmpi_inq_varid", name, e);
    if (rc == TT_OK && !matches(file, v, slot->id))
        rc = tt_fail(e, TT_FAILED, "'%s': variable '%s' has another type or shape there",
                     file->spec->path, name);
    free(name);
    return rc;
}
