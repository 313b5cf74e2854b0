/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For authors of workloads: the table a workload fills. examples/modules/workload.c is the
 * smallest complete example. */
#ifndef TT_PLAN_WORKLOAD_H
#define TT_PLAN_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "spec/param.h"

struct tt_config;
struct tt_engine;

/* What a run will do, known before it starts and without MPI. */
struct tt_estimate {
    uint64_t bytes_written; /* over all dumps */
    uint64_t bytes_on_disk; /* largest at any time */
    uint64_t bytes_read;
    uint64_t files;           /* made by all ranks together */
    uint64_t dumps;           /* write events that write something */
    uint64_t memory_per_rank; /* bytes, the largest rank */
    uint64_t device_memory;   /* the same of its device */
    char pieces[160];         /* what does not come out even, for whoever looks; may be empty */
    bool at_most;             /* a deadline may end it earlier: limits are looked at as it writes */
    double compute_seconds; /* from a short measurement on this machine, or as asked; with sleep */
    double sleep_seconds;   /* which needs no CPU */
};

/* A table of numbers that a workload leaves in a result (tt_result_table), for whoever reads it. */
struct tt_workload_column {
    const char *name, *unit, *text;
};
struct tt_workload_table {
    const char *name;
    const struct tt_workload_column *columns; /* ends with a NULL name */
    const char *const *rows; /* their names, if each has a meaning of its own; ends with NULL */
};

/* The work that a parameter of type TT_PARAM_PASSES counts, on its own: engine/calibrate.c finds
 * out how long a pass takes. */
struct tt_computation {
    /* What this rank computes on. Only comm, rank, size, config and device of the engine are there.
     */
    int (*make)(const struct tt_engine *engine, void **state, struct tt_error *e);
    /* n passes, without MPI. */
    void (*pass)(void *state, uint64_t n);
    void (*free)(void *state); /* also what make left unfinished, or NULL */
};

struct tt_workload {
    const char *name;
    const char *summary;
    const char *const
        *uses;       /* engine components: "write", "read", "collective", "stripe"; NULL: end */
    bool on_device;  /* its data may be in a device's memory: --device */
    bool has_epochs; /* it writes through tt_output: --baseline serialises some of its dumps */
    const struct tt_param *params;
    size_t opts_size;
    const char *const *shown; /* keys that a line about a job of an ensemble shows; NULL: end */
    const struct tt_computation *computation; /* NULL: no parameter counts passes */
    const struct tt_workload_table *tables;   /* ends with a NULL name; NULL: it leaves none */
    /* Is this configuration possible with config->run->ranks ranks? No MPI; called by the driver
     * and by every rank. */
    int (*check)(const struct tt_config *config, struct tt_error *e);
    int (*estimate)(const struct tt_config *config, struct tt_estimate *out, struct tt_error *e);
    /* What a rank does, from preparation to clean-up; see engine/engine.h. Ranks have agreed on
     * the result when it returns. */
    int (*run)(struct tt_engine *engine, struct tt_error *e);
    /* Of a workload with tt_data_make_tree(): whether an entry below the tree's root is one that it
     * makes, by its path from there. Everything else in the tree is somebody's. Else NULL. */
    bool (*makes)(const struct tt_config *config, const char *path, bool is_directory);
};

#endif
