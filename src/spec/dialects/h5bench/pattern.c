/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of a benchmark on particles. Benchmarks use a file one after the other: what is
 * in it decides what can be checked. */
#include <inttypes.h>
#include <string.h>

#include "spec/dialects/h5bench/parts.h"

enum { CONTIG, INTERLEAVED, STRIDED }; /* MEM_PATTERN, FILE_PATTERN */
enum { FULL, PARTIAL, READ_STRIDED, LDC, RDC, CS, PRL };
enum { SYNC, ASYNC, LOG };
static const char *const patterns[] = {"CONTIG", "INTERLEAVED", "STRIDED", NULL};
static const char *const read_options[] = {"FULL", "PARTIAL", "STRIDED", "LDC",
                                           "RDC",  "CS",      "PRL",     NULL};
static const char *const operations[] = {"READ", "WRITE", "OVERWRITE", "APPEND", NULL};
static const char *const modes[] = {"SYNC", "ASYNC", "LOG", NULL};
static const char *const filters[] = {"GZIP", "SZIP", "N_BIT", "SZ3", "ZFP", NULL};
/* The same as settings of the hdf5 backend, without parameters. */
static const char *const hdf5_filters[] = {"deflate", "szip", "nbit", "sz3", "zfp"};
enum { FIRST_LOSSY = 3 };

/* A configuration. */
struct h5bench_pattern {
    int memory, file, read_option, operation, mode, filter;
    uint64_t num_dims, dims[TT_H5BENCH_DIMS], particles, to_read, steps, delay;
    uint64_t stride[TT_H5BENCH_DIMS], block[TT_H5BENCH_DIMS], blocks, memory_limit;
    uint64_t chunk[TT_H5BENCH_DIMS], align_threshold, align_length;
    bool collective_data, collective_metadata, compress, subfiling, align, file_per_process;
    bool is_strided; /* FILE_PATTERN, or READ_OPTION with blocks */
    double compute, deviation;
    char *csv_file, *environment_file, *filter_parameters, *driver;
};

#define AT(member) offsetof(struct h5bench_pattern, member)
#define MOST (INT64_C(1) << 40)
#define CHOOSE(key, member, default_text, list) \
    { \
        key, TT_PARAM_CHOICE, AT(member), default_text, .choices = list \
    }
#define NUMBER(key, member, default_text, min) \
    { \
        key, TT_PARAM_BYTES, AT(member), default_text, NULL, NULL, min, MOST \
    }
#define ANSWER(key, member) \
    { \
        key, TT_PARAM_BOOL, AT(member), "no" \
    }
static const struct tt_param params[] = {
    CHOOSE("MEM_PATTERN", memory, "CONTIG", patterns),
    CHOOSE("FILE_PATTERN", file, "CONTIG", patterns),
    CHOOSE("READ_OPTION", read_option, "FULL", read_options),
    CHOOSE("IO_OPERATION", operation, "WRITE", operations),
    CHOOSE("MODE", mode, "SYNC", modes),
    {"NUM_DIMS", TT_PARAM_COUNT, AT(num_dims), "1", NULL, NULL, 1, TT_H5BENCH_DIMS},
    NUMBER("DIM_1", dims[0], "1", 1),
    NUMBER("DIM_2", dims[1], "1", 1),
    NUMBER("DIM_3", dims[2], "1", 1),
    NUMBER("NUM_PARTICLES", particles, "0", 0),
    NUMBER("TO_READ_NUM_PARTICLES", to_read, "0", 0),
    {"TIMESTEPS", TT_PARAM_COUNT, AT(steps), NULL, NULL, NULL, 1, INT64_C(1) << 32},
    {"EMULATED_COMPUTE_TIME_PER_TIMESTEP", TT_PARAM_DURATION, AT(compute), "0"},
    {"DELAYED_CLOSE_TIMESTEPS", TT_PARAM_COUNT, AT(delay), "0", NULL, NULL, 0, 1000000},
    ANSWER("COLLECTIVE_DATA", collective_data),
    ANSWER("COLLECTIVE_METADATA", collective_metadata),
    NUMBER("STRIDE_SIZE", stride[0], "0", 0),
    NUMBER("STRIDE_SIZE_2", stride[1], "0", 0),
    NUMBER("STRIDE_SIZE_3", stride[2], "0", 0),
    NUMBER("BLOCK_SIZE", block[0], "0", 0),
    NUMBER("BLOCK_SIZE_2", block[1], "0", 0),
    NUMBER("BLOCK_SIZE_3", block[2], "0", 0),
    NUMBER("BLOCK_CNT", blocks, "0", 0),
    {"IO_MEM_LIMIT", TT_PARAM_BYTES, AT(memory_limit), "0"},
    ANSWER("COMPRESS", compress),
    CHOOSE("COMPRESS_FILTER", filter, "GZIP", filters),
    {"COMPRESS_PARAMS", TT_PARAM_TEXT, AT(filter_parameters), NULL},
    NUMBER("CHUNK_DIM_1", chunk[0], "1", 1),
    NUMBER("CHUNK_DIM_2", chunk[1], "1", 1),
    NUMBER("CHUNK_DIM_3", chunk[2], "1", 1),
    ANSWER("SUBFILING", subfiling),
    ANSWER("ALIGN", align),
    NUMBER("ALIGN_THRESHOLD", align_threshold, "0", 0),
    NUMBER("ALIGN_LEN", align_length, "0", 0),
    ANSWER("FILE_PER_PROC", file_per_process),
    {"STDEV_DIM_1", TT_PARAM_REAL, AT(deviation), "1", NULL, NULL, 0, MOST},
    {"CSV_FILE", TT_PARAM_TEXT, AT(csv_file), NULL},
    {"ENV_METADATA_FILE", TT_PARAM_TEXT, AT(environment_file), NULL},
    {"DYNAMIC_VFD_NAME", TT_PARAM_TEXT, AT(driver), NULL},
    {NULL},
};

