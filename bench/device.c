/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a device's own copies, and a plain kernel, reach: device NAME. Prints bytes per second: on
 * the device (read and written), to pinned memory in pieces of 16 and 256 MiB, to pageable memory;
 * and updates per second of a 2D 5-point stencil with sine that computes one point a thread.
 * Medians of several, by the device's clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "devices/device.h"
#include "engine/device_move.h"
#include "plan/registry.h"
#include "workloads/stencil/device.h"

#define MIB ((size_t)1 << 20)
#define SAMPLES 15

static struct tt_device device;
static struct tt_device_event *clock_events[2];
static struct tt_error error = TT_ERROR_CLEAR;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median time of one of them: a copy, or a launch if there is a kernel. */
struct work {
    enum tt_device_direction direction;
    void *to;
    const void *from;
    size_t bytes;
    const struct tt_kernel *kernel;
    struct tt_kernel_grid how;
    struct tt_sweep sweep;
};
static double seconds_of(const struct work *w)
{
    const struct tt_device_type *t = device.type;
    double seconds[SAMPLES];

    for (int i = -1; i < SAMPLES; i++) { /* the first compiles */
        t->record(&device, clock_events[0], TT_STREAM_STAGING, &error);
        if (w->kernel)
            t->launch(&device, TT_STREAM_STAGING, w->kernel, &w->how, &w->sweep, &error);
        else
            tt_device_copy_bytes(&device, TT_STREAM_STAGING, w->direction, w->to, w->from, w->bytes,
                                 &error);
        t->record(&device, clock_events[1], TT_STREAM_STAGING, &error);
        t->await(&device, clock_events[1], &error);
        if (t->elapsed(&device, clock_events[0], clock_events[1], &seconds[i < 0 ? 0 : i],
                       &error) != TT_OK)
            return INFINITY;
    }
    qsort(seconds, SAMPLES, sizeof *seconds, by_size);
    return seconds[SAMPLES / 2];
}

/* Bytes per second of one such copy. */
static double rate(enum tt_device_direction direction, void *to, const void *from, size_t bytes)
{
    return (double)bytes / seconds_of(&(struct work){direction, to, from, bytes, NULL});
}

/* ---- a plain kernel ---- */

/* With the stencil's own arithmetic, so that both compute the same. */
extern const char tt_stencil_source[];
static const char plain[] =
    "extern \"C\" __global__ void plain(tt_sweep a)\n"
    "{\n"
    "    long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;\n"
    "    change unused = {0.0};\n"
    "    if (j < a.last[2] && row < a.last[1])\n"
    "        one_point<STAR2D, true>(a, 0, row, j, unused);\n"
    "}\n";

static void do_nothing(const void *arguments)
{
    (void)arguments;
}

/* Updates per second of n x n points, by blocks of the best shape. Both arrays are larger. */
static double plain_rate(int64_t n, void *a, void *b)
{
    char *source;
    double best = 0;

    if (asprintf(&source, "%s\n%s", tt_stencil_source, plain) < 0)
        return 0;
    const struct tt_kernel kernel = {.name = "plain",
                                     .source = source,
                                     .arguments_size = sizeof(struct tt_sweep),
                                     .naddresses = 5,
                                     .addresses = {0, 8, 16, 24, 32},
                                     .by_host = do_nothing};
    int64_t row = n + 16;
    struct work w = {.kernel = &kernel,
                     .sweep = {.old_values = (double *)a + row + 8,
                               .new_values = (double *)b + row + 8,
                               .sines = {a, a},
                               .row = row,
                               .last = {1, n, n},
                               .h = 1.0 / (double)n,
                               .coefficient = 1.0}};

    device.type->clear(&device, TT_STREAM_STAGING, a, (size_t)(row * (n + 2)) * sizeof(double),
                       &error);
    for (unsigned x = 32; x <= 256; x *= 2) {
        unsigned y = 256 / x;

        w.how = (struct tt_kernel_grid){
            {(unsigned)((n + x - 1) / x), (unsigned)((n + y - 1) / y), 1}, {x, y, 1}};
        best = fmax(best, (double)(n * n) / seconds_of(&w));
    }
    free(source);
    return best;
}

static int open_device(const char *name)
{
    unsigned n;
    int rc = TT_OK;

    device.type = tt_find_device(name, &error);
    if (!device.type)
        return TT_USAGE;
    device.state = calloc(1, device.type->state_size);
    device.opts = calloc(1, device.type->opts_size ? device.type->opts_size : 1);
    rc = device.type->count(device.opts, &n, &error);
    if (rc == TT_OK)
        rc = device.type->open(&device, &error);
    for (int i = 0; rc == TT_OK && i < 2; i++)
        rc = device.type->make_event(&device, &clock_events[i], &error);
    return rc;
}

int main(int argc, char **argv)
{
    const struct tt_device_type *t;
    size_t large = 2048 * MIB, middle = 256 * MIB;
    void *a, *b, *pinned, *pageable = malloc(middle);
    int rc = argc == 2 ? open_device(argv[1]) : TT_USAGE;

    t = device.type;
    if (rc != TT_OK || t->allocate(&device, large, &a, &error) != TT_OK ||
        t->allocate(&device, large, &b, &error) != TT_OK ||
        t->pin(&device, middle, &pinned, &error) != TT_OK || !pageable) {
        fprintf(stderr, "%s\n", argc == 2 ? error.text : "usage: device NAME");
        return 1;
    }
    printf("{\"name\": \"%s\", ", device.name);
    printf("\"copy\": %.0f, ", 2 * rate(TT_WITHIN_DEVICE, b, a, large));
    printf("\"pinned_16\": %.0f, ", rate(TT_FROM_DEVICE, pinned, a, 16 * MIB));
    printf("\"pinned_256\": %.0f, ", rate(TT_FROM_DEVICE, pinned, a, middle));
    printf("\"pageable\": %.0f, ", rate(TT_FROM_DEVICE, pageable, a, middle));
    printf("\"plain_sine\": %.0f}\n", plain_rate(16000, a, b));
    if (error.code != TT_OK)
        fprintf(stderr, "%s\n", error.text);
    return error.code != TT_OK;
}
