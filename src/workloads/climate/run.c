/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: compute, post record after record, flush every few of them; then perhaps read
 * them all with the same decomposition, and check every value. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "base/mix.h"
#include "engine/engine.h"
#include "workloads/climate/climate.h"
#include "workloads/particles/particles.h"

#define POISON 0xa5

/* What a blob file says of a map, so that anybody can find an element. */
enum { NREQS, BLOB_START, BLOB_COUNT, OFFSETS, LENGTHS, NINDEX };

/* A map as this rank sees it. */
struct view {
    struct tt_climate_map map;
    struct tt_run *runs; /* the map's, for as many records as are flushed at once */
    uint64_t array;      /* elements of the whole array */
    uint64_t sums[2];    /* of all ranks: requests, elements */
    uint64_t before[2];  /* of the ranks before this one */
    int32_t nreqs, *lengths;
    int64_t blob_start, blob_count, *offsets;
};

/* A variable as this rank sees it. */
struct item {
    struct tt_climate_content content; /* of one record */
    uint64_t elements;                 /* of one record; 0: this rank has none of it */
    uint64_t start;                    /* in the last dimension, if they lie in one piece */
    const struct tt_run *runs;         /* of all records of a flush; NULL: one piece */
    struct tt_run whole;               /* what content.runs points to without a map */
    const void *index;                 /* what it holds if it describes a map; else NULL */
    char *data;
};

/* A history file. */
struct history {
    int number; /* h0 or h1 */
    char *path;
    uint64_t records, flush, steps;
    unsigned nvariables, nfixed, nblocks; /* nfixed: the first blocks, of the first dump alone */
    struct tt_climate_variable *list;
    struct tt_variable *variables;
    struct item *items;
    struct tt_block *blocks;
    char *memory;
    struct tt_write_options rules;
    struct tt_step_times *times;
};

struct job {
    struct tt_engine *engine;
    const struct tt_climate_options *options;
    struct tt_climate_mesh mesh;
    struct view views[TT_CLIMATE_MAPS];
    struct history files[2];
    unsigned nfiles;
    struct tt_particles_work *work; /* what is computed on; NULL: nothing is */
    uint64_t iteration, iterations;
    struct history *now; /* the file that is open */
    struct tt_output *output;
    struct tt_series *series;
    struct tt_tally tallies[2]; /* of files that were written, or read: by enum tt_direction */
};

static bool writes(const struct job *c)
{
    return c->options->phase != TT_CLIMATE_READ;
}

static bool reads(const struct job *c)
{
    return c->options->phase != TT_CLIMATE_WRITE &&
           (tt_stack_caps(&c->engine->config->stack) & TT_CAP_STORES);
}

static bool is_blob(const struct job *c)
{
    return c->options->layout == TT_CLIMATE_BLOB;
}

/* ---- maps ---- */

static int make_index(struct view *v, struct tt_error *e)
{
    size_t n = v->map.nruns;

    v->offsets = malloc((n + 1) * sizeof *v->offsets);
    v->lengths = malloc((n + 1) * sizeof *v->lengths);
    if (!v->offsets || !v->lengths)
        return tt_fail_nomem(e, "the index of blobs");
    for (size_t i = 0; i < n; i++) {
        v->offsets[i] = (int64_t)v->map.runs[i].start;
        v->lengths[i] = (int32_t)v->map.runs[i].length;
    }
    return TT_OK;
}