struct translation {
    struct tt_h5bench_translation *t;
    struct h5bench_pattern *p;
    enum tt_h5bench_operation operation;
    struct tt_h5bench_content *content;
};

static bool is_given(const struct translation *to, const char *name)
{
    return tt_settings_find(to->t->keys, name) != NULL;
}

/* It needs a file that is there, to change it. */
static bool changes(enum tt_h5bench_operation operation)
{
    return operation == TT_H5BENCH_OVERWRITE || operation == TT_H5BENCH_APPEND;
}

/* ---- settings ---- */

static void put_shape(struct translation *to)
{
    const struct h5bench_pattern *p = to->p;
    bool makes = !to->t->b->reads && !changes(to->operation);
    double deviation =
        to->operation == TT_H5BENCH_WRITE_NORMAL ? p->deviation : to->content->deviation;

    tt_h5bench_put_counts(to->t, "DIM_1", "particles.dims", p->dims, p->num_dims);
    tt_h5bench_put(to->t, "TIMESTEPS", "particles.steps", "%" PRIu64, p->steps);
    tt_h5bench_put(to->t, "EMULATED_COMPUTE_TIME_PER_TIMESTEP", "particles.pause", "%.17g",
                   p->compute);
    tt_h5bench_put(to->t, "MEM_PATTERN", "particles.memory", "%s",
                   p->memory == INTERLEAVED ? "records" : "arrays");
    tt_h5bench_put(to->t, "FILE_PATTERN", "particles.file", "%s",
                   p->file == INTERLEAVED ? "records" : "arrays");
    tt_h5bench_put(to->t, "MEM_PATTERN", "particles.conversion", "%s",
                   to->t->is_hdf5 ? "library" : "engine");
    if (to->operation == TT_H5BENCH_WRITE_NORMAL || (to->content->is_known && !makes))
        tt_h5bench_put(to->t, "STDEV_DIM_1", "particles.deviation", "%.17g", deviation);
    if (p->file_per_process)
        tt_h5bench_put(to->t, "FILE_PER_PROC", "particles.files", "process");
    if (p->memory_limit > 0)
        tt_h5bench_put(to->t, "IO_MEM_LIMIT", "particles.memory_limit", "%" PRIu64,
                       p->memory_limit);
    if (p->is_strided) {
        tt_h5bench_put(to->t, "STRIDE_SIZE", "particles.stride", "%" PRIu64, p->stride[0]);
        tt_h5bench_put(to->t, "BLOCK_SIZE", "particles.block", "%" PRIu64, p->block[0]);
        tt_h5bench_put(to->t, "BLOCK_CNT", "particles.count", "%" PRIu64, p->blocks);
        if (!to->t->b->reads)
            tt_h5bench_put(to->t, "FILE_PATTERN", "particles.pattern", "strided");
    }
}

/* NUM_PARTICLES has no effect of its own, but wins over the other. */
static uint64_t count_to_read(const struct h5bench_pattern *p)
{
    return p->to_read > 0 && p->particles > 1 ? p->particles : p->to_read;
}

