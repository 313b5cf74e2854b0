/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables, groups and attributes as version 1.1.0 of the openPMD standard wants them. With a step
 * dimension the version is 2.0.0, whose draft alone knows that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/attributes.h"
#include "workloads/openpmd/openpmd.h"

#define STEP "%06T"

/* Length, mass, time, current, temperature, amount, luminous intensity. */
static const double none[7], electric[7] = {1, 1, -3, -1}, magnetic[7] = {0, 1, -2, -1},
                             density[7] = {-3, 0, 1, 1}, charge[7] = {0, 0, 1, 1}, length[7] = {1};
static const double zeros[TT_OPENPMD_DIMS], ones[TT_OPENPMD_DIMS] = {1, 1, 1};
static const char *const axes[] = {"x", "y", "z"};

/* ---- attributes ---- */

static void add_record(struct tt_attributes *l, const double *dimension)
{
    tt_attribute_array(l, "unitDimension", TT_F64, 7, dimension);
    tt_attribute_real(l, "timeOffset", 0);
}

static void add_mesh(struct tt_attributes *l, const struct tt_openpmd_shape *s,
                     const double *dimension)
{
    tt_attribute_text(l, "geometry", "cartesian");
    tt_attribute_text(l, "dataOrder", "C");
    tt_attribute_array(l, "axisLabels", TT_CHAR, s->ndims, axes);
    tt_attribute_array(l, "gridSpacing", TT_F64, s->ndims, ones);
    tt_attribute_array(l, "gridGlobalOffset", TT_F64, s->ndims, zeros);
    tt_attribute_real(l, "gridUnitSI", 1);
    add_record(l, dimension);
}

/* ---- objects ---- */

/* Of the step, in its group or in that of all steps. */
static const char *path_of(struct tt_openpmd_file *f, const struct tt_openpmd_options *o,
                           const char *name)
{
    char *path = f->paths[f->nvariables + f->ngroups];
    bool variable = o->encoding == TT_OPENPMD_VARIABLE;

    snprintf(path, sizeof *f->paths, "%s%s%s", variable ? "data" : "", variable && *name ? "/" : "",
             name);
    return path;
}

static struct tt_attributes add_group(struct tt_openpmd_file *f, const char *path, bool per_step)
{
    struct tt_attribute *attributes = f->attributes[f->nvariables + f->ngroups];
    struct tt_group *g = &f->groups[f->ngroups++];

    *g = (struct tt_group){.path = path, .per_step = per_step, .attributes = attributes};
    return (struct tt_attributes){attributes, &g->nattributes};
}

static struct tt_attributes add_variable(struct tt_openpmd_file *f,
                                         const struct tt_openpmd_options *o, const char *name,
                                         const struct tt_element *element, int ndims,
                                         const uint64_t *dims)
{
    struct tt_attribute *attributes = f->attributes[f->nvariables + f->ngroups];
    const char *path = path_of(f, o, name);
    struct tt_variable *v = &f->variables[f->nvariables++];
    struct tt_attributes l = {attributes, &v->nattributes};

    *v = (struct tt_variable){.path = path,
                              .element = element,
                              .ndims = ndims,
                              .per_step = true,
                              .attributes = attributes};
    memcpy(v->dims, dims, (size_t)ndims * sizeof *dims);
    tt_attribute_real(&l, "unitSI", 1);
    return l;
}

