/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many small arrays by steps, as hdf5-iotest writes and reads them: the same tiles as arrays of
 * two, three or four dimensions, so that what differs is the format's own metadata.
 *
 * Unlike there, all variables are made when the file is, and stay open; every tile has a number of
 * its own as its value, so that none is taken for another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

#define NAME 48 /* "step=" and "array=" with numbers of 32 bits */

struct arrays_options {
    uint64_t steps, arrays, rows, columns, process_rows, process_columns, rank, depth;
    int scaling, slowest;
    bool verify;
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
    {"depth", TT_PARAM_COUNT, AT(depth), "1", "transfers", "in flight at most", 1, 4096},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL, "check every value that is read"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; default: a new one there", .placeholder = "FILE"},
    {NULL},
};

/* ---- shapes ---- */

static uint64_t process_rows(const struct arrays_options *o, uint64_t ranks)
{
    uint64_t rest = ranks / o->process_columns;

    return o->process_rows ? o->process_rows : rest ? rest : 1;
}

static uint64_t tile_rows(const struct arrays_options *o, uint64_t ranks)
{
    return o->scaling == WEAK ? o->rows : o->rows / process_rows(o, ranks);
}

static uint64_t tile_columns(const struct arrays_options *o)
{
    return o->scaling == WEAK ? o->columns : o->columns / o->process_columns;
}

static uint64_t tile_bytes(const struct arrays_options *o, uint64_t ranks)
{
    return tile_rows(o, ranks) * tile_columns(o) * sizeof(double);
}

static uint64_t outer(const struct arrays_options *o)
{
    return o->slowest == SLOW_STEP ? o->steps : o->arrays;
}

static uint64_t inner(const struct arrays_options *o)
{
    return o->slowest == SLOW_STEP ? o->arrays : o->steps;
}

static uint64_t count_variables(const struct arrays_options *o)
{
    return o->rank == 4 ? 1 : o->rank == 3 ? outer(o) : outer(o) * inner(o);
}

static int arrays_check(const struct tt_config *config, struct tt_error *e)
{
    const struct arrays_options *o = tt_config_opts(config, "arrays");
    uint64_t rows = process_rows(o, config->run->ranks);

    if (rows * o->process_columns != config->run->ranks)
        return tt_fail(e, TT_USAGE,
                       "arrays.process_rows times arrays.process_columns is %llu, but there are "
                       "%llu ranks",
                       (unsigned long long)(rows * o->process_columns),
                       (unsigned long long)config->run->ranks);
    if (o->scaling == STRONG && (o->rows % rows || o->columns % o->process_columns))
        return tt_fail(e, TT_USAGE,
                       "arrays.scaling=strong needs rows and columns that ranks can share evenly");
    if (count_variables(o) > 1000000)
        return tt_fail(e, TT_USAGE,
                       "arrays.steps times arrays.arrays: more than a million variables");
    if ((double)tile_bytes(o, config->run->ranks) * (double)config->run->ranks * (double)o->steps *
            (double)o->arrays >
        0x1p62)
        return tt_fail(e, TT_USAGE, "all arrays together are too large");
    return tt_stream_check_depth(config, (unsigned)o->depth, e);
}

static int arrays_estimate(const struct tt_config *config, struct tt_estimate *out,
                           struct tt_error *e)
{
    const struct arrays_options *o = tt_config_opts(config, "arrays");

    (void)e;
    out->bytes_written =
        tile_bytes(o, config->run->ranks) * config->run->ranks * o->steps * o->arrays;
    out->bytes_on_disk = out->bytes_written;
    if (tt_stack_caps(&config->stack) & TT_CAP_STORES)
        out->bytes_read = out->bytes_written;
    out->dumps = o->steps;
    out->files = 1;
    out->memory_per_rank = tile_bytes(o, config->run->ranks) * o->depth +
                           count_variables(o) * (sizeof(struct tt_variable) + NAME);
    return TT_OK;
}

/* ---- a rank ---- */

struct grid {
    struct tt_engine *engine;
    const struct arrays_options *options;
    uint64_t row, column; /* of this rank */
    uint64_t nvariables;
    struct tt_variable *variables;
    char (*names)[NAME];
    char *path;
    enum tt_direction direction;
    uint64_t iteration, iterations;
    double seconds[TT_ARRAYS_NROWS];
};

