/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "spec/dialects/h5bench_keys.h"
#include "spec/dialects/h5bench_pattern.h"

static const char *const versions[] = {"0", NULL}; /* of the keys; there is one */
static const char *const scalings[] = {"weak", "strong", NULL};
static const char *const slowests[] = {"step", "array", NULL};
static const char *const layouts[] = {"contiguous", "chunked", NULL};
static const char *const methods[] = {"independent", "collective", NULL};

struct stress {
    uint64_t steps, arrays, rows, columns, process_rows, process_columns, rank;
    int version, scaling, slowest, layout, method;
    char *csv_file;
};

#define AT(member) offsetof(struct stress, member)
#define NUMBER(key, member, fallback) \
    { \
        key, TT_PARAM_COUNT, AT(member), fallback, NULL, NULL, 1, 1 << 30 \
    }
static const struct tt_param params[] = {
    {"version", TT_PARAM_CHOICE, AT(version), "0", .choices = versions},
    NUMBER("steps", steps, "20"),
    NUMBER("arrays", arrays, "500"),
    NUMBER("rows", rows, "100"),
    NUMBER("columns", columns, "200"),
    NUMBER("process-rows", process_rows, "1"),
    NUMBER("process-columns", process_columns, "1"),
    {"dataset-rank", TT_PARAM_COUNT, AT(rank), "4", NULL, NULL, 2, 4},
    {"scaling", TT_PARAM_CHOICE, AT(scaling), "weak", .choices = scalings},
    {"slowest-dimension", TT_PARAM_CHOICE, AT(slowest), "step", .choices = slowests},
    {"layout", TT_PARAM_CHOICE, AT(layout), "contiguous", .choices = layouts},
    {"mpi-io", TT_PARAM_CHOICE, AT(method), "independent", .choices = methods},
    {"csv-file", TT_PARAM_TEXT, AT(csv_file), NULL},
    {NULL},
};

/* A chunk is a rank's tile; of the one dataset of four dimensions, of all arrays of a step. */
static void emit_chunk(struct tt_h5bench_emitter *to, const struct stress *s)
{
    uint64_t tile[2] = {s->rows, s->columns}, chunk[4] = {1, 1};

    if (!strcmp(scalings[s->scaling], "strong")) {
        tile[0] /= s->process_rows;
        tile[1] /= s->process_columns;
    }
    chunk[!strcmp(slowests[s->slowest], "step") ? 1 : 0] = s->arrays;
    if (s->rank < 4)
        chunk[0] = 1;
    memcpy(chunk + s->rank - 2, tile, sizeof tile);
    tt_h5bench_emit_counts(to, "layout", "hdf5.chunk", chunk, s->rank);
}

static void emit_all(struct tt_h5bench_emitter *to, const struct stress *s, bool is_hdf5)
{
    tt_h5bench_emit_number(to, "steps", "arrays.steps", s->steps);
    tt_h5bench_emit_number(to, "arrays", "arrays.arrays", s->arrays);
    tt_h5bench_emit_number(to, "rows", "arrays.rows", s->rows);
    tt_h5bench_emit_number(to, "columns", "arrays.columns", s->columns);
    tt_h5bench_emit_number(to, "process-rows", "arrays.process_rows", s->process_rows);
    tt_h5bench_emit_number(to, "process-columns", "arrays.process_columns", s->process_columns);
    tt_h5bench_emit_number(to, "dataset-rank", "arrays.rank", s->rank);
    tt_h5bench_emit(to, "scaling", "arrays.scaling", scalings[s->scaling]);
    tt_h5bench_emit(to, "slowest-dimension", "arrays.slowest", slowests[s->slowest]);
    tt_h5bench_emit(to, "file", "arrays.path", to->b->file);
    tt_h5bench_emit(to, "file", "sync", "close");
    tt_h5bench_emit(to, "file", "label", to->b->name);
    if (is_hdf5)
        tt_h5bench_emit(to, "mpi-io", "hdf5.method", methods[s->method]);
    if (is_hdf5 && !strcmp(layouts[s->layout], "chunked"))
        emit_chunk(to, s);
}

int tt_h5bench_translate_metadata(const struct tt_settings *keys, bool is_hdf5,
                                  struct tt_h5bench_benchmark *b, struct tt_error *e)
{
    struct tt_h5bench_emitter to = {.keys = keys, .b = b, .e = e};
    struct stress s = {0};

    b->workload = "arrays";
    to.rc = tt_h5bench_read_keys(keys, params, &s, e);
    if (to.rc == TT_OK)
        emit_all(&to, &s, is_hdf5);
    b->csv_file = s.csv_file;
    s.csv_file = NULL;
    tt_params_free(params, &s);
    return to.rc;
}
