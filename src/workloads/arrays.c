/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many small arrays by steps, as hdf5-iotest writes and reads them: the same tiles as arrays of
 * two, three or four dimensions, so that what differs is the format's own metadata.
 *
 * Unlike there, all variables are made when the file is, and stay open; every tile has a number of
 * its own as its value, so that none is taken for another.
 *
 * With `tile`, arrays of one to four dimensions in tiles of growing size, as h5bench's exerciser
 * writes and reads them again and again. Its second dataset, of records, has one for every element
 * here, and is read back and checked as the first is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "plan/workload.h"

/* Rows of the table "arrays" of a result: minimum and maximum over ranks, in seconds. */
enum {
    TT_ARRAYS_WRITE_PHASE, /* from before the file is made to after it is closed */
    TT_ARRAYS_CREATE,      /* making it and all variables */
    TT_ARRAYS_WRITE,       /* in transfers */
    TT_ARRAYS_READ_PHASE,
    TT_ARRAYS_OPEN,
    TT_ARRAYS_READ,
    TT_ARRAYS_FILE_SIZE, /* bytes */
    TT_ARRAYS_NROWS,
};

/* Columns of the table "repeats" of a result, a row for each: seconds of the slowest rank. */
enum { ROUND, TILE, OPENING, WRITING, SYNCING, CLOSING, READING, NCOLUMNS };

#define DIMS 4
#define ATTRIBUTE_SIZE 1025 /* and the end of the text */
#define MOST_ATTRIBUTES 1024
#define NAME 48 /* "step=" and "array=" with numbers of 32 bits */

struct arrays_options {
    uint64_t steps, arrays, rows, columns, process_rows, process_columns, rank, depth;
    uint64_t sizes, repeats, shift, memory_block, memory_stride, attributes, verify_most;
    struct tt_counts tile, ranks, growth, file_block, file_stride;
    int scaling, slowest;
    bool records, verify;
    char *path;
};
enum { WEAK, STRONG };          /* scaling */
enum { SLOW_STEP, SLOW_ARRAY }; /* slowest */

static const char *const scalings[] = {"weak", "strong", NULL};
static const char *const slowests[] = {"step", "array", NULL};

#define AT(member) offsetof(struct arrays_options, member)
static const struct tt_param params[] = {
    {"steps", TT_PARAM_COUNT, AT(steps), "20", NULL, "time steps", 1, 1000000},
    {"arrays", TT_PARAM_COUNT, AT(arrays), "500", NULL, "arrays in a step", 1, 1000000},
    {"rows", TT_PARAM_COUNT, AT(rows), "100", "elements",
     "rows of an array (strong), or of a rank's tile of it (weak)", 1, 1 << 30},
    {"columns", TT_PARAM_COUNT, AT(columns), "200", "elements", "columns, likewise", 1, 1 << 30},
    {"process_rows", TT_PARAM_COUNT, AT(process_rows), "0", "ranks",
     "rows of ranks over an array; times process_columns it is the number of ranks; 0: as many as "
     "that takes",
     0, 1 << 20},
    {"process_columns", TT_PARAM_COUNT, AT(process_columns), "1", "ranks",
     "columns of ranks over an array", 1, 1 << 20},
    {"scaling", TT_PARAM_CHOICE, AT(scaling), "weak", NULL,
     "whether more ranks have larger arrays, or smaller tiles", .choices = scalings},
    {"rank", TT_PARAM_COUNT, AT(rank), "4", "dimensions",
     "2: a variable for each array of a step, 3: for each step or array, 4: one for all", 2, 4},
    {"slowest", TT_PARAM_CHOICE, AT(slowest), "step", NULL,
     "what comes first in names and dimensions", .choices = slowests},
    {"tile", TT_PARAM_COUNTS, AT(tile), NULL, "elements",
     "dimensions of a rank's tile, 1 to 4, in place of rows, columns, scaling and rank: every "
     "array "
     "is a variable of its own"},
    {"process_grid", TT_PARAM_COUNTS, AT(ranks), NULL, "ranks",
     "over each dimension of arrays with a tile; default: all over the first"},
    {"sizes", TT_PARAM_COUNT, AT(sizes), "1", NULL, "rounds, each with larger tiles", 1, 64},
    {"growth", TT_PARAM_COUNTS, AT(growth), "2", NULL,
     "how many times as long each dimension of the tile is in the next round; the last one counts "
     "for all that follow"},
    {"repeats", TT_PARAM_COUNT, AT(repeats), "1", NULL,
     "times that a new file is written and read, in each round", 1, 100000},
    {"shift", TT_PARAM_COUNT, AT(shift), "0", "ranks",
     "a rank writes the tile of the rank that is so much higher, and reads that of twice as much",
     0, 1 << 20},
    {"file_block", TT_PARAM_COUNTS, AT(file_block), NULL, "elements",
     "a tile lies in the file in blocks of these dimensions, which divide it"},
    {"file_stride", TT_PARAM_COUNTS, AT(file_stride), NULL, "elements",
     "from one such block to the next; default: no gaps"},
    {"memory_block", TT_PARAM_COUNT, AT(memory_block), "0", "elements",
     "a tile lies in memory in blocks of so many; 0: in one piece", 0, 1 << 30},
    {"memory_stride", TT_PARAM_COUNT, AT(memory_stride), "0", "elements",
     "from one such block to the next; 0: no gaps", 0, 1 << 30},
    {"attributes", TT_PARAM_COUNT, AT(attributes), "0", NULL,
     "of 1 KiB, at the group of the arrays with a tile", 0, MOST_ATTRIBUTES},
    {"records", TT_PARAM_BOOL, AT(records), "no", NULL,
     "every array with a tile has a second one beside it, of records in place of numbers"},
    {"depth", TT_PARAM_COUNT, AT(depth), "1", "transfers", "in flight at most", 1, 4096},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL, "check every value that is read"},
    {"verify_most", TT_PARAM_BYTES, AT(verify_most), "0", "B",
     "do not check larger tiles; 0: check all"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; default: a new one there", .placeholder = "FILE"},
    {NULL},
};

