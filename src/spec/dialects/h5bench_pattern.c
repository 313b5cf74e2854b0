/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/dialects/h5bench_pattern.h"

#include <inttypes.h>
#include <string.h>

#include "spec/dialects/h5bench_parts.h"

enum { FULL, PARTIAL, READ_STRIDED, LDC, RDC, CS, PRL };
enum { SYNC, ASYNC, LOG };
enum { GZIP, SZIP, N_BIT, SZ3, ZFP };
static const char *const patterns[] = {"CONTIG", "INTERLEAVED", "STRIDED", NULL};
static const char *const read_options[] = {"FULL", "PARTIAL", "STRIDED", "LDC",
                                           "RDC",  "CS",      "PRL",     NULL};
static const char *const operations[] = {"READ", "WRITE", "OVERWRITE", "APPEND", NULL};
static const char *const modes[] = {"SYNC", "ASYNC", "LOG", NULL};
static const char *const filters[] = {"GZIP", "SZIP", "N_BIT", "SZ3", "ZFP", NULL};

#define AT(member) offsetof(struct h5bench_pattern, member)
#define MOST (INT64_C(1) << 40)
#define CHOOSE(key, member, fallback, list) \
    { \
        key, TT_PARAM_CHOICE, AT(member), fallback, .choices = list \
    }
#define NUMBER(key, member, fallback, min) \
    { \
        key, TT_PARAM_BYTES, AT(member), fallback, NULL, NULL, min, MOST \
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
    {NULL},
};

/* ---- settings ---- */

static const struct tt_setting *find(const struct h5bench_emitter *to, const char *name)
{
    return tt_h5bench_find(to->out.keys, name);
}

static const char *place_of(const struct h5bench_emitter *to, const char *name)
{
    return tt_h5bench_place(&to->out, name);
}

static void emit(struct h5bench_emitter *to, const char *name, const char *key, const char *value)
{
    tt_h5bench_emit(&to->out, name, key, value);
}

static void emit_number(struct h5bench_emitter *to, const char *name, const char *key,
                        uint64_t value)
{
    tt_h5bench_emit_number(&to->out, name, key, value);
}

static void emit_counts(struct h5bench_emitter *to, const char *name, const char *key,
                        const uint64_t *values, uint64_t n)
{
    tt_h5bench_emit_counts(&to->out, name, key, values, n);
}

static void emit_shape(struct h5bench_emitter *to)
{
    const struct h5bench_pattern *p = to->p;
    bool makes = !to->out.b->reads && !tt_h5bench_changes(to->operation);
    double deviation =
        to->operation == TT_H5BENCH_WRITE_NORMAL ? p->deviation : to->content->deviation;

    emit_counts(to, "DIM_1", "particles.dims", p->dims, p->num_dims);
    emit_number(to, "TIMESTEPS", "particles.steps", p->steps);
    tt_h5bench_emit_real(&to->out, "EMULATED_COMPUTE_TIME_PER_TIMESTEP", "particles.compute",
                         p->compute);
    emit(to, "MEM_PATTERN", "particles.memory",
         p->memory == H5BENCH_INTERLEAVED ? "records" : "arrays");
    emit(to, "FILE_PATTERN", "particles.file",
         p->file == H5BENCH_INTERLEAVED ? "records" : "arrays");
    emit(to, "MEM_PATTERN", "particles.conversion", to->is_hdf5 ? "library" : "engine");
    if (to->operation == TT_H5BENCH_WRITE_NORMAL || (to->content->is_known && !makes))
        tt_h5bench_emit_real(&to->out, "STDEV_DIM_1", "particles.deviation", deviation);
    if (p->file_per_process)
        emit(to, "FILE_PER_PROC", "particles.files", "process");
    if (p->memory_limit > 0)
        emit_number(to, "IO_MEM_LIMIT", "particles.memory_limit", p->memory_limit);
    if (p->is_strided) {
        emit_number(to, "STRIDE_SIZE", "particles.stride", p->stride[0]);
        emit_number(to, "BLOCK_SIZE", "particles.block", p->block[0]);
        emit_number(to, "BLOCK_CNT", "particles.count", p->blocks);
        if (!to->out.b->reads)
            emit(to, "FILE_PATTERN", "particles.pattern", "strided");
    }
}

