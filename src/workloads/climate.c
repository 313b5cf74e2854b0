/* SPDX-License-Identifier: GPL-3.0-or-later */
/* History files of a climate model as E3SM writes them: hundreds of variables, each in a great many
 * tiny pieces. Its parts are in climate/. */
#include <stdlib.h>

#include "workloads/climate/climate.h"
#include "plan/config.h"
#include "plan/workload.h"
#include "workloads/particles/particles.h"

static const char *const cases[] = {"F", "G", "I", NULL};
static const char *const files[] = {"both", "h0", "h1", NULL};
static const char *const layouts[] = {"canonical", "blob", NULL};
static const char *const types[] = {"double", "float", NULL};
static const char *const memories[] = {"contiguous", "interleaved", NULL};
static const char *const phases[] = {"write", "read", "both", NULL};

#define AT(member) offsetof(struct tt_climate_options, member)
#define MOST (INT64_C(1) << 32)
#define MOST_POINTS (1 << 28)
static const struct tt_param params[] = {
    {"case", TT_PARAM_CHOICE, AT(which), "F", NULL,
     "the atmosphere (F), the ocean (G) or the land (I)", .choices = cases},
    {"files", TT_PARAM_CHOICE, AT(files), "both", NULL,
     "history files of F and I: h0, h1, or the one with all records and then the other",
     .choices = files},
    {"columns", TT_PARAM_COUNT, AT(columns), "866", NULL, "of the atmosphere (F)", 1, MOST},
    {"levels", TT_PARAM_COUNT, AT(levels), "0", NULL, "of F and G; 0: 72 in F, 100 in G", 0,
     1 << 20},
    {"cells", TT_PARAM_COUNT, AT(cells), "285", NULL, "of the ocean's mesh (G)", 1, MOST},
    {"edges", TT_PARAM_COUNT, AT(edges), "879", NULL, "between them", 1, MOST},
    {"vertices", TT_PARAM_COUNT, AT(vertices), "593", NULL, "at their corners", 1, MOST},
    {"latitudes", TT_PARAM_COUNT, AT(latitudes), "96", NULL, "of the land's grid (I)", 1, 1 << 20},
    {"longitudes", TT_PARAM_COUNT, AT(longitudes), "144", NULL, "of it", 1, 1 << 20},
    {"land", TT_PARAM_COUNT, AT(land), "41", "%", "how much of that grid is land (I)", 1, 99},
    {"map", TT_PARAM_TEXT, AT(map), NULL, NULL,
     "decompositions of a real run, as E3SM's I/O benchmark has them: a classic NetCDF file, which "
     "says the sizes",
     .placeholder = "FILE"},
    {"records", TT_PARAM_COUNT, AT(records), "5", NULL,
     "of G, F's h1 and I's h0; the other file has one", 1, 1 << 24},
    {"flush", TT_PARAM_COUNT, AT(flush), "1", "records",
     "gathered in memory and written by one dump; divides the number of records", 1, 1 << 24},
    {"layout", TT_PARAM_CHOICE, AT(layout), "canonical", NULL,
     "every element at its place in the array, or one piece per rank, variable and record, with "
     "an index",
     .choices = layouts},
    {"type", TT_PARAM_CHOICE, AT(type), "double", NULL, "of the fields of F and I",
     .choices = types},
    {"fill", TT_PARAM_BOOL, AT(fill), "no", NULL,
     "I: ranks write the sea, too; otherwise it stays a hole"},
    {"sorted", TT_PARAM_BOOL, AT(sorted), "yes", NULL,
     "ranks ask for their elements in the order of the file, or in that of the model"},
    {"memory", TT_PARAM_CHOICE, AT(memory), "contiguous", NULL,
     "a variable lies in one piece of memory, or takes every second element of it",
     .choices = memories},
    {"phase", TT_PARAM_CHOICE, AT(phase), "write", NULL,
     "write, read what an earlier run with the same keys and ranks has kept at path, or both",
     .choices = phases},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL,
     "check every value that was read, outside the measured time"},
    {"compute", TT_PARAM_PASSES, AT(compute), "0", "passes",
     "computation between two records, each over 65536 particles in memory; or for how long, "
     "which is calibrated once",
     0, INT64_C(1) << 40},
    {"pause", TT_PARAM_DURATION, AT(pause), "0", "s", "sleep between two records", 0, 1000000},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; F and I add _h0 and _h1; default: a new one there",
     .placeholder = "FILE"},
    {NULL},
};

