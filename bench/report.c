/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the page gets of very much data: half a million samples, and a million spans in four
 * columns. Prints what building and writing each document takes, and how large it is:
 *   {"samples_seconds", "samples_bytes", "spans_seconds", "spans_bytes"}. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "report/document.h"

#define SAMPLES 500000
#define SPANS 1000000

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Times as they are measured: whole nanoseconds around a few levels. */
static double some_time(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return 1e-9 * (double)(1000000 + (*state >> 12) % 250000 + (*state >> 28 ? 0 : 5000000));
}

static void add_samples(struct tt_document *d)
{
    double *values = malloc(SAMPLES * sizeof *values);
    unsigned state = 1;

    if (!values)
        exit(1);
    for (size_t i = 0; i < SAMPLES; i++)
        values[i] = some_time(&state);
    tt_figure_samples(d, tt_figure(d, "samples", "samples", "bench", "samples", ""), "all", SAMPLES,
                      values, NULL);
    free(values);
}

static void add_spans(struct tt_document *d)
{
    json_t *figure = tt_figure(d, "timeline", "spans", "bench", "spans", "");
    double *start = malloc(SPANS * sizeof *start), at = 0;
    float *duration = malloc(SPANS * sizeof *duration);
    uint8_t *kind = malloc(SPANS);
    uint32_t *ids = malloc(SPANS * sizeof *ids);
    unsigned state = 1;

    if (!start || !duration || !kind || !ids)
        exit(1);
    for (size_t i = 0; i < SPANS; i++) {
        start[i] = at;
        duration[i] = (float)some_time(&state);
        at += (double)duration[i];
        kind[i] = (uint8_t)(i % 5);
        ids[i] = (uint32_t)i;
    }
    tt_document_set(d, figure, "start", tt_numbers_take(d, TT_NUMBER_F64, SPANS, start));
    tt_document_set(d, figure, "duration", tt_numbers_take(d, TT_NUMBER_F32, SPANS, duration));
    tt_document_set(d, figure, "spanKind", tt_numbers_take(d, TT_NUMBER_U8, SPANS, kind));
    tt_document_set(d, figure, "ids", tt_numbers_take(d, TT_NUMBER_U32, SPANS, ids));
}

static void measure(const char *name, void (*add)(struct tt_document *d), const char *before)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_document d;
    FILE *out = tmpfile();
    double began = seconds();

    if (!out || tt_document_begin(&d, name, "bench", &e) != TT_OK)
        exit(1);
    add(&d);
    if (tt_document_write(&d, false, out, &e) != TT_OK || fflush(out) != 0)
        exit(1);
    printf("%s\"%s_seconds\": %.3f, \"%s_bytes\": %ld", before, name, seconds() - began, name,
           ftell(out));
    tt_document_free(&d);
    fclose(out);
}

int main(void)
{
    measure("samples", add_samples, "{");
    measure("spans", add_spans, ", ");
    puts("}");
    return 0;
}