/* NUM_PARTICLES has no effect of its own, but wins over the other. */
static uint64_t count_to_read(const struct h5bench_pattern *p)
{
    return p->to_read > 0 && p->particles > 1 ? p->particles : p->to_read;
}

/* FULL, PARTIAL and STRIDED have no effect of their own: the numbers beside them have. */
static void emit_reading(struct h5bench_emitter *to)
{
    const struct h5bench_pattern *p = to->p;
    uint64_t m = p->num_dims == 1 ? count_to_read(p) : 0;

    if (p->read_option >= LDC) {
        static const char *const ours[] = {
            [LDC] = "ldc", [RDC] = "rdc", [CS] = "cs", [PRL] = "prl"};

        emit(to, "READ_OPTION", "particles.read", ours[p->read_option]);
        emit_counts(to, "BLOCK_SIZE", "particles.block", p->block, 2);
        if (p->read_option == CS)
            emit_counts(to, "STRIDE_SIZE", "particles.stride", p->stride, 2);
    } else if (p->is_strided) {
        emit(to, "READ_OPTION", "particles.read", "strided");
    } else if (m > 0 && m < p->dims[0]) {
        emit(to, "READ_OPTION", "particles.read", "partial");
        emit_number(to, "TO_READ_NUM_PARTICLES", "particles.read_count", m);
    }
}

/* Flushed once, at the end, in both modes. */
static void emit_mode(struct h5bench_emitter *to)
{
    const struct h5bench_pattern *p = to->p;

    to->out.b->asynchronous = p->mode == ASYNC;
    emit(to, "MODE", "overlap", to->out.b->asynchronous ? "async" : "none");
    emit(to, "MODE", "sync", "close");
    emit(to, "MODE", "baseline", "0"); /* h5bench has no epochs without overlap */
    if (!to->out.b->asynchronous)
        return;
    if (to->out.b->reads)
        emit(to, "MODE", "particles.prefetch", "yes");
    else
        emit_number(to, "DELAYED_CLOSE_TIMESTEPS", "inflight", p->delay + 1);
}

static void emit_hdf5(struct h5bench_emitter *to)
{
    const struct h5bench_pattern *p = to->p;
    bool has_chunks = p->compress || to->operation == TT_H5BENCH_WRITE_UNLIMITED;

    emit(to, "COLLECTIVE_DATA", "hdf5.method",
         p->collective_data || p->compress ? "collective" : "independent");
    emit(to, "COLLECTIVE_METADATA", "hdf5.collective_metadata",
         p->collective_metadata || to->out.b->reads ? "yes" : "no");
    if (p->delay > 0) /* without overlap nothing is closed before the end */
        emit_number(to, "DELAYED_CLOSE_TIMESTEPS", "hdf5.delayed_close",
                    to->out.b->asynchronous ? p->delay : p->steps);
    if (p->align) {
        emit_number(to, "ALIGN_LEN", "hdf5.alignment", p->align_length);
        emit_number(to, "ALIGN_THRESHOLD", "hdf5.alignment_threshold",
                    p->align_threshold ? p->align_threshold : 1);
    }
    if (to->out.b->reads || tt_h5bench_changes(to->operation))
        return;
    if (p->compress)
        emit(to, "COMPRESS", "hdf5.compress", "9");
    if (has_chunks && find(to, "CHUNK_DIM_1"))
        emit_counts(to, "CHUNK_DIM_1", "hdf5.chunk", p->chunk, p->num_dims);
}

/* ---- the benchmark ---- */