static int make_view(struct job *c, int map, uint64_t flush, struct tt_error *e)
{
    struct view *v = &c->views[map];
    uint64_t dims[3];
    int n = tt_climate_map_dims(&c->mesh, map, dims);
    int rc = tt_climate_map_make(&v->map, &c->mesh, map, (uint64_t)c->engine->rank, e);

    v->array = 1;
    while (n-- > 0)
        v->array *= dims[n];
    if (rc == TT_OK && is_blob(c))
        return make_index(v, e);
    if (rc != TT_OK || flush == 1) {
        v->runs = v->map.runs;
        return rc;
    }
    v->runs = malloc((v->map.nruns * flush + 1) * sizeof *v->runs);
    if (!v->runs)
        return tt_fail_nomem(e, "a list of requests");
    for (uint64_t r = 0, i = 0; r < flush; r++)
        for (size_t k = 0; k < v->map.nruns; k++, i++)
            v->runs[i] =
                (struct tt_run){v->map.runs[k].start + r * v->array, v->map.runs[k].length};
    return TT_OK;
}

/* Collective. */
static void place_blob(struct job *c, struct view *v)
{
    uint64_t mine[2] = {v->map.nruns, v->map.elements};

    MPI_Exscan(mine, v->before, 2, MPI_UINT64_T, MPI_SUM, c->engine->comm);
    MPI_Allreduce(mine, v->sums, 2, MPI_UINT64_T, MPI_SUM, c->engine->comm);
    if (c->engine->rank == 0)
        v->before[0] = v->before[1] = 0;
    v->nreqs = (int32_t)v->map.nruns;
    v->blob_start = (int64_t)v->before[1];
    v->blob_count = (int64_t)v->map.elements;
}

/* What the plan does not say. */
static int tell_sizes(struct job *c, struct tt_error *e)
{
    const struct tt_climate_options *o = c->mesh.options;
    struct tt_facts facts = {0};
    char text[96];
    int rc;

    if (o->which == TT_CLIMATE_F)
        snprintf(text, sizeof text, "columns %" PRIu64 ", levels %" PRIu64, o->columns, o->levels);
    else if (o->which == TT_CLIMATE_I)
        snprintf(text, sizeof text, "latitudes %" PRIu64 ", longitudes %" PRIu64, o->latitudes,
                 o->longitudes);
    else
        snprintf(text, sizeof text,
                 "cells %" PRIu64 ", edges %" PRIu64 ", vertices %" PRIu64 ", levels %" PRIu64,
                 o->cells, o->edges, o->vertices, o->levels);
    rc = tt_facts_add(&facts, "climate.map", NULL, text, TT_IN_EFFECT, "the file says the sizes");
    if (rc == TT_OK)
        tt_facts_keep(c->engine, &facts);
    tt_facts_free(&facts);
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "a fact");
}

static int make_views(struct job *c, struct tt_error *e)
{
    int nmaps = tt_climate_nmaps(c->options), rc;
    uint64_t sums[TT_CLIMATE_MAPS][3];

    rc = tt_climate_mesh_make(&c->mesh, c->options, (uint64_t)c->engine->size, e);
    for (int i = 0; i < nmaps; i++) {
        const struct tt_climate_map *map = &c->views[i].map;

        if (rc == TT_OK)
            rc = make_view(c, i, c->options->flush, e);
        sums[i][0] = map->elements;
        sums[i][1] = map->listed;
        sums[i][2] = map->ends;
    }
    rc = tt_agree_and_tell(c->engine->comm, rc, false,
                           &(struct tt_told){.nsums = 3 * nmaps, .sums = sums[0]}, e);
    if (rc != TT_OK)
        return rc;
    for (int i = 0; i < nmaps && c->mesh.file && rc == TT_OK; i++)
        rc = tt_climate_map_file_check(&c->mesh, i, sums[i], i % c->engine->size == c->engine->rank,
                                       e);
    if (rc == TT_OK && c->mesh.file)
        rc = tell_sizes(c, e);
    rc = tt_agree(c->engine->comm, rc, e);
    for (int i = 0; i < nmaps && is_blob(c) && rc == TT_OK; i++)
        place_blob(c, &c->views[i]);
    return rc;
}

/* ---- variables ---- */

