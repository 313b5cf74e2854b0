/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every word means that a table or a head of a report prints. */
#ifndef TT_REPORT_WORDS_H
#define TT_REPORT_WORDS_H

#include <stdbool.h>
#include <stdio.h>

/* Every meaning of a word: of metrics (by name or label), phases, calls, columns and labels of
 * reports, components and parameters. False: it has none. */
bool tt_words_explain(FILE *out, const char *word);
/* What a call, or a column or label of a report, is; "" if nothing is known of it. */
const char *tt_words_text(const char *word);
/* The metric, phase, call or column that begins with it, or is nearest; NULL: none is near. */
const char *tt_words_nearest(const char *word);

#endif