/* An element of an array of records. */
struct record {
    double value;
    uint64_t place; /* in the tile */
};

static const struct tt_field record_fields[] = {
    {"value", TT_F64, 1, offsetof(struct record, value)},
    {"place", TT_U64, 1, offsetof(struct record, place)},
};
static const struct tt_element record_element = {TT_RECORD, sizeof(struct record), 2,
                                                 record_fields};

/* ---- shapes ---- */

/* A tile, in memory and in the file: count blocks, each at the next multiple of stride. */
struct shape {
    int n; /* dimensions of a tile; others may come before them */
    uint64_t tile[DIMS], ranks[DIMS];
    uint64_t count[DIMS], block[DIMS], stride[DIMS];
    bool has_gaps; /* in the file */
    uint64_t elements, memory_block, memory_stride;
    bool has_records; /* as many as elements */
};

/* The last value counts for all that follow; n is 0 if nothing was given. */
static uint64_t value_at(const struct tt_counts *c, int i)
{
    return c->values[(size_t)i < c->n ? (size_t)i : c->n - 1];
}

static void shape_planes(struct shape *s, const struct arrays_options *o, uint64_t ranks)
{
    uint64_t rest = ranks / o->process_columns;
    bool weak = o->scaling == WEAK;

    s->n = 2;
    s->ranks[0] = o->process_rows ? o->process_rows : rest ? rest : 1;
    s->ranks[1] = o->process_columns;
    s->tile[0] = weak ? o->rows : o->rows / s->ranks[0];
    s->tile[1] = weak ? o->columns : o->columns / s->ranks[1];
}

/* Of a round. What does not fit together is seen by arrays_check. */
static void shape_of(struct shape *s, const struct arrays_options *o, uint64_t ranks,
                     uint64_t round)
{
    *s = (struct shape){.n = (int)o->tile.n, .elements = 1, .has_records = o->records};
    if (s->n == 0)
        shape_planes(s, o, ranks);
    for (int d = 0; d < s->n; d++) {
        if (o->tile.n > 0) {
            s->tile[d] = o->tile.values[d];
            s->ranks[d] = o->ranks.n ? value_at(&o->ranks, d) : d ? 1 : ranks;
            for (uint64_t i = 0; i < round; i++)
                s->tile[d] *= value_at(&o->growth, d);
        }
        s->block[d] = o->file_block.n ? value_at(&o->file_block, d) : s->tile[d];
        s->stride[d] = o->file_stride.n ? value_at(&o->file_stride, d) : s->block[d];
        s->count[d] = s->tile[d] / s->block[d];
        s->has_gaps |= s->stride[d] != s->block[d];
        s->elements *= s->tile[d];
    }
    s->memory_block = o->memory_block ? o->memory_block : s->elements;
    s->memory_stride = o->memory_stride ? o->memory_stride : s->memory_block;
}

/* With its records. */
static uint64_t tile_bytes(const struct shape *s)
{
    return s->elements * (sizeof(double) + (s->has_records ? sizeof(struct record) : 0));
}

/* With the gaps between its blocks. */
static uint64_t memory_elements(const struct shape *s)
{
    return s->elements / s->memory_block * s->memory_stride;
}