static void describe_file(struct tt_openpmd_file *f, const struct tt_openpmd_options *o,
                          const char *name)
{
    static const char *const encodings[] = {"fileBased", "groupBased", "variableBased"};
    bool variable = o->encoding == TT_OPENPMD_VARIABLE;
    const char *base = variable ? "/data/" : "/data/%T/";
    struct tt_attributes l = add_group(f, "", false);

    snprintf(f->format, sizeof f->format, "%s", o->encoding == TT_OPENPMD_FILE ? name : base);
    tt_attribute_text(&l, "openPMD", variable ? "2.0.0" : "1.1.0");
    tt_attribute_integer(&l, "openPMDextension", TT_U32, 0);
    tt_attribute_text(&l, "basePath", base);
    tt_attribute_text(&l, "meshesPath", "fields/");
    if (f->particles > 0)
        tt_attribute_text(&l, "particlesPath", "particles/");
    tt_attribute_text(&l, "iterationEncoding", encodings[o->encoding]);
    tt_attribute_text(&l, "iterationFormat", f->format);
    tt_attribute_text(&l, "software", "tutti");
    l = add_group(f, path_of(f, o, ""), true);
    tt_attribute_add(&l, "time", TT_F64)->each_step = 1;
    tt_attribute_real(&l, "dt", 1);
    tt_attribute_real(&l, "timeUnitSI", 1);
}

static void describe_meshes(struct tt_openpmd_file *f, const struct tt_openpmd_options *o,
                            const struct tt_openpmd_shape *s)
{
    static const char *const names[] = {"fields/E/x", "fields/E/y", "fields/E/z", "fields/B/x",
                                        "fields/B/y", "fields/B/z", "fields/rho"};
    struct tt_attributes l = add_group(f, path_of(f, o, "fields/E"), true);

    add_mesh(&l, s, electric);
    l = add_group(f, path_of(f, o, "fields/B"), true);
    add_mesh(&l, s, magnetic);
    for (int i = 0; i < TT_OPENPMD_NMESH; i++) {
        l = add_variable(f, o, names[i], &tt_element_f64, s->ndims, s->dims);
        tt_attribute_array(&l, "position", TT_F64, s->ndims, zeros);
        if (i == TT_OPENPMD_VAR_RHO)
            add_mesh(&l, s, density);
    }
}

static void describe_particles(struct tt_openpmd_file *f, const struct tt_openpmd_options *o)
{
    const uint64_t *n = &f->particles;
    struct tt_attributes l = add_variable(f, o, "particles/ion/id", &tt_element_u64, 1, n);

    add_record(&l, none);
    l = add_variable(f, o, "particles/ion/charge", &tt_element_f64, 1, n);
    add_record(&l, charge);
    add_variable(f, o, "particles/ion/position/x", &tt_element_f64, 1, n);
    l = add_group(f, path_of(f, o, "particles/ion/position"), true);
    add_record(&l, length);
    l = add_group(f, path_of(f, o, "particles/ion/positionOffset"), true);
    add_record(&l, length);
    l = add_group(f, path_of(f, o, "particles/ion/positionOffset/x"), true);
    tt_attribute_real(&l, "value", 0);
    tt_attribute_array(&l, "shape", TT_U64, 1, n);
    tt_attribute_real(&l, "unitSI", 1);
}

void tt_openpmd_describe(struct tt_openpmd_file *f, const struct tt_openpmd_options *o,
                         const struct tt_openpmd_shape *s, const char *name)
{
    memset(f, 0, sizeof *f);
    f->particles = s->blocks * s->particles;
    describe_file(f, o, name);
    describe_meshes(f, o, s);
    if (f->particles > 0)
        describe_particles(f, o);
}

/* ---- names ---- */

int tt_openpmd_split(const char *path, char **prefix, char **ending, struct tt_error *e)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *step = strchr(name, '%'), *dot = strrchr(name, '.');
    int n;

    if (step && (strncmp(step, STEP, strlen(STEP)) != 0 || strchr(step + 1, '%')))
        return tt_fail(e, TT_USAGE, "openpmd.path: the step of a file is %s, once, not in '%s'",
                       STEP, name);
    dot = dot && dot > name ? dot : name + strlen(name);
    n = step ? asprintf(prefix, "%.*s", (int)(step - path), path)
             : asprintf(prefix, "%.*s_", (int)(dot - path), path);
    if (n < 0)
        *prefix = NULL;
    *ending = strdup(step ? step + strlen(STEP) : dot);
    return *prefix && *ending ? TT_OK : tt_fail_nomem(e, "a path");
}
