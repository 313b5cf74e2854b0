/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs of one repetition: given nodes and CPUs, started, held until ready, told to go and to
 * stop, watched all the time, and their results collected. */
#ifndef TT_ENSEMBLE_TRIAL_H
#define TT_ENSEMBLE_TRIAL_H

#include "ensemble/ensemble.h"
#include "ensemble/settle.h"
#include "ensemble/shares.h"
#include "launch/launch.h"

struct tt_trial_job {
    const struct tt_job_spec *spec;
    bool is_load, loops;
    char *directory; /* its run directory */
    struct tt_job job;
    int64_t go_ns;                        /* wall clock; 0: not yet */
    int64_t ready_seen_ns, go_written_ns; /* wall clock of the driver */
    uint64_t iteration;                   /* last seen, */
    int64_t seen_ns;                      /* and when it changed */
    char nodes[1024];                     /* Slurm: where it runs; empty: the launcher's choice */
};

struct tt_trial {
    const struct tt_ensemble *ensemble;
    const struct tt_step *step;
    const struct tt_runner_state *state; /* for the display */
    const char *directory;               /* of the repetition */
    struct tt_shares shares;             /* local jobs only; else empty */
    size_t n;
    struct tt_trial_job *jobs; /* the reference first */
    struct tt_settled settled; /* before it began */
    struct tt_waits waits;     /* of the reference, from its start to its end */
    double seconds;            /* that a load alone is watched for, after warmup */
    double phase;              /* seconds after the steady state at which the reference started */
    int64_t heartbeat_ns;      /* of the last sign of life to the jobs */
    const struct tt_trial_job
        *early;        /* the job that ended before its time; its result may say why */
    char trouble[512]; /* what made the repetition useless; empty: nothing */
};

/* ---- trial.c ---- */
/* Whether its ranks run on this machine. */
bool tt_trial_is_local(const struct tt_job_spec *p);

int tt_trial_make(struct tt_trial *s, const struct tt_ensemble *x, const struct tt_step *step,
                  const struct tt_runner_state *state, const char *directory, struct tt_error *e);
/* From the start of the first job to the end of the last. TT_OK also if there was trouble;
 * TT_INTERRUPTED after Ctrl-C, with all jobs ended. */
int tt_trial_run(struct tt_trial *s, struct tt_error *e);
/* Only calibrates what the reference computes, and waits for its end. */
int tt_trial_calibrate(struct tt_trial *s, struct tt_error *e);
void tt_trial_free(struct tt_trial *s);

/* ---- nodes.c ---- */
/* Steps of one allocation would all start on its first node: give every job nodes of its own, in
 * turn, from launch.nodes or else from the allocation; from the first again when all are taken. */
int tt_nodes_spread(struct tt_trial *s, struct tt_error *e);

/* ---- display.c: where an ensemble is, in one line of a terminal ---- */
/* Nothing unless stderr is a terminal, or if the ensemble is to be quiet. */
void tt_display_draw(const struct tt_trial *s);
void tt_display_clear(const struct tt_trial *s);

/* ---- collect.c ---- */
/* How far a job's wall clock is ahead of the driver's, and what that may be wrong by. 0: no
 * difference can be told. */
struct tt_clock_difference {
    bool known;
    int64_t offset_ns, uncertainty_ns;
};
/* From what each wrote and when the other saw it, by the clock of whoever did it; 0: not known. */
struct tt_clock_difference tt_clock_between(int64_t ready_ns, int64_t ready_seen_ns,
                                            int64_t go_written_ns, int64_t go_seen_ns);
/* After the jobs have ended: make their results, remove what they left, see whether the repetition
 * can be used, and write repetition.json. Fills complete, why and bytes of *r. */
int tt_collect(struct tt_trial *s, struct tt_repetition *r, struct tt_error *e);
/* Whether the numbers in a repetition.json follow the definitions that metrics have now; if not,
 * they are made again from the records of its jobs, or *e says why they cannot be. */
bool tt_repetition_is_current(const json_t *repetition);
int tt_repetition_renew(const char *directory, json_t *repetition, struct tt_error *e);
/* Of a repetition that was broken off: only remove what its jobs left. */
void tt_collect_nothing(struct tt_trial *s);

#endif
