/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: compute, convert and write frame after frame, then read them all. */
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "workloads/frames/job.h"

/* ---- preparation ---- */

/* In a raw file this is the layout: the header, then per frame metadata, data, metadata. With a
 * file per frame the header belongs to each of them. */
static void describe_variables(struct tt_frames_job *f)
{
    static const char *const names[] = {"header", "before", "data", "after"};
    const struct tt_frames_options *o = f->options;
    const struct tt_frames_shape *s = &f->shape;

    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++) {
        struct tt_variable *v = &f->variables[f->nvariables];

        if (i != TT_FRAMES_DATA && tt_frames_text_size(o, i) == 0)
            continue;
        f->index[i] = f->nvariables++;
        *v = (struct tt_variable){.path = names[i],
                                  .element = i == TT_FRAMES_DATA ? &tt_element_f32 : &tt_element_u8,
                                  .ndims = 1,
                                  .per_step = i != TT_FRAMES_HEADER || tt_frames_has_files(o)};
        v->dims[0] = tt_frames_text_size(o, i);
        if (i != TT_FRAMES_DATA)
            continue;
        memcpy(v->dims, s->dims, sizeof s->dims);
        v->dims[3] = s->width;
        v->ndims = s->width > 1 ? 4 : 3;
    }
}

static int allocate(struct tt_frames_job *f, struct tt_error *e)
{
    const struct tt_frames_options *o = f->options;
    uint64_t longest = o->header > o->metadata ? o->header : o->metadata;
    bool ok = true;
    int rc =
        tt_frames_shape_make(&f->shape, o, (uint64_t)f->engine->size, (uint64_t)f->engine->rank, e);

    if (rc == TT_OK && o->write && (o->steps > 0 || o->compute > 0))
        rc = tt_frames_field_make(&f->field, f->shape.values / f->shape.width, e);
    if (rc != TT_OK)
        return rc;
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        if (i != TT_FRAMES_DATA)
            ok = (f->texts[i] = malloc(tt_frames_text_size(o, i) + 1)) != NULL && ok;
    f->right = malloc(longest + 1);
    f->floats = malloc(f->shape.values * sizeof *f->floats);
    if (o->write && o->convert)
        f->doubles = malloc(f->shape.values * sizeof *f->doubles);
    f->written = calloc(o->frames, sizeof *f->written);
    f->read = calloc(o->frames, sizeof *f->read);
    f->converting = calloc(o->frames, sizeof *f->converting);
    f->path = tt_data_path_of(f->engine, o->path, "frames");
    if (!ok || !f->right || !f->floats || (o->write && o->convert && !f->doubles) || !f->written ||
        !f->read || !f->converting || !f->path)
        return tt_fail_nomem(e, "a frame");
    describe_variables(f);
    return TT_OK;
}

static void release(struct tt_frames_job *f)
{
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        free(f->texts[i]);
    tt_frames_field_free(&f->field);
    free(f->right);
    free(f->doubles);
    free(f->floats);
    free(f->written);
    free(f->read);
    free(f->converting);
    free(f->path);
}

static struct tt_series_spec spec_of(const struct tt_frames_job *f, enum tt_access access)
{
    return (struct tt_series_spec){.path = f->path,
                                   .access = access,
                                   .policy = tt_frames_has_files(f->options) ? TT_FILE_PER_STEP
                                                                             : TT_APPEND,
                                   .steps = f->options->frames,
                                   .nvariables = f->nvariables,
                                   .variables = f->variables,
                                   .times = access == TT_CREATE ? f->written : f->read};
}

static int open_to_write(struct tt_frames_job *f, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(f, TT_CREATE);

    f->rules = (struct tt_write_options){.every = 1};
    return tt_output_open_as(f->engine, &f->rules, &spec, f->options->frames, &f->output, e);
}

static int open_to_read(struct tt_frames_job *f, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(f, TT_READ_ONLY);
    int rc = tt_frames_evict(f, e);

    return rc == TT_OK ? tt_series_open(f->engine, &spec, &f->series, e) : rc;
}

static int close_all(struct tt_frames_job *f, int rc, struct tt_error *e)
{
    int written = tt_output_close(f->output, e), read = tt_series_close(f->series, e);

    f->output = NULL;
    f->series = NULL;
    return rc != TT_OK ? rc : written != TT_OK ? written : read;
}

/* ---- a frame ---- */

static void add_text(struct tt_frames_job *f, int which, struct tt_block *b)
{
    uint64_t size = tt_frames_text_size(f->options, which);

    *b = (struct tt_block){.variable = f->index[which], .data = f->texts[which]};
    tt_select_all(&b->file, 1, &size);
    tt_select_all(&b->memory, 1, &size);
}