/* FULL, PARTIAL and STRIDED have no effect of their own: the numbers beside them have. */
static void put_reading(struct translation *to)
{
    const struct h5bench_pattern *p = to->p;
    uint64_t m = p->num_dims == 1 ? count_to_read(p) : 0;

    if (p->read_option >= LDC) {
        static const char *const ours[] = {
            [LDC] = "ldc", [RDC] = "rdc", [CS] = "cs", [PRL] = "prl"};

        tt_h5bench_put(to->t, "READ_OPTION", "particles.read", "%s", ours[p->read_option]);
        tt_h5bench_put_counts(to->t, "BLOCK_SIZE", "particles.block", p->block, 2);
        if (p->read_option == CS)
            tt_h5bench_put_counts(to->t, "STRIDE_SIZE", "particles.stride", p->stride, 2);
    } else if (p->is_strided) {
        tt_h5bench_put(to->t, "READ_OPTION", "particles.read", "strided");
    } else if (m > 0 && m < p->dims[0]) {
        tt_h5bench_put(to->t, "READ_OPTION", "particles.read", "partial");
        tt_h5bench_put(to->t, "TO_READ_NUM_PARTICLES", "particles.read_count", "%" PRIu64, m);
    }
}

/* Flushed once, at the end, in both modes. */
static void put_mode(struct translation *to)
{
    const struct h5bench_pattern *p = to->p;

    to->t->b->asynchronous = p->mode == ASYNC;
    to->t->b->logs = p->mode == LOG;
    tt_h5bench_put(to->t, "MODE", "overlap", "%s", to->t->b->asynchronous ? "async" : "none");
    tt_h5bench_put(to->t, "MODE", "sync", "close");
    tt_h5bench_put(to->t, "MODE", "baseline", "0"); /* h5bench has no epochs without overlap */
    if (p->mode == LOG && !to->t->loads_connector)
        tt_h5bench_put(to->t, "MODE", "layers", "log");
    if (!to->t->b->asynchronous)
        return;
    if (to->t->b->reads)
        tt_h5bench_put(to->t, "MODE", "particles.prefetch", "yes");
    else
        tt_h5bench_put(to->t, "DELAYED_CLOSE_TIMESTEPS", "inflight", "%" PRIu64, p->delay + 1);
}

/* Parameters are numbers between blanks or commas; h5bench always deflates at level 9. */
static void put_filter(struct translation *to)
{
    const struct h5bench_pattern *p = to->p;
    const char *name = hdf5_filters[p->filter], *at = p->filter_parameters;
    char text[256];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", name);

    if (!at && p->filter == 0)
        at = "9";
    while (at && *(at += strspn(at, " ,")) && used < sizeof text) {
        size_t n = strcspn(at, " ,");

        used += (size_t)snprintf(text + used, sizeof text - used, ":%.*s", (int)n, at);
        at += n;
    }
    tt_h5bench_put(to->t, p->filter_parameters ? "COMPRESS_PARAMS" : "COMPRESS_FILTER",
                   "hdf5.filter", "%s", text);
}

static void put_hdf5(struct translation *to)
{
    const struct h5bench_pattern *p = to->p;
    bool has_chunks = p->compress || to->operation == TT_H5BENCH_WRITE_UNLIMITED;

    tt_h5bench_put(to->t, "COLLECTIVE_DATA", "hdf5.method", "%s",
                   p->collective_data || p->compress ? "collective" : "independent");
    tt_h5bench_put(to->t, "COLLECTIVE_METADATA", "hdf5.collective_metadata", "%s",
                   p->collective_metadata || to->t->b->reads ? "yes" : "no");
    if (to->t->b->creates && !p->file_per_process) /* as h5bench sets it, without a key */
        tt_h5bench_put(to->t, "benchmark", "hdf5.metadata_cache", "16m");
    if (p->delay > 0) /* without overlap nothing is closed before the end */
        tt_h5bench_put(to->t, "DELAYED_CLOSE_TIMESTEPS", "hdf5.delayed_close", "%" PRIu64,
                       to->t->b->asynchronous ? p->delay : p->steps);
    if (p->align) {
        tt_h5bench_put(to->t, "ALIGN_LEN", "hdf5.alignment", "%" PRIu64, p->align_length);
        tt_h5bench_put(to->t, "ALIGN_THRESHOLD", "hdf5.alignment_threshold", "%" PRIu64,
                       p->align_threshold ? p->align_threshold : 1);
    }
    if (to->t->b->reads || changes(to->operation))
        return;
    if (p->compress)
        put_filter(to);
    if (has_chunks && is_given(to, "CHUNK_DIM_1"))
        tt_h5bench_put_counts(to->t, "CHUNK_DIM_1", "hdf5.chunk", p->chunk, p->num_dims);
}

