/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs at once: a reference, which is measured, and others around it. */
#ifndef TT_ENSEMBLE_ENSEMBLE_H
#define TT_ENSEMBLE_ENSEMBLE_H

#include <jansson.h>

#include "plan/config.h"
#include "plan/runner.h"

#define TT_REPETITION "repetition.json" /* what the answer needs of one */

enum tt_ensemble_start { TT_START_STEADY, TT_START_TOGETHER };

struct tt_ensemble_options {
    struct tt_counts others;
    uint64_t repeat, at_most, seed, max_bytes, alone;
    struct tt_space ci; /* percent */
    int start;          /* enum tt_ensemble_start */
    double warmup, settle, watchdog, max_time, limit, cpus, solo_time;
    char *dir, *min_free, *results, *label, *json, *csv, *junit, *resume, *stop_metric;
    struct tt_words require;
    bool loads_alone, quiet, dry_run;
};
extern const struct tt_component tt_ensemble_component;

/* What one kind of job does. */
struct tt_job_spec_options {
    char *same, *workload;
    struct tt_words command;
    double weight, cpus;
    struct tt_words cpu_set; /* "0-3", "8" */
    bool loop;
};
extern const struct tt_component tt_job_spec_component;

struct tt_job_spec {
    char *name;  /* "reference", "load", "load.1" or its name in a set */
    char *title; /* what progress calls it instead; NULL: the name, with others around it */
    struct tt_job_spec_options o;
    const char *workload;        /* o.workload, or "command" */
    bool is_command;             /* a program of the user's, which tutti only starts and times */
    struct tt_settings settings; /* of the workload, "same" resolved */
    struct tt_config config;     /* resolved, for checks and estimates */
};

/* Loads in proportion to their weights. */
struct tt_mix {
    size_t n;
    size_t *specs;
    size_t *order; /* jobs of the first, second ... other job, as many as any step has */
};

/* One point: a reference with so many others around it. */
struct tt_step {
    size_t reference, mix;
    uint64_t others;
    size_t base;  /* the step of the reference alone; itself, if it is that */
    bool again;   /* the same as its base a second time in every round: what differs is noise */
    bool is_load; /* a load without its reference, to see how fast it is alone */
};

struct tt_ensemble {
    struct tt_ensemble_options o;
    size_t nspecs, nmixes, nsteps, npoints;
    struct tt_job_spec *specs;
    struct tt_mix *mixes;
    struct tt_step *steps; /* npoints: nsteps of the answer, then what these are compared with */
};

/* From the settings of a file and the command line. is_matrix: every job of "set" is reference
 * and load. Everything is checked before anything is started. */
int tt_ensemble_make(struct tt_ensemble *x, const struct tt_settings *settings, bool is_matrix,
                     struct tt_error *e);
void tt_ensemble_free(struct tt_ensemble *x);
/* The settings of an ensemble that is a job alone, as it is repeated: keys that an ensemble has,
 * too, are the ensemble's, but for those of the data and the seed; everything else is the
 * reference's. */
int tt_ensemble_of_job(const char *workload, const struct tt_settings *job, struct tt_settings *out,
                       struct tt_error *e);
bool tt_is_key_of_ensemble(const char *key);

/* What the k-th job of a step does; 0 is the reference, then come its others. */
const struct tt_job_spec *tt_step_spec(const struct tt_ensemble *x, const struct tt_step *s,
                                       uint64_t k);
/* Whether others are compared with this step. */
bool tt_step_is_base(const struct tt_ensemble *x, size_t step);
/* The largest number of jobs that run at once. */
uint64_t tt_ensemble_jobs(const struct tt_ensemble *x);
/* A name such as "stencil", "stencil.1": what the reports call a job. */
json_t *tt_ensemble_to_json(const struct tt_ensemble *x);

/* ---- nodes.c ---- */
/* How many nodes of this allocation no step uses; 0 outside of one, and if jobs are started in a
 * way that does not tell where. */
int tt_nodes_idle(const struct tt_ensemble *x, size_t *idle, size_t *all, struct tt_error *e);
/* Whether a job can have so many nodes, where we know: not on this machine alone, nor of an
 * allocation that has fewer. */
int tt_nodes_check(const struct tt_job_spec *p, uint64_t nodes, struct tt_error *e);

/* trial.c: whether a run with this context had no job of its ensemble beside it. */
bool tt_context_is_alone(const char *context);

#endif
