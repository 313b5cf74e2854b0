/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's configuration: settings from command line, file or plan, resolved against the parameter
 * tables of the components that the job uses. */
#ifndef TT_PLAN_CONFIG_H
#define TT_PLAN_CONFIG_H

#include <jansson.h>

#include "io/file.h"
#include "spec/param.h"
#include "spec/settings.h"

struct tt_workload;
struct tt_device_type;

/* Options of every run, owned by the run component (keys without prefix). */
enum tt_overlap { TT_OVERLAP_NONE, TT_OVERLAP_ASYNC, TT_OVERLAP_AUTO };
enum tt_sync {
    TT_SYNC_WRITE,      /* after every write call */
    TT_SYNC_DUMP,       /* in the caller, at the end of the dump */
    TT_SYNC_DEFERRED,   /* in the caller, just before the next dump */
    TT_SYNC_BACKGROUND, /* in the helper, right after the write */
    TT_SYNC_CLOSE,      /* once, before the file is closed */
    TT_SYNC_NEVER,
};
struct tt_run_options {
    uint64_t ranks;
    char *dir;     /* data directory */
    char *results; /* where run directories are made */
    char *backend;
    char *mode; /* alias that sets overlap and sync; NULL if not given */
    int overlap, sync;
    uint64_t inflight;      /* dumps in flight */
    uint64_t staging_limit; /* bytes of their copies, of one file; 0: no limit */
    uint64_t
        baseline; /* every so many epochs one is serialised to measure the baselines; 0: never */
    struct tt_words layers;
    char *device; /* "host": none */
    char *module; /* files, with commas between them */
    uint64_t seed;
    char *label, *context;
    bool keep, quiet, dry_run, trace;
    char *json, *csv;
    uint64_t max_bytes; /* 0: no cap */
    double max_time;    /* 0: no cap */
    struct tt_space min_free;
    double patience; /* seconds a rank that failed waits for the others */
};
extern const struct tt_component tt_run_component;

enum tt_launch_by {
    TT_LAUNCH_AUTO,
    TT_LAUNCH_LOCAL,
    TT_LAUNCH_SLURM,
    TT_LAUNCH_BATCH,
    TT_LAUNCH_TEMPLATE
};
struct tt_launch_options {
    int by; /* enum tt_launch_by */
    struct tt_words template, nodes, options;
    uint64_t tasks_per_node; /* 0: the launcher's choice */
    bool exclusive;
    double start_timeout; /* seconds */
};
extern const struct tt_component tt_launch_component;

/* The components a job can use besides workload, backend and layers. */
extern const struct tt_component tt_write_component, tt_read_component, tt_collective_component,
    tt_stripe_component;
extern const struct tt_component *const tt_used_components[]; /* all four, and NULL */
/* Every job has it: what its nodes count meanwhile. */
extern const struct tt_component tt_counters_component;
/* Jobs with a device have it. */
extern const struct tt_component tt_device_component;

struct tt_config_part {
    const struct tt_component *component;
    void *opts;
};
struct tt_config {
    const struct tt_workload *workload;
    struct tt_run_options *run;
    size_t nparts;
    struct tt_config_part parts[18]; /* run, workload, write, ..., counters, layers, backend */
    struct tt_component adapted[18]; /* components made from workload, backend and layer tables */
    struct tt_stack stack;
    const struct tt_device_type *device; /* NULL: the host */
    const void *device_opts;
};

/* Resolve settings (later ones win) for a workload. Unknown keys and bad values name their place
 * and the nearest good word. Checks the stack, the backend's and layers' options and the workload's
 * own. Needs no MPI. */
int tt_config_make(struct tt_config *c, const char *workload, const struct tt_settings *settings,
                   struct tt_error *e);
void tt_config_free(struct tt_config *c);
/* One setting into the options of a table; an error names its place. */
int tt_setting_apply(const struct tt_setting *s, const struct tt_param *p, void *opts,
                     struct tt_error *e);
/* Options of a component by name, NULL if the job does not use it. */
const void *tt_config_opts(const struct tt_config *c, const char *component);
/* Whether this node has devices of the job's kind, and those of device.map; opens their libraries.
 */
int tt_device_check(const struct tt_config *c, struct tt_error *e);

/* How much the workload computes in an iteration, and with which parameter that is said; NULL: it
 * has none. */
struct tt_passes *tt_config_passes(const struct tt_config *c, const struct tt_param **p);
/* The same if a time was asked for that nobody has calibrated yet; else NULL. */
struct tt_passes *tt_config_uncalibrated(const struct tt_config *c);

/* Where a file of the user's is: relative paths start at --dir. The caller frees it. */
char *tt_config_path(const struct tt_config *c, const char *given);
/* The directory that the run's files are in: --dir, or where the path that it was given leads. The
 * caller frees it. */
char *tt_config_data_directory(const struct tt_config *c);

/* {"stencil.size": "4096", ...}: every parameter, canonical; a new reference. */
json_t *tt_config_to_json(const struct tt_config *c);
/* The reverse, as settings whose place is the given name; but for launch.*, since the file may be
 * anybody's. */
int tt_settings_from_json(struct tt_settings *s, const json_t *parameters, const char *place,
                          struct tt_error *e);
/* {"hdf5.chunk": {"value": "BYTES", "unit": "B", "default": "0"}, ...}: the parameters of modules,
 * so that a plan can be shown without them; a new reference. */
json_t *tt_config_describe_modules(const struct tt_config *c);

/* ---- run_options.c ---- */
/* Whether a key of the run only keeps it within bounds. A run that was not stopped by one measured
 * the same without it. */
bool tt_is_bound_key(const char *key);
/* "overlap=async sync=deferred" for --mode async; the report says it in words. */
const char *tt_mode_meaning(const char *mode); /* NULL if there is no such mode */
/* Let run->mode set overlap and sync; an unknown mode is a usage error with the nearest one. */
int tt_mode_apply(struct tt_run_options *run, struct tt_error *e);
/* Refuse combinations of overlap and sync that cannot do what they say. */
int tt_mode_check(const struct tt_run_options *run, struct tt_error *e);

/* ---- unknown.c ---- */
/* A key that no part of the configuration has: say whether its component exists but is not used, or
 * which key is nearest. Always TT_USAGE, without the place. */
int tt_fail_unknown_key(const struct tt_config *c, const char *key, struct tt_error *e);

#endif
