/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the repetitions of an ensemble to its answer: how much slower, how sure, and what grew. */
#ifndef TT_ANALYSIS_SLOWDOWN_H
#define TT_ANALYSIS_SLOWDOWN_H

#include <jansson.h>

#include "base/error.h"

/* Of answers in JSON. */
#define TT_ANSWER_FORMAT 1

/* What the processes of the reference waited for, as shares of its time in "waits" of a repetition;
 * what was not observed is not there. */
#define TT_WAITS(X) \
    X(quota, "its CPU quota") \
    X(cpu, "CPUs") \
    X(io, "I/O") \
    X(memory, "memory")
enum tt_wait {
#define X(name, text) TT_WAIT_##name,
    TT_WAITS(X)
#undef X
        TT_NWAITS
};

/* plan: {"steps": [{"reference", "others", "loads": [names]}], "jobs": [{"name", "alone": the job
 * whose runs alone are its own}]}. repetitions: objects as ensemble/collect.c writes them. A round
 * is a block: a step is compared with the reference alone of the same round, which may have been
 * run twice, and the unit of statistics is the round. A new object:
 *   steps: [{reference, others, loads, runs, rounds: of both, left_out: [{number, why}],
 *            runtime: {values, median, low, high},
 *            slowdown: an effect with within_noise and text,
 *            noise: {value, most, rounds} or null: by what share two runs alone differ,
 *            phases: {NAME: {median, p99, total: effects,
 *                            seconds, growth, growth_low, growth_high: seconds}},
 *            metrics: {NAME: {values, median, alone, ratio: an effect}},
 *            total_write_rate, total_read_rate: median or null,
 *            grew: {phase, seconds, phases: [{phase, seconds, low, high}]} or null,
 *            waits: {NAME: {alone, loaded, rise: an effect}}, by the reference itself,
 *            saturated: [text], contention: text or null, warnings: [text],
 *            cost: {jobs: {NAME: an effect with jobs},
 *                   throughput, worst, fairness: effects} or null}],
 * where an effect is {value, low, high, range: [min, max], rounds}; low and high are null with too
 * few rounds for an interval. All steps are there, also those of which no repetition is complete.
 */
int tt_slowdown(const json_t *plan, const json_t *repetitions, json_t **out, struct tt_error *e);

/* The largest number of others whose interval lies below the limit, as {limit, largest, not_tested:
 * [..], undecided: [..], text}, over the steps of one reference and kind of load. */
int tt_slowdown_limit(const json_t *steps, double limit, json_t **out, struct tt_error *e);

/* Of several answers, the paper's question: which system keeps the slowdown below the limit with
 * the largest number of others that all of them were tested with? [{id, label, others, verdict:
 * "suffices", "does not suffice" or "cannot tell", text}]. */
int tt_slowdown_suffices(const json_t *answers, double limit, json_t **out, struct tt_error *e);

#endif
