/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do a backend's nonblocking calls really overlap? Not what the library promises, but what leaves
 * the process without further calls. */
#ifndef TT_ENGINE_PROBE_H
#define TT_ENGINE_PROBE_H

#include <mpi.h>
#include <stdbool.h>

#include "io/file.h"

struct tt_probe {
    bool native;     /* at least 90 % left by itself, on every rank, and not inside the call */
    double fraction; /* of the bytes that left by itself, the smallest over ranks */
    double seconds;  /* from the call until then */
    char text[128];  /* "99 % of 4 MiB left within 12 ms without further calls" */
};

/* Collective. Submits a write of a few MiB per rank, contiguous or scattered, makes no call into
 * the library for a bounded time while it watches the file by its own descriptor, then waits and
 * removes the file. A backend or method without nonblocking calls is not an error: native is false.
 */
int tt_probe_native(const struct tt_stack *stack, MPI_Comm comm, const char *path, bool contiguous,
                    struct tt_probe *out, struct tt_error *e);

#endif
