/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts as JUnit XML, which CI systems show as tests. A file has a failure or an error whenever
 * the exit status of the command that wrote it is not 0:
 *
 *   pass             a test that passes; what was measured is its output
 *   fail             a failure
 *   left out         skipped: it was not asked for, and does not count
 *   anything else    an error: "cannot be told", "not measured" */
#ifndef TT_REPORT_JUNIT_H
#define TT_REPORT_JUNIT_H

#include <jansson.h>

#include "base/error.h"

#define TT_CASE_LEFT_OUT "left out"
#define TT_CASE_NOT_MEASURED "not measured"

/* A list of cases, as tt_require_judge makes it, gets one more. Returns 0, or -1: no memory. */
int tt_case_add(json_t *cases, const char *condition, const char *verdict, const char *text);
/* A suite of cases; takes the reference to cases. NULL: no memory. */
json_t *tt_case_suite(const char *name, json_t *cases);
/* The conditions of an ensemble's answer (may be NULL), and that it was measured: how that ended.
 */
json_t *tt_case_suite_of(const char *name, const json_t *answer, const char *verdict,
                         const char *text);

/* suites: a list of them; class: the command, by which CI systems group cases. Takes the reference
 * to suites, NULL of which is no memory. path "-" is stdout. */
int tt_report_junit(const char *path, const char *class, json_t *suites, struct tt_error *e);

#endif