/* Of a transfer, whether of numbers or of records. */
static uint64_t buffer_bytes(const struct shape *s)
{
    return memory_elements(s) * (s->has_records ? sizeof(struct record) : sizeof(double));
}

static uint64_t outer(const struct arrays_options *o)
{
    return o->slowest == SLOW_STEP ? o->steps : o->arrays;
}

static uint64_t inner(const struct arrays_options *o)
{
    return o->slowest == SLOW_STEP ? o->arrays : o->steps;
}

/* Variables of one array: of numbers, and of records. */
static uint64_t count_forms(const struct arrays_options *o)
{
    return o->records ? 2 : 1;
}

static uint64_t count_variables(const struct arrays_options *o)
{
    if (o->tile.n > 0)
        return o->steps * o->arrays * count_forms(o);
    return o->rank == 4 ? 1 : o->rank == 3 ? outer(o) : outer(o) * inner(o);
}

/* What only arrays with a tile have. */
static int check_tile(const struct arrays_options *o, uint64_t ranks, struct tt_error *e)
{
    const struct tt_counts *const lists[] = {&o->tile, &o->ranks, &o->growth, &o->file_block,
                                             &o->file_stride};
    double elements = 1;
    uint64_t product = 1;

    if (o->tile.n == 0)
        return o->ranks.n || o->sizes > 1 || o->file_block.n || o->file_stride.n || o->attributes ||
                       o->memory_block || o->memory_stride || o->records
                   ? tt_fail(e, TT_USAGE,
                             "arrays.process_grid, sizes, file_*, memory_*, attributes and records "
                             "need arrays.tile")
                   : TT_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t d = 0; d < lists[i]->n; d++)
            if (lists[i]->n > DIMS || lists[i]->n > o->tile.n || lists[i]->values[d] == 0)
                return tt_fail(
                    e, TT_USAGE,
                    "arrays.tile has 1 to 4 dimensions, process_grid, growth and file_* not "
                    "more than it, and none is 0");
    for (size_t d = 0; d < o->tile.n; d++) {
        product *= o->ranks.n ? value_at(&o->ranks, (int)d) : d ? 1 : ranks;
        for (uint64_t i = 0; i < o->sizes; i++)
            elements *= i ? (double)value_at(&o->growth, (int)d) : (double)o->tile.values[d];
    }
    if (product != ranks)
        return tt_fail(e, TT_USAGE,
                       "the product of arrays.process_grid is %llu, but there are %llu ranks",
                       (unsigned long long)product, (unsigned long long)ranks);
    return elements > 0x1p40 ? tt_fail(e, TT_USAGE, "arrays.tile is too large") : TT_OK;
}

/* Blocks of file and memory, in every round. */
static int check_blocks(const struct arrays_options *o, uint64_t ranks, struct tt_error *e)
{
    for (uint64_t round = 0; round < o->sizes; round++) {
        struct shape s;

        double memory, length = 1;

        shape_of(&s, o, ranks, round);
        memory = (double)s.elements / (double)s.memory_block * (double)s.memory_stride;
        for (int d = 0; d < s.n; d++)
            length *= (double)s.count[d] * (double)s.stride[d] * (double)s.ranks[d];
        if (memory > 0x1p40 || length > 0x1p56)
            return tt_fail(e, TT_USAGE,
                           "arrays.memory_stride or arrays.file_stride is too large: a tile has at "
                           "most 2^40 elements with its gaps, an array 2^56");
        for (int d = 0; d < s.n; d++)
            if (s.tile[d] % s.block[d] || s.stride[d] < s.block[d])
                return tt_fail(e, TT_USAGE,
                               "arrays.file_block %llu does not tile %llu elements of dimension "
                               "%d, or is longer than file_stride",
                               (unsigned long long)s.block[d], (unsigned long long)s.tile[d],
                               d + 1);
        if (s.elements % s.memory_block || s.memory_stride < s.memory_block)
            return tt_fail(e, TT_USAGE,
                           "arrays.memory_block %llu does not divide a tile of %llu elements, or "
                           "is longer than memory_stride",
                           (unsigned long long)s.memory_block, (unsigned long long)s.elements);
    }
    return TT_OK;
}

static int check_planes(const struct arrays_options *o, uint64_t ranks, struct tt_error *e)
{
    struct shape s;

    if (o->tile.n > 0)
        return TT_OK;
    shape_planes(&s, o, ranks);
    if (s.ranks[0] * s.ranks[1] != ranks)
        return tt_fail(e, TT_USAGE,
                       "arrays.process_rows times arrays.process_columns is %llu, but there are "
                       "%llu ranks",
                       (unsigned long long)(s.ranks[0] * s.ranks[1]), (unsigned long long)ranks);
    if (o->scaling == STRONG && (o->rows % s.ranks[0] || o->columns % s.ranks[1]))
        return tt_fail(e, TT_USAGE,
                       "arrays.scaling=strong needs rows and columns that ranks can share evenly");
    return TT_OK;
}