static void name_variable(const struct grid *g, uint64_t i)
{
    static const char *const words[] = {"step", "array"};
    const struct arrays_options *o = g->options;
    const char *first = words[o->slowest], *second = words[!o->slowest];

    if (o->rank == 4)
        snprintf(g->names[i], NAME, "dataset");
    else if (o->rank == 3)
        snprintf(g->names[i], NAME, "%s=%llu", first, (unsigned long long)i);
    else
        snprintf(g->names[i], NAME, "%s=%llu/%s=%llu", first, (unsigned long long)(i / inner(o)),
                 second, (unsigned long long)(i % inner(o)));
}

static int prepare(struct grid *g, struct tt_error *e)
{
    const struct arrays_options *o = g->options;
    struct tt_variable v = {.element = &tt_element_f64, .ndims = (int)o->rank, .per_step = true};
    const uint64_t lead[2] = {outer(o), inner(o)};
    int at = 0;

    for (uint64_t d = 4 - o->rank; d < 2; d++)
        v.dims[at++] = lead[d];
    v.dims[at++] =
        tile_rows(o, (uint64_t)g->engine->size) * process_rows(o, (uint64_t)g->engine->size);
    v.dims[at] = tile_columns(o) * o->process_columns;
    g->row = (uint64_t)g->engine->rank / o->process_columns;
    g->column = (uint64_t)g->engine->rank % o->process_columns;
    g->nvariables = count_variables(o);
    g->variables = calloc(g->nvariables, sizeof *g->variables);
    g->names = calloc(g->nvariables, sizeof *g->names);
    g->path = tt_data_path_of(g->engine, o->path, "arrays");
    if (!g->variables || !g->names || !g->path)
        return tt_fail_nomem(e, "the arrays");
    for (uint64_t i = 0; i < g->nvariables; i++) {
        name_variable(g, i);
        g->variables[i] = v;
        g->variables[i].path = g->names[i];
    }
    return TT_OK;
}

/* This rank's tile of the array that slot->tag numbers, step by step. */
static void select_tile(const struct grid *g, struct tt_stream_slot *slot, bool nothing)
{
    const struct arrays_options *o = g->options;
    uint64_t step = slot->tag / o->arrays, array = slot->tag % o->arrays;
    uint64_t index[2] = {o->slowest == SLOW_STEP ? step : array,
                         o->slowest == SLOW_STEP ? array : step};
    uint64_t variable = o->rank == 4 ? 0 : o->rank == 3 ? index[0] : index[0] * inner(o) + index[1];
    const uint64_t *dims = g->variables[variable].dims;
    uint64_t tile[2] = {tile_rows(o, (uint64_t)g->engine->size), tile_columns(o)},
             start[TT_MAX_DIMS], count[TT_MAX_DIMS];
    int at = 0, ndims = (int)o->rank;

    for (uint64_t d = 4 - o->rank; d < 2; d++) {
        start[at] = index[d];
        count[at++] = 1;
    }
    start[at] = g->row * tile[0];
    count[at++] = tile[0];
    start[at] = g->column * tile[1];
    count[at] = tile[1];
    slot->block = (struct tt_block){.variable = (unsigned)variable};
    tt_select_none(&slot->block.file, ndims, dims);
    tt_select_none(&slot->block.memory, 2, tile);
    if (nothing)
        return;
    tt_select_slab(&slot->block.file, ndims, dims, start, NULL, count, NULL);
    tt_select_all(&slot->block.memory, 2, tile);
}

static double value_of(const struct grid *g, uint64_t tag)
{
    return (double)(tag * (uint64_t)g->engine->size + (uint64_t)g->engine->rank);
}

static void fill(const struct grid *g, struct tt_stream_slot *slot)
{
    uint64_t n = tile_bytes(g->options, (uint64_t)g->engine->size) / sizeof(double);
    double *data = slot->buffer, value = value_of(g, slot->tag);
    int64_t t = tt_now_ns();

    for (uint64_t i = 0; i < n; i++)
        data[i] = value;
    tt_phase_add(g->engine, TT_COMPUTE, t);
}