/* ---- what is in the file ---- */

/* What the file is known to have holds where the configuration says nothing. */
static void adopt(struct translation *to)
{
    struct h5bench_pattern *p = to->p;
    const struct tt_h5bench_content *c = to->content;

    if (!c->is_known || !(changes(to->operation) || to->t->b->reads))
        return;
    if (!is_given(to, "DIM_1")) {
        p->num_dims = c->ndims;
        memcpy(p->dims, c->dims, sizeof p->dims);
    }
    if (!is_given(to, "FILE_PATTERN"))
        p->file = c->layout ? INTERLEAVED : CONTIG;
    if (!is_given(to, "FILE_PER_PROC"))
        p->file_per_process = c->per_process;
}

static bool covers(const struct h5bench_pattern *p, const struct tt_h5bench_content *c)
{
    bool same_blocks = c->count == 0 || (p->is_strided && p->blocks == c->count &&
                                         p->block[0] == c->block && p->stride[0] == c->stride);

    return c->is_known && c->can_check && p->num_dims == c->ndims && p->steps <= c->steps &&
           !memcmp(p->dims, c->dims, p->num_dims * sizeof *p->dims) && same_blocks &&
           (p->file == INTERLEAVED) == (c->layout == 1);
}

static void begin_content(const struct translation *to)
{
    const struct h5bench_pattern *p = to->p;
    struct tt_h5bench_content *c = to->content;
    bool loses = p->compress && p->filter >= FIRST_LOSSY;

    *c = (struct tt_h5bench_content){
        .is_known = true,
        .can_check = !loses,
        .loses = loses,
        .unlimited = to->operation == TT_H5BENCH_WRITE_UNLIMITED,
        .per_process = p->file_per_process,
        .layout = p->file == INTERLEAVED,
        .ndims = p->num_dims,
        .steps = p->steps,
        .seed = 1,
        .stride = p->is_strided ? p->stride[0] : 0,
        .block = p->is_strided ? p->block[0] : 0,
        .count = p->is_strided ? p->blocks : 0,
        .deviation = to->operation == TT_H5BENCH_WRITE_NORMAL ? p->deviation : 0,
    };
    memcpy(c->dims, p->dims, sizeof c->dims);
}

/* Other data, so that what is read afterwards tells whether it was written; where the seed says how
 * many particles a rank has, it stays. */
static void overwrite_content(struct translation *to)
{
    struct tt_h5bench_content *c = to->content;
    const struct h5bench_pattern *p = to->p;

    if (!c->is_known || c->deviation > 0)
        return;
    if (!covers(p, c) || p->steps != c->steps || p->is_strided != (c->count > 0))
        c->can_check = false;
    c->seed++;
}

/* The phase, whether what it reads can be checked, and what is in the file then. */
static void put_chain(struct translation *to)
{
    struct tt_h5bench_content *c = to->content;
    static const char *const phases[] = {"write", "write", "write", "overwrite", "append", "read"};
    bool checks = to->t->b->reads && covers(to->p, c);

    if (to->t->b->reads && !checks)
        to->t->b->notice = c->loses ? TT_H5BENCH_LOSES
                           : c->is_known && c->can_check
                               ? "not checked: it was not written as it is read"
                               : "not checked: what is in the file is not known for certain";
    tt_h5bench_put(to->t, "IO_OPERATION", "particles.phase", "%s", phases[to->operation]);
    tt_h5bench_put(to->t, "IO_OPERATION", "particles.path", "%s", to->t->b->file);
    tt_h5bench_put(to->t, "IO_OPERATION", "particles.verify", "%s", checks ? "yes" : "no");
    tt_h5bench_put(to->t, "IO_OPERATION", "keep", "yes");
    tt_h5bench_put(to->t, "IO_OPERATION", "label", "%s", to->t->b->name);
    if (to->operation == TT_H5BENCH_OVERWRITE)
        overwrite_content(to);
    if (to->operation == TT_H5BENCH_APPEND && c->is_known)
        tt_h5bench_put(to->t, "IO_OPERATION", "particles.appended", "%" PRIu64, c->appended++);
    if (to->operation < TT_H5BENCH_OVERWRITE)
        begin_content(to);
    else if (c->is_known)
        tt_h5bench_put(to->t, "IO_OPERATION", "seed", "%" PRIu64, c->seed);
    if (c->unlimited)
        tt_h5bench_put(to->t, "IO_OPERATION", "particles.unlimited", "yes");
}