/* Written by all ranks in one repeat of a round. */
static double round_bytes(const struct arrays_options *o, uint64_t ranks, uint64_t round)
{
    struct shape s;

    shape_of(&s, o, ranks, round);
    return (double)tile_bytes(&s) * (double)ranks * (double)o->steps * (double)o->arrays;
}

static int arrays_check(const struct tt_config *config, struct tt_error *e)
{
    const struct arrays_options *o = tt_config_opts(config, "arrays");
    uint64_t ranks = config->run->ranks;
    int rc = check_tile(o, ranks, e);

    if (rc == TT_OK)
        rc = check_planes(o, ranks, e);
    if (rc == TT_OK)
        rc = check_blocks(o, ranks, e);
    if (rc == TT_OK && o->verify)
        rc = tt_stack_check_loss(&config->stack, "arrays.verify=no", e);
    if (rc != TT_OK)
        return rc;
    if (count_variables(o) > 1000000)
        return tt_fail(e, TT_USAGE,
                       "arrays.steps times arrays.arrays: more than a million variables");
    if (round_bytes(o, ranks, o->sizes - 1) * (double)o->repeats * (double)o->sizes > 0x1p62)
        return tt_fail(e, TT_USAGE, "all arrays together are too large");
    return tt_stream_check_depth(config, (unsigned)o->depth, e);
}

static int arrays_estimate(const struct tt_config *config, struct tt_estimate *out,
                           struct tt_error *e)
{
    const struct arrays_options *o = tt_config_opts(config, "arrays");
    struct shape last;

    (void)e;
    shape_of(&last, o, config->run->ranks, o->sizes - 1);
    for (uint64_t round = 0; round < o->sizes; round++)
        out->bytes_written += (uint64_t)round_bytes(o, config->run->ranks, round) * o->repeats;
    out->bytes_on_disk = (uint64_t)round_bytes(o, config->run->ranks, o->sizes - 1);
    for (int d = 0; d < last.n; d++) /* gaps have their place */
        out->bytes_on_disk = out->bytes_on_disk / last.block[d] * last.stride[d];
    if (tt_stack_caps(&config->stack) & TT_CAP_STORES)
        out->bytes_read = out->bytes_written;
    out->dumps = o->steps * o->sizes * o->repeats;
    out->files = 1;
    out->memory_per_rank =
        buffer_bytes(&last) * o->depth + count_variables(o) * (sizeof(struct tt_variable) + NAME);
    return TT_OK;
}

/* ---- a rank ---- */

struct grid {
    struct tt_engine *engine;
    const struct arrays_options *options;
    struct shape shape;   /* of this round */
    uint64_t round, pass; /* passes count repeats of all rounds */
    uint64_t nvariables;
    struct tt_variable *variables;
    char (*names)[NAME];
    char *path;
    enum tt_direction direction;
    uint64_t iteration, iterations;
    double seconds[TT_ARRAYS_NROWS];
    double *rows; /* of the table "repeats" */
    struct tt_attribute *attributes;
    char *text; /* of all of them */
};

/* A variable, or a transfer: of each array, records come after numbers. */
static bool is_of_records(const struct grid *g, uint64_t number)
{
    return number % count_forms(g->options) > 0;
}

static void name_variable(const struct grid *g, uint64_t i)
{
    static const char *const words[] = {"step", "array"};
    const struct arrays_options *o = g->options;
    const char *first = words[o->slowest], *second = words[!o->slowest];

    if (o->tile.n > 0)
        snprintf(g->names[i], NAME, "Data/%s=%llu", is_of_records(g, i) ? "records" : "array",
                 (unsigned long long)(i / count_forms(o)));
    else if (o->rank == 4)
        snprintf(g->names[i], NAME, "dataset");
    else if (o->rank == 3)
        snprintf(g->names[i], NAME, "%s=%llu", first, (unsigned long long)i);
    else
        snprintf(g->names[i], NAME, "%s=%llu/%s=%llu", first, (unsigned long long)(i / inner(o)),
                 second, (unsigned long long)(i % inner(o)));
}

/* Dimensions before those of a tile. */
static int count_lead(const struct arrays_options *o)
{
    return o->tile.n > 0 ? 0 : (int)o->rank - 2;
}

