/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a survey's answer, and what they tell apart. */
#ifndef TT_REPORT_SURVEY_H
#define TT_REPORT_SURVEY_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

enum tt_survey_table_id {
    TT_SURVEY_NAIVE,
    TT_SURVEY_AGED,
    TT_SURVEY_BUFFERED,
    TT_SURVEY_DIRECT,
    TT_SURVEY_OVER_SIZE,
    TT_SURVEY_NTABLES
};
struct tt_survey_table {
    const char *title; /* the key of its rows in an answer, too */
    const char *value; /* of a sample */
    const char *unit;
    bool over_size; /* rows differ in the size of the data, else in the number of processes */
};
extern const struct tt_survey_table tt_survey_tables[TT_SURVEY_NTABLES];
/* That a row or sample belongs to; the first one if it belongs to none. */
const struct tt_survey_table *tt_survey_table_of(const json_t *row);

void tt_report_survey(FILE *out, const json_t *answer);

#endif
