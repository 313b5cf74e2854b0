/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables, groups and attributes of AMReX's plot and particle files, which are those of Chombo
 * with some more. */
#include <stdio.h>
#include <string.h>

#include "io/attributes.h"
#include "workloads/amr/amr.h"

static const struct tt_field box_fields[] = {
    {"lo_i", TT_I32, 1, 0},  {"lo_j", TT_I32, 1, 4},  {"lo_k", TT_I32, 1, 8},
    {"hi_i", TT_I32, 1, 12}, {"hi_j", TT_I32, 1, 16}, {"hi_k", TT_I32, 1, 20},
};
static const struct tt_element box_element = {TT_RECORD, 24, 6, box_fields};
static const struct tt_field center_fields[] = {
    {"i", TT_I32, 1, 0}, {"j", TT_I32, 1, 4}, {"k", TT_I32, 1, 8}};
static const struct tt_element center_element = {TT_RECORD, 12, 3, center_fields};
static const double zeros[3], ones[3] = {1, 1, 1};

static struct tt_attributes add_group(struct tt_amr_file *f, const char *path)
{
    struct tt_group *g = &f->groups[f->ngroups++];

    *g = (struct tt_group){.path = path, .attributes = &f->attributes[f->nattributes]};
    return (struct tt_attributes){&f->attributes[f->nattributes], &g->nattributes};
}

/* What the last group has is complete. */
static void end_group(struct tt_amr_file *f)
{
    f->nattributes += f->groups[f->ngroups - 1].nattributes;
}

static void add_variable(struct tt_amr_file *f, unsigned level, const char *name,
                         const struct tt_element *element, uint64_t n)
{
    char *path = f->paths[level][f->nvariables % TT_AMR_NPLOT];

    snprintf(path, sizeof f->paths[0][0], "level_%u/%s", level, name);
    f->variables[f->nvariables++] = (struct tt_variable){
        .path = path, .element = element, .ndims = 1, .dims = {n}, .per_step = true};
}

static void describe_level(struct tt_amr_file *f, const struct tt_amr_shape *s, unsigned level)
{
    const struct tt_amr_level *l = &s->levels[level];
    char *path = f->paths[level][TT_AMR_NPLOT];
    struct tt_amr_box *domain = &f->domains[level];
    struct tt_attributes a;

    snprintf(path, sizeof f->paths[0][0], "level_%u", level);
    for (int d = 0; d < 3; d++) {
        f->dx[level][d] = 1.0 / (double)l->domain;
        domain->lo[d] = 0;
        domain->hi[d] = (int32_t)l->domain - 1;
    }
    a = add_group(f, path);
    tt_attribute_integer(&a, "ref_ratio", TT_I32, l->ratio);
    tt_attribute_integer(&a, "ngrid", TT_I32, l->boxes);
    tt_attribute_real(&a, "dx", f->dx[level][0]);
    tt_attribute_array(&a, "Vec_dx", TT_F64, 3, f->dx[level]);
    tt_attribute_array(&a, "prob_lo", TT_F64, 3, zeros);
    tt_attribute_array(&a, "prob_hi", TT_F64, 3, ones);
    tt_attribute_array(&a, "prob_domain", TT_RECORD, 0, domain);
    a.next[-1].record = &box_element;
    end_group(f);
}

/* What both kinds of files have at their top. */
static struct tt_attributes describe_file(struct tt_amr_file *f, const char *version,
                                          unsigned nlevels)
{
    struct tt_attributes a;

    memset(f, 0, sizeof *f);
    a = add_group(f, "");
    tt_attribute_text(&a, "version_name", version);
    tt_attribute_integer(&a, "dim", TT_I32, 3);
    tt_attribute_add(&a, "time", TT_F64)->each_step = 1;
    tt_attribute_integer(&a, "finest_level", TT_I32, nlevels - 1);
    tt_attribute_integer(&a, "num_levels", TT_I32, nlevels);
    return a;
}

static void describe_chombo(struct tt_amr_file *f)
{
    struct tt_attributes a;

    end_group(f);
    a = add_group(f, "Chombo_global");
    tt_attribute_integer(&a, "SpaceDim", TT_I32, 3);
    end_group(f);
}

void tt_amr_describe_plot(struct tt_amr_file *f, const struct tt_amr_options *o,
                          const struct tt_amr_shape *s)
{
    struct tt_attributes a = describe_file(f, "HyperCLaw-V1.1", s->nlevels);

    tt_attribute_text(&a, "plotfile_type", "VanillaHDF5");
    tt_attribute_integer(&a, "coordinate_system", TT_I32, 0);
    tt_attribute_integer(&a, "num_components", TT_I32, o->components);
    for (uint64_t c = 0; c < o->components; c++) {
        snprintf(f->names[c], sizeof f->names[c], "component_%u", (unsigned)c);
        tt_attribute_text(&a, f->names[c], f->names[c]);
    }
    describe_chombo(f);
    for (unsigned l = 0; l < s->nlevels; l++) {
        uint64_t boxes = s->levels[l].boxes;

        describe_level(f, s, l);
        add_variable(f, l, "boxes", &box_element, boxes);
        add_variable(f, l, "boxcenter", &center_element, boxes);
        add_variable(f, l, "data:offsets=0", &tt_element_i64, boxes + 1);
        add_variable(f, l, "data:datatype=0", &tt_element_f64, boxes * s->values);
    }
}

/* One collective write per box. */
void tt_amr_describe_particles(struct tt_amr_file *f, const struct tt_amr_shape *s, uint64_t most)
{
    uint64_t boxes = s->levels[0].boxes;
    struct tt_attributes a = describe_file(f, "Version_Two_Dot_Zero_double", 1);

    tt_attribute_integer(&a, "num_component_real", TT_I32, TT_AMR_REALS - 3);
    tt_attribute_integer(&a, "num_component_int", TT_I32, TT_AMR_INTS - 2);
    tt_attribute_integer(&a, "nparticles", TT_I64, boxes * s->particles);
    describe_chombo(f);
    describe_level(f, s, 0);
    add_variable(f, 0, "boxes", &box_element, boxes);
    add_variable(f, 0, "nparticles_grid", &tt_element_i32, boxes);
    add_variable(f, 0, "data:datatype=0", &tt_element_i32, boxes * s->particles * TT_AMR_INTS);
    add_variable(f, 0, "data:datatype=1", &tt_element_f64, boxes * s->particles * TT_AMR_REALS);
    f->variables[TT_AMR_PINTS].max_blocks = f->variables[TT_AMR_PREALS].max_blocks = (unsigned)most;
}