/* What is complete, if it was read. */
static int look_at(const struct grid *g, const struct tt_stream_slot *slot, struct tt_error *e)
{
    uint64_t n = tile_bytes(g->options, (uint64_t)g->engine->size) / sizeof(double), i = 0;
    const double *data = slot->buffer;
    double value = value_of(g, slot->tag);
    int64_t t = tt_now_ns();

    if (g->direction == TT_WRITING || !g->options->verify ||
        slot->block.file.kind == TT_SELECT_NONE)
        return TT_OK;
    while (i < n && data[i] == value)
        i++;
    tt_phase_add(g->engine, TT_COMPUTE, t);
    if (i == n)
        return TT_OK;
    return tt_fail(e, TT_CORRUPT,
                   "step %llu, array %llu: value %llu of rank %d's tile is %g, not %g",
                   (unsigned long long)(slot->tag / g->options->arrays),
                   (unsigned long long)(slot->tag % g->options->arrays), (unsigned long long)i,
                   g->engine->rank, data[i], value);
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
        memset(slot->buffer, 0xa5, tile_bytes(g->options, (uint64_t)g->engine->size));
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
    int rc = TT_OK;

    for (uint64_t step = 0; rc == TT_OK && step < o->steps; step++) {
        rc = tt_iteration_begin(g->engine, ++g->iteration, g->iterations, e);
        if (rc == TT_OK) {
            for (uint64_t array = 0; array < o->arrays; array++) {
                int now = transfer(g, stream, step * o->arrays + array, rc != TT_OK, e);

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
                                        .buffer_size =
                                            tile_bytes(g->options, (uint64_t)g->engine->size)};
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
    g->seconds[g->direction == TT_WRITING ? TT_ARRAYS_WRITE : TT_ARRAYS_READ] = spent(g) - before;
    return rc == TT_OK ? closed : rc;
}

static int pass(struct grid *g, enum tt_direction direction, struct tt_error *e)
{
    bool writing = direction == TT_WRITING;
    const struct tt_series_spec spec = {.path = g->path,
                                        .access = writing ? TT_CREATE : TT_READ_ONLY,
                                        .policy = TT_OVERWRITE,
                                        .steps = 1,
                                        .nvariables = (unsigned)g->nvariables,
                                        .variables = g->variables};
    struct tt_series *series = NULL;
    int64_t t;
    int rc, closed;

    g->direction = direction;
    MPI_Barrier(g->engine->comm);
    t = tt_now_ns();
    rc = tt_series_open(g->engine, &spec, &series, e);
    if (rc != TT_OK)
        return rc;
    g->seconds[writing ? TT_ARRAYS_CREATE : TT_ARRAYS_OPEN] = tt_seconds(tt_now_ns() - t);
    rc = use(g, series, e);
    closed = tt_series_close(series, e);
    g->seconds[writing ? TT_ARRAYS_WRITE_PHASE : TT_ARRAYS_READ_PHASE] =
        tt_seconds(tt_now_ns() - t);
    return rc == TT_OK ? closed : rc;
}

static void report(struct grid *g)
{
    double least[TT_ARRAYS_NROWS], most[TT_ARRAYS_NROWS], table[TT_ARRAYS_NROWS * 2];
    struct stat st;

    g->seconds[TT_ARRAYS_FILE_SIZE] =
        stat(g->path, &st) == 0 && S_ISREG(st.st_mode) ? (double)st.st_size : 0;
    MPI_Reduce(g->seconds, least, TT_ARRAYS_NROWS, MPI_DOUBLE, MPI_MIN, 0, g->engine->comm);
    MPI_Reduce(g->seconds, most, TT_ARRAYS_NROWS, MPI_DOUBLE, MPI_MAX, 0, g->engine->comm);
    for (int i = 0; g->engine->rank == 0 && i < TT_ARRAYS_NROWS; i++) {
        table[2 * i] = least[i];
        table[2 * i + 1] = most[i];
    }
    if (g->engine->rank == 0)
        tt_result_table(g->engine, "arrays", TT_ARRAYS_NROWS, 2, table);
}

static int measured(struct grid *g, struct tt_error *e)
{
    bool reads = tt_stack_caps(&g->engine->config->stack) & TT_CAP_STORES;
    int rc = tt_engine_start(g->engine, e);

    g->iterations = g->options->steps * (reads ? 2 : 1);
    if (rc == TT_OK)
        rc = pass(g, TT_WRITING, e);
    if (rc == TT_OK && reads)
        rc = pass(g, TT_READING, e);
    else if (rc == TT_OK)
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
static const struct tt_workload_table tables[] = {{"arrays", time_columns, time_rows},
                                                  {NULL, NULL, NULL}};
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