/* All variables as they are in this round. */
static void begin_round(struct grid *g, uint64_t round)
{
    const struct arrays_options *o = g->options;
    const uint64_t lead[2] = {outer(o), inner(o)};
    struct tt_variable v = {.element = &tt_element_f64, .per_step = true};

    g->round = round;
    shape_of(&g->shape, o, (uint64_t)g->engine->size, round);
    for (int d = 2 - count_lead(o); d < 2; d++)
        v.dims[v.ndims++] = lead[d];
    for (int d = 0; d < g->shape.n; d++)
        v.dims[v.ndims++] = g->shape.count[d] * g->shape.stride[d] * g->shape.ranks[d];
    for (uint64_t i = 0; i < g->nvariables; i++) {
        g->variables[i] = v;
        g->variables[i].path = g->names[i];
        if (is_of_records(g, i))
            g->variables[i].element = &record_element;
    }
}

static int prepare_attributes(struct grid *g, struct tt_error *e)
{
    uint64_t n = g->options->attributes;

    g->attributes = calloc(n + 1, sizeof *g->attributes);
    g->text = malloc((n + 1) * (ATTRIBUTE_SIZE + NAME));
    if (!g->attributes || !g->text)
        return tt_fail_nomem(e, "attributes");
    for (uint64_t i = 0; i < n; i++) {
        char *name = g->text + i * (ATTRIBUTE_SIZE + NAME), *text = name + NAME;

        snprintf(name, NAME, "attribute %llu", (unsigned long long)i);
        memset(text, 'a' + (int)(i % 26), ATTRIBUTE_SIZE - 1);
        text[ATTRIBUTE_SIZE - 1] = '\0';
        g->attributes[i] = (struct tt_attribute){.name = name, .kind = TT_CHAR, .text = text};
    }
    return TT_OK;
}

static int prepare(struct grid *g, struct tt_error *e)
{
    const struct arrays_options *o = g->options;

    g->nvariables = count_variables(o);
    g->variables = calloc(g->nvariables, sizeof *g->variables);
    g->names = calloc(g->nvariables, sizeof *g->names);
    g->rows = calloc(o->sizes * o->repeats, NCOLUMNS * sizeof *g->rows);
    g->path = tt_data_path_of(g->engine, o->path, "arrays");
    if (!g->variables || !g->names || !g->rows || !g->path)
        return tt_fail_nomem(e, "the arrays");
    for (uint64_t i = 0; i < g->nvariables; i++)
        name_variable(g, i);
    return prepare_attributes(g, e);
}

/* The rank whose tile this rank writes or reads. */
static uint64_t place_of(const struct grid *g)
{
    uint64_t shift = g->options->shift * (g->direction == TT_WRITING ? 1 : 2);

    return ((uint64_t)g->engine->rank + shift) % (uint64_t)g->engine->size;
}

static void select_memory(const struct grid *g, struct tt_selection *memory)
{
    const struct shape *s = &g->shape;
    uint64_t dims = memory_elements(s), start = 0, count = s->elements / s->memory_block;

    if (s->memory_block == s->memory_stride)
        tt_select_all(memory, s->n, s->tile);
    else
        tt_select_slab(memory, 1, &dims, &start, &s->memory_stride, &count, &s->memory_block);
}

/* A tile of the array that slot->tag numbers, step by step and form by form. */
static void select_tile(const struct grid *g, struct tt_stream_slot *slot, bool nothing)
{
    const struct arrays_options *o = g->options;
    const struct shape *s = &g->shape;
    uint64_t forms = count_forms(o), form = slot->tag % forms, place = place_of(g);
    uint64_t step = slot->tag / forms / o->arrays, array = slot->tag / forms % o->arrays;
    uint64_t index[2] = {o->slowest == SLOW_STEP ? step : array,
                         o->slowest == SLOW_STEP ? array : step};
    int lead = count_lead(o), ndims = lead + s->n;
    uint64_t variable = lead == 2   ? 0
                        : lead == 1 ? index[0]
                                    : (index[0] * inner(o) + index[1]) * forms + form;
    const uint64_t *dims = g->variables[variable].dims;
    uint64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS], stride[TT_MAX_DIMS], block[TT_MAX_DIMS];

    for (int d = 0; d < lead; d++) {
        start[d] = index[2 - lead + d];
        count[d] = stride[d] = block[d] = 1;
    }
    for (int d = s->n; d-- > 0; place /= s->ranks[d]) {
        start[lead + d] = place % s->ranks[d] * s->count[d] * s->stride[d];
        count[lead + d] = s->has_gaps ? s->count[d] : s->tile[d];
        stride[lead + d] = s->stride[d];
        block[lead + d] = s->block[d];
    }
    slot->block = (struct tt_block){.variable = (unsigned)variable};
    tt_select_none(&slot->block.file, ndims, dims);
    tt_select_none(&slot->block.memory, s->n, s->tile);
    if (nothing)
        return;
    tt_select_slab(&slot->block.file, ndims, dims, start, s->has_gaps ? stride : NULL, count,
                   s->has_gaps ? block : NULL);
    select_memory(g, &slot->block.memory);
}

