/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions that a result must meet: an acceptance test. */
#ifndef TT_ANALYSIS_REQUIRE_H
#define TT_ANALYSIS_REQUIRE_H

#include <jansson.h>

#include "base/error.h"
#include "spec/param.h"

enum tt_verdict_kind { TT_PASS, TT_FAIL, TT_INCONCLUSIVE };
#define TT_EXIT_FAIL 3
#define TT_EXIT_INCONCLUSIVE 4

/* "slowdown(9) <= 2.5", "write_rate >= 40 GB/s", "write_rate(3) >= 1g": a metric of the reference
 * alone, or with so many others. Refuses what cannot be understood, and what asks for a number of
 * others that is not among those to be measured, before anything is run. */
int tt_require_check(const struct tt_words *conditions, const struct tt_counts *others,
                     struct tt_error *e);

/* Of the steps of an answer: [{"condition", "verdict": "pass", "fail" or "inconclusive", "text"}].
 * Decided from the interval: pass if all of it meets the condition, fail if none of it does. */
int tt_require_judge(const struct tt_words *conditions, const json_t *steps, json_t **out,
                     enum tt_verdict_kind *all, struct tt_error *e);

#endif