/* Nobody shall believe that a size beside a map had an effect. */
static int check_sizes(const struct tt_climate_options *o, struct tt_error *e)
{
    for (const struct tt_param *p = params; o->map && p->key; p++) {
        const uint64_t *size = (const uint64_t *)((const char *)o + p->offset);

        if (p->offset >= AT(columns) && p->offset <= AT(land) &&
            *size != strtoull(p->default_text, NULL, 10))
            return tt_fail(e, TT_USAGE, "climate.%s=%llu: climate.map says the sizes", p->key,
                           (unsigned long long)*size);
    }
    return TT_OK;
}

static int check_idle(const struct tt_climate_options *o, struct tt_error *e)
{
    bool f = o->which == TT_CLIMATE_F, g = o->which == TT_CLIMATE_G, i = o->which == TT_CLIMATE_I;
    const struct tt_idle idle[] = {
        {!f, "columns", "outside case F"},
        {!g, "cells edges vertices", "outside case G"},
        {!i, "latitudes longitudes land", "outside case I"},
        {i, "levels", "in case I"},
        {g, "type", "in case G"},
        {(f && o->files == TT_CLIMATE_H0) || (i && o->files == TT_CLIMATE_H1), "records flush",
         "on that file, which has one record"},
    };

    return tt_params_check_idle("climate", params, o, idle, sizeof idle / sizeof *idle, e);
}

static int climate_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_climate_options *o = tt_config_opts(config, "climate");

    if (check_idle(o, e) != TT_OK)
        return TT_USAGE;
    if (o->records % o->flush != 0)
        return tt_fail(e, TT_USAGE,
                       "climate.flush %llu does not divide climate.records %llu; give a divisor",
                       (unsigned long long)o->flush, (unsigned long long)o->records);
    if (o->which == TT_CLIMATE_G && o->files != TT_CLIMATE_BOTH)
        return tt_fail(e, TT_USAGE, "climate.files=%s: case G has one file only", files[o->files]);
    if (o->fill && o->which != TT_CLIMATE_I)
        return tt_fail(e, TT_USAGE, "climate.fill: only case I has holes");
    if (o->which == TT_CLIMATE_I && o->latitudes * o->longitudes * o->land < 100)
        return tt_fail(
            e, TT_USAGE,
            "climate.land: no point of so small a grid would be land; give a larger one");
    if (o->which == TT_CLIMATE_I && o->latitudes * o->longitudes > MOST_POINTS)
        return tt_fail(e, TT_USAGE,
                       "climate.latitudes x longitudes is more than %d, but every rank needs "
                       "memory for the whole grid",
                       MOST_POINTS);
    if (o->phase != TT_CLIMATE_WRITE && o->verify &&
        tt_stack_check_loss(&config->stack, "climate.verify=no", e) != TT_OK)
        return TT_USAGE;
    if (o->phase == TT_CLIMATE_READ && !o->path)
        return tt_fail(e, TT_USAGE, "climate.phase=read needs climate.path");
    if (o->phase == TT_CLIMATE_READ && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE, "climate.phase=read: %s keeps nothing that could be read",
                       config->run->backend);
    return check_sizes(o, e) == TT_OK ? tt_climate_check_size(o, e) : TT_USAGE;
}

/* Of all ranks, or of some where there are many: what the maps come to. */
struct sums {
    uint64_t requests, elements; /* of all ranks */
    uint64_t most_requests, most_elements;
};

