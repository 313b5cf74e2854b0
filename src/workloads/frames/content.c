/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "engine/engine.h"
#include "plan/workload.h"
#include "workloads/frames/frames.h"

static inline double value_at(uint64_t seed, uint64_t index)
{
    return (double)(tt_mix(seed + index) >> 11) * 0x1p-53;
}

static uint64_t seed_of(uint64_t seed, uint64_t frame)
{
    return tt_mix(tt_mix(seed) ^ frame);
}

/* A row is what lies together in the file and in memory; the number of its first float in the whole
 * frame. */
static uint64_t first_of_row(const struct tt_frames_shape *s, uint64_t row)
{
    uint64_t z = s->start[0] + row / s->block[1], y = s->start[1] + row % s->block[1];

    return ((z * s->dims[1] + y) * s->dims[2] + s->start[2]) * s->width;
}

uint64_t tt_frames_place(const struct tt_frames_shape *s, uint64_t i)
{
    uint64_t length = s->block[2] * s->width;

    return first_of_row(s, i / length) + i % length;
}

void tt_frames_fill_doubles(const struct tt_frames_shape *s, uint64_t seed, uint64_t frame,
                            double *values)
{
    uint64_t length = s->block[2] * s->width, rows = s->values / length;

    seed = seed_of(seed, frame);
    for (uint64_t row = 0; row < rows; row++, values += length) {
        uint64_t first = first_of_row(s, row);

        for (uint64_t i = 0; i < length; i++)
            values[i] = value_at(seed, first + i);
    }
}

void tt_frames_fill_floats(const struct tt_frames_shape *s, uint64_t seed, uint64_t frame,
                           float *values)
{
    uint64_t length = s->block[2] * s->width, rows = s->values / length;

    seed = seed_of(seed, frame);
    for (uint64_t row = 0; row < rows; row++, values += length) {
        uint64_t first = first_of_row(s, row);

        for (uint64_t i = 0; i < length; i++)
            values[i] = (float)value_at(seed, first + i);
    }
}

void tt_frames_convert(const double *restrict from, float *restrict to, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

bool tt_frames_matches(const struct tt_frames_shape *s, uint64_t seed, uint64_t frame,
                       const float *values, double loss, uint64_t *wrong)
{
    uint64_t length = s->block[2] * s->width, rows = s->values / length;

    seed = seed_of(seed, frame);
    for (uint64_t row = 0; row < rows; row++, values += length) {
        uint64_t first = first_of_row(s, row);

        for (uint64_t i = 0; i < length; i++) {
            float right = (float)value_at(seed, first + i);

            if (memcmp(&values[i], &right, sizeof right) != 0 && /* NaN is wrong, too */
                !tt_is_near(&tt_element_f32, &values[i], &right, loss)) {
                *wrong = first + i;
                return false;
            }
        }
    }
    return true;
}

static void fill_up(char *text, int length, uint64_t size)
{
    uint64_t used = (uint64_t)length < size ? (uint64_t)length : size;

    memset(text + used, ' ', size - used);
    if (size)
        text[size - 1] = '\n';
}

void tt_frames_header(const struct tt_frames_shape *s, const struct tt_frames_options *o,
                      char *text)
{
    char line[256];
    int n = snprintf(line, sizeof line,
                     "tutti frames: %llu x %llu x %llu elements of %llu floats, metadata %llu\n",
                     (unsigned long long)s->dims[0], (unsigned long long)s->dims[1],
                     (unsigned long long)s->dims[2], (unsigned long long)s->width,
                     (unsigned long long)o->metadata);

    memcpy(text, line, (uint64_t)n < o->header ? (uint64_t)n : o->header);
    fill_up(text, n, o->header);
}

void tt_frames_metadata(const char *which, uint64_t frame, uint64_t size, char *text)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s frame %llu\n", which, (unsigned long long)frame);

    memcpy(text, line, (uint64_t)n < size ? (uint64_t)n : size);
    fill_up(text, n, size);
}

/* ---- what stands for the simulation ---- */

void tt_frames_begin(double *now, double *next, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        now[i] = next[i] = (double)(i % 97);
}

void tt_frames_step(const double *restrict now, double *restrict next, uint64_t n)
{
    for (uint64_t i = 1; i + 1 < n; i++)
        next[i] = 0.25 * now[i - 1] + 0.5 * now[i] + 0.25 * now[i + 1];
}

int tt_frames_field_make(struct tt_frames_field *f, uint64_t n, struct tt_device *device,
                         struct tt_error *e)
{
    f->n = n;
    if (device)
        return tt_frames_field_make_on(f, device, e);
    f->now = malloc(n * sizeof *f->now);
    f->next = malloc(n * sizeof *f->next);
    if (!f->now || !f->next)
        return tt_fail_nomem(e, "the field to compute on");
    tt_frames_begin(f->now, f->next, n);
    return TT_OK;
}

bool tt_frames_computes(const struct tt_frames_options *o)
{
    return o->compute.count > 0 || o->compute.seconds > 0;
}

int tt_frames_field_steps(struct tt_frames_field *f, uint64_t n, struct tt_error *e)
{
    if (f->work.device)
        return tt_frames_field_steps_on(f, n, e);
    for (uint64_t i = 0; i < n; i++) {
        double *next = f->now;

        tt_frames_step(f->now, f->next, f->n);
        f->now = f->next;
        f->next = next;
    }
    return TT_OK;
}

void tt_frames_field_free(struct tt_frames_field *f)
{
    if (!f->work.device) {
        free(f->now);
        free(f->next);
    }
    tt_device_work_free(&f->work);
}

static int make_computation(const struct tt_engine *engine, void **state, struct tt_error *e)
{
    const struct tt_frames_options *o = tt_config_opts(engine->config, "frames");
    struct tt_frames_field *f = *state = calloc(1, sizeof *f);
    struct tt_frames_shape shape;
    int rc = tt_frames_shape_make(&shape, o, (uint64_t)engine->size, (uint64_t)engine->rank, e);

    if (rc == TT_OK && !f)
        rc = tt_fail_nomem(e, "the field to compute on");
    return rc == TT_OK ? tt_frames_field_make(f, shape.values / shape.width, engine->device, e)
                       : rc;
}

static void do_passes(void *state, uint64_t n)
{
    struct tt_error ignored = TT_ERROR_CLEAR; /* the run itself would fail, too */

    tt_frames_field_steps(state, n, &ignored);
}

static void free_computation(void *state)
{
    if (state)
        tt_frames_field_free(state);
    free(state);
}

const struct tt_computation tt_frames_computation = {make_computation, do_passes, free_computation};
