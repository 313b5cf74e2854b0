/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Child processes of the driver, each a group of its own that ends with the driver. */
#ifndef TT_LAUNCH_PROCESS_H
#define TT_LAUNCH_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct tt_process_spec {
    char *const *words;    /* the program and its arguments, NULL-terminated */
    const char *instead;   /* program to try if there is none of that name; NULL: none */
    const char *directory; /* where stdout and stderr go; NULL: as the driver's */
    const char *out;       /* name of the file for stdout there; NULL: "stdout" */
    const cpu_set_t *cpus; /* NULL: as the driver */
    /* Directories of control groups to enter, NULL: none. The second one only counts: it is removed
     * if it cannot be entered. */
    const char *cgroups[2];
};
struct tt_process {
    pid_t pid; /* 0 if it was never started */
    bool ended;
    int status; /* exit status, 128 + signal if it was killed; once it has ended */
    int signal; /* that killed it; 0: it ended by itself, whatever its status */
};

/* Signals are blocked from here on and come through tt_signal_wait; orphans become our children.
 * Calls may be nested. */
void tt_processes_begin(void);
/* Waits for orphans, then kills them; after the outermost call signals are as before. */
void tt_processes_end(void);

int tt_process_start(const struct tt_process_spec *spec, struct tt_process *p, struct tt_error *e);
/* Has it ended? */
bool tt_process_poll(struct tt_process *p);
/* Ask it to end (its launcher passes that on), or kill its whole group. */
void tt_process_terminate(struct tt_process *p);
void tt_process_kill(struct tt_process *p);

/* Sleep so long, less if a child ends. Returns SIGINT, SIGTERM or SIGHUP if one came, else 0. */
int tt_signal_wait(double seconds);

#endif
