/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the repetitions of an ensemble to its answer: how much slower, how sure, and what grew. */
#ifndef TT_ANALYSIS_SLOWDOWN_H
#define TT_ANALYSIS_SLOWDOWN_H

#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

/* Of answers in JSON. */
#define TT_ANSWER_FORMAT 1

/* plan: {"steps": [{"reference", "others", "loads": [names]}]}. repetitions: objects as
 * ensemble/collect.c writes them. A new object:
 *   steps: [{reference, others, loads, runs, left_out: [{number, why}],
 *            runtime: {values, median, low, high},
 *            slowdown: {value, low, high, range: [min, max], text},
 *            phases: {NAME: {median, p99, total: effects, growth: seconds}},
 *            metrics: {NAME: {median, alone, ratio: an effect}},
 *            total_rate, fairness: median or null, grew: {phase, seconds} or null,
 *            saturated: [text], contention: text or null, warnings: [text]}],
 * where an effect is {value, low, high}; low and high are null with too few runs for an interval.
 * All steps are there, also those of which no repetition is complete. */
int tt_slowdown(const json_t *plan, const json_t *repetitions, uint64_t seed, json_t **out,
                struct tt_error *e);

/* The largest number of others whose interval lies below the limit, as {limit, largest, not_tested:
 * [..], undecided: [..], text}, over the steps of one reference and kind of load. */
int tt_slowdown_limit(const json_t *steps, double limit, json_t **out, struct tt_error *e);

/* Of several answers, the paper's question: which system keeps the slowdown below the limit with
 * the largest number of others that all of them were tested with? [{id, label, others, verdict:
 * "suffices", "does not suffice" or "cannot tell", text}]. */
int tt_slowdown_suffices(const json_t *answers, double limit, json_t **out, struct tt_error *e);

#endif