/* A number of the tile of this rank, or of that whose tile it reads, which no other has. */
static double value_of(const struct grid *g, uint64_t tag)
{
    uint64_t ranks = (uint64_t)g->engine->size;
    uint64_t writer = g->direction == TT_WRITING ? (uint64_t)g->engine->rank
                                                 : place_of(g) + ranks - g->options->shift % ranks;
    uint64_t arrays = g->options->steps * g->options->arrays * count_forms(g->options);
    uint64_t number = g->pass * arrays + tag;

    return (double)(number * ranks + writer % ranks);
}

static void fill(const struct grid *g, struct tt_stream_slot *slot)
{
    uint64_t n = memory_elements(&g->shape), block = g->shape.memory_block;
    uint64_t stride = g->shape.memory_stride;
    double *data = slot->buffer, value = value_of(g, slot->tag);
    struct record *records = slot->buffer;
    int64_t t = tt_now_ns();

    if (is_of_records(g, slot->tag))
        for (uint64_t i = 0; i < n; i++)
            records[i] = (struct record){value, i / stride * block + i % stride};
    else
        for (uint64_t i = 0; i < n; i++)
            data[i] = value;
    tt_phase_add(g->engine, TT_COMPUTE, t);
}

static int tell_wrong(const struct grid *g, const struct tt_stream_slot *slot, uint64_t i,
                      uint64_t at, struct tt_error *e)
{
    uint64_t array = slot->tag / count_forms(g->options), arrays = g->options->arrays;
    unsigned long long step = array / arrays, number = array % arrays, place = i;
    double value = value_of(g, slot->tag);

    if (is_of_records(g, slot->tag)) {
        const struct record *r = (const struct record *)slot->buffer + at;

        return tt_fail(e, TT_CORRUPT,
                       "step %llu, array %llu: record %llu of rank %d's tile is (%g, %llu), not "
                       "(%g, %llu)",
                       step, number, place, g->engine->rank, r->value, (unsigned long long)r->place,
                       value, place);
    }
    return tt_fail(e, TT_CORRUPT,
                   "step %llu, array %llu: value %llu of rank %d's tile is %g, not %g", step,
                   number, place, g->engine->rank, ((const double *)slot->buffer)[at], value);
}

/* What is complete, if it was read. */
static int look_at(const struct grid *g, const struct tt_stream_slot *slot, struct tt_error *e)
{
    uint64_t block = g->shape.memory_block, stride = g->shape.memory_stride;
    uint64_t n = g->shape.elements, most = g->options->verify_most, i = 0, at = 0;
    const double *data = slot->buffer;
    const struct record *records = slot->buffer;
    double value = value_of(g, slot->tag), loss = tt_stack_loss(&g->engine->config->stack);
    bool of_records = is_of_records(g, slot->tag);
    int64_t t = tt_now_ns();

    if (g->direction == TT_WRITING || !g->options->verify ||
        (most > 0 && n * sizeof *data > most) || slot->block.file.kind == TT_SELECT_NONE)
        return TT_OK;
    for (; i < n; i++) {
        at = i / block * stride + i % block;
        if (of_records ? records[at].value != value || records[at].place != i
                       : !(fabs(data[at] - value) <= loss))
            break;
    }
    tt_phase_add(g->engine, TT_COMPUTE, t);
    return i == n ? TT_OK : tell_wrong(g, slot, i, at, e);
}

/* A rank that failed goes on with nothing, for those that wait in a collective transfer. */
static int transfer(struct grid *g, struct tt_stream *stream, uint64_t tag, bool nothing,
                    struct tt_error *e)
{
    struct tt_stream_slot *slot;
    int rc = tt_stream_take(stream, &slot, e), now;

    if (rc == TT_OK && slot->complete)
        rc = look_at(g, slot, e);
    slot->tag = tag;
    select_tile(g, slot, nothing || rc != TT_OK);
    if (g->direction == TT_WRITING)
        fill(g, slot);
    else
        memset(slot->buffer, 0xa5, buffer_bytes(&g->shape));
    now = tt_stream_start(stream, slot, e);
    return rc == TT_OK ? now : rc;
}

static int finish(struct grid *g, struct tt_stream *stream, int rc, struct tt_error *e)
{
    struct tt_stream_slot *slot;

    do {
        int now = tt_stream_complete(stream, &slot, e);

        if (now == TT_OK && slot)
            now = look_at(g, slot, e);
        rc = rc == TT_OK ? now : rc;
    } while (slot);
    return tt_agree(g->engine->comm, rc, e);
}