static int check(const struct h5bench_emitter *to)
{
    static const int expected[] = {1, 1, 1, 2, 3, 0}; /* of operations */
    const struct h5bench_pattern *p = to->p;
    uint64_t particles = 1;

    for (uint64_t d = 0; d < p->num_dims; d++)
        if (__builtin_mul_overflow(particles, p->dims[d], &particles) || particles > MOST)
            return tt_fail(to->out.e, TT_USAGE, "%.200s: a rank's particles are too many",
                           place_of(to, "DIM_1"));
    if (p->steps == 0)
        return tt_fail(to->out.e, TT_USAGE, "%.200s: benchmark '%.40s' needs TIMESTEPS",
                       to->out.b->place, to->out.b->name);
    if (find(to, "IO_OPERATION") && p->operation != expected[to->operation])
        return tt_fail(to->out.e, TT_USAGE,
                       "%.200s: IO_OPERATION is not what benchmark '%.40s' does",
                       place_of(to, "IO_OPERATION"), to->out.b->name);
    if (p->memory_limit > 0 && p->memory_limit <= 32 * particles)
        return tt_fail(
            to->out.e, TT_USAGE,
            "%.200s: IO_MEM_LIMIT must be more than the bytes of a rank's step, %" PRIu64,
            place_of(to, "IO_MEM_LIMIT"), 32 * particles);
    if (to->out.b->reads && p->num_dims == 1 && count_to_read(p) > p->dims[0])
        return tt_fail(to->out.e, TT_USAGE, "%.200s: a rank has only %" PRIu64 " particles (DIM_1)",
                       place_of(to, p->particles ? "NUM_PARTICLES" : "TO_READ_NUM_PARTICLES"),
                       p->dims[0]);
    if (p->subfiling && p->collective_data)
        return tt_fail(to->out.e, TT_USAGE, "%.200s: SUBFILING does not go with COLLECTIVE_DATA",
                       place_of(to, "SUBFILING"));
    if (p->align && p->align_length == 0)
        return tt_fail(to->out.e, TT_USAGE, "%.200s: ALIGN needs ALIGN_LEN", place_of(to, "ALIGN"));
    return TT_OK;
}

static const char *why_not(const struct h5bench_pattern *p)
{
    if (p->mode == LOG)
        return "MODE LOG: the log layer is not built yet";
    if (p->subfiling)
        return "SUBFILING: the hdf5 backend has one file, no subfiles";
    if (p->compress && p->filter != GZIP)
        return "COMPRESS_FILTER: the hdf5 backend compresses by GZIP alone";
    if (p->memory == H5BENCH_STRIDED)
        return "MEM_PATTERN STRIDED: h5bench knows the word, but no benchmark for it";
    return NULL;
}

static int take_texts(struct h5bench_emitter *to, struct h5bench_pattern *p)
{
    const char *why = why_not(p);

    to->out.b->csv_file = p->csv_file;
    p->csv_file = NULL;
    if (why && !(to->out.b->reason = strdup(why)))
        return tt_fail_nomem(to->out.e, "a reason");
    return TT_OK;
}

int tt_h5bench_translate(const struct tt_settings *keys, enum tt_h5bench_operation operation,
                         bool is_hdf5, struct tt_h5bench_content *content,
                         struct tt_h5bench_benchmark *b, struct tt_error *e)
{
    struct h5bench_pattern p = {0};
    struct h5bench_emitter to = {.out = {.keys = keys, .b = b, .e = e},
                                 .p = &p,
                                 .operation = operation,
                                 .content = content,
                                 .is_hdf5 = is_hdf5};
    int rc = tt_h5bench_read_keys(keys, params, &p, e);

    b->reads = operation == TT_H5BENCH_READ;
    b->changes = tt_h5bench_changes(operation);
    b->workload = "particles";
    if (rc == TT_OK) {
        tt_h5bench_adopt(&to);
        p.is_strided = p.file == H5BENCH_STRIDED || (p.read_option == READ_STRIDED && p.blocks > 0);
        b->per_process = p.file_per_process;
        rc = check(&to);
    }
    if (rc == TT_OK)
        rc = take_texts(&to, &p);
    if (rc == TT_OK && !b->reason) {
        emit_shape(&to);
        emit_mode(&to);
        if (b->reads)
            emit_reading(&to);
        if (is_hdf5)
            emit_hdf5(&to);
        tt_h5bench_emit_chain(&to);
        rc = to.out.rc;
    }
    tt_params_free(params, &p);
    return rc;
}