/* A description of a map is a variable as any other; rank after rank has a part of it. */
static void describe_index(struct job *c, struct history *h, unsigned first, int map)
{
    static const char *const names[] = {"nreqs", "blob_start", "blob_count", "offsets", "lengths"};
    const struct view *v = &c->views[map];
    const void *values[] = {&v->nreqs, &v->blob_start, &v->blob_count, v->offsets, v->lengths};

    for (unsigned i = 0; i < NINDEX; i++) {
        struct tt_climate_variable *x = &h->list[first + i];
        struct item *it = &h->items[first + i];
        bool is_list = i == OFFSETS || i == LENGTHS; /* a number per request; else per rank */

        *x = (struct tt_climate_variable){
            .map = map,
            .element = i == NREQS || i == LENGTHS ? &tt_element_i32 : &tt_element_i64,
            .length = is_list ? v->sums[0] : (uint64_t)c->engine->size};
        snprintf(x->name, sizeof x->name, "D%d.%s", map + 1, names[i]);
        it->index = values[i];
        it->elements = is_list ? v->map.nruns : 1;
        it->start = is_list ? v->before[0] : (uint64_t)c->engine->rank;
    }
}

/* What this rank has of a variable. */
static void share_variable(struct job *c, const struct history *h, unsigned i)
{
    const struct tt_climate_variable *x = &h->list[i];
    struct item *it = &h->items[i];
    const struct view *v = x->map == TT_CLIMATE_ALONE ? NULL : &c->views[x->map];

    it->content = (struct tt_climate_content){
        .key = tt_mix(c->engine->config->run->seed + (uint64_t)h->number) + tt_mix(i),
        .element = x->element,
        .spacing = c->options->memory ? 2 : 1,
        .loss = tt_stack_loss(&c->engine->config->stack),
        .nruns = 1,
        .runs = &it->whole};
    it->whole.length = it->elements = c->engine->rank == 0 ? x->length : 0;
    if (!v)
        return;
    it->content.nruns = v->map.nruns;
    it->content.runs = v->map.runs;
    it->elements = v->map.elements;
    it->start = v->before[1];
    it->runs = is_blob(c) ? NULL : v->runs;
}

static void describe_variable(const struct job *c, const struct history *h, unsigned i)
{
    const struct tt_climate_variable *x = &h->list[i];
    struct tt_variable *v = &h->variables[i];

    *v = (struct tt_variable){
        .path = x->name, .element = x->element, .per_step = x->per_record, .max_blocks = 1};
    if (x->per_record && h->flush > 1)
        v->dims[v->ndims++] = h->flush;
    if (h->items[i].index || x->map == TT_CLIMATE_ALONE)
        v->dims[v->ndims++] = x->length;
    else if (is_blob(c))
        v->dims[v->ndims++] = c->views[x->map].sums[1];
    else
        v->ndims += tt_climate_map_dims(&c->mesh, x->map, v->dims + v->ndims);
}

/* ---- files ---- */

static uint64_t spacing_of(const struct item *it)
{
    return it->index ? 1 : it->content.spacing;
}

/* Records that lie side by side in memory. */
static uint64_t records_at_once(const struct history *h, unsigned i)
{
    return h->list[i].per_record ? h->flush : 1;
}

static char *data_of_record(const struct history *h, unsigned i, uint64_t record)
{
    const struct item *it = &h->items[i];

    return it->data + record % records_at_once(h, i) * it->elements * spacing_of(it) *
                          h->list[i].element->size;
}

static void add_block(struct history *h, unsigned i)
{
    const struct tt_variable *v = &h->variables[i];
    const struct item *it = &h->items[i];
    struct tt_block *b = &h->blocks[h->nblocks++];
    uint64_t records = records_at_once(h, i), n = it->elements * records;
    uint64_t room = n * spacing_of(it), spacing = spacing_of(it), none = 0;
    uint64_t start[2] = {0, 0}, count[2] = {records, records};

    *b = (struct tt_block){.variable = i, .data = it->data};
    start[v->ndims > 1] = it->start;
    count[v->ndims > 1] = it->elements;
    if (it->runs)
        tt_select_runs(&b->file, v->ndims, v->dims, it->content.nruns * records, it->runs);
    else
        tt_select_slab(&b->file, v->ndims, v->dims, start, NULL, count, NULL);
    if (spacing == 1)
        tt_select_all(&b->memory, 1, &n);
    else
        tt_select_slab(&b->memory, 1, &room, &none, &spacing, &n, NULL);
}