static int transfer_all(struct grid *g, struct tt_stream *stream, struct tt_error *e)
{
    const struct arrays_options *o = g->options;
    uint64_t n = o->arrays * count_forms(o);
    int rc = TT_OK;

    for (uint64_t step = 0; rc == TT_OK && step < o->steps; step++) {
        rc = tt_iteration_begin(g->engine, ++g->iteration, g->iterations, e);
        if (rc == TT_OK) {
            for (uint64_t i = 0; i < n; i++) {
                int now = transfer(g, stream, step * n + i, rc != TT_OK, e);

                rc = rc == TT_OK ? now : rc;
            }
            rc = tt_agree(g->engine->comm, rc, e);
        }
        tt_iteration_end(g->engine);
    }
    return finish(g, stream, rc, e);
}

static double spent(const struct grid *g)
{
    bool writing = g->direction == TT_WRITING;

    return writing ? tt_phase_seconds(g->engine, TT_SUBMIT) + tt_phase_seconds(g->engine, TT_WAIT)
                   : tt_phase_seconds(g->engine, TT_LOAD);
}

static int use(struct grid *g, struct tt_series *series, struct tt_error *e)
{
    const struct tt_stream_spec spec = {.direction = g->direction,
                                        .depth = (unsigned)g->options->depth,
                                        .buffer_size = buffer_bytes(&g->shape)};
    int sync = g->engine->config->run->sync;
    bool syncs = g->direction == TT_WRITING && sync != TT_SYNC_NEVER && sync != TT_SYNC_WRITE;
    double before = spent(g);
    struct tt_stream *stream;
    int64_t own;
    int rc = tt_stream_open(series, &spec, &stream, e), closed;

    if (rc != TT_OK)
        return rc;
    rc = transfer_all(g, stream, e);
    if (rc == TT_OK && syncs)
        rc = tt_stream_sync(stream, &own, e);
    closed = tt_stream_close(stream, e);
    g->seconds[g->direction == TT_WRITING ? TT_ARRAYS_WRITE : TT_ARRAYS_READ] += spent(g) - before;
    return rc == TT_OK ? closed : rc;
}

static int pass(struct grid *g, enum tt_direction direction, struct tt_error *e)
{
    bool writing = direction == TT_WRITING;
    const struct tt_group group = {.path = "Data",
                                   .nattributes = (unsigned)g->options->attributes,
                                   .attributes = g->attributes};
    const struct tt_series_spec spec = {.path = g->path,
                                        .access = writing ? TT_CREATE : TT_READ_ONLY,
                                        .policy = TT_OVERWRITE,
                                        .steps = 1,
                                        .nvariables = (unsigned)g->nvariables,
                                        .variables = g->variables,
                                        .ngroups = g->options->attributes > 0,
                                        .groups = &group};
    struct tt_series *series = NULL;
    int64_t t;
    int rc, closed;

    g->direction = direction;
    MPI_Barrier(g->engine->comm);
    t = tt_now_ns();
    rc = tt_series_open(g->engine, &spec, &series, e);
    if (rc != TT_OK)
        return rc;
    g->seconds[writing ? TT_ARRAYS_CREATE : TT_ARRAYS_OPEN] += tt_seconds(tt_now_ns() - t);
    rc = use(g, series, e);
    closed = tt_series_close(series, e);
    g->seconds[writing ? TT_ARRAYS_WRITE_PHASE : TT_ARRAYS_READ_PHASE] +=
        tt_seconds(tt_now_ns() - t);
    return rc == TT_OK ? closed : rc;
}

