/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "spec/dialects/h5bench/parts.h"

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
#define NUMBER(key, member, default_text) \
    { \
        key, TT_PARAM_COUNT, AT(member), default_text, NULL, NULL, 1, 1 << 30 \
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
static void put_chunk(struct tt_h5bench_translation *t, const struct stress *s)
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
    tt_h5bench_put_counts(t, "layout", "hdf5.chunk", chunk, s->rank);
}

static void put_all(struct tt_h5bench_translation *t, const struct stress *s)
{
    tt_h5bench_put(t, "steps", "arrays.steps", "%" PRIu64, s->steps);
    tt_h5bench_put(t, "arrays", "arrays.arrays", "%" PRIu64, s->arrays);
    tt_h5bench_put(t, "rows", "arrays.rows", "%" PRIu64, s->rows);
    tt_h5bench_put(t, "columns", "arrays.columns", "%" PRIu64, s->columns);
    tt_h5bench_put(t, "process-rows", "arrays.process_rows", "%" PRIu64, s->process_rows);
    tt_h5bench_put(t, "process-columns", "arrays.process_columns", "%" PRIu64, s->process_columns);
    tt_h5bench_put(t, "dataset-rank", "arrays.rank", "%" PRIu64, s->rank);
    tt_h5bench_put(t, "scaling", "arrays.scaling", "%s", scalings[s->scaling]);
    tt_h5bench_put(t, "slowest-dimension", "arrays.slowest", "%s", slowests[s->slowest]);
    tt_h5bench_put(t, "file", "arrays.path", "%s", t->b->file);
    tt_h5bench_put(t, "file", "sync", "close");
    tt_h5bench_put(t, "file", "label", "%s", t->b->name);
    if (t->is_hdf5)
        tt_h5bench_put(t, "mpi-io", "hdf5.method", "%s", methods[s->method]);
    if (t->is_hdf5 && !strcmp(layouts[s->layout], "chunked"))
        put_chunk(t, s);
}

int tt_h5bench_translate_metadata(struct tt_h5bench_translation *t)
{
    struct stress s = {0};
    int rc = tt_h5bench_read_keys(t->keys, params, &s, t->e);

    t->b->workload = "arrays";
    if (rc == TT_OK)
        put_all(t, &s);
    t->b->csv_file = s.csv_file;
    s.csv_file = NULL;
    tt_params_free(params, &s);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}
