/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: compute, convert and write frame after frame, then read them all, from storage
 * and not from the page cache, and check every byte of them. With a device the data is in its
 * memory, and whoever looks at it or changes it is a kernel there; the texts stay here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/content.h"
#include "engine/device_move.h"
#include "workloads/frames/frames.h"

/* Variables of a file, in the order in which they lie there. */
enum { TT_FRAMES_HEADER, TT_FRAMES_BEFORE, TT_FRAMES_DATA, TT_FRAMES_AFTER, TT_FRAMES_NVARIABLES };

struct job {
    struct tt_engine *engine;
    const struct tt_frames_options *options;
    struct tt_frames_shape shape;
    struct tt_variable variables[TT_FRAMES_NVARIABLES]; /* without those of no size */
    unsigned nvariables;
    unsigned index[TT_FRAMES_NVARIABLES]; /* of each among them */
    char *texts[TT_FRAMES_NVARIABLES]; /* all but TT_FRAMES_DATA: as they are to be, or were read */
    char *right;                       /* room for the longest of them */
    double *doubles;                   /* NULL without conversion */
    float *floats;
    uint64_t *found; /* on a device: what a check has found */
    struct tt_frames_field field;
    char *path;
    struct tt_write_options rules; /* a frame in every iteration */
    struct tt_output *output;
    struct tt_series *series;             /* to read from */
    struct tt_step_times *written, *read; /* per frame */
    double *converting;                   /* seconds, per frame */
    uint64_t nwritten, nread;             /* frames */
    uint64_t iteration;
    double cached;
    bool cache_unknown;
};

static bool has_files(const struct tt_frames_options *o)
{
    return o->style != TT_FRAMES_SINGLE;
}

static uint64_t text_size(const struct tt_frames_options *o, int which)
{
    return which == TT_FRAMES_HEADER ? o->header : o->metadata;
}

/* ---- preparation ---- */

/* In a raw file this is the layout: the header, then per frame metadata, data, metadata. With a
 * file per frame the header belongs to each of them. */
static void describe_variables(struct job *f)
{
    static const char *const names[] = {"header", "before", "data", "after"};
    const struct tt_frames_options *o = f->options;
    const struct tt_frames_shape *s = &f->shape;

    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++) {
        struct tt_variable *v = &f->variables[f->nvariables];

        if (i != TT_FRAMES_DATA && text_size(o, i) == 0)
            continue;
        f->index[i] = f->nvariables++;
        *v = (struct tt_variable){.path = names[i],
                                  .element = i == TT_FRAMES_DATA ? &tt_element_f32 : &tt_element_u8,
                                  .ndims = 1,
                                  .per_step = i != TT_FRAMES_HEADER || has_files(o)};
        v->dims[0] = text_size(o, i);
        if (i != TT_FRAMES_DATA)
            continue;
        memcpy(v->dims, s->dims, sizeof s->dims);
        v->dims[3] = s->width;
        v->ndims = s->width > 1 ? 4 : 3;
    }
}

/* Of whole words, of the device if there is one; NULL: there is none. */
static void *take_memory(struct job *f, uint64_t bytes, struct tt_error *e)
{
    struct tt_device *d = f->engine->device;
    void *data = NULL;

    bytes = (bytes + 7) / 8 * 8;
    if (d)
        return tt_device_allocate_zeros(d, bytes, &data, e) == TT_OK ? data : NULL;
    return malloc(bytes);
}

static int allocate(struct job *f, struct tt_error *e)
{
    const struct tt_frames_options *o = f->options;
    uint64_t longest = o->header > o->metadata ? o->header : o->metadata;
    bool ok = true;
    int rc =
        tt_frames_shape_make(&f->shape, o, (uint64_t)f->engine->size, (uint64_t)f->engine->rank, e);

    if (rc == TT_OK && f->engine->device)
        rc = tt_frames_prepare_on(f->engine->device, e);
    if (rc == TT_OK && o->write && tt_frames_computes(o))
        rc =
            tt_frames_field_make(&f->field, f->shape.values / f->shape.width, f->engine->device, e);
    if (rc != TT_OK)
        return rc;
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        if (i != TT_FRAMES_DATA)
            ok = (f->texts[i] = malloc(text_size(o, i) + 1)) != NULL && ok;
    f->right = malloc(longest + 1);
    f->floats = take_memory(f, f->shape.values * sizeof *f->floats, e);
    if (o->write && o->convert)
        f->doubles = take_memory(f, f->shape.values * sizeof *f->doubles, e);
    if (o->read && f->engine->device)
        f->found = take_memory(f, sizeof *f->found, e);
    f->written = calloc(o->frames, sizeof *f->written);
    f->read = calloc(o->frames, sizeof *f->read);
    f->converting = calloc(o->frames, sizeof *f->converting);
    f->path = tt_data_path_of(f->engine, o->path, "frames");
    if (!ok || !f->right || !f->floats || (o->write && o->convert && !f->doubles) || !f->written ||
        (o->read && f->engine->device && !f->found) || !f->read || !f->converting || !f->path)
        return tt_fail_nomem(e, "a frame");
    describe_variables(f);
    return TT_OK;
}