static int allocate_data(struct history *h, struct tt_error *e)
{
    uint64_t bytes = 0, at = 0;

    for (int pass = 0; pass < 2; pass++, at = 0) {
        for (unsigned i = 0; i < h->nvariables; i++) {
            const struct item *it = &h->items[i];

            if (pass)
                h->items[i].data = h->memory + at;
            at += it->elements * spacing_of(it) * records_at_once(h, i) * h->list[i].element->size;
            at = (at + 7) / 8 * 8;
        }
        bytes = at;
        if (!pass && !(h->memory = malloc(bytes + 1)))
            return tt_fail_nomem(e, "the fields");
    }
    memset(h->memory, POISON, bytes);
    return TT_OK;
}

static void fill(const struct history *h, uint64_t record, bool per_record, bool changes)
{
    for (unsigned i = 0; i < h->nvariables; i++) {
        const struct item *it = &h->items[i];

        if (h->list[i].per_record != per_record)
            continue;
        if (it->index)
            memcpy(it->data, it->index, it->elements * h->list[i].element->size);
        else if (it->elements > 0)
            tt_climate_fill(&it->content, record, changes, data_of_record(h, i, record));
    }
}

static int describe_file(struct job *c, struct history *h, struct tt_error *e)
{
    unsigned n = tt_climate_variables(&c->mesh, h->number, NULL);
    int nmaps = tt_climate_nmaps(c->options), rc;

    h->nvariables = n + (is_blob(c) ? NINDEX * (unsigned)nmaps : 0);
    h->list = calloc(h->nvariables, sizeof *h->list);
    h->variables = calloc(h->nvariables, sizeof *h->variables);
    h->items = calloc(h->nvariables, sizeof *h->items);
    h->blocks = calloc(h->nvariables, sizeof *h->blocks);
    h->times = calloc(h->steps, sizeof *h->times);
    if (!h->list || !h->variables || !h->items || !h->blocks || !h->times || !h->path)
        return tt_fail_nomem(e, "the variables");
    tt_climate_variables(&c->mesh, h->number, h->list);
    for (unsigned i = 0; i < n; i++)
        share_variable(c, h, i);
    for (int map = 0; map < nmaps && is_blob(c); map++)
        describe_index(c, h, n + NINDEX * (unsigned)map, map);
    rc = allocate_data(h, e);
    for (unsigned i = 0; i < h->nvariables; i++)
        describe_variable(c, h, i);
    for (int per_record = 0; per_record < 2; per_record++) {
        h->nfixed = h->nblocks;
        for (unsigned i = 0; i < h->nvariables; i++)
            if (h->list[i].per_record == per_record && h->items[i].elements > 0)
                add_block(h, i);
    }
    if (rc == TT_OK && writes(c)) {
        fill(h, 0, false, false);
        for (uint64_t r = 0; r < h->flush; r++)
            fill(h, r, true, false);
    }
    return rc;
}