#define LOOKED_AT 64

static void add_sums(const struct tt_climate_map *map, uint64_t sums[3])
{
    sums[0] += map->elements;
    sums[1] += map->listed;
    sums[2] += map->ends;
}

/* As the ranks check it, however many there are to be: all processes of the file in turn. */
static int check_file(const struct tt_climate_mesh *m, int map, struct tt_error *e)
{
    struct tt_climate_mesh few = *m;
    uint64_t sums[3] = {0};
    int rc = TT_OK;

    few.ranks = LOOKED_AT;
    for (uint64_t i = 0; i < few.ranks && rc == TT_OK; i++) {
        struct tt_climate_map one;

        rc = tt_climate_map_make(&one, &few, map, i, e);
        add_sums(&one, sums);
        tt_climate_map_free(&one);
    }
    return rc == TT_OK ? tt_climate_map_file_check(m, map, sums, true, e) : rc;
}

static int sum_maps(const struct tt_climate_mesh *m, bool checks, struct sums *sums,
                    struct tt_error *e)
{
    uint64_t looked_at = m->ranks < LOOKED_AT ? m->ranks : LOOKED_AT;
    int rc = TT_OK;

    for (int map = 0; map < tt_climate_nmaps(m->options); map++) {
        struct sums *s = &sums[map];
        uint64_t tiled[3] = {0};

        *s = (struct sums){0};
        for (uint64_t i = 0; i < looked_at && rc == TT_OK; i++) {
            struct tt_climate_map one;

            rc = tt_climate_map_make(&one, m, map, i * m->ranks / looked_at, e);
            s->requests += one.nruns;
            s->elements += one.elements;
            s->most_requests = one.nruns > s->most_requests ? one.nruns : s->most_requests;
            s->most_elements = one.elements > s->most_elements ? one.elements : s->most_elements;
            add_sums(&one, tiled);
            tt_climate_map_free(&one);
        }
        if (rc == TT_OK && m->file && looked_at == m->ranks)
            rc = tt_climate_map_file_check(m, map, tiled, true, e);
        else if (rc == TT_OK && m->file && checks)
            rc = check_file(m, map, e);
        s->requests = s->requests * m->ranks / looked_at;
        s->elements = s->elements * m->ranks / looked_at;
    }
    return rc;
}

/* Bytes of a file, and of the rank that has most of it. */
struct size {
    uint64_t fixed, record, room, memory;
};

static int size_of_file(const struct tt_climate_mesh *m, const struct sums *sums, int file,
                        struct size *out, struct tt_error *e)
{
    unsigned n = tt_climate_variables(m, file, NULL);
    struct tt_climate_variable *list = calloc(n, sizeof *list);
    bool blob = m->options->layout == TT_CLIMATE_BLOB;
    bool holes = m->options->which == TT_CLIMATE_I && !m->options->fill;

    *out = (struct size){0};
    if (!list)
        return tt_fail_nomem(e, "the variables");
    tt_climate_variables(m, file, list);
    for (unsigned i = 0; i < n; i++) {
        const struct tt_climate_variable *v = &list[i];
        uint64_t dims[3], all = v->map == TT_CLIMATE_ALONE ? v->length : 1, mine = v->length, there;
        uint64_t records = tt_climate_records(m->options, file);

        for (int d = v->map < 0 ? 0 : tt_climate_map_dims(m, v->map, dims); d-- > 0;)
            all *= dims[d];
        there = all;
        if (v->map >= 0) {
            uint64_t grid = m->options->latitudes * m->options->longitudes;

            mine = sums[v->map].most_elements;
            all = holes ? all / grid * (m->file ? sums[0].elements : m->land) : all;
            there = blob ? all : there;
        }
        *(v->per_record ? &out->record : &out->fixed) += all * v->element->size;
        out->room += there * v->element->size * (v->per_record ? records : 1);
        out->memory += mine * v->element->size *
                       (v->per_record && records > 1 ? m->options->flush : 1) *
                       (m->options->memory ? 2 : 1);
    }
    free(list);
    for (int map = 0; blob && map < tt_climate_nmaps(m->options); map++) {
        uint64_t bytes = m->ranks * 20 + sums[map].requests * 12;

        out->fixed += bytes;
        out->room += bytes;
        out->memory += sums[map].most_requests * 24;
    }
    return TT_OK;
}