static void release(struct job *f)
{
    struct tt_device *d = f->engine->device;
    void *taken[] = {f->doubles, f->floats, f->found};

    if (d)
        tt_device_settle(d);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (d && taken[i])
            d->type->release(d, taken[i]);
        else
            free(taken[i]);
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        free(f->texts[i]);
    tt_frames_field_free(&f->field);
    free(f->right);
    free(f->written);
    free(f->read);
    free(f->converting);
    free(f->path);
}

/* ---- a frame ---- */

/* This rank's part of a frame: rank 0 has the texts, everybody a part of the data. */
static unsigned list_blocks(struct job *f, uint64_t frame, struct tt_block *blocks)
{
    const struct tt_frames_shape *s = &f->shape;
    const struct tt_variable *v = &f->variables[f->index[TT_FRAMES_DATA]];
    uint64_t start[4] = {s->start[0], s->start[1], s->start[2], 0};
    uint64_t count[4] = {s->block[0], s->block[1], s->block[2], s->width};
    unsigned n = 0;

    for (int i = 0; i < TT_FRAMES_NVARIABLES && f->engine->rank == 0; i++) {
        bool there = i != TT_FRAMES_HEADER || frame == 0 || has_files(f->options);
        uint64_t size = text_size(f->options, i);

        if (i == TT_FRAMES_DATA || size == 0 || !there)
            continue;
        blocks[n] = (struct tt_block){.variable = f->index[i], .data = f->texts[i]};
        tt_select_all(&blocks[n].file, 1, &size);
        tt_select_all(&blocks[n++].memory, 1, &size);
    }
    blocks[n] = (struct tt_block){.variable = f->index[TT_FRAMES_DATA],
                                  .data = f->floats,
                                  .space = f->engine->device ? TT_IN_DEVICE : TT_IN_HOST};
    tt_select_slab(&blocks[n].file, v->ndims, v->dims, start, NULL, count, NULL);
    tt_select_all(&blocks[n].memory, v->ndims, count);
    return n + 1;
}

static void write_text(const struct job *f, int which, uint64_t frame, char *text)
{
    if (which == TT_FRAMES_HEADER)
        tt_frames_header(&f->shape, f->options, text);
    else
        tt_frames_metadata(which == TT_FRAMES_BEFORE ? "before" : "after", frame + 1,
                           f->options->metadata, text);
}

/* ---- files ---- */

/* Collective. Every node forgets the file; then rank 0 looks what its own still has. */
static int evict(struct job *f, const char *path, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int64_t resident = -1;
    uint64_t bytes;
    int rc = TT_OK;

    if (f->options->cold)
        rc = tt_data_cached(f->engine, path, true, &bytes, &resident, e);
    rc = tt_agree(f->engine->comm, rc, e);
    if (rc == TT_OK && tt_data_cached(f->engine, path, false, &bytes, &resident, &ignored) != TT_OK)
        resident = -1;
    f->cache_unknown = f->cache_unknown || resident < 0;
    if (resident > 0 && f->engine->rank == 0)
        f->cached += (double)resident;
    return rc;
}

static int evict_all(struct job *f, struct tt_error *e)
{
    uint64_t files = has_files(f->options) ? f->options->frames : 1;
    char *name;
    int rc = TT_OK;

    for (uint64_t i = 0; i < files && rc == TT_OK; i++) {
        int n = has_files(f->options) ? asprintf(&name, "%s.%06llu", f->path, (unsigned long long)i)
                                      : asprintf(&name, "%s", f->path);

        rc = tt_agree(f->engine->comm, n < 0 ? tt_fail_nomem(e, "a path") : TT_OK, e);
        if (rc == TT_OK)
            rc = evict(f, name, e);
        if (n >= 0)
            free(name);
    }
    return rc;
}

