/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is in a history file, as many variables of each kind as the models write. Where a file has
 * hundreds of fields alike, they are numbered. */
#include <stdio.h>
#include <string.h>

#include "workloads/climate/climate.h"

/* Lengths that the options say. */
enum { LEVELS = -1, INTERFACES = -2, LATITUDES = -3, LONGITUDES = -4 };
/* FIELD: double, or float if asked for. */
enum type { FIELD, DOUBLE, FLOAT, INT, CHAR };
enum { H0 = 1, H1 = 2, BOTH = H0 | H1 };

struct group {
    unsigned files;
    int map; /* from 1 on; 0: rank 0 has it */
    int length;
    enum type type;
    unsigned count; /* name_1 to name_count; 0: names, each one variable */
    const char *names;
};

static const struct group f_fixed[] = {
    {BOTH, 2, 0, DOUBLE, 0, "lat lon"},
    {BOTH, 1, 0, DOUBLE, 0, "area"},
    {BOTH, 0, LEVELS, DOUBLE, 0, "lev hyam hybm"},
    {BOTH, 0, INTERFACES, DOUBLE, 0, "ilev hyai hybi"},
    {BOTH, 0, 1, DOUBLE, 0, "P0"},
    {BOTH, 0, 1, INT, 0, "ndbase nsbase nbdate nbsec mdt"},
    {0},
};
static const struct group f_records[] = {
    {BOTH, 0, 1, DOUBLE, 0, "time"},
    {BOTH, 0, 1, INT, 0, "date datesec"},
    {BOTH, 0, 2, DOUBLE, 0, "time_bnds"},
    {BOTH, 0, 8, CHAR, 0, "date_written time_written"},
    {BOTH, 0, 1, INT, 0, "ndcur nscur"},
    {BOTH, 0, 1, DOUBLE, 0, "co2vmr ch4vmr n2ovmr f11vmr f12vmr sol_tsi"},
    {BOTH, 0, 1, INT, 0, "nsteph"},
    {H0, 2, 0, FIELD, 321, "surface"},
    {H0, 3, 0, FIELD, 63, "profile"},
    {H1, 2, 0, FIELD, 20, "surface"},
    {H1, 3, 0, FIELD, 1, "profile"},
    {0},
};
static const struct group g_fixed[] = {
    {BOTH, 1, 0, INT, 0, "indexToCellID maxLevelCell"},
    {BOTH, 2, 0, INT, 0, "maxLevelEdgeTop"},
    {BOTH, 3, 0, INT, 0, "cellMask"},
    {BOTH, 4, 0, INT, 0, "edgeMask"},
    {BOTH, 5, 0, INT, 0, "vertexMask"},
    {BOTH, 0, LEVELS, DOUBLE, 0,
     "refZMid refLayerThickness refBottomDepth vertCoordMovementWeights"},
    {0},
};
static const struct group g_records[] = {
    {BOTH, 0, 64, CHAR, 0, "xtime"},
    {BOTH, 0, 1, DOUBLE, 6, "global"},
    {BOTH, 1, 0, DOUBLE, 4, "onCells"},
    {BOTH, 2, 0, DOUBLE, 1, "onEdges"},
    {BOTH, 3, 0, DOUBLE, 24, "cellLayers"},
    {BOTH, 4, 0, DOUBLE, 1, "edgeLayers"},
    {BOTH, 5, 0, DOUBLE, 1, "vertexLayers"},
    {BOTH, 6, 0, DOUBLE, 4, "cellInterfaces"},
    {0},
};
static const struct group i_fixed[] = {
    {BOTH, 0, 15, FLOAT, 0, "levgrnd levdcmp"},
    {BOTH, 0, 10, FLOAT, 0, "levlak"},
    {BOTH, 0, LATITUDES, FLOAT, 0, "lat"},
    {BOTH, 0, LONGITUDES, FLOAT, 0, "lon"},
    {BOTH, 1, 0, FLOAT, 0, "area topo landfrac"},
    {BOTH, 1, 0, INT, 0, "landmask pftmask"},
    {H0, 2, 0, FIELD, 0, "ZSOI DZSOI WATSAT SUCSAT BSW HKSAT"},
    {H0, 3, 0, FIELD, 0, "ZLAKE DZLAKE"},
    {0},
};
static const struct group i_records[] = {
    {BOTH, 0, 1, FLOAT, 0, "time"},         {BOTH, 0, 1, INT, 0, "mcdate mcsec mdcur mscur nstep"},
    {BOTH, 0, 2, DOUBLE, 0, "time_bounds"}, {BOTH, 0, 16, CHAR, 0, "date_written time_written"},
    {BOTH, 1, 0, FIELD, 460, "surface"},    {BOTH, 2, 0, FIELD, 69, "ground"},
    {BOTH, 3, 0, FIELD, 2, "lake"},         {BOTH, 4, 0, FIELD, 1, "unit"},
    {BOTH, 5, 0, FIELD, 1, "plant"},        {0},
};

