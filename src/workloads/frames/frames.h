/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the frames workload: its options, who has which part of a frame, what is in it, and
 * what a rank does. */
#ifndef TT_WORKLOADS_FRAMES_H
#define TT_WORKLOADS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/device_work.h"
#include "io/model.h"
#include "spec/param.h"

struct tt_computation;

enum tt_frames_element { TT_FRAMES_FLOAT, TT_FRAMES_VECTOR, TT_FRAMES_BLOCK };
enum tt_frames_decomposition { TT_FRAMES_1D, TT_FRAMES_3D };
enum tt_frames_style { TT_FRAMES_SINGLE, TT_FRAMES_FILES, TT_FRAMES_FILES_AND_OPEN };

struct tt_frames_options {
    uint64_t edge;
    struct tt_counts dims; /* instead of edge */
    int element, decomposition, style;
    uint64_t frames, drop_first;
    uint64_t header, metadata; /* bytes */
    bool convert, timed_convert;
    struct tt_passes compute; /* between two frames */
    bool write, read, cold;
    char *path;
};

/* ---- shape.c ---- */
/* All ranks have blocks of the same size, so the frame grows with their number. */
struct tt_frames_shape {
    uint64_t parts[3]; /* ranks along each axis, the slowest first */
    uint64_t block[3]; /* elements of a rank */
    uint64_t dims[3];  /* elements of all */
    uint64_t start[3]; /* where this rank's begin */
    uint64_t width;    /* floats in an element: 1, 3 or 16 */
    uint64_t values;   /* floats of a rank */
};
/* How many ranks stand along each axis. In three dimensions no axis ever loses ranks when their
 * number is multiplied: 24, 48, 96, ... */
void tt_frames_parts(enum tt_frames_decomposition how, uint64_t ranks, uint64_t parts[3]);
int tt_frames_shape_make(struct tt_frames_shape *s, const struct tt_frames_options *o,
                         uint64_t ranks, uint64_t rank, struct tt_error *e);
/* Bytes of one rank's block, and of everything in one frame. */
uint64_t tt_frames_block_bytes(const struct tt_frames_shape *s);
uint64_t tt_frames_frame_bytes(const struct tt_frames_shape *s, const struct tt_frames_options *o);

/* ---- content.c ---- */
/* Values are a function of seed, frame and place, so that whoever reads them can tell whether they
 * are right. A float is the rounded double. */
void tt_frames_fill_doubles(const struct tt_frames_shape *s, uint64_t seed, uint64_t frame,
                            double *values);
void tt_frames_fill_floats(const struct tt_frames_shape *s, uint64_t seed, uint64_t frame,
                           float *values);
void tt_frames_convert(const double *from, float *to, uint64_t n);
/* The number of the rank's i-th float in the whole frame. */
uint64_t tt_frames_place(const struct tt_frames_shape *s, uint64_t i);
/* False: *wrong is the number, in the whole frame, of the first float that is not right, or
 * further than loss from that. */
bool tt_frames_matches(const struct tt_frames_shape *s, uint64_t seed, uint64_t frame,
                       const float *values, double loss, uint64_t *wrong);
/* Lines of text, filled up with blanks and ended by a newline. */
void tt_frames_header(const struct tt_frames_shape *s, const struct tt_frames_options *o,
                      char *text);
void tt_frames_metadata(const char *which, uint64_t frame, uint64_t size, char *text);

/* What stands for the simulation between two frames: diffusion, explicit in time. */
struct tt_frames_field {
    uint64_t n;
    double *now, *next;
    struct tt_device_work work; /* with a device: both are in its memory */
};
void tt_frames_begin(double *now, double *next, uint64_t n);
void tt_frames_step(const double *now, double *next, uint64_t n);
/* device: NULL for the host. */
int tt_frames_field_make(struct tt_frames_field *f, uint64_t n, struct tt_device *device,
                         struct tt_error *e);
bool tt_frames_computes(const struct tt_frames_options *o);
int tt_frames_field_steps(struct tt_frames_field *f, uint64_t n, struct tt_error *e);
extern const struct tt_computation tt_frames_computation;
void tt_frames_field_free(struct tt_frames_field *f);

/* ---- device.c: the same in a device's memory, to the last bit; all return when it is done ---- */
int tt_frames_prepare_on(struct tt_device *d, struct tt_error *e); /* its kernels */
int tt_frames_fill_on(struct tt_device *d, const struct tt_frames_shape *s, uint64_t seed,
                      uint64_t frame, bool doubles, void *values, struct tt_error *e);
int tt_frames_convert_on(struct tt_device *d, const double *from, float *to, uint64_t n,
                         struct tt_error *e);
/* `found` is 8 bytes of the device's memory for the answer. */
int tt_frames_matches_on(struct tt_device *d, const struct tt_frames_shape *s, uint64_t seed,
                         uint64_t frame, float *values, double loss, uint64_t *found,
                         bool *is_right, uint64_t *wrong, struct tt_error *e);
int tt_frames_field_make_on(struct tt_frames_field *f, struct tt_device *d, struct tt_error *e);
int tt_frames_field_steps_on(struct tt_frames_field *f, uint64_t n, struct tt_error *e);

/* ---- run.c ---- */
/* Columns of the table "frames" in a result: a row for every frame written or read. Seconds of the
 * parts are medians over ranks. */
enum tt_frames_column {
    TT_FRAMES_ACCESS, /* 0 written, 1 read */
    TT_FRAMES_FRAME,
    TT_FRAMES_BYTES,
    TT_FRAMES_COUNTED, /* 0: dropped from the statistics */
    TT_FRAMES_MEDIAN_S,
    TT_FRAMES_LEAST_S,
    TT_FRAMES_MOST_S,
    TT_FRAMES_CONVERT_S,
    TT_FRAMES_OPEN_S,
    TT_FRAMES_TRANSFER_S,
    TT_FRAMES_SYNC_S,
    TT_FRAMES_NCOLUMNS
};
/* What one frame took on one rank, in seconds; the total is of the parts that count. */
enum tt_frames_part {
    TT_FRAMES_TOTAL,
    TT_FRAMES_CONVERTING,
    TT_FRAMES_OPENING,
    TT_FRAMES_TRANSFERRING,
    TT_FRAMES_SYNCING,
    TT_FRAMES_NPARTS
};
/* Fills the row's seconds from those of all ranks, which are sorted on the way:
 * seconds[part * ranks + rank]. */
void tt_frames_row_times(double *row, double *seconds, uint64_t ranks);
int tt_frames_run(struct tt_engine *engine, struct tt_error *e);

#endif