static struct tt_series_spec spec_of(const struct job *f, enum tt_access access)
{
    return (struct tt_series_spec){.path = f->path,
                                   .access = access,
                                   .policy = has_files(f->options) ? TT_FILE_PER_STEP : TT_APPEND,
                                   .steps = f->options->frames,
                                   .nvariables = f->nvariables,
                                   .variables = f->variables,
                                   .times = access == TT_CREATE ? f->written : f->read};
}

static int open_to_write(struct job *f, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(f, TT_CREATE);
    struct tt_block blocks[TT_FRAMES_NVARIABLES];
    unsigned n = list_blocks(f, 0, blocks);
    int rc;

    f->rules = (struct tt_write_options){.every = 1};
    rc = tt_output_open_as(f->engine, &f->rules, &spec, f->options->frames, &f->output, e);
    if (rc == TT_OK && f->engine->device)
        rc = tt_agree(f->engine->comm, tt_output_rehearse(f->output, TT_WRITING, n, blocks, e), e);
    return rc;
}

static int open_to_read(struct job *f, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(f, TT_READ_ONLY);
    struct tt_block blocks[TT_FRAMES_NVARIABLES];
    unsigned n = list_blocks(f, 0, blocks);
    int rc = evict_all(f, e);

    if (rc == TT_OK)
        rc = tt_series_open(f->engine, &spec, &f->series, e);
    if (rc == TT_OK && f->engine->device)
        rc = tt_agree(f->engine->comm, tt_series_rehearse(f->series, TT_READING, n, blocks, e), e);
    return rc;
}

static int close_all(struct job *f, int rc, struct tt_error *e)
{
    int written = tt_output_close(f->output, e), read = tt_series_close(f->series, e);

    f->output = NULL;
    f->series = NULL;
    return rc != TT_OK ? rc : written != TT_OK ? written : read;
}

/* ---- writing ---- */

static int fill(struct job *f, uint64_t frame, struct tt_error *e)
{
    uint64_t seed = f->engine->config->run->seed;

    if (f->engine->device)
        return tt_frames_fill_on(f->engine->device, &f->shape, seed, frame, f->doubles != NULL,
                                 f->doubles ? (void *)f->doubles : f->floats, e);
    if (f->doubles)
        tt_frames_fill_doubles(&f->shape, seed, frame, f->doubles);
    else
        tt_frames_fill_floats(&f->shape, seed, frame, f->floats);
    return TT_OK;
}

/* What is computed between two frames, and the state it leaves. */
static int compute(struct job *f, uint64_t frame, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = TT_OK;

    if (frame > 0) {
        rc = tt_frames_field_steps(&f->field, f->options->compute.count, e);
        tt_passes_add(f->engine, t);
        t = tt_now_ns();
    }
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        if (i != TT_FRAMES_DATA)
            write_text(f, i, frame, f->texts[i]);
    if (rc == TT_OK)
        rc = fill(f, frame, e);
    tt_phase_add(f->engine, TT_COMPUTE, t);
    return rc;
}

static int convert(struct job *f, uint64_t frame, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = TT_OK;

    if (!f->doubles)
        return TT_OK;
    if (f->engine->device)
        rc = tt_frames_convert_on(f->engine->device, f->doubles, f->floats, f->shape.values, e);
    else
        tt_frames_convert(f->doubles, f->floats, f->shape.values);
    f->converting[frame] = tt_seconds(tt_now_ns() - t);
    tt_phase_add(f->engine, f->options->timed_convert ? TT_COPY : TT_COMPUTE, t);
    return rc;
}

static int write_frame(struct job *f, uint64_t frame, struct tt_error *e)
{
    struct tt_block blocks[TT_FRAMES_NVARIABLES];
    int rc = compute(f, frame, e);

    if (rc == TT_OK)
        rc = convert(f, frame, e);
    rc = tt_device_agree(f->engine, rc, e);
    if (rc == TT_OK)
        rc = tt_output_write(f->output, frame + 1, list_blocks(f, frame, blocks), blocks, e);
    f->nwritten += rc == TT_OK;
    return rc;
}

/* ---- reading ---- */

static int check_text(const struct job *f, int which, uint64_t frame, struct tt_error *e)
{
    uint64_t size = text_size(f->options, which);

    write_text(f, which, frame, f->right);
    if (memcmp(f->right, f->texts[which], size) == 0)
        return TT_OK;
    return tt_fail(e, TT_CORRUPT, "frame %llu: '%s' is not what was written",
                   (unsigned long long)(frame + 1), f->variables[f->index[which]].path);
}