static int make_files(struct job *c, struct tt_error *e)
{
    const struct tt_climate_options *o = c->options;
    char *path = tt_data_path_of(c->engine, o->path, "climate");
    int numbers[2], rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    c->nfiles = tt_climate_files(o, numbers);
    for (unsigned i = 0; i < c->nfiles && rc == TT_OK; i++) {
        struct history *h = &c->files[i];

        h->number = numbers[i];
        h->records = tt_climate_records(o, h->number);
        h->flush = h->records > 1 ? o->flush : 1;
        h->steps = h->records / h->flush;
        h->rules = (struct tt_write_options){.every = h->flush};
        c->iterations += h->records * writes(c) + h->steps * reads(c);
        if (o->which == TT_CLIMATE_G)
            h->path = strdup(path);
        else if (asprintf(&h->path, "%s_h%d", path, h->number) < 0)
            h->path = NULL;
        rc = describe_file(c, h, e);
    }
    free(path);
    if (rc == TT_OK && o->compute.count > 0 && writes(c) &&
        !(c->work = tt_particles_work_make(c->engine->config->run->seed)))
        rc = tt_fail_nomem(e, "what is computed on");
    return rc;
}

static void release(struct job *c)
{
    for (int i = 0; i < TT_CLIMATE_MAPS; i++) {
        struct view *v = &c->views[i];

        if (v->runs != v->map.runs)
            free(v->runs);
        tt_climate_map_free(&v->map);
        free(v->offsets);
        free(v->lengths);
    }
    for (unsigned i = 0; i < c->nfiles; i++) {
        struct history *h = &c->files[i];

        free(h->path);
        free(h->list);
        free(h->variables);
        free(h->items);
        free(h->blocks);
        free(h->memory);
        free(h->times);
    }
    tt_climate_mesh_free(&c->mesh);
    free(c->work);
}

static int close_file(struct job *c, struct tt_error *e)
{
    int written = tt_output_close(c->output, e), read = tt_series_close(c->series, e);

    c->output = NULL;
    c->series = NULL;
    return written != TT_OK ? written : read;
}

static int open_file(struct job *c, enum tt_access access, struct tt_error *e)
{
    struct history *h = c->now;
    struct tt_series_spec spec = {.path = h->path,
                                  .access = access,
                                  .policy = TT_APPEND,
                                  .steps = h->steps,
                                  .nvariables = h->nvariables,
                                  .variables = h->variables,
                                  .times = access == TT_CREATE ? h->times : NULL};

    return access == TT_CREATE
               ? tt_output_open_as(c->engine, &h->rules, &spec, h->records, &c->output, e)
               : tt_series_open(c->engine, &spec, &c->series, e);
}

static int open_to_write(struct job *c, struct tt_error *e)
{
    return open_file(c, TT_CREATE, e);
}

static int open_to_read(struct job *c, struct tt_error *e)
{
    return open_file(c, TT_READ_ONLY, e);
}

/* ---- records ---- */

static void compute(struct job *c)
{
    int64_t t = tt_now_ns();

    if (c->work) {
        tt_particles_work_do(c->work, c->options->compute.count);
        t = tt_passes_add(c->engine, t);
    }
    if (c->options->pause > 0) {
        tt_sleep_until(t + (int64_t)(c->options->pause * 1e9));
        tt_phase_add(c->engine, TT_COMPUTE, t);
    }
}

/* An iteration is a record, and a dump all records since the last one. */
static int write_records(struct job *c, struct tt_error *e)
{
    struct history *h = c->now;
    int rc = TT_OK;

    for (uint64_t r = 0; r < h->records && rc == TT_OK; r++) {
        unsigned skip = r < h->flush ? 0 : h->nfixed;
        int64_t t;

        rc = tt_iteration_begin(c->engine, ++c->iteration, c->iterations, e);
        if (rc == TT_OK) {
            if (c->iteration > 1)
                compute(c);
            t = tt_now_ns();
            fill(h, r, true, true);
            tt_phase_add(c->engine, TT_COMPUTE, t);
            rc = tt_output_write(c->output, c->iteration, h->nblocks - skip, h->blocks + skip, e);
        }
        tt_iteration_end(c->engine);
    }
    return rc == TT_OK ? tt_output_drain(c->output, e) : rc;
}

