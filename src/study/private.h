/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of a study share. */
#ifndef TT_STUDY_PRIVATE_H
#define TT_STUDY_PRIVATE_H

#include "study/study.h"

/* The parameter of a key as the ensemble of a point has it; NULL: there is none. */
const struct tt_param *tt_study_param(const struct tt_study *s, const char *full);
/* The factor that it is, by whichever of its names; nfactors: none. */
size_t tt_study_find_factor(const struct tt_study *s, const char *full);
/* Its value in the base, else the default; caller frees; NULL: it has none. */
int tt_study_base_value(const struct tt_study *s, const char *full, char **value,
                        struct tt_error *e);
/* Adds a point that has been looked at; takes everything of *p, which is clear afterwards. */
int tt_study_keep_point(struct tt_study *s, struct tt_point *p, const char *const *values,
                        struct tt_error *e);
/* As the ensemble of a point has a key; caller frees. */
char *tt_study_full_key(const struct tt_study *s, const char *key);
/* Whether these settings have the value of a factor, in a list, a range or a point. */
int tt_study_has_given(const struct tt_study *s, const struct tt_settings *given, size_t factor,
                       const char *value, bool *has, struct tt_error *e);
/* What has been run; a repetition's point is p * nsteps + k for step k of point p. Caller frees the
 * list. */
int tt_study_journal(const struct tt_study *s, const char *directory,
                     struct tt_runner_report *report, struct tt_error *e);

#endif