static int check_frame(const struct job *f, uint64_t frame, const struct tt_block *blocks,
                       unsigned n, struct tt_error *e)
{
    uint64_t wrong, seed = f->engine->config->run->seed;
    double loss = tt_stack_loss(&f->engine->config->stack);
    bool is_right = true;
    int rc = TT_OK;

    for (unsigned i = 0; i < n; i++)
        for (int which = 0; which < TT_FRAMES_NVARIABLES; which++)
            if (which != TT_FRAMES_DATA && blocks[i].data == f->texts[which] &&
                check_text(f, which, frame, e) != TT_OK)
                return TT_CORRUPT;
    if (f->engine->device)
        rc = tt_frames_matches_on(f->engine->device, &f->shape, seed, frame, f->floats, loss,
                                  f->found, &is_right, &wrong, e);
    else
        is_right = tt_frames_matches(&f->shape, seed, frame, f->floats, loss, &wrong);
    if (rc != TT_OK || is_right)
        return rc;
    return tt_fail(e, TT_CORRUPT, "frame %llu: value %llu of element %llu is not what was written",
                   (unsigned long long)(frame + 1), (unsigned long long)(wrong % f->shape.width),
                   (unsigned long long)(wrong / f->shape.width));
}

/* What an earlier frame left would look right. */
static int spoil(struct job *f, struct tt_error *e)
{
    const struct tt_content nonsense = {.signature = ~f->engine->config->run->seed};
    uint64_t bytes = f->shape.values * sizeof *f->floats;

    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        if (i != TT_FRAMES_DATA)
            memset(f->texts[i], 0, text_size(f->options, i));
    if (f->engine->device)
        return tt_content_fill_on(f->engine->device, &nonsense, 0, 0, f->floats,
                                  (bytes + 7) / 8 * 8, e);
    memset(f->floats, 0xff, bytes);
    return TT_OK;
}