static int check_step(const struct history *h, uint64_t step, struct tt_error *e)
{
    for (unsigned i = 0; i < h->nvariables; i++) {
        const struct item *it = &h->items[i];
        uint64_t wrong = 0;
        bool right = true;

        if (it->elements == 0 || (step > 0 && !h->list[i].per_record))
            continue;
        if (it->index)
            right = memcmp(it->data, it->index, it->elements * h->list[i].element->size) == 0;
        for (uint64_t r = 0; !it->index && right && r < records_at_once(h, i); r++)
            right = tt_climate_matches(&it->content, step * records_at_once(h, i) + r,
                                       data_of_record(h, i, r), &wrong);
        if (!right)
            return tt_fail(
                e, TT_CORRUPT,
                "flush %llu: element %llu of '%s' is not what was written with these keys and "
                "this seed",
                (unsigned long long)step, (unsigned long long)wrong, h->list[i].name);
    }
    return TT_OK;
}

/* Neither to spoil what an earlier step has left nor to check is part of the run. */
static int unmeasured(struct job *c, uint64_t step, bool check, struct tt_error *e)
{
    const struct history *h = c->now;
    int rc = tt_agree(c->engine->comm, tt_unmeasured_begin(c->engine, e), e);

    if (rc != TT_OK)
        return rc;
    for (unsigned i = 0; i < h->nblocks && !check; i++) {
        const struct tt_block *b = &h->blocks[i];

        memset(b->data, POISON,
               tt_selection_count(&b->memory) * spacing_of(&h->items[b->variable]) *
                   h->list[b->variable].element->size);
    }
    if (check)
        rc = check_step(h, step, e);
    rc = tt_agree(c->engine->comm, rc, e);
    tt_unmeasured_end(c->engine);
    return rc;
}

static int read_records(struct job *c, struct tt_error *e)
{
    const struct history *h = c->now;
    int rc = TT_OK;

    for (uint64_t step = 0; step < h->steps && rc == TT_OK; step++) {
        unsigned skip = step == 0 ? 0 : h->nfixed;

        if (c->options->verify)
            rc = unmeasured(c, step, false, e);
        if (rc != TT_OK)
            return rc;
        rc = tt_iteration_begin(c->engine, ++c->iteration, c->iterations, e);
        if (rc == TT_OK)
            rc = tt_series_load(c->series, step, h->nblocks - skip, h->blocks + skip, e);
        tt_iteration_end(c->engine);
        if (rc == TT_OK && c->options->verify)
            rc = unmeasured(c, step, true, e);
    }
    return rc;
}

/* ---- the run ---- */

static int tallied(struct job *c, enum tt_direction direction,
                   int (*act)(struct job *, struct tt_error *), struct tt_error *e)
{
    struct tt_tally *t = &c->tallies[direction];
    int rc;

    tt_tally_begin(c->engine, t);
    rc = act(c, e);
    tt_tally_end(c->engine, t);
    return rc;
}

/* Whichever is open now. */
static int close_now(struct job *c, struct tt_error *e)
{
    return c->output || c->series ? tallied(c, c->output ? TT_WRITING : TT_READING, close_file, e)
                                  : TT_OK;
}

static int turn_to(struct job *c, unsigned file, enum tt_direction direction, struct tt_error *e)
{
    int rc = close_now(c, e);

    c->now = &c->files[file];
    return rc == TT_OK
               ? tallied(c, direction, direction == TT_WRITING ? open_to_write : open_to_read, e)
               : rc;
}

/* The first file is opened before the measured time, and the last one closed after it. */
static int measured(struct job *c, struct tt_error *e)
{
    int rc = turn_to(c, 0, writes(c) ? TT_WRITING : TT_READING, e);

    if (rc == TT_OK)
        rc = tt_engine_start(c->engine, e);
    for (unsigned i = 0; i < c->nfiles && rc == TT_OK && writes(c); i++) {
        if (i > 0)
            rc = turn_to(c, i, TT_WRITING, e);
        if (rc == TT_OK)
            rc = tallied(c, TT_WRITING, write_records, e);
    }
    for (unsigned i = 0; i < c->nfiles && rc == TT_OK && reads(c); i++) {
        if (i > 0 || writes(c))
            rc = turn_to(c, i, TT_READING, e);
        if (rc == TT_OK)
            rc = tallied(c, TT_READING, read_records, e);
    }
    return rc == TT_OK ? tt_engine_stop(c->engine, e) : rc;
}

