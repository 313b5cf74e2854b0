/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a device's own copies reach: device NAME. Prints bytes per second: on the device (read and
 * written), to pinned memory in pieces of 16 and 256 MiB, to pageable memory. Medians of several,
 * by the device's clock. */
#include <stdio.h>
#include <stdlib.h>

#include "devices/device.h"
#include "engine/device_move.h"
#include "plan/registry.h"

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

/* Bytes per second of one such copy. */
static double rate(enum tt_device_direction direction, void *to, const void *from, size_t bytes)
{
    const struct tt_device_type *t = device.type;
    double seconds[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        t->record(&device, clock_events[0], TT_STREAM_STAGING, &error);
        tt_device_copy_bytes(&device, TT_STREAM_STAGING, direction, to, from, bytes, &error);
        t->record(&device, clock_events[1], TT_STREAM_STAGING, &error);
        t->await(&device, clock_events[1], &error);
        if (t->elapsed(&device, clock_events[0], clock_events[1], &seconds[i], &error) != TT_OK)
            return 0;
    }
    qsort(seconds, SAMPLES, sizeof *seconds, by_size);
    return (double)bytes / seconds[SAMPLES / 2];
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
    printf("\"pageable\": %.0f}\n", rate(TT_FROM_DEVICE, pageable, a, middle));
    if (error.code != TT_OK)
        fprintf(stderr, "%s\n", error.text);
    return error.code != TT_OK;
}
