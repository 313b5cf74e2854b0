/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a driver starts and stops a run at instants of its choosing: the files ready, go and stop of
 * its directory. They are there, empty, before the run is launched, and written in place: a network
 * file system may show a new file late, but shows the newest contents of one that is opened. */
#ifndef TT_PLAN_CONTROL_H
#define TT_PLAN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define TT_CONTROL_READY "ready" /* by the run: the instant at which all ranks were prepared */
#define TT_CONTROL_GO "go"       /* by the driver: the instant at which they are to start */
#define TT_CONTROL_STOP \
    "stop" /* by the driver: a dot now and then while it lives, at last a '!' \
            */

int tt_control_prepare(const char *directory, struct tt_error *e);
/* Write an instant of the wall clock, and read it: 0 if it has not been written yet. */
int tt_control_write(const char *directory, const char *file, int64_t wall_ns, struct tt_error *e);
/* Whether the run has written that it is ready: cheaper than to read it. */
bool tt_control_is_ready(const char *directory);
int64_t tt_control_read(const char *directory, const char *file);

/* The driver: still here, or stop now. */
int tt_control_heartbeat(const char *directory, bool stop, struct tt_error *e);
/* The run, which keeps this between its looks: TT_OK to go on, TT_STOPPED if it is told to stop,
 * TT_INTERRUPTED if the driver has not been heard of for so long that it must be dead, and cannot
 * say stop any more. */
struct tt_control_listener {
    int64_t heartbeats, heard_ns; /* of the driver so far, and when that last changed; 0 at first */
};
int tt_control_listen(const char *directory, struct tt_control_listener *l);
/* The run, before it has started: TT_OK with *go still 0 means that it has to wait longer. */
int tt_control_await_go(const char *directory, struct tt_control_listener *l, int64_t *go,
                        struct tt_error *e);

#endif