/* ---- figures ---- */

/* Of one rank, without dumps of baseline epochs. */
static void count_requests(const struct job *c, double *requests, double *bytes)
{
    for (unsigned f = 0; f < c->nfiles; f++) {
        const struct history *h = &c->files[f];

        for (uint64_t step = 0; step < h->steps; step++)
            for (unsigned i = step ? h->nfixed : 0; i < h->nblocks && !h->times[step].excluded;
                 i++) {
                const struct tt_block *b = &h->blocks[i];
                const struct item *it = &h->items[b->variable];
                uint64_t each = it->runs ? it->content.nruns : 1;

                *requests += (double)(each * records_at_once(h, b->variable));
                *bytes +=
                    (double)(tt_selection_count(&b->file) * h->list[b->variable].element->size);
            }
    }
}

/* Collective. */
static void report(struct job *c)
{
    double table[TT_CLIMATE_NTIMES * 4], requests = 0, bytes = 0;

    for (int d = 0; d < 2; d++) {
        const double *spent = c->tallies[d].spent;
        double times[TT_CLIMATE_NTIMES] = {
            [TT_CLIMATE_OPEN] = spent[TT_OPEN],
            [TT_CLIMATE_DEFINE] = spent[TT_IO_DEFINE],
            [TT_CLIMATE_POST] = spent[TT_COPY] + spent[TT_SUBMIT],
            [TT_CLIMATE_FLUSH] = spent[TT_WAIT] + spent[TT_SYNC],
            [TT_CLIMATE_LOAD] = spent[TT_LOAD],
            [TT_CLIMATE_CLOSE] = spent[TT_CLOSE],
            [TT_CLIMATE_END_TO_END] = c->tallies[d].observed,
        };
        double least[TT_CLIMATE_NTIMES], most[TT_CLIMATE_NTIMES];

        MPI_Allreduce(times, least, TT_CLIMATE_NTIMES, MPI_DOUBLE, MPI_MIN, c->engine->comm);
        MPI_Allreduce(times, most, TT_CLIMATE_NTIMES, MPI_DOUBLE, MPI_MAX, c->engine->comm);
        for (int i = 0; i < TT_CLIMATE_NTIMES; i++) {
            table[i * 4 + d * 2] = least[i];
            table[i * 4 + d * 2 + 1] = most[i];
        }
    }
    tt_result_table(c->engine, "climate", TT_CLIMATE_NTIMES, 4, table);
    count_requests(c, &requests, &bytes);
    tt_result(c->engine, "requests", TT_RESULT_SUM, requests);
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, c->engine->comm);
    if (writes(c))
        tt_result(c->engine, "open_to_close_rate", TT_RESULT_SAME,
                  bytes / table[TT_CLIMATE_END_TO_END * 4 + 1]);
}

int tt_climate_run(struct tt_engine *engine, struct tt_error *e)
{
    struct job c = {.engine = engine, .options = tt_config_opts(engine->config, "climate")};
    int rc = make_views(&c, e), closed;

    if (rc == TT_OK)
        rc = tt_agree(engine->comm, make_files(&c, e), e);
    if (rc == TT_OK)
        rc = measured(&c, e);
    if (rc == TT_OK && c.options->phase == TT_CLIMATE_WRITE_READ && !reads(&c))
        tt_warning(engine, "the backend keeps nothing: written only, not read back");
    closed = close_now(&c, e);
    rc = rc == TT_OK ? closed : rc;
    if (rc == TT_OK && !tt_engine_is_endless(engine))
        report(&c);
    release(&c);
    return rc;
}
