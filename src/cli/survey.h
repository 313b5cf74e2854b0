/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_CLI_SURVEY_H
#define TT_CLI_SURVEY_H

#include "base/error.h"

/* What a survey has measured so far, printed again; json: a file for it, NULL: none. */
int tt_survey_show(const char *directory, const char *json, struct tt_error *e);

#endif
