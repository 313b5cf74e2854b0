/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a report, by what they are about. Each adds to the document what it can show; what
 * was not measured is not shown. Everything comes from answers and results that other commands show
 * too, and from the records of a run directory. A function that can fail does so for what it cannot
 * read; lack of memory is the document's (report/document.h). */
#ifndef TT_REPORT_FIGURES_H
#define TT_REPORT_FIGURES_H

#include "analysis/overlap_model.h"
#include "report/document.h"
#include "store/store.h"

/* ---- described.c: a run in the list of runs ---- */

/* From a result: keys that do not have their defaults, facts, the command that runs it again, its
 * warnings. */
size_t tt_describe_run(struct tt_document *d, const json_t *result);
/* "tutti run stencil --size 64": parameters that do not have their defaults. How ranks are started
 * is left out, as everywhere where it comes from a directory. Caller frees; NULL: no memory. */
char *tt_repeat_command(const json_t *plan, const char *workload, const json_t *parameters);
/* "the run took only 2 ms: too short": what stands before the colon is the warning. */
void tt_warn_of(struct tt_document *d, const char *text, long run);

/* ---- one function a subject ---- */

/* directory: where the records are. */
int tt_figures_run(struct tt_document *d, const json_t *result, const char *directory,
                   struct tt_error *e);
/* resources.c: what the nodes counted, over the time of the run. */
int tt_figures_resources(struct tt_document *d, const json_t *result, const char *directory,
                         struct tt_error *e);
/* timelines.c: waiting by rank and iteration, with idle waves; the spans of --trace. */
int tt_figures_timelines(struct tt_document *d, const json_t *result, const char *directory,
                         struct tt_error *e);
void tt_figures_ensemble(struct tt_document *d, const json_t *answer);
int tt_figures_runs(struct tt_document *d, struct tt_store *s, const struct tt_run_rows *runs,
                    struct tt_error *e);
/* The model of overlap against measurement. */
void tt_figures_model(struct tt_document *d, const struct tt_overlap_model *model,
                      const struct tt_check *check);
void tt_figures_comparison(struct tt_document *d, const json_t *comparison);
void tt_figures_study(struct tt_document *d, const json_t *answer);
void tt_figures_search(struct tt_document *d, const json_t *answer);
void tt_figures_survey(struct tt_document *d, const json_t *answer);

#endif
