/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything a rank has while it writes and reads frames; shared by run.c, read.c and figures.c. */
#ifndef TT_WORKLOADS_FRAMES_JOB_H
#define TT_WORKLOADS_FRAMES_JOB_H

#include "engine/engine.h"
#include "workloads/frames/frames.h"

/* Variables of a file, in the order in which they lie there. */
enum { TT_FRAMES_HEADER, TT_FRAMES_BEFORE, TT_FRAMES_DATA, TT_FRAMES_AFTER, TT_FRAMES_NVARIABLES };

struct tt_frames_job {
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

static inline bool tt_frames_has_files(const struct tt_frames_options *o)
{
    return o->style != TT_FRAMES_SINGLE;
}

static inline uint64_t tt_frames_text_size(const struct tt_frames_options *o, int which)
{
    return which == TT_FRAMES_HEADER ? o->header : o->metadata;
}

/* ---- run.c ---- */
/* This rank's part of a frame: rank 0 has the texts, everybody a part of the data. */
unsigned tt_frames_list_blocks(struct tt_frames_job *f, uint64_t frame, struct tt_block *blocks);
void tt_frames_write_text(const struct tt_frames_job *f, int which, uint64_t frame, char *text);

/* ---- read.c ---- */
/* Collective: nodes forget what they have of the files, and rank 0 looks what its own still has. */
int tt_frames_evict(struct tt_frames_job *f, struct tt_error *e);
int tt_frames_read(struct tt_frames_job *f, uint64_t frame, struct tt_error *e);

/* ---- figures.c ---- */
/* Collective, with all files closed. */
int tt_frames_report(struct tt_frames_job *f, struct tt_error *e);

#endif
