/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_REPORT_SURVEY_H
#define TT_REPORT_SURVEY_H

#include <jansson.h>
#include <stdio.h>

/* The tables of a survey's answer, and what they tell apart. */
void tt_report_survey(FILE *out, const json_t *answer);

#endif
