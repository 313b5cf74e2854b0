/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For authors of devices: where a workload's memory lives, how its kernels run, and how data leaves
 * and enters that memory. Without a device all of that is the host's, and nobody calls anything
 * here.
 *
 * Work is queued on streams. What is on one stream runs in its order, different streams run beside
 * each other, and the host does not wait unless it asks to. Addresses of a device's memory are
 * never followed by the host. */
#ifndef TT_DEVICES_DEVICE_H
#define TT_DEVICES_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "spec/param.h"

struct tt_facts; /* io/file.h */
struct tt_device;
struct tt_device_event; /* a place in a stream that others can wait for, with its time */

enum tt_device_stream {
    TT_STREAM_COMPUTE,
    TT_STREAM_HALO,
    TT_STREAM_STAGING, /* between the device and storage */
    TT_NSTREAMS
};

/* Bytes to be copied: `depth` slices of `height` rows of `width` bytes. Steps are bytes from one
 * row, and one slice, to the next; those of slices are multiples of those of rows. One row: steps
 * do not count. */
enum tt_device_direction { TT_FROM_DEVICE, TT_TO_DEVICE, TT_WITHIN_DEVICE };
struct tt_device_copy {
    enum tt_device_direction direction;
    void *to;
    const void *from;
    size_t width, height, depth;
    size_t to_row, to_slice, from_row, from_slice;
};

/* A function for the device: its text, which devices compile when it is prepared, or else first
 * used. CUDA C++ that includes nothing; it takes one struct by value. */
struct tt_kernel {
    const char *name;         /* of the function in source: extern "C" __global__ */
    const char *const source; /* several kernels may share it */
    size_t arguments_size;
    unsigned naddresses; /* of the device's memory among the arguments, and where they stand */
    size_t addresses[6];
    /* The same work by the host, for devices that have no other way: all of the grid at once. */
    void (*by_host)(const void *arguments);
};
struct tt_kernel_grid {
    unsigned grid[3], block[3];
};

struct tt_device_usage {
    double utilisation;   /* part of the time in which a kernel ran; NAN: not known */
    uint64_t memory_used; /* bytes, of everybody; 0: not known */
};

#define TT_DEVICE_PLACE 64

/* All functions return TT_OK or a negative code with *e filled; any thread may call them. */
struct tt_device_type {
    const char *name; /* also the file's name in its directory and the prefix of its keys */
    const char *summary;
    size_t state_size; /* device->state, allocated zeroed by the core */
    size_t opts_size;
    const struct tt_param *params;

    /* How many there are on this node; finds and opens the libraries it needs. */
    int (*count)(const void *opts, unsigned *n, struct tt_error *e);
    /* Where on the node the one with that number is: the address of its PCI device, such as
     * "0000:06:00.0", or a list of the CPUs near it, such as "0-3"; empty: not known. NULL: none
     * is. */
    void (*place)(const void *opts, unsigned number, char out[TT_DEVICE_PLACE]);
    /* Opens the device with device->number, and fills id, name, multiprocessors,
     * longest_row and caution. If it
     * fails, close is not called. */
    int (*open)(struct tt_device *device, struct tt_error *e);
    void (*close)(struct tt_device *device);
    /* Aligned to 256 bytes at least. */
    int (*allocate)(struct tt_device *device, size_t bytes, void **out, struct tt_error *e);
    void (*release)(struct tt_device *device, void *data);
    /* Memory of the host that the device copies to and from at full speed. */
    int (*pin)(struct tt_device *device, size_t bytes, void **out, struct tt_error *e);
    void (*unpin)(struct tt_device *device, void *data);

    int (*clear)(struct tt_device *device, enum tt_device_stream stream, void *data, size_t bytes,
                 struct tt_error *e);
    int (*copy)(struct tt_device *device, enum tt_device_stream stream,
                const struct tt_device_copy *copy, struct tt_error *e);
    int (*launch)(struct tt_device *device, enum tt_device_stream stream,
                  const struct tt_kernel *kernel, const struct tt_kernel_grid *how,
                  const void *arguments, struct tt_error *e);
    /* Whatever the first launch of a kernel takes, without one. */
    int (*prepare)(struct tt_device *device, const struct tt_kernel *kernel, struct tt_error *e);

    int (*make_event)(struct tt_device *device, struct tt_device_event **out, struct tt_error *e);
    void (*free_event)(struct tt_device *device, struct tt_device_event *event);
    /* The event is what is queued on the stream so far. */
    int (*record)(struct tt_device *device, struct tt_device_event *event,
                  enum tt_device_stream stream, struct tt_error *e);
    /* What is queued on the stream from now on begins after the event. */
    int (*follow)(struct tt_device *device, enum tt_device_stream stream,
                  struct tt_device_event *event, struct tt_error *e);
    /* The host waits; asleep, since another thread computes beside it. */
    int (*await)(struct tt_device *device, struct tt_device_event *event, struct tt_error *e);
    /* The host waits for everything on the stream, and begins again as soon as it can. */
    int (*drain)(struct tt_device *device, enum tt_device_stream stream, struct tt_error *e);
    /* By the device's own clock, after the host has waited for `to`. */
    int (*elapsed)(struct tt_device *device, struct tt_device_event *from,
                   struct tt_device_event *to, double *seconds, struct tt_error *e);
    /* Whether the MPI library says that it takes addresses of such memory, after MPI_Init. NULL: it
     * cannot be asked. */
    bool (*mpi_says)(void);
    /* NULL: nothing is known. */
    void (*usage)(struct tt_device *device, struct tt_device_usage *out);
    /* Versions and the like, for the result. */
    int (*query)(struct tt_device *device, struct tt_facts *facts, struct tt_error *e);
};

/* One rank's. */
struct tt_device {
    const struct tt_device_type *type;
    const void *opts;
    void *state;
    unsigned number;    /* on its node */
    unsigned present;   /* on its node */
    const char *choice; /* why it is this one */
    uint64_t id;        /* by which others know it, on its node; open fills it */
    unsigned sharing;   /* ranks of the node that use the same one */
    char name[96];
    char caution[128]; /* what several ranks that share it should know; empty: nothing */
    bool is_part;      /* of a GPU that others may have other parts of; open fills it */
    bool timed;        /* the run is being measured: nothing should be made now */
    unsigned multiprocessors;
    size_t longest_row; /* most bytes from one row of a copy to the next; 0: any */
};

#endif
