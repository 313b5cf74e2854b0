/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs of one repetition on their stage: started, held until ready, told to go and to stop,
 * watched all the time. */
#ifndef TT_ENSEMBLE_STAGE_H
#define TT_ENSEMBLE_STAGE_H

#include "ensemble/ensemble.h"
#include "ensemble/shares.h"
#include "launch/launch.h"

struct tt_actor {
    const struct tt_player *player;
    bool is_load, loops;
    char *folder; /* its run folder */
    struct tt_job job;
    int64_t go_ns;      /* wall clock; 0: not yet */
    uint64_t iteration; /* last seen, */
    int64_t seen_ns;    /* and when it changed */
    char nodes[1024];   /* Slurm: where it runs; empty: the launcher's choice */
};

struct tt_stage {
    const struct tt_ensemble *ensemble;
    const struct tt_step *step;
    const struct tt_runner_state *state; /* for the display */
    const char *folder;                  /* of the repetition */
    struct tt_shares shares;             /* local jobs only; else empty */
    size_t n;
    struct tt_actor *actors; /* the reference first */
    double phase;            /* seconds after the steady state at which the reference started */
    int64_t beat_ns;         /* of the last sign of life to the jobs */
    const struct tt_actor *early; /* the job that ended before its time; its result may say why */
    char trouble[512];            /* what made the repetition useless; empty: nothing */
};

/* Whether its ranks run on this machine. */
bool tt_stage_is_local(const struct tt_player *p);

int tt_stage_make(struct tt_stage *s, const struct tt_ensemble *x, const struct tt_step *step,
                  const struct tt_runner_state *state, const char *folder, struct tt_error *e);
/* From the start of the first job to the end of the last. TT_OK also if there was trouble;
 * TT_INTERRUPTED after Ctrl-C, with all jobs ended. */
int tt_stage_play(struct tt_stage *s, struct tt_error *e);
void tt_stage_free(struct tt_stage *s);

#endif