static int climate_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    const struct tt_climate_options *o = tt_config_opts(config, "climate");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1, bytes = 0, room = 0, dumps = 0;
    uint64_t copies = config->run->overlap != TT_OVERLAP_NONE && o->phase != TT_CLIMATE_READ
                          ? config->run->inflight
                          : 0;
    uint64_t records = 0;
    struct sums sums[TT_CLIMATE_MAPS];
    struct tt_climate_mesh mesh;
    int numbers[2], rc = tt_climate_mesh_make(&mesh, o, ranks, e);
    unsigned n = tt_climate_files(o, numbers);

    if (rc == TT_OK)
        rc = sum_maps(&mesh, config->run->dry_run, sums, e);
    for (unsigned i = 0; i < n && rc == TT_OK; i++) {
        struct size size;

        rc = size_of_file(&mesh, sums, numbers[i], &size, e);
        records += tt_climate_records(o, numbers[i]);
        bytes += size.fixed + size.record * tt_climate_records(o, numbers[i]);
        room += size.room;
        dumps += tt_climate_records(o, numbers[i]) > 1 ? o->records / o->flush : 1;
        out->memory_per_rank += size.memory * (1 + copies);
    }
    out->memory_per_rank += mesh.memory;
    for (int map = 0; map < tt_climate_nmaps(o) && rc == TT_OK; map++)
        out->memory_per_rank +=
            sums[map].most_requests * sizeof(struct tt_run) * (o->flush > 1 ? 1 + o->flush : 1);
    if (o->phase != TT_CLIMATE_READ) {
        out->bytes_written = bytes;
        out->bytes_on_disk = room;
        out->dumps = dumps;
        out->files = n;
        out->sleep_seconds = o->pause * (double)(records - 1);
        out->compute_seconds =
            out->sleep_seconds + tt_passes_seconds(&o->compute) * (double)(records - 1);
    }
    if (o->phase != TT_CLIMATE_WRITE && (tt_stack_caps(&config->stack) & TT_CAP_STORES))
        out->bytes_read = bytes;
    tt_climate_mesh_free(&mesh);
    return rc;
}

static const struct tt_workload_column time_columns[] = {
    {"write_least", "s", "while files are written, on the rank with least"},
    {"write_most", "s", "on the rank with most"},
    {"read_least", "s", "while files are read, on the rank with least"},
    {"read_most", "s", "on the rank with most"},
    {NULL, NULL, NULL},
};
static const char *const time_rows[] = {
    [TT_CLIMATE_OPEN] = "open",
    [TT_CLIMATE_DEFINE] = "define",
    [TT_CLIMATE_POST] = "post",
    [TT_CLIMATE_FLUSH] = "flush",
    [TT_CLIMATE_LOAD] = "load",
    [TT_CLIMATE_CLOSE] = "close",
    [TT_CLIMATE_END_TO_END] = "end_to_end",
    [TT_CLIMATE_NTIMES] = NULL,
};
static const struct tt_workload_table tables[] = {{"climate", time_columns, time_rows},
                                                  {NULL, NULL, NULL}};
static const char *const shown[] = {"case", "layout", "records", NULL};

const struct tt_workload tt_workload_climate = {
    .name = "climate",
    .summary = "history files of a climate model in very many tiny pieces, as E3SM writes them",
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_climate_options),
    .shown = shown,
    .computation = &tt_particles_computation,
    .tables = tables,
    .check = climate_check,
    .estimate = climate_estimate,
    .run = tt_climate_run,
};