/* ---- the benchmark ---- */

static int check(const struct translation *to)
{
    static const int expected[] = {1, 1, 1, 2, 3, 0}; /* of operations */
    const struct h5bench_pattern *p = to->p;
    uint64_t particles = 1;

    for (uint64_t d = 0; d < p->num_dims; d++)
        if (__builtin_mul_overflow(particles, p->dims[d], &particles) || particles > MOST)
            return tt_fail(to->t->e, TT_USAGE, "%.200s: too many particles per rank",
                           tt_h5bench_place(to->t, "DIM_1"));
    if (p->steps == 0)
        return tt_fail(to->t->e, TT_USAGE, "%.200s: benchmark '%.40s' needs TIMESTEPS",
                       to->t->b->place, to->t->b->name);
    if (is_given(to, "IO_OPERATION") && p->operation != expected[to->operation])
        return tt_fail(to->t->e, TT_USAGE, "%.200s: IO_OPERATION does not match benchmark '%.40s'",
                       tt_h5bench_place(to->t, "IO_OPERATION"), to->t->b->name);
    if (p->memory_limit > 0 && p->memory_limit <= 32 * particles)
        return tt_fail(
            to->t->e, TT_USAGE,
            "%.200s: IO_MEM_LIMIT must be more than the bytes of a rank's step, %" PRIu64,
            tt_h5bench_place(to->t, "IO_MEM_LIMIT"), 32 * particles);
    if (to->t->b->reads && p->num_dims == 1 && count_to_read(p) > p->dims[0])
        return tt_fail(
            to->t->e, TT_USAGE, "%.200s: a rank has only %" PRIu64 " particles (DIM_1)",
            tt_h5bench_place(to->t, p->particles ? "NUM_PARTICLES" : "TO_READ_NUM_PARTICLES"),
            p->dims[0]);
    if (p->subfiling && p->collective_data)
        return tt_fail(to->t->e, TT_USAGE, "%.200s: SUBFILING does not go with COLLECTIVE_DATA",
                       tt_h5bench_place(to->t, "SUBFILING"));
    if (p->align && p->align_length == 0)
        return tt_fail(to->t->e, TT_USAGE, "%.200s: ALIGN needs ALIGN_LEN",
                       tt_h5bench_place(to->t, "ALIGN"));
    return TT_OK;
}

static const char *why_not(const struct translation *to)
{
    const struct h5bench_pattern *p = to->p;

    if (p->mode == LOG && !to->t->loads_connector && changes(to->operation))
        return "MODE LOG: a log that is closed cannot be changed";
    if (p->subfiling)
        return "SUBFILING: the hdf5 backend writes one file, without subfiles";
    if (p->driver && !strcmp(p->driver, "gds"))
        return "DYNAMIC_VFD_NAME gds: GPUDirect Storage has not been tested with tutti yet";
    if (p->driver)
        return "DYNAMIC_VFD_NAME: the hdf5 backend loads no file drivers";
    if (p->memory == STRIDED)
        return "MEM_PATTERN STRIDED: h5bench knows the word, but no benchmark for it";
    return NULL;
}

int tt_h5bench_translate(struct tt_h5bench_translation *t, enum tt_h5bench_operation operation,
                         struct tt_h5bench_content *content)
{
    struct h5bench_pattern p = {0};
    struct translation to = {.t = t, .p = &p, .operation = operation, .content = content};
    struct tt_h5bench_benchmark *b = t->b;
    const char *why;
    int rc = tt_h5bench_read_keys(t->keys, params, &p, t->e);

    b->reads = operation == TT_H5BENCH_READ;
    b->changes = changes(operation);
    b->workload = "particles";
    if (rc == TT_OK) {
        adopt(&to);
        p.is_strided = p.file == STRIDED || (p.read_option == READ_STRIDED && p.blocks > 0);
        b->per_process = p.file_per_process;
        rc = check(&to);
    }
    if (rc == TT_OK) {
        b->csv_file = p.csv_file;
        p.csv_file = NULL;
        why = why_not(&to);
        if (why && !(b->reason = strdup(why)))
            rc = tt_fail_nomem(t->e, "a reason");
    }
    if (rc == TT_OK && !b->reason) {
        put_shape(&to);
        put_mode(&to);
        if (b->reads)
            put_reading(&to);
        if (t->is_hdf5)
            put_hdf5(&to);
        put_chain(&to);
        rc = tt_settings_check(&b->settings, t->e);
    }
    tt_params_free(params, &p);
    return rc;
}