static int read_frame(struct job *f, uint64_t frame, struct tt_error *e)
{
    struct tt_block blocks[TT_FRAMES_NVARIABLES];
    int64_t t = tt_now_ns();
    unsigned n = list_blocks(f, frame, blocks);
    int rc = spoil(f, e);

    tt_phase_add(f->engine, TT_COMPUTE, t);
    rc = tt_device_agree(f->engine, rc, e);
    if (rc == TT_OK)
        rc = tt_series_load(f->series, frame, n, blocks, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    rc = check_frame(f, frame, blocks, n, e);
    tt_phase_add(f->engine, TT_COMPUTE, t);
    f->nread++;
    return tt_agree(f->engine->comm, rc, e);
}

/* ---- figures: what frames took on all ranks ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void tt_frames_row_times(double *row, double *seconds, uint64_t ranks)
{
    static const int columns[] = {TT_FRAMES_MEDIAN_S, TT_FRAMES_CONVERT_S, TT_FRAMES_OPEN_S,
                                  TT_FRAMES_TRANSFER_S, TT_FRAMES_SYNC_S};

    for (int part = 0; part < TT_FRAMES_NPARTS; part++) {
        double *of = seconds + (uint64_t)part * ranks;

        qsort(of, ranks, sizeof *of, by_value);
        row[columns[part]] = (of[(ranks - 1) / 2] + of[ranks / 2]) / 2;
    }
    row[TT_FRAMES_LEAST_S] = seconds[0];
    row[TT_FRAMES_MOST_S] = seconds[ranks - 1];
}

static void times_of(const struct job *f, bool reading, uint64_t frame, double *parts)
{
    const struct tt_step_times *t = reading ? &f->read[frame] : &f->written[frame];
    const struct tt_frames_options *o = f->options;

    parts[TT_FRAMES_CONVERTING] = reading ? 0 : f->converting[frame];
    parts[TT_FRAMES_OPENING] = tt_seconds(t->open_ns);
    parts[TT_FRAMES_TRANSFERRING] = tt_seconds(reading ? t->read_ns : t->write_ns);
    parts[TT_FRAMES_SYNCING] = tt_seconds(t->sync_ns);
    parts[TT_FRAMES_TOTAL] = parts[TT_FRAMES_TRANSFERRING] + parts[TT_FRAMES_SYNCING];
    if (o->timed_convert)
        parts[TT_FRAMES_TOTAL] += parts[TT_FRAMES_CONVERTING];
    if (o->style == TT_FRAMES_FILES_AND_OPEN)
        parts[TT_FRAMES_TOTAL] += parts[TT_FRAMES_OPENING];
}

/* Collective. */
static void gather_row(const struct job *f, bool reading, uint64_t frame, double *seconds,
                       double *row)
{
    const struct tt_frames_options *o = f->options;
    bool header = o->header > 0 && (has_files(o) || frame == 0);
    double parts[TT_FRAMES_NPARTS];
    uint64_t ranks = (uint64_t)f->engine->size;

    times_of(f, reading, frame, parts);
    for (int i = 0; i < TT_FRAMES_NPARTS; i++)
        MPI_Gather(&parts[i], 1, MPI_DOUBLE, seconds + (uint64_t)i * ranks, 1, MPI_DOUBLE, 0,
                   f->engine->comm);
    if (f->engine->rank != 0)
        return;
    row[TT_FRAMES_ACCESS] = reading;
    row[TT_FRAMES_FRAME] = (double)(frame + 1);
    row[TT_FRAMES_BYTES] = (double)(tt_frames_frame_bytes(&f->shape, o) + (header ? o->header : 0));
    row[TT_FRAMES_COUNTED] =
        frame >= o->drop_first && !(reading ? f->read : f->written)[frame].excluded;
    tt_frames_row_times(row, seconds, ranks);
}

static int report(struct job *f, struct tt_error *e)
{
    uint64_t n = f->nwritten + f->nread;
    double *rows = calloc(n + 1, TT_FRAMES_NCOLUMNS * sizeof *rows);
    double *seconds = calloc((size_t)f->engine->size, TT_FRAMES_NPARTS * sizeof *seconds);
    int rc = tt_agree(f->engine->comm,
                      rows && seconds ? TT_OK : tt_fail_nomem(e, "the figures of frames"), e);
    int unknown = f->cache_unknown;

    for (uint64_t i = 0; rc == TT_OK && i < n; i++)
        gather_row(f, i >= f->nwritten, i < f->nwritten ? i : i - f->nwritten, seconds,
                   rows + i * TT_FRAMES_NCOLUMNS);
    if (rc == TT_OK && f->field.work.device)
        tt_device_work_report(&f->field.work, f->engine, f->nwritten);
    if (rc == TT_OK && f->engine->rank == 0)
        tt_result_table(f->engine, "frames", (unsigned)n, TT_FRAMES_NCOLUMNS, rows);
    MPI_Allreduce(MPI_IN_PLACE, &unknown, 1, MPI_INT, MPI_MAX, f->engine->comm);
    if (f->options->read && !unknown)
        tt_result(f->engine, "bytes_cached", TT_RESULT_SUM, f->cached);
    free(rows);
    free(seconds);
    return rc;
}

/* ---- the run ---- */

static int each_frame(struct job *f, int (*act)(struct job *, uint64_t, struct tt_error *),
                      struct tt_error *e)
{
    const struct tt_frames_options *o = f->options;
    uint64_t total = o->frames * ((uint64_t)o->write + o->read);
    int rc = TT_OK;

    for (uint64_t frame = 0; rc == TT_OK && frame < o->frames; frame++) {
        rc = tt_iteration_begin(f->engine, ++f->iteration, total, e);
        if (rc == TT_OK)
            rc = act(f, frame, e);
        tt_iteration_end(f->engine);
    }
    return rc;
}

static int measured(struct job *f, struct tt_error *e)
{
    const struct tt_frames_options *o = f->options;
    int rc = tt_engine_start(f->engine, e);

    if (rc == TT_OK && o->write)
        rc = each_frame(f, write_frame, e);
    if (rc == TT_OK && o->write)
        rc = tt_output_drain(f->output, e);
    if (o->write && o->read)
        rc = close_all(f, rc, e);
    if (rc == TT_OK && o->write && o->read)
        rc = open_to_read(f, e);
    if (rc == TT_OK && o->read)
        rc = each_frame(f, read_frame, e);
    return rc == TT_OK ? tt_engine_stop(f->engine, e) : rc;
}

int tt_frames_run(struct tt_engine *engine, struct tt_error *e)
{
    struct job f = {.engine = engine, .options = tt_config_opts(engine->config, "frames")};
    int rc = tt_agree(engine->comm, allocate(&f, e), e);

    if (rc == TT_OK)
        rc = f.options->write ? open_to_write(&f, e) : open_to_read(&f, e);
    if (rc == TT_OK)
        rc = measured(&f, e);
    rc = close_all(&f, rc, e);
    if (rc == TT_OK || rc == TT_LIMIT || rc == TT_STOPPED) { /* the same on all ranks */
        struct tt_error later = TT_ERROR_CLEAR;
        int told = report(&f, &later);

        if (rc == TT_OK && told != TT_OK)
            *e = later;
        rc = rc == TT_OK ? told : rc;
    }
    release(&f);
    return rc;
}