unsigned tt_frames_list_blocks(struct tt_frames_job *f, uint64_t frame, struct tt_block *blocks)
{
    const struct tt_frames_shape *s = &f->shape;
    const struct tt_variable *v = &f->variables[f->index[TT_FRAMES_DATA]];
    uint64_t start[4] = {s->start[0], s->start[1], s->start[2], 0};
    uint64_t count[4] = {s->block[0], s->block[1], s->block[2], s->width};
    unsigned n = 0;

    for (int i = 0; i < TT_FRAMES_NVARIABLES && f->engine->rank == 0; i++) {
        bool there = i != TT_FRAMES_HEADER || frame == 0 || tt_frames_has_files(f->options);

        if (i != TT_FRAMES_DATA && tt_frames_text_size(f->options, i) > 0 && there)
            add_text(f, i, &blocks[n++]);
    }
    blocks[n] = (struct tt_block){.variable = f->index[TT_FRAMES_DATA], .data = f->floats};
    tt_select_slab(&blocks[n].file, v->ndims, v->dims, start, NULL, count, NULL);
    tt_select_all(&blocks[n].memory, v->ndims, count);
    return n + 1;
}

void tt_frames_write_text(const struct tt_frames_job *f, int which, uint64_t frame, char *text)
{
    if (which == TT_FRAMES_HEADER)
        tt_frames_header(&f->shape, f->options, text);
    else
        tt_frames_metadata(which == TT_FRAMES_BEFORE ? "before" : "after", frame + 1,
                           f->options->metadata, text);
}

/* ---- writing ---- */

/* One step of the simulation, or as many as the time asks for, and the state it leaves. */
static void compute(struct tt_frames_job *f, uint64_t frame)
{
    const struct tt_frames_options *o = f->options;
    uint64_t seed = f->engine->config->run->seed;
    int64_t t = tt_now_ns();

    if (frame > 0) {
        for (uint64_t i = 0; i < o->steps; i++)
            tt_frames_field_step(&f->field);
        while (tt_seconds(tt_now_ns() - t) < o->compute)
            tt_frames_field_step(&f->field);
    }
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        if (i != TT_FRAMES_DATA)
            tt_frames_write_text(f, i, frame, f->texts[i]);
    if (f->doubles)
        tt_frames_fill_doubles(&f->shape, seed, frame, f->doubles);
    else
        tt_frames_fill_floats(&f->shape, seed, frame, f->floats);
    tt_phase_add(f->engine, TT_COMPUTE, t);
}

static void convert(struct tt_frames_job *f, uint64_t frame)
{
    int64_t t = tt_now_ns();

    if (!f->doubles)
        return;
    tt_frames_convert(f->doubles, f->floats, f->shape.values);
    f->converting[frame] = tt_seconds(tt_now_ns() - t);
    tt_phase_add(f->engine, f->options->timed_convert ? TT_COPY : TT_COMPUTE, t);
}

static int write_frame(struct tt_frames_job *f, uint64_t frame, struct tt_error *e)
{
    struct tt_block blocks[TT_FRAMES_NVARIABLES];
    int rc;

    compute(f, frame);
    convert(f, frame);
    rc = tt_output_write(f->output, frame + 1, tt_frames_list_blocks(f, frame, blocks), blocks, e);
    f->nwritten += rc == TT_OK;
    return rc;
}

/* ---- the run ---- */

static int each_frame(struct tt_frames_job *f,
                      int (*act)(struct tt_frames_job *, uint64_t, struct tt_error *),
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

static int measured(struct tt_frames_job *f, struct tt_error *e)
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
        rc = each_frame(f, tt_frames_read, e);
    return rc == TT_OK ? tt_engine_stop(f->engine, e) : rc;
}

int tt_frames_run(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_frames_job f = {.engine = engine,
                              .options = tt_config_opts(engine->config, "frames")};
    int rc = tt_agree(engine->comm, allocate(&f, e), e);

    if (rc == TT_OK)
        rc = f.options->write ? open_to_write(&f, e) : open_to_read(&f, e);
    if (rc == TT_OK)
        rc = measured(&f, e);
    rc = close_all(&f, rc, e);
    if (rc == TT_OK || rc == TT_LIMIT || rc == TT_STOPPED) { /* the same on all ranks */
        struct tt_error later = TT_ERROR_CLEAR;
        int told = tt_frames_report(&f, &later);

        if (rc == TT_OK && told != TT_OK)
            *e = later;
        rc = rc == TT_OK ? told : rc;
    }
    release(&f);
    return rc;
}