static uint64_t length_of(const struct tt_climate_mesh *m, int length)
{
    switch (length) {
    case LEVELS:
        return m->levels;
    case INTERFACES:
        return m->levels + 1;
    case LATITUDES:
        return m->options->latitudes;
    case LONGITUDES:
        return m->options->longitudes;
    default:
        return (uint64_t)length;
    }
}

static const struct tt_element *element_of(const struct tt_climate_mesh *m, enum type type)
{
    static const struct tt_element text = {TT_CHAR, 1, 0, NULL};
    static const struct tt_element *const elements[] = {
        [DOUBLE] = &tt_element_f64,
        [FLOAT] = &tt_element_f32,
        [INT] = &tt_element_i32,
        [CHAR] = &text,
    };

    if (type == FIELD)
        type = m->options->type ? FLOAT : DOUBLE;
    return elements[type];
}

/* Of one group; list may be NULL. */
static unsigned add_group(const struct tt_climate_mesh *m, const struct group *g, bool per_record,
                          struct tt_climate_variable *list)
{
    const char *name = g->names;
    unsigned n = 0;

    for (; g->count ? n < g->count : *name != 0; n++) {
        int length = (int)strcspn(name, " ");

        if (list) {
            struct tt_climate_variable *v = &list[n];

            *v = (struct tt_climate_variable){.map = g->map - 1,
                                              .per_record = per_record,
                                              .element = element_of(m, g->type),
                                              .length = length_of(m, g->length)};
            if (g->count)
                snprintf(v->name, sizeof v->name, "%s_%03u", name, n + 1);
            else
                snprintf(v->name, sizeof v->name, "%.*s", length, name);
        }
        if (!g->count)
            name += length + (name[length] == ' ');
    }
    return n;
}

unsigned tt_climate_variables(const struct tt_climate_mesh *m, int file,
                              struct tt_climate_variable *list)
{
    static const struct group *const groups[][2] = {
        {f_fixed, f_records}, {g_fixed, g_records}, {i_fixed, i_records}};
    unsigned n = 0;

    for (int per_record = 0; per_record < 2; per_record++)
        for (const struct group *g = groups[m->options->which][per_record]; g->files; g++)
            if (g->files & 1u << file)
                n += add_group(m, g, per_record, list ? list + n : NULL);
    return n;
}

/* Only one of two files has several records: F's h1 and I's h0. */
static int file_of_records(const struct tt_climate_options *o)
{
    return o->which == TT_CLIMATE_F;
}

unsigned tt_climate_files(const struct tt_climate_options *o, int files[2])
{
    if (o->which == TT_CLIMATE_G || o->files != TT_CLIMATE_BOTH) {
        files[0] = o->files == TT_CLIMATE_H1;
        return 1;
    }
    files[0] = file_of_records(o);
    files[1] = !files[0];
    return 2;
}

uint64_t tt_climate_records(const struct tt_climate_options *o, int file)
{
    return o->which == TT_CLIMATE_G || file == file_of_records(o) ? o->records : 1;
}
