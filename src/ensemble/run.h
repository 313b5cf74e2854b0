/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory of an ensemble:
 *
 *   ensemble.json    its settings, jobs and steps
 *   compute.json     what was calibrated, for all repetitions
 *   journal          a line a finished repetition (plan/runner.h)
 *   STEP-NUMBER/     a repetition: the run directories of its jobs, and repetition.json
 *   answer.json      what analysis made of it
 */
#ifndef TT_ENSEMBLE_RUN_H
#define TT_ENSEMBLE_RUN_H

#include "ensemble/ensemble.h"
#include "plan/workload.h"

#define TT_ENSEMBLE_PLAN "ensemble.json"

/* Make <results>/ensemble-<utc>-<id>/ with ensemble.json; caller frees the path. */
int tt_ensemble_create(const struct tt_ensemble *x, const struct tt_settings *settings,
                       bool is_matrix, char **directory, struct tt_error *e);
/* The settings it was made with, to go on with it. */
int tt_ensemble_load(const char *directory, struct tt_settings *settings, bool *is_matrix,
                     struct tt_error *e);

/* Whether all data directories exist and have room for what the jobs of every step write, and the
 * machine for their processes. */
int tt_ensemble_check_room(const struct tt_ensemble *x, struct tt_error *e);
/* The same in two parts. A workload may have to try out how fast it is, so it is asked once: of
 * each spec's job, into a list that the caller frees. */
int tt_ensemble_estimate(const struct tt_ensemble *x, struct tt_estimate **list,
                         struct tt_error *e);
/* What one round of all steps writes and takes at least: loads may go on for longer. */
void tt_ensemble_expect(const struct tt_ensemble *x, const struct tt_estimate *estimates,
                        double *bytes, double *seconds);
int tt_ensemble_fits(const struct tt_ensemble *x, const struct tt_estimate *estimates,
                     struct tt_error *e);

/* Jobs that compute for a time get their counts: those that are kept in the directory, and if it
 * may run jobs, new ones where there are none. Before anything else of x is used. */
int tt_ensemble_calibrate(struct tt_ensemble *x, const char *directory, bool may_run,
                          struct tt_error *e);

/* One repetition of a step, in a directory <name>-run<number> of its own below `directory`. */
struct tt_step_run {
    const struct tt_ensemble *ensemble;
    const struct tt_step *step;
    const char *directory, *name;
    const struct tt_estimate *estimates; /* of a job of each spec */
    double seconds; /* that a load alone is watched for, if that is more than a moment */
    bool must_work; /* nothing has worked yet, and if this fails nothing will */
};
/* Fills the repetition as a runner's owner does. */
int tt_step_run(const struct tt_step_run *what, const struct tt_runner_state *state,
                struct tt_repetition *r, struct tt_error *e);
/* Before the first: what was measured under other definitions is not continued, since jobs may mean
 * something else now, and what a dead driver left is removed. */
int tt_repetitions_continue(const char *directory, const struct tt_repetition *list, size_t n,
                            struct tt_error *e);
/* Run what is still to be run. TT_INTERRUPTED after Ctrl-C. */
int tt_ensemble_run(const struct tt_ensemble *x, const char *directory,
                    struct tt_runner_report *report, struct tt_error *e);
/* Analyse what has been run and write answer.json; *answer is a new reference. */
int tt_ensemble_answer(const struct tt_ensemble *x, const char *directory, json_t **answer,
                       struct tt_error *e);
/* repetition.json of one that the journal has; a new reference. One that is lost or damaged is told
 * of and NULL: the others count. */
int tt_repetition_read(const char *directory, const struct tt_repetition *r, json_t **repetition,
                       struct tt_error *e);
/* Write answer.json, unless this is a directory that we may only look at. */
int tt_answer_keep(const char *directory, const json_t *answer, struct tt_error *e);

/* ---- stale.c: what a driver that was killed has left behind ---- */
/* Removes the data files of repetitions of the ensemble's directory that are not in the list, takes
 * back their batch jobs, and removes control groups of dead drivers. Only while nobody else is at
 * work in the directory. What cannot be removed is said on stderr and keeps nobody from going on,
 * but for a job that still runs. */
int tt_stale_remove(const char *directory, const struct tt_repetition *list, size_t n,
                    struct tt_error *e);

/* ---- scenario.c: ensembles without a file, sized to the machine by running parts of them ---- */
bool tt_is_scenario(const char *name);
/* The settings of a scenario, without those of the command line (words), which win and are heeded
 * while it is sized. Says what it chose. */
int tt_scenario_make(const char *name, const struct tt_settings *words, struct tt_settings *out,
                     struct tt_error *e);

#endif