static void report(struct grid *g)
{
    double least[TT_ARRAYS_NROWS], most[TT_ARRAYS_NROWS], table[TT_ARRAYS_NROWS * 2];

    g->seconds[TT_ARRAYS_FILE_SIZE] = (double)tt_data_size(g->engine, g->path);
    MPI_Reduce(g->seconds, least, TT_ARRAYS_NROWS, MPI_DOUBLE, MPI_MIN, 0, g->engine->comm);
    MPI_Reduce(g->seconds, most, TT_ARRAYS_NROWS, MPI_DOUBLE, MPI_MAX, 0, g->engine->comm);
    for (int i = 0; g->engine->rank == 0 && i < TT_ARRAYS_NROWS; i++) {
        table[2 * i] = least[i];
        table[2 * i + 1] = most[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, g->rows, (int)(g->pass * NCOLUMNS), MPI_DOUBLE, MPI_MAX,
                  g->engine->comm);
    if (g->engine->rank != 0)
        return;
    tt_result_table(g->engine, "arrays", TT_ARRAYS_NROWS, 2, table);
    if (g->options->tile.n > 0)
        tt_result_table(g->engine, "repeats", (unsigned)g->pass, NCOLUMNS, g->rows);
}

static void look_at_clock(const struct grid *g, double times[NCOLUMNS])
{
    times[OPENING] = tt_phase_seconds(g->engine, TT_OPEN);
    times[WRITING] = tt_phase_seconds(g->engine, TT_SUBMIT) + tt_phase_seconds(g->engine, TT_WAIT);
    times[SYNCING] = tt_phase_seconds(g->engine, TT_SYNC);
    times[CLOSING] = tt_phase_seconds(g->engine, TT_CLOSE);
    times[READING] = tt_phase_seconds(g->engine, TT_LOAD);
}

/* A new file, written and read. */
static int repeat(struct grid *g, bool reads, struct tt_error *e)
{
    double *row = g->rows + g->pass * NCOLUMNS, before[NCOLUMNS];
    int rc;

    look_at_clock(g, before);
    rc = pass(g, TT_WRITING, e);
    if (rc == TT_OK && reads)
        rc = pass(g, TT_READING, e);
    look_at_clock(g, row);
    for (int i = OPENING; i < NCOLUMNS; i++)
        row[i] -= before[i];
    row[ROUND] = (double)g->round;
    row[TILE] = (double)tile_bytes(&g->shape);
    g->pass++;
    return rc;
}

static int measured(struct grid *g, struct tt_error *e)
{
    bool reads = tt_stack_caps(&g->engine->config->stack) & TT_CAP_STORES;
    int rc = tt_engine_start(g->engine, e);

    g->iterations = g->options->steps * (reads ? 2 : 1) * g->options->sizes * g->options->repeats;
    for (uint64_t round = 0; rc == TT_OK && round < g->options->sizes; round++) {
        begin_round(g, round);
        for (uint64_t i = 0; rc == TT_OK && i < g->options->repeats; i++)
            rc = repeat(g, reads, e);
    }
    if (rc == TT_OK && !reads)
        tt_warning(g->engine, "the backend keeps nothing: written only, not read back");
    return rc == TT_OK ? tt_engine_stop(g->engine, e) : rc;
}

static int arrays_run(struct tt_engine *engine, struct tt_error *e)
{
    struct grid g = {.engine = engine, .options = tt_config_opts(engine->config, "arrays")};
    int rc = tt_agree(engine->comm, prepare(&g, e), e);

    if (rc == TT_OK)
        rc = measured(&g, e);
    if (rc == TT_OK && !tt_engine_is_endless(engine))
        report(&g);
    free(g.variables);
    free(g.names);
    free(g.rows);
    free(g.attributes);
    free(g.text);
    free(g.path);
    return rc;
}

static const struct tt_workload_column time_columns[] = {
    {"min", "s", "over ranks"}, {"max", "s", "over ranks"}, {NULL, NULL, NULL}};
static const char *const time_rows[] = {[TT_ARRAYS_WRITE_PHASE] = "write_phase",
                                        [TT_ARRAYS_CREATE] = "create",
                                        [TT_ARRAYS_WRITE] = "write",
                                        [TT_ARRAYS_READ_PHASE] = "read_phase",
                                        [TT_ARRAYS_OPEN] = "open",
                                        [TT_ARRAYS_READ] = "read",
                                        [TT_ARRAYS_FILE_SIZE] = "file_size",
                                        [TT_ARRAYS_NROWS] = NULL};
static const struct tt_workload_column repeat_columns[NCOLUMNS + 1] = {
    [ROUND] = {"round", "1", "from 0 on"},
    [TILE] = {"tile", "B", "of a rank, with its records"},
    [OPENING] = {"open", "s", "making the file with its variables, and opening it again"},
    [WRITING] = {"write", "s", "in write calls, of the slowest rank, as all times here"},
    [SYNCING] = {"sync", "s", "making data durable"},
    [CLOSING] = {"close", "s", "closing the file, written and read"},
    [READING] = {"read", "s", "in read calls"},
};
static const struct tt_workload_table tables[] = {
    {"arrays", time_columns, time_rows}, {"repeats", repeat_columns, NULL}, {NULL, NULL, NULL}};
static const char *const shown[] = {"steps", "arrays", NULL};

const struct tt_workload tt_workload_arrays = {
    .name = "arrays",
    .summary = "many small arrays by steps, in few or many variables: hdf5-iotest",
    .params = params,
    .opts_size = sizeof(struct arrays_options),
    .shown = shown,
    .tables = tables,
    .check = arrays_check,
    .estimate = arrays_estimate,
    .run = arrays_run,
};
